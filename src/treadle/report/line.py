"""Lines of text with styles: printed in colour by `colour`, or joined as they are.

Everything is laid out in these, so that what a terminal shows in colour and what a pipe gets are
the same text. A style is one that `rich` knows; this module does not need `rich`. Widths are those
of a terminal: a Chinese character takes two columns.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

WIDTH = 80
"""Columns of plain text."""
WIDEST = 120
"""Columns that a report takes of a wide terminal."""

Span = tuple[str, str]
"""Text and its style."""
Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Marks:
    """Characters that stand for something."""

    rule: str
    """Between columns."""
    dash: str
    """Beside a remark."""


UNICODE = Marks("│", "─")
ASCII = Marks("|", "-")


def marks_for(encoding: str | None) -> Marks:
    """Return the marks that an encoding can express.

    >>> marks_for("ascii") is ASCII, marks_for("utf-8") is UNICODE
    (True, True)
    """
    try:
        (UNICODE.rule + UNICODE.dash).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def marks_of_output() -> Marks:
    """Return the marks that standard output can express."""
    return marks_for(getattr(sys.stdout, "encoding", None))


def plain(lines: Iterable[Line]) -> str:
    """Return lines without their styles."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def joined(parts: Iterable[list[Line]]) -> list[Line]:
    """Put an empty line between parts; leave empty ones out."""
    lines: list[Line] = []
    for part in filter(None, parts):
        lines += [(), *part] if lines else part
    return lines


def wrapped(text: str, style: str = "", *, width: int = WIDTH, indent: int = 2) -> list[Line]:
    """Return text in lines of at most `width` columns; all but the first are indented."""
    lines = textwrap.wrap(
        printable(text), width, subsequent_indent=" " * indent, break_on_hyphens=False
    )
    return [((line, style),) for line in lines]


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> width_of("漢字"), width_of("e\u0301")
    (4, 1)
    """
    return len(text) if text.isascii() else sum(map(_width_of_character, text))


def _width_of_character(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def fitting(text: str, width: int) -> int:
    """Return how many characters of a text fit into a width."""
    return next((at for at in range(len(text)) if width_of(text[: at + 1]) > width), len(text))


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that is too wide.

    >>> cut("abcdefgh", 6), cut("漢字漢字", 6)
    ('abc...', '漢...')
    """
    return text if width_of(text) <= width else text[: fitting(text, width - 3)] + "..."


def padded(text: str, width: int) -> str:
    """Return text with spaces at the end, at least as wide.

    >>> padded("漢字", 6) + "|"
    '漢字  |'
    """
    return text + " " * (width - width_of(text))


def enumerated(texts: Sequence[str]) -> str:
    """Return texts as a sentence lists them.

    >>> enumerated(["p"]), enumerated(["p", "q", "r"])
    ('p', 'p, q and r')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def without_directories(where: str) -> str:
    """Return `file:line` without directories; of a package's own file, with the last one.

    >>> without_directories("lib/bank/account.py:3"), without_directories("lib/bank/__init__.py:3")
    ('account.py:3', 'bank/__init__.py:3')
    """
    path = PurePath(where)
    return "/".join(path.parts[-2:]) if path.name.startswith("__init__.py:") else path.name


def printable(text: str) -> str:
    """Return one line of text without control characters.

    >>> printable("a\\nb\\x1b[1m")
    'a b [1m'
    """
    return "".join(character if character.isprintable() else " " for character in text)

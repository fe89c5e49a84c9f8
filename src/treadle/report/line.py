"""Lines of text with styles: printed in colour by `colour`, or joined as they are.

Everything is laid out in these, so that what a terminal shows in colour and what a pipe gets are
the same text. A style is one that `rich` knows; this module does not need `rich`.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 80
"""Columns of plain text."""

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


def wrapped(text: str, style: str = "", *, width: int = WIDTH, indent: int = 2) -> list[Line]:
    """Return text in lines of at most `width` columns; all but the first are indented."""
    lines = textwrap.wrap(
        printable(text), width, subsequent_indent=" " * indent, break_on_hyphens=False
    )
    return [((line, style),) for line in lines]


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that is too long.

    >>> cut("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def printable(text: str) -> str:
    """Return one line of text without control characters.

    >>> printable("a\\nb\\x1b[1m")
    'a b [1m'
    """
    return "".join(character if character.isprintable() else " " for character in text)

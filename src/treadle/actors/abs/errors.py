"""What is wrong with an ABS file: where, what, and the line with a caret."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from lark import Token, Tree

from treadle.core.errors import TreadleError

Node = Tree[Token] | Token
"""A part of the text that was parsed."""


_CLOSE = 0.65
"""How much alike two names are if one may be a slip of the other."""


class AbsError(TreadleError):
    """A file is not a program in ABS, or needs a part of ABS that there is not."""


@dataclass(frozen=True, slots=True)
class Source:
    """An ABS file: its text, and how to name places in it."""

    path: Path
    text: str

    def refuse_at(self, line: int, column: int, message: str) -> NoReturn:
        """Raise an error about a place; lines and columns count from 1."""
        lines = self.text.splitlines()
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        indent = "".join("\t" if each == "\t" else " " for each in shown[: column - 1])
        error = AbsError(f"{self.path}:{line}:{column}: {message}")
        error.add_note(f"  {shown}\n  {indent}^")
        raise error from None

    def refuse(self, node: Node, message: str) -> NoReturn:
        """Raise an error about a part of the text."""
        line, column = place_of(node)
        self.refuse_at(line, column, message)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return what may have been meant, as the end of a sentence; nothing if nothing is close."""
    close = get_close_matches(name, known, 1, _CLOSE)
    return f"; did you mean {close[0]}?" if close else ""


def place_of(node: Node) -> tuple[int, int]:
    """Return where a part of the text begins: line and column from 1."""
    at = node if isinstance(node, Token) else node.meta
    return getattr(at, "line", None) or 1, getattr(at, "column", None) or 1

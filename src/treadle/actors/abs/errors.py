"""What is wrong with an ABS file: where, what, and the line with a caret."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lark import Token, Tree

from treadle.core.errors import TreadleError

Node = Tree[Token] | Token
"""A part of the text that was parsed."""


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


def place_of(node: Node) -> tuple[int, int]:
    """Return where a part of the text begins: line and column from 1."""
    at = node if isinstance(node, Token) else node.meta
    return getattr(at, "line", None) or 1, getattr(at, "column", None) or 1

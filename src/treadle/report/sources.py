"""The source that an execution went through: the functions around some lines, file by file."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_AROUND = 8
"""Lines around one that no function is known for."""
_LONGEST = 120
"""Lines of a function that is shown as a whole."""
_GAP = 4
"""Lines between two pieces that are shown too."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of a file in a row."""

    first: int
    """The number of its first line."""
    lines: tuple[str, ...]


def sources_of(places: Iterable[str]) -> dict[str, list[Piece]]:
    """Return the source around places `file:line`, of all files that can be read."""
    wanted: dict[str, set[int]] = {}
    for place in places:
        file, _, line = place.rpartition(":")
        if file and line.isdecimal():
            wanted.setdefault(file, set()).add(int(line))
    found = {file: _pieces(linecache.getlines(file), lines) for file, lines in wanted.items()}
    return {file: pieces for file, pieces in found.items() if pieces}


def _pieces(text: Sequence[str], wanted: set[int]) -> list[Piece]:
    """Return the pieces of a file that show some of its lines."""
    spans = _functions(text)
    shown: set[int] = set()
    for line in wanted:
        around = range(max(1, line - _AROUND), min(len(text), line + _AROUND) + 1)
        fitting = [span for span in spans if line in span and len(span) <= _LONGEST]
        shown.update(sorted(fitting, key=len)[-1] if fitting else around)
    pieces: list[list[int]] = []
    for line in sorted(line for line in shown if line <= len(text)):
        if pieces and line - pieces[-1][-1] <= _GAP:
            pieces[-1] += range(pieces[-1][-1] + 1, line + 1)
        else:
            pieces.append([line])
    return [
        Piece(piece[0], tuple(text[line - 1].rstrip("\n") for line in piece)) for piece in pieces
    ]


def _functions(text: Sequence[str]) -> list[range]:
    """Return the lines of all functions and classes; nothing of a file that is no Python."""
    try:
        tree = ast.parse("".join(text))
    except (SyntaxError, ValueError):
        return []
    nodes = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [
        range(
            min([node.lineno, *(one.lineno for one in node.decorator_list)]),
            (node.end_lineno or node.lineno) + 1,
        )
        for node in ast.walk(tree)
        if isinstance(node, nodes)
    ]

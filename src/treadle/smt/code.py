"""What is known of two blocks of code before they are executed symbolically."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from treadle.smt.values import Tag

Position: TypeAlias = tuple[int, int] | None
"""Where a block begins: line and column of a `yield`, None for the start of the process."""


class NotTranslatedError(Exception):
    """Code that is not understood: in which line, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Shared:
    """A shared name: kinds of values that it may hold, and how many if it is an array."""

    kinds: tuple[Tag, ...]
    length: int | None = None
    is_certain: bool = True
    """Whether it can hold nothing else, whatever happens; else that has to be made sure of."""
    container: Literal["", "set", "list", "dict", "counter"] = ""
    """What it holds always, the same one, if that is nobody else's; `kinds` are those of values."""


@dataclass(frozen=True, slots=True)
class Code:
    """A block: the function that it is part of, and where in it the block begins."""

    name: str
    definition: ast.FunctionDef
    origin: Position
    state: str
    """What the function calls the shared state."""
    local: frozenset[str]
    """Names that are local to the function, parameters included."""
    kinds: Mapping[str, tuple[Tag, ...]]
    """Kinds of values that its local names may hold; a whole number if nothing is known."""
    meaning: Callable[[str], object]
    """What a name that is not local means; raises `KeyError` if that is unknown."""
    live: Callable[[Position], set[str]]
    """Local names that the process may look at again, by where it goes on."""
    is_pure: Callable[[object], bool]
    """Whether a function makes a value of its arguments, and does nothing else."""


def way_to(body: list[ast.stmt], origin: Position) -> list[tuple[int, str]] | None:
    """Return which statement of which part leads to a `yield`; the last one is the `yield`."""
    for index, statement in enumerate(body):
        node = yield_in(statement)
        if node is not None and (node.lineno, node.col_offset) == origin:
            return [(index, "")]
        for part in ("body", "orelse"):
            inner = way_to(getattr(statement, part, None) or [], origin)
            if inner is not None:
                return [(index, part), *inner]
    return None


def yield_in(statement: ast.stmt) -> ast.Yield | None:
    """Return the `yield` that a statement is, if it is one and nothing else."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
        return statement.value
    return None


def guard_of(node: ast.Yield, state: str) -> ast.expr | None:
    """Return the condition of `yield s.until(lambda: ...)`, None if there is none."""
    value = node.value
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and isinstance(value.func.value, ast.Name)
        and value.func.value.id == state
        and value.func.attr == "until"
        and isinstance(value.args[0], ast.Lambda)
    ):
        return value.args[0].body
    return None


def has_yield(statement: ast.stmt) -> bool:
    """Tell whether a statement waits somewhere inside."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(statement)
    )

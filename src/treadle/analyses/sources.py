"""From a function to its definition in the source, as `ast`.

Code that was generated has no source of its own: whoever generates it says what its tree is
(`remember`), with the positions of the file that it was generated from.
"""

from __future__ import annotations

import ast
import linecache
from types import FunctionType

from treadle.analyses.ir import Span

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_Key = tuple[str, int]
"""A qualified name, and the first line (of the decorators, if there are any)."""

_remembered: dict[str, ast.Module] = {}
_indices: dict[str, tuple[object, dict[_Key, Definition]]] = {}
"""Per file: what the index was made from, and the index."""


def remember(file: str, tree: ast.Module) -> None:
    """Say that the functions of a file come from a tree."""
    _remembered[file] = tree


def definition_of(function: FunctionType) -> Definition | None:
    """Return where a function is defined; None if there is no source of it, or a newer one."""
    code = function.__code__
    definition = _index(code.co_filename).get((code.co_qualname, code.co_firstlineno))
    if definition is None or _parameters(definition) != code.co_varnames[: _count(function)]:
        return None
    return definition


def source_at(file: str, span: Span) -> str:
    """Return what is written at a place, in one line."""
    lines = [line.encode() for line in linecache.getlines(file)[span.line - 1 : span.end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return " ".join(line.decode(errors="replace").strip() for line in lines)


def _count(function: FunctionType) -> int:
    code = function.__code__
    stars = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_argcount + code.co_kwonlyargcount + stars


def _parameters(definition: Definition) -> tuple[str, ...]:
    """Return the names of all parameters in the order of `co_varnames`."""
    given = definition.args
    stars = [one for one in (given.vararg, given.kwarg) if one is not None]
    return tuple(one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *stars))


def _index(file: str) -> dict[_Key, Definition]:
    source: object = _remembered.get(file) or "".join(linecache.getlines(file))
    known = _indices.get(file)
    if known is None or known[0] != source:
        tree = source if isinstance(source, ast.Module) else _parsed(str(source))
        known = _indices[file] = (source, dict(_definitions(tree, "")))
    return known[1]


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:  # not Python, or no longer
        return ast.Module([], [])


def _definitions(node: ast.AST, prefix: str) -> list[tuple[_Key, Definition]]:
    found: list[tuple[_Key, Definition]] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{child.name}"
            line = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            found.append(((name, line), child))
            found += _definitions(child, f"{name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            found += _definitions(child, f"{prefix}{child.name}.")
        else:
            found += _definitions(child, prefix)
    return found

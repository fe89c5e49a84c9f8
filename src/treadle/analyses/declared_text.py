"""Declared constraints as Python over `s`, `first`, `second`: what their functions return."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable


def in_python(holds: Callable[..., object] | None) -> str:
    """Return a declared constraint as Python over `s`, `first`, `second`; its name if it must."""
    if holds is None:
        return "True"
    found = _expression(holds)
    if found is None:
        return f"{getattr(holds, '__name__', repr(holds))}(s, first, second)"
    node, parameters = found
    names = dict(zip(parameters, ("s", "first", "second"), strict=False))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = names.get(inner.id, inner.id)
    return ast.unparse(node)


def _expression(holds: Callable[..., object]) -> tuple[ast.expr, list[str]] | None:
    """Return what a function returns, if that is all it does, and what its parameters are."""
    if not isinstance(holds, types.FunctionType):
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(holds)).strip())
    except (OSError, TypeError, SyntaxError):
        return None
    found: list[tuple[ast.expr, ast.arguments]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.append((node.body, node.args))
        elif isinstance(node, ast.FunctionDef) and isinstance(node.body[-1], ast.Return):
            returned = node.body[-1].value
            if returned is not None and _only_returns(node):
                found.append((returned, node.args))
    if len(found) != 1:
        return None
    node, arguments = found[0]
    return node, [argument.arg for argument in arguments.posonlyargs + arguments.args]


def _only_returns(node: ast.FunctionDef) -> bool:
    """Tell whether a function does nothing but return something, beside a text and `del`."""
    return all(
        isinstance(statement, ast.Delete)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in node.body[:-1]
    )

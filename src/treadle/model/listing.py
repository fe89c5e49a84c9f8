"""The constraints of a model as data: what is declared, what a solver finds, what is left."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator

from treadle.core.constraints import Constrained, Untranslated
from treadle.model.constraints import Constraint, Constraints, Declared


def listed(constraints: Constraints) -> Iterator[Constrained | Untranslated]:
    """Yield pairs of blocks that are declared, or conflict, and then blocks not understood."""
    constraints.check_names()
    by_pair: dict[tuple[str, str], list[Declared]] = {}
    if constraints.mode != "none":
        for declared in constraints.declared:
            by_pair.setdefault((declared.first, declared.second), []).append(declared)
    for (first, second), several in by_pair.items():
        texts = tuple(dict.fromkeys(in_python(declared.holds) for declared in several))
        yield Constrained(first, second, texts, "True" in texts, "declared")
    if constraints.mode == "synthesised":
        yield from _synthesised(constraints)


def _synthesised(constraints: Constraints) -> Iterator[Constrained | Untranslated]:
    for first, second in constraints.undeclared():
        found = constraints.synthesis.of(first, second).result
        yield Constrained(
            first.name, second.name, found.constraints, found.is_exact, "synthesised",
            found.seconds,
        )  # fmt: skip
    yield from constraints.synthesis.untranslated()


def in_python(holds: Constraint | None) -> str:
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


def _expression(holds: Constraint) -> tuple[ast.expr, list[str]] | None:
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

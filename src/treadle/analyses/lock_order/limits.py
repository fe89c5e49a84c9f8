"""Whether a call waits for ever, or gives up: by `blocking`, by `timeout`."""

from __future__ import annotations

import ast

from treadle.analyses.lock_order.primitives import positions_of_limits
from treadle.analyses.lock_order.sources import Function
from treadle.analyses.lock_order.values import Kind

_ENDLESS = (None, -1)
"""Limits that are none."""


def endless_parameters(function: Function) -> frozenset[str]:
    """Return the parameters that are None, or -1, if nobody gives them: they limit nothing."""
    if isinstance(function.node, ast.Module):
        return frozenset()
    arguments = function.node.args
    by_keyword = [one.arg for one in arguments.kwonlyargs]
    pairs = [
        *zip(reversed(function.parameters), reversed(arguments.defaults), strict=False),
        *zip(by_keyword, arguments.kw_defaults, strict=True),
    ]
    return frozenset(
        name
        for name, default in pairs
        if default and any(_is_constant(default, one) for one in _ENDLESS)
    )


def gives_up(node: ast.Call, method: str, kind: Kind, endless: frozenset[str]) -> bool:
    """Tell whether a call that waits gives up after some time, or at once."""
    named = {one.arg: one.value for one in node.keywords}
    flag, limit = positions_of_limits(kind, method)
    flags = (named.get(one) for one in ("blocking", "block", "wait"))
    blocking = next(filter(None, flags), None) or _at(node.args, flag)
    if blocking is not None and _is_constant(blocking, False):
        return True
    timeout = named.get("timeout") or _at(node.args, limit)
    if timeout is None or (isinstance(timeout, ast.Name) and timeout.id in endless):
        return False
    return not any(_is_constant(timeout, one) for one in _ENDLESS)


def _at(arguments: list[ast.expr], position: int | None) -> ast.expr | None:
    return None if position is None or position >= len(arguments) else arguments[position]


def _is_constant(node: ast.expr, value: object) -> bool:
    try:
        found: object = ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return type(found) is type(value) and found == value

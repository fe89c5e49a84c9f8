"""Whether code can tell in which order keys came into a shared dictionary.

Two processes that put different keys into one leave it the same but for that order. So it matters
who looks: a check that only asks for keys, sorts them or counts them does not.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from treadle.analyses.decisive_reads import NotUnderstoodError, definition_of

_ORDERLESS = {function.__name__ for function in (sorted, len, set, frozenset)}


def sees_key_order(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a check of the final state may see the order of a dictionary's keys."""
    try:
        definition, _ = definition_of(function)
    except (NotUnderstoodError, OSError, TypeError, SyntaxError):
        return True
    arguments = definition.args.posonlyargs + definition.args.args
    if not arguments:
        return True
    state, harmless = arguments[0].arg, set[ast.AST]()
    for node in ast.walk(definition):
        match node:
            case ast.Subscript(owner) | ast.Attribute(owner, "get"):
                harmless.add(owner)
            case ast.Compare(_, [ast.In() | ast.NotIn()], [owner]):
                harmless.add(owner)
            case ast.Call(ast.Name(called), [owner], []):
                if _is_builtin(function, called):
                    harmless.add(owner)
    places = [
        node
        for node in ast.walk(definition)
        if isinstance(node, ast.Attribute) and _is_named(node.value, state)
    ]
    alone = {node for node in ast.walk(definition) if _is_named(node, state)}
    if alone - {place.value for place in places}:
        return True  # it gives the state away
    return any(place.attr == name and place not in harmless for place in places)


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_builtin(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a name means a function of Python to which the order is all one."""
    code = function.__code__
    is_own = name in code.co_varnames + code.co_cellvars + code.co_freevars
    return (
        name in _ORDERLESS
        and not is_own
        and function.__globals__.get(name, vars(builtins)[name]) is vars(builtins)[name]
    )

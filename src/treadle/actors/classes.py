"""Which classes of actors and functions a program may use, as far as its code names them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from treadle.actors.actor import ActorType
from treadle.analyses.known import names_of, unwrapped
from treadle.core.frames import is_machinery


def classes_in(main: Callable[..., Any], args: tuple[Any, ...]) -> list[type]:
    """Return the classes of actors that can be reached by name from a main function."""
    return [one for one in reachable(main, *args) if isinstance(one, ActorType)]


def reachable(*roots: object) -> Iterator[ActorType | FunctionType]:
    """Yield the classes of actors and functions of the user that can be reached by name."""
    todo = list(roots)
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, ActorType):
            yield value
            todo += [member for base in value.__mro__ for member in vars(base).values()]
        elif (function := _function_of(value)) is not None:
            yield function
            todo += _named_in(function)


def _function_of(value: object) -> FunctionType | None:
    """Return the function of the user behind a value, if it is one."""
    function = unwrapped(inspect.unwrap(value) if callable(value) else value)
    if function is None or is_machinery(function.__code__.co_filename):
        return None
    return function


def _named_in(function: FunctionType) -> Iterator[object]:
    """Yield what a function's code names: variables from outside, and attributes of modules."""
    names = names_of(function)
    used = _names_used(function.__code__)
    yield from function.__defaults__ or ()
    for name in sorted(used.union(function.__code__.co_freevars)):
        value = names.get(name)
        yield value
        if isinstance(value, ModuleType):
            yield from (vars(value).get(attribute) for attribute in used)


def _names_used(code: CodeType) -> set[str]:
    nested = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names_used, nested))

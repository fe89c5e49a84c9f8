"""Which modules somebody may run code of who has a value: where code under test is looked for."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

from treadle.python.runtime.looking import members_of, module_of_class, mro_of


def modules_of(value: Any) -> Iterator[str]:
    """Yield the names of modules that somebody who has a value may run code of."""
    if issubclass(type(value), types.ModuleType):
        yield value.__name__
    elif issubclass(type(value), types.FunctionType):
        yield from _modules_of_function(value)
    elif issubclass(type(value), type):
        for owner in mro_of(value):
            yield module_of_class(owner)
        for item in members_of(value).values():
            if isinstance(item, types.FunctionType):
                yield from _names_in(item.__code__)
    else:
        yield module_of_class(type(value))


def _modules_of_function(function: types.FunctionType) -> Iterator[str]:
    """Yield where a function is from and what it names, and so of functions it closes over."""
    todo, seen = [function], {id(function)}
    while todo:
        each = todo.pop()
        yield each.__module__
        yield from _names_in(each.__code__)  # an import inside a function
        for content in _closed_over(each):
            if not issubclass(type(content), types.FunctionType):
                yield module_of_class(type(content))
            elif id(content) not in seen:
                seen.add(id(content))
                todo.append(content)


def _closed_over(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            yield cell.cell_contents


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names_in(const)

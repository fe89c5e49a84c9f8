"""Functions of libraries that making a class calls, and what they touch that their package keeps.

These are the metaclass's, `__init_subclass__` of the bases, and `__set_name__` of what is put into
the class. Nobody calls them by name.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from treadle.python.accesses import kept_state
from treadle.python.accesses.reach import Reach
from treadle.python.accesses.uninstrumented import is_reader, is_silent, module_of
from treadle.python.runtime import slots
from treadle.python.runtime.looking import found_in
from treadle.python.sharing.namespaces import instrumented

_OF_METACLASS = ("__prepare__", "__new__", "__init__")
_EMPTY = types.CellType()

Method = tuple[types.FunctionType, Any]
"""A function of a library, and what has it as a method."""


def methods_called(
    bases: Iterable[Any], options: dict[str, Any], put_there: Iterable[Any]
) -> list[Method]:
    """Return the functions of libraries that making a class calls.

    Given are its bases, the keywords of the `class` statement, and classes of what may be in it.
    """
    metaclasses: list[Any] = [*map(type, bases), options.get("metaclass")]
    found: list[tuple[Any, str]] = [(one, name) for one in metaclasses for name in _OF_METACLASS]
    found += [(type(one), "__call__") for one in metaclasses]
    found += [(base, "__init_subclass__") for base in bases]
    found += [(kind, "__set_name__") for kind in put_there]
    methods = {
        function: (function, owner)
        for owner, name in found
        if issubclass(type(owner), type)
        for function in _of_library(found_in(owner, name))
    }
    return list(methods.values())


def _of_library(value: Any) -> Iterator[types.FunctionType]:
    """Yield what is a function of a library that is not looked into, and not Python's own."""
    function = getattr(value, "__func__", value)
    if type(function) is not types.FunctionType or id(function.__globals__) in instrumented:
        return
    module = module_of(function) or ""
    if module.partition(".")[0] in sys.stdlib_module_names or slots.take_in(module):
        return
    if not is_silent(module) and not is_reader(module):
        yield function


def touch(reach: Reach, methods: Iterable[Method]) -> None:
    """Add what functions touch that their package keeps."""
    for function, owner in methods:
        codes = kept_state.touching(function, owner)()
        values = kept_state.named_by(function, owner)
        if codes or values:
            reach.touch(codes)
            reach.write((), values)
            reach.notes.append(f"{module_of(function)}.{function.__qualname__}")


def classes_named(body: types.FunctionType) -> list[type]:
    """Return the classes that the body of a class names, of which it may put instances there."""
    names = body.__code__.co_names
    values: list[Any] = [body.__globals__.get(name) for name in names]
    values += [cell.cell_contents for cell in body.__closure__ or () if cell != _EMPTY]
    modules = [value for value in values if type(value) is types.ModuleType]
    values += [vars(module).get(name) for module in modules for name in names]
    return [value for value in values if issubclass(type(value), type)]

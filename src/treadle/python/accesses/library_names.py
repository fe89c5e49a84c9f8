"""Variables of a library's modules that its functions look at or assign, found in their code.

`linecache.getline()` looks at `linecache.cache`, which code under test may replace or change; and
what `tempfile.gettempdir()` assigns, code under test may look at. Functions of libraries are not
instrumented. So before one is called whose module is changed like that, its code is searched for
the names that it uses, with that of the functions it names: those of its module, of other modules
that it names, and methods of its object and of classes that it names.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from treadle.core.events import Codes, Mode
from treadle.python.runtime.about_code import remembered
from treadle.python.runtime.looking import members_of, module_of_class, mro_of
from treadle.python.runtime.slots import Knowledge
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import class_attribute, class_feature

Name = tuple[str, str]
"""A module, or a class as in its features, and a variable or attribute of it."""
_STORING = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_TOOLS = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
"""Classes of what a module has to work with, and does not keep."""
_MADE_BY = ("__init__", "__new__")
"""What calling a class calls."""
_STORING_OPCODES = frozenset(map(dis.opmap.__getitem__, _STORING))


class _Names(NamedTuple):
    """What some code, and what it calls, does with variables of modules."""

    looked_at: frozenset[Name]
    assigned: frozenset[Name]
    classes: dict[str, type]
    """Those that attributes of are looked at."""


def met_by(function: types.FunctionType, owner: Any, shared: Knowledge) -> bool:
    """Tell whether a function may meet what code under test changes, or looks at, by name."""
    return bool(_changed(function, owner, shared) or list(_assigned(function, owner, shared)))


def codes_of(function: types.FunctionType, owner: Any, shared: Knowledge) -> Codes:
    """Return the codes of the variables that a function looks at or assigns."""
    names = _names_of(function, owner)
    codes: list[int] = []
    for home, held in names.looked_at & shared.assigned:
        if home in names.classes:
            codes.append(class_attribute(shared, names.classes[home], held, Mode.READ))
        else:
            codes += _table_of((home, held))[held]
    for name in _assigned(function, owner, shared):
        codes += _table_of(name).writes[name[1]]
    return tuple(sorted(set(codes)))


def values_of(function: types.FunctionType, owner: Any, shared: Knowledge) -> list[Any]:
    """Return what modules keep, a function has hold of by its name, and threads share."""
    found = sorted(_changed(function, owner, shared) & shared.looked_into)
    classes = _names_of(function, owner).classes
    values = [vars(classes.get(home) or sys.modules[home]).get(name) for home, name in found]
    return [value for value in values if id(value) in published]


def _changed(function: types.FunctionType, owner: Any, shared: Knowledge) -> frozenset[Name]:
    """Return what a function looks at that code under test assigns, or has hold of."""
    if not shared.assigned and not shared.looked_into:
        return frozenset()
    return _names_of(function, owner).looked_at & (shared.assigned | shared.looked_into)


def _assigned(function: types.FunctionType, owner: Any, shared: Knowledge) -> Iterator[Name]:
    """Yield what a function assigns and code under test looks at."""
    namespace = function.__globals__
    table = published.get(id(sys.modules.get(namespace.get("__name__", ""))))
    if table is None or not any(map(_is_data, map(namespace.get, shared.names))):
        return
    for module, name in sorted(_names_of(function, owner).assigned):
        if name in shared.names and module == table.label:
            yield module, name


def _is_data(value: Any) -> bool:
    return value is not None and not issubclass(type(value), _TOOLS)


def _table_of(name: Name) -> Any:
    return published[id(sys.modules[name[0]])]


def _names_of(function: types.FunctionType, owner: Any) -> _Names:
    kind: Any = owner if issubclass(type(owner), type) else type(owner)
    return _search(function.__code__, function.__globals__.get("__name__", ""), kind)


@remembered
def _search(code: types.CodeType, module: str, kind: type) -> _Names:
    looked_at: set[Name] = set()
    assigned: set[Name] = set()
    classes: dict[str, type] = {}
    todo = [(code, module, kind)]
    seen = {(id(code), kind)}  # rewritten code has constants without a hash
    while todo:
        here, module, owner = todo.pop()
        found = [(kind, one) for one in _found_in(here, module)]
        for other, names in _classes_in(here, owner, [one[2] for _, one in found]):
            found += [(other, one) for one in _found_in_class(other, names, classes)]
        looked_at.update((home, name) for _, (home, name, _) in found)
        assigned |= {(module, name) for name in _stored_in(here)}
        for one, called, where in (*_functions_in(found), *_inside(here, module, owner)):
            if (id(called), one) not in seen:
                seen.add((id(called), one))
                todo.append((called, where, one))
    return _Names(frozenset(looked_at), frozenset(assigned), classes)


def _functions_in(
    found: Iterable[tuple[type, tuple[str, str, Any]]],
) -> Iterator[tuple[type, types.CodeType, str]]:
    for kind, (_, _, value) in found:
        if issubclass(type(value), types.FunctionType):
            yield kind, value.__code__, value.__globals__.get("__name__", "")


def _inside(
    code: types.CodeType, module: str, kind: type
) -> Iterator[tuple[type, types.CodeType, str]]:
    for const in code.co_consts:
        if type(const) is types.CodeType:
            yield kind, const, module


def _classes_in(
    code: types.CodeType, kind: type, values: Iterable[Any]
) -> Iterator[tuple[type, tuple[str, ...]]]:
    """Yield whose attributes code may name, and which: its object's, and those of what it names."""
    names = code.co_names
    yield kind, names
    for value in dict.fromkeys(one for one in values if issubclass(type(one), type)):
        yield value, (*names, *_MADE_BY)
    for held in dict.fromkeys(type(one) for one in values if _is_object(type(one))):
        yield held, names


def _found_in(code: types.CodeType, module: str) -> Iterator[tuple[str, str, Any]]:
    """Yield what code names of its module, and of modules it names."""
    namespace = vars(sys.modules.get(module, object))
    for name in code.co_names:
        value = namespace.get(name)
        yield module, name, value
        if type(value) is types.ModuleType:
            for other in code.co_names:
                yield value.__name__, other, vars(value).get(other)


def _found_in_class(
    kind: type, names: Iterable[str], classes: dict[str, type]
) -> Iterator[tuple[str, str, Any]]:
    """Yield what a class has under names, or a class may get that comes before in its order."""
    owners = [one for one in mro_of(kind) if one is not object]
    for name in dict.fromkeys(names):
        holder = next((one for one in owners if name in members_of(one)), None)
        if holder is not None:
            for owner in owners[: owners.index(holder) + 1]:
                home, _ = class_feature(owner, name)
                classes[home] = owner
                yield home, name, None
            value = members_of(holder)[name]
            value = value.fget if type(value) is property else value
            yield home, name, getattr(value, "__func__", value)


def _is_object(kind: type) -> bool:
    """Tell whether instances of a class have methods of a library."""
    return not issubclass(kind, _TOOLS) and module_of_class(kind) != "builtins"


def _stored_in(code: types.CodeType) -> Iterator[str]:
    if _STORING_OPCODES.isdisjoint(code.co_code[::2]):
        return  # to disassemble all that a large library names would take seconds
    for instruction in dis.get_instructions(code):
        if instruction.opname in _STORING:
            yield instruction.argval

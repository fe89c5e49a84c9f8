"""Modules and their variables as locations: of code under test, and of libraries it changes."""

from __future__ import annotations

import builtins
import enum
import sys
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.events import Codes, Mode
from treadle.python.accesses import calls
from treadle.python.accesses.uninstrumented import is_immutable, is_reader, is_silent
from treadle.python.instrument.scan import is_special
from treadle.python.runtime import control
from treadle.python.runtime.looking import members_of, module_of_class, mro_of, qualname_of
from treadle.python.sharing.children import Children, attributes_of
from treadle.python.sharing.containers import AttributesTable
from treadle.python.sharing.kept import looked_at_directly
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.shared import Shared
from treadle.python.sharing.tables import (
    CellTable,
    ClassTable,
    ObjectTable,
    Table,
    class_feature,
)
from treadle.python.sharing.variable import GLOBAL, MODULE, Variable
from treadle.python.sharing.walks import register

BUILTINS = f"{MODULE}builtins"
"""The sort of the module whose names every module has."""
_NEEDED = frozenset(
    name
    for name, value in vars(builtins).items()
    if issubclass(type(value), type | types.BuiltinFunctionType)
) - {
    "print", "input", "open", "breakpoint", "exit", "quit", "help", "copyright", "credits",
    "license", "__import__", "_",
}  # fmt: skip
"""Built-in functions and classes that Treadle uses while threads run."""
_HELD = frozenset({list, dict, set, deque, OrderedDict, defaultdict})
"""Classes of what libraries keep in modules and code under test may change."""
_VALUES = (int, float, str, bytes, tuple, frozenset, enum.Enum, BaseException)
_ANNOUNCED = frozenset({"builtins", "sys", "os", "io", "random", "time", "weakref", "treadle"})
"""Modules whose objects announce themselves, or are stood for."""

_variables: dict[tuple[str, str], Variable] = {}


def variable_of(module: str, name: str) -> Variable:
    """Return what stands for a global variable."""
    found = _variables.get((module, name))
    if found is None:
        found = _variables[module, name] = Variable(module, name)
    return found


class VariableTable(CellTable):
    """A global variable."""

    __slots__ = ()

    @classmethod
    def sort_of(cls, value: Any, label: str) -> str:
        """Variables are told apart by module and name."""
        del label
        return f"{GLOBAL}{value.module}.{value.name}"


class ModuleTable(Table):
    """A module: its attributes are the global variables of its functions.

    Those of a library are locations, too, as far as code under test changes them.
    """

    __slots__ = ()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kind = types.ModuleType

    def read(self, what: Any) -> Codes:
        """Return the codes of reading a global variable, if it is assigned."""
        table = self._variable(what)
        if table is not None:
            return table["cell"]
        module = sys.modules.get(self.label)
        enter_attribute(self.shared, module, what)
        kept_there = looked_at_directly(self.shared, self.label, attributes_of(module).get(what))
        if not self.shared.happens(self.sort, what):
            return kept_there
        return (self.at(what, Mode.READ, f".{what}"), *kept_there)

    def write(self, what: Any) -> Codes:
        """Return the codes of assigning a global variable.

        One that no code was seen to assign is learned: the exploration begins anew with it.
        """
        if self.sort == BUILTINS and what in _NEEDED:
            self._refuse(what)
        table = self._variable(what)
        if table is not None:
            return table.writes["cell"]
        if self.label in calls.modules_under_test:
            self.shared.write(f"{GLOBAL}{self.label}.{what}", "assigned")
            return ()
        if not self.shared.write(self.sort, what):
            return ()
        return (self.at(what, Mode.WRITE, f".{what}"),)

    def changing(self) -> list[str]:
        """Return the variables that are assigned."""
        sorts = (sort for sort, _ in self.shared.features)
        prefix = f"{GLOBAL}{self.label}."
        return sorted(sort.removeprefix(prefix) for sort in sorts if sort.startswith(prefix))

    def _refuse(self, name: str) -> None:
        """End the exploration: Treadle would call what the test puts in the place of a built-in."""
        scheduler = control.the_program().scheduler
        scheduler.fatal = TreadleError(
            f"the test replaces builtins.{name}, which Treadle itself uses while threads run: "
            f"assign {name} in the module that calls it instead"
        )
        raise scheduler.fatal

    def _variable(self, name: str) -> Table | None:
        variable = _variables.get((self.label, name))
        return None if variable is None else self.shared.published.get(id(variable))


def enter_attribute(shared: Shared, module: types.ModuleType | None, name: str) -> None:
    """Enter what a module of a library has under a name: a class, a function, a container.

    It is the same in every execution, and what it holds is no business of the test's until that
    puts something there.
    """
    value: Any = attributes_of(module).get(name)
    kind = type(value)
    key = ("attribute", getattr(module, "__name__", ""), name)
    if kind is types.ModuleType:
        enter_module(shared, value)
    elif issubclass(kind, type) and not shared.follows(value):
        enter_class(shared, value)
    elif kind is types.FunctionType:
        enter_function(shared, value)
    elif kind in _HELD:
        shared.enter_container(value, key, f"{key[1]}.{name}")
        shared.looked_into.add(key[1:])
    elif id(value) not in shared.published and _is_state(kind, key[1]):
        table = shared.new_table(ObjectTable, key, value, f"{key[1]}.{name}")
        shared.enter_for_good(value, table)
        shared.looked_into.add(key[1:])


def _is_state(kind: type, module: str) -> bool:
    """Tell whether an instance that a module keeps is state of that library, no value or tool."""
    return (
        module_of_class(kind).partition(".")[0] == module.partition(".")[0]
        and not issubclass(kind, _VALUES)
        and not is_immutable(kind)
        and not is_silent(module)
        and not is_reader(module)
        and module not in _ANNOUNCED
    )


class LibraryClassTable(ClassTable):
    """A class of a library: which of its attributes code under test assigns is remembered."""

    __slots__ = ()

    def read(self, what: Any) -> Codes:
        """Return the locations of the classes that may hold the attribute, if they change."""
        for owner in mro_of(self.owner):
            _enter_member(self.shared, owner, what)
        return super().read(what)

    def write(self, what: Any) -> Codes:
        """Return the location of the class's own attribute."""
        self.shared.note(MODULE + class_feature(self.owner, what)[0], what)
        return super().write(what)


def enter_class(shared: Shared, kind: Any) -> None:
    """Enter a class of a library: its attributes are looked at when they are assigned."""
    if id(kind) not in shared.published:
        key = ("class", module_of_class(kind), qualname_of(kind))
        table = shared.new_table(LibraryClassTable, key, kind, qualname_of(kind))
        table.begin(kind)
        shared.enter_for_good(kind, table)
        for owner in mro_of(kind):
            _enter_data(shared, owner)


def _enter_data(shared: Shared, owner: type) -> None:
    """Enter the containers that a class of a library has under names of its own."""
    module = module_of_class(owner)
    if is_silent(module) or module in _ANNOUNCED or shared.follows(owner):
        return
    for name, value in list(members_of(owner).items()):
        if type(value) in _HELD and not is_special(name):
            label = f"{qualname_of(owner)}.{name}"
            shared.enter_container(value, ("attribute", module, label), f"{module}.{label}")
            shared.looked_into.add((class_feature(owner, name)[0], name))


def enter_function(shared: Shared, function: types.FunctionType) -> None:
    """Enter a function of a library: what calling it does may be assigned to it."""
    if id(function) not in shared.published and id(function.__globals__) not in instrumented:
        key = ("attribute", function.__module__, function.__qualname__)
        table = shared.new_table(ObjectTable, key, function, f"{key[1]}.{key[2]}")
        shared.enter_for_good(function, table)


def _enter_member(shared: Shared, owner: type, name: Any) -> None:
    """Enter a method that a class of a library has, or a member of it if it is an enumeration.

    Members are passed around, so they are entered only if code under test assigns what they have.
    """
    members = members_of(owner)
    method = getattr(members.get(name), "__func__", members.get(name))
    if type(method) is types.FunctionType:
        enter_function(shared, method)
    member = members.get("_member_map_", {}).get(name)
    if member is None or id(member) in shared.published:
        return
    if not shared.stored.isdisjoint(attributes_of(member)):
        label = f"{qualname_of(owner)}.{name}"
        key = ("attribute", module_of_class(owner), label)
        shared.enter_for_good(member, shared.new_table(ObjectTable, key, member, label))


def enter_module(shared: Shared, module: Any) -> None:
    """Enter a module: its attributes are variables, its functions are looked at when called."""
    if isinstance(module, types.ModuleType) and id(module) not in shared.published:
        name = module.__name__
        table = ModuleTable(shared, ("module", name), name, f"{MODULE}{name}")
        shared.published[id(module)] = shared._tables["module", name] = table
        if name in calls.modules_under_test or module is builtins:
            names = AttributesTable(table, dict)
            shared.published[id(vars(module))] = shared._tables["names of module", name] = names


def enter_of_library(shared: Shared, value: Any) -> None:
    """Enter a module, class or function of a library, wherever the test has it from."""
    if issubclass(type(value), types.ModuleType):
        enter_module(shared, value)
    elif type(value) is types.FunctionType:
        enter_function(shared, value)
    else:
        enter_class(shared, value)


def _content(variable: Any, label: str) -> Children:
    namespace = vars(sys.modules[variable.module]) if variable.module in sys.modules else {}
    if variable.name in namespace:
        yield namespace[variable.name], label


register(Variable, VariableTable, _content)

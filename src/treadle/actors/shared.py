"""Variables that actors share although they should not: of modules, of classes, of functions.

Actors have fields, and messages are values; but Python lets a method write a module's variable or
change a list that is an attribute of its class. Such accesses are not seen one by one. So as soon
as there are any, *all* steps are dependent on each other: that costs reduction, and nothing is
missed. Assignments to variables of modules are found in the code. A list, dictionary or set that
methods can name is compared with what it was; an attribute of a class tells when it is written.
"""

from __future__ import annotations

import copy
import dis
from collections import deque
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from treadle.actors.actor import ActorType
from treadle.actors.classes import reachable
from treadle.analyses.known import names_of

if TYPE_CHECKING:
    from treadle.actors.programs import Program

SHARED = "shared "
"""What knowledge begins with about variables that actors share."""

_CONTAINERS = (list, dict, set, bytearray, deque)
_STORES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})


class SharedVariables:
    """What the actors of a program can reach besides their fields."""

    def __init__(self, program: Program) -> None:
        main = program.main, *program.args, *program.kwargs.values()
        classes = [one for one in reachable(*main) if isinstance(one, ActorType)]
        assigned = {name for one in reachable(*main) for name in _assigned_in(one)}
        self.assigned = {name for one in reachable(*classes) for name in assigned & _names(one)}
        """Variables of modules that methods name, and some code assigns."""
        self._containers: dict[int, tuple[str, Any]] = {}
        """Those that methods name: what they are called, and they themselves."""
        self._copies: dict[int, Any] = {}
        for one in reachable(*classes):
            for name, value in _containers_of(one):
                self._containers.setdefault(id(value), (name, value))

    @property
    def has_containers(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self._containers)

    def keep(self) -> None:
        """Keep what the containers hold now."""
        self._copies = {key: _copy(value) for key, (_, value) in self._containers.items()}

    def changed(self) -> Iterator[str]:
        """Yield the names of containers that are not what they were."""
        for key, before in self._copies.items():
            name, value = self._containers[key]
            if value != before:
                yield name


def _codes_of(one: object) -> Iterator[CodeType]:
    """Yield the code of a function, and of those in it."""
    code = one.__code__ if isinstance(one, FunctionType) else one
    if isinstance(code, CodeType):
        yield code
        for constant in code.co_consts:
            yield from _codes_of(constant)


def _assigned_in(one: object) -> Iterator[str]:
    """Yield the variables of its module that a function assigns."""
    for code in _codes_of(one):
        for instruction in dis.get_instructions(code):
            if instruction.opname in _STORES:
                yield instruction.argval


def _names(one: object) -> set[str]:
    """Return the names from outside that a function uses."""
    return {name for code in _codes_of(one) for name in (*code.co_names, *code.co_freevars)}


def _containers_of(one: ActorType | FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the containers that a class has as attributes, or that a function names."""
    if isinstance(one, FunctionType):
        names = names_of(one)
        found = [(name, names.get(name)) for name in sorted(_names(one))]
    else:
        found = [(f"{one.__name__}.{name}", value) for name, value in vars(one).items()]
    for name, value in found:
        if isinstance(value, _CONTAINERS) and not name.rpartition(".")[2].startswith("__"):
            yield name, value


def _copy(value: Any) -> Any:
    """Return a copy that is equal: a deep one, unless its items are equal only to themselves."""
    try:
        deep = copy.deepcopy(value)
    except Exception:
        return copy.copy(value)
    return deep if deep == value else copy.copy(value)

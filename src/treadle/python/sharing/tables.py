"""The locations of published objects: what reading and writing an attribute or variable accesses.

A `Table` is a mapping from names of attributes to the codes of reading them, filled as they are
asked for; those of writing are in `writes` and `stores`. Containers have tables of their own
(`containers`), and so have primitives.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.core.stored import Stores
from treadle.python.runtime.looking import members_of, module_of_class, mro_of, qualname_of
from treadle.python.sharing import kept

if TYPE_CHECKING:
    from treadle.python.runtime.slots import Knowledge
    from treadle.python.sharing.shared import Feature, Shared


_FOR_WRITING = frozenset({"writes", "stores", "_named"})


class Cell(NamedTuple):
    """Where the value of a location is: an attribute, or a variable."""

    holder: Hashable
    """The key of what holds it."""
    name: Any


class Table(dict[Any, Codes]):
    """The locations of one published object: codes of reading an attribute, item or key."""

    __slots__ = (
        "_is_written", "_named", "key", "kind", "label", "shared", "sort", "stores", "writes",
    )  # fmt: skip

    writes: dict[Any, Codes]
    """Codes of writing in any way: assigning, deleting, by code that is not instrumented."""
    stores: dict[Any, Codes]
    """Codes of assigning."""
    _named: dict[Any, Stores | None]
    """Codes of assigning a value that has a name; None: no value has."""

    counts = False
    """Whether `begin` has to look at the object in every execution."""
    is_selective = False
    """Whether only some such objects are the test's business."""
    is_primitive = False
    """Whether the object has state that changes without a note."""
    kind: type
    """The class of the object."""
    changing: Callable[[], list[str]] | None = None
    """Returns the attributes that are written, if features of this sort do not tell."""

    def __init__(self, shared: Shared, key: Hashable, label: str, sort: str) -> None:
        super().__init__()
        self.shared = shared
        self.key = key
        self.label = label
        self.sort = sort
        self._is_written = False

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make what is for writing: most tables, those of 500 modules, never need it."""
            if name not in _FOR_WRITING or self._is_written:
                raise AttributeError(name)
            self.writes, self.stores, self._named = _Writes(self), _Stores(self), {}
            self._is_written = True
            return getattr(self, name)

    @classmethod
    def sort_of(cls, value: Any, label: str) -> str:
        """Return the sort of an object: what is learned about it holds for all of its sort."""
        del label
        return f"{module_of_class(type(value))}.{qualname_of(type(value))}"

    def begin(self, value: Any) -> None:
        """Take note of the state in which the object is published."""

    def forget(self) -> None:
        """Forget codes that depend on what was learned."""
        self.clear()
        if self._is_written:
            self.writes.clear()
            self.stores.clear()
            self._named.clear()

    def storing(self, what: Any, value: Any) -> Codes:
        """Return the codes of assigning a value that code was given, and did not compute.

        They name the value. What it replaces plays no part: shared objects are kept until the
        execution ends, so no finaliser runs that could see who replaced it.
        """
        if not self.shared.names_values:
            return self.stores[what]
        if what not in self._named:
            self._named[what] = self._naming(what)
        named = self._named[what]
        return self.stores[what] if named is None else named.codes(value, self.shared.vocabulary)

    def _naming(self, what: Any) -> Stores | None:
        codes = self.stores[what]
        if len(codes) != 1 or mode_of(codes[0]) is not Mode.STORE:
            return None
        return Stores(location_of(codes[0]))

    def at(self, what: Hashable, mode: Mode, name: str = "") -> int:
        """Return the code of one location of the object; its name follows the object's."""
        return code(self.shared.data_location((self.key, what), self.label + name), mode)

    def cell_at(self, what: Hashable, mode: Mode, name: str = "") -> int:
        """Return the code of a location that holds one value: an attribute or a variable."""
        access = self.at(what, mode, name)
        self.shared.cells[location_of(access)] = Cell(self.key, what)
        return access

    def sync_at(self, what: Hashable, mode: Mode, name: str = "") -> int:
        """Return the code of a location of the object that synchronises, and holds no data."""
        return code(self.shared.location((self.key, what), self.label + name), mode)

    def __missing__(self, what: Any) -> Codes:
        codes = self[what] = self.read(what)
        return codes

    def read(self, what: Any) -> Codes:
        """Return the codes of reading something; empty if that never changes."""
        raise NotImplementedError

    def write(self, what: Any) -> Codes:
        """Return the codes of writing something."""
        raise NotImplementedError


class _Writes(dict[Any, Codes]):
    """The codes of writing, filled as they are asked for."""

    __slots__ = ("table",)

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, what: Any) -> Codes:
        codes = self[what] = self.table.write(what)
        return codes


class _Stores(_Writes):
    """The codes of assigning: of what can be told to be replaced, without a look at it."""

    __slots__ = ()

    def __missing__(self, what: Any) -> Codes:
        cells = self.table.shared.cells
        codes = self[what] = tuple(
            code(location_of(access), Mode.STORE) if location_of(access) in cells else access
            for access in self.table.writes[what]
        )
        return codes


_DECIDING = dict.fromkeys(("__class__", "__dict__"))
"""Attributes whose values decide what the others are: who reads any of them looks at these."""
_SET_BY = {"__cause__": ("__suppress_context__",)}
"""Attributes that are set together with another one."""
_NO_CELLS = frozenset({*_DECIDING, *(name for names in _SET_BY.values() for name in names)})
"""Attributes whose stores do not say which value they put there."""


class ObjectTable(Table):
    """Attributes of an instance."""

    __slots__ = ()

    def read(self, what: Any) -> Codes:
        """Return the attribute's location, and those of classes that hold it, if they change."""
        shared = self.shared
        codes = []
        for name in {what: None, **_DECIDING}:
            if shared.happens(self.sort, name):
                codes.append(self._attribute(name, Mode.READ))
        for owner in mro_of(self.kind):
            if shared.happens(*class_feature(owner, what)):
                codes.append(class_attribute(shared, owner, what, Mode.READ))
        return (*codes, *_kept_by_library(shared, self.kind, what))

    def write(self, what: Any) -> Codes:
        """Return the attribute's location; none if the class turns the assignment into a call."""
        if _has_own_setattr(self.kind) or _is_computed(self.kind, what):
            return ()
        return self.stored(what)

    def stored(self, what: Any) -> Codes:
        """Return the codes of really storing an attribute."""
        names = (what, *_SET_BY.get(what, ()))
        known = [name for name in names if self.shared.write(self.sort, name)]
        return tuple(self._attribute(name, Mode.WRITE) for name in known)

    def _attribute(self, name: Any, mode: Mode) -> int:
        locate = self.at if name in _NO_CELLS else self.cell_at
        return locate(name, mode, f".{name}")


def _has_own_setattr(kind: type) -> bool:
    """Tell whether a class turns every assignment of an attribute into a call."""
    return any(
        isinstance(members_of(owner).get("__setattr__"), types.FunctionType)
        for owner in mro_of(kind)
    )


def _is_computed(kind: type, name: str) -> bool:
    """Tell whether assigning an attribute calls a descriptor's code."""
    for owner in mro_of(kind):
        if name in members_of(owner):
            found = members_of(owner)[name]
            return isinstance(found, property) or any(
                isinstance(members_of(one).get("__set__"), types.FunctionType)
                for one in mro_of(type(found))
            )
    return False


def class_feature(owner: type, name: str) -> Feature:
    """Return the feature of a class attribute that is assigned."""
    return (f"class {module_of_class(owner)}.{qualname_of(owner)}", name)


def class_attribute(shared: Knowledge, owner: type, name: str, mode: Mode) -> int:
    """Return the code of a class attribute."""
    sort, _ = class_feature(owner, name)
    return code(shared.data_location((sort, name), f"{qualname_of(owner)}.{name}"), mode)


def _kept_by_library(shared: Knowledge, kind: type, name: Any) -> Codes:
    """Return the codes of looking at an attribute that functions of a library may assign."""
    for owner in mro_of(kind):
        held = members_of(owner)
        if name in held:
            return kept.looked_at_directly(shared, module_of_class(owner), held[name])
    return ()


class ClassTable(Table):
    """Attributes of a class."""

    __slots__ = ("owner",)

    counts = True
    is_selective = True

    def begin(self, value: Any) -> None:
        """Remember the class."""
        self.owner = value

    def read(self, what: Any) -> Codes:
        """Return the locations of the classes that may hold the attribute, if they change."""
        codes = [
            class_attribute(self.shared, owner, what, Mode.READ)
            for owner in (*mro_of(self.owner), *mro_of(type(self.owner)))
            if self.shared.happens(*class_feature(owner, what))
        ]
        return (*codes, *_kept_by_library(self.shared, self.owner, what))

    def write(self, what: Any) -> Codes:
        """Return the location of the class's own attribute."""
        if not self.shared.write(*class_feature(self.owner, what)):
            return ()
        return (class_attribute(self.shared, self.owner, what, Mode.WRITE),)


class NewModuleTable(ObjectTable):
    """Attributes of a module that was made, not imported."""

    __slots__ = ()

    is_selective = True


class CellTable(Table):
    """A variable that functions close over."""

    __slots__ = ()

    @classmethod
    def sort_of(cls, value: Any, label: str) -> str:
        """Variables are told apart by name."""
        del value
        return f"variable {label}"

    def read(self, what: Any) -> Codes:
        """Return the variable's location, if it is assigned."""
        if not self.shared.happens(self.sort, "assigned"):
            return ()
        return (self.cell_at("cell", Mode.READ),)

    def write(self, what: Any) -> Codes:
        """Return the variable's location."""
        if not self.shared.write(self.sort, "assigned"):
            return ()
        return (self.cell_at("cell", Mode.WRITE),)

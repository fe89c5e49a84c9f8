"""Which objects are shared, and how their locations are called: names by publication.

An object that only its creator can reach is nobody else's business: accesses to it are no events.
It is *published* when it becomes reachable for others: captured by a thread that is started, stored
in something published, handed over by a queue. At that moment everything newly reachable from it is
entered in `published`, each object with the `Table` of its locations. Names follow the publishing
event: the task, how often it has published so far, and the position in the walk. So they mean the
same in every execution, whoever touches the object first.

A location whose content never changes after its publication makes no difference, and reading it is
no event. What does change is *learned*: the first execution that writes to a new kind of location
(`Feature`) is the last of its exploration, and the exploration begins anew with that knowledge
(`treadle.program.Restart`).
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from treadle.events import Codes, Mode, Vocabulary, code, location_of
from treadle.threads.children import (
    ATOMS,
    Children,
    attributes_and_class,
    attributes_of,
    cells_and_more,
    children_of_builtin,
    children_of_c_object,
    children_of_cell,
    children_of_class,
    children_of_exception,
    children_of_function,
    children_of_generator,
    children_of_hiding,
    children_of_instance,
    children_of_method,
    children_of_module,
    children_of_partial,
    children_of_property,
    children_of_sequence,
    children_of_set,
    children_of_wrapped_method,
    content_of_cell,
    hides_parts,
    no_children,
)

Feature = tuple[str, Hashable]
"""A sort of objects (a class, or where a container hangs) and what happens to them."""

Origin = Any
"""Where a walk met an object: a label, or the object before it, the position, and its origin."""


class Shared:
    """The published objects of an execution, and what the exploration knows about locations."""

    def __init__(self, vocabulary: Vocabulary, published: dict[int, Table]) -> None:
        self.vocabulary = vocabulary
        self.published = published
        """Tables by `id`, of objects that `kept` keeps alive."""
        self.features: set[Feature] = set()
        """What happens to published objects, as far as earlier executions have shown."""
        self.happening: set[Hashable] = set()
        """The same, whatever the sort."""
        self.learned: set[Feature] = set()
        """What this execution has shown beyond that."""
        self.cells: dict[int, tuple[Hashable, Any]] = {}
        """Locations of attributes and variables: the key of what holds them, and the name."""
        self.written: set[Feature] = set()
        """What executions have done to data since somebody emptied this."""
        self._kept: list[Any] = []
        self._tables: dict[Hashable, Table] = {}
        self._rows: dict[Hashable, list[Table]] = {}
        """The tables that a publication needed last time."""
        self._static_kept: list[Any] = []
        self._local_walks: dict[type, _Walk] = {}
        self.follows: Callable[[type], bool] = lambda _: False
        """Tells whether a class is of code under test, so that its attributes may be shared."""

    # An execution's life

    def seal(self) -> None:
        """Remember what is published now as published in every execution."""
        self._static_kept += self._kept
        self._kept = []

    def reset(self) -> None:
        """Forget the objects of the last execution."""
        self._withdraw(0)
        self._local_walks.clear()

    def clear(self) -> None:
        """Forget all objects."""
        self.published.clear()
        self._kept = []
        self._static_kept = []

    def learn(self) -> bool:
        """Take over what was learned; tell whether there was something."""
        if not self.learned:
            return False
        self.know(self.features | self.learned)
        return True

    def know(self, features: Set[Feature]) -> None:
        """Take something to be known, and nothing else."""
        self.learned = set()
        if features != self.features:
            self.features = set(features)
            self.happening = {what for _, what in features}
            for table in self._tables.values():
                table.forget()

    # Publication

    def publish(self, root: Any, label: str, key: Hashable) -> None:
        """Enter everything newly reachable from an object, in a fixed order."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = []
        elif self._publish_again(root, row):
            return
        self._publish_anew(root, label, key, row)

    def _publish_again(self, root: Any, row: list[Table]) -> bool:
        """Enter what is reachable, if it is of the same kinds as last time; else nothing."""
        published, kept = self.published, self._kept
        kept_before = len(kept)
        passed: set[int] = set()
        todo = [root]
        tables = iter(row)
        while todo:
            value = todo.pop()
            kind = type(value)
            walk = _WALKS.get(kind) or self._walk_of(kind)
            make = walk.table
            if make is not None:
                if id(value) in published or (make.is_selective and not self._enters(value)):
                    continue
                table = next(tables, None)
                if table is None or table.kind is not kind:
                    self._withdraw(kept_before)
                    return False
                if make.counts:
                    table.begin(value)
                published[id(value)] = table
                kept.append(value)
            elif _has_been_here(value, passed):
                continue
            for child in reversed(walk.children(value)):
                if type(child) not in ATOMS and id(child) not in published:
                    todo.append(child)
        return True

    def enter(self, value: Any, table: Table) -> None:
        """Enter one object under a given table, for the rest of the execution."""
        if id(value) not in self.published:
            self.published[id(value)] = table
            self._kept.append(value)

    def _withdraw(self, length: int) -> None:
        """Forget the objects that were published last, up to so many."""
        for value in self._kept[length:]:
            del self.published[id(value)]
        del self._kept[length:]

    def _publish_anew(self, root: Any, label: str, key: Hashable, row: list[Table]) -> None:
        """Enter what is reachable, and remember where it was met: tables have to be named."""
        published, kept = self.published, self._kept
        passed: set[int] = set()
        todo: list[tuple[Any, Origin]] = [(root, label)]
        index = -1
        while todo:
            value, origin = todo.pop()
            kind = type(value)
            if id(value) in published:
                continue
            walk = _WALKS.get(kind) or self._walk_of(kind)
            if walk.table is not None:
                if walk.table.is_selective and not self._enters(value):
                    continue
                index += 1
                table = row[index] if index < len(row) else None
                if table is None or table.kind is not kind:
                    table = self._new_table(walk.table, (key, index), value, origin)
                    row[index:] = [table, *row[index + 1 :]]
                if walk.table.counts:
                    table.begin(value)
                published[id(value)] = table
                kept.append(value)
            elif _has_been_here(value, passed):
                continue
            children = walk.children(value)
            for position in range(len(children) - 1, -1, -1):
                child = children[position]
                if type(child) not in ATOMS and id(child) not in published:
                    todo.append((child, (value, position, origin)))

    def _new_table(self, make: type[Table], key: Hashable, value: Any, origin: Origin) -> Table:
        """Return the table of an object that is not what earlier executions had in its place.

        A class that the test itself defines is another object in every execution, and yet the same.
        """
        label = self._label_of(origin)
        sort = make.sort_of(value, label)
        table = self._tables.get(key)
        if table is not None and table.sort != sort:
            key = (key, sort)
            table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = make(self, key, label, sort)
        table.kind = type(value)
        return table

    def _enters(self, value: Any) -> bool:
        """Tell whether an object is to be looked into: no class or module of a library is."""
        if issubclass(type(value), type):
            return self.follows(value)
        return sys.modules.get(attributes_of(value).get("__name__", "")) is not value

    def _walk_of(self, kind: type) -> _Walk:
        """Return how to walk instances of a class; those of one execution are forgotten with it."""
        walk = self._local_walks.get(kind)
        if walk is None:
            walk = _walk_of_kind(kind)
            known = _WALKS if _outlives_executions(kind) else self._local_walks
            known[kind] = walk
        return walk

    def _label_of(self, origin: Origin) -> str:
        """Return the name for people of an object, from where a walk met it."""
        if isinstance(origin, str):
            return origin
        value, position, earlier = origin
        walk = _WALKS.get(type(value)) or self._walk_of(type(value))
        labels = [label for _, label in walk.labelled(value, self._label_of(earlier))]
        label: str = labels[position]
        return label

    def objects(self) -> list[Any]:
        """Return the objects that are published, those of every execution first."""
        return [*self._static_kept, *self._kept]

    # Locations

    def location(self, key: Hashable, name: str) -> int:
        """Return the number of a location."""
        return self.vocabulary.location(key, name)

    def data_location(self, key: Hashable, name: str) -> int:
        """Return the number of a location that holds data of the program."""
        location = self.vocabulary.location(key, name)
        self.vocabulary.data.add(location)
        return location

    def happens(self, sort: str, what: Hashable) -> bool:
        """Tell whether something happens to published objects of a sort."""
        return (sort, what) in self.features

    def write(self, sort: str, what: Hashable) -> bool:
        """Note that data is written; tell whether that was known before this execution."""
        self.written.add((sort, what))
        return self.note(sort, what)

    def note(self, sort: str, what: Hashable) -> bool:
        """Note that something happens; tell whether that was known before this execution."""
        if (sort, what) in self.features:
            return True
        self.learned.add((sort, what))
        return False


class Table(dict[Any, Codes]):
    """The locations of one published object: codes of reading an attribute, item or key."""

    __slots__ = ("key", "kind", "label", "shared", "sort", "stores", "writes")

    counts = False
    """Whether `begin` has to look at the object in every execution."""
    is_selective = False
    """Whether only some such objects are the test's business."""
    kind: type
    """The class of the object."""

    def __init__(self, shared: Shared, key: Hashable, label: str, sort: str) -> None:
        super().__init__()
        self.shared = shared
        self.key = key
        self.label = label
        self.sort = sort
        self.writes: dict[Any, Codes] = _Writes(self)
        """Codes of writing in any way: assigning, deleting, by code that is not instrumented."""
        self.stores: dict[Any, Codes] = _Stores(self)
        """Codes of assigning."""

    @classmethod
    def sort_of(cls, value: Any, label: str) -> str:
        """Return the sort of an object: what is learned about it holds for all of its sort."""
        del label
        return f"{type(value).__module__}.{type(value).__qualname__}"

    def begin(self, value: Any) -> None:
        """Take note of the state in which the object is published."""

    def forget(self) -> None:
        """Forget codes that depend on what was learned."""
        self.clear()
        self.writes.clear()
        self.stores.clear()

    def at(self, what: Hashable, mode: Mode, name: str = "") -> int:
        """Return the code of one location of the object; its name follows the object's."""
        return code(self.shared.data_location((self.key, what), self.label + name), mode)

    def cell_at(self, what: Hashable, mode: Mode, name: str = "") -> int:
        """Return the code of a location that holds one value: an attribute or a variable."""
        access = self.at(what, mode, name)
        self.shared.cells[location_of(access)] = self.key, what
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
        for owner in self.kind.__mro__:
            if shared.happens(*class_feature(owner, what)):
                codes.append(class_attribute(shared, owner, what, Mode.READ))
        return tuple(codes)

    def write(self, what: Any) -> Codes:
        """Return the attribute's location; none if the class turns the assignment into a call."""
        if _has_own_setattr(self.kind) or _is_computed(self.kind, what):
            return ()
        return self.stored(what)

    def stored(self, what: Any) -> Codes:
        """Return the codes of really storing an attribute."""
        if not self.shared.write(self.sort, what):
            return ()
        return (self._attribute(what, Mode.WRITE),)

    def _attribute(self, name: Any, mode: Mode) -> int:
        locate = self.at if name in _DECIDING else self.cell_at
        return locate(name, mode, f".{name}")


def _has_own_setattr(kind: type) -> bool:
    """Tell whether a class turns every assignment of an attribute into a call."""
    return any(
        isinstance(vars(owner).get("__setattr__"), types.FunctionType) for owner in kind.__mro__
    )


def _is_computed(kind: type, name: str) -> bool:
    """Tell whether assigning an attribute calls a descriptor's code."""
    for owner in kind.__mro__:
        if name in owner.__dict__:
            found = owner.__dict__[name]
            return hasattr(type(found), "__set__") and not isinstance(
                found, types.MemberDescriptorType | types.GetSetDescriptorType
            )
    return False


def class_feature(owner: type, name: str) -> Feature:
    """Return the feature of a class attribute that is assigned."""
    return (f"class {owner.__module__}.{owner.__qualname__}", name)


def class_attribute(shared: Shared, owner: type, name: str, mode: Mode) -> int:
    """Return the code of a class attribute."""
    sort, _ = class_feature(owner, name)
    return code(shared.data_location((sort, name), f"{owner.__qualname__}.{name}"), mode)


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
        return tuple(
            class_attribute(self.shared, owner, what, Mode.READ)
            for owner in (*self.owner.__mro__, *type(self.owner).__mro__)
            if self.shared.happens(*class_feature(owner, what))
        )

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


# How objects of a class are walked


@dataclass(frozen=True, slots=True)
class _Walk:
    """How objects of a class are named and walked."""

    table: type[Table] | None
    labelled: Callable[[Any, str], Children]
    children: Callable[[Any], Sequence[Any]]
    """What `labelled` yields, without the labels, which are seldom needed."""


def _walk(
    table: type[Table] | None,
    labelled: Callable[[Any, str], Children],
    quick: Callable[[Any], Sequence[Any]] | None = None,
) -> _Walk:
    if quick is None:
        return _Walk(table, labelled, lambda value: [child for child, _ in labelled(value, "")])
    return _Walk(table, labelled, quick)


_WALKS: dict[type, _Walk] = {}
_REGISTERED: set[type] = set()
"""Classes whose subclasses are walked like them: the others in `_WALKS` were found out."""
_HEAP_TYPE = 1 << 9
"""The flag of classes that were made by a `class` statement or look like it."""


def register(
    kind: type,
    table: type[Table] | None,
    children: Callable[[Any, str], Children] | None = None,
    quick: Callable[[Any], Sequence[Any]] | None = None,
) -> None:
    """Say how instances of a class are named and walked.

    `quick` returns what `children` yields, without labels.
    """
    _REGISTERED.add(kind)
    _WALKS[kind] = _walk(table, children or no_children, quick)


def _walk_of_kind(kind: type) -> _Walk:
    """Find how to walk instances of a class that was not registered."""
    if issubclass(kind, type):
        return _walk(ClassTable, children_of_class)
    if f"{kind.__module__}.".startswith("treadle."):
        return _walk(None, no_children)  # results and the like are none of the test's business
    base = next((base for base in kind.__mro__[1:] if base in _REGISTERED), None)
    if base is None:
        if not kind.__flags__ & _HEAP_TYPE and not kind.__dictoffset__:
            return _walk(ObjectTable, children_of_c_object)
        if hides_parts(kind):
            return _walk(ObjectTable, children_of_hiding)
        has_slots = any("__slots__" in vars(owner) for owner in kind.__mro__)
        is_plain = kind.__getattribute__ is object.__getattribute__
        quick = attributes_and_class if is_plain and kind.__dictoffset__ and not has_slots else None
        return _walk(ObjectTable, children_of_instance, quick)
    inherited = _WALKS[base]
    return _walk(inherited.table, functools.partial(_both, inherited.labelled))


def _has_been_here(value: Any, passed: set[int]) -> bool:
    """Tell whether a walk has passed an object without a table: only attributes lead it back."""
    if not type(value).__dictoffset__:
        return False
    if id(value) in passed:
        return True
    passed.add(id(value))
    return False


def _outlives_executions(kind: type) -> bool:
    """Tell whether a class can be found in its module, or is written in C."""
    if "<locals>" in kind.__qualname__:
        return False
    if not kind.__flags__ & _HEAP_TYPE:
        return True
    outermost = kind.__qualname__.partition(".")[0]
    return outermost in attributes_of(sys.modules.get(kind.__module__))


def _both(inner: Callable[[Any, str], Children], value: Any, label: str) -> Children:
    yield from inner(value, label)
    yield from children_of_instance(value, label)


register(tuple, None, children_of_sequence, lambda value: value)
register(frozenset, None, children_of_set)
register(types.FunctionType, ObjectTable, children_of_function, cells_and_more)
register(types.CellType, CellTable, children_of_cell, content_of_cell)
register(types.MethodType, None, children_of_method, lambda value: (value.__self__, value.__func__))
register(types.GeneratorType, ObjectTable, children_of_generator)
register(types.BuiltinFunctionType, None, children_of_builtin, lambda value: (value.__self__,))
register(types.MethodWrapperType, None, children_of_builtin)
register(
    functools.partial,
    None,
    children_of_partial,
    lambda value: (value.func, *value.args, *value.keywords.values()),
)
register(types.ModuleType, NewModuleTable, children_of_module)
register(property, None, children_of_property)
register(staticmethod, None, children_of_wrapped_method)
register(classmethod, None, children_of_wrapped_method)
register(BaseException, ObjectTable, children_of_exception)

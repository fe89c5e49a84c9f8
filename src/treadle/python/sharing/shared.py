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
(`treadle.core.program.Restart`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Set
from typing import Any, TypeGuard

from treadle.core.events import Vocabulary
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing import finalizers
from treadle.python.sharing.children import attributes_of
from treadle.python.sharing.identities import identities
from treadle.python.sharing.restoring import Restorer
from treadle.python.sharing.tables import Cell, Table
from treadle.python.sharing.variable import MODULE
from treadle.python.sharing.walks import WALKS, Walk, outlives_executions, walk_of_kind

Feature = tuple[str, Hashable]
"""A sort of objects (a class, or where a container hangs) and what happens to them."""

FOREIGN_OPERATORS = "operators", "of a library"
"""Objects are published for which operators run code that is not instrumented."""

_known_walk = WALKS.get
"""As with `published.table_of_id`, it costs less to look the method up once."""
_LONGEST_LABEL = 300
"""Characters of a name for people; a list of linked objects would have a longer one for each."""


class _Parent:
    """An object that a walk has met, and the names for people of what it refers to.

    These are made only if one is asked for, all at once: one by one they would cost a walk each.
    """

    __slots__ = ("_children", "_earlier", "_position", "_value", "_walk")

    def __init__(self, walk: Walk, value: Any, earlier: _Parent | str, position: int) -> None:
        self._walk = walk
        self._value = value
        self._earlier = earlier
        self._position = position
        self._children: list[str] | None = None

    def label(self, position: int) -> str:
        """Return the name of what it refers to at a position."""
        unnamed = [self]
        while isinstance(before := unnamed[-1]._earlier, _Parent) and before._children is None:
            unnamed.append(before)
        for parent in reversed(unnamed):
            parent._name_children()
        assert self._children is not None
        return self._children[position]

    def _name_children(self) -> None:
        if self._children is None:
            own = _label_at(self._earlier, self._position)
            self._children = [label for _, label in self._walk.labelled(self._value, own)]


def _label_at(parent: _Parent | str, position: int) -> str:
    """Return the name for people of an object, from where a walk met it: a root has its own."""
    label = parent if isinstance(parent, str) else parent.label(position)
    return label if len(label) <= _LONGEST_LABEL else f"{label[:_LONGEST_LABEL]}…"


class Shared:
    """The published objects of an execution, and what the exploration knows about locations."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        published: dict[int, Table],
        restorer: Restorer | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self._restorer = restorer
        """Undoes what an execution changes in what outlives it."""
        self.published = published
        """Tables by `id`, of objects that `kept` keeps alive."""
        self.features: set[Feature] = set()
        """What happens to published objects, as far as earlier executions have shown."""
        self.happening: set[Hashable] = set()
        """The same, whatever the sort."""
        self.specials: tuple[str, ...] = ()
        """The special names among it, in order."""
        self.learned: set[Feature] = set()
        """What this execution has shown beyond that."""
        self.cells: dict[int, Cell] = {}
        """Locations of attributes and variables."""
        self.names_values = True
        """Whether stores say which value they put there (`treadle.core.stored`)."""
        self.written: set[Feature] = set()
        """What executions have done to data since somebody emptied this."""
        self._kept: list[Any] = []
        self._tables: dict[Hashable, Table] = {}
        self._rows: dict[Hashable, list[Table]] = {}
        """The tables that a publication needed last time."""
        self._static_kept: list[Any] = []
        self._local_walks: dict[type, Walk] = {}
        self.has_foreign_operators: Callable[[type], bool] = lambda _: False
        """Tells whether operators run code for a class that is not instrumented."""
        self.follows: Callable[[type], bool] = lambda _: False
        """Tells whether a class is of code under test, so that its attributes may be shared."""
        self.enter_of_library: Callable[[Shared, Any], None] = lambda _, __: None
        """Enters a module or class of a library, of which only what the test changes is shared."""
        self.names: Set[str] = frozenset()
        """Names that code under test uses, of variables and attributes."""
        self.stored: Set[str] = frozenset()
        """Names of attributes that it assigns."""
        self.assigned: set[tuple[str, Hashable]] = set()
        """Modules of libraries, and what of them code under test is known to assign."""
        self.looked_into: set[tuple[str, str]] = set()
        """Modules of libraries, and what objects they keep code under test has hold of."""

    # An execution's life

    def seal(self) -> None:
        """Remember what is published now as published in every execution."""
        if self._restorer is not None:
            self._restorer.add((value, self.published[id(value)]) for value in self._kept)
        self._static_kept += self._kept
        self._kept = []

    def reset(self) -> None:
        """Forget the objects of the last execution."""
        self._withdraw(0)
        identities.begin_execution()
        self._local_walks.clear()

    def clear(self) -> None:
        """Forget all objects."""
        self.published.clear()
        self.looked_into.clear()
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
            self.specials = tuple(sorted(filter(_is_special, self.happening)))
            self.assigned = {
                (sort.removeprefix(MODULE), what)
                for sort, what in features
                if sort.startswith(MODULE)
            }
            for sort, what in features:
                self._before_first(sort, what)
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
            walk = _known_walk(kind) or self._walk_of(kind)
            if walk.table is not None:
                identity = id(value)
                if identity in published or (walk.is_selective and not self._enters(value)):
                    continue
                table = next(tables, None)
                if table is None or table.kind is not kind:
                    self._withdraw(kept_before)
                    return False
                if walk.counts:
                    table.begin(value)
                published[identity] = table
                kept.append(value)
            elif walk.leads_back:
                if id(value) in passed:
                    continue
                passed.add(id(value))
            children_of = walk.children  # called as a method, it would be looked up in the class
            for child in reversed(children_of(value)):
                if type(child) not in ATOMS and id(child) not in published:
                    todo.append(child)
        return True

    def enter(self, value: Any, table: Table) -> None:
        """Enter one object under a given table, for the rest of the execution."""
        if id(value) not in self.published:
            self.published[id(value)] = table
            self._kept.append(value)

    def enter_container(self, value: Any, key: Hashable, label: str) -> None:
        """Enter a built-in container without what is in it, for all executions."""
        if id(value) not in self.published:
            make = WALKS[type(value)].table
            assert make is not None
            table = self.new_table(make, key, value, label)
            table.begin(value)
            self.enter_for_good(value, table)

    def enter_for_good(self, value: Any, table: Table) -> None:
        """Enter one object under a given table, for all executions."""
        self.published[id(value)] = table
        self._static_kept.append(value)
        if self._restorer is not None:
            self._restorer.add([(value, table)])

    @property
    def kept(self) -> list[Any]:
        """The published objects of this execution."""
        return self._kept

    def forget(self, value: Any) -> None:
        """Forget an object of this execution that is about to die."""
        for index in range(len(self._kept) - 1, -1, -1):
            if self._kept[index] is value:
                del self._kept[index], self.published[id(value)]
                return

    def _withdraw(self, length: int) -> None:
        """Forget the objects that were published last, up to so many."""
        published, kept = self.published, self._kept
        for identity in map(id, kept[length:] if length else kept):
            del published[identity]
        del kept[length:]

    def _publish_anew(self, root: Any, label: str, key: Hashable, row: list[Table]) -> None:
        """Enter what is reachable, and remember where it was met: tables have to be named."""
        published, kept = self.published, self._kept
        passed: set[int] = set()
        todo: list[tuple[Any, _Parent | str, int]] = [(root, label, 0)]
        index = -1
        while todo:
            value, parent, place = todo.pop()
            kind = type(value)
            if id(value) in published:
                continue
            walk = _known_walk(kind) or self._walk_of(kind)
            if walk.table is not None:
                if walk.is_selective and not self._enters(value):
                    continue
                index += 1
                table = row[index] if index < len(row) else None
                if table is None or table.kind is not kind:
                    before, label = table, _label_at(parent, place)
                    table = self.new_table(walk.table, (key, index), value, label)
                    if before is not None and before.sort != table.sort:
                        del row[index:]  # something else stands here, and so behind it
                    row[index : index + 1] = [table]
                if walk.counts:
                    table.begin(value)
                published[id(value)] = table
                kept.append(value)
            elif walk.leads_back:
                if id(value) in passed:
                    continue
                passed.add(id(value))
            children = walk.children(value)
            here = _Parent(walk, value, parent, place)
            for position in range(len(children) - 1, -1, -1):
                child = children[position]
                if type(child) not in ATOMS and id(child) not in published:
                    todo.append((child, here, position))

    def new_table(self, make: type[Table], key: Hashable, value: Any, label: str) -> Table:
        """Return the table of an object that is not what earlier executions had in its place.

        A class that the test itself defines is another object in every execution, and yet the same.
        """
        sort = make.sort_of(value, label)
        table = self._tables.get(key)
        if table is not None and table.sort != sort:
            key = (key, sort)
            table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = make(self, key, label, sort)
        table.kind = type(value)
        finalizers.meet(value, self.published)
        if self.has_foreign_operators(table.kind):
            self.note(*FOREIGN_OPERATORS)
        return table

    def _enters(self, value: Any) -> bool:
        """Tell whether an object is to be looked into: no class or module of a library is."""
        if issubclass(type(value), type):
            is_own = self.follows(value)
        else:
            is_own = sys.modules.get(attributes_of(value).get("__name__", "")) is not value
        if not is_own:
            self.enter_of_library(self, value)
        return is_own

    def _walk_of(self, kind: type) -> Walk:
        """Return how to walk instances of a class; those of one execution are forgotten with it."""
        walk = self._local_walks.get(kind)
        if walk is None:
            walk = walk_of_kind(kind)
            known = WALKS if outlives_executions(kind) else self._local_walks
            known[kind] = walk
        return walk

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
        self._before_first(sort, what)
        return False

    def _before_first(self, sort: str, what: Hashable) -> None:
        if self._restorer is not None:
            self._restorer.before_first(sort, what)


def _is_special(what: Hashable) -> TypeGuard[str]:
    return isinstance(what, str) and what.startswith("__") and what.endswith("__")

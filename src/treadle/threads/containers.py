"""Locations of built-in containers: as fine as is sound.

List indices and dictionary keys are locations of their own where the step that touches them would
touch the same ones in every order. What depends on the present length or on which keys are there
shares a location with whatever changes that.

A list that is published with `n` elements has `n` item locations, one for its *length* (and all
elements beyond), one for the *order*, written by whatever moves elements about, and one for *all*,
to which item assignments add and which whole reads (`sum(x)`, `x == y`) read. Dictionaries and sets
have one location per key, one for *every* key at once and one for *all*. Whether the summary
locations are needed at all is learned (see `shared`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any

from treadle.events import Codes, Mode
from treadle.threads import shared as names
from treadle.threads.shared import ATOMS, Table

READ, WRITE, ADD = Mode.READ, Mode.WRITE, Mode.ADD


class ContainerTable(Table):
    """What all containers have in common."""

    __slots__ = ("base",)

    @classmethod
    def sort_of(cls, value: Any, label: str) -> str:
        """Containers are told apart by where they hang, whatever the index."""
        shape = "".join(c for c in label if not c.isdigit())
        return f"{value.__class__.__name__} {shape}"

    def happens(self, *what: str) -> bool:
        """Tell whether one of these things happens to such containers."""
        return any(self.shared.happens(self.sort, thing) for thing in what)

    def learn(self, *what: str) -> bool:
        """Note that these things happen; tell whether all were known."""
        return all([self.shared.note(self.sort, thing) for thing in what])

    def whole_read(self) -> Codes:
        """Return the codes of reading the whole content."""
        raise NotImplementedError

    def whole_write(self) -> Codes:
        """Return the codes of changing the content beyond one element."""
        raise NotImplementedError

    def size(self) -> Codes:
        """Return the codes of reading the number of elements."""
        return self.whole_read()

    def attribute(self, name: str) -> int:
        """Return the code of reading an attribute of a container's subclass."""
        return self.at(("attribute", name), READ, f".{name}")


class ListTable(ContainerTable):
    """A list or bytearray."""

    __slots__ = ()

    def begin(self, value: Any) -> None:
        """Take note of the length, which is how many elements have locations of their own."""
        length = list.__len__(value) if isinstance(value, list) else len(value)
        if getattr(self, "base", length) != length:
            self.forget()
        self.base = length

    def item(self, index: int, mode: Mode) -> int:
        """Return the code of one element."""
        return self.at(index, mode, f"[{index}]")

    def in_order(self) -> list[int]:
        """Return the code that conflicts with moving elements, if that happens."""
        return [self.at("order", READ, " order")] if self.happens("moved") else []

    def read(self, what: Any) -> Codes:
        """Return the codes of reading one element."""
        if what.__class__ is int and 0 <= what < self.base:
            item = [self.item(what, READ)] if self.happens("assigned") else []
            return (*item, *self.in_order())
        if what.__class__ is int and what < 0 and not self.happens("moved", "grown"):
            return self[what + self.base] if -self.base <= what else ()
        if what.__class__ is int and what >= self.base:
            return self.size()
        return self.whole_read()

    def write(self, what: Any) -> Codes:
        """Return the codes of assigning one element."""
        if what.__class__ is int and what < 0 and not self.happens("moved", "grown"):
            what += self.base
        if what.__class__ is int and 0 <= what < self.base:
            if not self.learn("assigned"):
                return ()
            whole = [self.at("all", ADD, " content")] if self.happens("read whole") else []
            return (self.item(what, WRITE), *self.in_order(), *whole)
        return self.grow() if what.__class__ is int and what >= self.base else self.whole_write()

    def grow(self) -> Codes:
        """Return the codes of adding elements at the end."""
        if not self.learn("grown"):
            return ()
        whole = [self.at("all", ADD, " content")] if self.happens("read whole") else []
        return (self.at("length", WRITE, " length"), *whole)

    def whole_write(self) -> Codes:
        """Return the codes of moving elements about."""
        if not self.learn("moved"):
            return ()
        return (
            self.at("order", WRITE, " order"),
            self.at("length", WRITE, " length"),
            self.at("all", WRITE, " content"),
        )

    def whole_read(self) -> Codes:
        """Return the codes of reading all elements."""
        if not self.learn("read whole") or not self.happens("assigned", "moved", "grown"):
            return ()
        return (self.at("all", READ, " content"), *self.size())

    def size(self) -> Codes:
        """Return the codes of reading the length."""
        if not self.happens("grown", "moved"):
            return ()
        return (self.at("length", READ, " length"),)


class DictTable(ContainerTable):
    """A dictionary: one location per key."""

    __slots__ = ()

    def begin(self, value: Any) -> None:
        """Take note of the keys: assigning one of them later inserts nothing."""
        base = frozenset(k for k in dict.keys(value) if k.__class__ in ATOMS)
        if getattr(self, "base", base) != base:
            self.forget()
        self.base = base

    def place(self, key: Any, mode: Mode) -> int:
        """Return the code of one key."""
        named = name_of_key(self, key)
        return self.at(("key", named[0]), mode, named[1])

    def read(self, what: Any) -> Codes:
        """Return the codes of looking a key up, whether it is there or not."""
        every = [self.at("every", READ, " keys")] if self.happens("replaced") else []
        if not self.happens("assigned", "inserted", "deleted"):
            return tuple(every)
        return (self.place(what, READ), *every)

    def write(self, what: Any) -> Codes:
        """Return the codes of assigning a key."""
        is_old = what.__class__ in ATOMS and what in self.base and not self.happens("deleted")
        if not self.learn("assigned" if is_old else "inserted"):
            return ()
        return self._change(what, ADD if is_old else WRITE)

    def delete(self, key: Any) -> Codes:
        """Return the codes of removing a key."""
        if not self.learn("deleted"):
            return ()
        return self._change(key, WRITE)

    def _change(self, key: Any, mode: Mode) -> Codes:
        every = [self.at("every", READ, " keys")] if self.happens("replaced") else []
        whole = [self.at("all", mode, " content")] if self.happens("read whole") else []
        return (self.place(key, WRITE), *every, *whole)

    def whole_read(self) -> Codes:
        """Return the codes of reading all keys or values."""
        changes = ("assigned", "inserted", "deleted", "replaced")
        if not self.learn("read whole") or not self.happens(*changes):
            return ()
        return (self.at("all", READ, " content"),)

    def whole_write(self) -> Codes:
        """Return the codes of changing keys that cannot be told beforehand."""
        if not self.learn("replaced"):
            return ()
        return (self.at("every", WRITE, " keys"), self.at("all", WRITE, " content"))


class SetTable(DictTable):
    """A set: one location per element."""

    __slots__ = ()

    def begin(self, value: Any) -> None:
        """Every element that is added may be new."""
        self.base = frozenset()


class SimpleTable(ContainerTable):
    """A container with one location for everything: `deque`."""

    __slots__ = ()

    def read(self, what: Any) -> Codes:
        """Return the codes of reading an element."""
        return self.whole_read()

    def write(self, what: Any) -> Codes:
        """Return the codes of assigning an element."""
        return self.whole_write()

    def whole_read(self) -> Codes:
        """Return the codes of reading."""
        if not self.happens("changed"):
            return ()
        return (self.at("all", READ),)

    def whole_write(self) -> Codes:
        """Return the codes of changing anything."""
        if not self.learn("changed"):
            return ()
        return (self.at("all", WRITE),)


def name_of_key(table: Table, key: Any) -> tuple[Hashable, str]:
    """Return what identifies a key in every execution, and its name for people.

    Keys that have no such name share one location.
    """
    if key.__class__ in ATOMS:
        return key, f"[{key!r}]"
    if key.__class__ is tuple and all(part.__class__ in ATOMS for part in key):
        return key, f"[{key!r}]"
    known = table.shared.published.get(id(key))
    if known is not None and key.__class__.__hash__ is object.__hash__:
        return ("object", known.key), f"[{known.label}]"
    return "other", "[...]"


names.register(list, ListTable, names._children_of_list)
names.register(bytearray, ListTable)
names.register(dict, DictTable, names._children_of_dict)
names.register(set, SetTable, names._children_of_set)
names.register(deque, SimpleTable, names._children_of_sequence)

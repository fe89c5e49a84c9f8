"""Locations of built-in containers: as fine as is sound.

List indices and dictionary keys are locations of their own where the step that touches them would
touch the same ones in every order. What depends on the present length or on which keys are there
shares a location with whatever changes that.

A list that is published with `n` elements has `n` item locations, one for its *length* (and all
elements beyond), one for the *order*, written by whatever moves elements about, and one for *all*,
to which item assignments add and which whole reads (`sum(x)`, `x == y`) read. Dictionaries and sets
have one location per key, one for *every* key at once, one for which *keys* there are and in what
order, and one for all *values*. Whether the summary locations are needed at all is learned (see
`shared`).
"""

from __future__ import annotations

import gc
import types
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from treadle.core.events import Codes, Mode
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import mro_of
from treadle.python.sharing import children
from treadle.python.sharing.key_kinds import AnyKey, Kinds, kinds_among, kinds_in
from treadle.python.sharing.keys import name_of_key
from treadle.python.sharing.nested import content
from treadle.python.sharing.tables import ClassTable, ObjectTable, Table, class_feature
from treadle.python.sharing.walks import register

READ, WRITE, ADD = Mode.READ, Mode.WRITE, Mode.ADD

HandOut = Callable[[Any, str], None]
EXACT = frozenset({list, dict, set, deque, bytearray, array})


class ContainerTable(ObjectTable):
    """What all containers have in common. As a mapping: attributes, which subclasses may have."""

    __slots__ = ("base", "items_read", "items_written", "key_kinds")

    counts = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.key_kinds: Kinds = frozenset()
        self.items_read: dict[Any, Codes] = {}
        self.items_written: dict[Any, Codes] = {}

    @classmethod
    def sort_of(cls, value: Any, label: str) -> str:
        """Containers are told apart by where they hang, whatever the index."""
        shape = "".join(c for c in label if not c.isdigit())
        return f"{type(value).__name__} {shape}"

    def forget(self) -> None:
        """Forget codes that depend on what was learned."""
        super().forget()
        self.items_read.clear()
        self.items_written.clear()

    def happens(self, *what: str) -> bool:
        """Tell whether one of these things happens to such containers."""
        return any(self.shared.happens(self.sort, thing) for thing in what)

    def looked(self, how: str) -> bool:
        """Note that such containers are looked at in a way; tell whether that was known."""
        return self.shared.note(self.sort, how)

    def changed(self, how: str) -> bool:
        """Note that such containers are changed in a way; tell whether that was known."""
        self.shared.written.add((self.sort, "content"))
        return self.shared.note(self.sort, how)

    # Content

    def item(self, key: Any) -> Codes:
        """Return the codes of reading an element."""
        if type(key) not in ATOMS or type(key) is slice:
            return self.read_item(key)
        codes = self.items_read.get(key)
        if codes is None:
            codes = self.items_read[key] = self.read_item(key)
        return codes

    def item_write(self, key: Any) -> Codes:
        """Return the codes of assigning an element."""
        if type(key) not in ATOMS or type(key) is slice:
            return self.write_item(key)
        codes = self.items_written.get(key)
        if codes is None:
            codes = self.items_written[key] = self.write_item(key)
        return codes

    def item_delete(self, key: Any) -> Codes:
        """Return the codes of removing an element."""
        return self.whole_write()

    def read_item(self, key: Any) -> Codes:
        """Return the codes of reading an element, found out anew."""
        return self.whole_read()

    def write_item(self, key: Any) -> Codes:
        """Return the codes of assigning an element, found out anew."""
        return self.whole_write()

    def membership(self, item: Any) -> Codes:
        """Return the codes of looking for an element."""
        return self.whole_read()

    def whole_read(self) -> Codes:
        """Return the codes of reading the whole content."""
        raise NotImplementedError

    def unordered_read(self) -> Codes:
        """Return the codes of reading the whole content without seeing the order of elements."""
        return self.whole_read()

    def whole_write(self) -> Codes:
        """Return the codes of changing the content beyond one element."""
        raise NotImplementedError

    def size(self) -> Codes:
        """Return the codes of reading the number of elements."""
        return self.whole_read()

    def keys_read(self) -> Codes:
        """Return the codes of going through the elements, one after the other."""
        return self.whole_read()

    def extend(self, value: Any) -> Codes:
        """Return the codes of adding all elements of something."""
        return self.whole_write()

    # What becomes reachable with it

    def hand_out(self, value: Any, publish: HandOut, key: Any = None) -> None:
        """Publish a value that is about to be put in."""
        if type(value) not in ATOMS:
            place = f"[{key!r}]" if type(key) in ATOMS and key is not None else "[...]"
            publish(value, self.label + place)

    def hand_out_all(self, values: Any, publish: HandOut) -> None:
        """Publish the elements of something that are about to be put in."""
        for value in content(values):
            self.hand_out(value, publish)


class ListTable(ContainerTable):
    """A list or bytearray."""

    __slots__ = ()

    def begin(self, value: Any) -> None:
        """Take note of the length, which is how many elements have locations of their own."""
        length = list.__len__(value) if issubclass(type(value), list) else len(value)
        if getattr(self, "base", length) != length:
            self.forget()
        self.base = length

    def place(self, index: int, mode: Mode) -> int:
        """Return the code of one element."""
        return self.at(index, mode, f"[{index}]")

    def in_order(self) -> list[int]:
        """Return the codes that conflict with moving elements, if that happens.

        A list that has shrunk may grow again: then an element is one that was added.
        """
        if not self.happens("moved"):
            return []
        return [self.at("order", READ, " order"), *(self.size() if self.happens("grown") else ())]

    def read_item(self, key: Any) -> Codes:
        """Return the codes of reading one element."""
        if type(key) is int and 0 <= key < self.base:
            item = [self.place(key, READ)] if self.happens("assigned") else []
            return (*item, *self.in_order())
        if type(key) is int and key < 0 and not self.happens("moved", "grown"):
            return self.item(key + self.base) if -self.base <= key else ()
        if type(key) is int and key >= self.base:
            return self._places()
        return self.whole_read()

    def _places(self) -> Codes:
        """Return the codes of seeing which elements were added where."""
        self.looked("in order")
        return self.size()

    def write_item(self, key: Any) -> Codes:
        """Return the codes of assigning one element."""
        if type(key) is int and key < 0 and not self.happens("moved", "grown"):
            key += self.base
        if type(key) is int and 0 <= key < self.base:
            if not self.changed("assigned"):
                return ()
            whole = [self.at("all", ADD, " content")] if self.happens("read whole") else []
            return (self.place(key, WRITE), *self.in_order(), *whole)
        if type(key) is int and key >= self.base:
            self.looked("in order")
            return self.grow()
        return self.whole_write()

    def next_item(self, index: int) -> Codes:
        """Return the codes of an iterator's step: the element, and whether there is one."""
        size = self._places()
        return (*self.item(index), *size) if index < self.base else size

    def grow(self) -> Codes:
        """Return the codes of adding elements at the end: in any order if nobody sees which."""
        if not self.changed("grown"):
            return ()
        whole = [self.at("all", ADD, " content")] if self.happens("read whole") else []
        mode = WRITE if self.happens("in order", "moved") else ADD
        return (self.at("length", mode, " length"), *whole)

    def extend(self, value: Any) -> Codes:
        """Return the codes of adding all elements of something."""
        return self.grow() if not issubclass(type(value), int) else self.whole_write()

    def whole_write(self) -> Codes:
        """Return the codes of moving elements about."""
        if not self.changed("moved"):
            return ()
        return (
            self.at("order", WRITE, " order"),
            self.at("length", WRITE, " length"),
            self.at("all", WRITE, " content"),
        )

    def whole_read(self) -> Codes:
        """Return the codes of reading all elements."""
        self.looked("in order")
        return self.unordered_read()

    def unordered_read(self) -> Codes:
        """Return the codes of reading all elements without seeing where they are."""
        if not self.looked("read whole") or not self.happens("assigned", "moved", "grown"):
            return ()
        return (self.at("all", READ, " content"), *self.size())

    def size(self) -> Codes:
        """Return the codes of reading the length."""
        if not self.happens("grown", "moved"):
            return ()
        return (self.at("length", READ, " length"),)


class DictTable(ContainerTable):
    """A dictionary: one location per key."""

    __slots__ = ("inserts_missing",)

    def begin(self, value: Any) -> None:
        """Take note of the keys: assigning one of them later inserts nothing."""
        base = frozenset(k for k in dict.keys(value) if type(k) in ATOMS)
        if getattr(self, "base", base) != base:
            self.forget()
        self.base = base
        self.key_kinds = kinds_among(dict.keys(value)) if len(base) < len(value) else frozenset()
        self.inserts_missing = getattr(value, "default_factory", None) is not None

    def place(self, key: Any, mode: Mode) -> int:
        """Return the code of one key."""
        named = name_of_key(self, key)
        assert named is not None
        return self.at(("key", named[0]), mode, named[1])

    def may_be_any(self, key: Any) -> bool:
        """Tell whether it takes code of a class to find out which key it is equal to."""
        return type(key) not in ATOMS and name_of_key(self, key) is None

    def is_old(self, key: Any) -> bool:
        """Tell whether a key is there from publication on."""
        is_there = type(key) in ATOMS and key in self.base
        return is_there and not self.happens("deleted", "replaced")

    def membership(self, item: Any) -> Codes:
        """Return the codes of looking a key up, whether it is there or not."""
        if self.may_be_any(item):
            return self.whole_read()
        every = [self.at("every", READ, " keys")] if self.happens("replaced") else []
        if not self.happens("assigned", "inserted", "deleted"):
            return tuple(every)
        return (self.place(item, READ), *every)

    def read_item(self, key: Any) -> Codes:
        """Return the codes of `d[key]`, which a `defaultdict` may answer by inserting it."""
        if self.inserts_missing and not self.is_old(key):
            return self.write_item(key)
        return self.membership(key)

    def write_item(self, key: Any) -> Codes:
        """Return the codes of assigning a key."""
        if self.may_be_any(key):
            return self.whole_write()
        if not self.is_old(key):
            if type(key) not in ATOMS:
                self.key_kinds |= kinds_in(key)
            return self._change(key) if self.changed("inserted") else ()
        if not self.changed("assigned"):
            return ()
        values = [self.at("values", ADD, " content")] if self.happens("read whole") else []
        return (self.place(key, WRITE), *self._every(), *values)

    def item_delete(self, key: Any) -> Codes:
        """Return the codes of removing a key."""
        if self.may_be_any(key):
            return self.whole_write()
        return self._change(key) if self.changed("deleted") else ()

    def _every(self) -> list[int]:
        return [self.at("every", READ, " keys")] if self.happens("replaced") else []

    def _change(self, key: Any) -> Codes:
        """Return the codes of changing which keys there are."""
        keys = []
        if self.happens("gone through"):
            keys.append(self.at("keys", WRITE, " size"))
        elif self.happens("counted"):
            keys.append(self.at("keys", ADD, " size"))
        return (self.place(key, WRITE), *self._every(), *keys)

    def size(self) -> Codes:
        """Return the codes of reading the number of keys."""
        return self._keys("counted")

    def keys_read(self) -> Codes:
        """Return the codes of going through the keys."""
        return self._keys("gone through")

    def _keys(self, how: str) -> Codes:
        if not self.looked(how) or not self.happens("inserted", "deleted", "replaced"):
            return ()
        return (self.at("keys", READ, " size"),)

    def whole_read(self) -> Codes:
        """Return the codes of reading all keys and values."""
        return self._content(self.keys_read())

    def unordered_read(self) -> Codes:
        """Return the codes of reading all keys and values without seeing their order."""
        return self._content(self.size())

    def _content(self, keys: Codes) -> Codes:
        if not self.looked("read whole") or not self.happens("assigned", "replaced"):
            return keys
        return (self.at("values", READ, " content"), *keys)

    def whole_write(self) -> Codes:
        """Return the codes of changing keys that cannot be told beforehand."""
        if not self.changed("replaced"):
            return ()
        return (
            self.at("every", WRITE, " keys"),
            self.at("keys", WRITE, " size"),
            self.at("values", WRITE, " content"),
        )

    def extend(self, value: Any) -> Codes:
        """Return the codes of taking over all keys of something that nobody else changes."""
        if (
            issubclass(type(value), dict | set | frozenset)
            and id(value) not in self.shared.published
        ):
            return tuple(dict.fromkeys(code for key in value for code in self.item_write(key)))
        self.key_kinds |= {AnyKey}
        return self.whole_write()


class SetTable(DictTable):
    """A set: one location per element."""

    __slots__ = ()

    def begin(self, value: Any) -> None:
        """Every element that is added may be new."""
        self.base = frozenset()
        self.key_kinds = kinds_among(set.__iter__(value))
        self.inserts_missing = False


class SimpleTable(ContainerTable):
    """A container with one location for everything: `deque`."""

    __slots__ = ()

    counts = False

    def whole_read(self) -> Codes:
        """Return the codes of reading."""
        return (self.at("all", READ),) if self.happens("changed") else ()

    def whole_write(self) -> Codes:
        """Return the codes of changing anything."""
        return (self.at("all", WRITE),) if self.changed("changed") else ()


class AliasTable(ContainerTable):
    """Something through which another published object is seen; not published on its own."""

    __slots__ = ("of",)

    counts = False

    def __init__(self, of: Table, kind: type) -> None:
        super().__init__(of.shared, of.key, of.label, of.sort)
        self.of: Any = of
        self.kind = kind
        self.key_kinds = getattr(of, "key_kinds", frozenset())

    def stand_for(self, value: Any) -> None:
        """Enter this as the table of a value, for the rest of the execution."""
        self.shared.enter(value, self)


class ViewTable(AliasTable):
    """What `keys()`, `values()` and `items()` of a dictionary return."""

    __slots__ = ()

    def membership(self, item: Any) -> Codes:
        """Return the codes of looking for an element."""
        return self.of.membership(item) if "keys" in self.kind.__name__ else self.whole_read()

    def size(self) -> Codes:
        """Return the codes of reading the dictionary's size."""
        codes: Codes = self.of.size()
        return codes

    def keys_read(self) -> Codes:
        """Return the codes of going through the view."""
        return self.whole_read()

    def unordered_read(self) -> Codes:
        """Return the codes of reading all of the view without seeing its order."""
        codes: Codes
        codes = self.of.size() if "keys" in self.kind.__name__ else self.of.unordered_read()
        return codes

    def whole_read(self) -> Codes:
        """Return the codes of reading all of the view."""
        codes: Codes
        codes = self.of.keys_read() if "keys" in self.kind.__name__ else self.of.whole_read()
        return codes


class MappingProxyTable(ContainerTable):
    """A read-only view of a mapping: what it shows is published with it."""

    __slots__ = ("_shown",)

    def begin(self, value: Any) -> None:
        """Find what it shows."""
        self._shown = gc.get_referents(value)[0]

    @property
    def _of(self) -> ContainerTable | None:
        """The table of what it shows, if that is a container."""
        of = self.shared.published.get(id(self._shown))
        return of if isinstance(of, ContainerTable) else None

    def item(self, key: Any) -> Codes:
        """Return the codes of reading an element."""
        return self._of.item(key) if self._of is not None else ()

    def membership(self, item: Any) -> Codes:
        """Return the codes of looking an element up."""
        return self._of.membership(item) if self._of is not None else ()

    def size(self) -> Codes:
        """Return the codes of reading the number of elements."""
        return self._of.size() if self._of is not None else ()

    def keys_read(self) -> Codes:
        """Return the codes of going through the elements."""
        return self._of.keys_read() if self._of is not None else ()

    def whole_read(self) -> Codes:
        """Return the codes of reading everything."""
        return self._of.whole_read() if self._of is not None else ()

    def whole_write(self) -> Codes:
        """Return the codes of changing it, which it does not allow, by code that is unknown."""
        return self._of.whole_write() if self._of is not None else ()


class AttributesTable(AliasTable):
    """The `__dict__` of a published object: its keys are the object's attributes."""

    __slots__ = ()

    def read_item(self, key: Any) -> Codes:
        """Return the codes of reading an attribute."""
        codes: Codes = self.of[key]
        return codes

    def write_item(self, key: Any) -> Codes:
        """Return the codes of storing an attribute, whatever the class says."""
        codes: Codes = self.of.stored(key) if hasattr(self.of, "stored") else self.of.writes[key]
        return codes

    def item_delete(self, key: Any) -> Codes:
        """Return the codes of deleting an attribute."""
        return self.write_item(key)

    def membership(self, item: Any) -> Codes:
        """Return the codes of looking an attribute up."""
        return self.read_item(item)

    def whole_read(self) -> Codes:
        """Return the codes of reading all attributes."""
        return whole_read(self.of)

    def whole_write(self) -> Codes:
        """Return the codes of writing all attributes that are ever written."""
        return whole_write(self.of, ())

    def extend(self, value: Any) -> Codes:
        """Return the codes of storing several attributes."""
        pairs = [part for part in content(value) if type(part) in (tuple, list) and part]
        names = value if issubclass(type(value), dict) else (pair[0] for pair in pairs)
        return tuple(dict.fromkeys(code for name in names for code in self.write_item(name)))


class ItemsTable(Table):
    """An object whose `__dict__` is a published dictionary: its attributes are the keys of that."""

    __slots__ = ("before", "of")

    def __init__(self, of: ContainerTable, kind: type) -> None:
        super().__init__(of.shared, of.key, of.label, of.sort)
        self.of = of
        self.kind = kind
        self.before: Table | None = None
        """The table that the object had, which knows whether its `__dict__` is replaced."""

    def stand_for(self, value: Any) -> None:
        """Enter this as the table of an object, whatever it had before."""
        self.before = self.shared.published.get(id(value))
        self.shared.enter(value, self)
        self.shared.published[id(value)] = self

    def read(self, what: Any) -> Codes:
        """Return the codes of reading an attribute."""
        return (*self.of.item(what), *self._replacing())

    def write(self, what: Any) -> Codes:
        """Return the codes of assigning or deleting an attribute."""
        if what == "__dict__" and self.before is not None:
            return self.before.write(what)
        return (*self.of.item_write(what), *self._replacing())

    def _replacing(self) -> Codes:
        """Return the codes of looking which dictionary it is, if that changes."""
        return () if self.before is None else self.before["__dict__"]

    stored = write


def whole_read(table: Table) -> Codes:
    """Return the codes of reading all that an object holds."""
    if isinstance(table, ContainerTable):
        return table.whole_read()
    codes = (code for name in _changing_attributes(table) for code in table[name])
    return tuple(dict.fromkeys(codes))


def whole_write(table: Table, attributes: Iterable[str]) -> Codes:
    """Return the codes of writing all that an object holds."""
    if isinstance(table, ContainerTable):
        return table.whole_write()
    written = dict.fromkeys([*attributes, *_changing_attributes(table)])
    return tuple(dict.fromkeys(code for name in written for code in table.writes[name]))


def _changing_attributes(table: Table) -> list[str]:
    """Return the attributes of an object that are written after publication, in a fixed order."""
    if table.changing is not None:
        return table.changing()
    sorts = {table.sort}
    if not isinstance(table, ContainerTable):
        kind = table.owner if isinstance(table, ClassTable) else table.kind
        sorts.update(class_feature(owner, "")[0] for owner in mro_of(kind))
    return sorted(
        what for sort, what in table.shared.features if sort in sorts and isinstance(what, str)
    )


register(list, ListTable, children.children_of_list, lambda value: value)
register(bytearray, ListTable)
register(array, SimpleTable)
register(dict, DictTable, children.children_of_dict, children.values_and_keys)
register(defaultdict, DictTable, children.children_of_defaultdict)
register(set, SetTable, children.children_of_set)
register(types.MappingProxyType, MappingProxyTable, children.children_of_c_object)
register(deque, SimpleTable, children.children_of_sequence)

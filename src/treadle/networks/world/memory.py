"""What a controller remembers: its attributes, recorded one by one, and dictionaries by key.

Two handler calls are independent unless they touch the same attribute, or the same key of the same
dictionary, and one of them writes. Lists are one location, elements of sets are like keys. A value
that can change and is none of these cannot be watched: then every handler call of the controller
depends on every other one.

Adding keys commutes until somebody looks at their order, that is, iterates over the dictionary.
The program learns that (`knowledge`), and adding a key is a write from then on.
"""

from __future__ import annotations

import enum
import types
from collections import OrderedDict, defaultdict
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    MutableMapping,
    MutableSequence,
    MutableSet,
)
from typing import TYPE_CHECKING, Any

from treadle.core.events import Mode, code

if TYPE_CHECKING:
    from treadle.model.run import ModelRun

_ATOMS = (str, int, float, complex, bytes, bool, type(None), enum.Enum, range)
_CODE = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType)
_MEMORY = "_memory"
OBJECTS = ("controller", "objects")
"""The location that stands for everything that cannot be watched."""


class Memory:
    """The state of the controller of one run; a shared object of the model."""

    __slots__ = ("_attributes", "_learn", "_run", "_unwatched", "is_recording")

    _run: ModelRun
    _learn: Callable[[str], None]
    _attributes: dict[str, Any]

    def __init__(self, learn: Callable[[str], None]) -> None:
        self._learn = learn
        """Told the name of a dictionary whose order matters."""
        self._unwatched = False
        self.is_recording = False

    def build(self, run: ModelRun, name: str) -> Memory:
        """Return the empty memory of a run."""
        built = Memory(self._learn)
        built._run = run
        built._attributes = {}
        return built

    # Attributes

    def has(self, name: str) -> bool:
        """Tell whether there is an attribute."""
        return name in self._attributes

    def get(self, name: str) -> Any:
        """Return an attribute."""
        self.touch((name,), Mode.READ)
        return self._attributes[name]

    def set(self, name: str, value: Any) -> None:
        """Make or change an attribute."""
        self._attributes[name] = self.watched(value, (name,))
        self.touch((name,), Mode.WRITE)

    def delete(self, name: str) -> None:
        """Delete an attribute."""
        del self._attributes[name]
        self.touch((name,), Mode.WRITE)

    def unwatch(self) -> None:
        """Make every handler depend on every other one: they do what cannot be watched."""
        self._unwatched = True

    # Locations

    def touch(self, path: tuple[Hashable, ...], mode: Mode) -> None:
        """Record an access to an attribute, or to an item of one."""
        if self.is_recording:
            name = ".".join(["controller", *map(str, path)])
            location = self._run.locate(("controller", *path), name, _not_shown)
            self._run.append(code(location, mode))

    def touch_objects(self) -> None:
        """Record that a handler may do anything to what cannot be watched."""
        if self._unwatched:
            location = self._run.locate(OBJECTS, "controller", _not_shown)
            self._run.append(code(location, Mode.WRITE))

    def learn_order(self, path: tuple[Hashable, ...]) -> None:
        """Take note that somebody iterates over a dictionary."""
        if self.is_recording:
            self._learn(".".join(map(str, path)))

    def add_key(self, path: tuple[Hashable, ...]) -> None:
        """Record that a dictionary gets one more key."""
        known = self._run.program.knowledge()
        mode = Mode.WRITE if ".".join(map(str, path)) in known else Mode.ADD
        self.touch((*path, "keys"), mode)

    # Values

    def watched(self, value: Any, path: tuple[Hashable, ...]) -> Any:
        """Return a value whose changes are recorded; take note of one that cannot be watched."""
        kind = type(value)
        if kind in (dict, defaultdict, OrderedDict):
            return WatchedDict(self, path, value, getattr(value, "default_factory", None))
        if kind is list:
            return WatchedList(self, path, value)
        if kind is set:
            return WatchedSet(self, path, value)
        if not _is_fixed(value):
            self._unwatched = True
        return value

    def fingerprint_of(self) -> object:
        """Return all that is remembered, for the state's fingerprint."""
        return "controller", sorted(self._flat(), key=repr)

    def _flat(self) -> Iterator[tuple[Any, ...]]:
        """Yield what is remembered: paths and values that are comparable if they are."""
        todo: list[tuple[tuple[Any, ...], Any]] = [
            ((name,), v) for name, v in self._attributes.items()
        ]
        while todo:
            path, value = todo.pop()
            if isinstance(value, WatchedDict):
                todo += [((*path, key), item) for key, item in value.items_plainly()]
            else:
                yield path, value.plainly() if isinstance(value, _PLAINLY) else value


def _not_shown() -> str:
    """Return what reports show of a value of the controller: they say what it sends instead."""
    return ""


def _is_fixed(value: Any) -> bool:
    """Tell whether a value is watched already, or cannot change."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_fixed, value))
    kept = (*_ATOMS, *_CODE, WatchedDict, WatchedList, WatchedSet)
    return isinstance(value, kept) or getattr(type(value), "is_fixed", False)


class WatchedDict(MutableMapping[Any, Any]):
    """A dictionary of a controller: each key is a location, and so is the set of keys."""

    def __init__(
        self,
        memory: Memory,
        path: tuple[Hashable, ...],
        items: dict[Any, Any],
        default: Callable[[], Any] | None = None,
    ) -> None:
        self._memory = memory
        self._path = path
        self._default = default
        self._items = items
        for key, value in items.items():
            items[key] = memory.watched(value, (*path, key))

    def __getitem__(self, key: Any) -> Any:
        if key not in self._items and self._default is not None:
            self[key] = self._default()
        self._memory.touch((*self._path, key), Mode.READ)
        return self._items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        is_new = key not in self._items
        self._items[key] = self._memory.watched(value, (*self._path, key))
        self._memory.touch((*self._path, key), Mode.WRITE)
        if is_new:
            self._memory.add_key(self._path)

    def __delitem__(self, key: Any) -> None:
        self._memory.touch((*self._path, key), Mode.READ)
        del self._items[key]
        self._memory.touch((*self._path, key), Mode.WRITE)
        self._memory.add_key(self._path)

    def __contains__(self, key: object) -> bool:
        self._memory.touch((*self._path, key), Mode.READ)
        return key in self._items

    def __len__(self) -> int:
        self._memory.touch((*self._path, "keys"), Mode.READ)
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        self._memory.learn_order(self._path)
        self._memory.touch((*self._path, "keys"), Mode.READ)
        return iter(list(self._items))

    def __repr__(self) -> str:
        return repr(dict(self))

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, which is `default` from now on if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def copy(self) -> dict[Any, Any]:
        """Return a dictionary with the same items."""
        return dict(self)

    def __or__(self, other: Any) -> dict[Any, Any]:
        return {**self, **other}

    def __ior__(self, other: Any) -> WatchedDict:
        self.update(other)
        return self

    def items_plainly(self) -> list[tuple[Any, Any]]:
        """Return the items, unrecorded."""
        return list(self._items.items())


class WatchedList(MutableSequence[Any]):
    """A list of a controller: one location."""

    def __init__(self, memory: Memory, path: tuple[Hashable, ...], items: list[Any]) -> None:
        self._memory = memory
        self._path = path
        self._items = items
        items[:] = [memory.watched(item, (*path, "items")) for item in items]

    def _read(self) -> list[Any]:
        self._memory.touch(self._path, Mode.READ)
        self._memory.touch((*self._path, "items"), Mode.READ)
        return self._items

    def _written(self) -> list[Any]:
        self._memory.touch((*self._path, "items"), Mode.WRITE)
        return self._items

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._written()[index] = self._memory.watched(value, (*self._path, "items"))

    def __delitem__(self, index: Any) -> None:
        del self._written()[index]

    def insert(self, index: int, value: Any) -> None:
        """Insert an item."""
        self._written().insert(index, self._memory.watched(value, (*self._path, "items")))

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort the items."""
        self._written().sort(key=key, reverse=reverse)

    def __len__(self) -> int:
        return len(self._read())

    def __eq__(self, other: object) -> bool:
        return self._read() == (other._read() if isinstance(other, WatchedList) else other)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self._read(), *other]

    def __repr__(self) -> str:
        return repr(self._read())

    def plainly(self) -> tuple[Any, ...]:
        """Return the items, unrecorded."""
        return tuple(self._items)


class WatchedSet(MutableSet[Any]):
    """A set of a controller: each possible element is a location, and so is the set as a whole."""

    def __init__(self, memory: Memory, path: tuple[Hashable, ...], items: Iterable[Any]) -> None:
        self._memory = memory
        self._path = path
        self._items = dict.fromkeys(items)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return set(it)

    def __contains__(self, item: object) -> bool:
        self._memory.touch((*self._path, item), Mode.READ)
        return item in self._items

    def add(self, value: Any) -> None:
        """Add an element."""
        is_new = value not in self._items
        self._items[value] = None
        self._memory.touch((*self._path, value), Mode.WRITE)
        if is_new:
            self._memory.add_key(self._path)

    def discard(self, value: Any) -> None:
        """Remove an element, if it is there."""
        self._items.pop(value, None)
        self._memory.touch((*self._path, value), Mode.WRITE)
        self._memory.add_key(self._path)

    def update(self, *others: Iterable[Any]) -> None:
        """Add the elements of others."""
        for value in (value for other in others for value in other):
            self.add(value)

    def __iter__(self) -> Iterator[Any]:
        self._memory.learn_order(self._path)
        self._memory.touch((*self._path, "keys"), Mode.READ)
        return iter(list(self._items))

    def __len__(self) -> int:
        self._memory.touch((*self._path, "keys"), Mode.READ)
        return len(self._items)

    def __repr__(self) -> str:
        return repr(set(self))

    def plainly(self) -> tuple[Any, ...]:
        """Return the elements in an order of their own, unrecorded."""
        return tuple(sorted(self._items, key=repr))


_PLAINLY = (WatchedList, WatchedSet)


class Remembering:
    """An object whose attributes are kept in a `Memory`, once it was given one."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name == _MEMORY:
            return object.__getattribute__(self, name)
        memory: Memory | None = self.__dict__.get(_MEMORY)
        if memory is None or name in self.__dict__:
            return object.__getattribute__(self, name)
        if memory.has(name):
            return memory.get(name)
        if not isinstance(getattr(type(self), name, None), _CODE):
            memory.touch((name,), Mode.READ)  # another handler may set it
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        memory: Memory | None = self.__dict__.get(_MEMORY)
        if memory is None or hasattr(getattr(type(self), name, None), "__set__"):
            object.__setattr__(self, name, value)
        else:
            memory.set(name, value)

    def __delattr__(self, name: str) -> None:
        memory: Memory | None = self.__dict__.get(_MEMORY)
        if memory is None or not memory.has(name):
            object.__delattr__(self, name)
        else:
            memory.delete(name)

    def fingerprint_of(self) -> object:
        """Stand for the object in a state's fingerprint; what it remembers is compared once."""
        return type(self).__name__


def remember_in(memory: Memory, thing: Remembering) -> None:
    """Keep the attributes of an object in a memory from now on."""
    vars(thing)[_MEMORY] = memory

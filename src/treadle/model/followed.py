"""Dictionaries of models in which steps may be independent by a constraint.

A step of a block that has constraints accesses all that the block may access in any state. Of a
dictionary that may be any key, and there is no end of keys. So each has two more locations that
stand for them: one tells who writes *some* key, the other who reads some. Steps whose keys are
known add themselves to these, and stay independent of each other; a block that may access any key
conflicts with all of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.core.events import Mode, Vocabulary, code
from treadle.core.fingerprint import freeze
from treadle.model.state import Dict

if TYPE_CHECKING:
    from treadle.model.run import ModelRun


class Accessed(NamedTuple):
    """Locations that a block may access."""

    read: set[int]
    written: set[int]
    added: set[int]
    """Those that it changes in a way that commutes with itself."""


class DictPlaces(NamedTuple):
    """The locations of a dictionary."""

    name: str
    keys: int
    """Which keys there are."""
    read: int
    """Written by who may write any key; read by who reads one."""
    written: int
    """Read and written by who may access any key; who writes a known one adds to it."""
    vocabulary: Vocabulary

    @staticmethod
    def of(name: str, vocabulary: Vocabulary) -> DictPlaces:
        """Return those of the dictionary with a name."""
        keys, read, written = (
            vocabulary.location((name, what), f"{name} {what}")
            for what in ("keys", "keys that are read", "keys that are written")
        )
        return DictPlaces(name, keys, read, written, vocabulary)

    def item(self, key: Hashable) -> int:
        """Return the location of a key."""
        return self.vocabulary.location(("item", self.name, key), f"{self.name}[{key!r}]")

    def note_read(self, found: Accessed, keys: tuple[Hashable, ...]) -> None:
        """Note that a block reads: some keys, or any if none is known."""
        found.read.update([self.read, *map(self.item, keys)] if keys else [self.written])

    def note_write(
        self, found: Accessed, keys: tuple[Hashable, ...], *, order_is_seen: bool
    ) -> None:
        """Note that a block writes: some keys, or any if none is known."""
        (found.written if order_is_seen else found.added).add(self.keys)
        if keys:
            found.written.update(map(self.item, keys))
            found.added.add(self.written)
        else:
            found.written.update((self.read, self.written))

    def may_write(self, keys: tuple[Hashable, ...]) -> set[int]:
        """Return what a block may change of what somebody looks at."""
        return {self.keys, *(map(self.item, keys) if keys else [self.read])}


class FollowedDict(Dict):
    """A shared dictionary that also says that some key was read, or written."""

    __slots__ = ("_some_read", "_some_written")

    def __init__(self, run: ModelRun, places: DictPlaces, values: dict[Hashable, Any]) -> None:
        super().__init__(run, places.name, places.keys, values)
        self._some_read = code(places.read, Mode.READ)
        self._some_written = code(places.written, Mode.ADD)

    def __getitem__(self, key: Hashable) -> Any:
        self._append(self._some_read)
        return super().__getitem__(key)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return the value of a key, or `default`."""
        self._append(self._some_read)
        return super().get(key, default)

    def __contains__(self, key: Hashable) -> bool:
        self._append(self._some_read)
        return super().__contains__(key)

    def __setitem__(self, key: Hashable, value: Any) -> None:
        super().__setitem__(key, value)
        self._append(self._some_written)

    def in_any_order(self) -> frozenset[object]:
        """Return what it holds, whichever key came first."""
        return frozenset((freeze(key), freeze(value)) for key, value in self._values.items())

    def __delitem__(self, key: Hashable) -> None:
        self._append(self._some_written)
        super().__delitem__(key)

"""Of which classes the keys of a dictionary or set are: finding one may run their code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle.python.runtime.atoms import ATOMS

Kinds = frozenset[type]


class AnyKey:
    """Stands for the classes of keys that nobody has looked at."""


def kinds_in(key: Any) -> Kinds:
    """Return the classes of a key, and of what is in it if it is a tuple or frozen set."""
    kind = type(key)
    if kind in ATOMS:
        return frozenset()
    if not issubclass(kind, tuple | frozenset):
        return frozenset([kind])
    iterate = tuple.__iter__ if issubclass(kind, tuple) else frozenset.__iter__
    return frozenset([kind]) | kinds_among(iterate(key))


def kinds_among(keys: Iterable[Any]) -> Kinds:
    """Return the classes of all keys that are no numbers, strings and the like."""
    return frozenset().union(*(kinds_in(key) for key in keys if type(key) not in ATOMS))

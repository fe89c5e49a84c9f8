"""Names of stored values: two stores of one value commute in every state, so they are independent.

A front end whose steps store a value that does not depend on what they read says which value that
is (`Mode.STORED`). "Constrained Dynamic Partial Order Reduction" (CAV 2018), section 3, calls this
the improved unconditional independence.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from treadle.core.events import Codes, Mode, Vocabulary, code

_ATOMS = frozenset({int, bool, str, bytes, type(None)})
"""Types whose values are told apart by type and content."""

_MOST_VALUES = 64
"""So many values that are stored in one location have a name."""

_MOST_KNOWN = 1024
"""Of so many it is known whether they have one: 5 % of an execution of 1000 events."""


class Stores(dict[Any, Codes]):
    """What stores in one location log, by value, for those values that have a name.

    Who stores the same is independent. Both codes of a store are logged at once: that and a table
    for each location save 5 % of a program that only stores.
    """

    __slots__ = ("_location", "unnamed")

    def __init__(self, location: int) -> None:
        super().__init__()
        self._location = location
        self.unnamed = code(location, Mode.STORE)
        """What a store logs whose value has no name."""

    def codes(self, value: Any, vocabulary: Vocabulary) -> Codes:
        """Return the codes of a store, and give the value a name if it can have one."""
        key = _known_by(value)
        if key is None:
            return (self.unnamed,)
        codes = self.get(key)
        if codes is None:
            codes = self._codes_of(key, vocabulary)
            if len(self) < _MOST_KNOWN:
                self[key] = codes
        return codes

    def _codes_of(self, key: Hashable, vocabulary: Vocabulary) -> Codes:
        """Return the codes of a value that is stored for the first time, or always anew."""
        if len(self) >= _MOST_VALUES:
            return (self.unnamed,)
        number = vocabulary.location(("stored", self._location, key), "(stored)")
        return self.unnamed, code(number, Mode.STORED)


def _known_by(value: Any) -> Hashable:
    """Return what is equal for values that nothing can tell apart; None if there is nothing.

    A whole number is known by itself, so that looking one up takes no call.

    >>> [_known_by(value) for value in (1, True, 1.0, "1", float("nan"), (1,))]
    [1, (<class 'bool'>, True), (<class 'float'>, '1.0'), '1', None, None]
    """
    kind = type(value)
    if kind is float:
        return None if math.isnan(value) else (float, repr(value))
    if kind not in _ATOMS:
        return None
    return (kind, value) if kind is bool or value is None else value

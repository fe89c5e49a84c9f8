"""Registries: what there is of a kind, by name; a newcomer adds itself and is found everywhere.

A value can be given as `module:attribute`. It is loaded when it is first asked for, so that
listing names and describing them loads nothing.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar, cast

from treadle.core.errors import TreadleError

Value = TypeVar("Value")


class Registry(Mapping[str, Value], Generic[Value]):
    """Values of one kind by name, in the order in which they were added.

    Who asks for a name that is not there is told which are, whether with `[]` or with `get`.

    >>> shapes = Registry[type]("shape")
    >>> shapes.add("fraction", "fractions:Fraction", "an exact number")
    >>> shapes["fraction"], shapes.summary("fraction")
    (<class 'fractions.Fraction'>, 'an exact number')
    >>> shapes["fractoin"]
    Traceback (most recent call last):
    treadle.core.errors.TreadleError: unknown shape 'fractoin': choose one of fraction (did you \
mean 'fraction'?)
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        """What the values are, in words: `algorithm`."""
        self.changes = 0
        """How often something was added or removed: what was worked out before may be outdated."""
        self._values: dict[str, Value | str] = {}
        self._loaded: dict[str, Value] = {}
        self._summaries: dict[str, str] = {}

    def add(self, name: str, value: Value | str, summary: str = "") -> None:
        """Add a value, or the `module:attribute` where it is found; a line about it, for help."""
        if name in self._values:
            raise TreadleError(f"there is a {self.kind} {name!r} already: choose another name")
        self._values[name] = value
        self._summaries[name] = summary
        self.changes += 1

    def remove(self, name: str) -> None:
        """Forget a value that was added."""
        self._refuse_unknown(name)
        del self._values[name], self._summaries[name]
        self._loaded.pop(name, None)
        self.changes += 1

    def summary(self, name: str) -> str:
        """Return the line that says what a value is, without loading it."""
        self._refuse_unknown(name)
        return self._summaries[name]

    def __getitem__(self, name: str) -> Value:
        try:
            return self._loaded[name]
        except (KeyError, TypeError):
            return self._load(name)

    def _load(self, name: str) -> Value:
        """Return a value that is asked for for the first time."""
        self._refuse_unknown(name)
        value = self._values[name]
        if isinstance(value, str):
            module, _, attribute = value.partition(":")
            value = cast("Value", getattr(importlib.import_module(module), attribute))
        self._loaded[name] = value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._values

    def _refuse_unknown(self, name: object) -> None:
        """Say which names there are if this is none of them."""
        if name in self:
            return
        close = difflib.get_close_matches(str(name), self._values, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        listed = ", ".join(self._values)
        raise TreadleError(f"unknown {self.kind} {name!r}: choose one of {listed}{hint}")

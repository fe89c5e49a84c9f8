"""What sets, lists and dictionaries hold on a path: what was done to them, over what they held.

A set is a truth value for each key, a dictionary a truth value and a value; of a list it is known
what was appended. Keys are compared as Python does, but `1` and `True`, which are one key and two
values: which of them is kept, is up to who comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from treadle.smt.code import Shared
from treadle.smt.on_path import RaisesError, UnsureError, read, same, truth
from treadle.smt.paths import Path
from treadle.smt.terms import Constant, IsTrue, Poly, Var
from treadle.smt.values import Value

_UNKNOWN = frozenset({"opaque", "result"})


def same_key(path: Path, one: Value, other: Value) -> bool:
    """Tell whether two keys are one."""
    if one == other:
        return True
    kinds = {one.tag, other.tag}
    if kinds & _UNKNOWN or kinds == {"int", "bool"}:
        raise UnsureError
    return len(kinds) == 1 and same(path, one, other)


@dataclass(slots=True)
class Contents:
    """What containers hold, as one order of the blocks leaves it."""

    path: Path
    shared: Mapping[str, Shared]
    keys: dict[str, list[tuple[Value, Value | None]]] = field(default_factory=dict)
    """Keys of sets and dictionaries that were written, in order, with values; None: removed."""
    appended: dict[str, list[Value]] = field(default_factory=dict)

    def values(self) -> Iterator[Value]:
        """Yield all that was put into something."""
        for written in self.keys.values():
            for key, value in written:
                yield from (key, value) if value is not None else (key,)
        for added in self.appended.values():
            yield from added

    def put(self, name: str, key: Value, value: Value | None) -> None:
        """Write a key; None removes it."""
        if key.tag in _UNKNOWN:
            raise UnsureError
        self.keys.setdefault(name, []).append((key, value))

    def append(self, name: str, value: Value) -> None:
        """Append to a list."""
        self.appended.setdefault(name, []).append(value)

    def has(self, name: str, key: Value) -> bool:
        """Tell whether a key is there."""
        return self._found(name, key) is not None

    def item(self, name: str, key: Value) -> Value:
        """Return the value of a key that is there."""
        found = self._found(name, key)
        if found is None:
            raise RaisesError("KeyError", key)
        return found

    def _found(self, name: str, key: Value) -> Value | None:
        """Return the value of a key; None if it is not there."""
        written = self.keys.get(name, [])
        own = [at for at, (other, _) in enumerate(written) if other == key]
        if own and self.shared[name].container == "set":
            there = {value is None for _, value in written[own[-1] :]}
            kinds = {other.tag for other, _ in written}
            if len(there) == 1 and len(kinds) == 1:
                return written[own[-1]][1]  # whatever else is the same key, it says the same
        for other, value in reversed(written):
            if same_key(self.path, key, other):
                return value
        return self._before(name, key)

    def _before(self, name: str, key: Value) -> Value | None:
        """Return the value that a key had when the blocks met; None if it was not there."""
        if key.tag in _UNKNOWN:
            raise UnsureError
        text, part = _as_part(key)
        there = Var(f"{text} in s.{name}", "bool", "in", (name, part), frozenset({name}))
        if not truth(self.path, there):
            return None
        known = self.shared[name]
        if known.container == "set":
            return Value.truth(True)
        needs = ((IsTrue(there), True),)
        holder = Var(f"s.{name}[{text}]", "int", "cell", (name, part), frozenset({name}), needs)
        return read(self.path, holder, known.kinds)

    def same_as(self, other: Contents) -> bool:
        """Tell whether two orders left the same behind."""
        for name in sorted(self.keys.keys() | other.keys.keys()):
            written = [*self.keys.get(name, ()), *other.keys.get(name, ())]
            for key in dict.fromkeys(key for key, _ in written):
                if not self._same_value(self._found(name, key), other._found(name, key)):
                    return False
        for name in sorted(self.appended.keys() | other.appended.keys()):
            mine, its = self.appended.get(name, []), other.appended.get(name, [])
            if len(mine) != len(its) or not all(map(self._same_value, mine, its)):
                return False
        return True

    def _same_value(self, one: Value | None, other: Value | None) -> bool:
        if one is None or other is None:
            return one is other
        return same(self.path, one, other)


def _as_part(key: Value) -> tuple[str, Poly | Var | Constant | bool | str]:
    """Return how Python says a key, and what stands for it in a term."""
    if key.tag == "none":
        return "None", "None"
    term: Poly | Var | Constant | bool = key.term
    if isinstance(term, Poly):
        return term.text(), term
    return (repr(term) if isinstance(term, bool) else term.text), term

"""The shared state on a path: what was written, over what was there when the blocks met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treadle.smt.code import Shared
from treadle.smt.paths import Path
from treadle.smt.terms import Atom, IsA, IsSame, IsTrue, Poly, Sort, Var, at_least_zero, is_zero
from treadle.smt.values import COMPARED, Tag, Value


class RaisesError(Exception):
    """The code raises an exception on this path: its name, and what else tells it from others."""

    def __init__(self, name: str, *details: Value | str) -> None:
        super().__init__(name)
        self.known_by = (name, *details)


class UnsureError(Exception):
    """Nobody can tell what happens on this path."""


def read(path: Path, holder: Var, kinds: tuple[Tag, ...]) -> Value:
    """Return what a part of the state holds; the path decides of which kind it is."""
    known: tuple[tuple[Atom, bool], ...] = ()
    for tag in kinds[:-1]:
        atom = IsA(holder, tag)
        if path.decide((atom, True)):
            return _of_kind(holder, tag, (*known, (atom, True)))
        known += ((atom, False),)
    return _of_kind(holder, kinds[-1], known)


def _of_kind(holder: Var, tag: Tag, known: tuple[tuple[Atom, bool], ...]) -> Value:
    if tag == "none" or tag == "opaque":
        return Value.of(holder, tag)
    sort: Sort = tag
    needs = (*holder.needs, *known)
    var = Var(holder.text, sort, holder.form, holder.parts, holder.shared, needs, holder.is_known)
    return Value.of(var, tag)


def truth(path: Path, var_or_value: bool | Var) -> bool:
    """Tell whether a truth value is true on a path."""
    if isinstance(var_or_value, bool):
        return var_or_value
    return path.decide((IsTrue(var_or_value), True))


def same(path: Path, one: Value, other: Value) -> bool:
    """Tell whether two values are the same, kind included."""
    if one.tag != other.tag:
        if "result" in (one.tag, other.tag):
            raise UnsureError  # it may be anything
        return False
    if one.tag == "int":
        return path.decide(is_zero(one.term - other.term))
    if one.tag == "bool":
        if one.term == other.term:
            return True
        return truth(path, one.term) == truth(path, other.term)
    if one.tag in COMPARED:
        return _same_term(path, one, other)
    if one.term != other.term:
        raise UnsureError
    return True


def _same_term(path: Path, one: Value, other: Value) -> bool:
    left, right = one.term, other.term
    if left == right:
        return True
    if not isinstance(left, Var):
        left, right = right, left
    if not isinstance(left, Var):
        return False  # two constants
    if isinstance(right, Var) and right.text < left.text:
        left, right = right, left
    return path.decide((IsSame(left, right), True))


@dataclass(slots=True)
class Store:
    """Shared values, as one order of the blocks leaves them."""

    path: Path
    shared: Mapping[str, Shared]
    relied_on: set[str]
    """Shared names whose kinds of values were relied on, although they are not certain."""
    scalars: dict[str, Value] = field(default_factory=dict)
    arrays: dict[str, list[tuple[Poly, Value]]] = field(default_factory=dict)
    """What was written, in order."""

    def get(self, name: str) -> Value:
        """Return the value of a shared name."""
        if name in self.scalars:
            return self.scalars[name]
        known = self.shared[name]
        if not known.is_certain:
            self.relied_on.add(name)
        return read(self.path, Var(f"s.{name}", "int", shared=frozenset({name})), known.kinds)

    def element(self, name: str, index: Poly) -> Value:
        """Return an element of an array, the index being one that there is."""
        for place, value in reversed(self.arrays.get(name, ())):
            if self.path.decide(is_zero(index - place)):
                return value
        known = self.shared[name]
        if not known.is_certain:
            self.relied_on.add(name)
        holder = Var(
            f"s.{name}[{index.text()}]",
            "int",
            "cell",
            (name, index),
            frozenset({name}),
            self._needs(name, index),
        )
        return read(self.path, holder, known.kinds)

    def _needs(self, name: str, index: Poly) -> tuple[tuple[Atom, bool], ...]:
        """Return that an index is one that there is, as conditions that are not clear anyway."""
        length = self.shared[name].length
        assert length is not None
        bounds = at_least_zero(index), at_least_zero((-index).plus(length - 1))
        return tuple(bound for bound in bounds if not isinstance(bound, bool))

    def place(self, name: str, index: Poly, use: str) -> Poly:
        """Return which element an index means: a negative one counts from the end.

        Python says something else if there is none where it reads than where it writes (`use`).
        """
        length = self.shared[name].length
        assert length is not None
        if self.path.decide(at_least_zero(index)):
            found = index
            is_there = self.path.decide(at_least_zero((-index).plus(length - 1)))
        else:
            found = index.plus(length)
            is_there = self.path.decide(at_least_zero(found))
        if not is_there:
            raise RaisesError("IndexError", use)
        return found

    def put(self, name: str, index: Poly, value: Value) -> None:
        """Write an element of an array."""
        self.arrays.setdefault(name, []).append((index, value))

    def same_as(self, other: Store) -> bool:
        """Tell whether two orders left the same behind."""
        path = self.path
        for name in sorted(self.scalars.keys() | other.scalars.keys()):
            if not same(path, self.get(name), other.get(name)):
                return False
        for name in sorted(self.arrays.keys() | other.arrays.keys()):
            written = [*self.arrays.get(name, ()), *other.arrays.get(name, ())]
            for place in dict.fromkeys(place for place, _ in written):
                if not same(path, self.element(name, place), other.element(name, place)):
                    return False
        return True

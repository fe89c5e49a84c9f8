"""The shared state on a path: what was written, over what was there when the blocks met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from treadle.smt.code import Shared
from treadle.smt.contents import Contents
from treadle.smt.on_path import RaisesError, read, same
from treadle.smt.paths import Path
from treadle.smt.terms import Atom, Poly, Var, at_least_zero, is_zero
from treadle.smt.values import Value


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
    contents: Contents = field(init=False)
    """What sets, lists and dictionaries hold."""

    def __post_init__(self) -> None:
        self.contents = Contents(self.path, self.shared)

    def values(self) -> Iterator[Value]:
        """Yield all that was written."""
        yield from self.scalars.values()
        yield from (value for written in self.arrays.values() for _, value in written)
        yield from self.contents.values()

    def get(self, name: str) -> Value:
        """Return the value of a shared name."""
        if name in self.scalars:
            return self.scalars[name]
        known = self.shared[name]
        if not known.is_certain:
            self.relied_on.add(name)
        text = f"s.{name}.value" if known.container == "counter" else f"s.{name}"
        return read(self.path, Var(text, "int", shared=frozenset({name})), known.kinds)

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
        return self.contents.same_as(other.contents)

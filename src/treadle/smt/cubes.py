"""Prime cubes: the weakest conjunctions of conditions under which two blocks commute.

`F` is the disjunction of the paths on which they do. A cube implies `F`, and loses that when any
condition is left out. With few conditions all prime cubes are enumerated by size, since each may be
the one that reads least. Beyond that, `F` is covered: a model of what is not covered yet, the
conditions that hold in it, the core of them that excludes all other paths, made smaller by leaving
out one after the other, those that read most shared names first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

import z3

from treadle.smt.paths import Leaf
from treadle.smt.solver import Encoder
from treadle.smt.terms import Atom, Cube, closure_of, in_python, is_known, shared_by

MOST_CUBES = 64
_MOST_QUESTIONS = 1500
"""So many questions are put to the solver; what was found till then is right, but not all."""
_ENUMERATED = 6
"""Up to so many conditions all prime cubes are enumerated."""
_COMPARED = 24
"""Up to so many cubes are compared with each other."""

Literal = tuple[Atom, bool]


class Cubes:
    """Looks for the prime cubes of the paths on which two blocks commute."""

    def __init__(self, encoder: Encoder, leaves: Sequence[Leaf[bool | None]]) -> None:
        self._encoder = encoder
        self._good = [leaf.decided for leaf in leaves if leaf.result]
        self._bad = [leaf.decided for leaf in leaves if not leaf.result]
        self._is_sure = all(leaf.result is not None for leaf in leaves)
        atoms = dict.fromkeys(atom for leaf in leaves for atom, _ in leaf.decided)
        self._atoms = [atom for atom in atoms if is_known(atom)]
        self._wrong = encoder.solver()
        self._wrong.add(encoder.one_of(self._bad))
        self._right = encoder.solver()
        self._right.add(encoder.one_of(self._good))
        self._plain = encoder.solver()
        self._questions = 0
        self.found: list[Cube] = []

    def look(self) -> bool:
        """Find the cubes; return whether they are all that can be said."""
        if not self._good:
            return self._is_sure
        if not self._bad:
            self.found.append(())
            return True
        if len(self._atoms) <= _ENUMERATED:
            self._enumerate()
        is_exact = self._cover()
        self._leave_out_special()
        self.found.sort(key=lambda cube: (len(_shared(cube)), len(cube), in_python(cube)))
        return is_exact and self._is_sure

    # All of them

    def _enumerate(self) -> None:
        """Go through all cubes by size; none that has a smaller one in it is prime."""
        primes: list[frozenset[Literal]] = []
        for size in range(1, len(self._atoms) + 1):
            for atoms in combinations(self._atoms, size):
                for signs in product((True, False), repeat=size):
                    cube = frozenset(zip(atoms, signs, strict=True))
                    if any(prime <= cube for prime in primes) or len(primes) >= MOST_CUBES:
                        continue
                    if self._excludes_wrong(cube) and self._is_possible(cube):
                        primes.append(cube)
        for prime in primes:
            self._add(self._in_order(prime))

    # As many as it takes

    def _cover(self) -> bool:
        """Add cubes until all paths on which the blocks commute are covered; tell whether."""
        is_covered = True
        while len(self.found) < MOST_CUBES and self._questions < _MOST_QUESTIONS:
            answer = self._right.check(*self._encoder.literals(()))
            if answer != z3.sat:
                return is_covered and bool(answer == z3.unsat)
            literals = self._holding(self._right.model())
            cube = self._smallest(literals)
            if cube is None or not self._add(cube):
                is_covered = False  # what makes them commute here is not known when they meet
                self._right.add(self._encoder.none_of(tuple(literals)))
        return False

    def _holding(self, model: Any) -> list[Literal]:
        """Return the conditions as they are in a model, but for those that mean nothing there."""
        found = {}
        for atom in self._atoms:
            value = model.eval(self._encoder.atom(atom), model_completion=True)
            found[atom] = bool(z3.is_true(value))
        return [
            (atom, holds)
            for atom, holds in found.items()
            if all(
                bool(z3.is_true(model.eval(self._encoder.literal(need), model_completion=True)))
                for need in _needs([(atom, holds)])
            )
        ]

    def _smallest(self, literals: list[Literal]) -> Cube | None:
        """Return a prime cube among conditions, None if they do not exclude all other paths."""
        kept = self._core(literals)
        if kept is None:
            return None
        for literal in sorted(kept, key=_cost, reverse=True):
            core = self._core([other for other in kept if other != literal])
            if core is not None:
                kept = core
        return tuple(kept)

    def _core(self, literals: list[Literal]) -> list[Literal] | None:
        """Return which conditions exclude all other paths; None if all together do not."""
        if not self._excludes_wrong(literals):
            return None
        needed = {term.get_id() for term in self._wrong.unsat_core()}
        return [one for one in literals if self._encoder.literal(one).get_id() in needed]

    def _add(self, cube: Cube) -> bool:
        """Take a cube, with what it needs to be evaluated; not if that contradicts it."""
        complete = list(cube)
        for need in _needs(cube):
            plain = [literal for literal in complete if not _needs([literal])]
            if need not in complete and not self._implies(plain, need):
                complete.append(need)
        if not self._is_possible(complete):
            return False
        self.found.append(tuple(complete))
        self._right.add(self._encoder.none_of(tuple(complete)))
        return True

    def _leave_out_special(self) -> None:
        """Leave out cubes that are special cases of another one that reads no more."""
        if len(self.found) > _COMPARED:
            return
        for cube in sorted(self.found, key=len, reverse=True):
            if any(
                other is not cube
                and _shared(other) <= _shared(cube)
                and self._implies_all(cube, other)
                for other in self.found
            ):
                self.found = [one for one in self.found if one is not cube]

    def _implies_all(self, cube: Cube, other: Cube) -> bool:
        return all(self._implies(cube, literal) for literal in other)

    # Questions

    def _in_order(self, cube: Iterable[Literal]) -> Cube:
        return tuple(sorted(cube, key=lambda literal: self._atoms.index(literal[0])))

    def _excludes_wrong(self, cube: Iterable[Literal]) -> bool:
        self._questions += 1
        return bool(self._wrong.check(*self._encoder.literals(cube)) == z3.unsat)

    def _is_possible(self, cube: Iterable[Literal]) -> bool:
        return bool(self._plain.check(*self._encoder.literals(cube)) != z3.unsat)

    def _implies(self, cube: Iterable[Literal], literal: Literal) -> bool:
        atom, holds = literal
        return not self._is_possible([*cube, (atom, not holds)])


def _needs(cube: Iterable[Literal]) -> list[Literal]:
    """Return what some conditions need to be evaluated."""
    found: dict[Literal, None] = {}
    for atom, _ in cube:
        for var in atom.variables():
            found.update(dict.fromkeys(sorted(closure_of(var), key=str)))
    return list(found)


def _shared(cube: Cube) -> frozenset[str]:
    return frozenset[str]().union(*(shared_by(atom) for atom, _ in cube))


def _cost(literal: Literal) -> tuple[int, int]:
    """Return what a condition costs: how many shared names it reads, and what it needs."""
    return len(shared_by(literal[0])), len(_needs([literal]))

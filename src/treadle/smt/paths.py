"""Paths through code whose decisions depend on the state: each is run from the start, one by one.

Code that is run on a path asks it to `decide` conditions. A condition that the path's others do not
settle is taken to hold, and the path on which it does not hold is run later. So what is run needs
to know nothing of paths but that question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import z3

from treadle.smt.solver import Encoder
from treadle.smt.terms import Atom, Cube

Result = TypeVar("Result")


class TooManyPathsError(Exception):
    """There are more paths than anybody wants to run."""


@dataclass(frozen=True, slots=True)
class Leaf(Generic[Result]):
    """The end of a path: what was decided on it, and what came of it."""

    decided: Cube
    result: Result


class Path:
    """One way through the code."""

    def __init__(
        self, encoder: Encoder, solver: z3.Solver, wanted: list[tuple[bool, bool]]
    ) -> None:
        self._encoder = encoder
        self._solver = solver
        self._wanted = wanted
        """Answers known beforehand, and whether each one is the only possible one."""
        self._met = 0
        self._known: dict[Atom, bool] = {}
        self.decided: list[tuple[Atom, bool]] = []
        """Conditions that could have gone either way."""

    def decide(self, condition: tuple[Atom, bool] | bool) -> bool:
        """Tell whether a condition holds on this path."""
        if isinstance(condition, bool):
            return condition
        atom, wanted = condition
        if atom not in self._known:
            self._known[atom] = self._answer(atom)
        return self._known[atom] == wanted

    def _answer(self, atom: Atom) -> bool:
        if self._met == len(self._wanted):
            holds = self._is_possible(atom, True)
            fails = not holds or self._is_possible(atom, False)  # one of them is
            self._wanted.append((holds, not (holds and fails)))
        answer, is_only = self._wanted[self._met]
        self._met += 1
        if not is_only:
            self.decided.append((atom, answer))
        return answer

    def _is_possible(self, atom: Atom, holds: bool) -> bool:
        literals = self._encoder.literals([*self.decided, (atom, holds)])
        return bool(self._solver.check(*literals) != z3.unsat)


def explore(encoder: Encoder, run: Callable[[Path], Result], most: int) -> list[Leaf[Result]]:
    """Run code on all of its paths."""
    solver = encoder.solver()
    found: list[Leaf[Result]] = []
    wanted: list[tuple[bool, bool]] = []
    while True:
        if len(found) >= most:
            raise TooManyPathsError
        path = Path(encoder, solver, wanted)
        result = run(path)
        found.append(Leaf(tuple(path.decided), result))
        while wanted and (wanted[-1][1] or not wanted[-1][0]):
            wanted.pop()
        if not wanted:
            return found
        wanted[-1] = (False, False)

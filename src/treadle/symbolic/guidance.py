"""Guidance of symbolic execution by a deadlock cycle: `checkC` over symbolic states.

"Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016), definition 5. Of each
constraint, somebody can still come to where it waits, or waits there for a task that has not ended.
That is sharper than the paper's, which also takes waits that are over: no deadlock consists of
those, and the answer depends on the state alone.
"""

from __future__ import annotations

from types import FunctionType

from treadle.analyses.abstract import ENTRY
from treadle.analyses.ahead import Ahead, Place
from treadle.analyses.cycle_constraints import Constraint, constraints_of
from treadle.analyses.deadlock_cycles import Cycle
from treadle.analyses.known import function_of
from treadle.analyses.points_to import PointsTo
from treadle.symbolic.chains import Arrow
from treadle.symbolic.code import Code
from treadle.symbolic.search import End, Path
from treadle.symbolic.state import State, Task, Waiting


class CycleGuide:
    """What a cycle asks of states, and whether a deadlock is of that cycle."""

    def __init__(self, cycle: Cycle, points_to: PointsTo, code: Code) -> None:
        self.cycle = cycle
        self.constraints = constraints_of(cycle)
        self._code = code
        self._ahead = Ahead(points_to)
        self._all = (1 << len(self.constraints)) - 1
        self._known: dict[Place, int] = {}

    def allows(self, state: State) -> bool:
        """Tell whether a deadlock of the cycle can still follow."""
        met = 0
        for task in state.alive():
            met |= self._before(task)
            if task.waiting is not Waiting.NEW:
                met |= self._at(state, task)
            if met == self._all:
                return True
        return False

    # What a task has before it

    def _before(self, task: Task) -> int:
        """Return, as bits, the constraints that a task can still come to."""
        if task.waiting is Waiting.NEW:
            return self._bits((self._code.source_of(task.frames[0].method), ENTRY))
        bits = 0
        for frame in task.frames:
            bits |= self._bits((self._code.source_of(frame.method), frame.position))
        return bits

    def _bits(self, place: Place) -> int:
        bits = self._known.get(place)
        if bits is None:
            bits = self._known[place] = (
                sum(
                    1 << at
                    for at, one in enumerate(self.constraints)
                    if self._ahead.leads_to(*place, one.place)
                )
                if self._ahead.knows(place[0])
                else self._all
            )
        return bits

    # Where a task stands

    def _at(self, state: State, task: Task) -> int:
        """Return, as bits, the constraints that a task is at."""
        return sum(
            1 << at for at, one in enumerate(self.constraints) if self._is_at(state, task, one)
        )

    def _is_at(self, state: State, task: Task, constraint: Constraint) -> bool:
        if self._place_of(task) != constraint.place or _function(task) is not constraint.method:
            return False
        if constraint.is_condition:
            return task.waiting is Waiting.UNTIL
        if task.waiting not in (Waiting.GET, Waiting.AWAIT):
            return False
        target = state.tasks[task.target]
        return not target.has_ended and _function(target) is constraint.awaited

    def _place_of(self, task: Task) -> Place:
        frame = task.frames[-1]
        return self._code.source_of(frame.method), frame.position

    # What was found

    def is_met_by(self, path: Path) -> bool:
        """Tell whether an execution ended in this cycle."""
        if self.cycle.kind == "condition":
            return path.end is End.STUCK and self._is_stuck(path.state)
        return path.end is End.DEADLOCK and self._is_represented(path.state, path.chain)

    def _is_stuck(self, state: State) -> bool:
        met = 0
        for task in state.alive():
            if task.waiting is not Waiting.NEW:
                met |= self._at(state, task)
        return met == self._all

    def _is_represented(self, state: State, chain: tuple[Arrow, ...]) -> bool:
        """Tell whether a chain is the cycle, gone through once or several times."""
        waits = [at for at, arrow in enumerate(chain) if not arrow.is_held]
        length = len(self.constraints)
        if not waits or len(waits) % length:
            return False
        return any(
            all(
                self._is(state, chain, at, self.constraints[(number + offset) % length])
                for number, at in enumerate(waits)
            )
            for offset in range(length)
        )

    def _is(self, state: State, chain: tuple[Arrow, ...], at: int, constraint: Constraint) -> bool:
        """Tell whether a wait of a chain is that of a constraint."""
        arrow = chain[at]
        if constraint.is_condition or not self._is_at(state, state.tasks[arrow.source], constraint):
            return False
        goes_on_held = chain[(at + 1) % len(chain)].is_held
        holds_itself = state.tasks[arrow.target].waiting is Waiting.GET
        return goes_on_held == constraint.is_pending or (holds_itself and constraint.is_pending)


def _function(task: Task) -> FunctionType | None:
    return None if task.cls is None else function_of(task.cls, task.method)

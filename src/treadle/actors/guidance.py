"""Deadlock-guided testing: executions that cannot end in a certain deadlock cycle are cut.

"Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016), section 5. A cycle gives
one constraint for each of its arrows into a task (definition 4): a task of method mᵢ stops at pᵢ
for the future of a task of method mⱼ, and that one is *pending* if the next arrow leads to a
group. After every macro-step each constraint has to be such that (definition 5, `checkC`)

1. somebody can still come to pᵢ: a task that has not ended has it before it, or sends or calls a
   method that has; or
2. somebody stopped there for such a future, and, if it is to be pending, its task has not ended.

Else no deadlock of the cycle can follow, and the execution is cut. Which actors and tasks they are
is not compared: a deadlock may go through the abstract cycle several times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, NamedTuple

from treadle.actors.chains import Arrow
from treadle.actors.standing import frames_of
from treadle.actors.task import Task, Waiting
from treadle.analyses.abstract import ENTRY
from treadle.analyses.ahead import Ahead, Place
from treadle.analyses.cycle_constraints import Constraint, constraints_of
from treadle.analyses.deadlock_cycles import Cycle
from treadle.analyses.points_to import PointsTo
from treadle.analyses.segments import Frame, positions_of

if TYPE_CHECKING:
    from treadle.actors.world import World

_Frames = tuple[tuple[CodeType, int], ...]
"""Suspended frames, the outermost first."""


class _Standing(NamedTuple):
    """Where a suspended task stands."""

    before: int
    """As bits, the constraints that it can still come to."""
    places: list[Place]
    """Where its innermost frame may be."""


class Guide:
    """What one cycle asks of executions."""

    def __init__(self, cycle: Cycle, points_to: PointsTo) -> None:
        self.cycle = cycle
        self.constraints = constraints_of(cycle)
        self._code = _Code(points_to)
        self._bits = [1 << at for at in range(len(self.constraints))]
        self._known: dict[_Frames, _Standing] = {}
        self._fresh: dict[object, int] = {}

    def begin(self, run: World) -> Watch:
        """Begin to watch an execution."""
        return Watch(self, run)

    # What a task has before it

    def before_new(self, function: object) -> int:
        """Return, as bits, the constraints that a task can still come to that has not begun."""
        bits = self._fresh.get(function)
        if bits is None:
            bits = self._fresh[function] = self._bits_of(function, [ENTRY])
        return bits

    def standing(self, task: Task) -> _Standing:
        """Return where a suspended task stands, and what it can still come to."""
        frames = tuple([(frame.f_code, frame.f_lasti) for frame in frames_of(task)])
        known = self._known.get(frames)
        if known is None:
            bits, places = 0, list[Place]()
            for function, positions in self._code.standing(frames):
                bits |= self._bits_of(function, positions)
                places = [] if function is None else [(function, at) for at in positions]
            known = self._known[frames] = _Standing(bits, places)
        return known

    def _bits_of(self, function: object, positions: Iterable[int]) -> int:
        if not isinstance(function, FunctionType) or not self._code.knows(function):
            return sum(self._bits)  # it may come to anything
        bits = 0
        for position in positions:
            for bit, constraint in zip(self._bits, self.constraints, strict=True):
                if self._code.leads_to(function, position, constraint.place):
                    bits |= bit
        return bits

    # Where a task stands

    def reasons(self, task: Task) -> list[int]:
        """Return the constraints, by index, that a task is at that has just stopped."""
        places = self.standing(task).places
        return [
            index
            for index, one in enumerate(self.constraints)
            if one.place in places and self._fits(task, one)
        ]

    def _fits(self, task: Task, one: Constraint) -> bool:
        if task.function is not one.method:
            return False
        if one.is_condition:
            return task.waiting is Waiting.UNTIL
        return task.target is not None and task.target.function is one.awaited

    # What was found

    def is_represented_by(self, chain: Sequence[Arrow]) -> bool:
        """Tell whether a deadlock's chain is the cycle, gone through once or several times."""
        found = _links(chain)
        length = len(self.constraints)
        if not found or len(found) % length:
            return False
        return any(
            all(
                self._is(link, self.constraints[(at + offset) % length])
                for at, link in enumerate(found)
            )
            for offset in range(length)
        )

    def _is(self, link: _Link, constraint: Constraint) -> bool:
        waiting, awaited, is_through, may_be_through = link
        if waiting.function is not constraint.method or awaited.function is not constraint.awaited:
            return False
        if constraint.is_condition or constraint.place not in self.standing(waiting).places:
            return False
        return is_through == constraint.is_pending or (may_be_through and constraint.is_pending)

    def is_stuck_in(self, tasks: Iterable[Task]) -> bool:
        """Tell whether tasks that wait for ever are at all points of the cycle."""
        met = {index for task in tasks for index in self.reasons(task)}
        return len(met) == len(self.constraints)


class _Link(NamedTuple):
    """A task that waits for another one, in a chain."""

    waiting: Task
    awaited: Task
    is_through: bool
    """Whether the awaited task cannot go on since its group is held by another."""
    may_be_through: bool
    """Whether the awaited task holds its group itself."""


def _links(chain: Sequence[Arrow]) -> list[_Link]:
    """Return the waits of a chain, and whether each leads on through a held group."""
    return [
        _Link(
            arrow.source,
            arrow.target,
            chain[(at + 1) % len(chain)].is_held,
            arrow.target.waiting is Waiting.GET,
        )
        for at, arrow in enumerate(chain)
        if not arrow.is_held
    ]


class Watch:
    """The state of one execution, as far as a guide asks about it: P5's interleavings table."""

    def __init__(self, guide: Guide, run: World) -> None:
        self._guide = guide
        self._run = run
        self._before: dict[int, int] = {}
        """What tasks that have not ended can still come to."""
        self._stops: list[list[Task]] = [[] for _ in guide.constraints]
        """For each constraint, who was waited for; in a condition, who waited."""

    def allows(self, task: Task) -> bool:
        """Tell whether the cycle is still possible after a step of a task (`checkC`)."""
        guide, alive = self._guide, self._run.alive
        if task.has_ended:
            self._before.pop(task.number, None)
        else:
            standing = guide.standing(task)
            self._before[task.number] = standing.before
            if standing.places:
                for index in guide.reasons(task):
                    self._stops[index].append(task.target or task)
        for number, other in alive.items():
            if number not in self._before:
                self._before[number] = guide.before_new(other.function)
        reachable = 0
        for bits in self._before.values():
            reachable |= bits
        return all(
            reachable >> index & 1 or self._is_met(one, self._stops[index])
            for index, one in enumerate(guide.constraints)
        )

    def _is_met(self, constraint: Constraint, stops: list[Task]) -> bool:
        if constraint.is_pending or constraint.is_condition:
            return any(not task.has_ended for task in stops)
        return bool(stops)


class _Code(Ahead):
    """What leads where in the code, and where suspended frames stand in it."""

    def __init__(self, points_to: PointsTo) -> None:
        super().__init__(points_to)
        self._functions: dict[CodeType, FunctionType] = {}
        for routine in points_to.routines:
            self._know(routine.function, routine.function.__code__)

    def _know(self, function: FunctionType, code: CodeType) -> None:
        self._functions[code] = function
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._know(function, constant)

    def standing(
        self, frames: Sequence[tuple[CodeType, int]]
    ) -> list[tuple[FunctionType | None, list[int]]]:
        """Return where frames stand, the outermost first; None for code that is not known."""
        found: list[tuple[FunctionType | None, list[int]]] = []
        for at, (code, lasti) in enumerate(frames):
            function = self._functions.get(code)
            if function is None:
                found.append((None, [ENTRY]))
                continue
            positions = positions_of(self.methods[function], Frame(code, lasti, None))
            inner = frames[at + 1][0] if at + 1 < len(frames) else None
            if positions:
                found.append((function, positions))
            elif inner is None or self._functions.get(inner) is not function:
                found.append((None, [ENTRY]))
        return found

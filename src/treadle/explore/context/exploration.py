"""Optimal-DPOR with done sets and don't-do sets (JSS 2023, algorithms 1 and 2, `Explore`).

What `observers`, `optimal-context` and `optimal-context-observers` share. It is composed of wakeup
trees, done sets, don't-do sets (which stay empty where nothing is ever forbidden) and a way to
reverse races; an algorithm says which, and how steps depend on each other.

All races of an execution are handled, also those that it shares with the previous one: whether a
sequence is redundant may depend on all that comes after the race.

All questions about a planned sequence are put to `order`, a trace of its own that holds the
sequence, from the first prefix with something done on, as if it had been executed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import NONE, Sleep, lowest
from treadle.core.program import CannotStepError, Run
from treadle.core.result import Result
from treadle.core.steps import Step, Steps
from treadle.explore.context.done import Depends, DoneSets, depends_on_any
from treadle.explore.context.dontdo import DontDoSets, Inherit, inherited
from treadle.explore.context.planned_order import Imagined
from treadle.explore.context.reliance import Plan, PlannedInPart, Reliance, relied_on
from treadle.explore.invariants import wrong_lengths
from treadle.explore.reversals import Reversal, altered_reversals, everything_after
from treadle.explore.source_sets.wakeup_tree import WakeupTrees
from treadle.explore.strategy import AS_PLANNED, ASLEEP, BLOCKED, FORBIDDEN, Algorithm


class Reversing(ABC):
    """A way to reverse races: what to plan, and what to forbid."""

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration

    def begin(self, run: Run, outcome: int) -> None:  # noqa: B027 - only for some
        """Take note of the execution that is going to be analysed."""

    def go_on(self) -> None:  # noqa: B027 - only for some
        """Take note that a forbidden step was added to it, as if it had been taken."""

    @abstractmethod
    def detect(self, run: Run) -> None:
        """Plan the reversal of the races of the trace, and forbid what leads nowhere new."""


class Exploration(Algorithm):
    """Follow plans, stop before forbidden steps, and plan what is not done."""

    sees_every_order: ClassVar[bool] = False
    knows_values: ClassVar[bool] = False
    order_type: ClassVar[type[Imagined]] = Imagined
    """How the happens-before order of planned sequences is built."""
    forbids: ClassVar[bool] = True
    """Whether it ever forbids anything, so that plans must not rely on what may be forbidden."""
    reversing_type: ClassVar[type[Reversing]]

    def dependence(self) -> Depends:
        """Return how steps of planned sequences depend on each other."""
        return depends_on_any

    def inheritance(self) -> Inherit:
        """Return what the next state inherits of a don't-do set."""
        return inherited

    def prepare(self) -> None:
        """Begin with nothing done, planned or forbidden."""
        self.wut = WakeupTrees()
        self.dnd = DontDoSets(self.inheritance())
        self.done = DoneSets(self.dependence(), self.dnd.is_forbidden if self.forbids else None)
        self.order = self.order_type(self.search.trace.vocabulary)
        self._reliance = Reliance()
        self.reversing = self.reversing_type(self)
        self._next_done: Sleep | None = None

    # Exploration phase

    def follow(self, run: Run) -> int:
        """Take the steps of the first leaf of the wakeup tree, up to the first forbidden one."""
        self.dnd.begin()
        differing = self._follow(run)
        self.done.begin()
        return differing

    def _follow(self, run: Run) -> int:
        done, self._next_done = self._next_done, None
        for branch in self.wut.first_leaf():
            if not self.forbids:  # nobody is asked then: 3 % of wakeup_stress(2) under `observers`
                self.dnd.pass_on(len(branch.processes))
            for position, process in enumerate(branch.processes):
                if position:
                    self.wut.pass_on(1)
                self.done.sets.append(done)
                done = None
                if self.forbids:
                    self.dnd.enter()
                    if self.dnd.stops(process):
                        return AS_PLANNED
                if not self._take(run, process, branch.footprints[position]):
                    return len(self.search.trace) - 1
        return AS_PLANNED

    def _take(self, run: Run, process: int, planned: Footprint) -> bool:
        """Take a planned step; tell whether it was as planned."""
        if not run.is_enabled(process):
            raise CannotStepError(process)
        footprint = self.search.trace.append(process, run.step(process))
        if self.forbids:
            self.dnd.executed(process, footprint)
        # One of the planned steps is the end of a reversed race: it reads other values.
        return footprint is planned or footprint.own == planned.own

    @property
    def is_free(self) -> bool:
        """Whether nothing is forbidden any more."""
        return self.dnd.is_empty

    def decide(self, run: Run, last: int) -> int:
        """Choose by the default schedule among what is not forbidden (line 11)."""
        if self.dnd.stopped:
            return BLOCKED
        process = self.search.choose_awake(run, last, self.dnd.forbidden_here())
        if process == BLOCKED:
            self.dnd.stop(run)
        elif process >= 0:
            self.wut.pass_on(1)
            self.done.pass_on(1)
            self.dnd.enter()
        return process

    def executed(self, process: int, footprint: Footprint) -> None:
        """Pass the don't-do set on to the next state."""
        self.dnd.executed(process, footprint)

    def left_alone(self, steps: int) -> None:
        """Take note of steps that the default schedule took where `is_free`."""
        self.wut.pass_on(steps)
        self.done.pass_on(steps)
        self.dnd.pass_on(steps)

    # Race detection phase

    def analyse(self, run: Run, outcome: int) -> None:
        """Detect races at the end of an execution, or behind each forbidden step.

        Who is blocked when a run stops may have to come before the forbidden steps. So may a step
        that, in another order, turns out to be dependent with one of them: a plan that has both
        would stop again. So the races without forbidden steps are looked at, too.
        """
        trace, stopped = self.search.trace, self.dnd.stopped
        self.reversing.begin(run, outcome)
        if outcome != BLOCKED or run.blocked() or any(step.guarded for step in trace.footprints):
            self.reversing.detect(run)
        if outcome == BLOCKED:  # each forbidden step counts; the search counts one
            self.search.result.blocked += len(stopped) - 1
            for plan in list(self._reliance.lose(trace.processes + list(stopped))):
                self._plan_otherwise(plan, run)
        for process, footprint in stopped.items():
            if self.search.on_left_out is not None:
                self.search.on_left_out(len(trace), process, FORBIDDEN)
            trace.append(process, footprint.codes)
            self.reversing.go_on()
            self.reversing.detect(run)
            trace.truncate(len(trace) - 1)

    def _plan_otherwise(self, plan: Plan, run: Run) -> None:
        """Plan where a run has stopped what relied on going on there.

        If nothing is left of it, then somebody has to go on who is not forbidden.
        """
        trace = self.search.trace
        v, keep = plan.v, plan.keep
        if not v:
            last = trace.processes[-1] if trace.processes else NONE
            process = self.search.choose_awake(run, last, self.dnd.forbidden_here())
            if process < 0:
                return
            step = self.search.probes.probe(trace, range(len(trace)), process)
            assert step is not None
            v, keep = [(process, step)], 1
        self.plan(len(trace), v, keep, is_end_possible=plan.is_end_possible)

    def imagined(self, run: Run, after: list[int]) -> Iterator[Reversal]:
        """Yield the reversals whose second event is another one if it comes first.

        That event is in the trace while its race is handled, not longer.
        """
        trace = self.search.trace
        yield from altered_reversals(trace, list(trace.altered), after)
        blocked = run.blocked()
        if trace.undecided or blocked:  # only a run can tell what a step would do
            yield from self.search.probes.reversals(trace, blocked, after)

    def steps(self, events: Iterable[int]) -> list[Step]:
        """Return events of the execution as steps."""
        trace = self.search.trace
        return [(trace.processes[event], trace.footprints[event]) for event in events]

    def notdep(self, e: int, after: list[int]) -> int:
        """Return `notdep(e, E)`, given what happens after each event."""
        return everything_after(self.search.trace, e) & ~after[e]

    def plan(
        self, e: int, v: Sequence[Step], keep: int = -1, *, is_end_possible: bool = True
    ) -> None:
        """Insert `v` into the wakeup tree of `pre(E, e)`, unless it is redundant.

        `keep` has the positions in `v` of the steps that have to be planned; what it takes to see
        that the plan is not redundant is added. The last step is not planned if it is not possible:
        then only what comes before it is. A plan is remembered if what covers it may turn out to be
        forbidden.
        """
        trace = self.search.trace
        start = self.done.start(e)
        processes, footprints = trace.processes[start:e], trace.footprints[start:e]
        for process, step in v:
            processes.append(process)
            footprints.append(step)
        if self.done.is_explored(start, e, processes, footprints):
            if self.search.on_left_out is not None:
                self.search.on_left_out(e, v[0][0], ASLEEP)
            return
        self.order.imagine(processes, footprints)
        mask = (1 << len(processes)) - (1 << e - start)
        impossible = 0 if is_end_possible else 1 << len(processes) - 1
        wanted = (keep << e - start) & mask & ~impossible
        planned = PlannedInPart(self.order, mask, wanted, impossible)
        self._keep_what_wakes(planned, start, e)
        if self.forbids:
            plan = Plan(v, keep, is_end_possible)
            for way, left in relied_on(self.wut.trees[e] or [], self.order, mask):
                self._reliance.add(e, way, plan.part(left >> e - start))
        self.wut.insert(e, planned)
        if self.search.is_validating:
            self._validate(e)

    def _keep_what_wakes(self, planned: PlannedInPart, start: int, e: int) -> None:
        """Keep what makes each process that is done no weak initial, unless it was taken before."""
        order, mask = self.order, planned.left
        for depth, process, step in self.done.finished:
            if depth > e:
                break
            since = -1 << depth - start
            wakes = order.obstacles(process, step, since)
            if not wakes and self.forbids and self.dnd.is_forbidden(depth, process):
                wakes = order.written_before(process, since)
            if wakes and not wakes & (planned.keep | ~mask):
                planned.keep |= order.before[lowest(wakes)] & mask

    # Backtracking

    def backtrack(self) -> int:
        """Return the length of the longest prefix with something left to explore, or -1.

        If the run stopped there before a planned step, that counts as done, and its siblings come
        next.
        """
        trace, depth = self.search.trace, self.wut.leave()
        if depth >= 0:
            explored = self.dnd.stopped
            if depth < len(trace):
                explored = {trace.processes[depth]: trace.footprints[depth]}
            self._next_done = {**(self.done.sets[depth] or {}), **explored}
            del self.done.sets[depth:]
            self.dnd.leave(depth)
            self._reliance.leave(depth)
        return depth

    def todo(self, depth: int) -> int:
        """Return how many branches still wait at a depth of the current path."""
        return self.wut.todo(depth)

    def violations(self) -> Iterator[str]:
        """Yield what is wrong with done sets, don't-do sets and wakeup trees."""
        trace, trees = self.search.trace, self.wut.trees
        stopped = bool(self.dnd.stopped) and len(trees) > len(trace)
        yield from wrong_lengths(
            trace, stopped=stopped, wut=trees, done=self.done.sets, dnd=self.dnd.sets
        )
        for depth in range(len(trees)):
            yield from self._violations_after(depth)

    def forbid(self, e: int, sequence: Steps) -> None:
        """Add a sequence to `dnd(pre(E, e))` (line 32)."""
        self.dnd.forbid(e, sequence)
        if self.search.is_validating:
            self._validate(e)

    def _validate(self, e: int) -> None:
        self.search.validate(self._violations_after(e))

    def _violations_after(self, depth: int) -> Iterator[str]:
        """Yield what is wrong with what is kept for one prefix."""
        yield from self.dnd.violations_after(depth)
        for branch in self.wut.trees[depth] or []:
            if not branch.processes:
                yield f"an empty branch after {depth} steps"

    def report(self, result: Result) -> None:
        """Say how large the wakeup trees were."""
        result.peak_nodes = self.wut.peak_nodes

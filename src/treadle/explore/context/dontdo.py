"""Don't-do sets (seed 000, algorithm 1, the underlined code of `Explore`).

`dnd(E)` has sequences of steps that must not be explored to their end after `E`: where they lead,
another explored execution leads too. A sequence is passed on to `E.p` without its first step if
that is `p`, and as it is if it has nothing to do with `p` (lines 19 and 20). When only one step of
it is left, that step is forbidden: the run stops before it, and is analysed as if the step had been
taken (lines 7 to 9 and 15 to 16). A run that stops counts as blocked, once for each step that was
forbidden there, like in the paper.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import bits
from treadle.core.program import Run
from treadle.core.steps import Step, Steps
from treadle.explore.context.done import Done, DoneSets
from treadle.explore.context.state_check import Contexts
from treadle.explore.probing import everything_after
from treadle.explore.source_sets.wakeup_tree import Branch
from treadle.explore.strategy import BLOCKED

DontDo = list[Steps]


def inherited(dnd: DontDo, process: int, step: Footprint) -> DontDo:
    """Return what `E.p` inherits of `dnd(E)` (lines 19 and 20)."""
    passed = []
    for sequence in dnd:
        if sequence[0][0] == process:
            passed.append(sequence[1:])
        elif not any(p == process or step.conflicts_with(other) for p, other in sequence):
            passed.append(sequence)
    return passed


def forbidden(dnd: DontDo) -> Done:
    """Return the steps that must not be taken here."""
    return dict(sequence[0] for sequence in dnd if len(sequence) == 1)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What was inserted behind other steps, or not at all as other steps lead to it."""

    v: Sequence[Step]
    keep: int
    is_end_possible: bool
    relied_on: frozenset[tuple[int, ...]]
    """Ways that must not turn out to be forbidden at their last step."""


class DontDoSets(DoneSets):
    """Optimal-DPOR with done sets and don't-do sets."""

    sees_every_order: ClassVar[bool] = False

    def prepare(self) -> None:
        """Begin with nothing forbidden."""
        super().prepare()
        self.contexts = Contexts(self.search)
        self.dnd: list[DontDo | None] = []
        """`dnd(E)` for each prefix of the current execution, by length; None if empty."""
        self._here: DontDo = []
        self._next_dnd: DontDo = []
        self._stopped: Done = {}
        """Forbidden steps before which the run stopped."""
        self._relied_on: set[tuple[int, ...]] = set()
        self._relying: dict[int, list[_Plan]] = {}
        """Plans by the length of `E` that rely on a branch with other processes on its way."""

    # Exploration phase

    def follow(self, run: Run) -> int:
        """Take planned steps up to the first forbidden one."""
        self._here, self._next_dnd = self._next_dnd, []
        self._stopped = {}
        return super().follow(run)

    def take(self, run: Run, process: int, planned: Footprint) -> bool:
        """Take a planned step unless it is forbidden; tell whether it was as planned."""
        self.dnd.append(self._here or None)
        footprint = self._here and forbidden(self._here).get(process)
        if footprint:
            self._stopped = {process: footprint}
            return True
        is_as_planned = super().take(run, process, planned)
        self.executed(process, self.search.trace.footprints[-1])
        return is_as_planned

    @property
    def is_stopped(self) -> bool:
        """Whether the run met a forbidden step of its plan."""
        return bool(self._stopped)

    @property
    def is_free(self) -> bool:
        """Whether nothing is forbidden any more."""
        return not self._here and not self._stopped

    def decide(self, run: Run, last: int) -> int:
        """Choose by the default schedule among what is not forbidden (line 11)."""
        if self._stopped:
            return BLOCKED
        self.left_alone(1)
        units = forbidden(self._here)
        process = self.search.choose_awake(run, last, units)
        if process == BLOCKED:
            self._stopped = {p: step for p, step in units.items() if run.is_enabled(p)}
        elif self._here:
            self.dnd[-1] = self._here
        return process

    def executed(self, process: int, footprint: Footprint) -> None:
        """Pass the don't-do set on to the next state."""
        self._here = self._here and self.inherited(self._here, process, footprint)

    def inherited(self, dnd: DontDo, process: int, footprint: Footprint) -> DontDo:
        """Return what the next state inherits of a don't-do set."""
        return inherited(dnd, process, footprint)

    def left_alone(self, steps: int) -> None:
        """Take note of steps that the default schedule took where `is_free`."""
        super().left_alone(steps)
        self.dnd += [None] * steps

    # Race detection phase

    def analyse(self, run: Run, outcome: int) -> None:
        """Detect races at the end of an execution, or behind each forbidden step.

        Who is blocked when a run stops may have to come before the forbidden steps, so the races
        without them are looked at, too.
        """
        self.contexts.follow(run, outcome)
        if outcome != BLOCKED or run.blocked():
            self.detect_races(run)
        if outcome == BLOCKED:  # each forbidden step counts; the search counts one
            self.search.result.blocked += len(self._stopped) - 1
            self._plan_again()
        trace = self.search.trace
        for process, footprint in self._stopped.items():
            trace.append(process, footprint.codes)
            self.contexts.go_on()
            self.detect_races(run)
            trace.truncate(len(trace) - 1)

    def plan(
        self, e: int, v: Sequence[Step], keep: int = -1, *, is_end_possible: bool = True
    ) -> None:
        """Insert `v`; remember it if what covers it may turn out to be forbidden."""
        self._relied_on.clear()
        super().plan(e, v, keep, is_end_possible=is_end_possible)
        if self._relied_on:
            plan = _Plan(v, keep, is_end_possible, frozenset(self._relied_on))
            self._relying.setdefault(e, []).append(plan)

    def _rely_on(self, way: list[Branch], branch: Branch, position: int) -> None:
        """Take note of the processes on the way to a step that is not in what is inserted."""
        steps = [process for earlier in way for process in earlier.processes]
        self._relied_on.add((*steps, *branch.processes[:position]))

    def _plan_again(self) -> None:
        """Insert the plans anew that rely on a branch that turned out to be forbidden."""
        way = self.search.trace.processes + list(self._stopped)
        for e, plans in sorted(self._relying.items()):
            lost = [plan for plan in plans if tuple(way[e:]) in plan.relied_on]
            self._relying[e] = [plan for plan in plans if plan not in lost]
            for plan in lost:
                self.plan(e, plan.v, plan.keep, is_end_possible=plan.is_end_possible)

    def was_stopped(self, depth: int, process: int) -> bool:
        """Tell whether a process of `done(E)` is forbidden at `E`, so that it was never explored.

        What it leads to is explored elsewhere, but not what others do before it.
        """
        return process in forbidden(self.dnd[depth] or [])

    def plan_with_future(self, e: int, beginning: list[int], others: int) -> None:
        """Plan the reversal of a race that begins like this, with `Ifut(E', v, E)`.

        `others` has the other events that belong to the reversal.
        """
        trace = self.search.trace
        rest = bits(others)
        w = everything_after(trace, e) | 1 << e
        busy = {trace.processes[event] for event in beginning}
        planned = (1 << len(beginning)) - 1
        for position, event in enumerate(rest, len(beginning)):
            if trace.before[event] & w == 1 << event and trace.processes[event] not in busy:
                planned |= 1 << position
        self.plan(e, self.steps([*beginning, *rest]), planned)

    @abstractmethod
    def detect_races(self, run: Run) -> None:
        """Plan the reversal of the races of the trace, and forbid what leads nowhere new."""

    def forbid(self, e: int, sequence: list[Step]) -> None:
        """Add a sequence to `dnd(pre(E, e))` (line 32)."""
        dnd = self.dnd[e]
        if dnd is None:
            dnd = self.dnd[e] = []
        if tuple(sequence) not in dnd:
            dnd.append(tuple(sequence))

    # Backtracking

    def backtrack(self) -> int:
        """Return the depth at which the next execution leaves this one, or -1."""
        depth = len(self.search.trace)
        if self._stopped and len(self.wut) > depth and self.wut[depth]:
            # Stopped before a planned step: its siblings come next.
            self._next_sleep = {**(self.sleep[depth] or {}), **self._stopped}
            self._next_wut = self.wut[depth]
        else:
            depth = super().backtrack()
        kept = max(depth, 0)
        self._next_dnd = (self.dnd[kept] if depth >= 0 else None) or []
        del self.sleep[kept:], self.wut[kept:], self.dnd[kept:]
        self._relying = {e: plans for e, plans in self._relying.items() if e <= kept}
        return depth

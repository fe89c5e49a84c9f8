"""Optimal-DPOR over the conditional happens-before relation: one execution per conditional class.

Algorithm 2 of "Source Sets" (J. ACM 2017) with `D` of `dependence` wherever that asks about
dependence: races, `notdep`, weak initials, the inheritance of sleep sets, insertion into wakeup
trees. The relation has the properties of its definition 3.2, so its theorems hold: no class is
explored twice, and no execution is begun in vain. The thesis leaves this to future work.

Questions about a planned sequence are put to `order`, a trace of its own that holds the sequence
behind its prefix; whole sequences are planned, not short leaves. A program without constraints is
explored by `optimal`.

A planned sequence names processes as the execution called them that it was found in. Where steps
create processes together (`crossing`) another order calls them otherwise: as soon as such an order
is planned, the search begins anew, and takes those steps for dependent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from treadle.core.errors import TreadleBug
from treadle.core.events import Footprint
from treadle.core.happens_before import Sleep, Trace, bits, lowest
from treadle.core.program import CannotStepError, Run
from treadle.core.result import Result
from treadle.core.steps import Step
from treadle.explore.constrained.crossing import is_misleading
from treadle.explore.constrained.dependence import ConditionalTrace, Uniform
from treadle.explore.invariants import wrong_lengths
from treadle.explore.reversals import reversals
from treadle.explore.source_sets.optimal import Optimal
from treadle.explore.source_sets.wakeup_tree import Branch, Tree
from treadle.explore.strategy import ASLEEP, Algorithm


class OptimalConstrained(Optimal):
    """One execution per class of the conditional relation, and never a blocked one."""

    sees_every_order: ClassVar[bool] = False
    divides: ClassVar[bool] = False
    trace_type: ClassVar[type[Trace]] = ConditionalTrace
    without_constraints: ClassVar[type[Algorithm] | None] = Optimal

    def prepare(self) -> None:
        """Begin with empty sleep sets and wakeup trees."""
        super().prepare()
        self.trace = conditional(self.search.trace)
        self.trace.uniform = Uniform(self.search.program)
        self.order = Sequenced(self.trace.vocabulary)
        self.order.uniform = self.trace.uniform

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse each race `(e, e')` of the execution that has just ended (lines 2 to 7)."""
        del outcome
        self.trace.uniform.states.depth = len(self.trace)
        with trusting(self.trace):
            for race in reversals(self.search, run, since=0):
                for last in race.lasts:
                    self._explore_reversed(race.e, race.w | 1 << last, last)

    def _explore_reversed(self, e: int, v: int, last: int) -> None:
        """Explore `v = notdep(e, E).e'` after `E' = pre(E, e)`, unless that was done (line 6)."""
        self._refuse_halves(e, v)
        w = self._steps([*bits(v & ~(1 << last)), last])
        prefix = self._steps(range(e))
        self.order.hold([*prefix, *w])
        for process, step in (self.sleep[e] or {}).items():
            if self.order.is_weak_initial(process, step, e):
                if self.search.on_left_out is not None:
                    self.search.on_left_out(e, process, ASLEEP)
                return
        self._insert_behind(e, prefix, w)

    def _refuse_halves(self, e: int, v: int) -> None:
        """Refuse a sequence that has only the second of two steps that create together.

        It would create something else, or nothing.
        """
        for event in bits(v):
            for crossing in self.trace.crossings[event]:
                if crossing.first >= e and not v >> crossing.first & 1:
                    self.trace.uniform.distrust()

    def _refuse_swapped(self, way: list[Step], w: list[Step]) -> None:
        """Refuse to take a step before others with which it creates: their children's names change.

        It is the last of the way, and the others are what is left of a sequence.
        """
        if self.trace.uniform.crossed:
            self.order.hold([*way, *w])
            taken = len(way) - 1
            later = self.order.crossings[len(way) :]
            if any(crossing.first == taken for found in later for crossing in found):
                self.trace.uniform.distrust()

    def _steps(self, events: Sequence[int]) -> list[Step]:
        return [(self.trace.processes[event], self.trace.footprints[event]) for event in events]

    def _insert_behind(self, e: int, way: list[Step], w: list[Step]) -> None:
        """Do `insert[E'](w, wut(E'))` (section 6.2): behind the smallest `v ~ w`, if no leaf."""
        tree = self.wut.tree(e)
        while True:
            branch, length, w = self._smallest_consistent(tree, way, w)
            if branch is None:
                break
            if length < len(branch.processes):
                if not w:
                    return
                branch.split(length)
            tree = branch.children
            if not tree:
                return
        if w:
            tree.append(Branch(tuple(p for p, _ in w), tuple(step for _, step in w), []))
            self.wut.grow(len(w))

    def _smallest_consistent(
        self, tree: Tree, way: list[Step], w: list[Step]
    ) -> tuple[Branch | None, int, list[Step]]:
        """Return the first branch that begins consistent with `w`, how far, and what is left of it.

        `way` goes on by the steps of the branch that were passed.
        """
        for branch in tree:
            length = 0
            for step in zip(branch.processes, branch.footprints, strict=True):
                self.order.hold([*way, *w])
                if not self.order.is_weak_initial(*step, len(way)):
                    break
                way.append(_taken_off(w, step))
                w = _without(w, step[0])
                self._refuse_swapped(way, w)
                length += 1
            if length:
                return branch, length, w
        return None, 0, w

    # Exploration

    def foretell(self) -> bool:
        """Take the steps of the first leaf of the wakeup tree (lines 15 to 19)."""
        trace, sleep, self._next_sleep = self.trace, self._next_sleep, None
        for branch in self.wut.first_leaf():
            self.wut.pass_on(len(branch.processes) - 1)
            for process, step in zip(branch.processes, branch.footprints, strict=True):
                trace.foretell([process], [step])
                self.sleep.append(sleep)
                if sleep:
                    sleep = still_asleep(trace, sleep)
        if sleep:
            trace.uniform.distrust()
            raise TreadleBug("optimal-DPOR left its wakeup tree with a non-empty sleep set")
        return True

    def backtrack(self) -> int:
        """Return the length of the longest prefix with something left to explore, or -1."""
        depth = super().backtrack()
        self.trace.uniform.states.leave(depth)
        return depth

    def report(self, result: Result) -> None:
        """Say how large the wakeup trees were, and what it took to get to states."""
        super().report(result)
        self.trace.uniform.report(result)

    def violations(self) -> Iterator[str]:
        """Yield what is wrong with sleep sets and wakeup trees."""
        trace = self.search.trace
        yield from wrong_lengths(trace, sleep=self.sleep, wut=self.wut.trees)
        for depth, sleep in enumerate(self.sleep):
            if sleep and trace.processes[depth] in sleep:
                yield f"a sleeping process was explored after {depth} steps"


class Sequenced(ConditionalTrace):
    """A sequence of steps with its conditional order, as if it had been executed."""

    def hold(self, steps: Sequence[Step]) -> None:
        """Hold a sequence in place of the one before, of which a common beginning is kept."""
        kept = 0
        for process, footprint, step in zip(self.processes, self.footprints, steps, strict=False):
            if (process, footprint) != step:
                break
            kept += 1
        self.truncate(kept)
        self.foretell([p for p, _ in steps[kept:]], [step for _, step in steps[kept:]])
        self.extend()

    def is_weak_initial(self, process: int, step: Footprint, start: int) -> bool:
        """Tell whether `p ∈ WI(v)`, `v` being what comes behind the first `start` events."""
        own = self.of_process[process] >> start << start
        if own:
            first = lowest(own)
            return self.before[first] >> start == 1 << first - start
        return not self.next_direct(process, step) >> start


@contextmanager
def trusting(trace: ConditionalTrace) -> Iterator[None]:
    """Begin anew if an execution shows that steps which create together should be dependent."""
    try:
        yield
    except CannotStepError:  # a step that was recorded after both cannot be taken after one
        trace.uniform.distrust()
        raise
    if is_misleading(trace):
        trace.uniform.distrust()


def conditional(trace: Trace) -> ConditionalTrace:
    """Return a trace as what it is."""
    assert isinstance(trace, ConditionalTrace)
    return trace


def still_asleep(trace: ConditionalTrace, sleep: Sleep) -> Sleep:
    """Return what is asleep behind the last event of a trace: what that is independent of."""
    trace.extend()
    last = len(trace) - 1
    return {q: step for q, step in sleep.items() if not trace.next_direct(q, step) >> last & 1}


def _taken_off(w: list[Step], step: Step) -> Step:
    """Return the first step of a process in a sequence, else the one given."""
    return next((own for own in w if own[0] == step[0]), step)


def _without(w: list[Step], process: int) -> list[Step]:
    """Return a sequence without the first step of a process."""
    position = next((i for i, (own, _) in enumerate(w) if own == process), None)
    return w if position is None else [*w[:position], *w[position + 1 :]]

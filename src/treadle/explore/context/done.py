"""Optimal-DPOR with done sets in place of sleep sets (seed 000, algorithm 1, the code in black).

For every prefix `E` of the current execution there is `done(E)`, the processes whose exploration
from `E` is over, with the step that each took, and the wakeup tree `wut(E)`. A sequence `v` is
redundant after `E'` if `E' = w.w'` such that a process of `done(w)` is a weak initial of `w'.v`:
what is equivalent to `E'.v` was explored after `w` then. Sleep sets say the same as long as it is
known at once whether two steps are dependent; with observers it is not.

All races of an execution are handled, also those that it shares with the previous one: whether a
sequence is redundant may depend on all that comes after the race.

All questions about a planned sequence are put to `order`, a trace of its own that holds the
sequence, from the first prefix with something done on, as if it had been executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import bits
from treadle.core.program import CannotStepError, Run
from treadle.core.steps import Step
from treadle.explore.context.planned_order import Imagined
from treadle.explore.probing import altered_reversals, everything_after, probed_reversals
from treadle.explore.source_sets.optimal import Optimal
from treadle.explore.source_sets.wakeup_tree import Branch

Done = dict[int, Footprint]


class DoneSets(Optimal):
    """Optimal-DPOR that looks for redundancy in the done sets of all prefixes.

    `sleep[d]` of the base class is `done(E)` for the prefix `E` of length `d`.
    """

    imagined_type: ClassVar[type[Imagined]] = Imagined
    """How the happens-before order of planned sequences is built."""

    def prepare(self) -> None:
        """Begin with nothing done and nothing planned."""
        super().prepare()
        self.order = self._imagined = self.imagined_type(self.search.trace.vocabulary)
        self._finished: list[tuple[int, int, Footprint]] = []
        """What is done at the prefixes of the current execution: by length, processes and steps."""

    # Exploration phase

    def foretell(self) -> bool:
        """Foretell nothing: steps may have other accesses than planned, and stop the run."""
        return False

    def follow(self, run: Run) -> int:
        """Take the steps of the first leaf of the wakeup tree; return which one differed, or -1."""
        differing = self._follow(run)
        self._finished = [
            (depth, process, step)
            for depth, done in enumerate(self.sleep)
            if done
            for process, step in done.items()
        ]
        return differing

    def _follow(self, run: Run) -> int:
        tree, self._next_wut = self._next_wut, None
        done, self._next_sleep = self._next_sleep, None
        while tree:
            branch = tree.pop(0)
            self.nodes -= len(branch.processes)
            siblings = tree
            for process, planned in zip(branch.processes, branch.footprints, strict=True):
                self.wut.append(siblings)
                self.sleep.append(done)
                siblings, done = [], None
                if not self.take(run, process, planned):
                    return len(self.search.trace) - 1
                if self.is_stopped:
                    return -1
            tree = branch.children
        return -1

    @property
    def is_stopped(self) -> bool:
        """Whether a planned step must not be taken after all."""
        return False

    def take(self, run: Run, process: int, planned: Footprint) -> bool:
        """Take a planned step; tell whether it was as planned."""
        if not run.is_enabled(process):
            raise CannotStepError(process)
        footprint = self.search.trace.append(process, run.step(process))
        # One of the planned steps is the end of a reversed race: it reads other values.
        return footprint is planned or footprint.own == planned.own

    # Race detection phase

    def imagined(self, run: Run, after: list[int]) -> Iterator[tuple[int, int, int]]:
        """Yield `e`, `w` and `e'` of the races whose second event is another one if it comes first.

        That event is in the trace while its race is handled, not longer.
        """
        trace = self.search.trace
        for e, w, lasts, _ in altered_reversals(trace, list(trace.altered), after):
            yield e, w, lasts[0]
        if trace.undecided or run.blocked():  # only a run can tell what a step would do
            for e, w, lasts, _ in probed_reversals(trace, run, after, self.search.probe):
                yield e, w, lasts[0]

    def steps(self, events: Iterable[int]) -> list[Step]:
        """Return events of the execution as steps."""
        trace = self.search.trace
        return [(trace.processes[event], trace.footprints[event]) for event in events]

    def notdep(self, e: int, after: list[int]) -> int:
        """Return `notdep(e, E)`: what comes after `e` and does not happen after it."""
        return everything_after(self.search.trace, e) & ~after[e]

    def plan(
        self, e: int, v: Sequence[Step], keep: int = -1, *, is_end_possible: bool = True
    ) -> None:
        """Insert `v` into the wakeup tree of `pre(E, e)`, unless it is redundant.

        `keep` has the positions in `v` of the steps that have to be planned; what it takes to see
        that the plan is not redundant is added. The last step is not planned if it is not possible:
        then only what comes before it is.
        """
        trace = self.search.trace
        start = min(e, self._finished[0][0]) if self._finished else e
        processes, footprints = trace.processes[start:e], trace.footprints[start:e]
        for process, step in v:
            processes.append(process)
            footprints.append(step)
        if self._is_explored(start, e, processes, footprints):
            return
        self._imagined.imagine(processes, footprints)
        mask = (1 << len(processes)) - (1 << e - start)
        possible = mask if is_end_possible else mask & ~(1 << len(processes) - 1)
        needed = (keep << e - start) & possible
        for depth, process, step in self._finished:
            if depth > e:
                break
            woken = self._what_wakes(process, step, -1 << depth - start)
            if woken and not woken & (needed | ~mask):
                needed |= self.order.before[(woken & -woken).bit_length() - 1] & possible
        tree = self.wut[e]
        if tree:
            self._insert(tree, mask, needed, -1, mask, possible)
        else:
            self.wut[e] = [self._leaf(needed, -1)]

    def _is_explored(
        self, start: int, e: int, processes: list[int], footprints: list[Footprint]
    ) -> bool:
        """Tell whether a process of `done(w)` is a weak initial of `w'.v`, for any prefix `w`.

        The processes and footprints are those of `w'.v` for the prefix of length `start`.
        """
        for depth, process, step in self._finished:
            if depth > e:
                break
            first = depth - start
            try:
                position = processes.index(process, first)
            except ValueError:
                if self.was_stopped(depth, process):
                    continue
                position = len(processes)
            else:
                step = footprints[position]
            if step.joins and not set(step.joins).isdisjoint(processes[first:position]):
                continue
            if not self.depends_on_any(step, footprints, first, position):
                return True
        return False

    def was_stopped(self, depth: int, process: int) -> bool:
        """Tell whether a process of `done(E)` is there without having been explored."""
        del depth, process
        return False

    def depends_on_any(
        self, step: Footprint, footprints: list[Footprint], first: int, position: int
    ) -> bool:
        """Tell whether a step at a position depends on one of those from `first` on before it."""
        conflicts = step.conflict_set
        return any(not conflicts.isdisjoint(other.own) for other in footprints[first:position])

    def _what_wakes(self, process: int, step: Footprint, within: int) -> int:
        """Return the imagined events because of which a done process is no weak initial."""
        order = self.order
        mine = order.of_process[process] & within
        if mine:
            first = (mine & -mine).bit_length() - 1
            return order.before[first] & within & ~(1 << first)
        return order.conflicting(step) & within

    def _leaf(self, steps: int, last: int) -> Branch:
        """Return the imagined events of a mask as a branch, in their order."""
        del last
        events = bits(steps)
        self.nodes += len(events)
        self.peak_nodes = max(self.peak_nodes, self.nodes)
        order = self.order
        return Branch(
            tuple([order.processes[event] for event in events]),
            tuple([order.footprints[event] for event in events]),
            [],
        )

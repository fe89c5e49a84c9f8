"""Optimal-DPOR ("Source Sets", J. ACM 2017, algorithms 2, 4 and 6): one execution for each class.

For every prefix `E` of the current execution the algorithm keeps `sleep(E)`, the processes whose
exploration from `E` is done, with the step each would take, and `wut(E)`, the wakeup tree of what
is still to be explored from `E`. Lists indexed by `len(E)` hold both; None stands for the empty
ones, which is what they are wherever the default schedule led the way (lemma 7.1).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import ClassVar

from treadle.core.errors import TreadleBug
from treadle.core.events import Footprint
from treadle.core.happens_before import Sleep, bits
from treadle.core.program import Run
from treadle.core.result import Result
from treadle.explore.invariants import wrong_lengths
from treadle.explore.reversals import reversals
from treadle.explore.source_sets.planned import Planned
from treadle.explore.source_sets.valid_tree import size, wrong_tree
from treadle.explore.source_sets.wakeup_tree import WakeupTrees
from treadle.explore.strategy import ASLEEP, Algorithm

NEVER = sys.maxsize
"""No event has this index."""


class Optimal(Algorithm):
    """One execution per happens-before class, and never a blocked one."""

    never_blocks: ClassVar[bool] = True
    divides: ClassVar[bool] = True

    def prepare(self) -> None:
        """Begin with empty sleep sets and wakeup trees."""
        self.sleep: list[Sleep | None] = []
        self.wut = WakeupTrees()
        self._next_sleep: Sleep | None = None
        self._unsettled = NEVER
        """The first event that closes a race to be handled again."""

    # Race detection (lines 2 to 7)

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse each race `(e, e')` of the execution that has just ended."""
        del outcome
        since, self._unsettled = min(self._unsettled, self.search.shared), NEVER
        for race in reversals(self.search, run, since=since, is_handled=self._try_at_once):
            for last in race.lasts:
                bit = 1 << last
                seen = race.seen & bit - 1
                if self._reverse(race.e, race.w | bit, last) & ~(seen | bit):
                    self._handle_again(seen)

    def _reverse(self, e: int, v: int, last: int) -> int:
        """Explore `v = notdep(e, E).e'` after `E' = pre(E, e)`, unless that was done (line 6).

        Return the events without which something else might have been planned.
        """
        trace, sleep = self.search.trace, self.sleep[e]
        planned = Planned(trace, v, trace.before[last] & v, last)
        if not sleep or not planned.begins_with_any(sleep):
            self.wut.insert(e, planned)  # line 7
            if self.search.is_validating:
                self.search.validate(self.violations_after(e))
        elif self.search.on_left_out is not None:
            self.search.on_left_out(e, trace.processes[last], ASLEEP)
        return planned.keep | planned.rests_on

    def _try_at_once(self, e: int, last: int) -> bool:
        """Reverse a race if it takes no `notdep(e, E)` to do it; tell whether that was so.

        Nothing happens between the two events of a race. So what has to come before `e'` is all
        that comes after `e` and happens before `e'`. Where nothing sleeps and nothing is planned,
        this is the short leaf. Where the process of `e'` sleeps before the same step, and nothing
        has to come before that, it is an initial of `v`, which is redundant. Without
        this, lastzero(8) takes 1.13 times as long.
        """
        trace, sleep = self.search.trace, self.sleep[e]
        if sleep:
            if sleep.get(trace.processes[last]) is not trace.footprints[last]:
                return False
            return trace.before[last] >> e + 1 == 1 << last - e - 1
        if self.wut.trees[e]:
            return False
        self.wut.begin(e, trace, bits(trace.before[last] >> e + 1 << e + 1))
        if self.search.is_validating:
            self.search.validate(self.violations_after(e))
        return True

    def _handle_again(self, seen: int) -> None:
        """Handle a race again in later executions: it rests on more than what was `seen` then.

        Races are handled once: later executions share a prefix with this one, and the races in it.
        How such a race was handled stands if it rests on the events up to `e'`, whatever comes
        after them. If not, it is handled again, and so are all from there on. With all races in
        every execution, 2 x 4 increments of threads take 1.13 times as long.
        """
        self._unsettled = min(self._unsettled, seen.bit_length())

    # Exploration (lines 8 to 21)

    def foretell(self) -> bool:
        """Take the steps of the first leaf of the wakeup tree (lines 15 to 19).

        From there on nothing is asleep, and the default schedule decides (line 12).
        """
        trace, sleep, self._next_sleep = self.search.trace, self._next_sleep, None
        for branch in self.wut.take_first_leaf():
            trace.foretell(branch.processes, branch.footprints)
            for step in branch.footprints:
                self.sleep.append(sleep)
                sleep = trace.independent_of(step, sleep) if sleep else None
        if sleep:
            raise TreadleBug("optimal-DPOR left its wakeup tree with a non-empty sleep set")
        return True

    def decide(self, run: Run, last: int) -> int:
        """Leave it to the default schedule: what is planned was added by `foretell`."""
        process = self.search.choose(run, last)
        if process >= 0:
            self.left_alone(1)
        return process

    def executed(self, process: int, footprint: Footprint) -> None:
        """Take no note: nothing is asleep here."""

    @property
    def is_free(self) -> bool:
        """Nothing is asleep and nothing planned any more, so the default schedule decides."""
        return True

    def left_alone(self, steps: int) -> None:
        """Take note of steps that the default schedule took where `is_free`."""
        self.sleep += [None] * steps
        self.wut.pass_on(steps)

    def backtrack(self) -> int:
        """Return the length of the longest prefix with something left to explore, or -1.

        The process that was explored there falls asleep (line 21).
        """
        depth = self.wut.leave()
        if depth >= 0:
            trace = self.search.trace
            done = {trace.processes[depth]: trace.footprints[depth]}
            self._next_sleep = {**(self.sleep[depth] or {}), **done}
            del self.sleep[depth:]
        return depth

    def todo(self, depth: int) -> int:
        """Return how many branches still wait at a depth of the current path."""
        return self.wut.todo(depth)

    def violations(self) -> Iterator[str]:
        """Yield what is wrong with sleep sets and wakeup trees (lemma 7.1)."""
        trace, trees = self.search.trace, self.wut.trees
        yield from wrong_lengths(trace, sleep=self.sleep, wut=trees)
        for depth in range(len(trees)):
            yield from self.violations_after(depth)
        if self.wut.nodes != sum(size(tree or []) for tree in self.wut.all_trees()):
            yield "nodes were counted wrongly"

    def violations_after(self, depth: int) -> Iterator[str]:
        """Yield what is wrong with the sleep set and the wakeup tree of one prefix.

        The process that the execution goes on with came before what is still in the tree.
        """
        trace, sleep, done = self.search.trace, self.sleep[depth] or {}, {}
        if depth < len(trace):
            done = {trace.processes[depth]: trace.footprints[depth]}
            if trace.processes[depth] in sleep:
                yield f"a sleeping process was explored after {depth} steps"
        for violation in wrong_tree(self.wut.trees[depth] or [], {**sleep, **done}):
            yield f"{violation}, after {depth} steps"

    def report(self, result: Result) -> None:
        """Say how large the wakeup trees were."""
        result.peak_nodes = self.wut.peak_nodes

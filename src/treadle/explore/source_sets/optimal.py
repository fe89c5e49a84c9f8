"""Optimal-DPOR (seed 002, algorithms 2, 4 and 6): one execution per equivalence class.

For every prefix `E` of the current execution the algorithm keeps `sleep(E)`, the processes whose
exploration from `E` is done, with the step each would take, and `wut(E)`, the wakeup tree of what
is still to be explored from `E`. Lists indexed by `len(E)` hold both; None stands for the empty
ones, which is what they are wherever the default schedule led the way (lemma 7.1).

- `foretell`, `decide`: lines 8 to 19. Take the steps of the wakeup tree if there is one; from its
  leaf on, nothing is asleep and the default schedule decides.
- `analyse`: lines 2 to 7 at the end of an execution. Each reversible race `(e, e')` gives
  `v = notdep(e, E).e'`, to be explored after `E' = pre(E, e)` unless a process of `sleep(E')` is a
  weak initial of it.
- `insert`: section 6.2, `insert[E'](v, wut(E'))`.
- `backtrack`: lines 20 and 21.

Two departures from the letter of the paper, both covered by its specification of `insert`:

- The inserted leaf is not all of `v`, only the part that matters: `e'` with what happens before it,
  plus what makes each sleeping process, and each branch passed on the way, no weak initial of it.
  That is a leaf consistent with `v`, disjoint from `sleep(E')`, and much smaller.
- Races are handled when their second event `e'` is new. Those in the prefix that the execution
  shares with the previous one were handled then, and that stands if it was *settled* by what comes
  before `e'`. If it rested on events after `e'`, which were others then, they are handled again: a
  sleeping process that was a weak initial of the old `v` may be none of the new one. (Where steps
  have to be probed, see `blocking`, all races are handled again.)
"""

from __future__ import annotations

import sys

from treadle.core.errors import TreadleBug
from treadle.core.events import Footprint
from treadle.core.happens_before import bits
from treadle.core.program import Run
from treadle.explore.source_sets.wakeup_tree import Branch, Tree
from treadle.explore.strategy import Algorithm, Sleep

_NOTHING = sys.maxsize


class Optimal(Algorithm):
    """One execution per happens-before class, and never a blocked one."""

    def prepare(self) -> None:
        """Begin with empty sleep sets and wakeup trees."""
        self.sleep: list[Sleep | None] = []
        self.wut: list[Tree | None] = []
        self._next_sleep: Sleep | None = None
        self._next_wut: Tree | None = None
        self.nodes = self.peak_nodes = 0
        self.order = self.search.trace
        """The events that masks of `_insert` and `_leaf` refer to."""
        self._unsettled = _NOTHING
        """The first second event of a race whose handling rested on later events."""

    # Exploration phase

    def foretell(self) -> bool:
        """Add the steps of the first leaf of the wakeup tree to the trace."""
        trace, tree, sleep = self.search.trace, self._next_wut, self._next_sleep
        self._next_wut = self._next_sleep = None
        while tree:
            branch = tree.pop(0)
            siblings: Tree | None = tree
            tree = branch.children
            self.nodes -= len(branch.processes)
            trace.foretell(branch.processes, branch.footprints)
            for footprint in branch.footprints:
                self.wut.append(siblings)
                self.sleep.append(sleep)
                siblings = None
                if sleep:
                    own = footprint.own
                    sleep = {
                        q: step for q, step in sleep.items() if step.conflict_set.isdisjoint(own)
                    }
        if sleep:
            raise TreadleBug("optimal-DPOR left its wakeup tree with a non-empty sleep set")
        return True

    def decide(self, run: Run, last: int) -> int:
        """Leave it to the default schedule: what is planned was added by `foretell`."""
        self.left_alone(1)
        return self.search.choose(run, last)

    def executed(self, process: int, footprint: Footprint) -> None:
        """Take no note: nothing is asleep here."""

    @property
    def is_free(self) -> bool:
        """Nothing is asleep and nothing planned any more, so the default schedule decides."""
        return True

    def left_alone(self, steps: int) -> None:
        """Take note of steps that the default schedule took where `is_free`."""
        self.sleep += [None] * steps
        self.wut += [None] * steps

    # Race detection phase

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races of the execution that has just ended."""
        del outcome
        since, self._unsettled = self._unsettled, _NOTHING
        for e, w, lasts, seen in self.search.reversals(run, self._reverse_at_once, since=since):
            self._reverse(e, w, lasts, seen)

    def _reverse_at_once(self, e: int, last: int) -> bool:
        """Do what `_reverse` does for one `e'` if it takes no `w`; tell whether that was so.

        Nothing happens between the two events of a race. So what has to come before `e'` is all
        that comes after `e` and happens before `e'`. If that is nothing and the process of `e'` is
        asleep before the same step, `v` is redundant: whatever conflicts with that step and comes
        after `e'` happens after it, so it is not in `w`, now or in a later execution.
        """
        trace = self.search.trace
        needed = trace.before[last] >> e + 1 << e + 1
        sleep = self.sleep[e]
        if sleep:
            step = sleep.get(trace.processes[last])
            return step is trace.footprints[last] and needed == 1 << last
        if self.wut[e]:
            return False
        self.wut[e] = [self._leaf(needed, last)]
        return True

    def _reverse(self, e: int, w: int, lasts: list[int], seen: int) -> None:
        """Make sure that `v = w.e'` will be explored after `pre(E, e)`, for each `e'` of `lasts`.

        `seen` are the events before `e'` if that is an imagined one, else -1.

        What the sleeping processes have to do with `w` is the same for all. One that occurs in `w`
        was woken there, so it is no initial of `w`; one that is independent of `w` makes those `v`
        redundant that it is independent of too.
        """
        trace = self.search.trace
        before, known = trace.before, trace.known_conflicting
        woken: list[tuple[int, int]] = []  # events that wake a sleeper; what to keep for it if none
        independent: list[tuple[int, int]] = []  # sleepers that w leaves asleep; what wakes them
        for q, step in (self.sleep[e] or {}).items():
            dependent = known.get(step)
            if dependent is None:
                dependent = trace.conflicting(step)
            wakes = dependent & w
            if wakes:
                woken.append((wakes, before[(wakes & -wakes).bit_length() - 1] & w))
            else:
                independent.append((q, dependent))
        for last in lasts:
            bit = 1 << last
            solid = bit - 1 if seen < 0 else seen
            v = w | bit
            keep = before[last] & v
            settled = not self._is_redundant(independent, last, keep)
            if settled:
                for dependent, needed in woken:
                    settled = settled and bool(dependent & solid)
                    if not dependent & keep:
                        keep |= needed
                tree = self.wut[e]
                if tree is None:
                    self.wut[e] = [self._leaf(keep, last)]
                else:
                    settled = self._insert(tree, v, keep, last, solid | bit) and settled
            if not settled:
                self._unsettled = min(self._unsettled, solid.bit_length())

    def _is_redundant(self, independent: list[tuple[int, int]], last: int, needed: int) -> bool:
        """Tell whether a sleeper that `w` leaves asleep is a weak initial of `w.e'`.

        `needed` is what has to come before `e'`, and itself.
        """
        bit = 1 << last
        process = self.search.trace.processes[last]
        for q, dependent in independent:
            if needed == bit if q == process else not dependent & bit:
                return True
        return False

    def _insert(
        self, tree: Tree, v: int, keep: int, last: int, solid: int, possible: int = -1
    ) -> bool:
        """Insert the part `keep` of `v` into a wakeup tree, unless a leaf is consistent with `v`.

        Goes down the tree along the smallest sequence that is consistent with `v` (`u ~ v`): the
        first branch whose next step is an initial of what is left of `v`, or independent of it.
        Returns whether the events of `solid` alone lead to the same. Only `possible` events are
        inserted; if none of them is left, the tree leads there.
        """
        settled = True
        trace = self.order
        way: list[Branch] = []
        before, of_process, known = trace.before, trace.of_process, trace.known_conflicting
        while True:
            for branch in tree:
                position = 0
                for q in branch.processes:
                    mine = of_process[q] & v
                    if mine:
                        first = mine & -mine
                        settled = settled and bool(first & solid)
                        needed = before[first.bit_length() - 1] & v
                        if needed == first:
                            v ^= first
                            position += 1
                            continue
                    step = branch.footprints[position]
                    dependent = known.get(step)
                    if dependent is None:
                        dependent = trace.conflicting(step)
                    dependent &= v
                    if mine:
                        if not dependent & keep:
                            keep |= needed
                        break
                    settled = settled and bool(dependent & solid)
                    if dependent:
                        if not dependent & keep:
                            keep |= before[(dependent & -dependent).bit_length() - 1] & v
                        break
                    position += 1
                    self._rely_on(way, branch, position)
                if position:
                    break  # consistent with the first step at least
            else:
                if v & keep & possible:
                    tree.append(self._leaf(v & keep & possible, last))
                return settled
            if position < len(branch.processes):
                if v & keep & possible:
                    branch.split(position)
                    branch.children.append(self._leaf(v & keep & possible, last))
                return settled
            way.append(branch)
            tree = branch.children
            if not tree:
                return settled  # a leaf that is consistent with v

    def _rely_on(self, way: list[Branch], branch: Branch, position: int) -> None:
        """Take note that what is inserted will follow a step that is not in it.

        That is the last one before `position` of a branch at the end of a way down the tree.
        """

    def _leaf(self, steps: int, last: int) -> Branch:
        """Return the events of a mask as a branch, `last` at the end."""
        trace = self.order
        rest = steps & ~(1 << last)
        events = bits(rest)
        if rest != steps:
            events.append(last)
        self.nodes += len(events)
        if self.nodes > self.peak_nodes:
            self.peak_nodes = self.nodes
        return Branch(
            tuple([trace.processes[event] for event in events]),
            tuple([trace.footprints[event] for event in events]),
            [],
        )

    # Backtracking

    def backtrack(self) -> int:
        """Return the depth at which the next execution leaves this one, or -1."""
        wut = self.wut
        depth = len(self.search.trace) - 1
        while depth >= 0 and not wut[depth]:
            depth -= 1
        if depth >= 0:
            trace = self.search.trace
            done = {trace.processes[depth]: trace.footprints[depth]}
            self._next_sleep = {**(self.sleep[depth] or {}), **done}
            self._next_wut = wut[depth]
        del self.sleep[depth if depth > 0 else 0 :], wut[depth if depth > 0 else 0 :]
        return depth

    def todo(self, depth: int) -> int:
        """Return how many branches still wait at a depth of the current path."""
        return len(self.wut[depth] or ())

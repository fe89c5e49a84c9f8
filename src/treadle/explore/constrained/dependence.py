"""The conditional happens-before relation: steps that conflict are ordered unless they commute.

For each new event `n` and each earlier event `e` that it conflicts with, not in `base(n)`:

    D(e, n)     = conflict(e, n) and not U(e, n, point(e, n))
    point(e, n) = ↓(base(e) ∪ base(n) ∪ {f : D(f, e) and D(f, n)})
    before(n)   = base(n) ∪ ⋃ {before(e) ∪ {e} : D(e, n)}

`base(n)` is what happens before `n` whatever it accesses, `↓` closes a set under happens-before,
and `U` says that a constraint holds in the state after the point, and goes on to hold whatever the
other processes do ("Constrained DPOR", CAV 2018, definition 3). The point is what makes this an
order that source sets and wakeup trees can be built on: it is the same for all linearizations of a
trace, and for both orders of the two events. The paper asks in the state of the execution that was
run, in which steps concurrent with both have been taken, and misses final states
(docs/soundness.md).

The events of a point, in the order of the trace, are a legal execution, so a run of them tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.errors import TreadleBug
from treadle.core.events import Footprint, Vocabulary
from treadle.core.happens_before import Race, Trace, bits, conflicting
from treadle.core.program import Program
from treadle.core.steps import Step

_KEPT = 100_000


class Uniform:
    """Answers of `U`: whether two steps commute after a point, whatever others do."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[tuple[int, ...], int, int], bool] = {}
        self.asked = 0
        """How many pairs were asked about."""
        self.runs = 0

    def holds(self, point: Sequence[Step], first: Step, second: Step) -> bool:
        """Tell whether two steps, both next after the steps of a point, are independent there."""
        if not self._program.may_commute(first[1].block, second[1].block):
            return False
        self.asked += 1
        p, q = sorted((first[0], second[0]))
        key = (tuple([process for process, _ in point]), p, q)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[key] = self._ask(point, p, q)
        return found

    def _ask(self, point: Sequence[Step], p: int, q: int) -> bool:
        self.runs += 1
        run = self._program.start()
        for process, _ in point:
            if not run.is_enabled(process):
                raise TreadleBug("the point of a race is no execution")
            run.step(process)
        found = run.are_independent(p, q)
        run.drop()
        return found


class ConditionalTrace(Trace):
    """A trace with its conditional happens-before order."""

    uniform: Uniform

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.base: list[int] = []
        """What happens before each event whatever it accesses."""
        self.direct: list[int] = []
        """For each event the mask of those that are dependent with it, outside of its base."""

    # D

    def direct_of(self, process: int, step: Footprint, base: int, within: int) -> int:
        """Return the mask of the events among some that a step after them is dependent with."""
        candidates = conflicting(step, self.touched) & within & ~base
        if step.block < 0:
            return candidates
        found = 0
        for e in bits(candidates):
            if not self._commute(e, (process, step), base, found):
                found |= 1 << e
        return found

    def _commute(self, e: int, n: Step, base: int, direct: int) -> bool:
        """Tell whether an event is independent of `n` by a constraint, `D(f, n)` being `direct`."""
        first = self.footprints[e]
        if first.block < 0 or not self.program.may_commute(first.block, n[1].block):
            return False
        point = self._closed(self.base[e] | base | self.direct[e] & direct)
        steps = [(self.processes[f], self.footprints[f]) for f in bits(point)]
        return self.uniform.holds(steps, (self.processes[e], first), n)

    def _closed(self, mask: int) -> int:
        """Return some events with all that happens before them."""
        found = 0
        while mask:
            event = mask.bit_length() - 1
            found |= self.before[event]
            mask &= ~found
        return found

    @property
    def program(self) -> Program:
        """The program whose constraints are asked."""
        return self.uniform._program

    # Building the order

    def extend(self) -> None:
        """Analyse the events added since the last call, and sort out the races they close."""
        self._known.clear()
        self._make_room()
        for index in range(len(self.before), len(self.processes)):
            process, footprint = self.processes[index], self.footprints[index]
            base = self.past_of(process, self.latest[process], footprint)
            direct = self.direct_of(process, footprint, base, -1)
            races = self._races(index, direct)
            self._note(index, base, direct)
            if footprint.guarded:
                self._judge(races, index, base)
            else:
                self.races += races

    def _races(self, index: int, direct: int) -> list[Race]:
        """Return the events that happen before another only directly: no other is between."""
        found = []
        left = direct
        while left:
            event = left.bit_length() - 1
            found.append(Race(event, index))
            left &= ~self.before[event]
        return found

    def _note(self, index: int, base: int, direct: int) -> None:
        """Take note of an analysed event."""
        process, footprint, bit = self.processes[index], self.footprints[index], 1 << index
        self.base.append(base)
        self.direct.append(direct)
        self.before.append(self._closed(base | direct) | bit)
        self.previous.append(self.latest[process])
        self.latest[process] = index
        self.of_process[process] |= bit
        for key in footprint.own:
            self.touched[key] |= bit
        for child in footprint.spawns:
            self.created.setdefault(child, index)

    def truncate(self, length: int) -> None:
        """Forget all events from index `length` on."""
        super().truncate(length)
        del self.base[length:], self.direct[length:]

    def push_imagined(self, process: int, footprint: Footprint, past: int, within: int) -> int:
        """Add an event that did not happen in this trace, as if after the events of `within`."""
        self._known.clear()
        self._make_room()
        index = len(self.before)
        self.processes.append(process)
        self.codes.append(footprint.codes)
        self.footprints.append(footprint)
        self._note(index, past, self.direct_of(process, footprint, past, within))
        return index

    def would_depend(self, e: int, process: int, step: Footprint, past: int, within: int) -> bool:
        """Tell whether a step after the events of `within`, and `e`, is dependent with `e`."""
        everything = (1 << e) - 1 | 1 << e | within
        return bool(self.direct_of(process, step, past, everything) >> e & 1)

    def next_direct(self, process: int, step: Footprint) -> int:
        """Return the mask of the events that the next step of a process is dependent with."""
        base = self.past_of(process, self.latest[process], step)
        return self.direct_of(process, step, base, -1)

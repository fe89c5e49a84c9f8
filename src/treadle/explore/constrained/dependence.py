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

Two steps that commute may create processes *together*: who creates which depends on their order
(`crossing`). What the second creates only because the first came before has both in its base.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.constraints import Pair, Together, spawned
from treadle.core.errors import TreadleBug
from treadle.core.events import Footprint, Vocabulary
from treadle.core.happens_before import NONE, Race, Trace, bits, conflicting
from treadle.core.program import Program, Restart, Run
from treadle.core.result import Result
from treadle.core.steps import Step
from treadle.explore.constrained.crossing import Crossing
from treadle.explore.constrained.states import RECOMPUTE, NoExecutionError, Order, States

_KEPT = 100_000


class Uniform:
    """Answers of `U`: whether two steps commute after a point, whatever others do."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[tuple[Order, int, int], bool] = {}
        self._created: dict[tuple[Order, int, int], Together] = {}
        self._children_of: dict[tuple[Order, int], list[tuple[int, object]]] = {}
        self.crossed: set[Pair] = set()
        """Blocks whose steps were seen to create processes together."""
        declarations = program.declarations
        self.states = States(program, declarations.recovery if declarations else RECOMPUTE)
        self.asked = 0
        """How many pairs were asked about."""
        self.used = 0
        """How many of them were independent."""
        self.runs = 0

    def holds(self, point: Sequence[Step], first: Step, second: Step) -> bool:
        """Tell whether two steps, both next after the steps of a point, are independent there."""
        if not self.program.may_commute(first[1].block, second[1].block):
            return False
        self.asked += 1
        p, q = sorted((first[0], second[0]))
        key = (tuple([process for process, _ in point]), p, q)
        found = self._known.get(key)
        if found is None:
            run = self._run(key[0])
            found = run.are_independent(p, q)
            self.states.keep(key[0], run)
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = found
        self.used += found
        return found

    def together(self, meeting: Sequence[Step], first: Step, second: Step) -> Together:
        """Return what two independent steps create that meet after some others.

        What was declared of them is checked there: it has to hold wherever they can meet.
        """
        p, q = first[0], second[0]
        key = (tuple([process for process, _ in meeting]), p, q)
        found = self._created.get(key)
        if found is None:
            run = self._run(key[0])
            found = run.together(p, q)
            self.states.keep(key[0], run)
            if len(self._created) >= _KEPT:
                self._created.clear()
            self._created[key] = found
        if found.is_crossing:
            self.crossed.add((first[1].block, second[1].block))
        return found

    def differing(self, usual: Sequence[Step], other: Sequence[Step], *, n: Step) -> list[int]:
        """Return the children of a step, by position, that it creates only after certain steps."""
        here, there = self._children(usual, n), self._children(other, n)
        found = [i for i, child in enumerate(here) if i >= len(there) or child != there[i]]
        if found:
            self.crossed.add((n[1].block, n[1].block))
        return found

    def _children(self, steps: Sequence[Step], n: Step) -> list[tuple[int, object]]:
        """Return what a step creates after some others: who, and what that will do."""
        key = (tuple([process for process, _ in steps]), n[0])
        if key not in self._children_of:
            run = self._run(key[0])
            made = [(child, run.newborn(child)) for child in spawned(run.step(n[0]))]
            self.states.keep((*key[0], n[0]), run)
            if len(self._children_of) >= _KEPT:
                self._children_of.clear()
            self._children_of[key] = made
        return self._children_of[key]

    def _run(self, processes: Order) -> Run:
        """Run some steps, which are a legal execution."""
        self.runs += 1
        try:
            return self.states.at(processes)
        except NoExecutionError:
            self.distrust()
            raise TreadleBug("the point of a race is no execution") from None

    def distrust(self) -> None:
        """Begin anew, with what was seen to create processes together being dependent."""
        if self.crossed and self.program.declarations is not None:
            self.program.declarations.distrust(self.crossed)
            self.states.close()
            raise Restart

    def report(self, result: Result) -> None:
        """Say what was asked, and what it took to get to the states that were asked about."""
        result.pairs_asked, result.constraints_used = self.asked, self.used
        result.steps_rerun = self.states.rerun
        result.states_kept = self.states.most
        self.states.close()


class ConditionalTrace(Trace):
    """A trace with its conditional happens-before order."""

    uniform: Uniform

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.base: list[int] = []
        """What happens before each event whatever it accesses."""
        self.direct: list[int] = []
        """For each event the mask of those that are dependent with it, outside of its base."""
        self.crossings: list[list[Crossing]] = []
        """For each event the earlier ones with which it creates processes together."""

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
        return self.uniform.holds(self._steps(bits(point)), (self.processes[e], first), n)

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
        return self.uniform.program

    # Building the order

    def extend(self) -> None:
        """Analyse the events added since the last call, and sort out the races they close."""
        self.known.clear()
        self._make_room()
        for index in range(len(self.before), len(self.processes)):
            process, footprint = self.processes[index], self.footprints[index]
            base = self.past_of(process, self.latest[process], footprint)
            direct = self.direct_of(process, footprint, base, -1)
            races = self._races(index, direct)
            self._note(index, base, direct)
            if footprint.block >= 0:
                self._meet(index)
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
        self.crossings.append([])
        self.before.append(self._closed(base | direct) | bit)
        self.latest[process] = index
        self.of_process[process] |= bit
        for key in footprint.own:
            self.touched[key] |= bit
        for child in footprint.spawns:
            self.created.setdefault(child, index)

    # Processes that two steps create together

    def _meet(self, n: int) -> None:
        """Find out what an event and those that it is independent of by a constraint create."""
        second = self._step(n)
        touching = conflicting(second[1], self.touched) & (1 << n) - 1
        for e in bits(touching & ~self.before[n]):
            first = self._step(e)
            around = self._closed(
                self.base[e] | self.base[n] | touching | conflicting(first[1], self.touched)
            )
            before = [f for f in bits(around) if f < n]
            apart = [f for f in before if not self.before[f] >> e & 1]
            found = self.uniform.together(self._steps(apart), first, second)
            if second[1].spawns and len(before) > len(apart) + 1:  # more than `e` came before
                more = self.uniform.differing(self._steps(before), self._steps(apart), n=second)
                found = Together(found.of_first, tuple(sorted({*found.of_second, *more})))
            if found.is_crossing:
                self.crossings[n].append(Crossing.of(e, first[1], second[1], found))

    def _steps(self, events: Sequence[int]) -> list[Step]:
        return [self._step(event) for event in events]

    def _step(self, event: int) -> Step:
        return self.processes[event], self.footprints[event]

    def past_of(self, process: int, last: int, footprint: Footprint) -> int:
        """Return what happens before a step whatever it accesses, `last` being its process's last.

        Of a process that two steps created together, both do.
        """
        base = super().past_of(process, last, footprint)
        creation = self.created.get(process, NONE)
        if last < 0 <= creation:
            for crossing in self.crossings[creation]:
                if process in crossing.of_second:
                    base |= self.before[crossing.first]
        return base

    def happened_otherwise(self, index: int) -> bool:
        """Take over what the last event did; it may have been analysed as it was foretold."""
        process, codes, foretold = self.processes[index], self.codes[index], self.footprints[index]
        if self.vocabulary.footprint(codes).own != foretold.own or codes == foretold.codes:
            return False
        self.truncate(index)
        self.append(process, codes)
        return True

    def truncate(self, length: int) -> None:
        """Forget all events from index `length` on."""
        super().truncate(length)
        del self.base[length:], self.direct[length:], self.crossings[length:]

    def push_imagined(self, process: int, footprint: Footprint, past: int, within: int) -> int:
        """Add an event that did not happen in this trace, as if after the events of `within`."""
        self.known.clear()
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

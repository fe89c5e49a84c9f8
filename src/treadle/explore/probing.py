"""Races that only a run can judge ("Source Sets", J. ACM 2017, section 8.2, and beyond).

`Trace.extend` decides the races of steps that do the same wherever they are enabled. What remains
are steps whose enabledness or accesses in another order only a run can tell:

- a condition over shared variables, or a process that is still blocked at the end. For such a step
  of a process `p` and an earlier event `e`, algorithms 5 and 6 consider every subsequence `u` of
  `w = notdep(e, E)` that is closed under happens-before, such that `e` disables `p` after
  `pre(E, e).u`, and takes `v = u.p`;
- a step whose accesses depend on the values that it reads ("open"). The papers exclude it: property
  (7) of definition 3.2 does not hold for it, so the reversed step may be dependent with events of
  `w` that it was independent of.

For both, a *probe*, that is a run of `pre(E, e).u.p`, tells whether `p` is enabled there and what
it does. What an open step does may depend on any event of `w`, so all races are judged anew in
every execution, also where both events are in the unchanged part of the trace. Of all `u` only
those matter that leave out writes which the step's condition may read; for each choice of those
the largest `u` is enough, because `v` may be longer than what has to be covered, never shorter. (An
open step needs no other `u` than `w`: an event of `w` that it turns out to be dependent with is in
a race with it, once `v` is explored.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle.core import deadline
from treadle.core.deadline import OutOfTime
from treadle.core.events import Codes, Footprint
from treadle.core.happens_before import EVERYTHING, Trace, bits
from treadle.core.program import CannotStepError, Program
from treadle.core.result import Result
from treadle.explore.reversals import Reversal, everything_after

_KEPT = 100_000

Blocked = list[tuple[int, Codes]]
"""Processes that wait, with the accesses that their next step begins with."""


class Probes:
    """Runs that are made only to learn what a process would do in another order."""

    def __init__(self, program: Program, result: Result) -> None:
        self._program = program
        self._result = result
        self._known: dict[tuple[tuple[int, ...], int], Footprint | None] = {}

    def probe(self, trace: Trace, events: Sequence[int], process: int) -> Footprint | None:
        """Run events of the trace and then a process: its footprint, or None if it is disabled."""
        processes = [trace.processes[event] for event in events]
        key = (tuple(processes), process)
        if key in self._known:
            return self._known[key]
        if deadline.is_over():  # a long execution may have to be run for each pair of its steps
            raise OutOfTime
        run = self._program.start()
        differing = run.replay(processes, [trace.codes[event] for event in events], len(processes))
        if differing >= 0:
            raise CannotStepError(processes[differing])
        found = None
        if run.is_enabled(process):
            found = self._program.vocabulary.footprint(run.step(process))
        run.close()
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[key] = found
        self._result.probes += 1
        return found

    def reversals(self, trace: Trace, blocked: Blocked, after: list[int]) -> Iterator[Reversal]:
        """Yield the reversals of steps that only a probe can judge, some of processes that wait.

        The step that a reversal imagines is in the trace while the reversal is handled, not longer.
        """
        for step in _steps_to_probe(trace, blocked, after):
            yield from self._reversals_of(trace, step, after)

    def _reversals_of(self, trace: Trace, step: _Step, after: list[int]) -> Iterator[Reversal]:
        """Yield the ways to let one step come before `e`."""
        e = step.e
        prefix = (1 << e) - 1
        w = everything_after(trace, e) & ~after[e] & ~step.tail
        own = step.past & ~prefix
        if own & ~w:
            return
        seen = {w}
        todo = [w]
        while todo:
            u = todo.pop()
            footprint = self.probe(trace, [*range(e), *bits(u)], step.process)
            if footprint is None and u == w and not step.enabling & (after[e] | 1 << e):
                raise CannotStepError(step.process)  # what is left out cannot have enabled it
            if footprint is not None and trace.would_depend(
                e, step.process, footprint, step.past, prefix | u
            ):
                last = trace.push_imagined(step.process, footprint, step.past, prefix | u)
                yield Reversal(e, u, [last])
                trace.pop_imagined()
            for event in bits(u & step.watched):
                smaller = u & ~(after[event] | 1 << event)
                if smaller not in seen and not own & ~smaller:
                    seen.add(smaller)
                    todo.append(smaller)


@dataclass(slots=True)
class _Step:
    """A step that may have to come before an event `e`."""

    e: int
    process: int
    past: int
    """What happens before it whatever it accesses."""
    watched: int
    """Events that wrote what its condition may read."""
    tail: int
    """Itself and what happened after it."""
    enabling: int
    """Events on which it may depend whether it is enabled."""


def _steps_to_probe(trace: Trace, blocked: Blocked, after: list[int]) -> Iterator[_Step]:
    """Yield the second events of undecided races, and what blocked processes might do."""
    for e, index in trace.undecided:
        footprint = trace.footprints[index]
        yield _Step(
            e,
            process=trace.processes[index],
            past=trace.past_of(trace.processes[index], trace.previous(index), footprint),
            watched=trace.writers_of(trace.vocabulary.awaited_locations(footprint)),
            tail=after[index] | 1 << index,
            enabling=_enabling(trace, footprint) & (1 << index) - 1,
        )
    for process, codes in blocked:
        footprint = trace.vocabulary.footprint(codes)
        base = trace.past_of(process, trace.latest[process], footprint)
        watched = trace.writers_of(trace.vocabulary.awaited_locations(footprint))
        takes = sum(1 << event for event in trace.previous_takes(footprint, base, process))
        for e in bits((watched | takes) & ~base & ~trace.of_process[process]):
            yield _Step(e, process, past=base, watched=watched, tail=0, enabling=EVERYTHING)


def _enabling(trace: Trace, footprint: Footprint) -> int:
    """Return the events on which it may depend whether a step is enabled."""
    mask = trace.writers_of(trace.vocabulary.awaited_locations(footprint))
    for take in footprint.takes:
        mask |= trace.touched[take.taken] | trace.touched[take.given]
    for needed in footprint.needs:
        mask |= trace.touched[needed]
    return mask

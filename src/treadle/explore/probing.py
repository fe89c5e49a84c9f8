"""Races that only a run can judge (seed 002, section 8.2: algorithms 5 and 6, and beyond).

`Trace.extend` decides the races of steps that do the same wherever they are enabled. What remains
are steps whose enabledness or accesses in another order only a run can tell:

- a condition over shared variables, or a process that is still blocked at the end. For such a step
  of a process `p` and an earlier event `e`, algorithm 6 considers every subsequence `u` of
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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from treadle.core.events import Codes, Footprint
from treadle.core.happens_before import Trace, bits
from treadle.core.program import CannotStepError, Run

Probe = Callable[[Sequence[int], list[Codes], int], Footprint | None]
"""Run processes, comparing with these codes, and one more: its footprint, None if disabled."""

Reversal = tuple[int, int, list[int], int]
"""`(e, w, lasts, seen)`: explore `v = w.e'` after `pre(E, e)`, for each event `e'` of `lasts`.

`seen` is the mask of the events before the race's second one, if that is only imagined now."""


def probed_reversals(trace: Trace, run: Run, after: list[int], probe: Probe) -> Iterator[Reversal]:
    """Yield the reversals of steps that only a probe can judge.

    The step that a reversal imagines is in the trace while the reversal is handled, not longer.
    """
    for e, index in trace.undecided:
        footprint = trace.footprints[index]
        step = _Step(
            process=trace.processes[index],
            past=trace.past_of(trace.processes[index], trace.previous[index], footprint),
            watched=trace.writers_of(trace.vocabulary.awaited_locations(footprint)),
            tail=after[index] | 1 << index,
            enabling=_enabling(trace, footprint) & (1 << index) - 1,
        )
        yield from _reversals(trace, e, step, after, probe)
    for process, codes in run.blocked():
        footprint = trace.vocabulary.footprint(codes)
        base = trace.past_of(process, trace.latest[process], footprint)
        watched = trace.writers_of(trace.vocabulary.awaited_locations(footprint))
        step = _Step(process=process, past=base, watched=watched, tail=0, enabling=-1)
        takes = sum(1 << event for event in trace.previous_takes(footprint, base, process))
        for e in bits((watched | takes) & ~base & ~trace.of_process[process]):
            yield from _reversals(trace, e, step, after, probe)


def altered_reversals(
    trace: Trace, altered: Iterable[tuple[int, int, Footprint]], after: list[int]
) -> Iterator[Reversal]:
    """Yield the reversals whose second event is another one when it comes first.

    Of two takes with a give between them (algorithms 3 and 4), the second no longer happens after
    what the give happened after; a compare-and-swap turns out the other way. So that event is
    imagined anew in `v`.
    """
    for e, index, footprint in altered:
        process = trace.processes[index]
        past = trace.past_of(process, trace.previous[index], footprint)
        w = everything_after(trace, e) & ~after[e]
        last = trace.push_imagined(process, footprint, past, (1 << e) - 1 | w)
        yield e, w, [last], (1 << index) - 1
        trace.pop_imagined()


def everything_after(trace: Trace, e: int) -> int:
    """Return the mask of the events after `e` in the trace."""
    return (1 << len(trace.before)) - (2 << e)


@dataclass(slots=True)
class _Step:
    """The step that is to come before `e`."""

    process: int
    past: int
    """What happens before it whatever it accesses."""
    watched: int
    """Events that wrote what its condition may read."""
    tail: int
    """Itself and what happened after it."""
    enabling: int
    """Events on which it may depend whether it is enabled; -1 if it was not."""


def _enabling(trace: Trace, footprint: Footprint) -> int:
    """Return the events on which it may depend whether a step is enabled."""
    mask = trace.writers_of(trace.vocabulary.awaited_locations(footprint))
    for taken, given, _ in footprint.takes:
        mask |= trace.touched[taken] | trace.touched[given]
    for needed in footprint.needs:
        mask |= trace.touched[needed]
    return mask


def _reversals(
    trace: Trace, e: int, step: _Step, after: list[int], probe: Probe
) -> Iterator[Reversal]:
    """Yield the ways to let one step come before `e`."""
    prefix = (1 << e) - 1
    w = everything_after(trace, e) & ~after[e] & ~step.tail
    own = step.past & ~prefix
    if own & ~w:
        return
    seen = {w}
    todo = [w]
    while todo:
        u = todo.pop()
        events = [*range(e), *bits(u)]
        footprint = probe(
            [trace.processes[event] for event in events],
            [trace.codes[event] for event in events],
            step.process,
        )
        if footprint is None and u == w and not step.enabling & (after[e] | 1 << e):
            raise CannotStepError(step.process)  # what is left out cannot have enabled it
        if footprint is not None and footprint.conflicts_with(trace.footprints[e]):
            last = trace.push_imagined(step.process, footprint, step.past, prefix | u)
            yield e, u, [last], -1
            trace.pop_imagined()
        for event in bits(u & step.watched):
            smaller = u & ~(after[event] | 1 << event)
            if smaller not in seen and not own & ~smaller:
                seen.add(smaller)
                todo.append(smaller)

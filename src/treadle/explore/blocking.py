"""Races with steps that may be blocked (seed 002, section 8.2: algorithms 5 and 6).

`Trace.extend` finds the races of steps that are always enabled, and of takes whose previous take
can be reversed without looking (algorithms 3 and 4). What remains are steps whose enabledness in
another order only a run can tell: a condition over shared variables, a receive that may take
another message, a process that is still blocked at the end.

For such a step of a process `p` and an earlier event `e`, the paper considers every subsequence `u`
of `w = notdep(e, E)` that is closed under happens-before, such that `e` disables `p` after
`pre(E, e).u`, and takes `v = u.p`. What `p`'s condition reads is known, so only the *writers* of
those locations matter: for each set of writers that can be left out it is enough to take the
largest `u`, because the others are weak-initial-wise contained in it. A probe, that is a run of
`pre(E, e).u.p`, tells whether `p` is enabled there and what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from treadle.events import Footprint
from treadle.program import Run
from treadle.trace import Trace, bits

Probe = Callable[[Sequence[int], int], Footprint | None]
"""Run a sequence of processes and then one more: the footprint of its step, None if disabled."""

Reversal = tuple[int, int, int]
"""`(e, last, v)`: explore the events of mask `v`, ending with event `last`, after `pre(E, e)`."""


def blocking_reversals(
    trace: Trace, run: Run, new: int, after: list[int], probe: Probe
) -> Iterator[Reversal]:
    """Yield the reversals of steps that only a probe can judge.

    An event that a reversal imagines is in the trace while the reversal is handled, not longer.
    """
    length = len(trace.before)
    for index in list(trace.guarded):
        footprint = trace.footprints[index]
        if index >= new and (footprint.awaits or footprint.needs):
            process = trace.processes[index]
            tail = after[index] | 1 << index
            base = trace.before[trace.previous[index]] if trace.previous[index] >= 0 else 0
            yield from _reversals(trace, process, footprint, index, base, tail, after, probe)
    for process, codes in run.blocked():
        footprint = trace.vocabulary.footprint(codes)
        base = trace.base_of(process, footprint)
        yield from _reversals(trace, process, footprint, length, base, 0, after, probe)


def _reversals(
    trace: Trace,
    process: int,
    footprint: Footprint,
    index: int,
    base: int,
    tail: int,
    after: list[int],
    probe: Probe,
) -> Iterator[Reversal]:
    """Yield the reversals of one step, executed at `index` or still pending there."""
    writers = _writers(trace, footprint) & (1 << index) - 1
    for e in bits(writers & ~base & ~trace.of_process.get(process, 0)):
        own = trace.of_process.get(process, 0) & base & ~((1 << e) - 1)
        w = ((1 << len(trace.before)) - 1) & ~((2 << e) - 1) & ~after[e] & ~tail
        for u in _subsequences(w, writers, own, after):
            prefix = trace.processes[:e] + [trace.processes[event] for event in bits(u)]
            step = probe(prefix, process)
            if step is not None and step.conflicts_with(trace.footprints[e]):
                last = trace.push_imagined(process, step, (1 << e) - 1 | u)
                yield e, last, u | 1 << last
                trace.pop_imagined()


def _writers(trace: Trace, footprint: Footprint) -> int:
    """Return the events that can disable a step: writers of its condition, takers of its units."""
    touched = trace.touched
    mask = 0
    for location in trace.vocabulary.awaited_locations(footprint):
        mask |= touched[location * 4 + 1] | touched[location * 4 + 2]
    for taken, _, _ in footprint.takes:
        takes = touched[taken]
        if takes:
            mask |= 1 << takes.bit_length() - 1
    return mask


def _subsequences(w: int, writers: int, own: int, after: list[int]) -> Iterator[int]:
    """Yield the largest closed parts of `w` for each choice of writers that contains `own`."""
    seen = {w}
    todo = [w]
    while todo:
        u = todo.pop()
        yield u
        for writer in bits(u & writers):
            smaller = u & ~(after[writer] | 1 << writer)
            if smaller not in seen and not own & ~smaller:
                seen.add(smaller)
                todo.append(smaller)

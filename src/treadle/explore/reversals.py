"""Race analysis: what the races of an execution ask to explore elsewhere.

Each reversible race `(e, e')` asks for `v = notdep(e, E).e'` after `E' = pre(E, e)`. Some second
events are others when they come first, and of some only a run can tell (see `probing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.happens_before import EVERYTHING, Altered, Trace, first_closed
from treadle.core.program import Run

if TYPE_CHECKING:
    from treadle.explore.search import Search

_FEW = 4
"""Up to so many races' first events, `notdep(e, E)` of each is found on its own."""


@dataclass(slots=True)
class Reversal:
    """A sequence `v = w.e'` to be explored after `pre(E, e)`, for each of some `e'`."""

    e: int
    w: int
    lasts: list[int]
    """The events `e'`."""
    seen: int = EVERYTHING
    """The mask of the events before the race's second one, if that is only imagined now."""

    def upto(self, last: int) -> int:
        """Return the part of `v` that `e'` is the last event of: `E` ended with `e'` then."""
        return self.w & self.seen & (1 << last) - 1 | 1 << last


def reversals(
    search: Search,
    run: Run | None,
    *,
    since: int,
    is_handled: Callable[[int, int], bool] | None = None,
) -> Iterator[Reversal]:
    """Analyse the new part of the trace; yield what its races ask to explore elsewhere.

    Races whose second event comes before the index `since` were handled in an earlier execution,
    and those for which `is_handled` need nothing more. What probed steps do may depend on the new
    part: they are judged in every execution. Who waits at the end of the run races as well; without
    a run, nobody does.
    """
    trace = search.trace
    search.count_checks()
    trace.extend()
    blocked = run.blocked() if run is not None else []
    probing = bool(trace.undecided or blocked)
    by_first: dict[int, list[int]] = {}
    for e, last in trace.races[first_closed(trace.races, since) :]:
        if is_handled is None or not is_handled(e, last):
            by_first.setdefault(e, []).append(last)
    altered = trace.altered[first_closed(trace.altered, since) :] if trace.altered else []
    if not (by_first or altered or probing):
        return
    if not (altered or probing) and len(by_first) <= _FEW:
        for e, lasts in by_first.items():
            yield Reversal(e, trace.notdep(e), lasts)
        return
    after = trace.after(0 if altered or probing else min(by_first))
    for e, lasts in by_first.items():
        yield Reversal(e, everything_after(trace, e) & ~after[e], lasts)
    yield from altered_reversals(trace, altered, after)
    if probing:
        yield from search.probes.reversals(trace, blocked, after)


def altered_reversals(
    trace: Trace, altered: Iterable[Altered], after: list[int]
) -> Iterator[Reversal]:
    """Yield the reversals whose second event is another one when it comes first.

    Of two takes with a give between them ("Source Sets", J. ACM 2017, algorithms 3 and 4), the
    second no longer happens after what the give happened after; a compare-and-swap turns out the
    other way. So that event is imagined anew in `v`.
    """
    for e, index, footprint in altered:
        process = trace.processes[index]
        past = trace.past_of(process, trace.previous(index), footprint)
        w = everything_after(trace, e) & ~after[e]
        last = trace.push_imagined(process, footprint, past, (1 << e) - 1 | w)
        yield Reversal(e, w, [last], (1 << index) - 1)
        trace.pop_imagined()


def everything_after(trace: Trace, e: int) -> int:
    """Return the mask of the events after `e` in the trace."""
    return (1 << len(trace.before)) - (2 << e)

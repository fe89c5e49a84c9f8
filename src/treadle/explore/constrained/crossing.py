"""Processes that two steps create together: who creates which depends on their order.

Of two results that reach a node of a tree, the second makes the node report, whichever it is. Both
orders lead to the same state but for the name of the report's task, so the two steps commute; the
report happens after both. Each child is judged on its own ("Constrained DPOR", CAV 2018, definition
6, allows all this and says nothing of names): one that the same process creates in both orders is
*straight*, and has one creator. The others are *loose*.

A loose child of the first step is created by the second in the other order, so what it seems to
happen after is not what it must happen after: it has the one *or* the other before it, which no
order of events can say. That does no harm as long as nobody conflicts with what is only in between;
`is_misleading` tells. Then the search begins anew, and takes such steps for dependent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.core.constraints import Together
from treadle.core.events import Footprint
from treadle.core.happens_before import bits, conflicting

if TYPE_CHECKING:
    from treadle.explore.constrained.dependence import ConditionalTrace


class Crossing(NamedTuple):
    """An event that creates processes together with a later one, and the loose children of both."""

    first: int
    of_first: tuple[int, ...]
    of_second: tuple[int, ...]

    @classmethod
    def of(cls, e: int, first: Footprint, second: Footprint, found: Together) -> Crossing:
        """Return what two steps created, by number of process."""
        return cls(
            e,
            tuple([first.spawns[i] for i in found.of_first if i < len(first.spawns)]),
            tuple([second.spawns[i] for i in found.of_second if i < len(second.spawns)]),
        )


def is_misleading(trace: ConditionalTrace) -> bool:
    """Tell whether an event conflicts with another that seems to, but need not happen before it."""
    if not any(trace.crossings):
        return False
    must = _must(trace)
    for n, footprint in enumerate(trace.footprints[: len(must)]):
        need_not = trace.before[n] & ~must[n] & (1 << n) - 1
        if need_not and conflicting(footprint, trace.touched) & need_not:
            return True
    return False


def _must(trace: ConditionalTrace) -> list[int]:
    """Return what happens before each event whoever created its process: a least fixpoint."""
    groups = _groups(trace)
    loose = {
        child
        for crossings in trace.crossings
        for crossing in crossings
        for child in (*crossing.of_first, *crossing.of_second)
    }
    must = [0] * len(trace.before)
    changes = True
    while changes:
        changes = False
        for n in range(len(must)):
            known = _surely_before(trace, n, must, groups, loose)
            changes |= known != must[n]
            must[n] = known
    return must


def _surely_before(
    trace: ConditionalTrace, n: int, must: list[int], groups: list[int], loose: set[int]
) -> int:
    """Return what happens before an event for sure, as far as that is known of others."""
    process, last = trace.processes[n], trace.previous(n)
    before = trace.direct[n]
    known = 0
    if last >= 0:
        before |= 1 << last
    elif process in trace.created:
        creation = trace.created[process]
        if process in loose:
            known = -1
            for creator in bits(groups[creation]):
                known &= must[creator]
        else:
            before |= 1 << creation
    for ended in trace.footprints[n].joins:
        before |= 1 << trace.latest[ended] if trace.latest[ended] >= 0 else 0
    for event in bits(before):
        known |= must[event] | 1 << event
    return known


def _groups(trace: ConditionalTrace) -> list[int]:
    """Return for each event those that might have created its loose children in another order."""
    groups = [1 << event for event in range(len(trace.before))]
    for n, crossings in enumerate(trace.crossings):
        for crossing in crossings:
            joined = groups[n] | groups[crossing.first]
            for event in bits(joined):
                groups[event] = joined
    return groups

"""Data races: two conflicting accesses that no synchronisation orders.

The happens-before order of the trace cannot tell: there, two conflicting accesses are always
ordered. So a second order is built, from program order, creation and end of processes, and
synchronisation only, as one bit mask per event. Two conflicting accesses of data that it does not
order could happen at the same time, whatever order they had in this execution.
"""

from __future__ import annotations

from collections.abc import Iterator

from treadle.core.events import Footprint, Vocabulary, location_of_key
from treadle.core.happens_before import Race, Trace, bits


def data_races(trace: Trace) -> Iterator[Race]:
    """Yield pairs of events that access the same data without synchronisation between them."""
    vocabulary = trace.vocabulary
    before: list[int] = []
    latest: dict[int, int] = {}
    created: dict[int, int] = {}
    touched: dict[int, int] = {}
    for index, footprint in enumerate(trace.footprints):
        process = trace.processes[index]
        known = 1 << index
        if process in vocabulary.bystanders:
            before.append(known)
            continue
        for earlier in (latest.get(process), created.get(process)):
            if earlier is not None:
                known |= before[earlier]
        for ended in footprint.joins:
            if ended in latest:
                known |= before[latest[ended]]
        data, synchronising = _conflicts(footprint, vocabulary)
        if data and _only_waits(footprint):
            before.append(known)
            latest[process] = index
            continue
        for key in synchronising:
            while unknown := touched.get(key, 0) & ~known:
                known |= before[unknown.bit_length() - 1]  # the latest knows most of the others
        racing = 0
        for key in data:
            racing |= touched.get(key, 0)
        for event in bits(racing & ~known):
            yield Race(event, index)
        before.append(known)
        latest[process] = index
        created.update(dict.fromkeys(footprint.spawns, index))
        for key in footprint.own:
            touched[key] = touched.get(key, 0) | 1 << index


def _only_waits(footprint: Footprint) -> bool:
    """Tell whether a step is a loop's wait for what it reads, which accesses nothing itself."""
    return {location_of_key(key) for key in footprint.accessed} <= set(footprint.awaits)


def _conflicts(footprint: Footprint, vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    """Return the mask keys that a footprint conflicts with: of data, and of synchronisation."""
    data: list[int] = []
    synchronising: list[int] = []
    for key in footprint.conflict_set:
        (data if location_of_key(key) in vocabulary.data else synchronising).append(key)
    return data, synchronising

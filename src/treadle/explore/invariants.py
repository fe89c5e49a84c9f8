"""What has to hold of sleep sets, wakeup trees and don't-do sets whenever something has changed.

Algorithms yield from here in `violations`, which a search asks for if it is validating. The checks
go by the definitions, on sequences of steps and not on masks, so that a mistake in the trace's
masks cannot hide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized

from treadle.core.events import Footprint
from treadle.core.happens_before import Trace
from treadle.core.steps import Step


def wrong_lengths(trace: Trace, *, stopped: bool = False, **lists: Sized) -> Iterator[str]:
    """Yield which lists do not have an entry for each prefix; one more if the run was stopped."""
    for name, entries in lists.items():
        if len(entries) != len(trace) + stopped:
            yield f"{name} has {len(entries)} entries for an execution of {len(trace)} steps"


def is_weak_initial(process: int, step: Footprint, w: Sequence[Step]) -> bool:
    """Tell whether `p ∈ WI(w)` (lemma 4.2 of "Source Sets", J. ACM 2017), by its definition."""
    position = next((i for i, (other, _) in enumerate(w) if other == process), len(w))
    footprints = [footprint for _, footprint in w]
    if position == len(w):
        footprints.append(step)
    happens_after = any(
        process in footprint.spawns or other in footprints[position].joins
        for other, footprint in w[:position]
    )
    if happens_after:
        return False
    return not any(footprints[position].conflicts_with(other) for other in footprints[:position])

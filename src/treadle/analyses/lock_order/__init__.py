"""Which orders of locks in a Python package may end in a deadlock.

A guided tour. `sources` reads files, and runs nothing. `values` are what an expression may be: a
lock by the place where it is made, an instance by its class. `points_to` finds them for every
variable, until nothing changes, with `expressions` and `calls`. `walk` goes through each function
with what it holds, and notes as `events` where it may have to wait; `order` joins functions over
their calls and gives edges "whoever is to give back this waits for that". `candidates` are the
cycles of these edges.

No proof comes from it: what it found is a candidate, to be confirmed or refuted by exploring a
test, and what it did not understand is listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from treadle.analyses.lock_order.candidates import MOST, Candidate, candidates_among
from treadle.analyses.lock_order.order import edges_of
from treadle.analyses.lock_order.points_to import PointsTo
from treadle.analyses.lock_order.sources import Sources, read

__all__ = ["Candidate", "LockOrder", "lock_order_of"]


@dataclass(frozen=True, slots=True)
class LockOrder:
    """What the analysis of some files gives."""

    candidates: list[Candidate]
    """Cycles of locks, and of what is waited for while locks are held."""
    not_understood: list[str]
    """What may hide further ones: a sentence each, with its place."""
    files: int
    """How many files were read."""


def lock_order_of(files: Iterable[Path], root: Path | None = None) -> LockOrder:
    """Analyse some files together; places are shown relative to a directory."""
    sources: Sources = read(files, root)
    points_to = PointsTo(sources)
    points_to.solve()
    edges, not_understood = edges_of(points_to)
    candidates, is_all = candidates_among(edges)
    if not is_all:
        not_understood.append(
            f"there are more than {MOST} cycles of locks: the others are left out"
        )
    return LockOrder(
        candidates,
        sorted({*sources.unreadable, *not_understood}),
        len(sources.modules),
    )

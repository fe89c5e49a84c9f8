"""States in which constraints are asked, and how a run gets back to one.

A constraint is asked after some steps of the current execution, mostly not all of them. The thesis
on constrained DPOR tells three ways to recover such a state, behind one interface here:

- `recompute`: a run from the start. Nothing is kept.
- `store`: whatever was reached for the current execution is kept until that is left.
- `cache:K`: the K latest states are kept.

A continuation is a generator or a greenlet, which cannot be copied. So what is kept is a run that
stands in the state: a question leaves it there, and one that stands at a beginning of what is asked
for goes on from there.
"""

from __future__ import annotations

from typing import NamedTuple

from treadle.core.errors import TreadleError
from treadle.core.program import Program, Run

Order = tuple[int, ...]
"""Who takes steps, one after the other."""

RECOMPUTE, STORE, CACHE = "recompute", "store", "cache:"


class NoExecutionError(Exception):
    """Steps that were asked for cannot be taken one after the other."""


class _Kept(NamedTuple):
    run: Run
    depth: int
    """How long the current execution was when the run was kept."""


class States:
    """States of the current execution."""

    def __init__(self, program: Program, recovery: str) -> None:
        check_recovery(recovery)
        self._program = program
        self._recovery = recovery
        self._room = int(recovery.removeprefix(CACHE)) if recovery.startswith(CACHE) else None
        self._kept: dict[Order, _Kept] = {}
        """Runs by what they have done, the latest last."""
        self.depth = 0
        """How long the current execution is."""
        self.rerun = 0
        """Steps that were taken to get somewhere."""
        self.most = 0
        """Most states that were kept at once."""

    def at(self, order: Order) -> Run:
        """Return a run that has taken some steps; `keep` or `drop` it afterwards."""
        start = self._nearest(order)
        run = self._kept.pop(start).run if start is not None else self._program.start()
        for process in order[len(start or ()) :]:
            if not run.is_enabled(process):
                run.drop()
                raise NoExecutionError
            run.step(process)
            self.rerun += 1
        return run

    def _nearest(self, order: Order) -> Order | None:
        """Return the longest beginning of some steps that a run is kept of."""
        for length in range(len(order), -1, -1) if self._kept else ():
            if order[:length] in self._kept:
                return order[:length]
        return None

    def keep(self, order: Order, run: Run) -> None:
        """Take back a run that has taken some steps, and nothing else."""
        if self._recovery == RECOMPUTE:
            run.drop()
            return
        self._kept[order] = _Kept(run, self.depth)
        while self._room is not None and len(self._kept) > self._room:
            self._kept.pop(next(iter(self._kept))).run.drop()
        self.most = max(self.most, len(self._kept))

    def leave(self, depth: int) -> None:
        """Take note that only so many steps of the current execution are left."""
        self.depth = depth
        if self._recovery == STORE:
            for order in [order for order, kept in self._kept.items() if kept.depth > depth]:
                self._kept.pop(order).run.drop()

    def close(self) -> None:
        """End all runs."""
        for kept in self._kept.values():
            kept.run.drop()
        self._kept.clear()


def check_recovery(recovery: str) -> None:
    """Refuse what is no way to recover a state."""
    room = recovery.removeprefix(CACHE)
    is_cache = recovery.startswith(CACHE) and room.isdecimal() and int(room) > 0
    if recovery not in (RECOMPUTE, STORE) and not is_cache:
        raise TreadleError(
            f"{recovery!r} is no way to recover states: choose recompute, store or cache:K, such "
            f"as cache:32"
        )

"""States of other orders: whether racing steps commute where they met (seed 000, section 3).

The context-sensitive check of a race `(e, e')` compares the state after `E'.u.e.e'` with that after
`E'.u.e'.e`, where `E'` is what comes before `e` and `u` the ancestors of `e'` after it. Both are
the states of runs made for the purpose. Only what these steps touch can differ: the locations that
one of them writes in one of the orders, where their processes stand then, and how they failed. That
is the refined check of section 3.4, and the default; without it, whole states are compared.

The paper compares with the state at `e'` of the explored execution instead, in which other steps
have been taken meanwhile, and has them follow in the other order. That is not sound: these steps
can hide a difference that somebody would have seen who came before them (docs/soundness.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.events import Codes, Mode, location_of, mode_of
from treadle.program import Run

if TYPE_CHECKING:
    from treadle.explore.search import Search

_NO_WRITE = {
    Mode.READ, Mode.NEED, Mode.AWAIT,
    Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN, Mode.SWAP,
}  # fmt: skip


class Contexts:
    """Runs of sequences other than the explored ones, and the states that they reach."""

    def __init__(self, search: Search, *, refined: bool) -> None:
        self._search = search
        self._refined = refined
        self.checks = 0

    def agree(
        self,
        prefix: Sequence[int],
        usual: Sequence[int],
        other: Sequence[int],
        unobserved: frozenset[int] = frozenset(),
    ) -> bool:
        """Tell whether events reach the same state in either of two orders after a prefix.

        All are events of the trace. The values of `unobserved` locations may differ if the
        execution is over then.
        """
        self.checks += 1
        trace = self._search.trace
        found = self._run(prefix, other)
        if found is None:
            return False
        run, codes = found
        written = _written([*codes, *(trace.codes[event] for event in usual)])
        if unobserved and not run.enabled() and not run.blocked():
            written -= unobserved
        processes = sorted({trace.processes[event] for event in usual})
        locations = sorted(written)
        reached = self._state(run, processes, locations)
        again = self._run(prefix, usual)
        return again is not None and reached == self._state(again[0], processes, locations)

    def _state(self, run: Run, processes: list[int], locations: list[int]) -> object:
        """Return what is compared of a run's state, and end the run."""
        state = run.effect(processes, locations) if self._refined else run.fingerprint()
        run.close()
        return state

    def _run(self, prefix: Sequence[int], last: Sequence[int]) -> tuple[Run, list[Codes]] | None:
        """Run some events as they are recorded, then others; None if one of these is disabled."""
        trace = self._search.trace
        run = self._search.program.start()
        processes = [trace.processes[event] for event in prefix]
        codes: list[Codes] = []
        if run.replay(processes, [trace.codes[event] for event in prefix], len(prefix)) < 0:
            for process in [trace.processes[event] for event in last]:
                if not run.is_enabled(process):
                    break
                codes.append(run.step(process))
            else:
                return run, codes
        run.close()
        return None


def _written(steps: Sequence[Codes]) -> set[int]:
    """Return the locations that steps write."""
    return {
        location_of(access)
        for codes in steps
        for access in codes
        if mode_of(access) not in _NO_WRITE
    }

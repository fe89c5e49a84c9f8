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
from treadle.explore.steps import Step
from treadle.program import Run

if TYPE_CHECKING:
    from treadle.explore.search import Search

_NO_WRITE = {
    Mode.READ, Mode.NEED, Mode.AWAIT,
    Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN, Mode.SWAP,
}  # fmt: skip


_Taken = tuple[Run, list[Codes], dict[int, list[object]]]
"""A run, what its last steps accessed, and what each process saw in them."""


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
    ) -> list[Step] | None:
        """Tell whether events reach the same state in either of two orders after a prefix.

        All are events of the trace. If so, return what they do in the other order. The values of
        `unobserved` locations may differ if the execution is over then.
        """
        self.checks += 1
        trace = self._search.trace
        found = self._run(prefix, other)
        if found is None:
            return None
        run, codes, seen = found
        written = _written([*codes, *(trace.codes[event] for event in usual)])
        if unobserved and self.is_over(run):
            written -= unobserved
        processes = sorted({trace.processes[event] for event in usual})
        reached = self._state(run, processes, sorted(written))
        again = self._run(prefix, usual)
        if again is None:
            return None
        run, usual_codes, usually_seen = again
        state = self._state(run, processes, sorted(written))
        if seen != usually_seen or reached != state:
            return None
        if not _written(usual_codes) - unobserved <= written:
            return None
        footprint = trace.vocabulary.footprint
        return [(trace.processes[i], footprint(c)) for i, c in zip(other, codes, strict=True)]

    def can_agree(self, *events: int) -> bool:
        """Tell whether it makes sense to run events in another order: they create no process."""
        return not any(self._search.trace.footprints[event].spawns for event in events)

    def is_over(self, run: Run) -> bool:
        """Tell whether all processes have ended, so that nobody looks at anything any more."""
        return not run.enabled() and not run.blocked()

    def _state(self, run: Run, processes: list[int], locations: list[int]) -> object:
        """Return what is compared of a run's state, and end the run."""
        state = run.effect(processes, locations) if self._refined else run.fingerprint()
        run.close()
        return state

    def _run(self, prefix: Sequence[int], last: Sequence[int]) -> _Taken | None:
        """Run some events as they are recorded, then others; None if one of these is disabled."""
        trace = self._search.trace
        run = self._search.program.start()
        processes = [trace.processes[event] for event in prefix]
        codes: list[Codes] = []
        seen: dict[int, list[object]] = {}
        if run.replay(processes, [trace.codes[event] for event in prefix], len(prefix)) < 0:
            for process in [trace.processes[event] for event in last]:
                if not run.is_enabled(process):
                    break
                accessed, value = run.watched_step(process)
                codes.append(accessed)
                seen.setdefault(process, []).append(value)
            else:
                return run, codes, seen
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

"""States of other orders: whether two racing steps commute where they met (seed 000, section 3).

The context-sensitive check of a race `(e, e')` compares the state after `E'.u.e.e'` with that after
`E'.u.e'.e`, where `E'` is what comes before `e` and `u` the ancestors of `e'` after it. Both are
the states of runs made for the purpose. Only what the two steps touch can differ: the locations
that one of them writes in one of the orders, where their processes stand then, and how they failed.
That is the refined check of section 3.4, and the default; without it, whole states are compared.

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

_NO_DATA = {Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN, Mode.SWAP}
_READS = {Mode.READ, Mode.NEED, Mode.AWAIT}
_KEPT = 100_000


class Contexts:
    """Runs of sequences other than the explored ones, and what their last steps did."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.checks = 0
        self._known: dict[tuple[tuple[int, ...], int, tuple[int, ...]], object] = {}

    def commute(
        self, prefix: Sequence[int], first: int, second: int, *, refined: bool
    ) -> tuple[Codes, Codes] | None:
        """Tell whether two steps reach the same state in either order after events of the trace.

        `first` and `second` are events too, in the order in which the trace has them. If so, return
        what they access in the other order: what the second does, and then the first.
        """
        self.checks += 1
        trace = self._search.trace
        p, q = trace.processes[first], trace.processes[second]
        other = self._run(prefix, (q, p))
        if other is None:
            return None
        run, codes = other
        mine = (trace.codes[first], trace.codes[second])
        locations = _written([*codes, *mine])
        effect = run.effect((p, q), locations) if refined else run.fingerprint()
        run.close()
        if effect != self._usual(prefix, (p, q), locations, refined=refined):
            return None
        return codes

    def _usual(
        self,
        prefix: Sequence[int],
        last: tuple[int, int],
        locations: tuple[int, ...],
        *,
        refined: bool,
    ) -> object:
        """Return the effect of two steps in the order of the trace."""
        found = self._run(prefix, last)
        if found is None:
            return None
        run, _ = found
        effect = run.effect(last, locations) if refined else run.fingerprint()
        run.close()
        return effect

    def _run(
        self, prefix: Sequence[int], last: tuple[int, int]
    ) -> tuple[Run, tuple[Codes, Codes]] | None:
        """Run events of the trace and then two more steps; None if one of them is disabled."""
        trace, program = self._search.trace, self._search.program
        run = program.start()
        processes = [trace.processes[event] for event in prefix]
        if run.replay(processes, [trace.codes[event] for event in prefix], len(prefix)) >= 0:
            run.close()
            return None
        codes = []
        for process in last:
            if not run.is_enabled(process):
                run.close()
                return None
            codes.append(run.step(process))
        return run, (codes[0], codes[1])


def _written(steps: Sequence[Codes]) -> tuple[int, ...]:
    """Return the locations that steps write, in a fixed order."""
    found = {
        location_of(access)
        for codes in steps
        for access in codes
        if (mode := mode_of(access)) not in _NO_DATA and mode not in _READS
    }
    return tuple(sorted(found))

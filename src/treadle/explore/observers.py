"""Optimal-DPOR with observers, ODPOR-ob (seed 000, section 4.1 and figure 5).

The happens-before order is that of `observation`: writes that nobody looks at later are not
ordered. A race between two of them that somebody does look at is reversed together with the last
observer, for without it the two would not be ordered, and the reversal redundant.
"""

from __future__ import annotations

from treadle.events import Footprint
from treadle.explore.blocking import everything_after
from treadle.explore.done import DoneSets, Step
from treadle.explore.observation import ObservedTrace
from treadle.program import Run
from treadle.trace import Trace, bits


class Observers(DoneSets):
    """One execution per happens-before class modulo observability."""

    trace_type: type[Trace] = ObservedTrace

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races of the execution that has just ended (figure 5)."""
        del outcome
        trace = self.observed
        trace.extend()
        after = trace.after()
        new = self.new(run)
        for e, last in list(trace.races):
            observers = trace.observers(e, last)
            if max(last, *observers) < new if observers else last < new:
                continue
            v = self.reversed(e, last, observers, after)
            if v is not None:
                self.plan(e, v)
        for e, v in self.blocked_or_altered(run, after):
            self.plan(e, v)

    @property
    def observed(self) -> ObservedTrace:
        """The execution with its order modulo observability."""
        assert isinstance(self.search.trace, ObservedTrace)
        return self.search.trace

    def reversed(
        self, e: int, last: int, observers: list[int], after: list[int]
    ) -> list[Step] | None:
        """Return `v`: the race reversed, and observed if it was (lines 4 to 8).

        None if the observer cannot look then: a process that waits for a value that is not there.
        """
        notdep = self.notdep(e, after)
        if not observers:
            return self.steps([*bits(notdep & ~(1 << last)), last])
        not_observing = self.unobserving(e, last, observers, after) & ~notdep
        v = [*bits(notdep), last, e, *bits(not_observing)]
        o = self._looking_at(e, v, observers[-1])
        return None if o is None else [*self.steps(v), o]

    def unobserving(self, e: int, last: int, observers: list[int], after: list[int]) -> int:
        """Return `notdep(e, E)` and `notobs(e, e', E)`: what neither observes nor comes after it."""
        mask = everything_after(self.search.trace, e) & ~(1 << last)
        for o in observers:
            mask &= ~(after[o] | 1 << o)
        return mask

    def _looking_at(self, e: int, v: list[int], o: int) -> Step | None:
        """Return the step of an observer after `pre(E, e).v`, if it is enabled there."""
        trace = self.search.trace
        footprint: Footprint | None = trace.footprints[o]
        if trace.footprints[o].guarded:
            events = [*range(e), *v]
            footprint = self.search.probe(
                [trace.processes[event] for event in events],
                [trace.codes[event] for event in events],
                trace.processes[o],
            )
        return None if footprint is None else (trace.processes[o], footprint)

"""Optimal context-sensitive DPOR, ODPOR-cs (seed 000, section 3 and algorithm 1).

When two racing steps reach the same state in either order, the reversed race is planned, as its
beginning may be needed for other races, and put into the don't-do set, so that its end is not
explored (lines 28 to 32).

A plan is `ance(e, e', E).e'.Ifut`: what has to come before `e'`, and the future initials (section
3.3). Whether it is redundant is asked of the longer `notdep(e, E).e'`: what the paper leaves out
may be what makes a done process no weak initial, and then it is kept in the plan.
"""

from __future__ import annotations

from treadle.explore.done import Step
from treadle.explore.dontdo import DontDoSets
from treadle.program import Run
from treadle.trace import bits


class OptimalContext(DontDoSets):
    """ODPOR that does not follow a reversed race to its end if the two steps commute."""

    def detect_races(self, run: Run) -> None:
        """Reverse the races of the trace (algorithm 1, `RaceDetection`)."""
        trace = self.search.trace
        trace.extend()
        after = trace.after()
        new = self.new(run)
        for e, last in [race for race in trace.races if race[1] >= new]:
            self._reverse_race(e, last, after)
        for e, v in self.blocked_or_altered(run, after):
            self.plan(e, v)

    def _reverse_race(self, e: int, last: int, after: list[int]) -> None:
        trace = self.search.trace
        notdep = self.notdep(e, after)
        ance = trace.before[last] & notdep & ~(1 << last)
        rest = bits(notdep & ~ance & ~(1 << last))
        events = [*bits(ance), last, *rest]
        planned = (2 << ance.bit_count()) - 1
        busy = {trace.processes[event] for event in events[: ance.bit_count() + 1]}
        w = notdep | after[e] | 1 << e
        for position, event in enumerate(rest, ance.bit_count() + 1):
            if trace.before[event] & w == 1 << event and trace.processes[event] not in busy:
                planned |= 1 << position
        v = self.plan(e, self.steps(events), planned)
        if v is not None and (dont := self._commuting(e, last, bits(ance))):
            self.forbid(e, [*v, dont])

    def _commuting(self, e: int, last: int, ance: list[int]) -> Step | None:
        """Return the step of `e` behind `e'`, if the two reach the same state in either order."""
        trace = self.search.trace
        if not (trace.footprints[e].plain and trace.footprints[last].plain):
            return None
        codes = self.contexts.commute([*range(e), *ance], e, last, refined=self.refined)
        if codes is None:
            return None
        return trace.processes[e], trace.vocabulary.footprint(codes[1])

"""Context-sensitive DPOR, DPOR-cs, on source-DPOR (JSS 2023, section 3.1).

Two racing steps that reach the same state in either order are independent in that context. The race
is reversed all the same, because what comes before may matter; but the sequence that reverses it
goes into the don't-do set of the state before it, and is not explored to its end. A don't-do set is
passed on like a sleep set (`dontdo.inherited`); the step that is left of a sequence is forbidden.

What is asleep was explored, and its races were seen. What is forbidden was not. So where a
forbidden step is to be explored, or nothing else is enabled, its races are looked for as if it had
been taken: what has to come before it must not be missed.
"""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import Sleep, bits
from treadle.core.program import Run
from treadle.explore.basic.backtracking import Backtracking
from treadle.explore.context.dontdo import DontDo, forbidden, inherited
from treadle.explore.context.state_check import Contexts, Reordering
from treadle.explore.reversals import reversals
from treadle.explore.strategy import BLOCKED


class Context(Backtracking):
    """Source-DPOR with sequences in its sleep sets."""

    sees_every_order: ClassVar[bool] = False
    knows_values: ClassVar[bool] = False

    def prepare(self) -> None:
        """Begin with nothing forbidden."""
        super().prepare()
        self.contexts = Contexts(self.search)
        self.dnd: list[DontDo] = []
        self._here: DontDo = []
        self._forbidden_here: Sleep = {}
        self._stopped: Sleep = {}
        """Forbidden steps before which the current run stopped."""

    def decide(self, run: Run, last: int) -> int:
        """Take the branch that `backtrack` chose, or one that is neither asleep nor forbidden."""
        self.dnd.append(list(self._here))
        self._forbidden_here = dont = forbidden(self._here)
        process = super().decide(run, last)
        self._stopped = {}
        if process == BLOCKED:
            self._stopped = {p: step for p, step in dont.items() if run.is_enabled(p)}
        return process

    def asleep(self) -> Container[int]:
        """Return the processes that the default schedule must not choose here."""
        if not self._forbidden_here:
            return self._next_sleep
        return {**self._next_sleep, **self._forbidden_here}

    def executed(self, process: int, footprint: Footprint) -> None:
        """Pass on to `E.p` what is asleep or forbidden at `E`."""
        super().executed(process, footprint)
        self._here = self._here and inherited(self._here, process, footprint)

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races that the new part of the execution, or a forbidden step, closes."""
        self.contexts.follow(run, outcome)
        self._detect(run, since=self.search.shared)
        for process, footprint in self._stopped.items():
            self._look_behind(process, footprint, run)

    def _look_behind(self, process: int, step: Footprint, run: Run | None) -> None:
        """Reverse the races of a forbidden step, as if it were taken at the end of the trace."""
        trace, length = self.search.trace, len(self.search.trace)
        trace.append(process, step.codes)
        self.contexts.go_on()
        self._detect(run, since=length)
        trace.truncate(length)

    def _detect(self, run: Run | None, since: int) -> None:
        """Reverse the races whose second event is at an index or after it."""
        for race in reversals(self.search, run, since=since):
            for last in race.lasts:
                self._reverse(race.e, last, race.upto(last))

    def _reverse(self, e: int, last: int, v: int) -> None:
        """Reverse the race `(e, e')`, and forbid its end if that leads nowhere new."""
        trace = self.search.trace
        self.explore_one_of(e, trace.initials(v))
        if self.contexts.can_agree(e, last):
            ance = bits(trace.before[last] & v & ~(1 << last))
            dont = self.contexts.agree(Reordering(e, ance, [e, last], [last, e]))
            if dont is not None:
                steps = [(trace.processes[event], trace.footprints[event]) for event in ance]
                sequence = (*steps, *dont)
                if sequence not in self.dnd[e]:
                    self.dnd[e].append(sequence)

    def backtrack(self) -> int:
        """Find the deepest state with a process left to explore that is not forbidden there."""
        depth = super().backtrack()
        if depth >= 0:
            self._here = self.dnd[depth]
            del self.dnd[depth:]
        return depth

    def is_left(self, depth: int, process: int) -> bool:
        """Tell whether a process is still to be explored; if it is forbidden, look behind it."""
        if process in self.sleep[depth]:
            return False
        dnd = self.dnd[depth]
        step = forbidden(dnd).get(process) if dnd else None
        if step is None:
            return True
        self.sleep[depth][process] = step
        self.search.trace.truncate(depth)
        self._look_behind(process, step, None)
        return False

"""Don't-do sets (JSS 2023, algorithm 1, the underlined code of `Explore`).

`dnd(E)` has sequences of steps that must not be explored to their end after `E`: where they lead,
another explored execution leads too. A sequence is passed on to `E.p` without its first step if
that is `p`, and as it is if it has nothing to do with `p` (lines 19 and 20). When only one step of
it is left, that step is forbidden: the run stops before it, and is analysed as if the step had been
taken (lines 7 to 9 and 15 to 16). A run that stops counts as blocked, once for each step that was
forbidden there, like in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from treadle.core.events import Footprint
from treadle.core.happens_before import Sleep
from treadle.core.program import Run
from treadle.core.steps import Steps

DontDo = list[Steps]
Inherit = Callable[[DontDo, int, Footprint], DontDo]
"""What `E.p` inherits of `dnd(E)`, given the process and its step."""


def inherited(dnd: DontDo, process: int, step: Footprint) -> DontDo:
    """Return what `E.p` inherits of `dnd(E)` (lines 19 and 20)."""
    passed = []
    for sequence in dnd:
        if sequence[0][0] == process:
            passed.append(sequence[1:])
        elif not any(p == process or step.conflicts_with(other) for p, other in sequence):
            passed.append(sequence)
    return passed


def forbidden(dnd: DontDo) -> Sleep:
    """Return the steps that must not be taken here."""
    return dict([sequence[0] for sequence in dnd if len(sequence) == 1])


class DontDoSets:
    """`dnd(E)` for each prefix of the current execution, by length; None where it is empty."""

    def __init__(self, inherit: Inherit) -> None:
        self.sets: list[DontDo | None] = []
        self._forbidden: list[Sleep | None] = []
        """The steps that must not be taken after each prefix: what `sets` has of length 1."""
        self.stopped: Sleep = {}
        """Forbidden steps before which the current run stopped."""
        self._here: DontDo = []
        self._forbidden_here: Sleep = {}
        self._next: DontDo = []
        self._inherit = inherit

    def begin(self) -> None:
        """Begin an execution where the one before was left."""
        self._stand_at(self._next)
        self._next = []
        self.stopped = {}

    def _stand_at(self, dnd: DontDo) -> None:
        """Take note of the don't-do set of the current state."""
        self._here = dnd
        self._forbidden_here = forbidden(dnd)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is forbidden from here on."""
        return not self._here and not self.stopped

    def enter(self) -> None:
        """Take note of the don't-do set of the state in which a step is about to be taken."""
        self.sets.append(self._here or None)
        self._forbidden.append(self._forbidden_here or None)

    def pass_on(self, steps: int) -> None:
        """Take note of steps before which nothing is forbidden."""
        self.sets += [None] * steps
        self._forbidden += [None] * steps

    def stops(self, process: int) -> bool:
        """Tell whether the step of a process is forbidden here; the run stops before it then."""
        if process not in self._forbidden_here:
            return False
        self.stopped = {process: self._forbidden_here[process]}
        return True

    def forbidden_here(self) -> Sleep:
        """Return the steps that must not be taken here."""
        return self._forbidden_here

    def stop(self, run: Run) -> None:
        """Take note that the run stops, as all that is enabled is forbidden."""
        self.stopped = {p: step for p, step in self._forbidden_here.items() if run.is_enabled(p)}

    def executed(self, process: int, step: Footprint) -> None:
        """Pass the don't-do set on to the next state."""
        if self._here:
            self._stand_at(self._inherit(self._here, process, step))

    def is_forbidden(self, depth: int, process: int) -> bool:
        """Tell whether the step of a process is forbidden after a prefix."""
        return process in (self._forbidden[depth] or ())

    def forbid(self, e: int, sequence: Steps) -> None:
        """Add a sequence to `dnd(pre(E, e))` (line 32)."""
        dnd = self.sets[e]
        if dnd is None:
            dnd = self.sets[e] = []
        if sequence not in dnd:
            dnd.append(sequence)
            if len(sequence) == 1:
                self._forbidden[e] = forbidden(dnd)

    def leave(self, depth: int) -> None:
        """Leave the current execution after `depth` steps."""
        self._next = self.sets[depth] or []
        del self.sets[depth:], self._forbidden[depth:]

    def violations_after(self, depth: int) -> Iterator[str]:
        """Yield what is wrong with the set of a prefix: a sequence that nobody could follow."""
        dnd = self.sets[depth] or []
        if not all(dnd):
            yield f"an empty don't-do sequence after {depth} steps"
        if forbidden(dnd) != (self._forbidden[depth] or {}):
            yield f"what is forbidden after {depth} steps is not what the don't-do set says"

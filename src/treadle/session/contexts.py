"""Looking for deadlocks without a main program: in generated contexts, cycle by cycle.

"Generation of Initial Contexts for Effective Deadlock Detection" (LOPSTR 2017), section 5. Each
context has a search of its own with limits of its own, so that one that blows up does not keep the
others from being tried; they may be tried side by side. What is found is run for real before it is
reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TypeVar

from treadle.actors.contexts import classes_of, framework_of, run_concretely
from treadle.actors.deadlocks import candidates_from
from treadle.core.counting import count
from treadle.core.deadlocks import (
    CONFIRMED,
    CRITERIA,
    OUTPUTS,
    SENSITIVITIES,
    SENSITIVITY,
    UNFEASIBLE,
    Contexts,
    DeadlockCycle,
    Deadlocks,
)
from treadle.core.errors import ScheduleMismatch, TreadleError
from treadle.session.deadlocks import STOPPED, Stop, never
from treadle.session.side_by_side import side_by_side
from treadle.symbolic.contexts import Context
from treadle.symbolic.framework import Examined, Framework
from treadle.symbolic.limits import Limits

Progress = Callable[[str], None]
Item = TypeVar("Item")
_AT_A_TIME = 4
"""Contexts that one worker tries before it reports."""


@dataclass(frozen=True, slots=True)
class ContextWish:
    """What is asked of a search in contexts."""

    most: int
    criterion: str = "cycle"
    sensitivity: int = SENSITIVITY
    workers: int = 1
    timeout: float | None = None
    """For each cycle."""
    output: str = OUTPUTS[0]
    limits: Limits = field(default_factory=Limits)
    any_deadlock: bool = False
    """Whether the first deadlock of a context ends its search, of whatever cycle it is."""

    def __post_init__(self) -> None:
        if not isinstance(self.most, int) or self.most < 1:
            raise TreadleError(f"contexts must be a whole number above 0, not {self.most!r}")
        if self.criterion not in CRITERIA:
            raise TreadleError(
                f"unknown criterion {self.criterion!r}: choose one of {', '.join(CRITERIA)}"
            )
        if self.output not in OUTPUTS:
            raise TreadleError(
                f"unknown output {self.output!r}: choose one of {', '.join(OUTPUTS)}"
            )
        if self.sensitivity not in SENSITIVITIES:
            raise TreadleError(f"sensitivity must be between 1 and 4, not {self.sensitivity!r}")
        if self.workers < 1:
            raise TreadleError(f"workers must be a whole number above 0, not {self.workers!r}")


def look_in_contexts(
    target: object,
    wish: ContextWish,
    *,
    name: str = "",
    progress: Progress | None = None,
    is_stopped: Stop = never,
) -> Deadlocks:
    """Generate contexts for the deadlock cycles of classes, and look for deadlocks in them."""
    started = time.perf_counter()
    classes = classes_of(target)
    framework = framework_of(target, wish.limits, wish.sensitivity)
    candidates = candidates_from(framework.analysis)
    counted = Contexts(wish.most)
    found = Deadlocks(
        name or ", ".join(cls.__name__ for cls in classes),
        cycles=candidates.cycles,
        conditions=candidates.conditions,
        contexts=counted,
    )
    search = _Search(framework, wish, found, counted, classes, progress, is_stopped)
    for at in range(len(candidates.cycles)):
        search.look_for(at)
    found.notes += [f"nothing is proved, {one}" for one in candidates.unknown]
    found.notes += search.notes()
    found.free = not candidates.cycles and not candidates.unknown
    found.seconds = time.perf_counter() - started
    return found


class _Search:
    """A search in the contexts of one cycle after the other."""

    def __init__(
        self,
        framework: Framework,
        wish: ContextWish,
        found: Deadlocks,
        counted: Contexts,
        classes: list[type],
        progress: Progress | None,
        is_stopped: Stop,
    ) -> None:
        self._framework = framework
        self._wish = wish
        self._found = found
        self._counted = counted
        self._classes = classes
        self._progress = progress
        self._is_stopped = is_stopped
        self._unlike: list[str] = []
        """Test cases that went another way when they were run for real."""

    def look_for(self, at: int) -> None:
        """Try the contexts of a cycle, until there is enough."""
        cycle, wish = self._found.cycles[at], self._wish
        if wish.criterion == "first" and self._counted.deadlocking:
            cycle.reason = "another deadlock was found first"
            return
        if self._is_stopped():
            cycle.reason = STOPPED
            return
        limits: dict[str, None] = {}
        cycle.states = cycle.states or 0
        started = time.monotonic()
        for examined in self._examined(at):
            self._take(at, examined, limits)
            if self._is_enough(cycle):
                break
            if wish.timeout is not None and time.monotonic() - started > wish.timeout:
                limits[f"{wish.timeout:g} s for a cycle"] = None
                break
            if self._is_stopped():
                limits[STOPPED] = None
                break
        if cycle.verdict == CONFIRMED:
            return
        if STOPPED in limits:
            cycle.reason = STOPPED
        elif limits:
            cycle.reason = f"none up to {count(wish.most, 'task')} of a method, within limits"
        else:
            cycle.verdict = UNFEASIBLE

    def _is_enough(self, cycle: DeadlockCycle) -> bool:
        if self._wish.criterion == "first":
            return self._counted.deadlocking > 0
        return self._wish.criterion == "cycle" and cycle.verdict == CONFIRMED

    def _take(self, at: int, examined: Examined, limits: dict[str, None]) -> None:
        """Take note of what came of a context."""
        counted, cycle = self._counted, self._found.cycles[at]
        counted.generated += 1
        cycle.states = (cycle.states or 0) + examined.states
        cycle.pruned += examined.pruned
        if examined.test is None:
            counted.limited += bool(examined.limits)
            limits |= dict.fromkeys(examined.limits)
            counted.limits = list(dict.fromkeys((*counted.limits, *examined.limits)))
            return
        if not self._is_real(examined):
            limits["a test case that went another way when it was run"] = None
            return
        counted.deadlocking += 1
        for met in examined.met or (at,):
            other = self._found.cycles[met]
            other.tests.append(examined.test.shown(self._wish.output))
            other.cases.append(examined.test)
            if examined.met:
                other.verdict, other.reason = CONFIRMED, ""
        if examined.limits and at not in examined.met:
            limits |= dict.fromkeys(examined.limits)

    def _is_real(self, examined: Examined) -> bool:
        """Run a test case: it has to end as symbolic execution says."""
        assert examined.test is not None
        try:
            is_real = run_concretely(examined.test, self._classes).kind == examined.test.kind
        except ScheduleMismatch:
            is_real = False
        if not is_real:
            self._unlike.append(examined.context)
        return is_real

    def _examined(self, at: int) -> Iterator[Examined]:
        """Yield what comes of the contexts of a cycle."""
        framework, wish = self._framework, self._wish
        cycle = framework.cycles[at]
        total = framework.number_of(cycle, wish.most)
        jobs = (
            partial(_examine, framework, at, chunk, wish.any_deadlock)
            for chunk in _batches(
                enumerate(framework.contexts(cycle, wish.most), 1),
                1 if wish.workers == 1 else _AT_A_TIME,
            )
        )
        done = 0
        for together in _batches(jobs, wish.workers):
            for outcome in side_by_side(list(together), wish.workers):
                for examined in outcome or ():
                    done += 1
                    self._tell(at, done, total)
                    yield examined

    def _tell(self, at: int, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(
                f"cycle {at + 1} of {len(self._found.cycles)}: context {done} of {total}, "
                f"{self._counted.deadlocking} with a deadlock, {self._counted.limited} met a limit"
            )

    def notes(self) -> list[str]:
        """Return what users should know about the contexts."""
        counted, notes = self._counted, []
        if self._found.cycles and not counted.deadlocking:
            within = ", within the limits" if counted.limited else ""
            most = count(counted.most, "task")
            notes.append(f"no deadlock up to {most} of each method{within}")
        if counted.limits:
            notes.append(
                f"{counted.limited} of {counted.generated} contexts met a limit: "
                f"{', '.join(counted.limits)}"
            )
        if self._unlike:
            unlike = count(len(self._unlike), "context")
            notes.append(
                f"the test cases of {unlike} went another way when they were run, and are left "
                f"out: please report it ({'; '.join(self._unlike[:3])})"
            )
        return notes


def _examine(
    framework: Framework, at: int, contexts: tuple[tuple[int, Context], ...], any_deadlock: bool
) -> list[Examined]:
    return [
        framework.examine(at, context, f"deadlock_{at + 1}_{number}", any_deadlock=any_deadlock)
        for number, context in contexts
    ]


def _batches(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    """Yield items several at a time."""
    left = iter(items)
    while batch := tuple(islice(left, size)):
        yield batch

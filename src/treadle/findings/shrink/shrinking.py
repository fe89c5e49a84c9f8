"""Shrinking: the same failure with the fewest context switches, and then in the fewest steps.

A guided tour. A failing execution is improved in three ways, each tried by running the program:

1. *Order* (`shrinking.order`): steps that the failing one does not depend on are left out, and the
   others reordered so that they mean the same with fewer switches.
2. *Blocks*: a block (the steps of one process in a row) is left out, swapped with the next one, or
   let to go on as far as it can; what comes after the last block is left to the default schedule.
   Whatever fails the same way is put in order again, and kept if it is smaller. Greedy.
3. *Levels* (`shrinking.levels`): all executions with no switch, with one, with two and so on. If
   this ends before the replays are used up, the result is the smallest there is.

What counts is the number of replays, not time: the result is the same on every machine, unless
replays are so slow that `seconds` are over first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle.core.counting import count
from treadle.core.errors import TreadleError
from treadle.core.failure import Failure, is_shown_by_schedule
from treadle.core.happens_before import Trace
from treadle.core.program import Program, Run
from treadle.explore.choosers import stay
from treadle.findings.recording import for_report
from treadle.findings.replay import run_again
from treadle.findings.shrink.levels import Levels
from treadle.findings.shrink.order import fewest_switches
from treadle.findings.shrink.trials import Exactly, Shown, Trials, cost_of

ATTEMPTS = 1000
"""Replays that shrinking one failure may take, unless told otherwise."""
SECONDS = 5.0
_MOST_STEPS = 1_000_000
"""Steps that all replays together may take, as far as that leaves `_FEWEST_ATTEMPTS`."""
_FEWEST_ATTEMPTS = 20

_Block = tuple[int, int | None]
"""A process and how many steps it takes; None: as far as it can."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What shrinking made of a failure; prints as one line."""

    failure: Failure
    """The same failure with a smaller schedule; the given one if there is none."""
    before: tuple[int, int]
    """Context switches and steps up to the failing one, as it was found."""
    after: tuple[int, int]
    """The same of the smaller one."""
    replays: int
    """Executions that it took."""
    is_smallest: bool
    """Whether it was shown that no execution is smaller."""

    def __str__(self) -> str:
        (switches, steps), (fewer_switches, fewer_steps) = self.before, self.after
        cost = count(self.replays, "replay")
        size = f"{count(switches, 'switch', 'switches')} and {count(steps, 'step')}"
        if self.before != self.after:
            return f"shrunk from {size} to {fewer_switches} and {fewer_steps}, {cost}"
        if self.is_smallest:
            return f"nothing is smaller than its {size}, {cost}"
        return f"nothing smaller was found than its {size}, {cost}"


def shrink(
    program: Program, failure: Failure, *, seconds: float = SECONDS, attempts: int = ATTEMPTS
) -> Shrunk:
    """Look for the same failure with fewer context switches, then with fewer steps.

    `attempts` bounds the replays; `seconds` is only for programs whose replays take very long.
    """
    before = cost_of(failure.schedule.upto(failure.step + 1))
    if not (is_shown_by_schedule(failure.kind) and failure.schedule):
        return Shrunk(failure, before, before, 0, is_smallest=not failure.schedule)
    limit = 2 * before[1] + 100
    attempts = min(attempts, max(_FEWEST_ATTEMPTS, _MOST_STEPS // limit))
    trials = Trials(failure, program, attempts=attempts, seconds=seconds, limit=limit)
    with for_report(program):
        shrinker = _Shrinker(trials)
        best = shrinker.smallest()
        if best is None or best.cost >= before or not _replays(program, best):
            return Shrunk(failure, before, before, trials.replays, shrinker.is_smallest)
    found = best.failure
    found.schedule = found.schedule.upto(found.step + 1)
    found.granularity, found.options = failure.granularity, failure.options
    return Shrunk(found, before, best.cost, trials.replays, shrinker.is_smallest)


def shrunk_by_strategy(failure: Failure, simpler: Failure) -> Shrunk:
    """Describe what the strategy that found a failure made of it."""
    before, after = (cost_of(one.schedule.upto(one.step + 1)) for one in (failure, simpler))
    return Shrunk(simpler, before, after, 0, is_smallest=False)


def _replays(program: Program, best: Shown) -> bool:
    """Tell whether the new schedule shows the failure from scratch, as a replay will."""
    failure = best.failure
    schedule = failure.schedule.upto(failure.step + 1)
    try:
        again = run_again(program, schedule, races=failure.kind == "race").failure
    except TreadleError:
        return False
    return again is not None and again.kind == failure.kind


class _Shrinker:
    """Improves one failing execution."""

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.is_smallest = False
        self.best: Shown | None = None

    def smallest(self) -> Shown | None:
        """Return the smallest execution that shows the failure; None if it cannot be repeated."""
        first = self.trials.first()
        if first is None:
            return None
        self.best = first
        self._improve(first)
        while not self.trials.is_over and any(map(self._try, self._variants(self.best))):
            pass
        levels = Levels(self.trials, self.best.cost)
        for shown in levels.search():
            self._improve(shown)
            levels.bound = self.best.cost
        self.is_smallest = levels.is_complete
        return self.best

    # Order

    def _improve(self, shown: Shown) -> bool:
        """Put an execution in order; keep it if it is smaller, and shows the failure again."""
        assert self.best is not None
        trace = shown.trace
        trace.extend()
        step = shown.failure.step
        needed = trace.before[step] if step < len(trace) else (1 << len(trace)) - 1
        for processes in (fewest_switches(trace, needed), shown.processes):
            if cost_of(processes) < self.best.cost and self._keep(processes):
                return True
        return False

    def _keep(self, processes: Sequence[int]) -> bool:
        again = self.trials.run(Exactly(processes))
        if again is None or again.cost > cost_of(processes):
            return False
        if not self.trials.is_of_interest(again.processes):
            return False
        self.best = again
        return True

    # Blocks

    def _try(self, blocks: Sequence[_Block]) -> bool:
        """Tell whether the program fails in the same way under these blocks, and smaller."""
        if self.trials.is_over:
            return False
        shown = self.trials.run(_InBlocks(blocks))
        return shown is not None and self._improve(shown)

    def _variants(self, shown: Shown) -> Iterator[list[_Block]]:
        """Yield lists of blocks that are a little simpler than those of an execution."""
        blocks: list[_Block] = [
            (process, len(list(steps))) for process, steps in itertools.groupby(shown.processes)
        ]
        for at in range(len(blocks)):
            yield blocks[:at]
        for at, (process, _) in enumerate(blocks):
            before, after = blocks[:at], blocks[at + 1 :]
            yield before + after
            yield [*before, (process, None), *after]
            if after:
                yield [*before, after[0], blocks[at], *after[1:]]


class _InBlocks:
    """Takes blocks one after the other, as far as they can be taken, then stays."""

    def __init__(self, blocks: Sequence[_Block]) -> None:
        self._blocks = list(reversed(blocks))

    def choose(self, run: Run, trace: Trace) -> int:
        while self._blocks:
            process, steps = self._blocks.pop()
            if not run.is_enabled(process):
                continue
            if steps is None or steps > 1:
                self._blocks.append((process, steps and steps - 1))
            return process
        return stay(run, trace.processes[-1] if len(trace) else -1)

"""The table of "Generation of Initial Contexts for Effective Deadlock Detection" (LOPSTR 2017).

For each program and each greatest number M of tasks of a method: how many contexts there are with
all methods (*Syst.*), with the interfering tasks of each cycle (*G*), and in how many of those a
deadlock is found (*D*). Contexts whose execution does not end within 5 s are given up, as in the
paper; those are counted. Each context is first given a tenth of that, so that a row that is stopped
early has found what is found quickly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

from treadle.actors.contexts import framework_of
from treadle.core.deadlocks import SENSITIVITY
from treadle.core.errors import TreadleError
from treadle.papers.lopstr17_programs import Database, East, Fact, North, South
from treadle.papers.thesis_actors import Barber, Chair, Client, Factory, Node, Worker
from treadle.session.side_by_side import side_by_side
from treadle.symbolic.contexts import Context
from treadle.symbolic.framework import Framework
from treadle.symbolic.limits import Limits

NAME = "lopstr17"
TITLE = "Generation of Initial Contexts for Effective Deadlock Detection (LOPSTR 2017)"
SIZES = (1, 2, 3)
_FIRST_TRY = 0.1
"""The part of a context's time that it has at first."""
_AT_A_TIME = 4


@dataclass(frozen=True, slots=True)
class Printed:
    """What the paper prints: `>X` where it was stopped at X."""

    systematic: str
    guided: int
    deadlocking: int
    time: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Classes, and what is known of their contexts for M = 1, 2, 3."""

    classes: tuple[type, ...]
    systematic: tuple[int, ...]
    guided: tuple[int, ...]
    deadlocking: tuple[int | None, ...]
    """None where it depends on what ends within the time of a context."""
    printed: tuple[Printed, ...]
    remark: str = ""


_LOST = "its source is lost: written from its description, with as many classes and methods"

BENCHMARKS: dict[str, Benchmark] = {
    "DBProt": Benchmark(
        (Database, Worker),
        (30, 45_961, 13_661_856),
        (2, 57, 576),
        (1, 30, None),
        (Printed("30", 2, 1, "35 ms"), Printed(">12960", 57, 30, "101 s*"),
         Printed(">6308", 576, 156, "974 s*")),
    ),
    "Barber": Benchmark(
        (Barber, Chair, Client),
        (8, 6_859, 884_736),
        (1, 9, 36),
        (1, 9, 36),
        (Printed("8", 1, 1, "35 ms"), Printed("6859", 9, 9, "57 ms"),
         Printed(">8310", 36, 36, "309 ms")),
    ),
    "Fact": Benchmark(
        (Fact,),
        (15, 2_419, 142_311),
        (2, 6, 12),
        (2, 6, 12),
        (Printed("15", 2, 2, "11 ms"), Printed("2419", 6, 6, "14 ms"),
         Printed(">4771", 12, 12, "16 ms")),
        _LOST,
    ),
    "Loop": Benchmark(
        (North, East, South),
        (3_375, 2_419**3, 142_311**3),
        (1, 27, 216),
        (1, 27, 216),
        (Printed("3375", 1, 1, "30 ms"), Printed(">13433", 27, 27, "495 ms"),
         Printed(">4771", 216, 216, "77 s*")),
        _LOST,
    ),
    "Pairing": Benchmark(
        (Node, Factory),
        (2, 57, 576),
        (2, 12, 42),
        (2, 12, 42),
        (Printed("2", 2, 2, "9 ms"), Printed("57", 12, 12, "37 ms"),
         Printed("576", 42, 42, "162 ms")),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A program and the greatest number of tasks of a method."""

    program: str
    m: int

    @property
    def benchmark(self) -> Benchmark:
        """What is known of the program."""
        return BENCHMARKS[self.program]

    @property
    def printed(self) -> Printed | None:
        """What the paper prints."""
        return self.benchmark.printed[self.m - 1] if self.m in SIZES else None


@dataclass(slots=True)
class Measured:
    """What one row came to; `deadlocking` counts what was found before the row was stopped."""

    program: str
    m: int
    systematic: int
    guided: int
    cycles: int
    deadlocking: int = 0
    limited: int = 0
    """Contexts without a deadlock in which a limit was met."""
    timed_out: int = 0
    """Those of them that ran out of their time."""
    states: int = 0
    seconds: float = 0.0
    complete: bool = True

    def as_dict(self) -> dict[str, object]:
        """Return the row as `treadle bench --json` prints it."""
        return asdict(self)


def rows(programs: tuple[str, ...], sizes: tuple[int, ...]) -> list[Row]:
    """Return the rows that were asked for."""
    for name in programs:
        if name not in BENCHMARKS:
            raise TreadleError(
                f"{NAME} has no program {name!r}: choose one of {', '.join(BENCHMARKS)}"
            )
    return [Row(name, m) for name in (programs or BENCHMARKS) for m in sorted(set(sizes or SIZES))]


def deviation(row: Row, measured: Measured) -> str:
    """Say where a count is not what it has to be."""
    if row.m not in SIZES:
        return ""
    known, at = row.benchmark, row.m - 1
    found = []
    if measured.systematic != known.systematic[at]:
        found.append(f"{measured.systematic} contexts in all, not {known.systematic[at]}")
    if measured.guided != known.guided[at]:
        found.append(f"{measured.guided} contexts of cycles, not {known.guided[at]}")
    expected = known.deadlocking[at]
    if measured.complete and expected is not None and measured.deadlocking != expected:
        found.append(f"{measured.deadlocking} contexts with a deadlock, not {expected}")
    return "; ".join(found)


def measure(
    row: Row,
    timeout: float,
    workers: int = 1,
    tick: Callable[[Measured], None] | None = None,
    limits: Limits | None = None,
) -> Measured:
    """Generate the contexts of a row, and look for a deadlock in each."""
    return _Measuring(row, timeout, workers, tick, limits or Limits()).measured()


class _Measuring:
    """One row under way."""

    def __init__(
        self,
        row: Row,
        timeout: float,
        workers: int,
        tick: Callable[[Measured], None] | None,
        limits: Limits,
    ) -> None:
        self._workers = workers
        self._tick = tick
        self._started = time.monotonic()
        self._deadline = self._started + timeout
        self._limits = limits
        self._m = row.m
        self._framework = framework_of(row.benchmark.classes, limits, SENSITIVITY)
        framework = self._framework
        self._measured = Measured(
            row.program,
            row.m,
            framework.number_of_all_contexts(row.m),
            sum(framework.number_of(cycle, row.m) for cycle in framework.cycles),
            len(framework.cycles),
        )

    def measured(self) -> Measured:
        """Try all contexts, those that take long a second time."""
        first = replace(self._limits, seconds=self._limits.seconds * _FIRST_TRY)
        contexts = [
            (at, context)
            for at, cycle in enumerate(self._framework.cycles)
            for context in self._framework.contexts(cycle, self._m)
        ]
        left = self._try(contexts, first, is_last=False)
        self._try(left, self._limits, is_last=True)
        self._measured.seconds = round(time.monotonic() - self._started, 3)
        return self._measured

    def _try(
        self, contexts: list[tuple[int, Context]], limits: Limits, *, is_last: bool
    ) -> list[tuple[int, Context]]:
        """Look for deadlocks; return the contexts that ran out of time."""
        left: list[tuple[int, Context]] = []
        size = _AT_A_TIME * self._workers
        for begin in range(0, len(contexts), size):
            if time.monotonic() > self._deadline:
                self._measured.complete = False
                break
            together = contexts[begin : begin + size]
            chunks = [together[each :: self._workers] for each in range(self._workers)]
            jobs = [partial(_examined, self._framework, limits, chunk) for chunk in chunks if chunk]
            outcomes = side_by_side(jobs, self._workers)
            for chunk, outcome in zip(chunks, outcomes, strict=False):
                for context, examined in zip(chunk, outcome or (), strict=True):
                    if self._take(examined, limits, is_last=is_last):
                        left.append(context)
            if self._tick is not None:
                self._tick(self._measured)
        return left

    def _take(self, examined: _Outcome, limits: Limits, *, is_last: bool) -> bool:
        """Count what came of a context; return whether it is to be tried again."""
        found, met, states = examined
        self._measured.states += states
        is_late = f"{limits.seconds:g} s" in met
        if found:
            self._measured.deadlocking += 1
        elif is_late and not is_last:
            return True
        elif met:
            self._measured.limited += 1
            self._measured.timed_out += is_late
        return False


_Outcome = tuple[bool, tuple[str, ...], int]


def _examined(
    framework: Framework, limits: Limits, contexts: list[tuple[int, Context]]
) -> list[_Outcome]:
    framework.set_limits(limits)
    found = []
    for at, context in contexts:
        examined = framework.examine(at, context, "deadlock", any_deadlock=True)
        found.append((examined.test is not None, examined.limits, examined.states))
    return found

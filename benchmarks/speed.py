"""How fast is Treadle? Run `python benchmarks/speed.py`, with `--quick` for a few seconds' worth.

All times are CPU time, and all numbers come from one run on one machine:

- rate: executions and events per second of the papers' programs under each algorithm;
- ratio: optimal-DPOR's time to that of merely running the same schedules with no analysis;
- length, threads: the time of one execution as traces get longer and threads more, with few races;
- memory: the peak memory of lastzero(15) under optimal;
- actors: macro-steps per second under optimal, replays included, beside what they are to be.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import treadle
from printing import print_measurements
from treadle.actors import Actor, method
from treadle.actors import program as program_of_actors
from treadle.core.program import Program as AnyProgram
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.explore.source_sets.optimal import Optimal
from treadle.model import Program
from treadle.papers import PAPERS
from treadle.papers.harness import Measurement, Task, measure
from treadle.papers.thesis_actors import barber

Rows = Sequence[tuple[str, int]]

ROWS: Rows = (
    ("readers", 13),
    ("lastzero", 10),
    ("lastzero", 12),
    ("indexer", 15),
    ("filesystem", 19),
    ("wakeup_stress", 6),
)
QUICK_ROWS: Rows = (("readers", 8), ("lastzero", 7), ("indexer", 13), ("wakeup_stress", 4))
LEFT_OUT = frozenset({"exhaustive"})
"""Every interleaving of these programs: no budget is enough."""

REPEAT_FOR = 0.3
"""CPU seconds for which a short exploration is repeated."""

MEMORY_BUDGET = 900.0


@dataclass(frozen=True)
class Line:
    """One measured line, or why there is nothing in it."""

    measurement: str
    program: str
    algorithm: str = "optimal"
    executions: int | None = None
    events: int | None = None
    seconds: float | None = None
    merely_running: float | None = None
    ratio: float | None = None
    executions_per_second: float | None = None
    events_per_second: float | None = None
    us_per_execution: float | None = None
    us_per_event: float | None = None
    peak_mb: float | None = None
    note: str | None = None


# Executions and events per second; peak memory


def rates(rows: Rows, budget: float) -> Iterator[Line]:
    """Measure each program under each algorithm, each in a process of its own."""
    for program, n in rows:
        for algorithm, made in ALGORITHMS.items():
            if made.covers and algorithm not in LEFT_OUT:
                yield _rate("rate", _measured(program, n, algorithm, budget), budget)


def memory(n: int) -> Iterator[Line]:
    """Measure lastzero's peak memory under optimal."""
    yield _rate("memory", _measured("lastzero", n, "optimal", MEMORY_BUDGET), MEMORY_BUDGET)


def _measured(program: str, n: int, algorithm: str, budget: float) -> Measurement:
    return measure(Task("jacm17", program, n, algorithm, "stay", budget))


def _rate(measurement: str, measured: Measurement, budget: float) -> Line:
    line = Line(measurement, f"{measured.program}({measured.n})", measured.algorithm)
    if not measured.complete:
        return replace(line, note=f"skipped: not finished in {budget:g} s")
    return replace(
        line,
        executions=measured.explored,
        events=measured.events,
        seconds=measured.seconds,
        executions_per_second=measured.explored / measured.seconds,
        events_per_second=measured.events / measured.seconds,
        peak_mb=measured.peak_mb,
    )


# The ratio to merely running


def ratios(rows: Rows) -> Iterator[Line]:
    """Compare optimal-DPOR with running the very schedules that it explores."""
    for name, n in rows:
        make = PAPERS["jacm17"].benchmarks[name].make
        schedules = schedules_of(make(n))
        seconds = _cpu_time(treadle.explore, make(n))
        running = _cpu_time(partial(run_all, schedules), make(n))
        yield Line(
            "ratio",
            f"{name}({n})",
            executions=len(schedules),
            seconds=seconds,
            merely_running=running,
            ratio=seconds / running,
        )


def schedules_of(program: AnyProgram) -> list[list[int]]:
    """Return the schedule of each execution of an optimal exploration."""
    schedules: list[list[int]] = []
    search = Search(program, Optimal, "optimal", budget=Budget(), choose=SCHEDULES["stay"])
    search.on_end = lambda _run, _outcome: schedules.append(list(search.trace.processes))
    search.explore()
    return schedules


def run_all(schedules: list[list[int]], program: AnyProgram) -> None:
    """Run schedules and do nothing else."""
    for schedule in schedules:
        run = program.start()
        step = run.step
        for process in schedule:
            step(process)
        run.close()


def _cpu_time(work: Callable[[AnyProgram], object], program: AnyProgram) -> float:
    started = time.process_time()
    work(program)
    return time.process_time() - started


# Growth


def mostly_alone(threads: int, events: int) -> Program:
    """Return threads that share `events` steps between them, and race only twice in the end."""
    program = Program(f"{threads} threads, {events} events", x=0, own=[0] * threads)

    def work(s: Any, i: int, steps: int) -> Iterator[Any]:
        for step in range(steps):
            yield
            s.own[i] = step
        if i < 2:
            yield
            s.x = i

    for i in range(threads):
        share = events // threads + (i < events % threads)
        program.process(work, i, share - (i < 2))
    return program


def growth(measurement: str, programs: Sequence[tuple[int, int]]) -> Iterator[Line]:
    """Measure the time of one execution for pairs of threads and events."""
    for threads, events in programs:
        program = mostly_alone(threads, events)
        seconds, executions = _repeated(program)
        yield Line(
            measurement,
            program.name,
            executions=executions,
            seconds=seconds,
            us_per_execution=seconds / executions * 1e6,
            us_per_event=seconds / executions / events * 1e6,
        )


# Actors


class Master(Actor):
    """Adds up what its workers compute."""

    def __init__(self, workers: tuple[Worker, ...]) -> None:
        self.workers, self.answers, self.sum = workers, 0, 0

    @method
    async def boot(self, rounds: int) -> None:
        """Let the workers begin."""
        for worker in self.workers:
            worker.part.send(self, rounds)

    @method
    async def add(self, x: int) -> None:
        """Take an answer."""
        self.answers += 1
        self.sum += x
        if self.answers == len(self.workers):
            for worker in self.workers:
                worker.stop.send()


class Worker(Actor):
    """Computes for some rounds."""

    @method
    async def part(self, master: Master, rounds: int) -> None:
        """Compute."""
        x = 1
        for _ in range(rounds):
            x = (3 * x + 1) % 7
        master.add.send(x)

    @method
    async def stop(self) -> None:
        """Hear that all is done."""


@program_of_actors
def workers(n: int, rounds: int) -> None:
    Master(tuple(Worker() for _ in range(n))).boot.send(rounds)


GOALS = ((barber(2), 44_000), (workers(6, 20), 76_000))
"""Programs of actors, and macro-steps per CPU second."""


def actors() -> Iterator[Line]:
    """Measure how many macro-steps are taken in a second."""
    for example, goal in GOALS:
        events, started, executions = 0, time.process_time(), 0
        while (seconds := time.process_time() - started) < REPEAT_FOR or not events:
            result = treadle.explore(example, stop_on_failure=False)
            events += result.events
            executions += result.executions
        yield Line(
            "actors",
            f"{example.name}{example.args}",
            executions=executions,
            events=events,
            seconds=seconds,
            events_per_second=events / seconds,
            note=f"the goal is {goal:,} events per second",
        )


def _repeated(program: AnyProgram) -> tuple[float, int]:
    """Explore again and again for a while; return the time and the executions in all."""
    treadle.explore(program)  # the first time, names are given numbers
    started, executions = time.process_time(), 0
    while time.process_time() - started < REPEAT_FOR:
        executions += treadle.explore(program).executions
    return time.process_time() - started, executions


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller programs, and no memory")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each rate")
    options = parser.parse_args()
    print_measurements(_measurements(options.quick, options.budget), as_json=options.json)


def _measurements(quick: bool, budget: float) -> Iterator[Iterator[Line]]:
    rows = QUICK_ROWS if quick else ROWS
    yield actors()
    yield rates(rows, min(budget, 5.0) if quick else budget)
    yield ratios(rows)
    yield growth("length", [(2, events) for events in (10, 100, 1000)])
    yield growth("threads", [(threads, 256) for threads in (2, 4, 8, 16, 32, 64)])
    if not quick:
        yield memory(15)


if __name__ == "__main__":
    main()

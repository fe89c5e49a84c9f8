"""Is this checkout as fast as another one? Run `python benchmarks/against.py OTHER_CHECKOUT`.

The rows are those of `speed.py` and `threads_speed.py`: models under each algorithm that both
have, merely running, traces that get longer, threads that get more; unmodified threads explored,
run under control, and code that shares nothing. Each checkout has a process of its own that stays,
so that both take turns row by row: whatever else the machine does, it does to both. Beside each
median stands the ratio of the least times, which a loaded machine disturbs less.

With `--instructions` valgrind counts what the processor executes instead, for one row each: slow,
but the same in every run (`--only` chooses the rows).

The exit status is 1 if a row's ratio is beyond the bar. A row whose number of executions is not
the same any more is no measure of speed: both numbers are shown instead of a verdict.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from printing import print_measurements

HERE = Path(__file__).resolve().parents[1]
BAR = 1.10
AT_LEAST = 0.06
"""CPU seconds of one measurement, if a row is so short that it is repeated."""

_EXPLORATIONS = 3
"""How often threads are explored while control is taken, which is no part of these rows."""

Work = Callable[[], int]
"""A row: explores or runs something, and returns how many executions that were."""


@dataclass(frozen=True)
class Line:
    """How a row of this checkout compares with the other's; times in microseconds."""

    measurement: str
    row: str
    other: float
    this: float
    ratio: float
    of_least: float | None = None
    verdict: str = ""


# The rows, in the process of one checkout


MODELS = (("readers", 8), ("lastzero", 6), ("indexer", 12), ("filesystem", 15))
ALGORITHMS = ("source", "optimal", "observers", "context", "optimal-context", "eager")
LENGTHS = (10, 100, 1000)
THREADS = (2, 8, 64)


def rows() -> Iterator[tuple[str, Callable[[], Work]]]:
    """Return the rows by name, each with what prepares it; both checkouts have what is named."""
    for name, n in MODELS:
        for algorithm in ALGORITHMS:
            yield f"{name}({n}) {algorithm}", partial(_model, name, n, algorithm)
        yield f"{name}({n}) merely running", partial(_merely_running, name, n)
    for algorithm in ("optimal", "observers", "optimal-context-observers"):
        yield f"wakeup_stress(2) {algorithm}", partial(_model, "wakeup_stress", 2, algorithm)
    for events in LENGTHS:
        yield f"2 threads, {events} events", partial(_mostly_alone, 2, events)
    for threads in THREADS:
        yield f"{threads} threads, 256 events", partial(_mostly_alone, threads, 256)
    for name in ("2 threads x 3 increments", "readers(8)", "lastzero(7)", "filesystem(16)"):
        yield f"threads: {name}", partial(_explored, name)
        yield f"threads: {name}, one run", partial(_controlled, name)
    for name in ("count", "sieve", "words", "arithmetic", "tree"):
        yield f"threads: {name}", partial(_alone, name)


def _own(module: str) -> Any:
    """Return a module of the checkout whose process this is."""
    return importlib.import_module(module)


def _model(name: str, n: int, algorithm: str) -> Work:
    speed, treadle = _own("speed"), _own("treadle")
    program = speed.PAPERS["jacm17"].benchmarks[name].make(n)
    return lambda: treadle.explore(program, algorithm).executions


def _merely_running(name: str, n: int) -> Work:
    speed = _own("speed")
    program = speed.PAPERS["jacm17"].benchmarks[name].make(n)
    schedules = speed.schedules_of(program)

    def run_all() -> int:
        speed.run_all(schedules, program)
        return len(schedules)

    return run_all


def _mostly_alone(threads: int, events: int) -> Work:
    speed, treadle = _own("speed"), _own("treadle")
    program = speed.mostly_alone(threads, events)
    return lambda: treadle.explore(program).executions


def _threads_test(name: str) -> Callable[[], Any]:
    threads_speed = _own("threads_speed")
    tests = {
        "2 threads x 3 increments": partial(threads_speed.racy_counter, 2, 3),
        "readers(8)": partial(threads_speed.readers, 8),
        "lastzero(7)": partial(threads_speed.lastzero, 7),
        "filesystem(16)": partial(threads_speed.filesystem, 16),
    }
    test: Callable[[], Any] = tests[name]()
    return test


def _explored(name: str) -> Work:
    threads_speed, treadle = _own("threads_speed"), _own("treadle")
    program = threads_speed.prepared(_threads_test(name), name)

    def explore() -> int:
        with program.controlled():
            return sum(treadle.explore(program).executions for _ in range(_EXPLORATIONS))

    return explore


def _controlled(name: str) -> Work:
    threads_speed = _own("threads_speed")
    return _runs(threads_speed.prepared(_threads_test(name), name), 200)


def _alone(name: str) -> Work:
    threads_speed = _own("threads_speed")
    return _runs(threads_speed.prepared(getattr(threads_speed, name), name), 5)


def _runs(program: Any, times: int) -> Work:
    threads_speed = _own("threads_speed")

    def run() -> int:
        with program.controlled():
            for _ in range(times):
                threads_speed.run_once(program)
        return times

    return run


def serve() -> None:
    """Measure whatever row is named on standard input, again and again."""
    known = dict(rows())
    ready: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = known[name]()
            ready[name]()  # the first time, names are given numbers
        print(json.dumps(_measured(ready[name])), flush=True)


def _measured(work: Work) -> tuple[float, int]:
    """Return the CPU microseconds of a row, the least that was seen, and its executions."""
    started, least, executions = time.process_time(), float("inf"), 0
    while (begun := time.process_time()) - started < AT_LEAST:
        executions = work()
        least = min(least, time.process_time() - begun)
    return least * 1e6, executions


def repeat(name: str, times: int) -> None:
    """Do what a row does so many times, for whoever counts instructions."""
    work = dict(rows())[name]()
    for _ in range(times + 1):
        work()


# Both checkouts, side by side


class Checkout:
    """A process that measures rows with the sources of one checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(root),
        )

    def measure(self, row: str) -> tuple[float, int]:
        """Return the time of a row in microseconds, and its executions."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(row, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.root} does not answer about {row}")
        microseconds, executions = json.loads(answer)
        return microseconds, executions

    def __enter__(self) -> Checkout:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def environment(root: Path) -> dict[str, str]:
    """Return the environment of a process that imports from a checkout."""
    path = os.pathsep.join(str(root / part) for part in ("src", "benchmarks"))
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1"}


def side_by_side(other: Path, names: list[str], rounds: int, processes: int) -> Iterator[Line]:
    """Measure rows of both checkouts in alternation."""
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    notes: dict[str, str] = {}
    for _ in range(processes):
        with ExitStack() as stack:
            theirs = stack.enter_context(Checkout(other))
            ours = stack.enter_context(Checkout(HERE))
            for name in names:
                for number in range(rounds):
                    order = (theirs, ours) if number % 2 else (ours, theirs)
                    measured = {each: each.measure(name) for each in order}
                    pairs[name].append((measured[theirs][0], measured[ours][0]))
                    if measured[theirs][1] != measured[ours][1]:
                        notes[name] = f"not the same: {measured[theirs][1]}, {measured[ours][1]}"
    for name, times in pairs.items():
        least = min(this for _, this in times) / min(that for that, _ in times)
        ratio = median(this / that for that, this in times)
        yield Line(
            "CPU time",
            name,
            median(that for that, _ in times),
            median(this for _, this in times),
            ratio,
            least,
            notes.get(name, "") or _verdict(min(ratio, least)),
        )


def by_instructions(other: Path, names: list[str], times: int) -> Iterator[Line]:
    """Count the instructions of rows of both checkouts."""
    for name in names:
        that, this = (_instructions(root, name, times) for root in (other, HERE))
        ratio = this / that
        yield Line("instructions", name, that, this, ratio, verdict=_verdict(ratio))


def _instructions(root: Path, name: str, times: int) -> float:
    """Return how many instructions a row takes, without what comes before it."""
    counts = [_counted(root, name, repeated) for repeated in (1, 1 + times)]
    return (counts[1] - counts[0]) / times


def _counted(root: Path, name: str, times: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"),
                *(sys.executable, __file__, "--repeat", name, str(times)),
            ],
            capture_output=True,
            text=True,
            env=environment(root),
            check=True,
        )
    counted = re.search(r"Collected : (\d+)", done.stderr)
    assert counted is not None
    return int(counted[1])


def _verdict(ratio: float) -> str:
    return "within the bar" if ratio <= BAR else f"beyond {BAR:.2f}"


def main() -> None:
    """Compare, print, and say by the exit status whether all rows are within the bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="the checkout to compare with")
    parser.add_argument("--only", default="", help="rows whose name matches this expression")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of a row by a process")
    parser.add_argument("--processes", type=int, default=2, help="processes of each checkout")
    parser.add_argument("--instructions", type=int, metavar="TIMES", help="count instructions")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--repeat", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    if options.repeat:
        return repeat(options.repeat[0], int(options.repeat[1]))
    if options.other is None:
        parser.error("which checkout is to be compared with?")
    names = [name for name, _ in rows() if re.search(options.only, name)]
    other = options.other.resolve()
    lines = list(
        by_instructions(other, names, options.instructions)
        if options.instructions
        else side_by_side(other, names, options.rounds, options.processes)
    )
    print_measurements([lines], as_json=options.json)
    sys.exit(any(line.verdict.startswith("beyond") for line in lines))


if __name__ == "__main__":
    main()

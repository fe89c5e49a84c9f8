"""How fast are plain threads under control? Run `python benchmarks/threads_speed.py`.

All times are CPU time, the least of several repetitions, from one run on one machine:

- rate: executions per second of an exploration, beside the goal;
- run: one bare run with real threads, one run under control with no analysis, and one execution of
  an exploration;
- single: code that shares nothing, plain and instrumented.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import treadle
from printing import print_measurements
from threads.counter import Counter, racy_counter
from threads.filesystem import filesystem
from threads.lastzero import lastzero
from threads.readers import readers
from treadle.explore.budget import MAX_STEPS
from treadle.threads.program import ThreadProgram

Test = Callable[[], Any]

REPEAT = 3


@dataclass(frozen=True)
class Line:
    """One measured line; times in microseconds."""

    measurement: str
    program: str
    executions: int | None = None
    executions_per_second: float | None = None
    goal: str | None = None
    bare: float | None = None
    controlled: float | None = None
    exploring: float | None = None
    controlled_to_bare: float | None = None
    exploring_to_controlled: float | None = None
    plain: float | None = None
    instrumented: float | None = None
    ratio: float | None = None


def least(work: Callable[[], object], times: int = 1) -> float:
    """Return the CPU seconds of one of `times` calls in the quickest repetition."""
    seconds = []
    for _ in range(REPEAT):
        started = time.process_time()
        for _ in range(times):
            work()
        seconds.append((time.process_time() - started) / times)
    return min(seconds)


# Executions per second


def rates(quick: bool) -> Iterator[Line]:
    """Measure explorations, including the instrumentation of the code."""
    programs: list[tuple[str, Test, int]] = [
        ("2 threads x 3 increments", racy_counter(2, 3), 15_000),
        ("readers(8)" if quick else "readers(13)", readers(8 if quick else 13), 3_000),
        ("lastzero(7)" if quick else "lastzero(10)", lastzero(7 if quick else 10), 2_000),
    ]
    for name, test, goal in programs:
        executions = treadle.explore(test).executions
        program = prepared(test, name)
        with program.controlled():
            seconds = least(lambda program=program: treadle.explore(program))  # type: ignore[misc]
        rate = executions / seconds
        yield Line("rate", name, executions, rate, f"{goal:,}{'' if rate >= goal else ' missed'}")


def prepared(test: Test, name: str) -> ThreadProgram:
    """Return a program that has learned what matters."""
    program = ThreadProgram(test, name)
    program.try_out()
    return program


# One run: bare, controlled, exploring


def runs(quick: bool) -> Iterator[Line]:
    """Measure one run of a test three ways."""
    programs: list[tuple[str, Test]] = [
        ("2 threads x 3 increments", racy_counter(2, 3)),
        ("readers(8)", readers(8)),
        ("lastzero(7)", lastzero(7)),
        ("filesystem(16)", filesystem(16)),
    ]
    for name, test in programs[:2] if quick else programs:
        bare = least(test, 50)
        executions = treadle.explore(test).executions
        program = prepared(test, name)
        with program.controlled():
            controlled = least(lambda program=program: run_once(program), 50)  # type: ignore[misc]
            seconds = least(lambda program=program: treadle.explore(program))  # type: ignore[misc]
        exploring = seconds / executions
        yield Line(
            "run",
            name,
            executions,
            bare=bare * 1e6,
            controlled=controlled * 1e6,
            exploring=exploring * 1e6,
            controlled_to_bare=controlled / bare,
            exploring_to_controlled=exploring / controlled,
        )


def run_once(program: ThreadProgram) -> None:
    """Run the natural schedule and do nothing else."""
    run = program.start()
    run.finish(-1, MAX_STEPS, [], [])
    run.close()


# Code of one thread


def count() -> None:
    counter = Counter()
    for _ in range(10_000):
        counter.increment()


def sieve() -> None:
    prime = [True] * 10_000
    for i in range(2, 100):
        if prime[i]:
            for multiple in range(i * i, len(prime), i):
                prime[multiple] = False


def words() -> None:
    counts: dict[str, int] = {}
    for i in range(10_000):
        word = f"word {i % 97}"
        counts[word] = counts.get(word, 0) + 1


def arithmetic() -> None:
    a, b = 0, 1
    for _ in range(10_000):
        a, b = b, (a + b) % 1_000_007


class Node:
    """A node of a binary tree."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.left: Node | None = None
        self.right: Node | None = None

    def insert(self, key: int) -> None:
        """Insert a key below this node."""
        if key < self.key:
            if self.left is None:
                self.left = Node(key)
            else:
                self.left.insert(key)
        elif self.right is None:
            self.right = Node(key)
        else:
            self.right.insert(key)


def tree() -> None:
    root = Node(500)
    for i in range(1000):
        root.insert(i * 7919 % 1000)


def single() -> Iterator[Line]:
    """Measure code that uses no thread, plain and under control."""
    for work in (count, sieve, words, arithmetic, tree):
        plain = least(work, 5)
        program = prepared(work, work.__name__)
        with program.controlled():
            instrumented = least(lambda program=program: run_once(program), 5)  # type: ignore[misc]
        yield Line(
            "single",
            work.__name__,
            plain=plain * 1e6,
            instrumented=instrumented * 1e6,
            ratio=instrumented / plain,
            goal=f"5{'' if instrumented / plain <= 5 else ' missed'}",
        )


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller programs")
    parser.add_argument("--rates", action="store_true", help="only executions per second")
    parser.add_argument("--json", action="store_true", help="one object per line")
    options = parser.parse_args()
    measurements = [rates(options.quick)]
    if not options.rates:
        measurements += [runs(options.quick), single()]
    print_measurements(measurements, as_json=options.json)


if __name__ == "__main__":
    main()

"""Everyday programs: is what is right verified, and what is wrong found?

Run `python benchmarks/everyday.py`.

240 programs: 68 shapes (`soak/`), most in two variants, each right and wrong. The table names every
one whose verdict is not the one that its author would give, or that took more than 2 s of CPU time.
`--all` lists the others as well.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import treadle
from printing import print_measurements
from soak import buses, caches, limits, pools, rounds, services, tries, waits

SECONDS = 2.0
"""Of CPU time, for what is right."""
MODULES = (buses, caches, limits, pools, rounds, services, tries, waits)


@dataclass(frozen=True)
class Line:
    """One program."""

    measurement: str
    program: str
    version: str
    verdict: str
    executions: int
    cpu_s: float
    is_as_wanted: bool
    said: str


def programs() -> Iterator[tuple[str, Callable[[bool], None]]]:
    """Return all programs by name."""
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and name.endswith(("_a", "_b")):
                yield name, function


def explored(name: str, program: Callable[[bool], None], *, right: bool) -> Line:
    """Explore one program."""

    def test() -> None:
        program(right)

    began = time.process_time()
    modules = [module.__name__ for module in MODULES]
    result = treadle.explore(test, instrument=modules, timeout=60)
    seconds = time.process_time() - began
    failed = bool(result.failures)
    verdict = "failed" if failed else "verified" if result.complete else "incomplete"
    wanted = verdict == ("verified" if right else "failed")
    said = str(result.failures[0]).partition("\n")[0] if failed else result.stopped_by
    return Line(
        "everyday programs", name, "right" if right else "wrong", verdict, result.executions,
        seconds, wanted and (not right or seconds <= SECONDS), said,
    )  # fmt: skip


@functools.cache
def warmed_up() -> None:
    """Have the standard library rewritten and kept."""
    explored("memo_a", caches.memo_a, right=True)


def main() -> None:
    """Explore all, and say what is not as wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="list all programs")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--program", action="append", help="only this one")
    options = parser.parse_args()
    warmed_up()
    lines = [
        explored(name, program, right=right)
        for name, program in programs()
        for right in (True, False)
        if name in (options.program or [name])
    ]
    shown = [line for line in lines if options.all or not line.is_as_wanted]
    if shown:
        print_measurements([shown], as_json=options.json)
    print(f"{sum(line.is_as_wanted for line in lines)} of {len(lines)} are as wanted")


if __name__ == "__main__":
    main()

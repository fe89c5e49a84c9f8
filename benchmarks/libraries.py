"""What does it cost that libraries keep state? Run `python benchmarks/libraries.py`.

Two threads call functions of a library that is not instrumented, each with arguments of its own,
and count in a variable that they share. Whatever else they see of each other is what the library
keeps in its modules (`treadle.python.accesses.kept_state`). Each exploration is measured with that
and without: executions, and CPU time of the quickest of several repetitions. Without it, an
exploration that is complete may have missed what two calls do to each other.

Measured in November 2026: jsonschema has 8 executions with and without, in the same time; packaging
has 8 instead of 4 (2.8 times the time), pluggy 16 instead of 4 (4.2), click 16 instead of 4 (6.8).
One execution takes 1.0 to 1.1 times as long in jsonschema and pluggy, whose calls are long, and 1.4
and 1.7 times in packaging and click, whose short calls become steps.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest import mock

import click
import jsonschema  # type: ignore[import-untyped]
import pluggy
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import treadle
from printing import print_measurements
from treadle.python.accesses import kept_state
from treadle.threads.program import ThreadProgram

REPEAT = 40
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
MOST = 2000
"""Executions of an exploration."""

hookspec = pluggy.HookspecMarker("benchmark")
hookimpl = pluggy.HookimplMarker("benchmark")


@dataclass(frozen=True)
class Line:
    """One library; times in milliseconds."""

    measurement: str
    library: str
    without: int
    executions: int
    ms_without: float
    ms: float
    us_per_execution_without: float
    us_per_execution: float
    ratio: float


class Spec:
    """What plugins can do."""

    @hookspec
    def twice(self, n: int) -> int:  # type: ignore[empty-body]
        """Double a number."""


class Plugin:
    """Doubles numbers."""

    @hookimpl
    def twice(self, n: int) -> int:
        """Double a number."""
        return 2 * n


def versions() -> None:
    """Compare versions, and look whether one is wanted."""
    assert Version("1.2") < Version("1.10")
    assert SpecifierSet(">=1,<2").contains("1.5")


def schema() -> None:
    """Validate something."""
    jsonschema.validate({"n": 1}, SCHEMA)


def plugins() -> None:
    """Register a plugin, and call it."""
    manager = pluggy.PluginManager("benchmark")
    manager.add_hookspecs(Spec)
    manager.register(Plugin())
    assert manager.hook.twice(n=2) == [4]


def style() -> None:
    """Colour a text."""
    assert click.unstyle(click.style("text", fg="red")) == "text"


LIBRARIES: dict[str, Callable[[], None]] = {
    "packaging": versions,
    "jsonschema": schema,
    "pluggy": plugins,
    "click": style,
}


def two_threads(work: Callable[[], None]) -> Callable[[], None]:
    """Return a test in which two threads do some work, and count."""

    def test() -> None:
        done = [0]

        def body() -> None:
            work()
            done[0] += 1

        threads = [threading.Thread(target=body) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return test


def measured(test: Callable[[], None], name: str) -> tuple[int, float]:
    """Return the executions of an exploration, and its CPU seconds."""
    program = ThreadProgram(test, name)
    program.try_out()
    best = float("inf")
    with program.controlled():
        for _ in range(REPEAT):
            started = time.process_time()
            result = treadle.explore(program, max_executions=MOST)
            best = min(best, time.process_time() - started)
    return result.executions, best


def keeps_nothing(function: object, owner: object) -> type[tuple[int, ...]]:
    """Stand for `kept_state.touching`, as if libraries kept nothing."""
    del function, owner
    return tuple


def names_nothing(function: object) -> list[object]:
    """Stand for `kept_state.named_by`, as if functions named nothing that is shared."""
    del function
    return []


def libraries() -> Iterator[Line]:
    """Measure each library with what it keeps, and without."""
    for name, work in LIBRARIES.items():
        test = two_threads(work)
        treadle.explore(test, max_executions=1)  # imports and caches
        with (
            mock.patch.object(kept_state, "touching", keeps_nothing),
            mock.patch.object(kept_state, "named_by", names_nothing),
        ):
            without, seconds_without = measured(test, name)
        executions, seconds = measured(test, name)
        yield Line(
            "what libraries keep",
            name,
            without,
            executions,
            seconds_without * 1e3,
            seconds * 1e3,
            seconds_without / without * 1e6,
            seconds / executions * 1e6,
            seconds / seconds_without,
        )


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object per line")
    print_measurements([libraries()], as_json=parser.parse_args().json)


if __name__ == "__main__":
    main()

"""How fast asyncio tests are explored: runs per CPU second, as ratios to plain asyncio.

    python benchmarks/asyncio_speed.py

`readers(5)` is one task that writes and five that read, each after a pause: 26 handles, 32 classes.
Plain asyncio runs the same coroutines on CPython's own loop, with `sleep(0)` for each pause.
Further runs are those without what one exploration costs in any case.

frontrun is no dependency: where it is installed, it explores the same tasks to the end beside.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import time
from typing import Any

import treadle

_ROUNDS = 5


_READERS = 5


class _Shared:
    x = 0


async def readers() -> list[int]:
    """Let one task write and some read."""
    shared = _Shared()

    async def write() -> None:
        await treadle.pause()
        shared.x = 1

    async def read() -> int:
        await treadle.pause()
        return shared.x

    found: list[Any] = await asyncio.gather(write(), *[read() for _ in range(_READERS)])
    return found[1:]


async def nothing() -> None:
    """Do nothing: what an exploration costs in any case."""


def main() -> None:
    """Measure, and print a table."""
    treadle.explore(readers)
    plain = _seconds(lambda: [asyncio.run(readers()) for _ in range(32)]) / 32
    explored = _seconds(lambda: treadle.explore(readers)) / 32
    fixed = _seconds(lambda: treadle.explore(nothing))
    further = explored - fixed / 32
    print(f"plain asyncio     {1 / plain:8,.0f} runs per CPU second")
    for what, seconds in ("treadle, fifo", explored), ("  further runs", further):
        print(f"{what:18}{1 / seconds:8,.0f} runs per CPU second, {seconds / plain:.1f} times")
    print(f"one exploration   {1000 * fixed:8.1f} ms, after the first")
    if importlib.util.find_spec("frontrun") is not None:
        _measure_frontrun(plain, explored * 32)
    else:
        print("frontrun          is not installed")


def _measure_frontrun(plain: float, answer: float) -> None:
    """Print how fast frontrun explores the same, and how long both take to the answer."""
    result = _explored_by_frontrun()
    seconds = _seconds(_explored_by_frontrun)
    each = seconds / result.num_explored
    print(
        f"{'frontrun':18}{1 / each:8,.0f} runs per CPU second, {each / plain:.1f} times; "
        f"{result.num_explored} runs, {seconds / answer:.1f} times as long to the answer"
    )


def _explored_by_frontrun() -> Any:
    frontrun: Any = importlib.import_module("frontrun")

    async def write(shared: _Shared) -> None:
        await asyncio.sleep(0)
        shared.x = 1

    async def read(shared: _Shared) -> int:
        await asyncio.sleep(0)
        return shared.x

    return asyncio.run(
        frontrun.explore(
            setup=_Shared,
            workers=[write, *[read] * _READERS],
            invariant=lambda _: True,
            stop_on_first=False,
            preemption_bound=None,
        )
    )


def _seconds(action: Any) -> float:
    """Return the CPU seconds of the fastest of some rounds."""
    best = float("inf")
    for _ in range(_ROUNDS):
        begun = time.process_time()
        action()
        best = min(best, time.process_time() - begun)
    return best


if __name__ == "__main__":
    main()

"""Threads that run at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import treadle

Look = tuple[Callable[[], Any], Callable[[], Any]]
"""What one thread does, and how another one looks at it."""


def together(*bodies: Callable[[], Any]) -> None:
    """Run functions in threads of their own, and wait for them."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def outcomes(program: Callable[[], Any], algorithm: str = "optimal") -> set[str]:
    """Return what a program returns, in words, in the executions of an exploration.

    Those in which Treadle learns what matters are none of these.
    """

    def test() -> None:
        raise ValueError(repr(program()))

    result = treadle.explore(test, algorithm, stop_on_failure=False, max_executions=2000)
    assert result.complete, result
    assert {failure.kind for failure in result.failures} == {"exception"}
    return {failure.message.removeprefix("ValueError: ") for failure in result.failures}


def looking(make: Callable[[], Look]) -> set[str]:
    """Return what one thread sees of what another one changes."""

    def program() -> Any:
        change, look = make()
        seen = []
        together(change, lambda: seen.append(look()))
        return seen[0]

    return outcomes(program)

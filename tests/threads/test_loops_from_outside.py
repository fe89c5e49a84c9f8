"""What threads see of an event loop that is not theirs: closed or not, running or not, settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from together import outcomes, together

import treadle


@contextmanager
def a_loop() -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    try:
        yield loop
    finally:
        loop.close()


def gives(loop: Any) -> str:
    try:
        loop.call_soon_threadsafe(int)
    except RuntimeError:
        return "closed"
    return "given"


def who_gives_to_a_loop_that_ends() -> str:
    seen = []
    with a_loop() as loop:

        def run() -> None:
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

        together(run, lambda: seen.append(gives(loop)))
    return seen[0]


def who_asks_before_giving() -> str:
    seen = []
    with a_loop() as loop:
        together(loop.close, lambda: seen.append("asked" if loop.is_closed() else gives(loop)))
    return seen[0]


def who_asks_whether_it_runs() -> bool:
    seen = []
    with a_loop() as loop:
        together(
            lambda: loop.run_until_complete(asyncio.sleep(0)),
            lambda: seen.append(loop.is_running()),
        )
    return seen[0]


def who_runs_what_another_closes() -> str:
    seen = []

    def run(loop: Any) -> None:
        try:
            loop.run_forever()
        except RuntimeError:
            seen.append("closed")
        else:
            seen.append("ran")

    with a_loop() as loop:
        loop.call_soon(loop.stop)

        def close() -> None:
            if not loop.is_running():
                loop.close()

        together(close, lambda: run(loop))
    return seen[0]


def who_asks_for_debug_mode() -> bool:
    seen = []
    with a_loop() as loop:
        loop.set_debug(False)
        together(lambda: loop.set_debug(True), lambda: seen.append(loop.get_debug()))
    return seen[0]


def who_asks_for_the_handler() -> bool:
    seen = []
    with a_loop() as loop:
        together(
            lambda: loop.set_exception_handler(lambda *_: None),
            lambda: seen.append(loop.get_exception_handler() is None),
        )
    return seen[0]


OUTCOMES: dict[Callable[[], Any], set[str]] = {
    who_gives_to_a_loop_that_ends: {"'given'", "'closed'"},
    who_asks_before_giving: {"'asked'", "'given'", "'closed'"},
    who_asks_whether_it_runs: {"False", "True"},
    who_asks_for_debug_mode: {"False", "True"},
    who_asks_for_the_handler: {"False", "True"},
}


@pytest.mark.parametrize("algorithm", ["optimal", "sleep"])
@pytest.mark.parametrize("program", OUTCOMES, ids=lambda program: program.__name__)
def test_both_orders_are_seen(program: Callable[[], Any], algorithm: str) -> None:
    assert outcomes(program, algorithm) == OUTCOMES[program]


def test_a_loop_that_is_closed_before_it_runs() -> None:
    assert outcomes(who_runs_what_another_closes) >= {"'ran'", "'closed'"}


def test_a_loop_of_ones_own_takes_no_step_more() -> None:
    def test() -> None:
        together(lambda: asyncio.run(asyncio.sleep(0)), lambda: asyncio.run(asyncio.sleep(0)))

    result = treadle.explore(test)
    assert result.ok
    assert result.executions == 1
    assert not result.escapes


def test_attributes_of_a_loop_that_a_thread_sets_are_named() -> None:
    def test() -> None:
        with a_loop() as loop:

            def change() -> None:
                loop.slow_callback_duration = 5

            together(change, lambda: loop.slow_callback_duration)

    (named,) = treadle.explore(test).escapes
    assert named.startswith("loop.__setattr__() at ")
    assert named.endswith("what threads do to each other through an event loop is not seen")
    assert treadle.explore(test, escapes="fail").failures[0].kind == "escape"

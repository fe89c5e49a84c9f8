"""Time on a virtual clock, and randomness that repeats itself."""

from __future__ import annotations

import datetime
import itertools
import math
import os
import random
import secrets
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime as imported_class
from random import randint
from time import monotonic, sleep
from typing import Any

import pytest
from test_thread import error_of, under_control, verify

import treadle

FAR = 10_000
"""Seconds that no test really waits for."""


def test_sleeping_takes_no_time() -> None:
    def function() -> list[float]:
        before = [time.monotonic(), time.time(), time.perf_counter(), monotonic()]
        time.sleep(FAR)
        sleep(FAR)
        after = [time.monotonic(), time.time(), time.perf_counter(), monotonic()]
        return [round(b - a) for a, b in zip(before, after, strict=True)]

    assert under_control(function) == [2 * FAR] * 4  # and it ends


def test_every_execution_begins_at_the_same_time() -> None:
    def function() -> list[object]:
        return [
            time.time(), time.time_ns(), time.monotonic(), time.monotonic_ns(), time.perf_counter(),
            time.perf_counter_ns(), time.process_time(), time.process_time_ns(), time.thread_time(),
            time.localtime(), time.gmtime(), time.ctime(), time.asctime(), time.strftime("%c"),
            time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime_ns(time.CLOCK_MONOTONIC),
            datetime.datetime.now(), datetime.datetime.now(datetime.UTC), imported_class.today(),
            datetime.date.today(),
        ]  # fmt: skip

    first = under_control(function)
    assert under_control(function) == first
    assert first[9].tm_year == first[16].year == 2001
    assert datetime.datetime.now().year > 2001
    assert time.time() > first[0] + FAR


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_times_agree() -> None:
    def function() -> None:
        stamps = [
            time.time(),
            time.time_ns() / 1e9,
            datetime.datetime.now().timestamp(),
            datetime.datetime.now(datetime.UTC).timestamp(),
            datetime.datetime.utcnow().replace(tzinfo=datetime.UTC).timestamp(),
        ]
        assert stamps == sorted(stamps)
        assert stamps[-1] - stamps[0] < 0.01

    under_control(function)


def test_the_clock_ticks_when_it_is_read() -> None:
    def function() -> None:
        readings = [time.perf_counter() for _ in range(10)]
        assert all(a < b for a, b in itertools.pairwise(readings))
        assert readings[-1] - readings[0] < 0.001

    under_control(function)


def test_a_loop_that_polls_until_a_deadline_ends() -> None:
    class Box:
        ready = False

    def test() -> None:
        box = Box()

        def wait() -> None:
            end = time.monotonic() + 5
            while not box.ready and time.monotonic() < end:
                pass

        thread = threading.Thread(target=wait)
        thread.start()
        box.ready = True
        thread.join()

    verify(test)


def bad_sleeps() -> list[str]:
    bad: list[Any] = [-1, -0.5, "1", None, math.nan, 1e20, math.inf, 2**70]
    return [error_of(lambda value=value: time.sleep(value)) for value in bad]  # type: ignore[misc]


def test_bad_sleeps_as_outside_of_control() -> None:
    assert under_control(bad_sleeps) == bad_sleeps()


def test_sleepers_wake_up_in_the_order_of_their_times() -> None:
    def function() -> list[int]:
        order: list[int] = []

        def body(seconds: int) -> None:
            time.sleep(seconds)
            order.append(seconds)

        threads = [threading.Thread(target=body, args=(seconds,)) for seconds in (30, 10, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert round(time.monotonic()) == 1030
        return order

    assert under_control(function) == [10, 20, 30]


def test_a_sleep_orders_nothing_if_threads_may_take_any_time() -> None:
    """What the sleeps suggest is no promise then: the other order is explored too."""
    seen = set()

    class Box:
        value = 0

    def test() -> None:
        box = Box()

        def late() -> None:
            time.sleep(1)
            box.value = 1

        thread = threading.Thread(target=late)
        thread.start()
        seen.add(box.value)
        thread.join()

    assert verify(test, timeouts="explore").executions == 2
    assert seen == {0, 1}


def test_joining_takes_the_later_time() -> None:
    def test() -> None:
        thread = threading.Thread(target=time.sleep, args=(FAR,))
        thread.start()
        thread.join()
        assert time.monotonic() > FAR

    assert verify(test).executions == 1


# Randomness


def drawn() -> list[object]:
    values: list[object] = [
        random.random(), randint(1, 10**9), random.choice(range(10**9)), random.gauss(),
        random.Random().random(), random.SystemRandom().random(), os.urandom(8), uuid.uuid4(),
        secrets.token_hex(), random.sample(range(100), 5), random.getstate()[1][:3],
    ]  # fmt: skip
    thread = threading.Thread(target=lambda: values.append((random.random(), os.urandom(4))))
    thread.start()
    thread.join()
    return values


def test_randomness_repeats_itself_in_every_execution() -> None:
    random.seed(1)
    expected = random.random()
    random.seed(1)
    first = under_control(drawn)
    assert under_control(drawn) == first
    assert random.random() == expected  # the real generator was not touched
    assert len(set(map(str, first))) == len(first)
    assert drawn() != first


def test_a_seed_of_the_test_counts() -> None:
    def function() -> tuple[float, int]:
        random.seed(42)
        return random.random(), random.Random(7).getrandbits(32)

    state = random.getstate()
    expected = function()
    random.setstate(state)
    assert under_control(function) == expected


@pytest.mark.parametrize("draw", [lambda: random.random(), lambda: os.urandom(4), uuid.uuid4])
def test_what_a_thread_draws_does_not_depend_on_the_others(draw: Callable[[], object]) -> None:
    seen: list[str] = []

    class Box:
        value = 0

    def test() -> None:
        found: dict[int, object] = {}
        box = Box()

        def body(number: int) -> None:
            box.value = number
            found[number] = draw()

        threads = [threading.Thread(target=body, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.append(str(sorted(found.items())))
        assert found[0] != found[1]

    verify(test)
    assert len(set(seen)) == 1


def test_a_test_that_asks_the_time_or_the_dice_is_deterministic() -> None:
    def test() -> None:
        numbers = sorted(random.sample(range(100), 3))
        until = time.time() + random.random()
        thread = threading.Thread(target=lambda: numbers.append(int(until)), name=str(uuid.uuid4()))
        thread.start()
        numbers.append(0)
        thread.join()

    result = treadle.explore(test)
    assert not result.failures, str(result.failures[0])


def test_two_threads_that_make_identifiers_of_the_time_look_at_the_clock() -> None:
    def test() -> None:
        threads = [threading.Thread(target=lambda: uuid.uuid1()) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    (note,) = treadle.explore(test).notes
    assert note.startswith("threads look at the clock (uuid.uuid1")

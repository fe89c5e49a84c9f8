"""What a search of asyncio's orders easily gets wrong, one by one."""

from __future__ import annotations

import asyncio
import functools
import gc
import operator
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from every_poll import ORDERS, agreed, gap
from exploring import explored

import treadle

# What callbacks in C and generators that are shared do is recorded

C_CALLBACKS: dict[str, Callable[[Any, int], tuple[Any, ...]]] = {
    "list": lambda log, i: (log.append, i),
    "insert": lambda log, i: (log.insert, 0, i),
    "extend": lambda log, i: (log.extend, (i,)),
    "partial": lambda log, i: (functools.partial(log.append, i),),
    "operator": lambda log, i: (operator.iadd, log, [i]),
    "type": lambda log, i: (list.append, log, i),
}


@pytest.mark.parametrize("how", C_CALLBACKS)
def test_callbacks_in_c(how: str) -> None:
    async def at_once() -> list[int]:
        log: list[int] = []
        for i in range(3):
            asyncio.get_running_loop().call_soon(*C_CALLBACKS[how](log, i))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return log

    async def later() -> list[int]:
        log: list[int] = []
        for i in range(2):
            asyncio.get_running_loop().call_later(1, *C_CALLBACKS[how](log, i))
        await asyncio.sleep(2)
        return log

    assert len(agreed(at_once, "any")[1]) == 6
    assert agreed(at_once, "fifo")[0] == 1
    assert [len(agreed(later, order)[1]) for order in ORDERS] == [2, 2]


CONTAINERS: dict[str, tuple[Callable[[], Any], Callable[[Any, int], tuple[Any, ...]]]] = {
    "deque": (deque, lambda kept, i: (kept.appendleft, i)),
    "dict": (dict, lambda kept, i: (kept.setdefault, "first", i)),
    "set": (set, lambda kept, i: ((kept.add if i else kept.clear), *((i,) if i else ()))),
    "bytearray": (bytearray, lambda kept, i: (kept.append, i)),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_callbacks_in_c_of_other_containers(kind: str) -> None:
    make, call = CONTAINERS[kind]

    async def test() -> str:
        kept = make()
        for i in range(2):
            asyncio.get_running_loop().call_later(1, *call(kept, i))
        await asyncio.sleep(2)
        return str(kept)

    assert agreed(test, "fifo")[0] == 2
    assert len(agreed(test, "any")[1]) == 2


@pytest.mark.parametrize("order", ORDERS)
def test_done_callbacks_in_c(order: str) -> None:
    async def test() -> list[str]:
        log: list[Any] = []

        async def one(i: int) -> int:
            await gap(order)
            return i

        tasks = [asyncio.create_task(one(i), name=str(i)) for i in range(2)]
        for task in tasks:
            task.add_done_callback(log.append)
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)
        return [task.get_name() for task in log]

    assert {"['0', '1']", "['1', '0']"} <= agreed(test, order)[1]


@pytest.mark.parametrize("order", ORDERS)
def test_coroutine_that_two_tasks_may_await(order: str) -> None:
    async def test() -> Any:
        async def once() -> str:
            return "once"

        coroutine = once()

        async def one() -> str:
            await gap(order)
            try:
                return await coroutine
            except RuntimeError:
                return "again"

        return await asyncio.gather(one(), one())

    assert agreed(test, order)[1] == {"['once', 'again']", "['again', 'once']"}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", ["await", "task", "gather", "wait_for", "close"])
def test_coroutine_that_takes_a_while_and_is_shared(order: str, how: str) -> None:
    """What the second is told depends on whether the first has ended."""

    async def test() -> Any:
        async def once() -> str:
            await gap(order)
            return "once"

        kept = {"coroutine": once()}

        async def first() -> str:
            await gap(order)
            try:
                return await kept["coroutine"]
            except RuntimeError as error:
                return str(error)

        async def second() -> Any:
            await gap(order)
            try:
                if how == "await":
                    return await kept["coroutine"]
                if how == "task":
                    return await asyncio.create_task(kept["coroutine"])
                if how == "gather":
                    return (await asyncio.gather(kept["coroutine"]))[0]
                if how == "wait_for":
                    return await asyncio.wait_for(kept["coroutine"], None)
                return kept["coroutine"].close()  # type: ignore[func-returns-value]
            except RuntimeError as error:
                return str(error)

        return await asyncio.gather(first(), second())

    assert len(agreed(test, order)[1]) >= 2


@pytest.mark.parametrize("order", ORDERS)
def test_generator_that_is_shared_and_has_no_state_of_its_own(order: str) -> None:
    async def test() -> Any:
        async def numbers() -> Any:
            yield 1
            yield 2

        shared = numbers()

        async def one() -> int:
            await gap(order)
            return await anext(shared)

        return await asyncio.gather(one(), one())

    assert agreed(test, order)[1] == {"[1, 2]", "[2, 1]"}


# what is done: final states in any order of ready tasks
GENERATORS = {
    "for": 6, "comprehension": 4, "late": 4, "asend": 4, "close": 3, "gather": 8, "dunder": 4,
    "wait_for": 4,
}  # fmt: skip


async def use(what: str, numbers: Any, i: int, order: str) -> Any:
    """Ask a generator that others may be running."""
    if what == "comprehension":
        return [x async for x in numbers]
    if what == "late":
        asked = anext(numbers)
        await gap(order)
        return await asked
    if what == "close" and i:
        await gap(order)
        return await numbers.aclose()
    if what == "gather":
        return await asyncio.gather(anext(numbers))
    if what == "wait_for":
        return await asyncio.wait_for(anext(numbers), None)
    return await {"asend": lambda: numbers.asend(None), "dunder": numbers.__anext__}.get(
        what, lambda: anext(numbers)
    )()


@pytest.mark.parametrize("what", GENERATORS)
@pytest.mark.parametrize("order", ORDERS)
def test_generator_that_is_asked_while_it_runs(what: str, order: str) -> None:
    async def test() -> Any:
        async def counting() -> Any:
            try:
                for i in range(2):
                    await gap(order)
                    yield i
            finally:
                log.append("end")

        log: list[Any] = []
        numbers = counting()

        async def one(i: int) -> None:
            try:
                if what == "for":
                    async for x in numbers:
                        log.append((i, x))
                else:
                    log.append((i, await use(what, numbers, i, order)))
            except (RuntimeError, StopAsyncIteration) as error:
                log.append((i, str(error)))

        await asyncio.gather(one(0), one(1))
        return log

    found = agreed(test, order)[1]
    assert order == "fifo" or len(found) == GENERATORS[what]


# Names: the same in every execution


@pytest.mark.parametrize("order", ORDERS)
def test_callbacks_are_named_by_who_registered_them(order: str) -> None:
    """Whoever completes a future, and when, a failing schedule can be replayed."""

    async def test() -> None:
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in range(2)]
        log: list[int] = []
        for i, future in enumerate(futures):
            future.add_done_callback(lambda _, i=i: log.append(i))

        async def complete(future: Any) -> None:
            await gap(order)
            future.set_result(None)

        await asyncio.gather(*map(complete, futures))
        await asyncio.sleep(0)
        assert log != [1, 0]

    (failure,) = treadle.explore(test, order=order, yields="exact").failures
    assert any(name.startswith("main/d") for name in failure.schedule)
    again = treadle.replay(test, failure.token)
    assert again is not None
    assert again.message == failure.message


_OF_SETS = """
import asyncio, treadle
async def test():
    log = []
    async def one(i):
        await treadle.pause()
        log.append(i)
    tasks = {asyncio.create_task(one(i), name=f"own {i}") for i in range(3)}
    first = next(iter(tasks))
    first.cancel()
    await asyncio.wait(tasks)
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(4)]
    handles = [loop.call_later(9, print) for _ in range(4)]
    log += [futures.index(one) for one in {*futures}]
    log += [handles.index(one) for one in {*handles}]
    log.append(first.get_name())
    for handle in handles:
        handle.cancel()
    raise ValueError(log)
result = treadle.explore(test, stop_on_failure=False)
print(result.executions, sorted(failure.message for failure in result.failures))
"""


def test_sets_of_tasks_are_in_the_same_order_in_every_process() -> None:
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", _OF_SETS]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1


@pytest.mark.parametrize("order", ORDERS)
def test_gather_of_the_same_coroutine_twice(order: str) -> None:
    async def test() -> Any:
        async def one() -> int:
            await gap(order)
            return 1

        twice = one()
        return await asyncio.gather(twice, twice)

    assert agreed(test, order) == (1, {"[1, 1]"})


# Cancelled handles, late answers, what is armed after the end


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", ["soon", "later"])
def test_a_handle_races_with_its_cancellation(order: str, how: str) -> None:
    async def test() -> list[str]:
        log: list[str] = []
        loop = asyncio.get_running_loop()

        async def caller() -> None:
            await gap(order)
            if how == "soon":
                handles.append(loop.call_soon(log.append, "called"))
            else:
                handles.append(loop.call_later(0, log.append, "called"))

        async def canceller() -> None:
            await gap(order)
            await asyncio.sleep(0)
            for handle in handles:
                handle.cancel()

        handles: list[asyncio.Handle] = []
        await asyncio.gather(caller(), canceller())
        await asyncio.sleep(1)
        return log

    assert agreed(test, order)[1] == {"['called']", "[]"}


def test_an_answer_that_is_late_at_first_is_tried_early() -> None:
    async def test() -> str:
        event = asyncio.Event()

        async def answer() -> None:
            await treadle.pause()
            event.set()

        asyncio.create_task(answer())  # noqa: RUF006 - it may well be pending at the end
        await treadle.pause()
        return "set" if event.is_set() else "not set"

    assert agreed(test, "fifo", leftover_tasks=False)[1] == {"'set'", "'not set'"}


def test_what_is_armed_after_the_end_makes_no_class() -> None:
    async def test() -> None:
        async def restless() -> None:
            for _ in range(3):
                await treadle.pause()

        asyncio.create_task(restless())  # noqa: RUF006 - it is still pending at the end

    result, _ = explored(test, "fifo", leftover_tasks=False)
    assert (result.complete, result.executions) == (True, 1)


# Steps whose accesses depend on values; times of countdowns


def test_steps_that_touch_other_things_in_another_order() -> None:
    async def test() -> tuple[int, ...]:
        at, cells = [0], [0, 0, 0]

        async def move() -> None:
            await asyncio.sleep(0)
            at[0] += 1

        async def write() -> None:
            await asyncio.sleep(0)
            cells[at[0]] += 1

        async def read() -> None:
            await asyncio.sleep(0)
            if cells[0]:
                at[0] = 2

        await asyncio.gather(move(), write(), read())
        return (at[0], *cells)

    assert len(agreed(test, "any")[1]) == 4


@pytest.mark.parametrize("order", ORDERS)
def test_what_a_countdown_wakes_happens_at_the_latest_moment(order: str) -> None:
    async def test() -> list[str]:
        log: list[str] = []

        async def both() -> None:
            await asyncio.gather(asyncio.sleep(1), asyncio.sleep(2))
            await asyncio.sleep(2)
            log.append("both")

        async def between() -> None:
            await asyncio.sleep(3.5)
            log.append("between")

        await asyncio.gather(both(), between())
        return log

    assert agreed(test, order) == (1, {"['between', 'both']"})


# Memory: nothing is kept or collected in the middle of a run that would not be otherwise


def test_nothing_is_collected_in_the_middle_of_a_run() -> None:
    async def test() -> bool:
        await treadle.pause()
        return gc.isenabled()

    assert explored(test, "fifo")[1] == {"False"}
    assert gc.isenabled()


def test_finalizers_that_make_tasks_are_run_in_every_execution_alike() -> None:
    class Connection:
        def __init__(self) -> None:
            self.itself = self
            self.loop = asyncio.get_running_loop()

        def __del__(self) -> None:
            self.loop.call_soon(len, "closed")

    async def test() -> int:
        async def use() -> None:
            Connection()
            await treadle.pause()
            log.append(len([0] * 1000))

        log: list[int] = []
        await asyncio.gather(use(), use())
        return len(log)

    result, seen = explored(test, "fifo")
    assert (result.complete, result.executions, seen) == (True, 1, {"2"})


@pytest.mark.parametrize("read", ["readexactly", "readline", "readuntil", "read"])
def test_buffers_of_streams_are_held_by_nobody(read: str) -> None:
    async def test() -> bytes:
        reader = asyncio.StreamReader()
        found: list[bytes] = []

        async def feed() -> None:
            for part in (b"ab", b"c\n", b"d\n"):
                await treadle.pause()
                reader.feed_data(part)
            reader.feed_eof()

        async def take() -> None:
            size = (3,) if read == "readexactly" else (-1,) if read == "read" else ()
            found.append(await getattr(reader, read)(*size))
            found.append(await reader.read())

        await asyncio.gather(feed(), take())
        return b"".join(found)

    result, seen = explored(test, "fifo")
    assert (result.complete, result.failures, seen) == (True, [], {repr(b"abc\nd\n")})


_WITH_HANDLERS = """
import asyncio, treadle
async def test():
    units = asyncio.Semaphore(1)
    async def one():
        await asyncio.sleep(0)
        async with units:
            await asyncio.sleep(0)
    await asyncio.gather(one(), one(), one())
print(treadle.explore(test, order="any", yields="exact").complete)
"""


def test_frames_have_room_for_what_hooks_put_on_the_stack() -> None:
    """Also in handlers of exceptions: else something behind the frame is overwritten."""
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    command = [sys.executable, "-c", _WITH_HANDLERS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr

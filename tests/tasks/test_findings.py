"""What is found to be wrong with tests that are coroutine functions, each with its kind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import runpy
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

import treadle
from treadle.core.words import place_in_words
from treadle.tasks.waiting import is_asyncio

BOTH = pytest.mark.parametrize("order", ["fifo", "any"])


def found(test: Callable[[], Any], **options: Any) -> list[tuple[str, str]]:
    """Return the kinds and messages of all failures."""
    result = treadle.explore(test, stop_on_failure=False, **options)
    assert result.complete
    return [(failure.kind, failure.message) for failure in result.failures]


def kinds(test: Callable[[], Any], **options: Any) -> set[str]:
    """Return the kinds of all failures."""
    return {kind for kind, _ in found(test, **options)}


@BOTH
def test_failed_assertion_and_exception(order: str) -> None:
    async def asserts() -> None:
        await treadle.pause()
        raise AssertionError("no")

    async def raises() -> None:
        await treadle.pause()
        raise KeyError("no")

    assert found(asserts, order=order) == [("assertion", "AssertionError: no")]
    assert found(raises, order=order) == [("exception", "KeyError: 'no'")]


@BOTH
def test_deadlock_names_the_circle_first(order: str) -> None:
    async def test() -> None:
        first, second = asyncio.Lock(), asyncio.Lock()

        async def both(one: asyncio.Lock, other: asyncio.Lock) -> None:
            async with one:
                await treadle.pause()
                async with other:
                    pass

        await asyncio.gather(both(first, second), both(second, first))

    result = treadle.explore(test, order=order)
    (failure,) = result.failures
    assert failure.kind == "deadlock"
    assert failure.message == (
        "main.1 waits for a lock, held by main.2; main.2 waits for a lock, held by main.1; "
        "main waits for the end of main.1, main.2"
    )
    one, other, main = failure.waits
    assert (one.label, other.label, main.label) == ("both #1", "both #2", "")
    assert one.where == other.where != main.where
    assert "test_findings.py:" in one.where


async def _stuck(what: str) -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(1)
    condition, group_is = asyncio.Condition(), asyncio.Event()
    if what == "get":
        await queue.get()
    elif what == "put":
        await queue.put(1)
        await queue.put(2)
    elif what == "join":
        await queue.put(1)
        await queue.join()
    elif what == "event":
        await group_is.wait()
    elif what == "condition":
        async with condition:
            await condition.wait()
    elif what == "semaphore":
        await asyncio.Semaphore(0).acquire()
    elif what == "barrier":
        await asyncio.Barrier(2).wait()
    elif what == "future":
        await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("get", "an item in a queue"),
        ("put", "room in a queue"),
        ("join", "all items of a queue to be done"),
        ("event", "an event to be set"),
        ("condition", "a notification of a condition"),
        ("semaphore", "a unit of a semaphore"),
        ("barrier", "others at a barrier"),
        ("future", "a future that nobody completes"),
    ],
)
@pytest.mark.parametrize("through", ["gather", "wait", "shield", "group", "task", "wait_for"])
def test_deadlock_says_what_is_awaited(what: str, words: str, through: str) -> None:
    async def test() -> None:
        task = asyncio.create_task(_stuck(what), name="stuck")
        if through == "gather":
            await asyncio.gather(task)
        elif through == "wait":
            await asyncio.wait([task])
        elif through == "shield":
            await asyncio.shield(task)
        elif through == "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.wait_for(task, None))
        elif through == "task":
            await task
        else:
            await asyncio.wait_for(task, None)

    (failure,) = treadle.explore(test).failures
    waits = {wait.process: wait for wait in failure.waits}
    assert failure.kind == "deadlock"
    assert (waits["main.1"].resource, waits["main.1"].label) == (words, "stuck")
    outer = "main.2" if through == "group" else "main"
    assert waits[outer].holders == ("main.1",)


@BOTH
def test_exception_that_nobody_retrieves(order: str) -> None:
    async def test() -> None:
        async def bad() -> None:
            raise ValueError("lost")

        task = asyncio.create_task(bad())
        await treadle.pause()
        await treadle.pause()
        del task

    assert found(test, order=order) == [("exception", "ValueError: lost")]


@BOTH
def test_exception_that_somebody_retrieves(order: str) -> None:
    async def test() -> None:
        async def bad() -> None:
            raise ValueError("seen")

        task = asyncio.create_task(bad())
        await asyncio.wait([task])
        task.exception()

    assert found(test, order=order) == []


@BOTH
def test_exception_in_a_callback(order: str) -> None:
    async def test() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 // 0)
        await treadle.pause()

    assert kinds(test, order=order) == {"exception"}


@BOTH
def test_exception_in_the_clean_up_of_a_generator(order: str) -> None:
    async def test() -> None:
        async def numbers() -> Any:
            try:
                yield 1
            finally:
                raise KeyError("clean-up")

        generator = numbers()
        await anext(generator)
        await treadle.pause()

    assert found(test, order=order) == [("exception", "KeyError: 'clean-up'")]


async def _swallow() -> None:
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            continue


@BOTH
def test_leftover_task(order: str) -> None:
    async def test() -> None:
        task = asyncio.create_task(_swallow(), name="deaf")
        await treadle.pause()
        del task

    result = treadle.explore(test, order=order)
    (failure,) = result.failures
    assert failure.kind == "leftover"
    assert failure.waits[0].label == "deaf"
    assert "test_findings.py:" in failure.waits[0].where
    assert found(test, order=order, leftover_tasks=False) == []


@BOTH
def test_background_task_that_can_be_cancelled_is_no_finding(order: str) -> None:
    async def test() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue()

        async def work() -> None:
            while True:
                await queue.get()

        worker = asyncio.create_task(work())
        queue.put_nowait(1)
        await treadle.pause()
        del worker

    assert found(test, order=order) == []


@BOTH
def test_coroutine_that_is_never_awaited(order: str) -> None:
    async def save() -> None:
        pass

    async def test() -> None:
        save()  # type: ignore[unused-coroutine]
        await treadle.pause()
        asyncio.sleep(1)  # type: ignore[unused-coroutine]

    first, second = found(test, order=order)
    assert first[0] == second[0] == "unawaited"
    line = test.__code__.co_firstlineno
    assert f"save that was created at tests/tasks/test_findings.py:{line + 1} was" in first[1]
    assert f"sleep that was created at tests/tasks/test_findings.py:{line + 3} was" in second[1]


def cancel_safe_lock(*, is_safe: bool) -> Callable[[], Any]:
    async def test() -> None:
        lock = asyncio.Lock()

        async def work() -> None:
            await lock.acquire()
            if not is_safe:
                await treadle.pause()
                lock.release()
                return
            try:
                await treadle.pause()
            finally:
                lock.release()

        tasks = [asyncio.create_task(work()) for _ in range(2)]
        await asyncio.wait(tasks)
        assert not lock.locked()

    return test


@BOTH
def test_cancellations_as_faults(order: str) -> None:
    careless, safe = cancel_safe_lock(is_safe=False), cancel_safe_lock(is_safe=True)
    assert kinds(careless, order=order) == set()
    assert kinds(careless, order=order, cancellations=1) == {"assertion", "deadlock"}
    for most in (1, 2):
        assert kinds(safe, order=order, cancellations=most) == set()


def test_cancellations_are_counted_from_zero() -> None:
    with pytest.raises(treadle.TreadleError, match="cancellations must be a whole number, 0 or"):
        treadle.explore(cancel_safe_lock(is_safe=True), cancellations=-1)


async def _turns_in_vain() -> None:
    flag: list[int] = []
    while not flag:
        await asyncio.sleep(0)


async def _turns_until_set() -> None:
    flag: list[int] = []
    asyncio.get_running_loop().call_later(1, flag.append, 1)
    while not flag:
        await asyncio.sleep(0)


async def _turns_until_cancelled() -> None:
    task = asyncio.create_task(_turns_in_vain())
    await treadle.pause()
    task.cancel()


async def _thirty_turns() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "options", [{}, {"order": "any"}, {"yields": "exact"}], ids=["fifo", "any", "exact"]
)
def test_loops_of_turns(options: dict[str, Any]) -> None:
    assert kinds(_turns_in_vain, max_steps=500, **options) == {"livelock"}
    for ends in (_turns_until_set, _turns_until_cancelled, _thirty_turns):
        result = treadle.explore(ends, max_steps=500, **options)
        assert (result.complete, result.failures) == (True, [])
        assert result.executions <= 3


def test_a_folder_of_the_users_may_be_called_asyncio(tmp_path: Path) -> None:
    """What lies in it was taken for the library: no accesses, no places, and false livelocks."""
    folder = tmp_path / "asyncio"
    folder.mkdir()
    (folder / "shop.py").write_text(
        "import asyncio\nimport treadle\n\nclass Shop:\n    stock = 1\n"
        "    async def buy(self):\n        if self.stock:\n            await treadle.pause()\n"
        "            self.stock -= 1\n\nasync def both():\n    shop = Shop()\n"
        "    await asyncio.gather(shop.buy(), shop.buy())\n    assert shop.stock == 0\n"
    )
    module = runpy.run_path(str(folder / "shop.py"), run_name="shop_in_a_folder")
    (failure,) = treadle.explore(module["both"]).failures
    assert failure.kind == "assertion"
    lines = {step.where.rpartition(":")[2] for step in failure.trace if step.accesses}
    assert lines == {"7", "9", "14"}
    assert all("shop.py" in step.where for step in failure.trace if step.where)
    assert is_asyncio(asyncio.locks.__file__)


def line_of(test: Callable[[], Any], text: str) -> str:
    """Return `file:line` of the first line of a test with a text."""
    lines, first = inspect.getsourcelines(test)
    at = next(index for index, line in enumerate(lines) if text in line)
    return place_in_words((__file__, first + at))


class Flag:
    up = False


def rounds(kind: str) -> Callable[[], Any]:
    async def only_reads() -> None:
        flag = Flag()
        other = asyncio.create_task(raising(flag))
        while not flag.up:  # here
            pass
        await other

    async def awaits_what_is_there() -> None:
        flag, event = Flag(), asyncio.Event()
        other = asyncio.create_task(raising(flag))
        event.set()
        while not flag.up:  # here
            await event.wait()
        await other

    async def sleeps() -> None:
        flag = Flag()
        other = asyncio.create_task(raising(flag))
        while not flag.up:  # here
            time.sleep(0.1)
        await other

    async def raising(flag: Flag) -> None:
        flag.up = True

    tests: list[Callable[[], Any]] = [only_reads, awaits_what_is_there, sleeps]
    return {test.__name__: test for test in tests}[kind]


@BOTH
@pytest.mark.parametrize("kind", ["only_reads", "awaits_what_is_there", "sleeps"])
def test_loop_inside_of_a_step_that_never_ends(kind: str, order: str) -> None:
    test = rounds(kind)
    result = treadle.explore(test, order=order)
    (failure,) = result.failures
    assert failure.kind == "livelock"
    assert "never ends: it changes nothing" in failure.message
    file, line = line_of(test, "# here").rsplit(":", 1)
    assert f"{file}:{line}" in failure.message or f"{file}:{int(line) + 1}" in failure.message


@BOTH
def test_loops_inside_of_a_step_that_end(order: str) -> None:
    async def test() -> int:
        numbers, count, found = iter(range(3000)), 0, Flag()
        while next(numbers, None) is not None:
            pass
        while count < 3000:
            count += 1
        items = [0] * 3000
        while items:
            items.pop()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            pass
        queue: asyncio.Queue[int] = asyncio.Queue()
        for i in range(1500):
            queue.put_nowait(i)
        while not queue.empty():
            await queue.get()
        found.up = True
        await treadle.pause()
        return count

    result = treadle.explore(test, order=order)
    assert (result.complete, result.failures) == (True, [])


def blocking(kind: str) -> Callable[[], Any]:
    async def lock() -> None:
        lock = threading.Lock()

        async def one() -> None:
            with lock:  # here
                await treadle.pause()

        await asyncio.gather(one(), one())

    async def result() -> None:
        future: concurrent.futures.Future[int] = concurrent.futures.Future()
        await treadle.pause()
        future.result()  # here

    async def itself() -> None:
        loop = asyncio.get_running_loop()
        asyncio.run_coroutine_threadsafe(treadle.pause(), loop).result()  # here

    tests: list[Callable[[], Any]] = [lock, result, itself]
    return {test.__name__: test for test in tests}[kind]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("lock", "main.2 waits for lock at"),
        ("result", "main waits for the result of a future at"),
        ("itself", "main waits for the result of future at"),
    ],
)
def test_wait_without_await_is_named_with_its_line(kind: str, words: str) -> None:
    test = blocking(kind)
    result = treadle.explore(test)
    failure = result.failures[0]
    assert failure.kind == "deadlock"
    assert f"{words} {line_of(test, '# here')} without `await`" in failure.message


def test_waits_for_a_thread_that_ends_them_are_no_finding() -> None:
    async def test() -> None:
        event = threading.Event()
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(None, event.set)
        event.wait()
        await done

    result = treadle.explore(test)
    assert (result.complete, result.failures) == (True, [])


def test_sleep_that_blocks_the_loop_is_noted_with_its_line() -> None:
    async def test() -> None:
        time.sleep(1)  # here
        await treadle.pause()

    result = treadle.explore(test)
    assert result.failures == []
    assert result.notes == [
        f"time.sleep() at {line_of(test, '# here')} blocks the whole loop, so that no other task "
        f"runs meanwhile: `await asyncio.sleep(...)` lets them"
    ]


def test_sleep_in_a_thread_blocks_nobody() -> None:
    async def test() -> None:
        await asyncio.to_thread(time.sleep, 1)

    result = treadle.explore(test)
    assert (result.complete, result.failures, result.notes) == (True, [], [])


async def _two_delays_at_one_line() -> None:
    answer = treadle.slow(AsyncMock(side_effect=str.upper))
    assert await answer("a") == "A"


@pytest.mark.parametrize("order", ["fifo", "any"])
def test_two_delays_in_one_await_are_no_loop(order: str) -> None:
    """`slow` pauses twice at one line of the test, which stands there all the while."""
    result = treadle.explore(_two_delays_at_one_line, order=order)
    assert (result.executions, result.complete, result.failures) == (1, True, [])


def test_what_a_loop_calls_itself_is_nowhere_in_the_tests_caller() -> None:
    async def test() -> None:
        log: list[int] = []
        asyncio.get_running_loop().call_soon(log.append, 1)
        await asyncio.sleep(2)
        assert log == [2]

    (failure,) = treadle.explore(test).failures
    line = test.__code__.co_firstlineno
    lines = {int(step.where.rpartition(":")[2]) for step in failure.trace if step.where}
    assert lines == {line + 3, line + 4}
    (called,) = [step for step in failure.trace if step.accesses and not step.source]
    assert called.where == ""

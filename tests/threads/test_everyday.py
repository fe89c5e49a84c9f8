"""Concurrent code as it is written every day: caches, workers, mocks. Exact verdicts and counts."""

from __future__ import annotations

import collections
import functools
import importlib
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock, call

import cachetools
import pytest
from together import together

import treadle
from treadle.explore.progress import Estimator
from treadle.python.instrument import modules

LIBRARY = """
import threading

class Feed:
    def __init__(self): self.sent = []
    def send(self, *receivers):
        for receive in receivers:
            receive(self.sent)
            self.sent.append(1)

def held(lock=threading.Lock()):
    lock.acquire()
    lock.acquire()
"""
ALGORITHMS = ["sleep", "source", "optimal"]
Body = Callable[[], Any]


def everything(test: Body, **options: Any) -> tuple[int, set[str]]:
    """Explore with three algorithms, which must agree; return executions and kinds of failures."""
    found = set()
    for algorithm in ALGORITHMS:
        result = treadle.explore(test, algorithm, stop_on_failure=False, **options)
        assert result.complete
        for failure in result.failures:
            replayed = treadle.replay(test, failure.token)
            assert replayed is not None
            assert replayed.kind == failure.kind
        found.add((result.executions, frozenset(failure.kind for failure in result.failures)))
    assert len(found) == 1
    executions, kinds = found.pop()
    return executions, set(kinds)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module that lies where the code of others does."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "feeds_of_others.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("feeds_of_others")
    del sys.modules["feeds_of_others"]


# Code that is not instrumented and calls back


def test_a_cache_of_others_keeps_a_result_after_it_called_the_function() -> None:
    def test() -> None:
        calls = []

        @cachetools.cached(cachetools.LRUCache(2))
        def square(number: int) -> int:
            calls.append(number)
            return number * number

        together(lambda: square(1), lambda: square(1))
        assert calls == [1]

    assert everything(test) == (10, {"assertion"})


def test_code_of_others_goes_on_between_two_callbacks(library: Any) -> None:
    def test() -> None:
        feed = library.Feed()
        log = [0]

        def count(_: Any) -> None:
            log[0] = 1

        seen = []
        together(lambda: feed.send(count, count), lambda: seen.append(len(feed.sent)))
        assert seen in ([0], [2])

    assert everything(test) == (10, {"assertion"})


def test_what_blocks_in_code_of_others_can_be_instrumented(library: Any) -> None:
    def test() -> None:
        together(library.held)

    said = "add 'feeds_of_others' to `instrument` if it waits for a lock"
    with pytest.raises(treadle.TreadleError, match=said):
        treadle.explore(test, watchdog=0.5)


def test_what_objects_in_c_hold_is_shared() -> None:
    class Source(io.RawIOBase):
        reads = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.reads += 1
            buffer[:1] = b"x"
            return 1

    def test() -> None:
        source = Source()
        readers = [io.BufferedReader(source, 1) for _ in range(2)]
        together(*(reader.peek for reader in readers))
        assert source.reads == 2

    assert everything(test) == (58, {"assertion"})


def test_importing_what_is_there_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def look(*targets: Any) -> Any:
        looked.append(1)
        return original(*targets)

    original = modules.functions_and_instances
    monkeypatch.setattr(modules, "functions_and_instances", look)

    def test() -> None:
        together(*[lambda: importlib.import_module("json")] * 2)

    assert treadle.explore(test).ok
    assert len(looked) == 1


# Caches


@functools.cache
def settings() -> dict[str, int]:
    return {}


class Shop:
    @functools.lru_cache(maxsize=2)  # noqa: B019
    def basket(self, name: str) -> list[str]:
        return [name]


def test_a_singleton_by_a_cache_is_made_twice() -> None:
    def test() -> None:
        settings.cache_clear()
        made: list[Any] = []
        together(lambda: made.append(settings()), lambda: made.append(settings()))
        assert made[0] is made[1]

    code = settings.__wrapped__.__code__
    assert everything(test) == (12, {"assertion"})
    assert settings.__wrapped__.__code__ is code


def test_a_singleton_by_a_cache_that_is_asked_before() -> None:
    def test() -> None:
        settings.cache_clear()
        first = settings()
        made: list[Any] = []
        together(lambda: made.append(settings()), lambda: made.append(settings()))
        assert made[0] is made[1] is first

    assert everything(test) == (4, set())


def test_a_method_with_a_cache() -> None:
    def test() -> None:
        shop = Shop()
        made: list[Any] = []
        together(lambda: made.append(shop.basket("a")), lambda: made.append(shop.basket("a")))
        assert made[0] is made[1]

    assert everything(test) == (12, {"assertion"})


# One dictionary of attributes for several objects


class Borg:
    state: dict[str, int] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.__dict__ = self.state


@pytest.mark.parametrize("is_early", [False, True])
def test_objects_that_share_their_attributes(is_early: bool) -> None:
    def test() -> None:
        Borg.state.clear()
        Borg.state["n"] = 0
        made = [Borg(), Borg()] if is_early else []

        def increment(index: int) -> None:
            borg: Any = made[index] if made else Borg()
            borg.n += 1

        together(lambda: increment(0), lambda: increment(1))
        assert Borg.state["n"] == 2

    assert everything(test) == (4, {"assertion"})


# Workers that poll


def flush_until_stopped(*, flushes_at_the_end: bool) -> Body:
    def test() -> None:
        buffer: list[int] = []
        written: list[int] = []
        lock = threading.Lock()
        stop = threading.Event()

        def flush() -> None:
            with lock:
                if not buffer:
                    return
                written.extend(buffer)
                buffer.clear()

        def run() -> None:
            while not stop.wait(1):
                flush()
            if flushes_at_the_end:
                flush()

        worker = threading.Thread(target=run)
        worker.start()
        with lock:
            buffer.append(1)
        stop.set()
        worker.join()
        assert written == [1]

    return test


def test_a_worker_that_polls_under_a_lock() -> None:
    good, bad = (flush_until_stopped(flushes_at_the_end=at_end) for at_end in (True, False))
    assert everything(good, max_rounds=2)[1] == set()
    assert everything(bad, max_rounds=2)[1] == {"assertion"}


def beat_beside(*bodies: Body) -> Body:
    """Return a test with a thread that wakes up until all others are done."""

    def test() -> None:
        stop = threading.Event()
        beats = [0]

        def beat() -> None:
            while not stop.wait(0.5):
                beats[0] += 1

        thread = threading.Thread(target=beat)
        thread.start()
        together(*bodies)
        stop.set()
        thread.join()

    return test


def test_what_fails_beside_a_worker_is_found() -> None:
    """If it fails nobody stops the worker, so that no execution in which it fails ends."""

    def test() -> None:
        box = [0]

        def increment() -> None:
            value = box[0]
            box[0] = value + 1

        def check() -> None:
            together(increment, increment)
            assert box[0] == 2

        beat_beside(check)()

    assert everything(test, max_rounds=1)[1] == {"assertion"}


def test_a_deadlock_beside_a_worker_is_found() -> None:
    def test() -> None:
        first, second = threading.Lock(), threading.Lock()

        def one() -> None:
            with first, second:
                pass

        def other() -> None:
            with second, first:
                pass

        beat_beside(one, other)()

    assert everything(test, max_rounds=1)[1] == {"deadlock"}


def test_a_daemon_that_polls_leaves_nothing_out() -> None:
    def test() -> None:
        beats = [0]

        def beat() -> None:
            while True:
                time.sleep(1)
                beats[0] += 1

        threading.Thread(target=beat, daemon=True).start()
        treadle.assume(beats[0] < 2)

    result = treadle.explore(test, max_rounds=2, timeouts="explore")
    assert (result.complete, result.failures, result.cut) == (True, [], 1)
    assert treadle.explore(test).ok  # no second passes before the test is over


@pytest.mark.parametrize("algorithm", ["optimal", "source", "sleep"])
def test_a_deadline_in_a_loop_may_pass(algorithm: str) -> None:
    outcomes = set()

    def test() -> None:
        box = [0]

        def wait() -> bool:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                if box[0]:
                    return True
                time.sleep(1)
            return False

        def write() -> None:
            box[0] = 1

        thread = threading.Thread(target=write)
        thread.start()
        outcomes.add(wait())
        thread.join()

    assert treadle.explore(test, algorithm).ok
    assert outcomes == {True}  # writing takes no three seconds
    assert treadle.explore(test, algorithm, timeouts="explore").ok
    assert outcomes == {True, False}


def test_the_share_of_a_very_deep_tree_is_not_estimated() -> None:
    assert Estimator(lambda _: 1).estimate(1, 2000) is None


# A global lock


@pytest.mark.parametrize("granularity", ["access", "gil"])
def test_workers_that_steal(granularity: str) -> None:
    def test() -> None:
        queues = [collections.deque([1, 2]), collections.deque()]
        done: list[int] = []

        def run(mine: Any, other: Any) -> None:
            while True:
                try:
                    task = mine.pop()
                except IndexError:
                    try:
                        task = other.popleft()
                    except IndexError:
                        return
                done.append(task)

        together(lambda: run(*queues), lambda: run(*queues[::-1]))
        assert sorted(done) == [1, 2]

    assert everything(test, granularity=granularity)[1] == set()


# Mocks


def mock_of_calls() -> Mock:
    mock = Mock()
    together(lambda: mock.first(1), lambda: mock.second(2))
    return mock


def test_calls_of_mocks_that_nobody_asks_for_are_no_steps() -> None:
    def test() -> None:
        mock_of_calls()

    assert everything(test) == (1, set())


def test_the_number_of_calls_of_a_mock_does_not_depend_on_their_order() -> None:
    def test() -> None:
        mock = Mock()
        together(lambda: mock.send(1), lambda: mock.send(2))
        assert mock.send.call_count == 2
        mock.send.assert_any_call(1)

    assert everything(test) == (1, set())


def test_the_order_of_calls_of_mocks() -> None:
    def test() -> None:
        assert mock_of_calls().mock_calls == [call.first(1), call.second(2)]

    assert everything(test) == (2, {"assertion"})


def test_whether_a_mock_was_called() -> None:
    def test() -> None:
        mock = Mock()
        seen = []
        together(lambda: mock.send(), lambda: seen.append(mock.send.called))
        assert seen == [False]

    assert everything(test) == (2, {"assertion"})


def test_a_mock_that_is_called_twice() -> None:
    def test() -> None:
        mock = Mock()
        state = {"sent": False}

        def send() -> None:
            if not state["sent"]:
                mock.send("x")
                state["sent"] = True

        together(send, send)
        mock.send.assert_called_once_with("x")

    assert everything(test) == (4, {"assertion"})


def test_the_results_of_a_mock_come_in_the_order_of_its_calls() -> None:
    def test() -> None:
        mock = Mock(side_effect=[1, 2])
        got: list[Any] = [None, None]

        def take(index: int) -> None:
            got[index] = mock()

        together(lambda: take(0), lambda: take(1))
        assert got == [1, 2]

    assert everything(test) == (2, {"assertion"})


def test_attributes_of_a_mock() -> None:
    def test() -> None:
        mock = MagicMock()
        mock.n = 0

        def increment() -> None:
            mock.n += 1

        together(increment, increment)
        assert mock.n == 2

    assert everything(test) == (4, {"assertion"})


def test_what_a_mock_returns_is_changed() -> None:
    def test() -> None:
        mock = Mock(return_value=1)
        got = []

        def change() -> None:
            mock.return_value = 2

        together(lambda: got.append(mock()), change)
        assert got == [1]

    assert everything(test) == (2, {"assertion"})


def test_what_a_mock_was_given_can_be_reached_through_it() -> None:
    def test() -> None:
        mock = Mock()
        got: list[list[int]] = []

        def give() -> None:
            items: list[int] = []
            mock(items)
            items.append(1)

        def look() -> None:
            if mock.called:
                got.append(list(mock.call_args[0][0]))

        together(give, look)
        assert got != [[]]

    assert everything(test) == (3, {"assertion"})


def test_a_mock_is_reset() -> None:
    outcomes = set()

    def test() -> None:
        mock = Mock()
        mock()
        together(mock.reset_mock, lambda: outcomes.add(mock.call_count))

    assert everything(test)[1] == set()
    assert outcomes == {0, 1}

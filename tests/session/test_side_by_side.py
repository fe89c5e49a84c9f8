"""Searches side by side: in copies of the process, or one after the other."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from treadle.core.errors import TreadleBug, TreadleError
from treadle.session import side_by_side as module
from treadle.session.side_by_side import can_copy_process, side_by_side

needs_copies = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")


def square(n: int) -> tuple[int, int]:
    return n * n, os.getpid()


def jobs(count: int) -> list[Callable[[], tuple[int, int]]]:
    return [partial(square, n) for n in range(count)]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run beside threads of the test runner, which the jobs here do not need."""
    monkeypatch.setattr(module, "can_copy_process", lambda: True)


@needs_copies
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("workers", [2, 3, 10])
def test_each_job_has_a_process_of_its_own(workers: int) -> None:
    found = side_by_side(jobs(5), workers)
    assert [one[0] for one in found if one] == [0, 1, 4, 9, 16]
    processes = {one[1] for one in found if one}
    assert len(processes) == 5
    assert os.getpid() not in processes


def test_one_worker_is_this_process() -> None:
    found = side_by_side(jobs(3), 1)
    assert {one[1] for one in found if one} == {os.getpid()}
    assert side_by_side([], 4) == []


def test_other_threads_forbid_copies() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert not can_copy_process()
        found = side_by_side(jobs(3), 3)
        assert {one[1] for one in found if one} == {os.getpid()}
    finally:
        ended.set()
        thread.join()


def test_enough_is_enough() -> None:
    found = side_by_side(jobs(5), 1, lambda one: one[0] == 4)
    assert [one and one[0] for one in found] == [0, 1, 4, None, None]


def slow(n: int) -> tuple[int, int]:
    if n:
        time.sleep(60)  # it is ended long before
    return n, os.getpid()


@needs_copies
@pytest.mark.usefixtures("alone")
def test_what_still_runs_is_ended_when_there_is_enough() -> None:
    found = side_by_side([partial(slow, n) for n in range(3)], 3, lambda one: one[0] == 0)
    assert [one and one[0] for one in found] == [0, None, None]


def refuses() -> int:
    raise TreadleError("not like this")


def breaks() -> int:
    raise ZeroDivisionError("oh")


def vanishes() -> int:
    os._exit(3)


@needs_copies
@pytest.mark.usefixtures("alone")
def test_errors_come_back() -> None:
    with pytest.raises(TreadleError, match="not like this"):
        side_by_side([refuses, refuses], 2)
    with pytest.raises(TreadleBug, match="ZeroDivisionError: oh"):
        side_by_side([breaks, breaks], 2)
    with pytest.raises(TreadleBug, match="ended early"):
        side_by_side([vanishes, vanishes], 2)


def test_errors_of_one_after_the_other() -> None:
    with pytest.raises(TreadleError, match="not like this"):
        side_by_side([refuses], 1)

"""Loops that wait without blocking."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import treadle
from algorithms import covering

EXHAUSTIVE = covering()


class Flag:
    def __init__(self) -> None:
        self.is_set = False
        self.value = 0


def spin(flag: Flag) -> None:
    while not flag.is_set:
        pass


def spin_and_sleep(flag: Flag) -> None:
    while not flag.is_set:
        time.sleep(0.01)


def spin_with_a_local(flag: Flag) -> None:
    while True:
        seen = flag.is_set
        if seen:
            break


def is_set(flag: Flag) -> bool:
    return flag.is_set


def spin_by_a_call(flag: Flag) -> None:
    while not is_set(flag):
        continue


WAYS = [spin, spin_and_sleep, spin_with_a_local, spin_by_a_call]


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
@pytest.mark.parametrize("wait", WAYS)
def test_a_loop_waits_until_the_flag_is_written(
    wait: Callable[[Flag], None], algorithm: str
) -> None:
    def test() -> None:
        flag = Flag()

        def setter() -> None:
            flag.value = 42
            flag.is_set = True

        def waiter() -> None:
            wait(flag)
            assert flag.value == 42

        threads = [threading.Thread(target=body) for body in (waiter, setter)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = treadle.explore(test, algorithm)
    assert result.ok
    if algorithm == "optimal":
        assert result.blocked == 0
        # Seen at once, in a later round, or after waiting; the compiler may copy the first test.
        assert result.executions in (3, 4)
        assert result.executions == treadle.explore(test, "sleep").executions


@pytest.mark.parametrize("wait", WAYS)
def test_a_loop_that_nobody_ends_is_a_livelock(wait: Callable[[Flag], None]) -> None:
    def test() -> None:
        flag = Flag()

        def waiter() -> None:
            wait(flag)

        thread = threading.Thread(target=waiter)
        thread.start()
        flag.value = 1
        thread.join()

    def fixed() -> None:
        flag = Flag()
        thread = threading.Thread(target=lambda: wait(flag))
        thread.start()
        flag.is_set = True
        thread.join()

    failure = treadle.explore(test).failures[0]
    assert failure.kind == "livelock"
    assert "the end of its loop, which reads only what nobody ever changes" in failure.message
    assert any(wait.spins for wait in failure.waits)
    assert treadle.explore(fixed).ok


def test_the_wrong_order_of_writes_is_found() -> None:
    def test() -> None:
        flag = Flag()

        def setter() -> None:
            flag.is_set = True
            flag.value = 42

        thread = threading.Thread(target=setter)
        thread.start()
        spin(flag)
        assert flag.value == 42
        thread.join()

    result = treadle.explore(test)
    assert [failure.kind for failure in result.failures] == ["assertion"]


def test_loops_that_do_something_are_no_spin_loops() -> None:
    def test() -> None:
        flag = Flag()

        def reader() -> None:
            seen = []
            rounds = 0
            while rounds < 3:
                seen.append(flag.is_set)
                rounds += 1
            left = [1, 2, 3]
            while left:
                seen.append(flag.is_set)
                left.pop()
            numbers = iter(range(3))
            while next(numbers, None) is not None:
                seen.append(flag.is_set)
            for _ in range(3):
                assert flag.value in (0, 1)
            assert len(seen) == 9

        thread = threading.Thread(target=reader)
        thread.start()
        flag.is_set = True
        flag.value = 1
        thread.join()

    assert treadle.explore(test).ok


def test_a_time_out_in_a_loop_does_not_repeat_for_ever() -> None:
    def test() -> None:
        jobs: queue.Queue[int] = queue.Queue()
        ready = threading.Event()

        def worker() -> None:
            while not ready.wait(0.1):
                pass
            while True:
                try:
                    job = jobs.get(timeout=1)
                except queue.Empty:
                    continue
                break
            assert job == 1

        thread = threading.Thread(target=worker)
        thread.start()
        ready.set()
        jobs.put(1)
        thread.join()

    assert treadle.explore(test).ok


def test_a_daemon_may_spin_for_ever() -> None:
    def test() -> None:
        flag = Flag()

        def watcher() -> None:
            while True:
                time.sleep(1)
                assert flag.value < 2

        threading.Thread(target=watcher, daemon=True).start()
        flag.value = 1

    def buggy() -> None:
        flag = Flag()

        def watcher() -> None:
            while True:
                time.sleep(1)
                assert flag.value < 2

        threading.Thread(target=watcher, daemon=True).start()
        flag.value = 1
        flag.value = 2

    assert treadle.explore(test).ok
    assert [failure.kind for failure in treadle.explore(buggy).failures] == ["assertion"]


# Loops that wait again and again


def stopped_heart() -> None:
    """A thread that wakes up now and then, and counts, until it is told to stop."""
    beat_until_stopped()


def stopped_before_the_fourth_beat() -> None:
    """Hope that it does not wake up four times."""
    assert beat_until_stopped() != 4


def beat_until_stopped() -> int:
    stop = threading.Event()
    beats = [0]

    def work() -> None:
        while not stop.wait(0.5):
            beats[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    stop.set()
    thread.join()
    return beats[0]


def test_a_loop_that_wakes_up_for_ever_is_named() -> None:
    result = treadle.explore(stopped_heart, max_executions=3, timeouts="explore")
    assert (result.complete, result.failures, result.notes) == (False, [], [])
    result = treadle.explore(stopped_heart, max_executions=30, timeouts="explore")
    assert (result.complete, result.failures) == (False, [])
    line = line_of_loop(beat_until_stopped)
    (note,) = result.notes
    assert note == (
        f"a thread slept or waited in vain at tests/threads/test_spin.py:{line} 29 times in a row, "
        f"and every number of times is explored: bound it with max_rounds"
    )


@pytest.mark.parametrize("algorithm", treadle.ALGORITHMS)
@pytest.mark.parametrize(("most", "failing"), [(1, 0), (3, 0), (4, 1), (5, 1)])
def test_rounds_can_be_bounded(algorithm: str, most: int, failing: int) -> None:
    result = treadle.explore(
        stopped_before_the_fourth_beat,
        algorithm,
        max_rounds=most,
        stop_on_failure=False,
        max_executions=1000,
        timeouts="explore",
    )
    if treadle.ALGORITHMS[algorithm].covers:
        assert result.complete
        assert len(result.failures) == failing
    if algorithm == "optimal":
        assert (result.executions, result.cut) == (most + 1, 1)
        line, times = line_of_loop(beat_until_stopped), "1 time" if most == 1 else f"{most} times"
        assert result.notes == [
            f"a thread may sleep or wait in vain at tests/threads/test_spin.py:{line} more than "
            f"{times} in a row: what comes of that was left out (max_rounds)"
        ]


@pytest.mark.parametrize("algorithm", ["optimal", "source", "sleep"])
def test_what_others_do_after_a_loop_was_cut_is_explored(algorithm: str) -> None:
    """The stop comes only after a race of two others, and each outcome has to be seen."""
    seen: set[tuple[int, int]] = set()

    def test() -> None:
        stop = threading.Event()
        box = [0, 0]

        def work() -> None:
            while not stop.wait(0.5):
                box[0] += 1

        def write() -> None:
            box[1] = 1

        threads = [threading.Thread(target=work), threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        late = box[1]
        stop.set()
        for thread in threads:
            thread.join()
        seen.add((box[0], late))

    assert treadle.explore(test, algorithm, max_rounds=2, timeouts="explore").complete
    assert seen >= {(beats, late) for beats in range(3) for late in range(2)}
    assert {beats for beats, _ in seen} <= {0, 1, 2, 3}


@pytest.mark.parametrize("most", [0, -1, 1.5, "2"])
def test_rounds_must_be_a_number(most: Any) -> None:
    with pytest.raises(
        treadle.TreadleError,
        match="max_rounds must be a whole number above 0, or false for none, not ",
    ):
        treadle.explore(stopped_heart, max_rounds=most)


def line_of_loop(test: Any) -> int:
    """Return the line of the first `while` loop in a function."""
    lines, start = inspect.getsourcelines(test)
    return start + next(i for i, line in enumerate(lines) if "while" in line)


@pytest.mark.parametrize("algorithm", ["sleep", "source", "optimal"])
def test_a_bound_on_how_often_it_wakes_up(algorithm: str) -> None:
    """It is stopped after no, one or two beats; with a third, the execution is cut."""

    def test() -> None:
        stop = threading.Event()

        def work() -> None:
            beats = 0
            while not stop.wait(0.5):
                beats += 1
                treadle.assume(beats <= 2)

        thread = threading.Thread(target=work)
        thread.start()
        stop.set()
        thread.join()

    result = treadle.explore(test, algorithm, timeouts="explore")
    assert (result.ok, result.executions, result.cut, result.notes) == (True, 3, 1, [])


def test_a_search_that_ends_needs_no_such_note() -> None:
    def test() -> None:
        def work() -> None:
            for_how_long = 30
            while for_how_long:
                time.sleep(1)
                for_how_long -= 1

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    result = treadle.explore(test)
    assert (result.ok, result.notes) == (True, [])


# Loops that look with a lock taken


def poll(flag: Flag, lock: Any) -> None:
    while True:
        with lock:
            if flag.is_set:
                return


def poll_and_sleep(flag: Flag, lock: Any) -> None:
    while True:
        with lock:
            if flag.is_set:
                return
        time.sleep(0.1)


def poll_two_locks(flag: Flag, lock: Any) -> None:
    own = threading.RLock()
    while True:
        with own, lock:
            if flag.is_set:
                return


def poll_by_a_call(flag: Flag, lock: Any) -> None:
    def look() -> bool:
        with lock:
            return flag.is_set

    while not look():
        pass


POLLS = [poll, poll_and_sleep, poll_two_locks, poll_by_a_call]


def polled(look: Callable[[Flag, Any], None], value: bool) -> Callable[[], None]:
    def test() -> None:
        flag, lock = Flag(), threading.Lock()

        def write() -> None:
            with lock:
                flag.value = 42
                flag.is_set = value

        def read() -> None:
            look(flag, lock)
            with lock:
                assert flag.value == 42

        threads = [threading.Thread(target=body) for body in (read, write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return test


@pytest.mark.parametrize("look", POLLS)
def test_a_loop_under_a_lock_waits_until_somebody_writes(look: Callable[[Flag, Any], None]) -> None:
    for algorithm in ("optimal", "sleep", "exhaustive"):
        assert treadle.explore(polled(look, value=True), algorithm).ok
    result = treadle.explore(polled(look, value=True), races=True)
    assert (result.ok, result.blocked) == (True, 0)
    assert result.executions == (4 if look is poll_by_a_call else 3)  # the compiler copies its test
    (failure,) = treadle.explore(polled(look, value=False)).failures
    assert failure.kind == "livelock"


def test_who_does_not_wait_for_the_lock_of_a_loop_sees_it_taken() -> None:
    seen: set[tuple[bool, bool]] = set()

    def test() -> None:
        flag, lock = Flag(), threading.Lock()
        thread = threading.Thread(target=poll, args=(flag, lock))
        thread.start()
        got = []
        for _ in range(2):
            got.append(lock.acquire(False))
            if got[-1]:
                lock.release()
        flag.is_set = True
        thread.join()
        seen.add((got[0], got[1]))

    treadle.explore(test, max_executions=200, max_steps=60, stop_on_failure=False)
    assert seen == {(True, True), (True, False), (False, True), (False, False)}


def test_a_loop_with_a_condition_variable_ends() -> None:
    def test() -> None:
        flag, line = Flag(), threading.Condition()

        def write() -> None:
            with line:
                flag.is_set = True

        thread = threading.Thread(target=write)
        thread.start()
        with line:
            while not flag.is_set:
                line.wait(0.1)
        thread.join()

    result = treadle.explore(test, races=True)
    assert (result.ok, result.blocked) == (True, 0)


# Loops that call what nobody sees


def begin_in_a_loop(path: str) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as mine:
        while True:
            try:
                mine.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                continue
            break


@pytest.mark.parametrize("seconds", [1.0, 0.1])
def test_a_loop_over_a_database_that_somebody_lets_go_late_is_no_livelock(
    tmp_path: Path, seconds: float
) -> None:
    path = str(tmp_path / "x.db")

    def test() -> None:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=begin_in_a_loop, args=(path,))
        thread.start()
        thread.join(seconds)
        holder.execute("COMMIT")
        thread.join()
        holder.close()

    result = treadle.explore(test)
    assert (result.failures, result.complete) == ([], True)


def test_nothing_is_proved_about_a_loop_over_a_database_that_does_not_end(tmp_path: Path) -> None:
    path = str(tmp_path / "x.db")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    def test() -> None:
        thread = threading.Thread(target=begin_in_a_loop, args=(path,))
        thread.start()
        thread.join()

    result = treadle.explore(test, timeout=0.5)
    holder.close()
    assert (result.failures, result.stopped_by) == ([], "timeout = 0.5 s")


def test_a_test_that_is_out_of_time_in_its_first_step_is_incomplete() -> None:
    def test() -> None:
        while True:
            list(map(int, "123"))

    result = treadle.explore(test, timeout=0.5)
    assert (result.failures, result.stopped_by) == ([], "timeout = 0.5 s")


# Loops with two jumps back, and variables that others assign


def a_worker_that_polls() -> None:
    lock = threading.Lock()
    jobs: list[int] = []
    done = []
    stop = False

    def work() -> None:
        while True:
            with lock:
                if jobs:
                    done.append(jobs.pop(0))
                    continue
                if stop:
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    for number in range(2):
        with lock:
            jobs.append(number)
    with lock:
        stop = True
    thread.join()
    assert done == [0, 1]


def test_a_loop_does_not_look_at_variables_that_others_assign_unless_it_reads_them() -> None:
    result = treadle.explore(a_worker_that_polls)
    assert (result.failures, result.complete) == ([], True)


def what_only_it_has() -> None:
    ready: list[int] = []
    done = []

    def work() -> None:
        left = [1, 2]
        times = 0
        while True:
            if ready:
                return
            if left and times % 2:
                left.pop()
                times = 0
                continue
            if not left:
                done.append(True)
                return
            times = 1
            time.sleep(0.1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    ready.append(1)
    assert done == [True]


def test_a_loop_changed_something_if_it_did_so_in_a_round_that_another_jump_ended() -> None:
    result = treadle.explore(what_only_it_has)
    assert (result.failures, result.complete, result.executions) == ([], True, 1)


# Locks that loops take, and that others look at


def looks(
    ways: Callable[[threading.Lock], bool], count: int, sleeps: bool
) -> set[tuple[bool, ...]]:
    """Return what somebody may find who looks at a lock that a loop takes again and again."""
    found = set()

    def test() -> None:
        lock = threading.Lock()
        done = False

        def poll() -> None:
            while True:
                with lock:
                    if done:
                        return
                if sleeps:
                    time.sleep(0.1)

        thread = threading.Thread(target=poll)
        thread.start()
        seen = tuple(ways(lock) for _ in range(count))
        with lock:
            done = True
        thread.join()
        found.add(seen)

    result = treadle.explore(test)
    assert (result.failures, result.complete) == ([], True)
    return found


def is_locked(lock: threading.Lock) -> bool:
    return lock.locked()


def cannot_be_taken(lock: threading.Lock) -> bool:
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


@pytest.mark.parametrize("sleeps", [False, True])
@pytest.mark.parametrize(("way", "count"), [(is_locked, 5), (cannot_be_taken, 3)])
def test_who_looks_at_a_lock_that_a_loop_takes_finds_it_taken_or_not_each_time(
    way: Callable[[threading.Lock], bool], count: int, sleeps: bool
) -> None:
    assert looks(way, count, sleeps) == set(itertools.product([False, True], repeat=count))


def test_a_loop_that_tries_a_lock_goes_on_when_the_lock_is_given_back() -> None:
    """Whether it waits depends on who has looked: nothing is decided by what comes beside it."""

    def test() -> None:
        first, second = threading.Lock(), threading.Lock()

        def tries() -> None:
            while True:
                with first:
                    if second.acquire(blocking=False):
                        second.release()
                        return
                time.sleep(0.01)

        def takes() -> None:
            with second, first:
                pass

        threads = [threading.Thread(target=target) for target in (tries, takes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = treadle.explore(test)
    assert (result.failures, result.complete) == ([], True)


def test_two_loops_that_try_each_others_locks_are_no_nondeterminism() -> None:
    def test() -> None:
        locks = [threading.Lock(), threading.Lock()]

        def work(mine: int) -> None:
            while True:
                with locks[mine]:
                    if locks[1 - mine].acquire(blocking=False):
                        locks[1 - mine].release()
                        return
                time.sleep(0.01)

        threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = treadle.explore(test, max_executions=100)
    assert (result.failures, result.executions, result.complete) == ([], 100, False)


def test_who_has_left_a_loop_that_waited_sees_any_number_of_rounds_of_others() -> None:
    def test() -> None:
        first, second = threading.Lock(), threading.Lock()
        leave, stop = Flag(), Flag()

        def sees(lock: threading.Lock) -> None:
            for is_taken in (True, False, True, False, True):
                treadle.assume(lock.locked() is is_taken)

        def look() -> None:
            while not leave.is_set:
                with first:
                    pass
            sees(second)
            raise AssertionError("three rounds were seen")

        def go_round() -> None:
            while not stop.is_set:
                with second:
                    pass

        threads = [threading.Thread(target=target) for target in (look, go_round)]
        for thread in threads:
            thread.start()
        sees(first)
        leave.is_set = True
        threads[0].join()
        stop.is_set = True
        threads[1].join()

    result = treadle.explore(test, max_executions=2000)
    assert [failure.message for failure in result.failures] == [
        "AssertionError: three rounds were seen"
    ]


def test_who_tries_a_semaphore_sees_any_number_of_rounds_of_others() -> None:
    def test() -> None:
        semaphore, stop = threading.Semaphore(), Flag()

        def go_round() -> None:
            while not stop.is_set:
                with semaphore:
                    pass

        thread = threading.Thread(target=go_round)
        thread.start()
        for is_free in (False, True, False, True, False):
            got = semaphore.acquire(blocking=False)
            if got:
                semaphore.release()
            treadle.assume(got is is_free)
        stop.is_set = True
        thread.join()
        raise AssertionError("three rounds were seen")

    result = treadle.explore(test, max_executions=100)
    assert [failure.message for failure in result.failures] == [
        "AssertionError: three rounds were seen"
    ]


def test_a_lock_that_is_tried_and_given_back_in_a_loop_is_no_change() -> None:
    def test() -> None:
        lock, flag = threading.Lock(), Flag()

        def work() -> None:
            is_over = False
            while not is_over:
                if lock.acquire(blocking=False):
                    is_over = flag.is_set
                    lock.release()
            assert flag.value == 1

        thread = threading.Thread(target=work)
        thread.start()
        with lock:
            flag.value = 1
            flag.is_set = True
        thread.join()

    result = treadle.explore(test, max_executions=100)
    assert (result.failures, result.complete) == ([], True)


def test_a_loop_that_asks_the_file_system_is_no_livelock(tmp_path: Path) -> None:
    """Another program may do what it waits for."""
    path = tmp_path / "done"

    def waiting(look: Callable[[], bool]) -> treadle.Result:
        def work() -> None:
            while not look():
                time.sleep(0.01)

        def test() -> None:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

        return treadle.explore(test, timeout=1)

    for look in (path.exists, lambda: os.access(path, os.R_OK), lambda: any(tmp_path.iterdir())):
        result = waiting(look)
        assert (result.failures, result.complete) == ([], False)

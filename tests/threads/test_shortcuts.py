"""What is there for speed alone changes nothing else."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from together import together

import treadle
from treadle.python.accesses import calls, container_calls
from treadle.python.accesses.container_methods import codes_of_method
from treadle.python.sharing.containers import ContainerTable
from treadle.threads.program import ThreadProgram

# Methods of containers that are given nothing but atoms


EVERYTHING = frozenset(name for kind in (dict, list, set, deque) for name in dir(kind))
"""All methods."""


def of_a_dictionary(shared: dict[Any, Any]) -> None:
    shared.setdefault("a", 1)
    shared.get("b", 0)
    shared.pop("a", None)


def of_a_list(shared: list[int]) -> None:
    shared.append(len(shared))
    shared.insert(0, 2)
    shared.pop()


def of_a_set(shared: set[int]) -> None:
    shared.add(1)
    shared.discard(2)


def of_a_deque(shared: deque[int]) -> None:
    shared.appendleft(1)
    shared.rotate(1)


def with_a_new_key(shared: dict[Any, Any]) -> None:
    shared.setdefault(Key(), len(shared))
    shared.get(1)


def past_a_key_that_calls_back(shared: dict[Any, Any]) -> None:
    shared.get(1)
    shared.pop(2, None)


def with_a_value_to_publish(shared: list[Any]) -> None:
    own = [0]
    shared.append(own)
    shared[0].append(1)


class Key:
    """A key that asks code under test whether it is another one."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return seen.append(len(seen)) is not None


seen: list[int] = []

DONE: list[tuple[Callable[[Any], None], Callable[[], Any]]] = [
    (of_a_dictionary, dict),
    (of_a_dictionary, lambda: {"a": 0, "b": 1}),
    (of_a_list, list),
    (of_a_set, set),
    (of_a_set, lambda: {1, 2}),
    (of_a_deque, deque),
    (with_a_new_key, dict),
    (past_a_key_that_calls_back, lambda: {Key(): 0, 2: 0}),
    (with_a_value_to_publish, list),
]


@pytest.mark.parametrize("granularity", ["access", "gil", "free-threaded"])
@pytest.mark.parametrize(("do", "make"), DONE)
def test_a_call_with_atoms_is_what_any_call_is(
    do: Callable[[Any], None],
    make: Callable[[], Any],
    granularity: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def test() -> None:
        seen.clear()
        shared = make()
        together(lambda: do(shared), lambda: do(shared))

    quick = treadle.explore(test, granularity=granularity, stop_on_failure=False)
    monkeypatch.setattr(container_calls, "_UNUSUAL", EVERYTHING)
    slow = treadle.explore(test, granularity=granularity, stop_on_failure=False)
    assert (quick.executions, quick.events) == (slow.executions, slow.events)
    assert [str(f.schedule) for f in quick.failures] == [str(f.schedule) for f in slow.failures]
    assert quick.complete
    assert slow.complete
    assert quick.executions > 1 or granularity == "gil"


def test_a_report_shows_what_a_call_with_atoms_returned() -> None:
    def test() -> None:
        shared = {"a": 1}

        def take() -> None:
            assert shared.pop("a", None) is not None

        together(take, take)

    (failure,) = treadle.explore(test).failures
    text = str(failure)
    assert "pop('a', None)" in text
    assert "1" in text


class Odd(ContainerTable):
    """A container of which nothing is known."""

    def __init__(self) -> None:
        pass

    def whole_write(self) -> tuple[int, ...]:
        return (8,)


def test_methods_of_unknown_containers_may_do_anything() -> None:
    assert codes_of_method(Odd(), "append", (1,), {})[0] == 8


# Classes whose stand-in is remembered


class NoHash(type):
    """Classes that cannot be looked up."""

    def __hash__(cls) -> int:
        raise AssertionError("looked up")


class NoEquals(type):
    """Classes that must not be compared."""

    def __eq__(cls, other: object) -> bool:
        raise AssertionError("compared")

    def __hash__(cls) -> int:
        return hash(int)


class Plain(type):
    """Classes like any other."""


@pytest.mark.parametrize(
    ("kind", "is_looked_up"), [(NoHash, False), (NoEquals, False), (Plain, True), (type, True)]
)
def test_a_metaclass_is_not_asked_about_its_classes(kind: type[type], is_looked_up: bool) -> None:
    made = kind("Made", (), {})
    assert calls._is_compared_by_identity(made) is is_looked_up


def test_locks_are_made_by_the_class_that_stands_for_them() -> None:
    def test() -> None:
        locks: list[Any] = []

        def make() -> None:
            locks.append(threading.Lock())
            locks.append(threading.RLock())

        together(make, make)
        assert len({id(lock) for lock in locks}) == 4
        for lock in locks:
            with lock:
                pass

    assert treadle.explore(test).executions == 6


# Threads are gone with their execution


class Worker(threading.Thread):
    """A thread that says when it is gone."""

    def __init__(self, done: list[int]) -> None:
        super().__init__()
        self.own = [1]
        self.done = done

    def run(self) -> None:
        self.done.append(1)

    def __del__(self) -> None:
        gone.append(self.own)


gone: list[list[int]] = []
"""What is left of threads."""


def two_workers() -> None:
    done: list[int] = []
    workers = [Worker(done), Worker(done)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def test_threads_need_no_garbage_collector() -> None:
    threads: list[weakref.ref[threading.Thread]] = []

    def test() -> None:
        thread = threading.Thread(target=int)
        treadle_free(thread)
        thread.start()
        thread.join()

    def treadle_free(thread: threading.Thread) -> None:
        threads.append(weakref.ref(thread))

    program = ThreadProgram(test, "test")
    with program.controlled():
        for _ in range(3):
            run = program.start()
            run.finish(-1, 100, [], [])
            run.drop()
            assert not gc.isenabled()
        assert [thread() is None for thread in threads] == [True, True, False]


def test_finalizers_of_threads_run_between_executions(capsys: pytest.CaptureFixture[str]) -> None:
    gone.clear()
    assert treadle.explore(two_workers, restore=False).executions == 1
    assert capsys.readouterr().err == ""
    assert len(gone) >= 2
    assert all(own == [1] for own in gone)


def test_a_thread_that_outlives_its_execution_is_over() -> None:
    kept: list[threading.Thread] = []

    def test() -> None:
        for thread in kept:
            assert not thread.is_alive()
        kept[:] = [threading.Thread(target=int, name="kept") for _ in range(2)]
        for thread in kept:
            thread.start()
        for thread in kept:
            thread.join()
            assert thread.name == "kept"

    program = ThreadProgram(test, "test")
    with program.controlled():
        for _ in range(3):
            run = program.start()
            run.finish(-1, 100, [], [])
            assert not run.crashes
            assert run.enabled() == run.blocked() == []
            ending = run.ending()
            run.drop()
            assert run.ending() == ending
            assert not ending.waits

"""What threads do is reported as their author would say it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

import treadle
from treadle.core.failure import Failure
from treadle.report.text import failure_in_words


class Account:
    def __init__(self) -> None:
        self.balance = 0

    def deposit(self, amount: int) -> None:
        self.balance += amount


def in_thread(*bodies: Callable[[], object]) -> None:
    """Run functions in threads, one after the other."""
    for body in bodies:
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()


def failing(body: Callable[[], object], **options: Any) -> Failure:
    """Return the failure of the natural execution of a test that fails at its end."""

    def test() -> None:
        body()
        raise AssertionError

    return treadle.explore(test, max_executions=1, **options).failures[0]


def deeds(body: Callable[[], object], **options: Any) -> list[str]:
    """Return what threads did, starting and joining them left out."""
    return [
        str(access)
        for step in failing(body, **options).trace
        for access in step.accesses
        if step.process != "time" and access.operation not in ("start", "join")
    ]


def locks() -> None:
    lock, rlock = threading.Lock(), threading.RLock()

    def body() -> None:
        with lock, rlock:
            lock.locked()
        lock.acquire(timeout=1)
        lock.acquire(timeout=1)
        lock.acquire(blocking=False)

    in_thread(body)


def conditions() -> None:
    changed = threading.Condition()

    def body() -> None:
        with changed:
            changed.notify()
            changed.notify_all()
            changed.wait(timeout=2)

    in_thread(body)


def events() -> None:
    ready = threading.Event()

    def body() -> None:
        ready.wait(timeout=1)
        ready.set()
        ready.wait()
        ready.is_set()
        ready.clear()

    in_thread(body)


def semaphores() -> None:
    slots = threading.BoundedSemaphore(1)

    def body() -> None:
        with slots:
            slots.acquire(timeout=1)

    in_thread(body)


def queues() -> None:
    items: queue.Queue[str] = queue.Queue()
    stack: queue.LifoQueue[int] = queue.LifoQueue()
    simple: queue.SimpleQueue[int] = queue.SimpleQueue()

    def body() -> None:
        items.put("a")
        items.get()
        items.task_done()
        items.join()
        with pytest.raises(queue.Empty):
            items.get(timeout=1)
        stack.put(1)
        stack.put(2)
        stack.get()
        simple.put(3)
        simple.get()
        simple.empty()

    in_thread(body)


class Own(queue.Queue[int]):
    """A queue whose size is up to its author."""

    def _qsize(self) -> int:
        return super()._qsize()


def looks() -> None:
    items: queue.Queue[int] = queue.Queue(1)
    items.put(1)
    own = Own()
    barrier = threading.Barrier(2)
    future: Future[int] = Future()

    def body() -> None:
        items.qsize()
        items.empty()
        items.full()
        own.empty()
        barrier.n_waiting  # noqa: B018
        barrier.broken  # noqa: B018
        future.running()
        future.cancelled()

    in_thread(body)


def futures() -> None:
    future: Future[int] = Future()

    def body() -> None:
        future.done()
        future.set_result(3)

    in_thread(body, future.result, lambda: wait([future]))


def sleeping() -> None:
    in_thread(lambda: time.sleep(0.5))


def containers() -> None:
    letters, seats = ["a"], {"1A": "Ann"}

    def body() -> None:
        letters.append("b")
        letters.pop(0)
        assert letters
        "1B" in seats  # noqa: B015
        seats["1B"] = "Bob"
        seats.get("1A")
        del seats["1A"]

    in_thread(body)


CASES: dict[Callable[[], None], list[str]] = {
    locks: [
        "acquire lock",
        "acquire rlock",
        "call lock.locked() = True",
        "release rlock",
        "release lock",
        "acquire lock",
        "acquire lock = timed out",
        "acquire lock = in vain",
    ],
    conditions: [
        "acquire changed",
        "notify changed",
        "notify all on changed",
        "wait on changed",
        "wake up on changed = timed out",
        "reacquire lock of changed",
        "release changed",
    ],
    events: [
        "wait for ready = timed out",
        "set ready",
        "wait for ready",
        "call ready.is_set() = True",
        "clear ready",
    ],
    semaphores: ["acquire slots", "acquire slots = timed out", "release slots"],
    queues: [
        "put to items = 'a'",
        "get from items = 'a'",
        "task done in items",
        "wait for tasks of items",
        "get from items = timed out",
        "put to stack = 1",
        "put to stack = 2",
        "get from stack = 2",
        "put to simple = 3",
        "get from simple = 3",
        "call simple.empty() = True",
    ],
    looks: [
        "call items.qsize() = 1",
        "call items.empty() = False",
        "call items.full() = True",
        *["call own.empty()"] * 2,  # it runs the code of the library, with its lock
        "read barrier.n_waiting",
        "read barrier.broken",
        "call future.running() = False",
        "call future.cancelled() = False",
    ],
    futures: [
        "call future.done() = False",
        "set result of future = 3",
        "result of future = 3",
        "wait for futures",
    ],
    sleeping: ["sleep 0.5 s"],
    containers: [
        "call letters.append('b')",
        "call letters.pop(0) = 'a'",
        "read letters length = 1",
        "look for '1B' in seats = False",
        "write seats['1B'] = 'Bob'",
        "call seats.get('1A') = 'Ann'",
        "delete seats['1A']",
    ],
}


@pytest.mark.parametrize("body", CASES, ids=lambda body: body.__name__)
def test_calls_are_in_the_words_of_their_author(body: Callable[[], None]) -> None:
    assert deeds(body) == CASES[body]


def test_a_barrier() -> None:
    def body() -> None:
        meeting = threading.Barrier(2)
        thread = threading.Thread(target=meeting.wait)
        thread.start()
        meeting.wait()
        thread.join()

    assert set(deeds(body)) == {"wait at meeting"}


def test_a_thread_that_runs_a_method_of_a_primitive_is_named_after_it() -> None:
    def body() -> None:
        meeting, ready = threading.Barrier(2), threading.Event()
        threading.Thread(target=meeting.wait).start()
        threading.Thread(target=ready.wait).start()

    found = treadle.explore(body).failures[0]
    assert [(wait.process, wait.label) for wait in found.waits] == [
        ("main.1", "wait"),
        ("main.2", "wait"),
    ]


def test_a_pool() -> None:
    def greet() -> None:
        pass

    def body() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(greet).result()
            pool.submit(greet)

    assert deeds(body) == [
        "submit to pool = greet",
        "set result of greet() = None",
        "result of greet() = None",
        "submit to pool = greet",
        "shut down pool",
        "take job from pool = greet()",
        "set result of greet() = None",
        "take job from pool = none left",
        "wait for workers of pool",
    ]


def names(body: Callable[[], object], **options: Any) -> set[str]:
    """Return the locations that plain accesses of a test are about."""
    return {
        access.location
        for step in failing(body, **options).trace
        for access in step.accesses
        if access.operation in ("read", "write")
    }


def two_jobs(submit: Callable[[ThreadPoolExecutor, Account], object]) -> Callable[[], None]:
    def body() -> None:
        account = Account()
        with ThreadPoolExecutor(2) as pool:
            submit(pool, account)
            submit(pool, account)

    return body


@pytest.mark.parametrize(
    "submit",
    [
        lambda pool, account: pool.submit(account.deposit, 1),
        lambda pool, account: pool.submit(Account.deposit, account, 1),
        lambda pool, account: pool.submit(Account.deposit, account, amount=1),
        lambda pool, account: pool.submit(lambda: account.deposit(1)),
        lambda pool, account: pool.map(account.deposit, [1]),
        lambda pool, account: pool.map(Account.deposit, [account], [1]),
    ],
    ids=["method", "argument", "keyword", "closure", "map", "map an argument"],
)
def test_jobs_call_things_as_their_submitter_does(submit: Callable[..., object]) -> None:
    assert names(two_jobs(submit)) == {"account.balance"}


def test_arguments_are_named_by_outer_functions_too() -> None:
    def start(threads: Iterable[threading.Thread]) -> None:
        for thread in threads:
            thread.start()
            thread.join()

    def body() -> None:
        ann = Account()
        start([threading.Thread(target=Account.deposit, args=(ann, 1)) for _ in range(2)])

    assert names(body) == {"ann.balance"}


# Threads


class Worker(threading.Thread):
    def __init__(self, account: Account) -> None:
        super().__init__()
        self.account = account

    def run(self) -> None:
        self.account.deposit(1)


def test_threads_have_the_names_that_they_were_given() -> None:
    def test() -> None:
        account = Account()
        threads = [
            threading.Thread(target=account.deposit, args=(1,), name="alice"),
            threading.Thread(target=account.deposit, args=(1,)),
            Worker(account),
            threading.Timer(1, account.deposit, (1,)),
        ]
        for thread in threads:
            thread.start()
        with ThreadPoolExecutor(1) as pool, ThreadPoolExecutor(1, "db") as other:
            pool.submit(account.deposit, 1)
            other.submit(account.deposit, 1)

    records = failing(test).trace
    assert {record.process: record.label for record in records} == {
        "main": "",
        "time": "",
        "main.1": "alice",
        "main.2": "deposit",
        "main.3": "Worker",
        "main.4": "Timer",
        "main.5": "pool worker 0",
        "main.6": "db_0",
    }


def test_what_comes_next_for_a_thread() -> None:
    def body() -> None:
        lock = threading.Lock()

        def work() -> None:
            with lock:
                pass

        thread = threading.Thread(target=work)
        with lock:
            thread.start()
            time.sleep(1)
        thread.join()

    assert [(record.process, record.then) for record in failing(body).trace] == [
        ("main", "waits"),  # it sleeps
        ("time", "waits"),
        ("main", ""),
        ("main", "waits"),
        ("main.1", ""),
        ("main.1", "ends"),
        ("main", "ends"),
    ]


# Values


class Chatty:
    """An object whose text takes steps, if they are counted."""

    def __init__(self) -> None:
        self.asked = 0
        self.lock = threading.Lock()

    def __repr__(self) -> str:
        with self.lock:
            self.asked += 1
            return f"asked {self.asked}"


def test_putting_values_into_words_takes_no_steps() -> None:
    def test() -> None:
        box: list[Any] = [None]
        chatty = Chatty()

        def work() -> None:
            with chatty.lock:
                box[0] = chatty
            chatty.asked = 5

        thread = threading.Thread(target=work)
        thread.start()
        assert box[0] is None
        thread.join()

    found = treadle.explore(test).failures[0]
    words = [str(access) for record in found.trace for access in record.accesses]
    assert "write box[0] = <Chatty, its repr raises CannotWaitNow>" in words
    assert len(found.trace) == len(found.schedule)
    assert treadle.replay(test, found.schedule) is not None


def test_each_access_of_a_coarse_step_has_its_line_and_value() -> None:
    def test() -> None:
        account = Account()

        def work() -> None:
            account.balance = 1
            account.balance = 2

        threading.Thread(target=work).start()
        assert account.balance != 2

    found = treadle.explore(test, granularity="gil").failures[0]
    step = next(record for record in found.trace if record.process == "main.1")
    assert list(map(str, step.accesses)) == [
        "write account.balance = 1",
        "write account.balance = 2",
    ]
    assert step.source == "account.balance = 1"


def test_an_assertion_without_a_message_is_quoted_itself() -> None:
    def test() -> None:
        box = {"n": 0}
        thread = threading.Thread(target=box.update, kwargs={"n": 1})
        thread.start()
        seen = box["n"]
        thread.join()
        if seen != 0:
            raise AssertionError  # pytest gives `assert` a message

    (failure,) = treadle.explore(test).failures
    headline = " ".join(failure_in_words(failure).partition("\n\n")[0].split())
    assert headline.startswith("Assertion failed in main at tests/threads/test_wording.py:")
    assert headline.endswith(": raise AssertionError # pytest gives `assert` a message")


def test_what_a_built_in_function_reads_has_its_value() -> None:
    def body() -> None:
        account = Account()
        in_thread(lambda: setattr(account, "balance", 7), lambda: getattr(account, "balance"))  # noqa: B009

    assert deeds(body) == ["write account.balance = 7", "read account.balance = 7"]


class Picky:
    """An object that takes a step, and fails, if it is compared."""

    def __init__(self) -> None:
        self.compared = 0

    def __eq__(self, other: object) -> bool:
        self.compared += 1
        raise ValueError

    __hash__ = object.__hash__


def test_looking_values_up_takes_no_steps_and_never_fails() -> None:
    def body() -> None:
        guests: list[Any] = []

        def seek() -> None:
            with pytest.raises(ValueError, match=r"^$"):
                1 in guests  # noqa: B015

        in_thread(lambda: guests.append(Picky()), seek)

    found = deeds(body)
    assert found[:2] == ["call guests.append(<Picky>)", "look for 1 in guests"]

"""Small programs that fail in every way: what is printed about them is in `golden/`."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from treadle.model import Condition, Lock, Mailbox, Program

Process = Iterator[Any]


class Account:
    def __init__(self, balance: int = 0) -> None:
        self.balance = balance
        self.lock = threading.Lock()

    def deposit(self, amount: int) -> None:
        self.balance += amount


def start(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.start()


# Threads


def lost_deposit() -> None:
    account = Account()
    threads = [
        threading.Thread(target=account.deposit, args=(amount,), name=name)
        for amount, name in ((5, "alice"), (7, "bob"))
    ]
    start(*threads)
    for thread in threads:
        thread.join()
    assert account.balance == 12, f"the balance is {account.balance}"


def lost_over_calls() -> None:
    account = Account()

    def balance() -> int:
        return account.balance

    def deposit() -> None:
        account.balance = balance() + 1

    thread = threading.Thread(target=deposit)
    thread.start()
    deposit()
    thread.join()
    assert account.balance == 2


def read_too_early() -> None:
    results: dict[str, int] = {}

    def work() -> None:
        results["sum"] = 3

    threading.Thread(target=work).start()
    print(results["sum"])


def embrace() -> None:
    ann, bob = Account(), Account()

    def move(payer: Account, payee: Account) -> None:
        with payer.lock, payee.lock:
            payee.balance += 1

    start(
        threading.Thread(target=move, args=(ann, bob)),
        threading.Thread(target=move, args=(bob, ann)),
    )


def missed_notification() -> None:
    changed = threading.Condition()

    def wait() -> None:
        with changed:
            changed.wait()

    start(threading.Thread(target=wait, name="waiter"))
    with changed:
        changed.notify()


def spinning() -> None:
    account = Account()

    def poll() -> None:
        while account.balance == 0:
            pass

    start(threading.Thread(target=poll))
    account.balance = 1
    account.balance = 0


def unsynchronised() -> None:
    account = Account()
    start(
        threading.Thread(target=account.deposit, args=(1,), name="writer"),
        threading.Thread(target=lambda: account.balance, name="reader"),
    )


def endless() -> None:
    account = Account()

    def count() -> None:
        while True:
            account.balance += 1

    start(threading.Thread(target=count))


moods = itertools.count()


def moody() -> None:
    account = Account()

    def change() -> None:
        if next(moods) % 3 == 2:
            account.balance = 1
        account.lock.acquire()

    start(threading.Thread(target=change), threading.Thread(target=change))
    account.balance = 3


def timed_out() -> None:
    ready, items = threading.Event(), queue.Queue[str]()

    def serve() -> None:
        items.put("first")
        ready.set()

    start(threading.Thread(target=serve, name="server"))
    assert ready.wait(timeout=1), "the server is not ready"


def overdrawn_by_jobs() -> None:
    account = Account(10)

    def withdraw(amount: int) -> None:
        if account.balance >= amount:
            account.balance -= amount

    with ThreadPoolExecutor(2) as pool:
        pool.submit(withdraw, 7)
        pool.submit(withdraw, 8)
    assert account.balance >= 0


def long_stretches() -> None:
    account = Account()

    def work() -> None:
        for _ in range(20):
            account.balance += 1

    thread = threading.Thread(target=work)
    thread.start()
    work()
    thread.join()
    assert account.balance == 40


def crowd() -> None:
    account = Account()
    threads = [
        threading.Thread(target=account.deposit, args=(1,), name=f"depositor-{index}")
        for index in range(5)
    ]
    start(*threads)
    for thread in threads:
        thread.join()
    assert account.balance == 5


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError("no words")


def no_words() -> None:
    account, thing = Account(), Unspeakable()

    def work(secret: Unspeakable, text: str) -> None:
        account.balance = len(text)
        account.balance = 0 if secret else 1

    threading.Thread(target=work, args=(thing, "x" * 100)).start()
    assert account.balance == 0


def chained() -> None:
    account = Account()

    def work() -> None:
        try:
            assert account.balance == 0
        except AssertionError as error:
            problem = RuntimeError("somebody was faster")
            problem.add_note("it was the main thread")
            raise problem from error

    start(threading.Thread(target=work))
    account.balance = 1


# Models


def model_lost_update() -> Program:
    program = Program(count=0)

    def increment(s: Any) -> Process:
        value = s.count
        yield
        s.count = value + 1

    def check(s: Any) -> Process:
        yield s.join("p")
        yield s.join("q")
        assert s.count == 2

    program.process(increment, name="p")
    program.process(increment, name="q")
    program.process(check)
    return program


def model_time_out() -> Program:
    program = Program(box=Mailbox())

    def sender(s: Any) -> Process:
        s.box.send("hello")
        yield

    def receiver(s: Any) -> Process:
        message = yield s.box.receive(timeout=True)
        yield
        {"hello": 1}[message]

    program.process(sender)
    program.process(receiver)
    return program


def model_embrace() -> Program:
    program = Program(a=Lock(), b=Lock())

    def both(s: Any, first: str, second: str) -> Process:
        yield getattr(s, first).acquire()
        yield getattr(s, second).acquire()
        getattr(s, second).release()
        getattr(s, first).release()

    program.process(both, "a", "b", name="left")
    program.process(both, "b", "a", name="right")
    return program


def model_missed_notification() -> Program:
    program = Program(changed=Condition(), ready=False)

    def waiter(s: Any) -> Process:
        yield
        if not s.ready:
            yield s.changed.acquire()
            yield s.changed.wait()
            s.changed.release()

    def teller(s: Any) -> Process:
        yield s.changed.acquire()
        s.ready = True
        s.changed.notify()
        s.changed.release()

    program.process(waiter)
    program.process(teller)
    return program


def model_endless() -> Program:
    program = Program(flag=False)

    def poll(s: Any) -> Process:
        while not s.flag:
            yield

    program.process(poll)
    return program


def model_moody() -> Program:
    program = Program(x=0, y=0, z=0)
    calls = itertools.count()

    def moody(s: Any) -> Process:
        yield
        if next(calls) % 3 == 2:
            s.y = 1
        else:
            s.z = 1
        yield
        s.x = 1

    def steady(s: Any) -> Process:
        yield
        s.x = 2
        yield
        s.x = 3

    program.process(moody)
    program.process(steady)
    return program

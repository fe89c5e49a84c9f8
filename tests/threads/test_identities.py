"""`id` and hashes by default are the same in every execution, as far as code under test can see."""

from __future__ import annotations

import contextlib
import copy
import gc
import logging
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from together import together

import treadle


class Thing:
    def __init__(self, number: int) -> None:
        self.number = number


class Slotted:
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


BEFORE = [Thing(number) for number in range(20)]
PLACES = {thing: thing.number for thing in BEFORE}
ADDRESSES = {id(thing): thing.number for thing in BEFORE}
NAMES = ["id as a key", "set", "private set", "keys", "min", "weak set", "hash", "slots", "local"]


def orders_of(name: str, orders: set[Any]) -> Callable[[], None]:
    """Return a test with two threads that writes down what it saw of where objects lie."""

    def test() -> None:
        class Local(Thing):
            pass

        kind: Any = {"slots": Slotted, "local": Local}.get(name, Thing)
        seen: dict[Any, list[int]] = {}
        shared = {kind(number) for number in range(20)}

        def work(me: str) -> None:
            mine = [kind(number) for number in range(20)]
            if name == "id as a key":
                seen[me] = [id(one) for one in mine]
            elif name == "set":
                seen[me] = [one.number for one in shared]
            elif name == "keys":
                seen[me] = [one.number for one in dict.fromkeys(mine).keys() & set(mine)]
            elif name == "min":
                seen[me] = [min(mine, key=id).number, *[one.number for one in sorted(mine, key=id)]]
            elif name == "weak set":
                seen[me] = [one.number for one in weakref.WeakSet(mine)]
            elif name == "hash":
                seen[me] = [hash(one) for one in mine]
            else:
                seen[me] = [one.number for one in set(mine)]

        together(lambda: work("a"), lambda: work("b"))
        orders.add(repr(sorted(seen.items())))

    return test


@pytest.mark.parametrize("name", NAMES)
def test_the_same_in_every_execution(name: str) -> None:
    orders: set[Any] = set()
    result = treadle.explore(orders_of(name, orders), "exhaustive", max_executions=50)
    assert result.executions > 1
    assert not result.failures
    assert len(orders) == 1


LIBRARY: dict[str, Callable[[], Any]] = {
    "Queue": queue.Queue, "SimpleQueue": queue.SimpleQueue, "LifoQueue": queue.LifoQueue,
    "Event": threading.Event, "Lock": threading.Lock, "RLock": threading.RLock,
    "Condition": threading.Condition, "Semaphore": threading.Semaphore,
    "ExitStack": contextlib.ExitStack, "Logger": lambda: logging.Logger("one"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARY)
def test_sets_of_objects_of_libraries_have_one_order(name: str) -> None:
    make = LIBRARY[name]
    orders: set[Any] = set()

    def test() -> None:
        shared: set[Any] = set()
        made: dict[str, list[Any]] = {}

        def work(me: str) -> None:
            made[me] = [make() for _ in range(10)]
            shared.update(made[me])

        together(lambda: work("a"), lambda: work("b"))
        orders.add(tuple(made["a"].index(one) for one in set(made["a"])))
        orders.add(tuple(made["a"].index(one) for one in shared if one in made["a"]))

    result = treadle.explore(test, "exhaustive", max_executions=20)
    assert result.executions == 20
    assert not result.failures
    assert len(orders) <= 2  # the second one is that among others: equal places may differ


def test_what_a_library_has_put_into_a_set_is_found_again() -> None:
    early = threading.Event()
    held = {early, *(threading.Event() for _ in range(20))}

    def test() -> None:
        late = threading.Event()
        together(lambda: held.__contains__(late), lambda: held.__contains__(early))
        assert late not in held
        assert early in held

    assert treadle.explore(test).ok
    assert threading.Event.__hash__ is object.__hash__
    assert early in held


def test_what_was_there_before_is_found_again() -> None:
    def test() -> None:
        found: list[int] = []
        together(
            lambda: found.append(PLACES[BEFORE[7]]), lambda: found.append(ADDRESSES[id(BEFORE[8])])
        )
        assert sorted(found) == [7, 8]
        assert all(thing in PLACES for thing in BEFORE)

    assert treadle.explore(test).ok
    assert Thing.__hash__ is object.__hash__
    assert all(PLACES[thing] == thing.number for thing in BEFORE)


def test_what_was_there_before_is_found_again_if_the_user_froze_it() -> None:
    things = {Thing(1): 1}
    gc.freeze()
    late = {Thing(2): 2}

    def test() -> None:
        together(lambda: [things[thing] for thing in things], lambda: [late[one] for one in late])

    try:
        assert treadle.explore(test).ok
    finally:
        gc.unfreeze()


def test_objects_that_are_alive_differ() -> None:
    def test() -> None:
        things = [Thing(number) for number in range(2000)]
        assert len({id(thing) for thing in things}) == len(things)
        assert len({id(letter) for letter in "ab"}) == 2
        assert id(things) == id(things) != id(list(things))
        together(lambda: None, lambda: None)

    assert treadle.explore(test).ok


def test_an_object_keeps_its_identity_when_others_get_it() -> None:
    def test() -> None:
        box: list[Any] = []
        seen: list[int] = []

        def make() -> None:
            thing = Thing(1)
            seen.append(id(thing))
            box.append(thing)

        together(make, lambda: seen.extend(id(thing) for thing in box))
        seen.extend(id(thing) for thing in box)
        assert len(set(seen)) == 1

    assert treadle.explore(test).ok


def test_asking_does_not_keep_an_object_alive() -> None:
    def test() -> None:
        thing = Thing(1)
        id(thing)
        {thing}.clear()
        reference = weakref.ref(thing)
        del thing
        assert reference() is None
        together(lambda: None, lambda: None)

    assert treadle.explore(test).ok


def test_a_failure_by_an_order_of_objects_is_replayed() -> None:
    def test() -> None:
        things = {Thing(number) for number in range(10)}
        firsts: list[int] = []
        together(
            lambda: firsts.append(next(iter(things)).number), lambda: firsts.append(len(firsts))
        )
        assert firsts[0] != 0

    [failure] = treadle.explore(test).failures
    again = treadle.replay(test, failure.token)
    assert again is not None
    assert again.message == failure.message


def test_a_copy_has_an_identity_of_its_own() -> None:
    def test() -> None:
        things = [Thing(1)]
        made = copy.deepcopy(things)
        assert id(made[0]) != id(things[0])
        assert hash(made[0]) != hash(things[0])
        together(lambda: None, lambda: None)

    assert treadle.explore(test).ok


def test_transfers_in_the_order_of_identities_do_not_deadlock() -> None:
    def test() -> None:
        import threading

        class Account:
            def __init__(self) -> None:
                self.lock = threading.Lock()
                self.balance = 1

        first, second = Account(), Account()

        def transfer(payer: Account, payee: Account) -> None:
            low, high = (payer, payee) if id(payer) < id(payee) else (payee, payer)
            with low.lock, high.lock:
                payer.balance -= 1
                payee.balance += 1

        together(lambda: transfer(first, second), lambda: transfer(second, first))
        assert first.balance == second.balance == 1

    assert treadle.explore(test).executions == 2

"""Fingerprints of the states of models."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from model_kit import Loose, Process, after, together, two_steps
from treadle.core.fingerprint import freeze
from treadle.model import Condition, Counter, Lock, Mailbox, Program, RLock, Semaphore

# Fingerprints


def fingerprint(program: Program, schedule: str) -> object:
    return after(program, schedule).fingerprint()


def test_equal_states_have_equal_fingerprints() -> None:
    program = two_steps()
    assert fingerprint(program, "p r") == fingerprint(program, "r p")
    assert fingerprint(program, "p r") == fingerprint(two_steps(), "p r")
    assert hash(fingerprint(program, "p r q")) == hash(fingerprint(program, "r p q"))


def test_different_locals_differ() -> None:
    assert fingerprint(two_steps(), "p q") != fingerprint(two_steps(), "q p")


def test_the_position_in_a_loop_counts() -> None:
    def p(s: Any) -> Process:
        for _ in (0, 0):
            yield
            s.x = 0

    program = together(p, x=0)
    assert fingerprint(program, "") != fingerprint(program, "p")


def test_different_positions_differ() -> None:
    def p(s: Any) -> Process:
        yield
        yield
        s.x = 1

    program = together(p, x=0)
    assert len({fingerprint(program, "p " * steps) for steps in range(3)}) == 3


def test_shared_objects_count() -> None:
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        s.lock.release()
        s.box.send(1)
        s.d["a"] = 1
        s.n.add(1)
        yield s.rlock.acquire()
        yield s.rlock.acquire()
        yield s.semaphore.acquire()
        yield s.cond.acquire()
        yield s.cond.wait()

    shared = {
        "lock": Lock(), "box": Mailbox(), "d": {}, "n": Counter(), "rlock": RLock(),
        "semaphore": Semaphore(), "cond": Condition(),
    }  # fmt: skip
    program = together(p, **shared)
    states = [fingerprint(program, "p " * steps) for steps in range(7)]
    assert len(set(states)) == 7


def test_how_a_process_ended_counts() -> None:
    def p(s: Any) -> Process:
        yield
        if s.x:
            raise ValueError

    def q(s: Any) -> Process:
        yield
        s.x = 1

    program = together(p, q, x=0)
    assert fingerprint(program, "p q") != fingerprint(program, "q p")


class Pair:
    """An object with slots and one with a dictionary."""

    __slots__ = ("left", "right")

    def __init__(self, left: Any) -> None:
        self.left = left


@pytest.mark.parametrize(
    "make",
    [
        lambda n: n,
        lambda n: [n],
        lambda n: (n, [n]),
        lambda n: {"a": n},
        lambda n: {n},
        lambda n: frozenset({n}),
        lambda n: Pair(n),
        lambda n: Loose(n),
        lambda n: Loose(n).method,
        lambda n: lambda: n,
        lambda n: lambda m=n: m,
        lambda n: (i for i in [n]),
        lambda n: deque([n]),
    ],
)
def test_freezing_compares_by_content(make: Callable[[int], Any]) -> None:
    assert freeze(make(1)) == freeze(make(1))
    assert freeze(make(1)) != freeze(make(2))
    assert hash(freeze(make(1))) == hash(freeze(make(1)))


def test_freezing_what_contains_itself() -> None:
    def knot(n: int) -> list[Any]:
        made: list[Any] = [n]
        made.append(made)
        return made

    assert freeze(knot(1)) == freeze(knot(1))
    assert freeze(knot(1)) != freeze(knot(2))


def test_freezing_tells_types_apart() -> None:
    values = [1, True, 1.0, "1", (1,), [1], None]
    assert len({freeze(value) for value in values}) == len(values)


def test_freezing_generators_of_generators() -> None:
    def inner() -> Iterator[int]:
        yield 1
        yield 2

    def outer() -> Iterator[int]:
        yield from inner()

    def plain() -> Iterator[int]:
        yield from [1, 2]

    def ended() -> Iterator[int]:
        yield from ()

    for make in (outer, plain):
        started, further = make(), make()
        next(started)
        next(further)
        assert freeze(started) == freeze(further)
        next(further)
        assert freeze(started) != freeze(further)
    over = ended()
    list(over)
    assert freeze(over) == ("generator", "ended")


def test_a_class_is_not_one_of_its_objects() -> None:
    assert freeze(Lock) != freeze(RLock)
    assert freeze([Lock]) != freeze([RLock])

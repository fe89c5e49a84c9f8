"""Random programs of every front end: two workers count what one does, and find what it finds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import thread_programs
from drawn_programs import CALLING, CANCELLING, ENDS, PLAIN, TIMED, WAITING, made
from hypothesis import Phase, given, seed, settings
from random_actors import main_of, sources

import treadle
from random_programs import build_from_source, draw_program
from test_properties import FAMILIES
from treadle.actors import Program as ActorProgram
from treadle.core.result import Result
from treadle.session.session import ForkedHands
from treadle.session.workers import policy
from treadle.session.workers.hands import Alone
from treadle.session.workers.parts import key_of
from treadle.session.workers.task import Tasks
from wide_threads import Modules

FEWEST, MOST = 5, 150
"""Executions of a program that is neither too small to be divided nor takes long."""

in_two_sizes = pytest.mark.parametrize(
    "programs",
    [
        pytest.param(6, id="some"),
        pytest.param(400, id="many", marks=[pytest.mark.slow, pytest.mark.minutes]),
    ],
)


class Two(Alone):
    """Two hands that take turns in this process: they cost nothing to start."""

    count = 2

    def __init__(self, tasks: Tasks, count: int) -> None:
        super().__init__(tasks)
        assert count == 2


@contextmanager
def divided(hands: object) -> Iterator[None]:
    """Divide again and again, with these hands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treadle.session.session.ForkedHands", hands)
        patch.setattr(policy, "_EXECUTIONS", 4)
        yield


def told(result: Result) -> tuple[Any, ...]:
    """Return what must not depend on who explores."""
    failures = sorted(map(key_of, result.failures))
    return result.executions, result.cut, result.failing, result.complete, failures


def is_equal(test: Any, *, hands: object = Two, **options: Any) -> bool:
    """Compare one worker and two; tell whether the program was large enough to be divided."""
    options |= {"stop_on_failure": False, "split_by": "executions"}
    alone = treadle.explore(test, max_executions=MOST, **options)
    if not alone.complete or alone.executions < FEWEST:
        return False
    with divided(hands):
        several = treadle.explore(test, workers=2, **options)
    assert told(several) == told(alone)
    if alone.algorithm == "optimal":
        assert several.blocked == alone.blocked
    return several.parts > 1


def compared(programs: int, make: Callable[[random.Random], Any], **options: Any) -> None:
    """Compare random programs until so many were large enough; every fifth with real processes."""
    found = 0
    for number in range(20 * programs):
        hands = ForkedHands if found % 5 == 4 else Two
        found += is_equal(make(random.Random(number)), hands=hands, **options)
        if found == programs:
            return
    raise AssertionError(f"only {found} programs were large enough")


@in_two_sizes
@pytest.mark.parametrize("algorithm", ["optimal", "source"])
def test_models(programs: int, algorithm: str) -> None:
    def model(choices: random.Random) -> Any:
        family = FAMILIES[choices.choice(list(FAMILIES))]
        kinds = [choices.choice(family) for _ in range(choices.randint(1, 4))]
        lengths = choices.choice([(3, 2), (4, 2), (3, 3), (2, 2, 1), (2, 2, 2), (1, 1, 1, 1)])
        return build_from_source(draw_program(choices, ("write", "read", *kinds), lengths))

    compared(programs, model, algorithm=algorithm)


@in_two_sizes
@pytest.mark.parametrize("algorithm", ["optimal", "source"])
def test_threads_that_share_places(programs: int, algorithm: str) -> None:
    def test(choices: random.Random) -> Any:
        family = choices.choice(list(thread_programs.FAMILIES))
        lengths = choices.choice([(2, 2), (3, 2), (2, 1, 1), (3, 3), (2, 2, 1)])
        bodies = thread_programs.draw_program(choices, family, lengths)
        return thread_programs.Module(thread_programs.source_of(bodies)).test

    compared(programs, test, algorithm=algorithm)


@in_two_sizes
def test_threads_that_wait(programs: int) -> None:
    with Modules() as modules:
        compared(programs, modules.test)


@in_two_sizes
@pytest.mark.parametrize("order", ["any", "fifo"])
def test_tasks(programs: int, order: str) -> None:
    def test(choices: random.Random) -> Any:
        operations = choices.choice([PLAIN, TIMED, CANCELLING, WAITING, CALLING])
        parts = [
            [choices.choice(operations) for _ in range(choices.randint(1, 3))]
            for _ in range(choices.randint(2, 3))
        ]
        return made((parts, choices.choice(ENDS)), order)

    compared(programs // 2, test, order=order)


@in_two_sizes
def test_actors(programs: int) -> None:
    found: list[bool] = []

    @seed(1)
    @settings(max_examples=30 * programs, database=None, deadline=None, phases=[Phase.generate])
    @given(sources())
    def check(source: str) -> None:
        if sum(found) < programs:
            hands = ForkedHands if sum(found) % 5 == 4 else Two
            found.append(is_equal(ActorProgram(main_of(source)), hands=hands))

    check()
    assert sum(found) >= programs // 2

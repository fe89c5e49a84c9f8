"""Open steps, conditional writes and equal values under the algorithms that leave orders out."""

from __future__ import annotations

import random

import pytest

import treadle
from algorithms import coarser
from conditional_programs import SHAPES, Process, draw, missed
from treadle.explore.choosers import SCHEDULES

in_every_schedule = pytest.mark.parametrize("schedule", SCHEDULES)
by_every_algorithm = pytest.mark.parametrize("algorithm", coarser())


def one(name: str, value: int) -> tuple[str, str, tuple[str, int]]:
    return ("set", name, ("constant", value))


BEHIND_A_FORBIDDEN_STEP: list[Process] = [
    [(None, [one("x", 1)]), (None, [("set", "z", ("variable", "z"))])],
    [(None, [("if", "z", "==", 0, [one("y", 0)],
              [("set", "z", ("variable", "x")), ("assert", "z", "==", 1)])])],
    [(None, [("if", "z", "!=", 1, [one("z", 1)], [])])],
]  # fmt: skip

A_PLAN_WITH_A_FORBIDDEN_STEP: list[Process] = [
    [
        (None, [("if", "z", "==", 1, [one("x", 1)], [])]),
        (None, [("if", "z", "!=", 0, [one("z", 1)], [])]),
    ],
    [(None, [one("z", 0)])],
    [(None, [one("y", 1)])],
    [
        (None, [("if", "x", "==", 1, [one("z", 1)], [])]),
        (None, [("if", "y", "==", 0, [one("z", 1)], [])]),
    ],
]

NOBODY_LOOKED_YET: list[Process] = [
    [(None, [("if", "x", "==", 1, [("set", "y", ("sum", "x", "z"))], [])])],
    [
        (None, [one("y", 1)]),
        (None, [("if", "z", "==", 0, [one("y", 1)], []),
                ("if", "x", "!=", 1, [one("z", 0)], [])]),
    ],
    [
        (None, [("if", "y", "==", 1, [one("x", 1)], []), one("z", 1)]),
        (None, [("set", "x", ("variable", "x")), one("y", 0)]),
    ],
]  # fmt: skip


A_RACE_THAT_THE_OTHER_ORDER_HIDES: list[Process] = [
    [(None, [one("z", 1), ("set", "x", ("variable", "z"))])],
    [
        (None, [("if", "y", "!=", 1, [one("z", 1)], [("set", "y", ("variable", "y"))])]),
        (None, [("assert", "z", "==", 1), ("set", "y", ("sum", "x", "y"))]),
    ],
    [(None, [("if", "y", "==", 0, [one("y", 1)], [("assert", "x", "!=", 0)])])],
]


WHO_LOOKS_BEHIND_A_FORBIDDEN_STEP: list[Process] = [
    [(None, [("set", "x", ("sum", "y", "1"))])],
    [(None, [one("x", 0), one("y", 0)])],
    [(None, [("set", "x", ("variable", "y"))]), (None, [one("y", 1)])],
]
"""`b` and the first step of `c` commute, so `b` is forbidden behind it; `a` would look there."""


A_PLAN_THAT_HAS_BEGUN: list[Process] = [
    [
        (None, [("spawn", [("assert", "z", "==", 1)])]),
        (None, [("spawn", [one("z", 1)]), one("x", 0)]),
    ],
    [(None, [("set", "z", ("variable", "x"))])],
]
"""What relied on a step that is forbidden goes on where that would have been, not from anew."""


NOTHING_LEFT_OF_A_PLAN: list[Process] = [
    [(None, [("set", "z", ("variable", "x")), one("z", 0)])],
    [(None, [("if", "z", "==", 1, [one("x", 0)], [])])],
    [(None, [one("x", 1), ("if", "x", "!=", 0, [one("y", 0)], [])])],
    [(None, [one("z", 1)])],
]
"""`d c` is planned, is there as the beginning of `d c a`, and `a` is forbidden there."""


@pytest.mark.parametrize(
    "processes",
    [
        BEHIND_A_FORBIDDEN_STEP,
        A_PLAN_WITH_A_FORBIDDEN_STEP,
        NOBODY_LOOKED_YET,
        A_RACE_THAT_THE_OTHER_ORDER_HIDES,
        WHO_LOOKS_BEHIND_A_FORBIDDEN_STEP,
        A_PLAN_THAT_HAS_BEGUN,
        NOTHING_LEFT_OF_A_PLAN,
    ],
)
@in_every_schedule
@by_every_algorithm
def test_no_final_state_is_missed(processes: list[Process], algorithm: str, schedule: str) -> None:
    assert not missed(processes, algorithm, schedule)


@pytest.mark.parametrize("shape", SHAPES)
@by_every_algorithm
def test_random_programs(shape: str, algorithm: str) -> None:
    """625 programs in all for each algorithm; `scripts/conditional.py` runs more."""
    schedules = list(SCHEDULES)
    for number in range(125):
        processes = draw(random.Random(number), SHAPES[shape])
        assert not missed(processes, algorithm, schedules[number % 4]), number


def test_the_failure_behind_a_forbidden_step_is_reported() -> None:
    program = treadle.model.Program("behind", x=0, y=0, z=0)

    @program.process
    def a(s):  # type: ignore[no-untyped-def]
        s.x = 1
        yield
        s.z = s.z

    @program.process
    def b(s):  # type: ignore[no-untyped-def]
        yield
        if s.z == 0:
            s.y = 0
        else:
            s.z = s.x
            assert s.z == 1

    @program.process
    def c(s):  # type: ignore[no-untyped-def]
        yield
        if s.z != 1:
            s.z = 1

    for algorithm in coarser():
        assert treadle.explore(program, algorithm).failures, algorithm


def test_a_step_that_commutes_where_it_is_forbidden_may_have_to_come_earlier() -> None:
    """Examples 12 to 17 of the thesis on constrained DPOR, in the order p r t."""
    ends = set()
    for algorithm in ("exhaustive", *coarser()):
        program = treadle.model.Program("12-17", b1=False, x=0, z=5)

        @program.process
        def p(s):  # type: ignore[no-untyped-def]
            yield
            s.x = 5

        @program.process
        def r(s):  # type: ignore[no-untyped-def]
            yield
            if s.b1:
                s.z = seen = s.x
                if seen != 5:
                    raise ValueError("another z")

        @program.process
        def t(s):  # type: ignore[no-untyped-def]
            yield
            s.b1 = True

        result = treadle.explore(program, algorithm)
        ends.add(tuple(failure.message for failure in result.failures))
    assert ends == {("ValueError: another z",)}

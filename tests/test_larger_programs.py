"""Programs with hundreds of classes, too large for brute force: algorithms against each other.

`optimal`, `source` and the eager ones plan in different ways. If they complete the same classes,
each exactly once, a mistake would have to be common to all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import treadle
from algorithms import planning
from brute import Explored, explored
from random_programs import build_from_source, compile_process, draw_program
from test_coarser import FAMILIES
from treadle.explore.choosers import SCHEDULES
from treadle.model import Program

CLASSES = range(500, 900)
LENGTHS = [(2, 2, 2, 2), (3, 3, 2), (3, 3, 3), (2, 2, 2, 1, 1), (1, 1, 1, 1, 1, 1), (4, 4)]

Make = Callable[[], Program]


def random_program(rng: random.Random) -> Make:
    """Draw a program of the same instructions as the smaller ones of `test_properties`."""
    family = rng.choice(list(FAMILIES.values()))
    kinds = ("write", "read", *(rng.choice(family) for _ in range(rng.randint(1, 4))))
    bodies = draw_program(rng, kinds, rng.choice(LENGTHS))
    return lambda: build_from_source(bodies)


# What a process does with its own element of a ring, x[{0}], and the next one, x[{1}].
RING_STEPS = [
    ["yield", "s.x[{1}] = s.x[{0}]"],
    ["yield", "acc = s.x[{0}]"],
    ["yield", "s.x[{1}] = acc + 1"],
    ["yield", "s.x[acc % {2}] = {0}"],
    ["yield", "acc = s.x[{1}]", "s.x[{0}] = 1"],
    ["yield", "if s.x[{0}] == 0:", "    s.x[{1}] = 1"],
    ["if acc == 0:", "    yield", "    s.x[{1}] = 2"],
    ["yield s.locks[{0}].acquire()", "s.x[{1}] = 1", "yield", "s.locks[{0}].release()"],
    ["yield s.locks[{1}].acquire()", "acc = s.x[{1}]", "yield", "s.locks[{1}].release()"],
]


def ring(rng: random.Random) -> Make:
    """Draw a ring of four to six processes, each with one to three steps."""
    n = rng.randint(4, 6)
    functions = []
    for pid in range(n):
        steps = [rng.choice(RING_STEPS) for _ in range(rng.randint(1, 3))]
        places = pid, (pid + 1) % n, n
        lines = ["acc = 0", *(line.format(*places) for step in steps for line in step)]
        functions.append(compile_process(f"p{pid}", lines))

    def make() -> Program:
        locks = [treadle.model.Lock() for _ in range(n)]
        program = Program("ring", x=[0] * n, locks=locks)
        for function in functions:
            program.process(function)
        return program

    return make


def of_right_size(draw: Callable[[random.Random], Make], rng: random.Random) -> Make:
    """Draw until a program has as many classes as it should."""
    while True:
        make = draw(rng)
        counted = treadle.explore(make(), max_executions=CLASSES[-1] + 1, stop_on_failure=False)
        if counted.complete and counted.executions in CLASSES:
            return make


@pytest.mark.parametrize("draw", [random_program, ring])
@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(range(1), id="few"),
        pytest.param(range(1, 60), id="many", marks=[pytest.mark.slow, pytest.mark.minutes]),
    ],
)
def test_algorithms_agree(draw: Callable[[random.Random], Make], numbers: range) -> None:
    for number in numbers:
        rng = random.Random(number)
        make, schedule = of_right_size(draw, rng), rng.choice(list(SCHEDULES))
        expected = explored(make(), "optimal", schedule)
        assert expected.result.blocked == 0
        assert len(expected.classes) == len(set(expected.classes))
        for algorithm in ("source", *planning()):
            found = explored(make(), algorithm, schedule)
            assert summary(found) == summary(expected), (number, algorithm, schedule)
            assert len(found.classes) == len(set(found.classes)), (number, algorithm, schedule)


def summary(found: Explored) -> tuple[object, ...]:
    return set(found.classes), found.final_states, found.failures, found.result.complete

"""Random programs over tables and counters: what a solver finds loses no final state."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from drawn import Drawn
from table_programs import draw_program
from treadle.core.words import brief
from treadle.model import Program

BOTH = ("constrained", "optimal-constrained")
UNIFORMITY = ("static", "keeps")
OPTIONS = list(itertools.product(BOTH, UNIFORMITY, ("stay", "newest")))
FOUND = {"constraints": "synthesised", "stop_on_failure": False}

Ends = tuple[set[Any], set[tuple[str, str]]]


def ends_of(program: Program, algorithm: str, **options: Any) -> tuple[Ends, treadle.Result]:
    """Explore; return the final states, and which failures there are."""
    found = set()

    def collect(s: Any) -> None:
        items = [(key, brief(s.d.get(key))) for key in range(-2, 8)]
        found.add((brief(s.x), brief(s.a[0]), brief(s.a[1]), brief(s.c.value), *items, len(s.d)))

    program.finals[:] = [collect]
    result = treadle.explore(program, algorithm, **options)
    assert result.complete
    failures = {(failure.kind, failure.message) for failure in result.failures}
    return (found, failures), result


def check(program: Program, number: object, *options: tuple[str, str, str]) -> int:
    """Compare with all interleavings; return how many executions `optimal-constrained` saved."""
    every, _ = ends_of(program, "exhaustive", stop_on_failure=False)
    saved = 0
    for algorithm, uniformity, schedule in options:
        found, result = ends_of(
            program, algorithm, uniformity=uniformity, schedule=schedule, **FOUND
        )
        assert found[0] == every[0], (number, algorithm, uniformity, schedule)
        assert {kind for kind, _ in found[1]} == {kind for kind, _ in every[1]}, number
        assert algorithm == "constrained" or not result.blocked
        saved += result.constraints_used
    return saved


def test_a_sample() -> None:
    used = 0
    for number in range(6):
        options = OPTIONS[number % len(OPTIONS)], OPTIONS[(number + 3) % len(OPTIONS)]
        used += check(draw_program(random.Random(number)), number, *options)
    assert used > 5


@settings(max_examples=4)
@given(data=st.data(), options=st.sampled_from(OPTIONS))
def test_programs_that_hypothesis_draws(data: st.DataObject, options: tuple[str, str, str]) -> None:
    check(draw_program(Drawn(data.draw)), "drawn", options)


@pytest.mark.slow
@pytest.mark.minutes
def test_many() -> None:
    for number in range(6, 150):
        check(draw_program(random.Random(number)), number, *OPTIONS)

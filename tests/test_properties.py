"""Random programs against brute force: every algorithm, every default schedule.

A program is drawn as data (`random_programs`), so that Hypothesis can shrink one that fails, and
run in two forms: interpreted, where the source analysis sees nothing and every step is probed, and
written out as source, where most steps are rigid.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st

from algorithms import covering, may_block, repeats_classes, sampling
from brute import Everything, Explored, TooMany, brute_force, explored
from drawn import Drawn
from random_programs import ALL, SIMPLE, Body, build, build_from_source, draw_program
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.model import Program

FAMILIES: dict[str, tuple[str, ...]] = {
    "simple": (*SIMPLE, "if", "check"),
    "data": ("cas", "copy-if", "put", "store"),
    "swaps": ("swap", "exchange", "cas", "atomic", "if", "check"),
    "atomic": ("atomic", "if", "copy-if"),
    "locks": ("locked", "try", "if", "check"),
    "semaphores": ("up", "down", "check"),
    "awaits": ("await", "either", "increment", "check"),
    "mailboxes": ("send", "receive", "select", "poll", "check"),
    "processes": ("spawn", "spawn", "join", "copy-if", "check"),
    "everything": ALL,
}
LENGTHS = [(1, 1), (2, 2), (1, 1, 1), (3, 2), (2, 1, 1), (2, 2, 1), (4, 2), (3, 3), (2, 2, 2)]
FORMS = {"interpreted": build, "source": build_from_source}

in_every_family = pytest.mark.parametrize("family", FAMILIES)
in_both_forms = pytest.mark.parametrize("form", FORMS)
in_three_sizes = pytest.mark.parametrize(
    ("examples", "limit"),
    [
        pytest.param(25, 100, id="few"),
        pytest.param(80, 150, id="many", marks=[pytest.mark.slow, pytest.mark.minutes]),
        pytest.param(2000, 600, id="more", marks=[pytest.mark.slow, pytest.mark.minutes]),
    ],
)


@st.composite
def programs(draw: Any, family: str) -> list[Body]:
    """Draw two or three processes of few kinds of instructions, so that they meet."""
    kinds = draw(st.lists(st.sampled_from(FAMILIES[family]), min_size=1, max_size=4))
    lengths = draw(st.sampled_from(LENGTHS))
    return draw_program(Drawn(draw), ("write", "read", *kinds), lengths)


def everything_of(program: Program, limit: int) -> Everything:
    """Run every interleaving, or leave the program out if there are too many."""
    try:
        return brute_force(program, limit)
    except TooMany:
        assume(False)
        raise


def differences(algorithm: str, found: Explored, expected: Everything) -> list[str]:
    """Say in what an exploration differs from what it has to find."""
    reported = {(failure.kind, failure.message) for failure in found.result.failures}
    checks = {
        "classes": set(found.classes) == expected.classes,
        "final states": found.final_states == expected.final_states,
        "failures": found.failures == expected.failures,
        "failures in the result": reported == expected.failures,
        "completeness": found.result.complete,
        "number of executions": found.result.executions == len(found.classes),
        "executions per class": repeats_classes(algorithm)
        or len(found.classes) == len(expected.classes),
        "interleavings": not repeats_classes(algorithm)
        or found.result.executions == expected.interleavings,
        "blocked executions": may_block(algorithm) or found.result.blocked == 0,
    }
    return [what for what, holds in checks.items() if not holds]


@in_every_family
@in_both_forms
@in_three_sizes
def test_every_algorithm_finds_what_brute_force_finds(
    family: str, form: str, examples: int, limit: int
) -> None:
    make = FORMS[form]

    @seed(examples)
    @settings(max_examples=examples)
    @given(bodies=programs(family), schedule=st.sampled_from(list(SCHEDULES)))
    def agree(bodies: list[Body], schedule: str) -> None:
        expected = everything_of(make(bodies), limit)
        for algorithm in covering():
            found = explored(make(bodies), algorithm, schedule)
            assert not differences(algorithm, found, expected), algorithm

    agree()


@in_every_family
@pytest.mark.parametrize("algorithm", sampling())
def test_samples_are_executions_of_the_program(family: str, algorithm: str) -> None:
    @settings(max_examples=15)
    @given(bodies=programs(family), chosen=st.integers(0, 99), depth=st.integers(1, 4))
    def agree(bodies: list[Body], chosen: int, depth: int) -> None:
        expected = everything_of(build(bodies), 60)
        found = samples(bodies, algorithm, seed=chosen, depth=depth)
        assert set(found.classes) <= expected.classes
        assert found.final_states <= expected.final_states
        assert found.failures <= expected.failures
        assert (found.result.executions, found.result.complete) == (10, False)
        again = samples(bodies, algorithm, seed=chosen, depth=depth)
        assert again.classes == found.classes

    agree()


def samples(bodies: list[Body], algorithm: str, **options: int) -> Explored:
    return explored(build(bodies), algorithm, budget=Budget(max_executions=10), **options)


@pytest.mark.parametrize("algorithm", sampling())
def test_seeds_matter(algorithm: str) -> None:
    bodies: list[Body] = [[("write", "x", value), ("read", "x")] for value in range(3)]
    orders = {tuple(samples(bodies, algorithm, seed=chosen).classes) for chosen in range(5)}
    assert len(orders) > 1

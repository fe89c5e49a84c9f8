"""The counts of the thesis's programs: interleavings, states, classes, and who waits for ever."""

from __future__ import annotations

from typing import Any

import pytest
from programs import ORACLES, barber, database, late, pipesort, protocol, three_sends

import treadle
from treadle.actors import Program
from treadle.core.program import Restart
from treadle.explore.registry import ALGORITHMS

MANY = 5000
"""Interleavings that take long."""
EVERYTHING = 200
"""Classes of programs that all algorithms explore."""


def called(program: Program) -> str:
    words = [*map(repr, program.args), *(f"{n}={v}" for n, v in program.kwargs.items())]
    return f"{program.name}({','.join(words)})"


def rows(column: int, *, many: bool = False, at_most: int = 10**9) -> list[Any]:
    """Return the programs with what is expected of them; those that take long only on demand."""
    found = []
    for program, row in ORACLES.items():
        expected = row[column]
        if expected is None or row[1][0] > at_most:
            continue
        size = (row[0] or row[1])[0] if many else expected[0]
        marks = [pytest.mark.slow] if size > MANY else []
        found.append(pytest.param(program, expected, id=called(program), marks=marks))
    return found


def explored(program: Program, algorithm: str, **options: Any) -> treadle.Result:
    result = treadle.explore(program, algorithm, stop_on_failure=False, **options)
    assert result.complete
    assert set(result.failure_kinds) <= {"deadlock", "stuck"}
    return result


@pytest.mark.parametrize(("program", "expected"), rows(0))
def test_all_interleavings(program: Program, expected: tuple[int, int, int]) -> None:
    result = explored(program, "exhaustive")
    assert (result.executions, result.failing) == expected[:2]
    assert not expected[2] or result.states == expected[2]


@pytest.mark.parametrize("algorithm", ["optimal", "source", "sleep"])
@pytest.mark.parametrize(("program", "expected"), rows(1, many=True))
def test_classes_at_the_actor_level(
    program: Program, expected: tuple[int, int], algorithm: str
) -> None:
    if algorithm == "sleep" and ORACLES[program][0] is None:
        pytest.skip("too many are begun and then blocked")
    result = explored(program, algorithm)
    assert (result.executions, result.failing) == expected


@pytest.mark.parametrize("algorithm", ["optimal", "source"])
@pytest.mark.parametrize("dependency", ["field", "access", "entry"])
@pytest.mark.parametrize(("program", "expected"), rows(2, at_most=EVERYTHING))
def test_classes_at_the_levels_below(
    program: Program, expected: tuple[int, int], dependency: str, algorithm: str
) -> None:
    if dependency != "field" and program.name == "buffer":
        pytest.skip("what a condition did not read is not there at these levels")
    result = explored(program, algorithm, dependency=dependency)
    assert (result.executions, result.failing) == expected
    assert result.notes == []


def test_two_clients_at_the_field_level() -> None:
    result = explored(barber(2), "optimal", dependency="field")
    assert (result.executions, result.failing) == (28, 10)


@pytest.mark.slow
def test_sorting_five_items_as_syco_did() -> None:
    assert explored(pipesort((2, 4, 1, 5, 3)), "source").executions == 2 * 6 * 24 * 120


@pytest.mark.parametrize("order", ["sender", "fifo"])
def test_orders_of_messages(order: str) -> None:
    assert explored(three_sends, "optimal", order=order).executions == 1
    assert explored(late, "optimal", order="sender").executions == 1
    assert explored(late, "exhaustive", order="sender").executions == 1


def final_fields(program: Program, algorithm: str) -> set[object]:
    """Return the final values of `w.data` and `w.client`, or that tasks wait."""
    seen: set[object] = set()
    program.properties.finals[:] = [lambda w: seen.add(w.data)]
    try:
        explored(program, algorithm)
    finally:
        program.properties.finals.clear()
    return seen


@pytest.mark.parametrize("algorithm", [name for name, a in ALGORITHMS.items() if a.covers])
def test_the_outcomes_of_the_protocol(algorithm: str) -> None:
    assert final_fields(protocol, algorithm) == {7, None}
    assert explored(protocol, algorithm).failing >= 1


@pytest.mark.parametrize("algorithm", ["exhaustive", "sleep"])
def test_early_stop(algorithm: str) -> None:
    result = explored(barber(1), algorithm, early_stop=True)
    assert result.failing == explored(barber(1), algorithm).failing
    if algorithm == "exhaustive":
        assert (result.executions, result.states) == (42, 178)


def test_early_stop_is_not_for_backtracking_algorithms() -> None:
    with pytest.raises(treadle.TreadleError, match="early_stop is for exhaustive or sleep"):
        treadle.explore(barber(1), "optimal", early_stop=True)


def test_a_program_is_not_changed_by_an_exploration() -> None:
    first = explored(late, "optimal")
    assert late.knowledge()
    assert explored(late, "optimal").executions == first.executions
    fresh = late.with_options({})
    with fresh.controlled():
        run = fresh.start()
        run.execute([], [], 100)
        with pytest.raises(Restart):
            run.close()


def test_outcomes_of_the_database() -> None:
    assert explored(database(0), "optimal").failing == 0

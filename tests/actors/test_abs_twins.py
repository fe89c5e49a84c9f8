"""Random programs in ABS and in Python: the same executions, deadlocks, and instructions."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import treadle
from abs_code import program
from abs_twins import METHODS, Twins, twins
from treadle.actors import Actor, pause, until
from treadle.analyses.ir import Assign, Branch, Evaluate, Jump, Local, Return
from treadle.analyses.known import Known, function_of
from treadle.analyses.lower import Lowering

LIMIT = 400


def python_program(text: str, file: str) -> Any:
    """Run the text of a twin, whose source analyses can find."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": file}
    exec(compile(text, file, "exec"), space)
    return space["main"]


def outcome(found: Any, algorithm: str, level: str) -> tuple[object, ...]:
    result = treadle.explore(
        found, algorithm, stop_on_failure=False, max_executions=LIMIT, dependency=level
    )
    kinds = sorted(failure.kind for failure in result.failures)
    assert not [note for note in result.notes if "level" in note], result.notes
    return result.executions, result.failing, result.states, kinds, result.complete


@pytest.mark.parametrize("level", ["actor", "field"])
@given(twins())
@settings(max_examples=25)
def test_both_languages_have_the_same_executions(
    tmp_path_factory: Any, level: str, both: Twins
) -> None:
    directory: Path = tmp_path_factory.getbasetemp()
    in_abs = program(directory, both.abs, file="twins.abs")
    in_python = python_program(both.python, f"<twin {level}>")
    for algorithm in ("optimal", "sleep"):
        assert outcome(in_abs, algorithm, level) == outcome(in_python, algorithm, level)


@given(twins())
@settings(max_examples=25)
def test_both_languages_wait_at_the_same_instructions(tmp_path_factory: Any, both: Twins) -> None:
    directory: Path = tmp_path_factory.getbasetemp()
    in_abs = program(directory, both.abs, file="twins.abs").main
    in_python = python_program(both.python, "<twin>").main
    for method in (*METHODS, "meet"):
        assert waits_of(in_abs, method) == waits_of(in_python, method)


def waits_of(main: Any, method: str) -> list[str]:
    """Return the kinds of instructions of a method, without those that only move values."""
    lowering = Lowering(Known(Actor, until, pause), frozenset(METHODS))
    function = function_of(main.__globals__["C"], method)
    assert function is not None
    lowered = lowering.method(function)
    assert not list(lowered.havocs())
    left_out = (Assign, Branch, Evaluate, Jump, Local, Return)
    return [type(each).__name__ for each in lowered.instructions if not isinstance(each, left_out)]


def outcomes(text: str, algorithm: str, level: str) -> tuple[frozenset[object], bool]:
    """Return the fields of both objects in all final states, and whether these are all."""
    found = set()
    main = python_program(text, f"<twin {algorithm} {level}>")

    @main.finally_
    def note(*objects: Any) -> None:
        found.add(tuple((each.a, each.b) for each in objects))

    result = treadle.explore(
        main, algorithm, stop_on_failure=False, max_executions=3 * LIMIT, dependency=level
    )
    return frozenset(found), result.complete


@given(twins())
@settings(max_examples=40)
def test_segments_lose_no_outcome(both: Twins) -> None:
    every, is_all = outcomes(both.python, "exhaustive", "actor")
    for level in ("actor", "field"):
        some, is_complete = outcomes(both.python, "optimal", level)
        assert some <= every or not is_all
        assert some == every or not (is_all and is_complete), level

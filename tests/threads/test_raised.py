"""What raising an exception that threads share sets in it, and what its methods change."""

from __future__ import annotations

import contextlib
import copy
import fnmatch
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pytest
from together import outcomes, together

import treadle

Change = Callable[[Any], object]


def traceback_of_another() -> TracebackType:
    try:
        raise LookupError
    except LookupError as error:
        trace = error.__traceback__
    assert trace is not None
    return trace


def raise_it(error: Exception) -> None:
    with contextlib.suppress(ValueError):
        raise error


def raise_from(error: Exception) -> None:
    with contextlib.suppress(ValueError):
        raise error from KeyError()


def raise_from_none(error: Exception) -> None:
    with contextlib.suppress(ValueError):
        raise error from None


def raise_in_handler(error: Exception) -> None:
    with contextlib.suppress(ValueError):
        try:
            raise KeyError
        except KeyError:
            raise error  # noqa: B904


CHANGES: dict[str, tuple[Change, Callable[[Any], object]]] = {
    "raise": (raise_it, lambda error: error.__traceback__ is None),
    "raise from: cause": (raise_from, lambda error: error.__cause__ is None),
    "raise from: context": (raise_from, lambda error: not error.__suppress_context__),
    "raise from None": (raise_from_none, lambda error: not error.__suppress_context__),
    "raise in a handler": (raise_in_handler, lambda error: error.__context__ is None),
    "assigned cause": (
        lambda error: setattr(error, "__cause__", KeyError()),
        lambda error: not error.__suppress_context__,
    ),
    "with_traceback": (
        lambda error: error.with_traceback(traceback_of_another()),
        lambda error: error.__traceback__ is None,
    ),
    "__init__": (lambda error: error.__init__(2), lambda error: error.args == (1,)),
    "__setstate__": (
        lambda error: error.__setstate__({"code": 1}),
        lambda error: not hasattr(error, "code"),
    ),
    "__reduce__": (lambda error: setattr(error, "args", (2,)), lambda e: e.__reduce__()[1] == (1,)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_set_is_seen_before_and_after(name: str) -> None:
    change, is_as_before = CHANGES[name]

    def test() -> object:
        shared = ValueError(1)
        seen: list[object] = []
        together(lambda: change(shared), lambda: seen.append(is_as_before(shared)))
        return seen[0]

    assert outcomes(test) == {"True", "False"}


def test_cause_and_suppression_are_set_together() -> None:
    def look(error: Exception) -> tuple[bool, bool]:
        return error.__cause__ is None, error.__suppress_context__

    def test() -> object:
        shared = ValueError(1)
        seen: list[object] = []
        together(lambda: raise_from(shared), lambda: seen.append(look(shared)))
        return seen[0]

    assert outcomes(test) == {"(True, False)", "(True, True)", "(False, True)"}


def test_raising_what_only_one_thread_has_takes_no_step() -> None:
    result = treadle.explore(lambda: together(*[lambda: raise_it(ValueError())] * 2))
    assert (result.ok, result.executions) == (True, 1)


def test_a_generator_that_is_asked_whether_it_runs_is_noted() -> None:
    def numbers() -> Any:
        yield 1

    def test() -> None:
        shared = numbers()
        together(lambda: next(shared), lambda: shared.gi_running)

    [note] = treadle.explore(test).notes
    assert "generator.gi_running" in note
    assert "test_raised.py:" in note


def test_a_partial_call_whose_state_is_set_is_noted() -> None:
    def test() -> None:
        shared = functools.partial(int, "3")
        state = (int, ("4",), {}, {})
        together(lambda: shared.__setstate__(state), lambda: shared())  # type: ignore[attr-defined]

    [note] = treadle.explore(test).notes
    assert "functools.partial.__setstate__" in note
    assert "test_raised.py:" in note


def test_the_cache_of_a_library_that_is_asked_is_noted() -> None:
    def test() -> None:
        together(lambda: fnmatch.fnmatch("a", "b"), lambda: compiled.cache_clear())

    compiled: Any = fnmatch._compile_pattern  # type: ignore[attr-defined]
    [note] = treadle.explore(test).notes
    assert "fnmatch._compile_pattern.cache_clear" in note


def test_the_memo_of_a_deep_copy_that_threads_share() -> None:
    def test() -> object:
        values, memo = [1], {}  # type: ignore[var-annotated]
        seen: list[object] = []
        together(lambda: copy.deepcopy(values, memo), lambda: seen.append(len(memo)))
        return seen[0] == 0

    assert outcomes(test) == {"True", "False"}

"""A session takes control once, whatever it does; what comes out is data, and runs nothing."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import treadle
from racy_model import racy
from treadle.core.decorated import are_called_plainly, called_plainly
from treadle.core.errors import ScheduleMismatch
from treadle.python.runtime import slots
from treadle.report.as_json import failure_as_dict, report_in_json, result_as_dict
from treadle.report.markdown import report_in_markdown
from treadle.report.text import report_in_text
from treadle.session.session import Session, opened
from treadle.session.settings import Settings
from treadle.threads.primitives.patches import Installer

CALLS: list[str] = []
"""Each execution of the tests below."""


class Box:
    value = 0


def run_both(target: Callable[[], None]) -> None:
    threads = [threading.Thread(target=target) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lost_update() -> None:
    CALLS.append("lost_update")
    box = Box()

    def add() -> None:
        value = box.value
        box.value = value + 1

    run_both(add)
    if box.value != 2:
        raise AssertionError("lost")  # in no other words, as pytest would have it


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list of how often control was taken, and given back."""
    found: list[str] = []
    install, undo = Installer.install, Installer.undo

    def counted(self: Installer, *arguments: Any) -> None:
        found.append("taken")
        install(self, *arguments)

    def given_back(self: Installer) -> None:
        if self._undo:
            found.append("given back")
        undo(self)

    monkeypatch.setattr(Installer, "install", counted)
    monkeypatch.setattr(Installer, "undo", given_back)
    return found


ONCE = ["taken", "given back"]


# Control


def test_exploring_and_recording(taken: list[str]) -> None:
    (failure,) = treadle.explore(lost_update).failures
    assert failure.trace
    assert failure.cause is not None
    assert taken == ONCE
    assert slots.program is None


def test_checking_and_shrinking(taken: list[str]) -> None:
    with pytest.raises(treadle.CheckFailed, match="lost"):
        treadle.check(algorithm="random", seed=2)(lost_update)()
    assert taken == ONCE


def test_replaying_and_shrinking(taken: list[str]) -> None:
    (failure,) = treadle.explore(lost_update, "random", seed=2).failures
    taken.clear()
    again = treadle.replay(lost_update, failure.token)
    assert again is not None
    assert (again.message, again.schedule) == (failure.message, failure.schedule)
    assert taken == ONCE
    assert treadle.shrink(failure).after <= (failure.schedule.switches, len(failure.schedule))
    assert taken == 2 * ONCE


def test_all_that_a_session_can_do(taken: list[str]) -> None:
    settings = Settings().changed({"stop_on_failure": False})
    with opened(lost_update, settings) as session:
        for algorithm in ("optimal", "source", "random"):
            result = session.explore(algorithm)
            session.record(*result.failures)
        smaller = session.shrink(result.failures[0]).failure
        session.record(smaller)
        assert session.rerun(smaller.schedule).failure is not None
        assert session.with_settings(Settings()).explore().failing == 1
        assert taken == ["taken"]
    assert taken == ONCE


def test_control_is_given_back_whatever_happens(taken: list[str]) -> None:
    with pytest.raises(KeyError), opened(lost_update, Settings()):
        raise KeyError
    with pytest.raises(treadle.TreadleError, match="unknown algorithm"):
        treadle.explore(lost_update, "best")
    assert taken == ONCE
    assert threading.Lock is not None
    assert type(threading.Lock()).__module__ == "_thread"


FILE = """
    import threading, treadle
    calls = []
    class Box: value = 0
    def lost_update():
        calls.append(1)
        box = Box()
        def add():
            value = box.value
            box.value = value + 1
        threads = [threading.Thread(target=add) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert box.value == 2, "lost"
"""


@pytest.fixture
def file(workplace: Path) -> Path:
    (workplace / "f.py").write_text(dedent(FILE))
    return workplace


@pytest.mark.usefixtures("file")
def test_run_and_replay_take_control_once(
    taken: list[str], command_line: Callable[..., Any]
) -> None:
    status, out, _ = command_line("run", "f.py::lost_update", "--json", "--report", "r.md")
    assert (status, taken) == (1, ONCE)
    (failure,) = json.loads(out)["failures"]
    assert failure["shrunk"]["replays"] > 0
    command_line("run", "f.py::lost_update")  # now from the database
    assert taken == 2 * ONCE
    command_line("replay", "f.py::lost_update", failure["token"], "--report", "r.txt")
    assert taken == 3 * ONCE


@pytest.mark.usefixtures("file")
def test_comparing_takes_control_once(taken: list[str], command_line: Callable[..., Any]) -> None:
    command_line("compare", "f.py::lost_update", "--algorithm", "source", "--algorithm", "optimal")
    assert taken == ONCE


@pytest.mark.parametrize("arguments", [(), ("--treadle-no-shrink",), ("--tb=short", "-vv")])
def test_a_check_of_the_plugin_takes_control_once(
    arguments: tuple[str, ...],
    taken: list[str],
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    pytester.makepyfile(test_f=dedent(FILE) + "\ntest_it = treadle.check(lost_update)\n")
    for times in (1, 2):  # the second time the failure comes from the database
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)
        result.assert_outcomes(failed=1)
        assert taken == times * ONCE


# Results are data


def failures() -> list[treadle.Failure]:
    found = treadle.explore(lost_update, stop_on_failure=False).failures
    CALLS.clear()
    return found


def test_nothing_runs_when_a_failure_is_shown(taken: list[str]) -> None:
    (failure,) = failures()
    taken.clear()
    result = treadle.Result("lost_update", "optimal", failures=[failure])
    shown = [
        str(failure),
        repr(failure),
        str(result),
        repr(result),
        json.dumps(failure_as_dict(failure)),
        json.dumps(result_as_dict(result)),
        report_in_json(result, "f.py::f", ["replay it"]),
        report_in_markdown(result, "f.py::f", ["replay it"]),
        report_in_text(result, "f.py::f", ["replay it"]),
    ]
    assert all("lost" in text for text in shown)
    assert failure.token
    assert failure.cause is not None
    assert failure.frames
    assert (CALLS, taken) == ([], [])


def test_the_error_of_a_check_was_put_into_words_when_it_was_raised() -> None:
    with pytest.raises(treadle.CheckFailed) as caught:
        treadle.check(lost_update)()
    CALLS.clear()
    assert "Replay" in str(caught.value) or "lost" in str(caught.value)
    assert caught.value.result.failures[0].trace
    assert CALLS == []


def test_how_often_a_test_is_run() -> None:
    treadle.explore(lost_update, restore=False)
    executed = len(CALLS)
    CALLS.clear()
    with opened(lost_update, Settings({"restore": False})) as session:
        again = session.explore()
        before = len(CALLS)
        session.record(*again.failures, explained=False)
        assert len(CALLS) == before + 1, "one run tells the trace, the frames and the token"
        session.record(*again.failures, explained=False)
        assert len(CALLS) == before + 1, "which are recorded once"
    assert before + 1 < executed, "an explanation takes more"


def test_failures_can_be_copied_and_pickled() -> None:
    (failure,) = failures()
    for same in (copy.deepcopy(failure), pickle.loads(pickle.dumps(failure))):
        assert type(same.exception) is AssertionError
        assert str(same.exception) == str(failure.exception)
        same.exception = failure.exception
        assert same == failure
        assert (same.trace, same.cause, same.frames) == (
            failure.trace,
            failure.cause,
            failure.frames,
        )
        assert (same.token, str(same)) == (failure.token, str(failure))
        assert same.test is lost_update
        assert treadle.replay(same.test, same.token) is not None


def test_a_result_can_be_pickled() -> None:
    result = treadle.explore(lost_update)
    same = pickle.loads(pickle.dumps(result))
    assert (same.executions, same.ok, same.failure_kinds) == (
        result.executions,
        False,
        {"assertion": 1},
    )
    assert str(same) == str(result)


def test_what_cannot_be_sent_is_the_test_or_its_exception() -> None:
    (failure,) = treadle.explore(racy()).failures
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        pickle.dumps(failure)
    failure.test = None
    assert pickle.loads(pickle.dumps(failure)).token == failure.token
    with pytest.raises(
        treadle.TreadleError, match="only a failure that an exploration or a replay"
    ):
        treadle.shrink(failure)


# Functions that make programs


MADE: list[treadle.model.Program] = []


def makes_a_model() -> treadle.model.Program:
    MADE.append(racy())
    return MADE[-1]


def test_a_function_that_returns_a_model(taken: list[str]) -> None:
    (failure,) = treadle.explore(makes_a_model).failures
    assert taken == ONCE, "only to see what it returns"
    assert failure.test is MADE[-1]
    (other,) = treadle.explore(racy()).failures
    again = treadle.replay(makes_a_model, failure.token)
    assert again is not None
    assert failure.token == other.token == again.token


def test_a_function_that_returns_a_function_is_a_test_of_threads() -> None:
    result = treadle.explore(lambda: makes_a_model)  # type: ignore[arg-type, return-value]
    assert (result.executions, CALLS) == (1, [])


def test_decorated_functions_that_make_models() -> None:
    decorated = treadle.check(makes_a_model)
    with pytest.raises(treadle.CheckFailed, match="an update is lost"):
        decorated()
    (failure,) = treadle.explore(decorated).failures
    assert failure.kind == "assertion"
    with called_plainly():
        assert isinstance(decorated(), treadle.model.Program)


# Decorated tests inside of explorations


def test_a_decorated_test_inside_of_an_exploration_runs_as_it_is(taken: list[str]) -> None:
    inner = treadle.check(max_executions=1)(lost_update)

    def outer() -> None:
        assert are_called_plainly()
        assert inner() is None

    result = treadle.explore(outer, stop_on_failure=False)
    plain = treadle.explore(lost_update, stop_on_failure=False)
    assert (result.executions, result.complete) == (plain.executions, True)
    assert [f.message for f in result.failures] == [f.message for f in plain.failures]
    assert taken == 2 * ONCE
    assert not are_called_plainly()


def test_an_exploration_inside_of_an_exploration_is_refused() -> None:
    def outer() -> None:
        treadle.explore(lost_update)

    with pytest.raises(treadle.TreadleError, match=r"^outer is being explored: .* nested$"):
        treadle.explore(outer)
    assert slots.program is None


def test_plain_calls_are_counted() -> None:
    assert not are_called_plainly()
    with called_plainly():
        with pytest.raises(KeyError), called_plainly():
            raise KeyError
        assert are_called_plainly()
    assert not are_called_plainly()


def test_arguments_of_decorated_tests() -> None:
    @treadle.check
    def adds(one: int, *, other: int) -> None:
        assert one + other == 3

    assert adds(1, other=2).program == "adds"
    with pytest.raises(treadle.CheckFailed):
        adds(1, other=3)
    with pytest.raises(treadle.TreadleError, match="the test must take no arguments"):
        adds()


# Programs that are not deterministic


def moody() -> treadle.model.Program:
    """A model that does something else the third time, and each third time from then on."""
    program, times = treadle.model.Program(x=0, y=0), itertools.count()

    @program.process
    def changes(s: Any) -> Iterator[None]:
        number = next(times)
        yield
        if number % 3 == 2:
            s.y = 1
        s.x = 1

    @program.process
    def reads(s: Any) -> Iterator[None]:
        yield
        s.y = s.x

    return program


def test_a_failure_that_cannot_be_repeated_has_no_trace() -> None:
    (failure,) = treadle.explore(moody()).failures
    assert failure.kind == "nondeterminism"
    assert failure.cause is None
    assert failure.token
    assert str(failure)
    shrunk = treadle.shrink(failure)
    assert shrunk.failure is failure
    assert shrunk.replays == 0


def test_recording_a_schedule_that_does_not_fit_leaves_the_trace_out() -> None:
    with opened(racy(), Settings()) as session:
        (failure,) = session.explore().failures
        failure.schedule = treadle.Schedule(["p"] * 9)
        failure.step = 8
        session.record(failure)
        assert (failure.trace, failure.frames, failure.cause) == ([], [], None)
        assert failure.token
        with pytest.raises(ScheduleMismatch, match="step 3 is for 'p', but it cannot take a step"):
            session.rerun(failure.schedule)


def test_a_session_refuses_what_makes_no_sense_together() -> None:
    settings = Settings().changed({"races": True})
    session = Session(racy(), settings, None)
    with pytest.raises(treadle.TreadleError, match="races=True needs an algorithm that sees every"):
        session.explore("context")

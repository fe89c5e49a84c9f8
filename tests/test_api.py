"""What users call: `explore`, `replay`, `check`, schedules, results and their messages."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle
from treadle import Schedule
from treadle.findings.recording import record
from treadle.model import Lock, Program

Process = Iterator[Any]


def racy() -> Program:
    program = Program("racy", x=0)

    @program.process
    def p(s: Any) -> Process:
        yield
        s.x = 1

    @program.process
    def q(s: Any) -> Process:
        yield
        assert s.x == 0, "p was faster"

    return program


def sound() -> Program:
    program = Program("sound", x=0)

    @program.process
    def p(s: Any) -> Process:
        yield
        s.x = 1

    return program


# explore


def test_explore_takes_a_program_or_a_function_that_returns_one() -> None:
    assert treadle.explore(sound()).ok
    assert treadle.explore(sound).ok
    assert treadle.explore(lambda: sound()).ok


def test_explore_uses_optimal_and_stops_at_the_first_failure() -> None:
    result = treadle.explore(racy)
    assert result.algorithm == "optimal"
    assert result.program == "racy"
    assert len(result.failures) == 1
    assert result.stopped_by == "the first failure"


def test_results_count_what_was_done() -> None:
    result = treadle.explore(racy, stop_on_failure=False)
    assert (result.executions, result.blocked, result.failing) == (2, 0, 1)
    assert (result.events, result.replayed, result.complete) == (4, 0, True)
    assert result.seconds > 0
    assert result.peak_nodes == 1


def test_replayed_steps_are_counted() -> None:
    result = treadle.explore(sound_pair(), "exhaustive")
    assert (result.executions, result.events, result.replayed) == (2, 6, 1)


def sound_pair() -> Program:
    program = Program(x=0)

    @program.process
    def p(s: Any) -> Process:
        s.x = 1
        yield
        s.x = 2

    @program.process
    def q(s: Any) -> Process:
        yield s.until(lambda: s.x > 0)

    return program


@pytest.mark.parametrize("algorithm", treadle.ALGORITHMS)
def test_every_algorithm_is_reached_by_name(algorithm: str) -> None:
    result = treadle.explore(racy, algorithm)
    assert (result.algorithm, result.failures[0].kind) == (algorithm, "assertion")


def test_an_unknown_algorithm_gets_the_list() -> None:
    with pytest.raises(treadle.TreadleError) as caught:
        treadle.explore(racy, "optimum")
    assert "unknown algorithm 'optimum'" in str(caught.value)
    for name in treadle.ALGORITHMS:
        assert name in str(caught.value)


def test_an_unknown_schedule_gets_the_list() -> None:
    with pytest.raises(treadle.TreadleError) as caught:
        treadle.explore(racy, schedule="fair")
    assert "stay, oldest, newest, round-robin" in str(caught.value)


@pytest.mark.parametrize("depth", [0, -1, 1.5, "3"])
def test_a_depth_that_makes_no_sense(depth: Any) -> None:
    with pytest.raises(treadle.TreadleError, match="depth must be a whole number above 0"):
        treadle.explore(racy, "pct", depth=depth)


def generator(s: Any) -> Process:
    yield s


def with_arguments(n: int) -> Program:
    del n
    return sound()


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (generator, "'generator' is a process, not a program"),
        (with_arguments, "must take no arguments"),
        (3, "cannot explore int objects"),
        (None, "cannot explore NoneType objects"),
    ],
)
def test_what_cannot_be_explored(test: Any, message: str) -> None:
    for call in (treadle.explore, lambda what: treadle.replay(what, "p")):
        with pytest.raises(treadle.TreadleError, match=message) as caught:
            call(test)
        assert "\n" not in str(caught.value)


def test_an_error_of_the_test_itself_is_not_hidden() -> None:
    def broken() -> Program:
        raise TypeError("mine")

    failure = treadle.explore(broken).failures[0]
    assert (failure.kind, failure.message, failure.process) == (
        "exception", "TypeError: mine", "main",
    )  # fmt: skip


@pytest.mark.parametrize("returned", [None, "program", 3])
def test_a_function_that_starts_no_thread_has_one_interleaving(returned: object) -> None:
    result = treadle.explore(lambda: returned)
    assert (result.executions, result.complete) == (1, True)
    assert result.notes == ["the test started no thread, so there is only one interleaving"]


# replay


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive", "pct"])
def test_a_failure_is_replayed_from_its_schedule(algorithm: str) -> None:
    program = racy()
    failure = treadle.explore(program, algorithm).failures[0]
    for schedule in (failure.schedule, str(failure.schedule), list(failure.schedule)):
        again = treadle.replay(program, schedule)
        assert again is not None
        assert (again.kind, again.message, again.step) == ("assertion", failure.message, 1)
    fresh = treadle.replay(racy, str(failure.schedule))
    assert fresh is not None
    assert fresh.message == failure.message


def test_a_replay_that_shows_nothing_returns_nothing() -> None:
    assert treadle.replay(racy, "q p") is None
    assert treadle.replay(racy, "p") is None
    assert treadle.replay(racy, "") is None


def test_a_deadlock_is_replayed() -> None:
    program = Program(a=Lock(), b=Lock())

    def p(s: Any, first: str, second: str) -> Process:
        yield getattr(s, first).acquire()
        yield getattr(s, second).acquire()

    program.process(p, "a", "b", name="p")
    program.process(p, "b", "a", name="q")
    failure = treadle.replay(program, "p q")
    assert failure is not None
    assert failure.kind == "deadlock"
    assert [wait.holders for wait in failure.waits] == [("q",), ("p",)]
    assert treadle.replay(program, "p") is None


def test_a_replayed_failure_has_a_trace() -> None:
    program = racy()
    failure = treadle.explore(program).failures[0]
    trace = failure.trace
    assert [(step.process, [str(access) for access in step.accesses]) for step in trace] == [
        ("p", ["write x = 1"]),
        ("q", ["read x = 1"]),
    ]
    assert trace[-1].error.startswith("AssertionError: p was faster")
    assert failure.trace is trace
    again = treadle.Failure("assertion", "", failure.schedule, failure.step)
    record(program, again)
    assert again.trace == trace


def test_a_failure_without_a_program_has_no_trace() -> None:
    assert treadle.Failure("assertion", "m", Schedule(["p"]), 0).trace == []


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("nobody", r"step 1 is for 'nobody', but there is no such process \(enabled: p, q\)"),
        ("p p", r"step 2 is for 'p', but it cannot take a step \(enabled: q\)"),
        ("p q q", r"step 3 is for 'q', but it cannot take a step \(enabled: none\)"),
    ],
)
def test_a_schedule_that_does_not_fit(schedule: str, reason: str) -> None:
    with pytest.raises(treadle.ScheduleMismatch, match=reason):
        treadle.replay(racy, schedule)


@pytest.mark.parametrize("text", ["p*", "*3", "p*x", "p*-1", "p*99999999", "p*3.5"])
def test_a_schedule_that_cannot_be_read(text: str) -> None:
    with pytest.raises(treadle.ScheduleMismatch, match=r"cannot read .* in the schedule"):
        Schedule.parse(text)


# Schedules


@given(st.lists(st.one_of(st.sampled_from(["p", "q", "a b", "p*2", "%20"]), st.text(min_size=1))))
def test_a_schedule_survives_being_written_down(processes: list[str]) -> None:
    schedule = Schedule(processes)
    assert Schedule.parse(str(schedule)) == schedule
    assert "\n" not in str(schedule)


@given(st.lists(st.sampled_from("pqr")))
def test_switches_are_the_places_where_another_process_goes_on(processes: list[str]) -> None:
    schedule = Schedule(processes)
    runs = len(str(schedule).split())
    assert schedule.switches == max(runs - 1, 0)


def test_schedules_in_words() -> None:
    assert str(Schedule()) == ""
    assert str(Schedule(["p", "p", "q", "p"])) == "p*2 q p"
    assert Schedule.parse("p*2 q") == ("p", "p", "q")
    assert Schedule.parse("  p \n q ") == ("p", "q")


# check


def test_check_returns_the_result_of_a_test_that_passes() -> None:
    checked = treadle.check(algorithm="source")(sound)
    result = checked()
    assert (result.ok, result.algorithm) == (True, "source")
    assert checked.__name__ == "sound"


def test_check_raises_on_a_failure() -> None:
    with pytest.raises(treadle.CheckFailed, match="p was faster") as caught:
        treadle.check()(racy)()
    assert isinstance(caught.value, AssertionError)
    assert caught.value.result.failures[0].kind == "assertion"


def test_check_needs_no_parentheses() -> None:
    class Suite:
        @treadle.check
        def test(self) -> None:
            """Nothing is wrong with it."""

    assert Suite().test().ok
    assert treadle.check(sound)().ok
    with pytest.raises(treadle.CheckFailed, match="p was faster"):
        treadle.check(racy)()
    with pytest.raises(treadle.TreadleError, match="options by name, and was given 'source'"):
        treadle.check("source")  # type: ignore[call-overload]


def test_check_passes_arguments_on() -> None:
    @treadle.check()
    def test(values: list[int], *, wanted: int) -> None:
        assert sum(values) == wanted

    assert test([1, 2], wanted=3).program == "test"
    with pytest.raises(treadle.CheckFailed):
        test([1, 2], wanted=4)


def test_check_accepts_what_was_not_covered_only_if_it_is_not_strict() -> None:
    def choosing() -> None:
        treadle.choose([1, 2, 3])

    with pytest.raises(treadle.CheckFailed):
        treadle.check(max_executions=1)(choosing)()
    assert not treadle.check(max_executions=1, strict=False)(choosing)().complete


def test_check_shrinks_what_it_shows() -> None:
    def lost_update() -> treadle.model.Program:
        program = treadle.model.Program(x=0)

        def increment(s: Any) -> Any:
            value = s.x
            yield
            s.x = value + 1
            yield
            assert s.x >= 2

        for name in "pq":
            program.process(increment, name=name)
        return program

    def schedule(shrink: bool) -> str:
        with pytest.raises(treadle.CheckFailed) as raised:
            treadle.check(shrink=shrink, algorithm="random", seed=1)(lost_update)()
        return str(raised.value.result.failures[0].schedule)

    assert schedule(shrink=False) == "q*2 p q p*2"
    assert schedule(shrink=True) == "q*3"


def test_check_passes_its_options_on() -> None:
    with pytest.raises(treadle.TreadleError, match="unknown algorithm"):
        treadle.check(algorithm="none")(sound)()


# Words


def test_results_and_failures_say_something() -> None:
    passed, failed = treadle.explore(sound), treadle.explore(racy)
    stopped = treadle.explore(racy, "exhaustive", max_executions=1, schedule="newest")
    for result in (passed, failed, stopped):
        assert str(result).strip()
    assert "p was faster" in str(failed.failures[0])
    assert "p was faster" not in str(passed)


def test_bugs_of_treadle_are_called_so() -> None:
    assert "bug of Treadle" in str(treadle.TreadleBug("what"))
    assert not issubclass(treadle.TreadleBug, treadle.TreadleError)
    assert issubclass(treadle.ScheduleMismatch, treadle.TreadleError)


# The public surface


def test_all_is_honest() -> None:
    for module in (treadle, treadle.model):
        assert sorted(module.__all__) == sorted(set(module.__all__))
        for name in module.__all__:
            assert getattr(module, name).__doc__


def test_nothing_public_is_left_out_of_all() -> None:
    for module in (treadle, treadle.model):
        tree = ast.parse(Path(inspect.getfile(module)).read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("treadle")
            for alias in node.names
        }
        assert imported - {"_formats", "__version__"} == set(module.__all__)


def test_names_are_loaded_when_they_are_used() -> None:
    code = """
        import sys, treadle
        heavy = {"greenlet", "bytecode", "rich", "click", "treadle.model", "treadle.api"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        assert set(treadle.__all__) <= set(dir(treadle))
        import treadle.explore.search
        assert callable(treadle.explore) and treadle.explore.__module__ == "treadle.api"
        assert not {"greenlet", "bytecode", "rich"} & set(sys.modules)
        program = treadle.model.Program()
        treadle.model.Program.process(program, lambda s: (yield), name="p")
        assert treadle.explore(program).ok
        assert not {"greenlet", "bytecode", "rich"} & set(sys.modules)
        try:
            treadle.exlpore
        except AttributeError as error:
            assert "has no attribute 'exlpore'" in str(error)
        """
    subprocess.run([sys.executable, "-c", dedent(code)], check=True)


def test_the_promised_options_are_there() -> None:
    parameters = inspect.signature(treadle.explore).parameters
    promised = [
        "test",
        "algorithm",
        "stop_on_failure",
        "max_executions",
        "max_steps",
        "timeout",
        "seed",
    ]
    assert set(promised) <= set(parameters)
    assert parameters["algorithm"].default == "optimal"
    assert parameters["stop_on_failure"].default is True

"""Failures as the search makes them, from what the failing run itself can tell."""

from __future__ import annotations

from typing import Any

import pytest

from counter_machine import Machine, MachineProgram
from treadle.core import formats
from treadle.core.errors import TreadleError
from treadle.core.events import Mode, code
from treadle.core.failure import KINDS, Cause, Failure, is_shown_by_schedule
from treadle.core.happens_before import Trace
from treadle.core.program import Crash, Ending
from treadle.core.records import FrameRecord, StepRecord, Wait, WaitKind
from treadle.core.result import Result
from treadle.core.schedule import Schedule

SCHEDULE = Schedule(["p", "q"])


def program() -> MachineProgram:
    return MachineProgram(Machine("ab", {"p": "a+ b+", "q": "a+ b+"}), 0)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (AssertionError("a is 2"), "assertion", "AssertionError: a is 2"),
        (AssertionError(), "assertion", "AssertionError"),
        (KeyError("k"), "exception", "KeyError: 'k'"),
        (SystemExit(1), "exception", "SystemExit: 1"),
        (type("Mine", (AssertionError,), {})("x"), "assertion", "Mine: x"),
    ],
)
def test_crashes(error: BaseException, kind: str, message: str) -> None:
    failure = Failure.of_crash(program(), Crash(1, 4, error), SCHEDULE)
    assert failure == Failure(kind, message, SCHEDULE, 4, "q", error)
    assert failure.exception is error


def test_deadlocks_and_livelocks() -> None:
    waits = [Wait("p", "a", ("q",), kind=WaitKind.LOCK), Wait("q", "b")]
    failure = Failure.of_deadlock(Ending(waits=waits), SCHEDULE)
    assert failure == Failure(
        "deadlock",
        "p waits for a, held by q; q waits for b",
        SCHEDULE,
        step=2,
        waits=tuple(waits),
    )
    spinning = Failure.of_deadlock(
        Ending(waits=[*waits, Wait("r", "a change", spins=True)]), SCHEDULE
    )
    assert (spinning.kind, len(spinning.waits)) == ("livelock", 3)


def trace_of(*steps: tuple[int, int, Mode]) -> tuple[MachineProgram, Trace]:
    """Return a trace of steps of a process that access a location."""
    made = program()
    trace = Trace(made.vocabulary)
    for process, location, mode in steps:
        trace.append(process, (code(location, mode),))
    trace.extend()
    return made, trace


@pytest.mark.parametrize(("location", "name"), [(0, "a"), (1, "b")])
def test_races(location: int, name: str) -> None:
    made, trace = trace_of((0, location, Mode.WRITE), (1, location, Mode.READ))
    failure = Failure.of_race(made, trace, (0, 1), SCHEDULE)
    assert failure == Failure(
        "race",
        f"p and q access {name}, at least one of them writes it, and no synchronisation orders "
        f"them",
        SCHEDULE,
        step=1,
        process="q",
        pair=(0, 1),
    )


@pytest.mark.parametrize(
    ("steps", "spins"), [([0, 0, 1], "p"), ([1], "q"), ([0] * 150 + [1] * 100, "q")]
)
def test_budgets_name_who_took_most_of_the_last_hundred_steps(steps: list[int], spins: str) -> None:
    made, trace = trace_of(*((process, 0, Mode.READ) for process in steps))
    run = made.start()
    failure = Failure.of_budget(made, run, trace, SCHEDULE)
    assert (failure.kind, failure.process, failure.step) == ("budget", spins, len(steps))
    assert failure.message == (
        f"no end after {len(steps)} steps: {spins} spins; raise max_steps if it is meant to run "
        f"longer"
    )
    run.where = lambda _process: "a.py:3"  # type: ignore[method-assign]
    assert f"{spins} spins at a.py:3;" in Failure.of_budget(made, run, trace, SCHEDULE).message


def test_options_that_a_replay_needs() -> None:
    made = MachineProgram(Machine("a", {"p": "a+"}), 3)
    deadlock = Failure("deadlock", "", SCHEDULE, 2).run_with(made)
    race = Failure("race", "", SCHEDULE, 1).run_with(made)
    assert (deadlock.options, race.options) == ({"initial": 3}, {"initial": 3, "races": True})
    assert made.options == {"initial": 3}, "the program's own options stay"
    assert deadlock.granularity == ""


STEP = StepRecord("p", ())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trace", [STEP]),
        ("cause", Cause((0, 1), STEP, STEP, "x")),
        ("frames", [FrameRecord("p", "f", "a.py:1", ())]),
        ("token", "t2_x"),
        ("test", print),
    ],
)
def test_what_recording_adds_is_no_difference(field: str, value: Any) -> None:
    plain, recorded = (Failure("deadlock", "m", SCHEDULE, 2) for _ in range(2))
    setattr(recorded, field, value)
    assert recorded == plain
    assert repr(recorded) == repr(plain)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "livelock"),
        ("message", "n"),
        ("schedule", Schedule(["p"])),
        ("step", 1),
        ("process", "p"),
        ("exception", ValueError()),
        ("waits", (Wait("p", "x"),)),
        ("granularity", "gil"),
        ("options", {"races": True}),
        ("pair", (0, 1)),
    ],
)
def test_everything_else_is(field: str, value: Any) -> None:
    plain, other = (Failure("deadlock", "m", SCHEDULE, 2) for _ in range(2))
    setattr(other, field, value)
    assert other != plain


def test_failures_do_not_share_what_they_hold() -> None:
    one, other = (Failure("deadlock", "m", SCHEDULE, 2) for _ in range(2))
    one.trace.append(STEP)
    one.options["races"] = True
    assert (other.trace, other.options) == ([], {})


def test_kinds_that_a_schedule_shows_are_kinds() -> None:
    others = {kind for kind in KINDS if not is_shown_by_schedule(kind)}
    assert others == {"budget", "nondeterminism"}
    assert is_shown_by_schedule("a front end's own")


# Results


def test_a_result_counts_kinds() -> None:
    failures = [Failure(kind, kind, SCHEDULE, 0) for kind in ("race", "deadlock", "race")]
    result = Result("p", "optimal", complete=True, failures=failures)
    assert result.failure_kinds == {"race": 2, "deadlock": 1}
    assert not result.ok
    assert Result("p", "optimal", complete=True).ok
    assert not Result("p", "optimal").ok


# How they look


@pytest.mark.parametrize(
    ("name", "data"),
    [("failure", Failure("deadlock", "m", SCHEDULE, 2)), ("result", Result("p", "optimal"))],
)
def test_data_is_laid_out_by_whoever_is_registered(name: str, data: object) -> None:
    usual = formats.TEXT[name]
    formats.TEXT.remove(name)
    try:
        with pytest.raises(TreadleError, match=f"unknown text '{name}'"):
            str(data)
        formats.TEXT.add(name, lambda shown: f"<{type(shown).__name__}>")
        assert str(data) == f"<{type(data).__name__}>"
    finally:
        formats.TEXT.remove(name)
        formats.TEXT.add(name, usual)
    assert str(data) == usual(data)

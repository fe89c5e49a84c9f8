"""What another run tells of a failure: its steps, frames, cause and token; quietly."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from counter_machine import Machine, MachineProgram
from racy_model import racy
from treadle.core.events import Mode, Vocabulary, code
from treadle.core.happens_before import Trace
from treadle.core.records import Access, StepRecord
from treadle.findings import recording
from treadle.findings.recording import explain, quietly, record
from treadle.findings.steps import steps_of
from treadle.findings.tokens import read_token
from treadle.session.session import Session, opened
from treadle.session.settings import Settings

NOISE: list[str] = []


def noisy() -> treadle.model.Program:
    """A model that fails always, prints, and stops in the debugger."""
    program = treadle.model.Program(x=0)

    @program.process
    def p(s: Any) -> Iterator[None]:
        print("out")
        print("err", file=sys.stderr)
        breakpoint()
        yield
        raise ValueError(s.x)

    return program


def noisy_threads() -> None:
    print("out")
    breakpoint()
    box = [0]
    thread = threading.Thread(target=box.append, args=(1,))
    thread.start()
    thread.join()
    raise ValueError(len(box))


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: found.append("stopped"))
    return found


@pytest.mark.parametrize("test", [noisy, noisy_threads])
def test_nothing_is_printed_and_nobody_stops(
    test: Callable[[], Any], stops: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(test, Settings()) as session:
        (failure,) = session.explore().failures
        assert stops
        stops.clear()
        capsys.readouterr()
        session.record(failure)
        assert failure.trace
        assert (stops, capsys.readouterr()) == ([], ("", ""))
        session.shrink(failure)
        assert (stops, capsys.readouterr()) == ([], ("", ""))
    breakpoint()
    assert stops == ["stopped"], "from now on as before"


def test_what_the_terminal_takes_can_be_printed_while_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), "ascii", "backslashreplace")
    monkeypatch.setattr(sys, "stdout", terminal)

    program = treadle.model.Program()

    @program.process
    def prints(_: Any) -> Iterator[None]:
        yield
        print("ü \udc80")
        raise ValueError

    (failure,) = treadle.explore(program).failures
    assert failure.message == "ValueError"
    assert [step.error for step in failure.trace] == ["ValueError"]
    terminal.flush()
    assert set(terminal.buffer.getvalue().decode().splitlines()) == {"\\xfc \\udc80"}


def test_quiet_ends_with_an_exception(stops: list[str]) -> None:
    before = sys.stdout, sys.stderr, sys.breakpointhook

    def speaks() -> None:
        assert sys.stdout is sys.stderr is not before[0]
        breakpoint()
        raise KeyError

    with pytest.raises(KeyError), quietly():
        speaks()
    assert (sys.stdout, sys.stderr, sys.breakpointhook) == before
    assert stops == []


# What is added


def found(test: object) -> tuple[Session, treadle.Failure]:
    """Return a failure that is not recorded yet."""
    with opened(test, Settings()) as session:
        return session, session.explore().failures[0]


def test_a_failure_is_bare_until_it_is_recorded() -> None:
    session, failure = found(racy())
    assert (failure.trace, failure.frames, failure.cause, failure.token) == ([], [], None, "")
    before = repr(failure)
    record(session.program, failure)
    assert (len(failure.trace), failure.cause) == (6, None)
    assert [frame.function for frame in failure.frames] == ["check"]
    assert failure.token == "t2_LF3bgADifVkCBgEAAwABcAABcQAFY2hlY2sEAAQABZpQf7sRog"
    explain(session.program, failure)
    assert failure.cause is not None
    assert (failure.cause.location, failure.cause.decides) == ("x", True)
    assert repr(failure) == before


def test_recording_twice_gives_the_same() -> None:
    session, failure = found(racy())
    record(session.program, failure)
    once = failure.trace, failure.frames, failure.token
    record(session.program, failure)
    assert (failure.trace, failure.frames, failure.token) == once


def test_the_trace_goes_on_to_the_end_of_the_schedule_and_the_token_to_the_failure() -> None:
    session, failure = found(racy(bystander=True))
    extra = [name for name in failure.schedule if name == "bystander"]
    record(session.program, failure)
    assert [step.process for step in failure.trace] == list(failure.schedule)
    assert read_token(failure.token).schedule == failure.schedule.upto(failure.step + 1)
    assert len(extra) == 4


def test_a_deadlock_before_the_first_step_has_frames() -> None:
    program = treadle.model.Program(x=0)

    @program.process
    def waits(s: Any) -> Iterator[Any]:
        yield s.until(lambda: s.x == 1)

    session, failure = found(program)
    assert (failure.kind, failure.step, tuple(failure.schedule)) == ("deadlock", 0, ())
    record(session.program, failure)
    assert failure.trace == []
    assert [(one.process, one.function) for one in failure.frames] == [("waits", "waits")]
    explain(session.program, failure)
    assert failure.cause is None


def test_budgets_are_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "find_cause", lambda *_: NOISE.append("asked"))
    program = treadle.model.Program(x=0)

    @program.process
    def spins(s: Any) -> Iterator[None]:
        while True:
            s.x = s.x + 1
            yield

    (failure,) = treadle.explore(program, max_steps=20).failures
    assert (failure.kind, len(failure.trace)) == ("budget", 20)
    assert NOISE == []


# Steps that no front end puts into words


def test_bare_accesses_of_a_run() -> None:
    machine = MachineProgram(Machine("ab", {"p": "a+ b+", "q": "a- a=1"}), 0)
    run, trace = machine.start(), Trace(machine.vocabulary)
    for process in (0, 1, 0, 1):
        trace.append(process, run.step(process))
    assert steps_of(run, trace) == [
        StepRecord("p", (Access("release", "a"),), gives=("a",)),
        StepRecord("q", (Access("acquire", "a", held="a"),)),
        StepRecord("p", (Access("release", "b"),), gives=("b",)),
        StepRecord("q", (Access("read", "a"),), error="AssertionError"),
    ]


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (Mode.READ, "read x"),
        (Mode.WRITE, "write x"),
        (Mode.STORE, "write x"),
        (Mode.ADD, "add to x"),
        (Mode.TAKE, "acquire x"),
        (Mode.SPARE, "acquire x"),
        (Mode.GIVE, "release x"),
        (Mode.AWAIT, "await x"),
        (Mode.SPAWN, "spawn q"),
        (Mode.JOIN, "join q"),
        (Mode.WATCH, ""),
        (Mode.OPEN, ""),
        (Mode.SWAP, ""),
    ],
)
def test_accesses_in_the_words_of_their_modes(mode: Mode, text: str) -> None:
    vocabulary = Vocabulary()
    vocabulary.process("p")
    vocabulary.process("q")
    vocabulary.location("w", "w")
    vocabulary.location("x", "x")
    trace = Trace(vocabulary)
    trace.append(0, (code(1, mode),))
    run = MachineProgram(Machine("", {"p": ""}), 0).start()
    (step,) = steps_of(run, trace)
    assert " ".join(map(str, step.accesses)) == text

"""A third front end, of which Treadle knows nothing, does all that the two of the house can do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle
import treadle.api  # now: the signature of `explore` shows the options of all front ends
from counter_machine import Machine, MachineProgram, MachineRun, Machines
from declared import kinds
from treadle.core.events import Codes
from treadle.core.front_end import FrontEnd
from treadle.core.program import Ending, Program
from treadle.core.records import Access, StepRecord
from treadle.explore.basic.exhaustive import Exhaustive
from treadle.explore.registry import ALGORITHMS
from treadle.findings.database import Database
from treadle.report.comparison import findings_of
from treadle.session.front_ends import FRONT_ENDS, front_end_of
from treadle.session.memory import Memory
from treadle.session.options import everything
from treadle.session.session import opened
from treadle.session.settings import Settings

RACE = Machine("a", {"p": "a+ a+", "q": "a+ a=1"})
"""Increments commute; `q` sees 1, 2 or 3."""
STUCK = Machine("ab", {"p": "a- b+", "q": "b- a+"})
SAFE = Machine("ab", {"p": "a+ b+", "q": "a- b-"})


@pytest.fixture(autouse=True)
def machines() -> Iterator[None]:
    FRONT_ENDS.add("machine", Machines())
    try:
        yield
    finally:
        FRONT_ENDS.remove("machine")


@pytest.mark.parametrize("algorithm", [name for name, a in ALGORITHMS.items() if a.covers])
def test_every_algorithm_explores_it(algorithm: str) -> None:
    result = treadle.explore(RACE, algorithm, stop_on_failure=False)  # type: ignore[arg-type]
    assert result.complete
    assert sorted(failure.message for failure in result.failures) == [
        "AssertionError: a is 2",
        "AssertionError: a is 3",
    ]
    assert treadle.explore(SAFE, algorithm).ok  # type: ignore[arg-type]


def test_one_execution_per_class() -> None:
    result = treadle.explore(RACE, stop_on_failure=False)  # type: ignore[arg-type]
    assert (result.executions, result.blocked) == (3, 0)  # `q` looks before, between or after
    assert treadle.explore(SAFE).executions == 1  # type: ignore[arg-type]


def test_a_deadlock_and_its_report() -> None:
    (failure,) = treadle.explore(STUCK).failures  # type: ignore[arg-type]
    assert failure.kind == "deadlock"
    assert [(wait.process, wait.resource) for wait in failure.waits] == [("p", "a"), ("q", "b")]
    assert "Deadlock after 0 steps" in str(failure)


def failing() -> treadle.Failure:
    return treadle.explore(RACE).failures[0]  # type: ignore[arg-type]


def test_reports_show_bare_accesses() -> None:
    failure = failing()
    assert [step.process for step in failure.trace] == list(failure.schedule)
    assert [str(step.accesses[0]) for step in failure.trace if step.accesses][-1] == "read a"
    assert failure.cause is not None
    assert failure.cause.location == "a"
    text = str(failure)
    assert "Assertion failed in q: a is " in text
    assert "release a" in text


def test_tokens_and_replays() -> None:
    failure = failing()
    again = treadle.replay(RACE, failure.token)  # type: ignore[arg-type]
    assert again is not None
    assert (again.message, again.token) == (failure.message, failure.token)
    assert treadle.replay(SAFE, failure.token) is None  # type: ignore[arg-type]


def test_shrinking() -> None:
    (failure,) = treadle.explore(RACE, "random", seed=5).failures  # type: ignore[arg-type]
    shrunk = treadle.shrink(failure)
    assert shrunk.is_smallest
    assert shrunk.after <= shrunk.before
    assert shrunk.failure.message == failure.message
    assert shrunk.failure.token


# Its options


def test_its_own_option() -> None:
    assert treadle.explore(STUCK, initial=1).ok  # type: ignore[arg-type, call-arg]
    assert not treadle.explore(STUCK, initial=0).ok  # type: ignore[arg-type, call-arg]
    with pytest.raises(treadle.TreadleError, match="initial must be a whole number, not 'x'"):
        treadle.explore(STUCK, initial="x")  # type: ignore[arg-type, call-arg]


def test_a_token_knows_its_options() -> None:
    failure = treadle.explore(RACE, initial=4).failures[0]  # type: ignore[arg-type, call-arg]
    assert failure.options == {"initial": 4}
    again = treadle.replay(RACE, failure.token)  # type: ignore[arg-type]
    assert again is not None
    assert again.message == failure.message
    with pytest.raises(treadle.TreadleError, match="initial=5 is not what the token was recorded"):
        treadle.replay(RACE, failure.token, initial=5)  # type: ignore[arg-type, call-arg]


def test_options_of_others_are_refused() -> None:
    message = "granularity is for a function .* threads, and this is a counter machine: leave"
    with pytest.raises(treadle.TreadleError, match=message):
        treadle.explore(RACE, granularity="gil")  # type: ignore[arg-type]
    message = "initial is for a counter machine, and this is a treadle.model.Program"
    with pytest.raises(treadle.TreadleError, match=message):
        treadle.explore(treadle.model.Program(), initial=1)  # type: ignore[call-arg]


def test_a_project_may_set_options_for_several_front_ends() -> None:
    settings = Settings().changed({"initial": 2, "granularity": "gil"}, "[tool.treadle]")
    assert settings.taken_by(Machines()) == {"initial": 2}
    assert "initial" in everything()


# Its kinds of failures


class NamingRun(MachineRun):
    """Calls failures by names of its own."""

    def step(self, process: int) -> Codes:
        codes = super().step(process)
        for crash in self.crashes:
            crash.kind = "surprise"
        return codes

    def ending(self) -> Ending:
        return replace(super().ending(), kind="stuck")


class NamingProgram(MachineProgram):
    def start(self, *, detail: bool = False) -> MachineRun:
        return NamingRun(self)


def test_its_kinds_are_known() -> None:
    assert "stuck" in kinds()


@pytest.mark.parametrize(
    ("machine", "kind", "headline"),
    [
        (STUCK, "stuck", "Stuck after 0 steps: p and q wait"),
        (RACE, "surprise", "Surprise in q: AssertionError: a is "),
    ],
)
def test_failures_of_its_own_kinds_are_like_any_other(
    machine: Machine, kind: str, headline: str, tmp_path: Path
) -> None:
    program = NamingProgram(machine, 0)
    failure = treadle.explore(program, "random", seed=5).failures[0]
    assert failure.kind == kind
    assert str(failure).startswith(headline)
    again = treadle.replay(program, failure.token)
    assert again is not None
    assert (again.kind, again.token) == (kind, failure.token)
    assert treadle.shrink(failure).is_smallest
    assert findings_of(treadle.explore(program, stop_on_failure=False))
    memory = Memory(Database(str(tmp_path)), "a test")
    assert memory.keep(failure)
    assert not memory.is_empty
    with opened(program, Settings()) as session:
        known = memory.failure_of(session)
    assert known is not None
    assert known.kind == kind


# The command line

FILE = """
    from counter_machine import Machine
    race = Machine("a", {"p": "a+ a+", "q": "a+ a=1"})
    safe = Machine("ab", {"p": "a+ b+", "q": "a- b-"})
"""


@pytest.fixture
def file(workplace: Path) -> Path:
    (workplace / "m.py").write_text(dedent(FILE))
    return workplace


@pytest.mark.usefixtures("file")
def test_run_and_replay_on_the_command_line(command_line) -> None:
    status, out, _ = command_line("run", "m.py::race", "--json")
    assert status == 1
    (failure,) = json.loads(out)["failures"]
    assert failure["message"].startswith("AssertionError: a is ")
    status, out, _ = command_line("replay", "m.py::race", failure["token"])
    assert status == 1
    assert f"Replay: treadle replay m.py::race {failure['token']}" in out
    assert command_line("run", "m.py::safe")[0] == 0


@pytest.mark.usefixtures("file")
def test_compare_on_the_command_line(command_line) -> None:
    status, out, _ = command_line("compare", "m.py::race", "--max-executions", "50")
    assert status == 1
    assert "agree" in out


@pytest.mark.usefixtures("file")
def test_what_is_in_a_file(command_line) -> None:
    status, _, error = command_line("run", "m.py")
    assert status == 2
    assert "2 programs: choose one of m.py::race, m.py::safe" in error


@pytest.mark.usefixtures("file")
def test_options_of_others_on_the_command_line(command_line) -> None:
    status, _, error = command_line("run", "m.py::race", "--granularity", "gil")
    assert status == 2
    assert "leave granularity out" in error


# The registry


def test_who_is_asked() -> None:
    assert front_end_of(RACE).name == "machine"
    assert front_end_of(MachineProgram(RACE, 0)).name == "machine"
    assert front_end_of(treadle.model.Program()).name == "model"
    assert front_end_of(lambda: None).name == "threads"
    with pytest.raises(treadle.TreadleError, match=r"give a function .*, or a counter machine, or"):
        front_end_of(3)


def test_a_program_of_nobody_is_explored_as_it_is() -> None:
    class Nameless(MachineProgram):
        front_end = ""

    program = Nameless(RACE, 0)
    assert treadle.explore(program).failures[0].kind == "assertion"
    with pytest.raises(treadle.TreadleError, match="and this is a Nameless: leave races out"):
        treadle.explore(program, races=True)


def test_files_in_a_language_of_its_own(file: Path, command_line) -> None:
    class Files(Machines):
        name = "files"
        suffixes = (".machine",)

        def load(self, path: Path, name: str) -> tuple[str, object]:
            counters, *rest = path.read_text().split("\n")
            processes = dict(line.split(": ") for line in rest if line)
            return name or "main", Machine(counters, processes)

    front_end: FrontEnd = Files()
    FRONT_ENDS.add("files", front_end)
    try:
        (file / "x.machine").write_text("a\np: a+ a+\nq: a+ a=1\n")
        status, out, _ = command_line("run", "x.machine")
        assert status == 1
        assert "FAILED: x.machine::main" in out
        status, _, error = command_line("run", "m.txt")
        assert status == 2
        (file / "m.txt").write_text("")
        status, _, error = command_line("run", "m.txt")
        assert "give a file whose name ends in .py or .abs or .machine" in error
    finally:
        FRONT_ENDS.remove("files")


def test_options_win_over_those_of_a_program_that_is_made_already() -> None:
    program = MachineProgram(STUCK, 0)
    assert treadle.explore(program, initial=1).ok  # type: ignore[call-arg]
    assert not treadle.explore(program).ok


def test_a_front_end_may_refuse_options_of_a_program_that_is_made_already() -> None:
    class Made(Machines):
        with_options = FrontEnd.with_options

    FRONT_ENDS.remove("machine")
    FRONT_ENDS.add("machine", Made())
    with pytest.raises(treadle.TreadleError, match="initial decides how machine is made: give it"):
        treadle.explore(MachineProgram(STUCK, 0), initial=1)  # type: ignore[call-arg]


# What comes next needs no other seam


LOCKED = st.lists(
    st.sampled_from(["a- b=1 a+", "a?", "b- b+", "b?", "a- b? a+", "b- a? b+"]), max_size=2
)


@given(texts=st.lists(LOCKED, min_size=2, max_size=3))
def test_passing_a_lock_against_brute_force(texts: list[list[str]]) -> None:
    """A step that needs a lock to be free, and leaves it free: other such steps commute."""
    machine = Machine("ab", {f"p{n}": " ".join(parts) for n, parts in enumerate(texts)})
    expected = outcomes(machine, "exhaustive")
    for algorithm in ("sleep", "source", "optimal"):
        assert outcomes(machine, algorithm) == expected


def outcomes(machine: Machine, algorithm: str) -> set[tuple[str, str]]:
    result = treadle.explore(  # type: ignore[call-arg]
        machine,  # type: ignore[arg-type]
        algorithm,
        initial=1,
        stop_on_failure=False,
    )
    assert result.complete
    return {
        (failure.kind, "".join(sorted(failure.message.split("; ")))) for failure in result.failures
    }


@pytest.mark.parametrize(
    ("processes", "executions"),
    [
        ({"p": "a?", "q": "a?"}, 1),
        ({"p": "a?", "q": "a- a+"}, 2),
        ({"p": "a?", "q": "a?", "r": "a- a+"}, 4),
        ({"p": "a- a+", "q": "a- a+"}, 2),
    ],
)
def test_how_often_a_lock_is_passed(processes: dict[str, str], executions: int) -> None:
    result = treadle.explore(Machine("a", processes), initial=1)  # type: ignore[arg-type, call-arg]
    assert (result.ok, result.executions, result.blocked) == (True, executions, 0)


class Backwards(Exhaustive):
    """A strategy that a program brings along."""

    name = "backwards"

    @classmethod
    def shrink(cls, program: Program, failure: treadle.Failure) -> treadle.Failure | None:
        assert isinstance(program, MachineProgram)
        simpler = treadle.Failure(failure.kind, failure.message, failure.schedule, failure.step)
        simpler.schedule = failure.schedule.upto(failure.step + 1)
        return simpler


class OwnStrategy(MachineProgram):
    strategy = Backwards


def test_a_strategy_of_its_own() -> None:
    program = OwnStrategy(RACE, 0)
    result = treadle.explore(program, stop_on_failure=False)
    assert (result.algorithm, result.complete, result.executions) == ("backwards", True, 6)
    with pytest.raises(treadle.TreadleError, match="strategy of its own, backwards: leave algo"):
        treadle.explore(program, "optimal")
    (first, *_) = result.failures
    shrunk = treadle.shrink(first)
    assert shrunk.failure.schedule == first.schedule.upto(first.step + 1)
    assert shrunk.failure.token


class Lanes(MachineRun):
    """Takes its steps down in lanes, as actors and networks do: one column for each counter."""

    def __init__(self, program: MachineProgram) -> None:
        super().__init__(program)
        self.taken: list[StepRecord] = []

    def step(self, process: int) -> Codes:
        counter, what, *_ = self.left[process][0]
        name = self.program.vocabulary.process_names[process]
        self.taken.append(StepRecord(name, (Access(what, counter),), lane=f"counter {counter}"))
        return super().step(process)

    def records(self) -> list[StepRecord]:
        return self.taken


class InLanes(MachineProgram):
    def start(self, *, detail: bool = False) -> MachineRun:
        return Lanes(self) if detail else MachineRun(self)


def test_several_processes_in_one_column() -> None:
    machine = Machine("ab", {"p": "a+ b+", "q": "a+ b=1"})
    failure = treadle.explore(InLanes(machine, 0)).failures[0]
    lines = str(failure).splitlines()
    (header,) = [line for line in lines if "counter a" in line]
    assert header.split() == ["counter", "a", "│", "counter", "b"]
    assert {"p:", "q:"} <= {word for line in lines for word in line.split()}

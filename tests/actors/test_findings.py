"""What is found, how it is told, and how it is shown again."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from programs import barber, gate, protocol, waits_for_itself

import treadle
from treadle.actors import Actor, Program, program, until
from treadle.explore.registry import ALGORITHMS

pytest_plugins = ["pytester"]


class Account(Actor):
    def __init__(self, balance=0):
        self.balance = balance

    async def put(self, amount):
        self.balance += amount

    async def take(self, amount):
        self.balance -= amount

    async def say(self, text):
        print(text)

    async def behave(self):
        self.behave.send()

    async def wait_for(self, other):
        await until(lambda: self.balance > 0)
        other.put.send(1)


def only(result: treadle.Result) -> treadle.Failure:
    (failure,) = result.failures
    return failure


# Deadlocks


def test_a_chain_says_who_waits_for_whom_with_lines() -> None:
    failure = only(treadle.explore(barber(1)))
    assert failure.kind == "deadlock"
    assert "; Barber1 is held by sleeps of Barber1" in failure.message
    assert "; Client1 is held by wakeup of Client1" in failure.message
    for who in ("cuts of Barber1, which has not started", "sits of Client1, which has not started"):
        assert who in failure.message
    assert failure.message.count("thesis_actors.py:") == 3


def test_waits_name_those_that_have_not_started() -> None:
    failure = only(treadle.explore(protocol))
    assert {(wait.label, wait.kind.value) for wait in failure.waits} == {
        ("register of DB1", "result"),
        ("work of Worker1", "result"),
        ("ping of Worker1", "lock"),
        ("get_data of DB1", "lock"),
    }
    assert all(wait.where for wait in failure.waits)


def test_a_task_that_waits_for_one_of_its_own_actor() -> None:
    failure = only(treadle.explore(waits_for_itself))
    assert "b of Self1 waits at" in failure.message
    assert failure.message.endswith(
        "for c of Self1, which has not started; Self1 is held by b of Self1"
    )


def test_the_step_that_seals_the_deadlock_is_marked() -> None:
    failure = only(treadle.explore(barber(1)))
    sealing = [
        index
        for index, step in enumerate(failure.trace)
        for access in step.accesses
        if access.location == "the deadlock inevitable"
    ]
    assert len(sealing) == 1
    lanes = {step.lane for step in failure.trace}
    assert lanes == {"main", "Client1", "Barber1", "Chair1"}


def test_a_condition_that_never_holds_is_no_deadlock() -> None:
    failure = only(treadle.explore(gate))
    assert failure.kind == "stuck"
    assert "enter of Gate1 waits at" in failure.message
    assert "until(lambda: self.open)" in failure.message


def test_conditions_that_wait_for_each_other() -> None:
    def main():
        one, two = Account(), Account()
        one.wait_for.send(two)
        two.wait_for.send(one)

    failure = only(treadle.explore(Program(main)))
    assert failure.kind == "stuck"
    assert failure.message.count("test_findings.py:") == 2


# Properties


def test_an_invariant_makes_steps_dependent() -> None:
    @program
    def transfer():
        one, two = Account(1), Account(0)
        one.take.send(1)
        two.put.send(1)
        return one, two

    assert treadle.explore(transfer).executions == 1

    @transfer.invariant
    def nothing_is_made(one, two):
        assert one.balance + two.balance <= 1

    for algorithm in ("optimal", "source", "exhaustive"):
        result = treadle.explore(transfer, algorithm)
        assert only(result).kind == "assertion"
    assert treadle.explore(transfer, stop_on_failure=False).executions == 2
    for dependency in ("field", "access"):
        result = treadle.explore(transfer, dependency=dependency, stop_on_failure=False)
        assert (result.executions, len(result.failures)) == (2, 1)


def test_final_properties() -> None:
    @program
    def transfer(amount):
        one, two = Account(1), Account(0)
        one.take.send(amount)
        two.put.send(1)
        return one, two

    @transfer.finally_
    def nothing_is_lost(one, two):
        assert one.balance + two.balance == 1, "lost"

    assert treadle.explore(transfer(1)).ok
    failure = only(treadle.explore(transfer(2)))
    assert (failure.kind, failure.process) == ("assertion", "main")
    assert failure.message.startswith("AssertionError: lost")
    again = treadle.replay(transfer(2), failure.token)
    assert again is not None
    assert again.message == failure.message


def test_a_final_property_is_checked_in_deadlocks_too() -> None:
    seen = set()

    @program
    def example():
        return protocol.main()

    @example.finally_
    def note(worker):
        seen.add(worker.data)

    treadle.explore(example, stop_on_failure=False)
    assert seen == {7, None}


# Budgets and orders


def test_an_endless_program_names_the_family_that_grows() -> None:
    result = treadle.explore(Program(lambda: Account().behave.send(), max_tasks=50))
    failure = only(result)
    assert failure.kind == "budget"
    assert "no end after 50 tasks, 50 of them behave: behave of Account1 sends one more" in (
        failure.message
    )
    assert "test_findings.py:" in failure.message


def test_a_failure_that_needs_swapped_messages_says_so() -> None:
    class Cell(Actor):
        def __init__(self):
            self.value = 0

        async def set(self, value):
            self.value = value

        async def check(self, value):
            assert self.value == value

    @program
    def swapped():
        cell = Cell()
        cell.set.send(1)
        cell.check.send(1)

    failure = only(treadle.explore(swapped))
    (remark,) = failure.remarks
    assert 'order="sender"' in remark
    assert "check of Cell1 starts before set of Cell1" in remark
    assert treadle.explore(swapped, order="sender").ok
    assert remark.split()[0] in str(failure)

    class Other(Cell):
        async def fails(self):
            assert self.value == 5

    failure = only(treadle.explore(Program(lambda: Other().fails.send())))
    assert failure.remarks == []


# Again


@pytest.mark.parametrize("options", [{}, {"dependency": "field"}, {"order": "fifo"}])
def test_replay_by_schedule_and_by_token(options: dict[str, Any]) -> None:
    failure = only(treadle.explore(barber(1), **options))
    for recorded in (failure.token, failure.schedule):
        given = options if recorded is failure.schedule else {}
        again = treadle.replay(barber(1).with_options(options), recorded, **given)
        assert again is not None
        assert (again.kind, again.message) == (failure.kind, failure.message)


def test_shrinking() -> None:
    failures = treadle.explore(barber(1), "random", seed=3, stop_on_failure=True).failures
    shrunk = treadle.shrink(failures[0])
    assert shrunk.after <= shrunk.before
    assert shrunk.failure.kind == failures[0].kind


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_every_algorithm_finds_the_deadlock(algorithm: str) -> None:
    result = treadle.explore(protocol, algorithm, max_executions=200)
    assert only(result).kind == "deadlock"


def test_what_is_printed_is_kept_from_the_output_and_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def main():
        account = Account()
        account.say.send("hello")
        account.say.send("there")
        account.say.send(1 / 0)

    failure = only(treadle.explore(Program(lambda: Account().say.send("hello").get() / 2)))
    assert capsys.readouterr().out == ""
    assert "print hello" in str(failure)
    assert treadle.explore(Program(main)).failures[0].kind == "exception"


# Commands


@pytest.fixture
def file(workplace: Path) -> Path:
    text = """
        import treadle
        from treadle.actors import Actor, program, until

        class Cell(Actor):
            def __init__(self, value):
                self.value = value
            async def set(self, value):
                self.value = value
            async def check(self, value):
                assert self.value == value
            async def bad(self):
                Cell(1).value

        @program
        def right(n, other=0):
            cell = Cell(n + other)
            cell.set.send(n + other)
            cell.check.send(n + other)

        @program
        def wrong():
            cell = Cell(0)
            cell.set.send(1)
            cell.check.send(1)

        @program
        def mistaken():
            Cell(0).bad.send()

        @treadle.check
        @program
        def test_it():
            Cell(0).set.send(1)

        @treadle.check(order="sender")
        def test_made():
            return wrong
        """
    (workplace / "cells.py").write_text(dedent(text))
    return workplace


@pytest.mark.usefixtures("file")
def test_the_command_line(command_line: Any) -> None:
    status, out, _ = command_line("run", "cells.py::right(3)")
    assert status == 0
    assert out.startswith("VERIFIED: cells.py::right(3)")
    assert command_line("run", "cells.py::right(3, other=2)", "--dependency", "field")[0] == 0
    status, out, _ = command_line("run", "cells.py::wrong", "--json")
    assert status == 1
    failure = json.loads(out)["failures"][0]
    assert failure["kind"] == "assertion"
    assert command_line("replay", "cells.py::wrong", failure["token"])[0] == 1
    assert command_line("run", "cells.py::wrong", "--order", "sender", "--no-database")[0] == 0
    assert command_line("compare", "cells.py::wrong", "--max-executions", "50")[0] in (0, 1)


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("right", "missing a required argument: 'n'; give arguments, as in right(3)"),
        ("right(n)", "cannot read 'right(n)': arguments are literals"),
        ("nothing(1)", "cells.py has no 'nothing'"),
        ("Cell(1)", "Cell of cells.py takes no arguments here"),
        ("mistaken", "bad of Cell1 reads value of main.1:bad/Cell1, which is another actor"),
    ],
)
def test_mistakes_on_the_command_line(target: str, message: str, command_line: Any) -> None:
    status, _, error = command_line("run", f"cells.py::{target}")
    assert status == 2
    assert message in " ".join(error.split())
    if target == "mistaken":
        assert error.strip().endswith("cells.py:13)")


@pytest.mark.usefixtures("file")
def test_under_pytest(file: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_cells=(file / "cells.py").read_text())
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q")
    result.assert_outcomes(passed=2)

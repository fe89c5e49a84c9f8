"""Failures in words: the headline, the interleaving, the deadlock, the replay."""

from __future__ import annotations

import subprocess
import sys

import pytest

import treadle
from report_samples import EMBRACE, LOST_UPDATE, failure, step, text_of, waits_for_lock
from treadle.core.failure import Failure
from treadle.core.records import Wait, WaitKind
from treadle.core.schedule import Schedule
from treadle.findings.recording import record
from treadle.report.as_json import failure_as_dict
from treadle.report.text import (
    failure_in_words,
    replay_command,
)
from treadle.report.waits import waiting_cycle


def test_an_assertion_is_shown_in_columns_up_to_the_failing_step():
    assert failure_in_words(LOST_UPDATE) == text_of(
        """
        Assertion failed in audit at bank.py:15: 1 of 2 deposits is lost

        In bank.py:
                 alice             │ bob               │ audit
          1   7  read balance = 0  │                   │
                 ── preempted ──   │                   │
          2   7                    │ read balance = 0  │
          3   9                    │ write balance = 1 │
                                   │ (ends)            │
          4   9  write balance = 1 │                   │
                 (ends)            │                   │
          5  13                    │                   │ join alice
        > 6  15                    │                   │ join bob
        >                          │                   │ read balance = 1
        >                          │                   │ ! AssertionError

        Replay: treadle.replay(program, 'alice bob*2 alice audit*2')
        """
    )


def test_an_assertion_without_a_message_shows_its_source():
    bare = failure(
        "assertion",
        "AssertionError",
        [step("p", 3, "read x = 1", source="assert s.x == 0", error="AssertionError")],
        step=0,
        process="p",
    )
    assert failure_in_words(bare).startswith(
        "Assertion failed in p at bank.py:3: assert s.x == 0\n"
    )


def test_an_exception_names_its_type():
    broken = failure(
        "exception",
        "KeyError: 'k'",
        [step("q", 1, "write x = 1"), step("p", 3, error="KeyError: 'k'")],
        step=1,
        process="p",
    )
    assert failure_in_words(broken, target="bank.py::transfer") == text_of(
        """
        Exception in p at bank.py:3: KeyError: 'k'

        In bank.py:
                q               │ p
          1  1  write x = 1     │
                ── preempted ── │
        > 2  3                  │ ! KeyError: 'k'

        Replay: treadle replay bank.py::transfer 'q p'
        """
    )


def test_a_deadlock_says_who_waits_for_whom_and_names_the_cycle():
    assert failure_in_words(EMBRACE) == text_of(
        """
        Deadlock after 2 steps: left and right wait for each other

        In bank.py:
                 left            │ right
          1   5  acquire a       │
                 ── preempted ── │
          2  10                  │ acquire b

          left waits for b at bank.py:6
            held by right, which acquired it at bank.py:10 (step 2)
          right waits for a at bank.py:11
            held by left, which acquired it at bank.py:5 (step 1)

        Replay: treadle.replay(program, 'left right')
        """
    )


def test_a_deadlock_without_a_cycle_names_the_waiting():
    lonely = failure(
        "deadlock", "", [step("p", 1, "write x = 1")], waits=(Wait("q", "a condition on y"),)
    )
    parts = failure_in_words(lonely).split("\n\n")
    assert parts[0] == "Deadlock after 1 step: q waits for ever"
    assert parts[2] == "  q waits for a condition on y"


def test_a_wait_for_what_nobody_holds_names_who_took_it_last():
    leaked = failure(
        "deadlock",
        "",
        [
            step("p", 1, "acquire slots"),
            step("q", 2, "acquire slots", then="ends", label="worker"),
            step("p", 3, "release slots", then="ends"),
        ],
        waits=(
            Wait(
                "r",
                "a unit of slots",
                where="bank.py:4",
                label="late",
                kind=WaitKind.UNIT,
                held="slots",
            ),
        ),
    )
    assert failure_in_words(leaked).split("\n\n")[2] == (
        "  r (late) waits for a unit of slots at bank.py:4\n"
        "    last acquired by q (worker) at bank.py:2 (step 2)"
    )


def test_what_others_are_stuck_for_comes_before_those_who_wait_for_their_end():
    words = failure_in_words(
        failure(
            "deadlock",
            "",
            [step("main", 1, "start w")],
            waits=(
                Wait("main", "the end of w", ("w",), "bank.py:9", kind=WaitKind.END),
                Wait("w", "the result of job()", ("pool",), "bank.py:5", kind=WaitKind.RESULT),
                waits_for_lock("pool", "lock", ("gone",), "bank.py:7"),
            ),
        )
    )
    assert words.startswith("Deadlock after 1 step: w and pool wait for ever\n")
    assert (
        "  w waits for the result of job() at bank.py:5\n"
        "    run by pool\n"
        "  pool waits for lock at bank.py:7\n"
        "    held by gone\n"
        "  main waits for the end of w at bank.py:9\n"
    ) in words


def test_a_process_that_spins_is_no_bystander():
    loop = "the end of its loop, which reads only what nobody ever changes"
    words = failure_in_words(
        failure(
            "livelock",
            "",
            [step("main", 1, "start w")],
            waits=(
                Wait("main", "the end of w", ("w",), "bank.py:9", kind=WaitKind.END),
                Wait("w", loop, (), "bank.py:5", spins=True, kind=WaitKind.CHANGE),
            ),
        )
    )
    assert words.startswith("Livelock after 1 step: w spins for ever\n")


def test_a_process_may_wait_for_itself():
    again = failure(
        "deadlock",
        "",
        [step("p", 1, "acquire a")],
        waits=(waits_for_lock("p", "a", ("p",), "bank.py:2"),),
    )
    assert failure_in_words(again).startswith("Deadlock after 1 step: p waits for itself\n")


def test_a_budget_failure_folds_the_loop():
    spinning = failure(
        "budget",
        "no end after 1000 steps: p spins at bank.py:4; raise max_steps if it is meant to run "
        "longer",
        [step("q", 9, "write flag = 0")] + [step("p", 4, "read flag = 0")] * 999,
        process="p",
    )
    assert failure_in_words(spinning) == text_of(
        """
        Budget: no end after 1000 steps: p spins at bank.py:4; raise max_steps if it is
          meant to run longer

        In bank.py:
                  q               │ p
            1  9  write flag = 0  │
                  ── preempted ── │
            2  4                  │ read flag = 0
               ... 998 more steps like this one ...

        Replay: treadle.replay(program, 'q p*999')
        """
    )


def test_nondeterminism_marks_the_step_that_differed():
    odd = failure(
        "nondeterminism",
        "step 2, by p, did not do under the same schedule what it did before (bank.py:4): remove "
        "clocks, randomness and state that outlives an execution",
        [step("q", 3, "read x = 0"), step("p", 4, "write x = 1"), step("q", 5, "write x = 2")],
        step=1,
        process="p",
    )
    assert failure_in_words(odd) == text_of(
        """
        Nondeterminism: step 2, by p, did not do under the same schedule what it did
          before (bank.py:4): remove clocks, randomness and state that outlives an
          execution

        In bank.py:
                q               │ p
          1  3  read x = 0      │
                ── preempted ── │
        > 2  4                  │ write x = 1

        Replay: treadle.replay(program, 'q p')
        """
    )


def gone_program() -> Failure:
    """Return a recorded failure whose program takes other steps by now."""
    program = treadle.model.Program(x=0)

    @program.process
    def p(s):
        yield
        s.x = 1

    failure = Failure("nondeterminism", "step 2, by p, ...", Schedule("pp"), 1, "p")
    record(program, failure)
    return failure


def test_a_trace_that_cannot_be_recorded_again_is_left_out():
    assert failure_in_words(gone_program()) == (
        "Nondeterminism: step 2, by p, ...\n\nReplay: treadle.replay(program, 'p*2')"
    )
    assert failure_as_dict(gone_program())["trace"] == []


def test_the_replay_line_survives_a_shell(tmp_path):
    quoted = failure("exception", "", [step("move('a b', 2)", 1)] * 2 + [step("q", 1)])
    line = replay_command(quoted, target=str(tmp_path / "my file.py::p"))
    script = tmp_path / "treadle"
    script.write_text(f"#!{sys.executable}\nimport sys; print(sys.argv[1:])\n")
    script.chmod(0o755)
    shown = subprocess.run(
        line, shell=True, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
    ).stdout
    command, target, schedule = eval(shown)
    assert (command, target) == ("replay", str(tmp_path / "my file.py::p"))
    assert Schedule.parse(schedule) == quoted.schedule


@pytest.mark.parametrize("name", ["p", "move(1, 2)", "p*3", "50%", "a%20b", "ü b", "x\u00a0y"])
def test_a_written_schedule_can_be_read_back(name):
    schedule = Schedule([name, name, "q", name])
    assert Schedule.parse(str(schedule)) == schedule
    assert len(str(schedule).split()) == 3


@pytest.mark.parametrize("text", ["p*", "*3", "p*x", "p*-1", "p*²", "p*99999999999"])
def test_a_schedule_that_cannot_be_read_is_refused(text):
    with pytest.raises(treadle.ScheduleMismatch, match="cannot read"):
        Schedule.parse(text)


# Deadlock cycles


@pytest.mark.parametrize(
    ("holders", "cycle"),
    [
        ({"p": ["q"], "q": ["p"]}, ["p", "q"]),
        ({"p": ["p"]}, ["p"]),
        ({"p": ["q"], "q": ["r"], "r": ["q"]}, ["q", "r"]),
        ({"p": ["a", "q"], "q": ["b", "r"], "r": ["p"]}, ["p", "q", "r"]),
        ({"p": ["q"], "q": ["r"]}, []),
        ({"p": [], "q": []}, []),
    ],
)
def test_cycle_of_waiting_processes(holders, cycle):
    waits = [Wait(process, "it", tuple(held)) for process, held in holders.items()]
    assert waiting_cycle(waits) == cycle


# Traces of real programs


def test_a_trace_shows_the_line_and_value_of_each_access():
    program = treadle.model.Program(x=0)

    @program.process
    def p(s):
        yield
        s.x = 1

    @program.process
    def q(s):
        yield
        assert s.x == 0

    found = treadle.explore(program).failures[0]
    first = p.__code__.co_firstlineno
    assert [
        (step.where.rpartition(":")[2], step.source, *map(str, step.accesses), step.then)
        for step in found.trace
    ] == [
        (f"{first + 3}", "s.x = 1", "write x = 1", "ends"),
        (f"{first + 8}", "assert s.x == 0", "read x = 1", "ends"),
    ]


def test_a_blocking_step_is_shown_at_the_line_that_yields_it():
    program = treadle.model.Program(lock=treadle.model.Lock())

    @program.process
    def p(s):
        yield s.lock.acquire()
        yield s.lock.acquire()

    found = treadle.explore(program).failures[0]
    assert found.trace[0].where.endswith(f"test_failures.py:{p.__code__.co_firstlineno + 2}")

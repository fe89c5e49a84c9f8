"""What people and programs read: results and failures in words, in columns, and as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle
from treadle.program import Access, StepRecord, Wait
from treadle.report.columns import Emphasis, columns
from treadle.report.comparison import Comparison
from treadle.report.folding import fold
from treadle.report.json import failure_as_dict, result_as_dict
from treadle.report.line import WIDTH, plain, width_of
from treadle.report.text import (
    failure_in_words,
    replay_command,
    result_in_words,
    verdict_in_words,
)
from treadle.report.waits import waiting_cycle
from treadle.result import Failure, Result, Schedule


def step(process: str, line: int, *accesses: str, file: str = "bank.py", **more: str) -> StepRecord:
    """Return a step; an access is written `read x = 1`."""
    parsed = []
    for text in accesses:
        words, _, value = text.partition(" = ")
        operation, _, location = words.rpartition(" ")
        parsed.append(Access(operation, location, value))
    return StepRecord(process, tuple(parsed), f"{file}:{line}", **more)


def failure(kind: str, message: str, trace: list[StepRecord], **more) -> Failure:
    schedule = Schedule(record.process for record in trace)
    return Failure(kind, message, schedule, **{"step": len(trace), **more}, _trace=trace)


LOST_UPDATE = failure(
    "assertion",
    "AssertionError: 1 of 2 deposits is lost",
    [
        step("alice", 7, "read balance = 0"),
        step("bob", 7, "read balance = 0"),
        step("bob", 9, "write balance = 1", then="ends"),
        step("alice", 9, "write balance = 1", then="ends"),
        step("audit", 13, "join alice"),
        step(
            "audit",
            15,
            "join bob",
            "read balance = 1",
            error="AssertionError: 1 of 2 deposits is lost",
        ),
        step("late", 20, "read balance = 1"),
    ],
    step=5,
    process="audit",
)

EMBRACE = failure(
    "deadlock",
    "",
    [step("left", 5, "acquire a"), step("right", 10, "acquire b")],
    waits=(Wait("left", "b", ("right",), "bank.py:6"), Wait("right", "a", ("left",), "bank.py:11")),
)


def text_of(block: str) -> str:
    return dedent(block).strip("\n")


# Failing traces


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
        waits=(Wait("r", "a unit of slots", (), "bank.py:4", label="late"),),
    )
    assert failure_in_words(leaked).split("\n\n")[2] == (
        "  r (late) waits for a unit of slots at bank.py:4\n"
        "    last acquired by q (worker) at bank.py:2 (step 2)"
    )


def test_a_process_may_wait_for_itself():
    again = failure(
        "deadlock", "", [step("p", 1, "acquire a")], waits=(Wait("p", "a", ("p",), "bank.py:2"),)
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
    """Return a failure whose program takes other steps by now."""
    program = treadle.model.Program(x=0)

    @program.process
    def p(s):
        yield
        s.x = 1

    return Failure("nondeterminism", "step 2, by p, ...", Schedule("pp"), 1, "p", _program=program)


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


# Columns


def trace_in_columns(
    records: list[StepRecord], marked: int = -1, rows: int | None = None
) -> list[str]:
    """Return the lines of a trace without styles; `marked` is the failing step."""
    return plain(columns(records, Emphasis(marked), rows=rows)).splitlines()


def trace_of(processes: int) -> list[StepRecord]:
    return [
        step(f"worker{index}", index, f"read a_rather_long_name[{index}] = 'some value'")
        for index in range(processes)
    ]


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 5, 8, 40])
def test_no_line_is_wider_than_80_columns(processes):
    lines = trace_in_columns(trace_of(processes), 0)
    assert max(map(len, lines)) <= WIDTH
    joined = "".join("".join(lines).translate(str.maketrans("", "", ">│─ ")).split())
    assert all(f"a_rather_long_name[{index}]='somevalue'" in joined for index in range(processes))


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_wide_characters_stay_in_their_columns(processes):
    records = [
        step(f"工人{index}", index, f"read 帳戶[{index}].餘額很長很長 = '一二三四五六七八九十'")
        for index in range(processes)
    ]
    lines = trace_in_columns(records, 0)
    assert max(map(width_of, lines)) <= WIDTH
    _, *rows = lines
    assert len({tuple(width_of(row[:at]) for at in rules_in(row)) for row in rows}) == 1
    joined = "".join("".join(lines).translate(str.maketrans("", "", ">│─ ")).split())
    assert joined.count("餘額很長很長='一二三四五六七八九十'") == processes


def rules_in(line: str) -> list[int]:
    return [at for at, mark in enumerate(line) if mark == "│"]


def test_many_processes_become_a_list_with_the_name_in_front():
    assert trace_in_columns(trace_of(6), 1)[:4] == [
        "In bank.py:",
        "  1  0  worker0  read a_rather_long_name[0] = 'some value'",
        "                 ── preempted ──",
        "> 2  1  worker1  read a_rather_long_name[1] = 'some value'",
    ]


def test_a_long_trace_is_shortened_in_the_middle():
    records = [step("p", index, "read x = 1") for index in range(100)]
    assert trace_in_columns(records, 99, rows=8) == [
        "In bank.py:",
        "          p",
        "   1   0  read x = 1",
        "      ... 98 more steps of p ...",
        ">100  99  read x = 1",
    ]
    assert len(trace_in_columns(records, 99)) == 102


def test_long_paths_are_shortened_from_the_left():
    records = [
        step("p", 7, "read x = 1", file="/a/very/long/way/to/the/bank.py"),
        step("p", 8, "read x = 1", file="a_file_with_a_very_long_name.py"),
    ]
    lines = trace_in_columns(records)
    assert " bank.py:7 " in lines[1]
    assert lines[2].split()[1].startswith("...")
    assert lines[2].split()[1].endswith("_name.py:8")


def test_a_step_without_access_shows_its_source():
    assert trace_in_columns([step("p", 1, source="i += 1")])[2] == "  1  1  i += 1"
    assert trace_in_columns([step("p", 1)])[2] == "  1  1  (no access)"


def test_a_step_with_very_many_accesses_is_cut():
    lines = trace_in_columns([step("p", 1, *(f"read a[{index}] = 0" for index in range(30)))])
    assert lines[-1].endswith("... and 23 more")


def test_values_cannot_break_the_layout():
    lines = trace_in_columns([step("p", 1, "read x = a\nb\x1b[31m")])
    assert lines[2:] == ["  1  1  read x = a b [31m"]


def test_an_empty_trace_has_no_lines():
    assert trace_in_columns([]) == []


# Folding


def turns(count: int, length: int) -> list[StepRecord]:
    """Return an execution in which two processes take turns of some steps."""
    return [
        step("pq"[turn % 2], turn * length + at, f"write x = {turn * length + at}")
        for turn in range(count)
        for at in range(length)
    ]


def shown(records: list[StepRecord], *kept: int, rows: int | None = 10) -> list[int | str]:
    """Return the steps that are shown, counted from 0, and what stands for the others."""
    return [
        item if isinstance(item, int) else f"{item.count} {item.words}"
        for item in fold(records, kept, rows)
    ]


def test_the_middle_of_stretches_is_folded():
    assert shown(turns(2, 6)) == [0, "4 steps of p", 5, 6, "4 steps of q", 11]


def test_short_executions_and_short_stretches_are_not_folded():
    assert shown(turns(2, 6), rows=12) == list(range(12))
    assert shown(turns(2, 6), rows=None) == list(range(12))
    assert shown(turns(4, 4)) == list(range(16))


def test_what_is_to_be_kept_is_never_folded():
    assert shown(turns(2, 12), 5, 18) == (
        [0, "4 steps of p", 5, "5 steps of p", 11, 12, "5 steps of q", 18, "4 steps of q", 23]
    )


def test_repetitions_are_folded_even_if_everything_is_asked_for():
    spinning = [step("p", 1, "read x = 0")] * 9
    assert shown(spinning, rows=None) == [0, "8 steps like this one"]
    assert shown(spinning, 8, rows=None) == [0, "7 steps like this one", 8]


@given(
    st.lists(st.tuples(st.sampled_from("pqr"), st.integers(0, 2)), min_size=1, max_size=60),
    st.sets(st.integers(0, 59), max_size=3),
    st.one_of(st.none(), st.integers(0, 20)),
)
def test_folding_loses_no_step_and_no_turn(steps, kept, rows):
    records = [step(process, line, "read x = 0") for process, line in steps]
    items = fold(records, kept, rows)
    counted = []
    for item in items:
        counted += [item] if isinstance(item, int) else range(item.start, item.start + item.count)
    assert counted == list(range(len(records)))
    visible = {item for item in items if isinstance(item, int)}
    assert {index for index in kept if index < len(records)} <= visible
    first_of_turns = {
        index
        for index, (before, after) in enumerate(pairwise(records), start=1)
        if before.process != after.process
    }
    assert first_of_turns <= visible


def test_an_execution_of_very_many_turns_is_cut_in_the_middle():
    items = fold(turns(1000, 1), {500, 999}, 10)
    assert [item for item in items if isinstance(item, int)] == (
        [*range(30), 500, *range(910, 1000)]
    )
    assert [item.count for item in items if not isinstance(item, int)] == [470, 409]


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


# Results


def result(**changes) -> Result:
    values = {"executions": 1200, "blocked": 30, "events": 5000, "replayed": 700, "seconds": 2.5}
    return Result("bank", "source", **{**values, **changes})


def test_a_verified_result():
    assert result_in_words(result(complete=True)) == text_of(
        """
        VERIFIED: bank, no interleaving fails
          algorithm   source
          executions  1,200 complete, 30 blocked
          events      5,000 executed, 700 replayed
          time        2.50 s, 492 executions per second
        """
    )


def test_a_failed_result():
    failed = result(
        failures=[LOST_UPDATE, EMBRACE, LOST_UPDATE],
        failing=7,
        stopped_by="timeout = 3 s",
        seconds=0.0,
    )
    assert result_in_words(failed, target="bank.py::transfer") == text_of(
        """
        FAILED: bank.py::transfer, 2 assertion, 1 deadlock
          algorithm   source
          executions  1,200 complete, 30 blocked
          events      5,000 executed, 700 replayed
          time        0.00 s
          failing     7 times, each failure is shown once
          stopped     by timeout = 3 s, there may be more failures
        """
    )


def test_an_incomplete_result_says_why_and_estimates_the_rest():
    stopped = result(stopped_by="max_executions = 1200", estimate=48000.0)
    assert verdict_in_words(stopped) == (
        "INCOMPLETE: bank, no failure found before max_executions = 1200"
    )
    assert result_in_words(stopped).splitlines()[-1] == (
        "  estimate    about 48,000 executions in all or more, 2.5% of them done or less"
    )


def test_an_estimate_that_tells_nothing_is_left_out():
    assert "estimate" not in result_in_words(result(estimate=1200.0, stopped_by="timeout = 1 s"))
    assert "estimate" not in result_in_words(result(estimate=None))


def test_results_and_failures_print_themselves():
    assert str(result()) == result_in_words(result())
    assert str(EMBRACE) == failure_in_words(EMBRACE)


def test_plain_text_needs_no_third_party_package():
    code = (
        "import sys, treadle; p = treadle.model.Program(x=0)\n"
        "def f(s):\n    yield\n    assert s.x\n"
        "p.process(f)\n"
        "r = treadle.explore(p); print(r, r.failures[0])\n"
        "assert not {'rich', 'click'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


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
    assert found.trace[0].where.endswith(f"test_report.py:{p.__code__.co_firstlineno + 2}")


# JSON


def test_a_result_as_json():
    failed = result(failures=[LOST_UPDATE], failing=1, stopped_by="the first failure")
    shown = json.loads(json.dumps(result_as_dict(failed, target="bank.py")))
    assert shown.pop("failures")[0]["kind"] == "assertion"
    assert shown == {
        "schema": "treadle.result/1",
        "target": "bank.py",
        "program": "bank",
        "algorithm": "source",
        "verdict": "failed",
        "executions": 1200,
        "blocked": 30,
        "cut": 0,
        "complete": False,
        "events": 5000,
        "replayed": 700,
        "probes": 0,
        "seconds": 2.5,
        "stopped_by": "the first failure",
        "estimate": None,
        "failing": 1,
        "notes": [],
    }


def test_a_failure_as_json():
    shown = json.loads(json.dumps(failure_as_dict(EMBRACE)))
    assert shown == {
        "schema": "treadle.failure/1",
        "kind": "deadlock",
        "message": "",
        "process": "",
        "step": 2,
        "schedule": "left right",
        "token": "t1_xZz8QAJX8wcCAARsZWZ0AAVyaWdodAIAAQ",
        "granularity": "",
        "options": {},
        "pair": None,
        "waits": [
            {
                "process": "left",
                "resource": "b",
                "holders": ["right"],
                "where": "bank.py:6",
                "spins": False,
                "label": "",
            },
            {
                "process": "right",
                "resource": "a",
                "holders": ["left"],
                "where": "bank.py:11",
                "spins": False,
                "label": "",
            },
        ],
        "trace": [
            {
                "process": "left",
                "accesses": [{"operation": "acquire", "location": "a", "value": ""}],
                "where": "bank.py:5",
                "source": "",
                "error": "",
                "label": "",
                "then": "",
            },
            {
                "process": "right",
                "accesses": [{"operation": "acquire", "location": "b", "value": ""}],
                "where": "bank.py:10",
                "source": "",
                "error": "",
                "label": "",
                "then": "",
            },
        ],
    }


# Comparisons


def compared(*results: Result) -> Comparison:
    return Comparison("bank.py", results, frozenset({"random"}))


def named(algorithm: str, *failures: Failure, complete: bool = True, **more) -> Result:
    return Result("bank", algorithm, complete=complete, failures=list(failures), **more)


def test_algorithms_that_agree():
    words = compared(
        named("source", LOST_UPDATE, executions=12), named("optimal", LOST_UPDATE, executions=8)
    ).in_words()
    assert words == text_of(
        """
        bank.py

        algorithm  executions  blocked  events    time  failed  covers
        source             12        0       0  0.00 s       1  yes
        optimal             8        0       0  0.00 s       1  yes

        All 2 algorithms that covered the space agree:
          assertion: audit: AssertionError: 1 of 2 deposits is lost
        """
    )


def test_an_algorithm_that_missed_a_failure():
    comparison = compared(named("source"), named("optimal", LOST_UPDATE))
    assert comparison.disagreements() == [
        "source missed assertion: audit: AssertionError: 1 of 2 deposits is lost"
    ]
    assert "DISAGREEMENT: source missed" in comparison.in_words()


def test_a_sample_may_miss_failures_but_not_find_others():
    sample = named("random", LOST_UPDATE, complete=False)
    assert compared(named("optimal", LOST_UPDATE, EMBRACE), sample).disagreements() == []
    (wrong,) = compared(named("optimal"), sample).disagreements()
    assert wrong.startswith("random found assertion")


def test_an_unfinished_algorithm_may_miss_failures_too():
    unfinished = named("exhaustive", complete=False, stopped_by="timeout = 60 s")
    comparison = compared(unfinished, named("optimal", EMBRACE))
    assert comparison.disagreements() == []
    assert "exhaustive stopped by timeout = 60 s" in comparison.in_words()
    assert "Only optimal covered the space:" in comparison.in_words()


def test_without_a_complete_algorithm_there_is_nothing_to_compare():
    comparison = compared(named("source", LOST_UPDATE, complete=False))
    assert comparison.disagreements() == []
    assert comparison.in_words().endswith("so there is nothing to compare.")


def test_the_order_of_waits_makes_no_difference():
    turned = failure("deadlock", "", EMBRACE.trace, waits=EMBRACE.waits[::-1])
    assert compared(named("source", EMBRACE), named("optimal", turned)).disagreements() == []


def test_a_comparison_as_json():
    shown = json.loads(json.dumps(compared(named("source"), named("optimal", EMBRACE)).as_dict()))
    assert shown["schema"] == "treadle.comparison/1"
    assert shown["target"] == "bank.py"
    assert len(shown["disagreements"]) == 1
    assert [row["algorithm"] for row in shown["results"]] == ["source", "optimal"]

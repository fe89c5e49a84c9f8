"""An execution in columns: layout, widths, and what is folded."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report_samples import step
from treadle.core.records import StepRecord
from treadle.report.columns import Emphasis, columns
from treadle.report.folding import fold
from treadle.report.line import WIDTH, plain, width_of


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


def test_what_arrives_stands_across_the_columns_and_inner_steps_are_left_out():
    records = [
        replace(step("ann#1", 3, "read stock = 1"), lane="ann", label="ann", then="waits"),
        replace(step("bob#1", 3, "read stock = 1"), lane="bob", label="bob", then="waits"),
        StepRecord("ann/t1", (), arrival="0.1 s passes: sleep(0.1) of ann ends", then="over"),
        StepRecord("main/d1", (), lane="main", is_inner=True, then="over"),
        replace(step("ann#2", 5, "write stock = 0"), lane="ann", label="ann", then="ends"),
    ]
    assert [line.rstrip() for line in trace_in_columns(records)] == [
        "In bank.py:",
        "        ann             │ bob",
        "  1  3  read stock = 1  │",
        "        (waits)         │",
        "  2  3                  │ read stock = 1",
        "                        │ (waits)",
        "  3     ── 0.1 s passes: sleep(0.1) of ann ends ──",
        "  5  5  write stock = 0 │",
        "        (ends)          │",
    ]
    failing = trace_in_columns(records, 3)
    assert any(line.startswith("> 4") for line in failing), "unless it fails"

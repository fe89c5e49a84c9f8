"""Table 1 of iFM 2016, measured: exact counts where the paper's programs are known, gains, JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from io import StringIO
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

import treadle
from schema import validate
from treadle.cli.bench import bench
from treadle.papers import PAPERS
from treadle.papers.check import deviation
from treadle.papers.guided import GuidedFigures, guided_figures
from treadle.papers.harness import Measurement, Task, explore_in_process
from treadle.papers.lost_programs import (
    factorial,
    free_factorial,
    free_peers,
    free_unbounded_loop,
    unbounded_loop,
    water,
)
from treadle.papers.paper import Row
from treadle.papers.table import MeasuredRow, build

PAPER = PAPERS["ifm16"]
TABLE = PAPER.tables[0]


def row_of(program: str, n: int) -> Row:
    return next(row for row in TABLE.rows if (row.benchmark.name, row.n) == (program, n))


def figures(program: str, n: int) -> GuidedFigures:
    return guided_figures(PAPER.benchmarks[program], n, 60.0)


def measured(program: str, n: int, **changes: Any) -> Measurement:
    task = Task("ifm16", program, n, "exhaustive", "stay", 60.0)
    return replace(explore_in_process(PAPER.benchmarks[program], task), **changes)


# The exact counts


@pytest.mark.parametrize(
    ("program", "n", "states", "pruned", "verdicts"),
    [
        ("fPA", 3, 6526, 2184, (0, 2, 2)),
        ("PA", 2, 6, 0, (2, 0, 2)),
        ("PA", 3, 6, 0, (2, 0, 2)),
        ("SB", 3, 23, 1, (1, 0, 1)),
        ("barber", 1, 19, 3, (1, 0, 1)),
        pytest.param(
            "HB", 3, 51031, 16800, (2, 2, 4), marks=[pytest.mark.slow, pytest.mark.minutes]
        ),
    ],
)
def test_guided_states(
    program: str, n: int, states: int, pruned: int, verdicts: tuple[int, int, int]
) -> None:
    found = figures(program, n)
    assert (found.guided_states, found.pruned) == (states, pruned)
    assert (found.confirmed, found.unfeasible, found.cycles) == verdicts
    assert found.guided_complete
    assert found.largest == states - pruned


def test_sums_are_without_pruned_leaves() -> None:
    found = figures("fPA", 3)
    assert found.guided_sum == 2 * 4342
    assert figures("PA", 3).guided_sum == 12
    assert figures("barber", 1).guided_sum == 16
    assert 0 < found.guided_longest <= found.guided_seconds


def test_the_exact_counts_are_checked() -> None:
    row = row_of("barber", 1)
    right = measured("barber", 1)
    assert deviation(row, right) == ""
    assert right.guided is not None
    wrong = replace(right, guided=replace(right.guided, guided_states=20))
    assert deviation(row, wrong) == "saw 20 states guided, 3 of them pruned"
    stopped = replace(right, guided=replace(right.guided, guided_states=7, guided_complete=False))
    assert deviation(row, stopped) == ""


def test_rows_of_the_table() -> None:
    names = [row.name for row in TABLE.rows]
    assert names == [
        "HB(3)", "fPA(3)", "PA(2)", "PA(3)", "SB(3)", "barber(1)", "FA(2)", "UL(3)", "WM(3)",
        "fFA(2)", "fP2P(3)", "fUL(3)",
    ]  # fmt: skip
    for row in TABLE.rows:
        assert row.benchmark.guided in ("cycle", "all")


# The programs whose sources are lost: their own counts


@pytest.mark.parametrize(
    ("program", "n", "verdicts", "states"),
    [
        ("FA", 2, (3, 7, 10), 11),
        ("UL", 2, (1, 0, 1), 16),
        ("WM", 2, (2, 0, 2), 6),
        ("fFA", 2, (0, 1, 1), 3653),
        ("fP2P", 3, (0, 1, 1), 786),
        ("fUL", 3, (0, 1, 1), 697),
    ],
)
def test_counts_of_lost_programs(
    program: str, n: int, verdicts: tuple[int, int, int], states: int
) -> None:
    found = figures(program, n)
    assert (found.confirmed, found.unfeasible, found.cycles) == verdicts
    assert found.guided_states == states


@pytest.mark.parametrize(
    ("program", "executions"),
    [
        (factorial(2), 6),
        (free_factorial(1), 20),
        (unbounded_loop(1), 6),
        (free_unbounded_loop(3), 276),
        (water(1), 14),
        (free_peers(3), 216),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_interleavings_of_lost_programs(program: Any, executions: int) -> None:
    result = treadle.explore(program, "exhaustive", stop_on_failure=False)
    assert result.executions == executions
    is_free = program.name.startswith("free")
    assert bool(result.failures) is not is_free
    assert treadle.deadlocks(program).free is is_free


# The command


def test_json_has_the_keys_of_the_contract() -> None:
    run = CliRunner().invoke(
        bench,
        ["--paper", "ifm16", "--json", "--program", "barber", "--algorithm", "exhaustive"],
    )
    assert run.exit_code == 0
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert {(row["program"], row["n"]) for row in rows} == {("barber", 1)}
    row = rows[0]
    validate(row, "bench")
    assert (row["executions"], row["states"]) == (42, 181)
    assert (row["guided_states"], row["pruned"]) == (19, 3)
    assert (row["cycles"], row["confirmed"], row["unfeasible"]) == (1, 1, 0)


def test_without_guidance_the_keys_are_null() -> None:
    task = Task("ifm16", "barber", 1, "optimal", "stay", 60.0)
    shown = json.loads(explore_in_process(PAPER.benchmarks["barber"], task).as_json())
    assert shown["guided_states"] is None
    assert shown["pruned"] is None
    assert "cycles" not in shown


def test_a_measurement_survives_the_way_between_processes() -> None:
    one = measured("barber", 1)
    assert Measurement.from_json(json.dumps(asdict(one))) == one
    two = replace(one, guided=None)
    assert Measurement.from_json(json.dumps(asdict(two))) == two


def test_a_row_with_a_cap_is_stopped_early_and_says_so() -> None:
    task = Task("ifm16", "SB", 3, "exhaustive", "stay", 60.0, cap=0.2)
    one = explore_in_process(PAPER.benchmarks["SB"], task)
    assert not one.complete
    assert one.guided is not None
    assert one.guided.guided_complete


def test_the_table_shows_gains_beside_the_paper_s() -> None:
    row = row_of("fPA", 3)
    figures_of_it = GuidedFigures(6526, 2184, 2, 0, 2, 8684, 2.0, 1.0)
    one = Measurement(
        "fPA", 3, "exhaustive", 7350, 0, 1, 4.0, 1.0, True, 0, 0, states=30298, guided=figures_of_it
    )
    table = build(TABLE, [MeasuredRow(row, one, 60.0, None, "")])
    console = Console(width=180, record=True, file=StringIO())
    console.print(table)
    text = console.export_text()
    for expected in ("0/2/2", "8,684", "4,342", "+2,184 pruned", "3.49", "6.98", "2.00", "4.00"):
        assert expected in text
    for printed in ("9k", "4k", "3.33", "1.75", "3.73"):
        assert printed in text


def test_a_search_that_did_not_end_has_at_least_that_gain() -> None:
    one = replace(
        measured("barber", 1, complete=False), states=1900, guided=GuidedFigures(20, 1, 1, 1, 0, 19)
    )
    cell = MeasuredRow(row_of("barber", 1), one, 60.0, None, "")
    console = Console(width=180, record=True, file=StringIO())
    console.print(build(TABLE, [cell]))
    assert "> 100.00" in console.export_text()


def test_remarks_say_what_is_lost() -> None:
    text = " ".join(PAPER.remarks)
    for name in ("FA", "UL", "WM", "fFA", "fP2P", "fUL"):
        assert name in text
    assert "lost" in text

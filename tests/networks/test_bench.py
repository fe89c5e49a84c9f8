"""`treadle bench --paper jss21`: the programs of figure 9 have the counts that they are said to."""

from __future__ import annotations

import json

import pytest

import treadle
from treadle.papers import PAPERS

PAPER = PAPERS["jss21"]


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("lb", 1),
        ("lb", 2),
        ("lbb", 1),
        ("lbb", 50),
        ("ssh", 1),
        ("sshb", 1),
        ("sshb", 2),
        ("le", 2),
        ("le", 3),
        ("le", 4),
        ("mi", 1),
        ("mi", 3),
        ("mi", 6),
        ("mi", 7),
        ("mib", 3),
        ("mib", 6),
    ],
)
def test_counts(name: str, n: int) -> None:
    benchmark = PAPER.benchmarks[name]
    result = treadle.explore(benchmark.make(n))
    assert (result.ok, result.executions, result.blocked) == (True, benchmark.classes(n), 0)


def test_programs() -> None:
    assert sorted(PAPER.benchmarks) == ["lb", "lbb", "le", "mi", "mib", "ssh", "sshb"]


def test_what_is_printed_in_figure_9() -> None:
    (table,) = PAPER.tables
    printed = {row.name: row.printed["optimal"] for row in table.rows if row.printed}
    assert (printed["lbb(125)"].executions, printed["lbb(125)"].time) == (1, "127.74s")
    assert printed["lb(300)"].executions == 4
    assert len(printed) == 22


def test_rows_that_nobody_has_counted_run_on_demand() -> None:
    (table,) = PAPER.tables
    for row in table.rows:
        assert row.on_demand or (row.expected or 0) <= 10_000


def test_the_command(command_line) -> None:
    status, out, _ = command_line(
        "bench", "--paper", "jss21", "--program", "lbb", "--n", "3", "--json"
    )
    assert status == 0
    row = json.loads(out)
    assert (row["program"], row["n"], row["algorithm"]) == ("lbb", 3, "optimal")
    assert (row["executions"], row["blocked"], row["events"]) == (1, 0, 33)

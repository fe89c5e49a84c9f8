"""The table of LOPSTR 2017: every Syst. and G, and D where it does not depend on a clock."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from schema import validate
from treadle.cli import cli
from treadle.core.errors import TreadleError
from treadle.papers.lopstr17 import BENCHMARKS, SIZES, Row, deviation, measure, rows
from treadle.symbolic.limits import Limits

PATIENT = Limits(seconds=1e6)
QUICK = [
    (name, m)
    for name in ("Barber", "Fact", "Loop", "Pairing")
    for m in SIZES
    if (name, m) != ("Loop", 3)
]


@pytest.mark.parametrize(("program", "m"), [*QUICK, ("DBProt", 1)])
def test_all_three_counts(program: str, m: int):
    row = Row(program, m)
    measured = measure(row, 1e6, limits=PATIENT)
    assert deviation(row, measured) == ""
    assert row.printed is not None
    assert measured.guided == row.printed.guided
    assert measured.deadlocking == row.printed.deadlocking
    assert (measured.limited, measured.complete) == (0, True)
    if not row.printed.systematic.startswith(">"):
        assert measured.systematic == int(row.printed.systematic)
    else:
        assert measured.systematic > int(row.printed.systematic[1:])


@pytest.mark.minutes
@pytest.mark.parametrize(("program", "m"), [("DBProt", 2), ("Loop", 3)])
def test_larger_rows(program: str, m: int):
    row = Row(program, m)
    measured = measure(row, 1e6, workers=2)
    assert row.printed is not None
    assert measured.deadlocking == row.printed.deadlocking
    assert deviation(row, measured) == ""


@pytest.mark.parametrize("program", BENCHMARKS)
@pytest.mark.parametrize("m", SIZES)
def test_contexts_without_executing_them(program: str, m: int):
    """A row that has no time at all still has its contexts counted."""
    measured = measure(Row(program, m), -1.0)
    known = BENCHMARKS[program]
    assert measured.systematic == known.systematic[m - 1]
    assert measured.guided == known.guided[m - 1]
    assert (measured.complete, measured.deadlocking) == (False, 0)
    assert deviation(Row(program, m), measured) == ""


def test_cycles():
    cycles = {name: measure(Row(name, 1), -1.0).cycles for name in BENCHMARKS}
    assert cycles == {"DBProt": 1, "Barber": 1, "Fact": 2, "Loop": 1, "Pairing": 2}


def test_a_deviation_is_told():
    row = Row("Pairing", 1)
    measured = measure(row, 1e6, limits=PATIENT)
    measured.deadlocking, measured.guided, measured.systematic = 0, 7, 8
    assert deviation(row, measured) == (
        "8 contexts in all, not 2; 7 contexts of cycles, not 2; 0 contexts with a deadlock, not 2"
    )
    assert deviation(Row("Pairing", 4), measured) == ""


def test_rows_that_are_asked_for():
    assert rows((), ()) == [Row(name, m) for name in BENCHMARKS for m in SIZES]
    assert rows(("Fact",), (2, 1, 2)) == [Row("Fact", 1), Row("Fact", 2)]
    with pytest.raises(TreadleError, match="has no program 'Fib'"):
        rows(("Fib",), ())


def test_the_command_prints_json():
    asked = ["bench", "--paper", "lopstr17", "--program", "Barber", "--n", "2", "--json"]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 0, result.output
    row = json.loads(result.output)
    validate(row, "bench-contexts")
    assert {
        name: row[name] for name in ("program", "m", "systematic", "guided", "deadlocking")
    } == {
        "program": "Barber",
        "m": 2,
        "systematic": 6859,
        "guided": 9,
        "deadlocking": 9,
    }


def test_the_command_prints_a_table():
    asked = ["bench", "--paper", "lopstr17", "--program", "Fact", "--n", "1"]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 0, result.output
    assert "Fact" in result.output
    assert "its source is lost" in result.output


def test_a_row_that_is_stopped_says_so():
    asked = ["bench", "--paper", "lopstr17", "--program", "Loop", "--n", "3"]
    result = CliRunner().invoke(cli, [*asked, "--row-timeout", "0.000001"])
    assert result.exit_code == 3
    assert "so far" in result.output
    assert "stopped" in result.output


def test_contexts_that_met_a_limit_are_counted():
    hurried = Limits(seconds=1e6, steps=3)
    measured = measure(Row("DBProt", 1), 1e6, limits=hurried)
    assert (measured.deadlocking, measured.limited, measured.timed_out) == (0, 2, 0)


def test_a_second_try_with_workers():
    """Contexts that are out of time at first are tried again; what is found is the same."""
    measured = measure(Row("Barber", 2), 1e6, workers=2, limits=Limits(seconds=1e-9))
    assert (measured.deadlocking, measured.limited, measured.timed_out) == (0, 9, 9)

"""`treadle bench`: rows, options, tables, JSON lines, and what happens when a count is wrong."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import treadle
from schema import validate
from treadle.cli import main
from treadle.cli.bench import bench
from treadle.core.errors import TreadleBug, TreadleError
from treadle.papers import PAPERS, jacm17
from treadle.papers.check import deviation
from treadle.papers.harness import Measurement, Task, measure
from treadle.papers.history import History, default_path
from treadle.papers.paper import Paper, PaperTable, Printed, Row
from treadle.papers.table import MeasuredRow, build, notes, seconds

MORE = ["complete", "dependency_checks", "race_checks", "unsatisfiable"]
KEYS = ["program", "n", "algorithm", "executions", "blocked", "events", "seconds", "peak_mb"]

Run = Callable[..., Result]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "treadle" / "bench.json"


@pytest.fixture
def run(cache: Path) -> Run:
    del cache
    return lambda *args: CliRunner().invoke(bench, ["--paper", "jacm17", *args])


def measured(**changes: Any) -> Measurement:
    known = Measurement("readers", 2, "optimal", 4, 0, 17, 0.01, 16.0, True, 3, 0)
    return replace(known, **changes)


def row_of(program: str, n: int) -> Row:
    tables = PAPERS["jacm17"].tables
    return next(r for t in tables for r in t.rows if (r.benchmark.name, r.n) == (program, n))


def lines_of(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# The paper as data


def test_the_closed_forms_are_what_the_paper_prints() -> None:
    for table in PAPERS["jacm17"].tables:
        for row in table.rows:
            assert row.printed["optimal"].explored == row.benchmark.classes(row.n), row.name


def test_the_rows_are_the_papers() -> None:
    sizes: dict[str, list[int]] = {}
    for table in PAPERS["jacm17"].select([], []):
        for row in table.rows:
            sizes.setdefault(row.benchmark.name, []).append(row.n)
    assert sizes == {
        "chain": [1, 2, 3, 4, 5, 6, 7, 8, 9],
        "wakeup_stress": [1, 2, 3, 4, 5, 6, 7],
        "filesystem": [14, 16, 18, 19],
        "indexer": [12, 15],
        "readers": [2, 8, 13],
        "lastzero": [5, 10, 15],
    }


def test_rows_that_take_very_long_are_there_for_the_asking() -> None:
    (table,) = PAPERS["jacm17"].select(["wakeup_stress"], [8, 9])
    assert [row.printed["optimal"].nodes for row in table.rows] == [1018094, 9916765]


def test_sizes_alone_pick_among_the_papers_rows() -> None:
    tables = PAPERS["jacm17"].select([], [8, 2])
    names = [row.name for table in tables for row in table.rows]
    assert names == [
        "chain(2)", "chain(8)", "wakeup_stress(2)", "wakeup_stress(8)", "readers(2)", "readers(8)",
    ]  # fmt: skip


def test_a_program_can_have_any_size_that_exists() -> None:
    (table,) = PAPERS["jacm17"].select(["lastzero"], [4])
    assert (table.rows[0].name, table.rows[0].expected) == ("lastzero(4)", 28)
    with pytest.raises(TreadleError, match=r"filesystem\(27\) does not exist.*between 1 and 26"):
        PAPERS["jacm17"].select(["filesystem"], [27])


# Measuring


def test_a_row_is_measured_in_a_process_of_its_own() -> None:
    ballast = bytearray(200 << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    found = measure(Task("jacm17", "readers", 4, "optimal", "stay", 30))
    expected = treadle.explore(jacm17.readers(4))
    assert (found.executions, found.blocked, found.complete) == (16, 0, True)
    assert (found.events, found.nodes) == (expected.events, expected.peak_nodes)
    assert 5 < found.peak_mb < 100
    assert 0 < found.seconds < 5


def test_a_row_that_takes_too_long_is_stopped() -> None:
    ticks: list[int] = []
    found = measure(Task("jacm17", "lastzero", 15, "source", "stay", 0.7), lambda: ticks.append(1))
    assert not found.complete
    assert found.executions > 0
    assert ticks


def test_a_measuring_process_that_dies_is_no_result() -> None:
    with pytest.raises(TreadleBug, match=r"measured readers\(2\) under nonsense failed: .*unknown"):
        measure(Task("jacm17", "readers", 2, "nonsense", "stay", 1))


# The command


def test_json_lines(run: Run) -> None:
    result = run("--json", "--program", "readers", "--n", "2", "--n", "3")
    lines = lines_of(result)
    assert result.exit_code == 0
    assert [list(line) for line in lines] == [[*KEYS, *MORE]] * 6
    for line in lines:
        validate(line, "bench")
    assert [(line["n"], line["algorithm"]) for line in lines] == [
        (n, algorithm) for n in (2, 3) for algorithm in ("classic", "source", "optimal")
    ]
    assert [line["executions"] + line["blocked"] for line in lines] == [5, 4, 4, 14, 8, 8]


def test_the_default_algorithms_are_those_of_the_table(run: Run) -> None:
    lines = lines_of(run("--json", "--program", "chain", "--n", "1"))
    assert [line["algorithm"] for line in lines] == ["source", "optimal"]


def test_algorithms_and_the_default_schedule_can_be_chosen(run: Run) -> None:
    options = ["--json", "--program", "lastzero", "--n", "5", "--algorithm", "source"]
    blocked = {
        schedule: lines_of(run(*options, "--schedule", schedule))[0]["blocked"]
        for schedule in ("oldest", "newest")
    }
    assert blocked == {"oldest": 33, "newest": 0}
    lines = lines_of(run(*options, "--algorithm", "sleep"))
    assert [line["algorithm"] for line in lines] == ["source", "sleep"]


def test_tables_in_the_papers_form(run: Run) -> None:
    result = run("--n", "2")
    assert result.exit_code == 0
    assert "Table 1." in result.stdout
    assert "Table 2." in result.stdout
    assert "Table 3." not in result.stdout
    lines = [line.replace("│", " ").split() for line in result.stdout.splitlines()]
    ours = lines.index(next(line for line in lines if line[:1] == ["readers(2)"]))
    assert lines[ours][:5] == ["readers(2)", "ours", "5", "4", "4"]
    assert lines[ours + 1] == ["4+1"]
    assert lines[ours + 2][:7] == ["paper", "5", "4", "4", "0.02s", "0.02s", "0.02s"]


def test_a_stopped_row_says_so_and_how_long_it_took_last_time(run: Run, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text(json.dumps({"jacm17 lastzero(15) classic stay": 1234.5}))
    result = run(
        "--program", "lastzero", "--n", "15", "--algorithm", "classic", "--row-timeout", "0.4"
    )
    assert result.exit_code == 3
    note = "lastzero(15) under classic: stopped after 0.4 s; last time it took 20m34s to finish"
    assert note in result.stdout
    assert "9,378,091" in result.stdout
    assert json.loads(cache.read_text()) == {"jacm17 lastzero(15) classic stay": 1234.5}


def test_a_stopped_row_in_json(run: Run) -> None:
    options = ["--json", "--program", "lastzero", "--n", "15", "--algorithm", "optimal"]
    result = run(*options, "--row-timeout", "0.3")
    assert result.exit_code == 3
    assert lines_of(result)[0]["complete"] is False


def with_wrong_count(paper: Paper) -> Paper:
    """Return a paper that prints one class too many for readers(2)."""
    row = replace(row_of("readers", 2), printed={"optimal": Printed(5, "0.02s")})
    return replace(paper, tables=(replace(paper.tables[-1], rows=(row,)),))


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_a_count_that_deviates_is_shown_loudly(
    run: Run, monkeypatch: pytest.MonkeyPatch, json_option: list[str]
) -> None:
    monkeypatch.setitem(PAPERS, "jacm17", with_wrong_count(PAPERS["jacm17"]))
    result = run("--algorithm", "optimal", *json_option)
    assert result.exit_code == 1
    where = result.stderr if json_option else result.stdout
    said = "DEVIATION: readers(2) under optimal completed 4 executions, the exact number is 5"
    assert said in where


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--paper", "popl14"], "jacm17"),
        (["--program", "reader"], "choose one of chain, wakeup_stress, filesystem"),
        (["--n", "77"], "--program"),
        (["--n", "0"], "--n"),
        (["--program", "indexer", "--n", "99"], "between 1 and 16"),
        (["--algorithm", "random"], "optimal"),
        (["--schedule", "fair"], "round-robin"),
        (["--row-timeout", "0"], "--row-timeout"),
    ],
)
def test_usage_errors(
    cache: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--paper", "jacm17", *options])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not cache.exists()


def test_a_terminal_shows_progress_and_keeps_the_output_clean(cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from treadle.cli.bench import bench; bench()",
         "--paper", "jacm17", "--program", "readers", "--n", "2", "--json"],
        env={**os.environ, "FORCE_COLOR": "1", "XDG_CACHE_HOME": str(cache.parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    assert [json.loads(line)["n"] for line in done.stdout.splitlines()] == [2, 2, 2]
    assert "row 3 of 3: readers(2) under optimal" in done.stderr


# Deviations


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"executions": 3}, "completed 3 executions, the exact number is 4"),
        ({"executions": 5}, "completed 5 executions, the exact number is 4"),
        ({"executions": 5, "complete": False}, "completed 5 executions, the exact number is 4"),
        ({"executions": 3, "complete": False}, ""),
        ({"blocked": 1}, "blocked 1 executions, which optimal never does"),
        ({"blocked": 1, "algorithm": "source"}, ""),
        (
            {"executions": 5, "algorithm": "classic"},
            "completed 5 executions, the exact number is 4",
        ),
        ({"executions": 30, "algorithm": "exhaustive"}, ""),
        ({"executions": 3, "algorithm": "exhaustive"}, "completed 3 executions"),
        ({"failures": 2}, "found 2 failures in a program that has none"),
    ],
)
def test_what_deviates(changes: dict[str, Any], said: str) -> None:
    found = deviation(row_of("readers", 2), measured(**changes))
    assert found.startswith(said)
    assert bool(found) is bool(said)


# Printing


def printed_table(table: PaperTable, cells: list[MeasuredRow]) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(build(table, cells))
        for note in notes(cells):
            console.print(note)
    return capture.get()


def test_nodes_and_memory_stand_beside_the_papers() -> None:
    row = row_of("wakeup_stress", 7)
    found = measured(program="wakeup_stress", n=7, executions=10080, nodes=5000, seconds=75.0)
    cell = MeasuredRow(row, found, 60.0, 70.0, "")
    text = printed_table(PAPERS["jacm17"].tables[1], [cell]).replace("│", " ")
    words = [line.split() for line in text.splitlines()]
    assert ["wakeup_stress(7)", "ours", "10,080", "5,000", "16MB", "1m15s"] in words
    assert ["paper", "10,080", "115,091", "114MB", "1m07s"] in words
    assert "wakeup_stress(7) under optimal: took 1m15s; last time it took 1m10s" in text


def test_short_rows_need_no_note() -> None:
    cell = MeasuredRow(row_of("readers", 2), measured(), 60.0, 0.01, "")
    assert notes([cell]) == []


@pytest.mark.parametrize(
    ("value", "said"), [(0.004, "0.00s"), (59.99, "59.99s"), (60.0, "1m00s"), (3725.0, "62m05s")]
)
def test_times_are_written_as_in_the_paper(value: float, said: str) -> None:
    assert seconds(value) == said


# What is remembered

TASK = Task("jacm17", "readers", 2, "optimal", "stay", 60)


def test_times_are_remembered(cache: Path) -> None:
    History(default_path()).note(TASK, 1.5)
    assert cache.exists()
    assert History(default_path()).last(TASK) == 1.5
    assert History(default_path()).last(replace(TASK, schedule="oldest")) is None


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", '{"jacm17 readers(2) optimal stay": "x"}'])
def test_a_damaged_memory_is_no_memory(cache: Path, content: str) -> None:
    cache.parent.mkdir()
    cache.write_text(content)
    history = History(cache)
    assert history.last(TASK) is None
    history.note(TASK, 2.0)
    assert History(cache).last(TASK) == 2.0


def test_a_memory_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    history = History(occupied / "treadle" / "bench.json")
    history.note(TASK, 2.0)
    assert history.last(TASK) == 2.0
    assert occupied.read_text() == ""


# benchmarks/speed.py


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return importlib.import_module("speed")


def test_merely_running_runs_what_optimal_explores(speed: ModuleType) -> None:
    schedules = speed.schedules_of(jacm17.readers(3))
    assert len(schedules) == len(set(map(tuple, schedules))) == 8
    assert all(len(schedule) == 7 for schedule in schedules)
    program = jacm17.readers(3)
    started: list[Any] = []
    start = program.start
    program.start = lambda **options: started.append(start(**options)) or started[-1]
    speed.run_all(schedules, program)
    assert len(started) == 8
    assert not any(run.enabled() for run in started)


@pytest.mark.parametrize(("threads", "events"), [(2, 10), (7, 100), (64, 256)])
def test_growth_is_measured_with_few_races(speed: ModuleType, threads: int, events: int) -> None:
    program = speed.mostly_alone(threads, events)
    assert {len(schedule) for schedule in speed.schedules_of(program)} == {events}
    assert treadle.explore(program).executions == 2


def test_a_rate_that_does_not_finish_says_so(speed: ModuleType) -> None:
    line = next(speed.rates([("lastzero", 12)], 0.2))
    assert line.note == "skipped: not finished in 0.2 s"
    assert line.executions_per_second is None


# Eager POR


def run_eager(*args: str) -> Result:
    return CliRunner().invoke(bench, ["--paper", "atva16", *args])


def test_a_line_for_each_algorithm(cache: Path) -> None:
    del cache
    result = run_eager("--program", "ring-extended", "--n", "3")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines() if "ring-extended(3)" in line]
    algorithms = ["source", "eager", "eager-short"]
    assert [line[3] for line in lines] == [*algorithms, *algorithms, "eager-adaptive"]
    short = next(line for line in reversed(lines) if line[3] == "eager-short")
    assert (short[5], short[7]) == ("90", "72")  # the paper's short sections missed traces
    assert (short[-6], short[-4]) == ("14", "14")
    assert short[-2].endswith("%")
    assert lines[0][-2] == "–"


def test_a_line_has_nothing_to_compare_with_if_the_yardstick_is_left_out(cache: Path) -> None:
    del cache
    result = run_eager("--program", "ring", "--n", "3", "--algorithm", "eager")
    lines = [line.split() for line in result.stdout.splitlines() if "ring(3)" in line]
    assert [line[-2] for line in lines] == ["–", "–"]


@pytest.mark.parametrize(("option", "unsatisfiable"), [("--learn", 28), ("--no-learn", 4006)])
def test_learning_can_be_switched_off(cache: Path, option: str, unsatisfiable: int) -> None:
    del cache
    result = run_eager("--json", option, "--program", "ring-extended", "--n", "3")
    rows = [line for line in lines_of(result) if line["algorithm"] == "eager"]
    assert [row["unsatisfiable"] for row in rows] == [unsatisfiable] * 2


def test_what_the_paper_on_eager_por_prints() -> None:
    table = PAPERS["atva16"].tables[-1]
    printed = {row.name: row.printed for row in table.rows}
    assert printed["ring(17)"]["eager"] == Printed(
        131070, "538.03s", dependency_checks=2096753, race_checks=136, unsatisfiable=2
    )
    assert printed["last-zero(16)"]["source"] == Printed()


@pytest.mark.parametrize(("program", "n"), [("ring", 1), ("branching", 1), ("indexer", 17)])
def test_sizes_that_do_not_exist(program: str, n: int) -> None:
    result = run_eager("--program", program, "--n", str(n))
    assert isinstance(result.exception, TreadleError)
    assert f"{program}({n}) does not exist" in str(result.exception)


def test_a_row_of_two_tables_is_measured_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del cache
    tasks: list[Task] = []

    def note(task: Task, tick: Callable[[], None] | None = None) -> Measurement:
        del tick
        tasks.append(task)
        return measured(program="ring", n=3, algorithm="eager", executions=6)

    monkeypatch.setattr(importlib.import_module("treadle.cli.bench"), "measure", note)
    result = run_eager("--program", "ring", "--n", "3", "--algorithm", "eager")
    assert result.stdout.count("ring(3)") == 2
    assert [str(task) for task in tasks] == ["ring(3) under eager"]
    text = " ".join(result.stdout.split())
    assert all(remark in text for remark in PAPERS["atva16"].remarks)


def test_long_rows_are_measured_when_asked_for() -> None:
    paper = PAPERS["atva16"]
    long = {row.name for table in paper.tables for row in table.rows if row.on_demand}
    assert {"ring(17)", "readers-writers(20)", "last-zero(16)"} <= long
    for on_demand in (False, True):
        tables = paper.select([], [], on_demand=on_demand)
        names = {row.name for table in tables for row in table.rows}
        assert long <= names if on_demand else long.isdisjoint(names)

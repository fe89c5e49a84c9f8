"""`--report x.html` of all commands, and what GitHub is told by `treadle run`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from looked_at import read

FILE = """
    import treadle
    from racy_model import racy
    program = racy()
    safe = treadle.model.Program(x=0)
    for name in "pq":
        @safe.process(name=name)
        def writes(s):
            yield
            s.x = 1
"""
Call = Callable[..., tuple[Any, str, str]]


@pytest.fixture(autouse=True)
def _file(workplace: Path) -> None:
    (workplace / "m.py").write_text(dedent(FILE))


def page(name: str = "r.html") -> Any:
    return read(Path(name).read_text("utf-8"))


def test_run_writes_a_page(command_line: Call) -> None:
    status, out, _ = command_line("run", "m.py::program", "--report", "r.html")
    assert status == 1
    shown = page()
    command = shown.one(kind="command").one("code").text
    assert command in out, "the same token"
    assert shown.one("h1").text == "m.py::program"
    assert shown.all("ul", "tree")
    assert shown.all("table", "heat-pairs")


def test_what_is_verified_has_a_page_too(command_line: Call) -> None:
    status, _, _ = command_line("run", "m.py::safe", "--report", "r.html")
    assert status == 0
    assert page().one("p", "verdict").text == "verified"
    assert not page().all("section", "failure")


def test_what_failed_before_has_a_page_without_a_tree(command_line: Call) -> None:
    command_line("run", "m.py::program")
    command_line("run", "m.py::program", "--report", "r.html")
    assert page().one("section", "failure")
    assert not page().all("section", "exploration"), "nothing was explored this time"


def test_replay_writes_a_page(command_line: Call) -> None:
    _, out, _ = command_line("run", "m.py::program", "--json", "--no-database")
    token = json.loads(out)["failures"][0]["token"]
    status, _, _ = command_line("replay", "m.py::program", token, "--report", "r.html")
    assert status == 1
    assert page().one("section", "failure")
    assert page().all("table", "versus"), "the cause is looked for"


def test_compare_puts_algorithms_side_by_side(command_line: Call) -> None:
    some = ("--algorithm", "source", "--algorithm", "optimal")
    status, out, _ = command_line("compare", "m.py::safe", *some, "--report", "c.html")
    assert status == 0
    assert "agree" in out
    columns = page("c.html").one(kind="side-by-side").all("article")
    assert [column.one("h3").text for column in columns] == ["source", "optimal"]


def test_compare_writes_text_and_json(command_line: Call) -> None:
    some = ("--algorithm", "optimal")
    _, out, _ = command_line("compare", "m.py::safe", *some, "--report", "c.txt")
    assert Path("c.txt").read_text().splitlines()[0] == out.splitlines()[0] == "m.py::safe"
    command_line("compare", "m.py::safe", *some, "--report", "c.json")
    written = json.loads(Path("c.json").read_text())
    assert written["schema"] == "treadle.comparison/1"
    assert written["results"][0]["exploration"]["tree"]


def test_compare_refuses_a_suffix_before_the_work(command_line: Call) -> None:
    status, out, error = command_line("compare", "m.py::safe", "--report", "c.md")
    assert (status, out) == (2, "")
    assert error == (
        "treadle: error: no report is written as 'c.md': choose the suffix from .html (trees side "
        "by side), .txt (as on the terminal), .json (for other programs)\n"
    )


def test_json_has_replays_and_sources(command_line: Call) -> None:
    _, out, _ = command_line("run", "m.py::program", "--json", "--no-database")
    shown = json.loads(out)
    (failure,) = shown["failures"]
    assert failure["replay"] == f"treadle replay m.py::program {failure['token']}"
    assert shown["summary"] == "FAILED: m.py::program, 1 assertion"
    assert shown["exploration"] is None, "a tree takes a report"
    (file,) = shown["sources"]
    lines = [line for piece in shown["sources"][file] for line in piece["lines"]]
    for step in failure["trace"]:
        assert step["where"].startswith(file)
        assert any(step["source"] in line for line in lines)


# GitHub


@pytest.fixture
def summary(monkeypatch: pytest.MonkeyPatch, workplace: Path) -> Path:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(workplace / "summary.md"))
    return workplace / "summary.md"


def test_a_failure_is_annotated(command_line: Call, summary: Path) -> None:
    status, out, error = command_line(
        "run", "m.py::program", "--json", "--no-database", "--report", "out.html"
    )
    assert status == 1
    token = json.loads(out)["failures"][0]["token"]
    (told,) = error.splitlines()
    assert told.startswith("::error file=")
    assert f"Replay: treadle replay m.py::program {token}%0AReport: out.html" in told
    assert f"treadle replay m.py::program {token}" in summary.read_text()
    assert "[out.html](out.html)" in summary.read_text()


def test_success_is_only_in_the_summary(command_line: Call, summary: Path) -> None:
    _, _, error = command_line("run", "m.py::safe")
    assert error == ""
    assert "VERIFIED: m.py::safe, no interleaving fails" in summary.read_text()


def test_what_is_not_covered_is_a_warning(command_line: Call, summary: Path) -> None:
    _, _, error = command_line("run", "m.py::safe", "--max-executions", "1")
    lines = [line for line in error.splitlines() if line.startswith("::")]
    assert len(lines) == (0 if "VERIFIED" in summary.read_text() else 1)


def test_elsewhere_nothing_is_told(command_line: Call, workplace: Path) -> None:
    _, _, error = command_line("run", "m.py::program", "--no-database")
    assert error == ""
    assert not (workplace / "summary.md").exists()

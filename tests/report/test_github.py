"""What GitHub shows: annotations at lines, and the summary of a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.core.errors import TreadleError
from treadle.report.github import (
    Told,
    add_to_summary,
    annotation,
    is_github,
    link_of,
    summary_in_markdown,
)

FAILED = Told(
    "tests/a.py::test_it[x,y]",
    "failed",
    "failed after 2 executions: deadlock",
    "tests/a.py:12",
    "pytest tests/a.py::test_it --treadle-replay t2_abc",
    "out/a.html",
)
PROVED = Told("tests/b.py::test_it", "verified", "verified, 3 executions")
RUN = {
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_REPOSITORY": "me/mine",
    "GITHUB_RUN_ID": "17",
}
ARTEFACTS = "https://github.example/me/mine/actions/runs/17#artifacts"


def test_whether_github_runs_this() -> None:
    assert is_github({"GITHUB_ACTIONS": "true"})
    assert not is_github({"GITHUB_ACTIONS": "false"})
    assert not is_github({})


def test_an_annotation_has_the_place_the_token_and_the_report() -> None:
    command, _, message = annotation(FAILED, RUN).rpartition("::")
    assert command == (
        "::error file=tests/a.py,line=12,"
        "title=Treadle%3A tests/a.py%3A%3Atest_it[x%2Cy]::failed after 2 executions: deadlock%0A"
        "Replay: pytest tests/a.py"
    )
    assert message == f"test_it --treadle-replay t2_abc%0AReport: {ARTEFACTS}"


def test_lines_and_percents_do_not_break_it() -> None:
    told = Told("t", "failed", "50 %\r\nof it")
    assert annotation(told, {}) == "::error title=Treadle%3A t::50 %25%0D%0Aof it"


def test_what_is_not_covered_is_a_warning() -> None:
    assert annotation(Told("t", "incomplete", "w"), {}).startswith("::warning title=")


@pytest.mark.parametrize("where", ["", "somewhere", "a.py:x"])
def test_without_a_place_there_is_none(where: str) -> None:
    assert "file=" not in annotation(Told("t", "failed", "w", where), {})


@pytest.mark.parametrize(
    ("report", "environment", "expected"),
    [
        ("", RUN, ""),
        ("out/a.html", {}, "out/a.html"),
        ("out/a.html", RUN, ARTEFACTS),
        ("out/a.html", {**RUN, "TREADLE_REPORT_URL": "https://p.example/x/"}, "https://p.example/x/a.html"),
        ("a.html", {"GITHUB_RUN_ID": "17"}, "a.html"),
    ],
)  # fmt: skip
def test_links(report: str, environment: dict[str, str], expected: str) -> None:
    assert link_of(report, environment) == expected


def test_the_summary_is_a_table_with_replays() -> None:
    assert summary_in_markdown([FAILED, PROVED], RUN).splitlines() == [
        "## Treadle",
        "",
        "| test | outcome | report |",
        "|---|---|---|",
        "| tests/a.py::test_it[x,y] | failed after 2 executions: deadlock "
        f"| [a.html]({ARTEFACTS}) |",
        "| tests/b.py::test_it | verified, 3 executions |  |",
        "",
        "To replay what failed:",
        "",
        "```sh",
        "pytest tests/a.py::test_it --treadle-replay t2_abc",
        "```",
    ]


def test_a_summary_without_failures_has_no_replays() -> None:
    assert "replay" not in summary_in_markdown([PROVED], {})


def test_cells_stay_cells() -> None:
    assert "| a \\| b c |" in summary_in_markdown([Told("a | b\nc", "failed", "w")], {})


def test_the_summary_is_added_to(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    environment = {"GITHUB_STEP_SUMMARY": str(file)}
    add_to_summary("one\n", environment)
    add_to_summary("two\n", environment)
    assert file.read_text() == "one\ntwo\n"
    add_to_summary("three\n", {})
    assert file.read_text() == "one\ntwo\n"


def test_a_summary_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TreadleError, match=r"cannot write .*nowhere"):
        add_to_summary("x", {"GITHUB_STEP_SUMMARY": str(tmp_path / "nowhere" / "s.md")})

"""`--treadle-html` and GitHub: what a session leaves behind for others to look at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from looked_at import read
from running_pytest import Run

TWO = """
    @pytest.mark.treadle
    def test_fails():
        counter = Counter()
        run(counter.increment, counter.increment)
        assert counter.value == 2

    @pytest.mark.treadle
    def test_holds():
        counter = Counter()
        run(counter.increment)
        assert counter.value == 1
    """


def token_in(result: pytest.RunResult) -> str:
    (line,) = [line for line in result.outlines if line.startswith("Replay: ")]
    return line.rpartition(" ")[2]


def test_a_page_for_each_test_and_an_index(run: Run, pytester: pytest.Pytester) -> None:
    result = run(TWO, "--treadle-html=out/pages")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["2 tests explored: *", "HTML: out/pages/index.html"])
    folder = pytester.path / "out" / "pages"
    assert sorted(file.name for file in folder.iterdir()) == [
        "index.html",
        "test_it.py-test_fails.html",
        "test_it.py-test_holds.html",
    ]
    failed = read((folder / "test_it.py-test_fails.html").read_text("utf-8"))
    assert failed.one("h1").text == "test_it.py::test_fails"
    command = failed.one(kind="command").one("code").text
    assert command == f"pytest test_it.py::test_fails --treadle-replay {token_in(result)}"
    holds = read((folder / "test_it.py-test_holds.html").read_text("utf-8"))
    assert holds.one("p", "verdict").text == "verified"
    for page in (failed, holds):
        assert page.all("ul", "tree"), "what was explored"
    index = read((folder / "index.html").read_text("utf-8"))
    links = [link.attributes["href"] for link in index.one("ul", "index").all("a")]
    assert links == ["test_it.py-test_fails.html", "test_it.py-test_holds.html"]


def test_a_recorded_failure_and_a_replay_have_pages(run: Run, pytester: pytest.Pytester) -> None:
    run(TWO)
    result = run(TWO, "--treadle-html=again", "-k", "fails")
    page = pytester.path / "again" / "test_it.py-test_fails.html"
    assert read(page.read_text("utf-8")).all("section", "failure")
    page.unlink()
    run(TWO, "--treadle-html=again", "-k", "fails", f"--treadle-replay={token_in(result)}")
    assert read(page.read_text("utf-8")).all("section", "failure")


def test_pages_and_reports_together(run: Run, pytester: pytest.Pytester) -> None:
    run(TWO, "--treadle-html=pages", "--treadle-report=out.json")
    written = json.loads((pytester.path / "out-test_it.py-test_fails.json").read_text())
    assert written["exploration"]["tree"]
    assert (pytester.path / "pages" / "index.html").exists()


def test_a_directory_that_cannot_be_made(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "file").write_text("")
    result = run(TWO, "--treadle-html=file/pages")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*treadle: cannot make *file/pages: Not a directory*"])


def test_workers_write_pages_and_one_index(run_apart: Run, pytester: pytest.Pytester) -> None:
    result = run_apart(TWO, "--treadle-html=pages", "-n2")
    result.stdout.fnmatch_lines(["HTML: pages/index.html"])
    names = sorted(file.name for file in (pytester.path / "pages").iterdir())
    assert names == ["index.html", "test_it.py-test_fails.html", "test_it.py-test_holds.html"]


# GitHub


@pytest.fixture
def summary(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> Path:
    file = pytester.path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    return file


def test_annotations_and_summary_have_the_token_and_the_report(
    run: Run, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_REPORT_URL", "https://ci.example/pages")
    result = run(TWO, "--treadle-html=pages")
    token = token_in(result)
    told = [line for line in result.outlines if line.startswith("::")]
    assert len(told) == 1, "what holds needs no annotation"
    link = "https://ci.example/pages/test_it.py-test_fails.html"
    assert told[0].startswith("::error file=test_it.py,line=")
    assert f"--treadle-replay {token}%0AReport: {link}" in told[0]
    text = summary.read_text()
    assert f"[test_it.py-test_fails.html]({link})" in text
    assert f"pytest test_it.py::test_fails --treadle-replay {token}" in text
    assert "| test_it.py::test_holds | verified, " in text


def test_without_pages_there_is_no_link(run: Run, summary: Path) -> None:
    result = run(TWO)
    (told,) = [line for line in result.outlines if line.startswith("::")]
    assert "Report:" not in told
    assert "| test_it.py::test_fails | failed after 2 executions: assertion |  |" in (
        summary.read_text()
    )


def test_what_is_not_covered_is_a_warning(run: Run, summary: Path) -> None:
    source = """
        @pytest.mark.treadle(max_executions=1)
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
        """
    result = run(source)
    (told,) = [line for line in result.outlines if line.startswith("::")]
    assert told.startswith("::warning title=Treadle%3A test_it.py")
    assert "incomplete" in summary.read_text()


def test_elsewhere_nothing_is_annotated(run: Run) -> None:
    assert not [line for line in run(TWO).outlines if line.startswith("::")]

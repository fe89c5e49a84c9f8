"""Reports in files: the suffix says how; all formats say the verdict, the failures, the replays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import treadle
import treadle.report
from looked_at import EVERYTHING, NETWORK, explored, report
from racy_model import racy
from schema import SCHEMA, validate
from treadle.core.records import LinkKind
from treadle.core.result import Result
from treadle.report.as_json import (
    failure_as_dict,
    replayed_as_dict,
    report_as_dict,
    result_as_dict,
)
from treadle.report.comparison import Comparison
from treadle.report.registry import REPORTS, report_for
from treadle.session.replaying import rerun

FILE = """
    from pathlib import Path
    import treadle
    from racy_model import racy
    Path("ran").touch()
    program = racy()
    safe = treadle.model.Program()
    safe.process(lambda s: (yield), name="p")
    odd = treadle.model.Program()
    @odd.process
    def p(s):
        yield
        raise ValueError("not \\udc80 text | `code` \\N{SNOWMAN}")
"""
Call = Callable[..., tuple[Any, str, str]]


@pytest.fixture(autouse=True)
def file(workplace: Path) -> Path:
    (workplace / "m.py").write_text(dedent(FILE))
    return workplace


# Suffixes


@pytest.mark.parametrize("name", ["x.htm", "x.MD", "x", "x.md.gz", ".md", "md"])
@pytest.mark.parametrize("command", ["run", "replay"])
def test_a_suffix_that_nobody_knows_is_refused_before_anything_runs(
    command: str, name: str, command_line: Call
) -> None:
    more = ["p q"] if command == "replay" else []
    status, out, error = command_line(command, "m.py::program", *more, "--report", name)
    assert (status, out) == (2, "")
    assert error == (
        f"treadle: error: no report is written as {name!r}: choose the suffix from .html (to look "
        f"at, step by step), .md (to paste into an issue), .txt (as on the terminal), "
        f".json (for other programs)\n"
    )
    assert not Path("ran").exists(), "not even the file was imported"
    assert not Path(name).exists()


@pytest.mark.parametrize("suffix", REPORTS)
def test_suffixes_that_are_known(suffix: str) -> None:
    report = report_for(Path("a/b.c") / f"x{suffix}")
    assert report is REPORTS[suffix]
    assert REPORTS.summary(suffix)


@pytest.mark.parametrize("suffix", REPORTS)
@pytest.mark.parametrize("command", ["run", "replay"])
def test_every_format_says_what_matters(command: str, suffix: str, command_line: Call) -> None:
    _, out, _ = command_line("run", "m.py::program", "--json", "--no-database")
    (failure,) = json.loads(out)["failures"]
    more = [failure["token"]] if command == "replay" else []
    status, _, _ = command_line(command, "m.py::program", *more, "--report", f"r{suffix}")
    assert status == 1
    text = Path(f"r{suffix}").read_text("utf-8")
    assert text.endswith("\n")
    assert "failed" in text.lower()
    assert "an update is lost" in text
    assert f"treadle replay m.py::program {failure['token']}" in text


@pytest.mark.parametrize("suffix", REPORTS)
def test_a_report_of_success(suffix: str, command_line: Call) -> None:
    status, _, _ = command_line("run", "m.py::safe", "--report", f"r{suffix}")
    assert status == 0
    text = Path(f"r{suffix}").read_text("utf-8")
    assert "verified" in text.lower()
    assert "replay m.py" not in text


@pytest.mark.parametrize("suffix", REPORTS)
def test_what_no_file_can_hold_is_escaped(suffix: str, command_line: Call) -> None:
    status, _, error = command_line("run", "m.py::odd", "--report", f"r{suffix}")
    assert (status, error) == (1, "")
    assert "\\udc80" in Path(f"r{suffix}").read_text("utf-8")


def test_a_format_that_somebody_adds(command_line: Call) -> None:
    def as_csv(result: Result, target: str, replays: Sequence[str]) -> str:
        return f"{target},{result.executions},{len(result.failures)},{len(replays)}\n"

    REPORTS.add(".csv", as_csv, "for a table")
    try:
        assert command_line("run", "m.py::program", "--keep-going", "--report", "r.csv")[0] == 1
        assert Path("r.csv").read_text() == "m.py::program,4,1,1\n"
        _, _, error = command_line("run", "m.py::program", "--report", "r.htm")
        assert ".json (for other programs), .csv (for a table)" in error
    finally:
        REPORTS.remove(".csv")


# The schema


def keys_of(name: str) -> set[str]:
    return set(SCHEMA["$defs"][name]["properties"])


def failed() -> Result:
    return treadle.explore(racy(), stop_on_failure=False, observe=True)


def test_keys_of_results_and_failures_are_those_of_the_schema() -> None:
    shown = report_as_dict(failed(), "m.py::program", ["treadle replay"])
    (failure,) = shown["failures"]
    assert set(shown) | {"recorded", "not_recorded"} == keys_of("result")  # which only the page has
    assert set(failure) == keys_of("failure") | {"shrunk"}
    assert set(failure["trace"][0]) == keys_of("step")
    assert set(failure["cause"]) == keys_of("cause")
    assert set(failure["frames"][0]) == keys_of("frame")
    assert set(shown["exploration"]) == keys_of("exploration")
    assert set(shown["exploration"]["tree"][0]) == keys_of("branch")
    assert set(shown["exploration"]["reversals"][0]["first"]) == keys_of("place")
    (pieces,) = shown["sources"].values()
    assert set(pieces[0]) == keys_of("piece")
    assert "target" not in result_as_dict(failed())
    required = set(SCHEMA["$defs"]["result"]["required"])
    assert keys_of("result") - required == {
        "target",
        "summary",
        "sources",
        "recorded",
        "not_recorded",
    }
    required = set(SCHEMA["$defs"]["failure"]["required"])
    assert keys_of("failure") - required == {"replay"}


def test_keys_of_links_and_graphs_are_those_of_the_schema() -> None:
    network = report(NETWORK)["failures"][0]
    assert set(network["links"][0]) == keys_of("link")
    assert set(network["graph"]) == keys_of("graph")
    kinds = SCHEMA["$defs"]["link"]["properties"]["kind"]["enum"]
    assert kinds == list(LinkKind)


@pytest.mark.parametrize("target", EVERYTHING)
def test_whatever_a_page_shows_is_what_the_schema_says(target: str) -> None:
    shown = json.loads(json.dumps(report(target)))
    validate(shown)
    compared = json.loads(json.dumps(Comparison(target, [explored(target)], frozenset()).as_dict()))
    validate(compared)


def test_keys_of_waits_and_replays_are_those_of_the_schema() -> None:
    program = treadle.model.Program(x=0)

    @program.process
    def waits(s: Any) -> Iterator[Any]:
        yield s.until(lambda: s.x)

    (failure,) = treadle.explore(program).failures
    (wait,) = failure_as_dict(failure)["waits"]
    assert set(wait) == keys_of("wait")
    replayed = replayed_as_dict(rerun(program, ""), target="m.py::program")
    assert set(replayed) == keys_of("replay")


@pytest.mark.parametrize(
    "shown",
    [
        lambda: result_as_dict(failed()),
        lambda: report_as_dict(failed(), "m.py::program", ["treadle replay"]),
        lambda: result_as_dict(Result("p", "optimal", states=3, estimate=4.5)),
        lambda: replayed_as_dict(rerun(racy(), failed().failures[0].token)),
        lambda: replayed_as_dict(rerun(racy(), "p q")),
    ],
)
def test_what_is_shown_is_what_the_schema_says(shown: Callable[[], dict[str, Any]]) -> None:
    once = json.loads(json.dumps(shown()))
    validate(once)


def test_a_json_report_has_what_json_prints(command_line: Call) -> None:
    _, out, _ = command_line("run", "m.py::program", "--json", "--report", "r.json")
    printed, written = json.loads(out), json.loads(Path("r.json").read_text())
    validate(written)
    replays = [failure["replay"] for failure in written["failures"]]
    assert replays == [f"treadle replay m.py::program {written['failures'][0]['token']}"]
    for result in (printed, written):
        del result["failures"][0]["shrunk"]  # a file does not say what shrinking achieved
    assert written == printed

"""What is printed about each kind of failure, word by word, in `golden/`.

`TREADLE_GOLDEN=write pytest tests/test_golden.py` writes what is printed now; look at the
difference before you commit it.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import golden_programs as programs
import treadle
from treadle.core.failure import Failure
from treadle.report.failure import lines_of, render
from treadle.report.line import ASCII, UNICODE, Marks, plain
from treadle.report.text import failure_in_words

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("TREADLE_GOLDEN") == "write"

CASES: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "threads-assertion": (programs.lost_deposit, "assertion", {}),
    "threads-exception": (programs.read_too_early, "exception", {}),
    "threads-chained": (programs.chained, "exception", {}),
    "threads-deadlock": (programs.embrace, "deadlock", {}),
    "threads-notification": (programs.missed_notification, "deadlock", {}),
    "threads-livelock": (programs.spinning, "livelock", {}),
    "threads-race": (programs.unsynchronised, "race", {"races": True}),
    "threads-budget": (programs.endless, "budget", {"max_steps": 60}),
    "threads-nondeterminism": (programs.moody, "nondeterminism", {}),
    "threads-timeout": (programs.timed_out, "assertion", {"timeouts": "explore"}),
    "threads-pool": (programs.overdrawn_by_jobs, "assertion", {}),
    "threads-gil": (programs.lost_over_calls, "assertion", {"granularity": "gil"}),
    "threads-many": (programs.crowd, "assertion", {}),
    "threads-folded": (programs.long_stretches, "assertion", {}),
    "model-assertion": (programs.model_lost_update, "assertion", {}),
    "model-exception": (programs.model_time_out, "exception", {}),
    "model-deadlock": (programs.model_embrace, "deadlock", {}),
    "model-notification": (programs.model_missed_notification, "deadlock", {}),
    "model-budget": (programs.model_endless, "budget", {"max_steps": 60}),
    "model-nondeterminism": (programs.model_moody, "nondeterminism", {}),
}
_FOUND: dict[str, Failure] = {}


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are relative to the working directory."""
    monkeypatch.chdir(ROOT)


def find(name: str) -> Failure:
    """Return the first failure of a case, of the kind that it has."""
    if name not in _FOUND:
        program, kind, options = CASES[name]
        programs.moods = iter(range(10**9))  # type: ignore[assignment]
        found = treadle.explore(program, **options).failures
        _FOUND[name] = next(failure for failure in found if failure.kind == kind)
    return _FOUND[name]


def compare(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == f"{text}\n"


def report(name: str, *, marks: Marks = UNICODE, **options: Any) -> str:
    return plain(lines_of(find(name), marks=marks, **options))


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_failure(name: str) -> None:
    compare(name, report(name))


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("name", ["threads-assertion", "threads-deadlock"])
def test_other_widths(name: str, width: int) -> None:
    compare(f"{name}-{width}", report(name, width=width))


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("name", CASES)
def test_no_line_of_the_columns_is_too_wide(name: str, width: int) -> None:
    text, _, _ = report(name, width=width).partition("\nTraceback")
    assert max(map(len, text.splitlines())) <= width


def test_local_variables_on_request() -> None:
    CASES["threads-locals"] = (programs.no_words, "assertion", {})
    text = report("threads-locals", locals=True)
    compare("threads-locals", text)
    assert "secret = <Unspeakable, its repr raises ValueError>" in text
    assert "Local variables" not in report("threads-locals")


def test_local_variables_of_models() -> None:
    compare("model-locals", report("model-exception", locals=True))


def test_ascii_only() -> None:
    text = report("threads-assertion", marks=ASCII)
    compare("threads-assertion-ascii", text)
    assert text.isascii()
    assert text.replace("|", "│").replace("-- preempted --", "── preempted ──") == report(
        "threads-assertion"
    )


# Colour


def printed(name: str, *, terminal: bool, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal or None, width=width)
    console.print(render(find(name), width=width, marks=UNICODE), soft_wrap=True)
    return out.getvalue()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_text_is_the_same_with_and_without_colour(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    text = report(name, width=width) + "\n"
    assert printed(name, terminal=False, width=width) == text
    coloured = printed(name, terminal=True, width=width)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = re.findall(r"\x1b\[([\d;]+)m", printed("threads-assertion", terminal=True))
    assert not {code for codes in coloured for code in codes.split(";")} - set("0123")


def test_force_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in printed("threads-assertion", terminal=False)


def test_each_thread_has_one_colour() -> None:
    lines = lines_of(find("threads-assertion"), marks=UNICODE)
    colours = {
        text.strip(): style.removeprefix("bold ")
        for line in lines
        for text, style in line
        if text.strip() in ("alice", "bob", "main")
    }
    assert len(set(colours.values())) == len(colours) == 3
    pair = [
        style
        for line in lines
        for text, style in line
        if text.startswith("  step ") and "(alice)" in text
    ]
    assert pair == [colours["alice"]]


# The rest


def test_plain_words_end_with_the_replay_line() -> None:
    found = find("threads-assertion")
    words, _, line = failure_in_words(found).rpartition("\n\n")
    assert words == report("threads-assertion")
    assert line.startswith("Replay: treadle.replay(test, ")


def test_the_output_decides_which_characters_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert plain(lines_of(find("threads-assertion"))).isascii()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert "│" in plain(lines_of(find("threads-assertion")))


def test_what_the_program_prints_is_no_part_of_its_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = treadle.explore(programs.read_too_early).failures[0]
    capsys.readouterr()
    assert "KeyError" in str(found)
    assert capsys.readouterr().out == ""


def test_every_golden_file_belongs_to_a_test() -> None:
    names = {path.stem for path in GOLDEN.glob("*.txt")}
    more = {"threads-locals", "model-locals", "threads-assertion-ascii"}
    more |= {f"threads-{kind}-{width}" for kind in ("assertion", "deadlock") for width in (60, 120)}
    assert names == set(CASES) | more

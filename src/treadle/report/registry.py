"""Formats of reports by the suffix of the file: `--report failure.md`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from treadle.core.errors import TreadleError
from treadle.core.registry import Registry
from treadle.core.result import Result

Report = Callable[[Result, str, Sequence[str]], str]
"""Given a result, what the command line calls the program, and the commands that replay each
failure: the content of a file."""

REPORTS: Registry[Report] = Registry("kind of report")
"""All formats by suffix."""

REPORTS.add(".md", "treadle.report.markdown:report_in_markdown", "to paste into an issue")
REPORTS.add(".txt", "treadle.report.text:report_in_text", "as on the terminal")
REPORTS.add(".json", "treadle.report.as_json:report_in_json", "for other programs")


def report_for(file: Path) -> Report:
    """Return how to write a file, by its suffix; refuse one that nobody knows."""
    if file.suffix not in REPORTS:
        known = ", ".join(f"{suffix} ({REPORTS.summary(suffix)})" for suffix in REPORTS)
        raise TreadleError(f"no report is written as {file.name!r}: choose the suffix from {known}")
    return REPORTS[file.suffix]


def write_report(file: Path, result: Result, target: str, replays: Sequence[str]) -> None:
    """Write a report of a result in the format that the suffix names."""
    text = report_for(file)(result, target, replays)
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise TreadleError(f"cannot write {file}: {error.strerror}") from error

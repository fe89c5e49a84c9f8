"""Formats of reports by the suffix of the file: `--report failure.md`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from treadle.core.errors import TreadleError
from treadle.core.registry import Registry
from treadle.core.result import Result

if TYPE_CHECKING:
    from treadle.report.comparison import Comparison

Format = TypeVar("Format")
Report = Callable[[Result, str, Sequence[str]], str]
"""Given a result, what the command line calls the program, and the commands that replay each
failure: the content of a file."""

REPORTS: Registry[Report] = Registry("kind of report")
"""All formats by suffix."""

REPORTS.add(".html", "treadle.report.html.page:report_in_html", "to look at, step by step")
REPORTS.add(".md", "treadle.report.markdown:report_in_markdown", "to paste into an issue")
REPORTS.add(".txt", "treadle.report.text:report_in_text", "as on the terminal")
REPORTS.add(".json", "treadle.report.as_json:report_in_json", "for other programs")


Compared = Callable[["Comparison"], str]
"""Given a comparison: the content of a file."""

COMPARISONS: Registry[Compared] = Registry("kind of report")
"""All formats of comparisons by suffix."""

COMPARISONS.add(".html", "treadle.report.html.page:comparison_in_html", "trees side by side")
COMPARISONS.add(".txt", "treadle.report.comparison:comparison_in_text", "as on the terminal")
COMPARISONS.add(".json", "treadle.report.comparison:comparison_in_json", "for other programs")


def report_for(file: Path) -> Report:
    """Return how to write a file, by its suffix; refuse one that nobody knows."""
    return _format_for(file, REPORTS)


def comparison_for(file: Path) -> Compared:
    """Return how to write a file about several algorithms, by its suffix."""
    return _format_for(file, COMPARISONS)


def _format_for(file: Path, formats: Registry[Format]) -> Format:
    if file.suffix not in formats:
        known = ", ".join(f"{suffix} ({formats.summary(suffix)})" for suffix in formats)
        raise TreadleError(f"no report is written as {file.name!r}: choose the suffix from {known}")
    return formats[file.suffix]


def write_report(file: Path, result: Result, target: str, replays: Sequence[str]) -> None:
    """Write a report of a result in the format that the suffix names."""
    write(file, report_for(file)(result, target, replays))


def write(file: Path, text: str) -> None:
    """Write a file."""
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise TreadleError(f"cannot write {file}: {error.strerror}") from error

"""`--report FILE`: a report of a result, in the format that the suffix names."""

from __future__ import annotations

from pathlib import Path

from treadle.cli.loading import Found
from treadle.cli.showing import replay_line
from treadle.core.result import Result
from treadle.report.registry import write_report


def report_to(file: Path, found: Found, result: Result) -> None:
    """Write a report of a result, with the commands that replay its failures."""
    replays = [replay_line(failure, found) for failure in result.failures]
    write_report(file, result, str(found), replays)

"""`--report FILE`: a report of a result, in the format that the suffix names."""

from __future__ import annotations

from pathlib import Path

from treadle.cli.loading import Found
from treadle.cli.showing import replay_line
from treadle.core.errors import TreadleError
from treadle.core.result import Result
from treadle.report.registry import report_for


def write_report(file: Path, found: Found, result: Result) -> None:
    """Write a report of a result."""
    replays = [replay_line(failure, found) for failure in result.failures]
    text = report_for(file)(result, str(found), replays)
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise TreadleError(f"cannot write {file}: {error.strerror}") from error

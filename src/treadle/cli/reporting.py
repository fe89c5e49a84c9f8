"""`--report FILE.md`: a report to paste into an issue."""

from __future__ import annotations

from pathlib import Path

from treadle.cli.loading import Target
from treadle.cli.showing import replay_line
from treadle.core.errors import TreadleError
from treadle.core.result import Result
from treadle.report.markdown import report_in_markdown


def write_report(file: Path, target: Target, result: Result) -> None:
    """Write a report of a result."""
    replays = [replay_line(failure, target) for failure in result.failures]
    try:
        file.write_text(report_in_markdown(result, str(target), replays), "utf-8")
    except OSError as error:
        raise TreadleError(f"cannot write {file}: {error.strerror}") from error

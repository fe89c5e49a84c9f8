"""What a command leaves behind besides what it prints: `--report FILE`, and what GitHub shows."""

from __future__ import annotations

from pathlib import Path

import click

from treadle.cli.loading import Found
from treadle.cli.showing import replay_line
from treadle.core.result import Result
from treadle.report.github import Told, add_to_summary, annotation, is_github, summary_in_markdown
from treadle.report.registry import write_report
from treadle.report.text import verdict, verdict_in_words


def report_to(file: Path, found: Found, result: Result) -> None:
    """Write a report of a result, with the commands that replay its failures."""
    replays = [replay_line(failure, found) for failure in result.failures]
    write_report(file, result, str(found), replays)


def tell_github(found: Found, result: Result, report: Path | None) -> None:
    """Annotate the source and add to the summary of the job, if GitHub runs this.

    Annotations go to standard error, as what is printed may be JSON.
    """
    if not is_github():
        return
    target, file = str(found), str(report or "")
    told = [
        Told(
            target,
            "failed",
            f"{failure.kind}: {failure.message}",
            failure.trace[-1].where if failure.trace else "",
            replay_line(failure, found),
            file,
        )
        for failure in result.failures
    ] or [Told(target, verdict(result).lower(), verdict_in_words(result, target=target))]
    for one in told:
        if one.outcome != "verified":
            click.echo(annotation(one), err=True)
    add_to_summary(summary_in_markdown(told))

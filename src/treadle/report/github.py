"""What GitHub shows of a run: annotations at lines of the source, and the summary of a job.

Functions from data to text; whoever is run by GitHub prints and writes it (`is_github`,
`add_to_summary`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treadle.core.errors import TreadleError

REPORT_URL = "TREADLE_REPORT_URL"
"""The environment variable that says where reports are published, if they are."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told about one test."""

    test: str
    outcome: str
    """`failed`, `verified`, `incomplete` and the like."""
    words: str
    """What became of it, in a line."""
    where: str = ""
    """`file:line` of the failure."""
    replay: str = ""
    """The command that replays the failure, with its token."""
    report: str = ""
    """The file of its report."""


def is_github(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether GitHub Actions runs this."""
    return environment.get("GITHUB_ACTIONS") == "true"


def annotation(told: Told, environment: Mapping[str, str] = os.environ) -> str:
    """Return a line that GitHub shows at the line of the source where a test failed.

    >>> annotation(Told("a.py::t", "failed", "deadlock", "a.py:3", "pytest a.py::t"), {})
    '::error file=a.py,line=3,title=Treadle%3A a.py%3A%3At::deadlock%0AReplay: pytest a.py::t'
    """
    level = "error" if told.outcome == "failed" else "warning"
    file, _, line = told.where.rpartition(":")
    place = f"file={_property(file)},line={line}," if file and line.isdecimal() else ""
    message = [told.words, f"Replay: {told.replay}" if told.replay else ""]
    link = link_of(told.report, environment)
    message.append(f"Report: {link}" if link else "")
    text = "\n".join(filter(None, message))
    return f"::{level} {place}title={_property(f'Treadle: {told.test}')}::{_data(text)}"


def link_of(report: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return where a report can be seen: as a page, or with the artefacts of the run.

    >>> link_of("out/a.html", {"TREADLE_REPORT_URL": "https://ci.example/7/"})
    'https://ci.example/7/a.html'
    """
    if not report:
        return ""
    name = Path(report).name
    if base := environment.get(REPORT_URL):
        return f"{base.rstrip('/')}/{name}"
    parts = [environment.get(f"GITHUB_{key}", "") for key in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    if not all(parts):
        return report
    server, repository, run = parts
    return f"{server}/{repository}/actions/runs/{run}#artifacts"


def summary_in_markdown(tests: Sequence[Told], environment: Mapping[str, str] = os.environ) -> str:
    """Return the summary of a job: a table of all tests, and how to replay those that failed."""
    rows = ["| test | outcome | report |", "|---|---|---|"]
    for told in tests:
        link = link_of(told.report, environment)
        shown = f"[{_cell(Path(told.report).name)}]({link})" if link else ""
        rows.append(f"| {_cell(told.test)} | {_cell(told.words)} | {shown} |")
    replays = [f"{told.replay}" for told in tests if told.replay]
    blocks = ["To replay what failed:", "```sh\n" + "\n".join(replays) + "\n```"] if replays else []
    return "\n\n".join(["## Treadle", "\n".join(rows), *blocks]) + "\n"


def add_to_summary(text: str, environment: Mapping[str, str] = os.environ) -> None:
    """Add to the summary of the job, if there is one."""
    file = environment.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    try:
        with Path(file).open("a", encoding="utf-8") as summary:
            summary.write(text)
    except OSError as error:
        raise TreadleError(f"cannot write {file}: {error.strerror}") from error


def _cell(text: str) -> str:
    """Return text that is one cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

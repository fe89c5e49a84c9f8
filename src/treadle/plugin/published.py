"""What a session leaves behind for others to look at: an index of pages, and what GitHub shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle.plugin.verdict import Verdict
from treadle.report.github import Told, add_to_summary, annotation, is_github, summary_in_markdown
from treadle.report.html.index import Entry, index_page
from treadle.report.registry import write

_ANNOTATED = ("failed", "incomplete")


def publish(reporter: Any, verdicts: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Write the index of the pages, if there are any; tell GitHub, if it runs this."""
    read = [(test, Verdict.from_dict(values)) for test, values in sorted(verdicts)]
    if pages := [(test, verdict) for test, verdict in read if verdict.page]:
        index = Path(pages[0][1].page).parent / "index.html"
        entries = [
            Entry(test, verdict.outcome, str(verdict), Path(verdict.page).name)
            for test, verdict in pages
        ]
        write(index, index_page(entries))
        reporter.write_line(f"HTML: {_from_here(index, reporter.config)}")
    if is_github():
        told = [_told(test, verdict) for test, verdict in read]
        for one in told:
            if one.outcome in _ANNOTATED:
                reporter.write_line(annotation(one))
        add_to_summary(summary_in_markdown(told))


def _told(test: str, verdict: Verdict) -> Told:
    return Told(test, verdict.outcome, str(verdict), verdict.where, verdict.replay, verdict.page)


def _from_here(file: Path, config: Any) -> str:
    """Return a file as one names it from where pytest was started."""
    here = config.invocation_params.dir
    return str(file.relative_to(here) if file.is_relative_to(here) else file)

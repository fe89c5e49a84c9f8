"""A page that leads to others: the tests of a session, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.core.counting import count
from treadle.report.html.document import document
from treadle.report.html.markup import Markup, breakable, tag


@dataclass(frozen=True, slots=True)
class Entry:
    """A test that has a page."""

    test: str
    outcome: str
    words: str
    page: str
    """The name of the file, beside the index."""


def index_page(entries: Sequence[Entry]) -> str:
    """Return a page with a link to the page of each test, failures first."""
    ordered = sorted(entries, key=lambda entry: (entry.outcome != "failed", entry.test))
    failed = sum(entry.outcome == "failed" for entry in entries)
    words = f"{count(len(entries), 'test')}, {failed:,} failed"
    body = [
        tag("header", tag("h1", "Explored tests"), tag("p", words), class_="banner"),
        tag("ul", map(_row, ordered), class_="index"),
    ]
    return document(f"Explored tests: {words}", body, {"failures": []})


def _row(entry: Entry) -> Markup:
    return tag(
        "li",
        tag("span", entry.outcome, class_=f"outcome {entry.outcome}"),
        tag("a", breakable(entry.test), href=entry.page),
        tag("span", entry.words, class_="small"),
    )

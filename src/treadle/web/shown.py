"""What a job came to, as HTML: a list of executions by outcome, and what each page shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.report.html.diagram import diagram
from treadle.report.html.markup import Content, Markup, count, cut, tag
from treadle.report.html.page import execution_page, page

Json = dict[str, Any]
_LONGEST = 160


def summary(result: Json, address: str) -> Markup:
    """Return the verdict, the executions, and what can be downloaded; links are for a frame."""
    groups: dict[str, list[tuple[int, Json]]] = {}
    for number, execution in enumerate(result["executions"]):
        groups.setdefault(outcome(execution), []).append((number, execution))
    links: list[Content] = [
        tag("a", "Report and tree", href=f"{address}/report.html", target="viewer"),
    ]
    files = [("report.html", "HTML"), ("result.json", "JSON"), ("program", "Program")]
    downloads = [
        tag("a", words, href=f"{address}/{name}?download=1", download=True) for name, words in files
    ]
    return tag(
        "div",
        tag("h2", result["summary"], class_=f"told {result['verdict']}"),
        tag("pre", result["words"], class_="words", tabindex="0") if result["words"] else None,
        tag(
            "p",
            links if result["report"] else None,
            " Download: ",
            _spaced(downloads),
            class_="links",
        ),
        tag("h3", count(len(result["executions"]), "execution"), _rest(result)),
        tag(
            "div", [_group(words, rows, address) for words, rows in groups.items()], class_="groups"
        ),
    )


def outcome(execution: Json) -> str:
    """Return what tells the ends of executions apart."""
    if execution["kind"] != "passes":
        return f"{execution['kind']}: {execution['message']}"
    final = ", ".join(f"{name} = {value}" for name, value in sorted(execution["final"].items()))
    return final or "ends"


def execution_html(result: Json, number: int) -> str:
    """Return the page of one execution."""
    execution = result["executions"][number]
    title = f"Execution {number + 1}: {cut(outcome(execution), _LONGEST)}"
    return execution_page(execution, result["sources"], title)


def execution_svg(result: Json, number: int) -> str:
    """Return the diagram of one execution as a file of its own."""
    return str(diagram(result["executions"][number]))


def report_html(result: Json) -> str:
    """Return the report, with the tree."""
    return page(result["report"])


def _group(words: str, rows: Sequence[tuple[int, Json]], address: str) -> Markup:
    kind = rows[0][1]["kind"]
    return tag(
        "details",
        tag(
            "summary",
            tag("span", kind, class_=f"badge {'good' if kind == 'passes' else 'bad'}"),
            f" {count(len(rows), 'execution')}: ",
            tag("span", cut(words, _LONGEST), class_="ends-with"),
        ),
        _final(rows[0][1]),
        tag("ol", [_row(number, execution, address) for number, execution in rows]),
        open=True,
    )


def _row(number: int, execution: Json, address: str) -> Markup:
    link = f"{address}/executions/{number + 1}"
    turns = " → ".join(step["label"] or step["process"] for step in execution["trace"])
    return tag(
        "li",
        tag("a", f"Execution {number + 1}", href=f"{link}.html", target="viewer"),
        " ",
        tag("span", cut(turns, _LONGEST), class_="turns"),
        " ",
        tag(
            "a",
            "SVG",
            href=f"{link}.svg?download=1",
            download=True,
            aria_label=f"Diagram of execution {number + 1} as SVG",
        ),
    )


def _final(execution: Json) -> Markup | None:
    rows = [
        tag("div", tag("dt", name), tag("dd", value))
        for name, value in sorted(execution["final"].items())
    ]
    return tag("dl", rows, class_="final", aria_label="Final state") if rows else None


def _rest(result: Json) -> str:
    return f" of {result['total']:,}" if result["total"] > len(result["executions"]) else ""


def _spaced(parts: Sequence[Markup]) -> list[Content]:
    return [item for part in parts for item in (part, " ")]

"""Whole pages: one file with everything in it, nothing from the network.

`page` and `comparison_page` take JSON; the functions below them take results and are what the
registries name.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from treadle.core.counting import count
from treadle.core.result import Result
from treadle.report.as_json import report_as_dict
from treadle.report.html.document import document
from treadle.report.html.failing import MOST_LETTERS, failing
from treadle.report.html.heat import heat_map
from treadle.report.html.lanes import Json, links_to_see, who_goes_on
from treadle.report.html.markup import (
    Content,
    Markup,
    breakable,
    cut,
    headings,
    markup,
    tag,
)
from treadle.report.html.tree import legend, tree

if TYPE_CHECKING:
    from treadle.report.comparison import Comparison

MOST_SIDE_BY_SIDE = 200
"""Branches of each tree on a page with many."""
MOST_NAMES = 60
"""Processes and locations that are listed."""
_FRAME = 760
"""Height of a page in a notebook, in pixels."""


# Pages from JSON


def page(report: Json) -> str:
    """Return the page of a report, as `report_as_dict` has it."""
    failures = [
        failing(failure, report["sources"], f"f{number}")
        for number, failure in enumerate(report["failures"], start=1)
    ]
    body: list[Content] = [
        _banner(report),
        _contents(report),
        failures,
        _remarks(report),
        exploration(report),
    ]
    return document(report["summary"], body, _data(report))


def comparison_page(comparison: Json) -> str:
    """Return the page of a comparison: a table of algorithms, and their trees side by side."""
    results = comparison["results"]
    title = f"Algorithms on {comparison['target']}"
    wrong = [tag("li", one) for one in comparison["disagreements"]]
    body: list[Content] = [
        tag("header", tag("h1", breakable(title)), class_="banner"),
        tag("ul", wrong, class_="disagreements") if wrong else None,
        tag("section", tag("h2", "Figures"), _figures_side_by_side(results)),
        tag(
            "section",
            tag("h2", "What each of them explored"),
            legend(),
            tag(
                "div",
                [_column(one, at, comparison["sources"]) for at, one in enumerate(results)],
                class_="side-by-side",
            ),
        ),
    ]
    return document(title, body, {"failures": []})


def execution_page(execution: Json, sources: Json, title: str) -> str:
    """Return the page of one execution, whether it fails or not: steps, source and diagram."""
    shown = failing({**execution, "headline": title}, sources, "f1")
    return document(title, [shown], _data({"failures": [execution]}))


# Parts


def _banner(report: Json) -> Markup:
    verdict = report["verdict"]
    figures = [
        ("executions", f"{report['executions']:,}"),
        ("blocked", f"{report['blocked']:,}"),
        ("steps", f"{report['events']:,}"),
        ("time", f"{report['seconds']:.2f} s"),
        ("algorithm", report["algorithm"]),
    ]
    if report["cut"]:
        figures.insert(2, ("cut", f"{report['cut']:,}"))
    if report["failing"]:
        figures.insert(0, ("findings", f"{report['failing']:,}"))
    name = report.get("target") or report["program"]
    covers, _, reason = report["summary"].partition(f": {name}, ")
    _, _, exception = covers.partition(", ")
    return tag(
        "header",
        tag("p", verdict, class_="verdict"),
        tag("h1", breakable(name)),
        tag("p", "; ".join(filter(None, [reason, exception])), class_="summary"),
        tag(
            "dl",
            [tag("div", tag("dt", name), tag("dd", value)) for name, value in figures],
            class_="figures",
        ),
        class_=f"banner {verdict}",
    )


def _contents(report: Json) -> Markup | None:
    """Return links to the failures, if there are several."""
    if len(report["failures"]) < 2:
        return None
    rows = [
        tag("li", tag("a", cut(failure["headline"], MOST_LETTERS), href=f"#f{number}"))
        for number, failure in enumerate(report["failures"], start=1)
    ]
    return tag("nav", tag("ol", rows), class_="contents", aria_label="Failures")


def _remarks(report: Json) -> Markup | None:
    """Return what users should know: what a proof leaves out first."""
    rows: list[tuple[str, str]] = [("escape", text) for text in report["escapes"]]
    rows += [("note", text) for text in report["notes"]]
    if report["stopped_by"]:
        rows.append(("stopped", f"by {report['stopped_by']}: the space was not covered"))
    if report["estimate"] and not report["complete"]:
        rows.append(("estimate", f"about {report['estimate']:,.0f} executions in all or more"))
    if not rows:
        return None
    said = [tag("div", tag("dt", name), tag("dd", text), class_=name) for name, text in rows]
    return tag("section", tag("h2", "To know"), tag("dl", said, class_="remarks"))


def exploration(report: Json) -> Markup | None:
    """Return what was covered: figures, the tree, and the heat map over the source."""
    explored = report["exploration"]
    if explored is None:
        return None
    covered = [
        ("process", "processes", explored["processes"]),
        ("shared location", "", explored["locations"]),
    ]
    facts = [
        tag(
            "div",
            tag("dt", count(len(names), one, many)),
            tag("dd", [tag("code", name) for name in names[:MOST_NAMES]], _rest_of(names)),
        )
        for one, many, names in covered
    ]
    longest = tag(
        "div", tag("dt", "longest execution"), tag("dd", count(explored["longest"], "step"))
    )
    return tag(
        "section",
        tag("h2", "What was explored"),
        tag("dl", facts, longest, class_="covered"),
        tag("h3", "Tree of executions"),
        legend(),
        tree(explored),
        tag("h3", "What makes the space large"),
        tag(
            "p",
            "Two steps that can come in either order: the more such pairs, the more executions.",
            class_="small",
        ),
        heat_map(
            explored,
            report["sources"],
            is_only_one=_is_only_one(report),
        ),
        class_="exploration",
        id="exploration",
    )


def _rest_of(names: Sequence[str]) -> str:
    """Return how many names are left out of a long list."""
    left = len(names) - MOST_NAMES
    return f"and {left:,} more" if left > 0 else ""


def _figures_side_by_side(results: Sequence[Json]) -> Markup:
    names = ("algorithm", "executions", "blocked", "events", "time", "failures", "covers")
    rows = [
        tag(
            "tr",
            tag("th", one["algorithm"], scope="row"),
            [
                tag("td", text, class_="number")
                for text in (
                    f"{one['executions']:,}",
                    f"{one['blocked']:,}",
                    f"{one['events']:,}",
                    f"{one['seconds']:.2f} s",
                    str(len(one["failures"])),
                    "yes" if one["complete"] else "no",
                )
            ],
        )
        for one in results
    ]
    table = tag("table", headings(*names), tag("tbody", rows), class_="algorithms")
    return tag("div", table, class_="scrolling", tabindex="0", role="region", aria_label="Figures")


def _column(result: Json, number: int, sources: Json) -> Markup:
    """Return what one algorithm explored, and what made its space as large as it is."""
    explored = result["exploration"]
    words = f"{count(result['executions'], 'execution')}, {result['blocked']:,} blocked"
    return tag(
        "article",
        tag("h3", result["algorithm"]),
        tag("p", words, class_="small"),
        tree(explored, most=MOST_SIDE_BY_SIDE) if explored else None,
        _heat(result, f"heat{number}", sources) if explored else None,
    )


def _heat(result: Json, name: str, sources: Json) -> Markup:
    times = sum(pair["times"] for pair in result["exploration"]["reversals"])
    shown = heat_map(result["exploration"], sources, is_only_one=_is_only_one(result), name=name)
    words = "What makes its space large" + (f": {count(times, 'reversal')}" if times else "")
    return tag("details", tag("summary", words), shown)


def _is_only_one(result: Json) -> bool:
    """Tell whether a single execution covers the space."""
    return bool(result["complete"]) and result["executions"] == 1


def _data(report: Json) -> Json:
    """Return what the script needs: what changes from step to step."""
    return {
        "failures": [
            {
                "state": failure["state"],
                "links": links_to_see(failure),
                "tables": dict(failure["graph"]["tables"]) if failure["graph"] else {},
                "failing": failure["step"],
                "start": _first_shown(failure),
                "steps": [
                    _step_data(step, who)
                    for step, who in zip(
                        failure["trace"], who_goes_on(failure["trace"]), strict=True
                    )
                ],
            }
            for failure in report["failures"]
        ]
    }


def _first_shown(failure: Json) -> int:
    """Return the step to begin with: the second one of the pair, or the failing one."""
    last = len(failure["trace"]) - 1
    cause = failure["cause"]
    start = cause["indices"][1] if cause and not failure["cycle"] else failure["step"]
    return max(0, min(int(start), last))


def _step_data(step: Json, who: str) -> Json:
    keys = (
        "process",
        "label",
        "lane",
        "where",
        "takes",
        "gives",
        "changes",
        "then",
        "preempts",
        "error",
        "arrival",
    )
    kept = {key: step[key] for key in keys if step.get(key)}
    if who != step["process"]:
        kept["who"] = who
    if step["error"]:
        kept["error"] = cut(step["error"], MOST_LETTERS)
    kept["did"] = [f"{one['operation']} {one['location']}".strip() for one in step["accesses"]]
    kept["values"] = [one["value"] for one in step["accesses"]]
    return kept


# Pages of results


def report_in_html(result: Result, target: str, replays: Sequence[str]) -> str:
    """Return a page to look at, for a browser."""
    return page(report_as_dict(result, target, replays))


def result_in_html(result: Result) -> str:
    """Return the page of a result that no command line has a name for."""
    replays = [f"treadle.replay(test, {failure.token!r})" for failure in result.failures]
    return report_in_html(result, "", replays)


def result_in_a_frame(result: Result) -> str:
    """Return the page of a result for a notebook: its style and script are its own."""
    inside = escape(result_in_html(result))
    title = markup(f"Treadle: {result.program}")
    return (
        f'<iframe srcdoc="{inside}" title="{title}" width="100%" height="{_FRAME}" '
        f'style="border:1px solid #8888;border-radius:6px" sandbox="allow-scripts"></iframe>'
    )


def comparison_in_html(comparison: Comparison) -> str:
    """Return the page of a comparison."""
    return comparison_page(comparison.as_dict())

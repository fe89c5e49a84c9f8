"""What a job came to, as HTML: deadlock cycles, executions by outcome, and what each page shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from treadle.core.counting import count
from treadle.report.html.diagram import diagram_file
from treadle.report.html.markup import Content, Markup, cut, tag
from treadle.report.html.page import execution_page, page

Json = dict[str, Any]
MOST_CHARACTERS = 5_000_000
"""Of the executions in a file of JSON."""
_LONGEST = 160
_CYCLES = {
    "confirmed": ("bad", "confirmed"),
    "unfeasible": ("good", "unfeasible here"),
    "undecided": ("open", "not decided"),
}


def summary(result: Json, address: str) -> Markup:
    """Return the verdict, the executions, and what can be downloaded; links are for a frame."""
    groups: dict[str, list[tuple[int, Json]]] = {}
    for number, execution in enumerate(result["executions"]):
        groups.setdefault(outcome(execution), []).append((number, execution))
    unlike = differing([rows[0][1]["final"] for rows in groups.values()])
    shown = [_group(words, rows, address, unlike) for words, rows in groups.items()]
    return tag(
        "div",
        tag("h2", result["summary"], class_=f"told {result['verdict']}"),
        _links(result, address),
        _deadlocks(result, address) if result["deadlocks"] else None,
        tag("h3", count(len(result["executions"]), "execution"), _rest(result)) if shown else None,
        tag("div", shown, class_="groups"),
    )


def as_json(result: Json) -> Json:
    """Return what the page shows of a job: what commands print, and executions step by step.

    Of a large search these would be more than anybody opens: the rest is only counted.
    """
    recorded: list[Json] = []
    size = 0
    for execution in result["executions"]:
        size += len(json.dumps(execution, indent=2))
        if recorded and size > MOST_CHARACTERS:
            break
        recorded.append(execution)
    told = result["report"] or result["deadlocks"]
    return {**told, "recorded": recorded, "not_recorded": result["total"] - len(recorded)}


def outcome(execution: Json) -> str:
    """Return what tells the ends of executions apart."""
    if execution["kind"] != "passes":
        return f"{execution['kind']}: {execution['message']}"
    final = ", ".join(f"{name} = {value}" for name, value in sorted(execution["final"].items()))
    return final or "ends"


def differing(states: Sequence[Json]) -> set[str]:
    """Return the names whose values are not the same in all states.

    >>> differing([{"x": "1", "y": "1"}, {"x": "2", "y": "1"}, {"y": "1"}])
    {'x'}
    """
    names = {name for state in states for name in state}
    return {name for name in names if len({state.get(name) for state in states}) > 1}


def turns(execution: Json) -> str:
    """Return who takes the steps of an execution, as short as it goes.

    >>> turns({"trace": [{"label": "", "process": process} for process in "ppq"]})
    'p ×2 → q'
    """
    names = (step["label"] or step["process"] for step in execution["trace"])
    counted = [(name, len(list(steps))) for name, steps in groupby(names)]
    return " → ".join(f"{name} ×{size}" if size > 1 else name for name, size in counted)


def execution_html(result: Json, number: int) -> str:
    """Return the page of one execution."""
    execution = result["executions"][number]
    title = f"Execution {number + 1}: {cut(outcome(execution), _LONGEST)}"
    return execution_page(execution, result["sources"], title)


def execution_svg(result: Json, number: int) -> str:
    """Return the diagram of one execution as a file of its own."""
    return diagram_file(result["executions"][number])


def report_html(result: Json) -> str:
    """Return the report, with the tree."""
    return page(result["report"])


def _links(result: Json, address: str) -> Markup:
    """Return where the report is, and what can be downloaded."""
    files = [("result.json", "JSON"), ("program", "Program")]
    report: Content = None
    if result["report"]:
        files.insert(0, ("report.html", "HTML"))
        report = tag("a", "Report and tree", href=f"{address}/report.html", target="viewer")
    downloads = [
        tag("a", words, href=f"{address}/{name}?download=1", download=True) for name, words in files
    ]
    return tag("p", report, " Download: ", _spaced(downloads), class_="links")


# Deadlock cycles


def _deadlocks(result: Json, address: str) -> list[Content]:
    """Return the cycles of the analysis, each with its verdict, and what else it says."""
    found = result["deadlocks"]
    by_schedule = {one["schedule"]: at for at, one in enumerate(result["executions"])}
    cycles = [_cycle(cycle, number, by_schedule, address)
              for number, cycle in enumerate(found["cycles"], start=1)]  # fmt: skip
    conditions = [
        tag("li", f"{one['method']}, ", _place(one), f": {one['condition']}")
        for one in found["conditions"]
    ]
    return [
        tag("h3", count(len(cycles), "deadlock cycle")) if cycles else None,
        tag("ol", cycles, class_="cycles") if cycles else None,
        [tag("h3", "Conditions that may never hold"), tag("ul", conditions)]
        if conditions
        else None,
        [tag("p", note, class_="note") for note in found["notes"]],
    ]


def _cycle(cycle: Json, number: int, by_schedule: dict[str, int], address: str) -> Markup:
    colour, verdict = _CYCLES[cycle["verdict"]]
    shown = [by_schedule[one["schedule"]] for one in cycle["failures"]
             if one["schedule"] in by_schedule]  # fmt: skip
    states = "" if cycle["states"] is None else count(cycle["states"], "state")
    cut_short = count(cycle["pruned"], "execution") + " cut" if cycle["pruned"] else ""
    effort = ", ".join(filter(None, [states, cut_short]))
    test = cycle["tests"][:1]
    return tag(
        "li",
        tag("span", verdict, class_=f"badge {colour}"),
        f" Cycle {number}",
        f": {cycle['reason']}" if cycle["reason"] else None,
        tag("small", f" {effort}") if effort else None,
        tag("ul", [tag("li", _link(link)) for link in cycle["chain"]], class_="chain"),
        [_execution_link(at, address) for at in sorted(set(shown))],
        [_test(one) for one in test],
    )


def _link(link: Json) -> list[Content]:
    """Return who waits for whom; the place of the wait can be clicked."""
    before, _, after = link["words"].partition(f"{link['file']}:{link['line']}")
    return [before, _place(link), after]


def _place(one: Json) -> Markup:
    name = f"{one['file']}:{one['line']}"
    return tag("button", name, type="button", class_="place", data_place=name)


def _test(source: str) -> Markup:
    shown = tag("pre", source, class_="words", tabindex="0")
    return tag("details", tag("summary", "Test case"), shown)


# Executions


def _group(words: str, rows: Sequence[tuple[int, Json]], address: str, unlike: set[str]) -> Markup:
    kind = rows[0][1]["kind"]
    said = [tag("span", cut(words, _LONGEST), class_="ends-with")] if kind != "passes" else []
    return tag(
        "details",
        tag(
            "summary",
            tag("span", kind, class_=f"badge {'good' if kind == 'passes' else 'bad'}"),
            f" {count(len(rows), 'execution')}",
            [": ", *said] if said else None,
        ),
        _final(rows[0][1], unlike),
        tag("ol", [_row(number, execution, address) for number, execution in rows]),
        open=True,
    )


def _row(number: int, execution: Json, address: str) -> Markup:
    return tag(
        "li",
        _execution_link(number, address),
        " ",
        tag("span", cut(turns(execution), _LONGEST), class_="turns"),
        " ",
        tag(
            "a",
            "SVG",
            href=f"{address}/executions/{number + 1}.svg?download=1",
            download=True,
            aria_label=f"Diagram of execution {number + 1} as SVG",
        ),
    )


def _execution_link(number: int, address: str) -> Markup:
    href = f"{address}/executions/{number + 1}.html"
    return tag("a", f"Execution {number + 1}", href=href, target="viewer")


def _final(execution: Json, unlike: set[str]) -> Markup | None:
    """Return the state in which executions end; what is not the same in all of them is marked."""
    rows = [
        tag(
            "div",
            tag("dt", name),
            tag("dd", value),
            class_="differs" if name in unlike else None,
            title="not the same in all executions" if name in unlike else None,
        )
        for name, value in sorted(execution["final"].items())
    ]
    return tag("dl", rows, class_="final", aria_label="Final state") if rows else None


def _rest(result: Json) -> str:
    return f" of {result['total']:,}" if result["total"] > len(result["executions"]) else ""


def _spaced(parts: Sequence[Markup]) -> list[Content]:
    return [item for part in parts for item in (part, " ")]

"""The swimlanes of an execution: a row for each step, a column for each lane.

Everything that can be read is in the rows. `page.js` draws the lines and arrows between them, folds
and unfolds, and moves the selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from treadle.core.counting import count
from treadle.report.html.lanes import Json, Lanes, deeds_of
from treadle.report.html.markup import Content, Markup, classes, tag

_SHORTEST_FOLD = 4
"""Steps in a row that are worth folding."""
_UNFOLDED = 30
"""Steps of an execution of which nothing is folded in the beginning."""
_FIT = 5
"""Lanes that are seen at once on a page of usual width, if they are narrow."""


def timeline(failure: Json, lanes: Lanes, name: str) -> Markup:
    """Return the rows of a failing execution; `name` begins the addresses of steps."""
    steps: list[Json] = failure["trace"]
    marks = marks_of(failure)
    kept = set(marks) | set(failure["acquired"])
    folds = folds_of(steps, kept)
    inner = {start for start in folds if steps[start].get("is_inner")}
    is_long = len(steps) > _UNFOLDED
    hidden = {
        index
        for start, size in folds.items()
        if is_long or start in inner
        for index in range(start, start + size)
    }
    rows: list[Markup] = []
    for index, mark in enumerate(marks.get(index, "") for index in range(len(steps))):
        if index in folds:
            size, is_folded = folds[index], index in hidden
            rows.append(_fold_row(steps, index, size, lanes, is_folded=is_folded))
        rows.append(_row(failure, index, lanes, name, mark, is_hidden=index in hidden))
    rows += _stuck(failure, lanes)
    style = f"--lanes:{len(lanes.names)}"
    if len(lanes.names) <= _FIT:
        style += ";--narrowest:8rem"
    return tag(
        "div",
        _heading(lanes),
        tag("ol", rows, class_="steps", aria_label="Steps of the failing execution"),
        class_="lanes",
        style=style,
        tabindex="0",
        role="region",
        aria_label="Swimlanes",
    )


def marks_of(failure: Json) -> dict[int, str]:
    """Return the steps that are named in the explanation, each with what it is."""
    marks = {}
    cause = failure["cause"] or {"indices": failure["pair"] or ()}
    if not failure["cycle"]:
        for word, index in zip(("first", "second"), cause["indices"], strict=False):
            marks[index] = word
    if failure["step"] < len(failure["trace"]):
        marks[failure["step"]] = " ".join(filter(None, (marks.get(failure["step"]), "failing")))
    return marks


def folds_of(steps: Sequence[Json], kept: set[int]) -> dict[int, int]:
    """Return the stretches that can be folded: the first step of each, and how many there are.

    The first and the last step of a stretch are where processes take turns; they are always shown.
    What the library does that runs the program is a stretch of its own, however short.

    >>> steps = [{"process": process} for process in "pqqqqqqq"]
    >>> folds_of(steps, set()), folds_of(steps, {4})
    ({2: 5}, {})
    >>> folds_of([*steps[:2], {"process": "d", "is_inner": True}, steps[0]], set())
    {2: 1}
    """
    folds: dict[int, int] = {}
    start = 0
    for is_inner, stretch in groupby(
        range(len(steps)), lambda at: bool(steps[at].get("is_inner")) and at not in kept
    ):
        if is_inner:
            inside = list(stretch)
            folds[inside[0]] = len(inside)
    for index in range(len(steps)):
        is_middle = (
            0 < index < len(steps) - 1
            and index not in kept
            and not steps[index].get("is_inner")
            and steps[index - 1]["process"] == steps[index]["process"]
            and steps[index]["process"] == steps[index + 1]["process"]
        )
        if is_middle:
            continue
        if index - start >= _SHORTEST_FOLD:
            folds[start] = index - start
        start = index + 1
    return folds


def _stuck(failure: Json, lanes: Lanes) -> list[Markup]:
    """Return a last row of who waits for ever: for each of them a cell in its column."""
    cells: dict[int, list[str]] = {}
    for wait in failure["waits"]:
        verb = "spins, waiting for" if wait["spins"] else "waits for"
        said = f"{verb} {wait['resource']}"
        who = lanes.called(wait["process"])
        is_alone = who == wait["process"]
        cells.setdefault(lanes.number(wait["process"]), []).append(
            said if is_alone else f"{who} {said}"
        )
    shown = [
        tag("span", "; ".join(words), class_="cell", style=f"--at:{number + 2}")
        for number, words in sorted(cells.items())
    ]
    gutter = tag("span", class_="n")  # what is scrolled to the left goes below it
    return [tag("li", tag("div", gutter, shown), class_="stuck")] if shown else []


def _heading(lanes: Lanes) -> Markup:
    cells = [
        tag(
            "span",
            tag("b", lane),
            tag("small", lanes.heading(lane)) if lanes.heading(lane) else None,
            class_=classes("head", lanes.colour(lane)),
        )
        for lane in lanes.names
    ]
    return tag("div", tag("span", "step", class_="head corner"), cells, class_="heads")


def _fold_row(
    steps: Sequence[Json], start: int, size: int, lanes: Lanes, *, is_folded: bool
) -> Markup:
    process = steps[start]["process"]
    is_inner = bool(steps[start].get("is_inner"))
    words = f"{size} more steps of {process}"
    if is_inner:
        words = count(size, "inner step")
    button = tag(
        "button",
        tag("span", words, class_="cell"),
        type="button",
        class_="fold",
        aria_expanded="false" if is_folded else "true",
        data_start=start,
        data_size=size,
    )
    column = f"--at:{lanes.number(process) + 2}"
    kind = classes("folding", "thin" if is_inner else lanes.colour(process))
    return tag("li", button, class_=kind, style=column)


def _row(
    failure: Json, index: int, lanes: Lanes, name: str, mark: str, *, is_hidden: bool
) -> Markup:
    step = failure["trace"][index]
    process = step["process"]
    place = step["where"].rpartition(":")[2] if step["where"] else ""
    deeds = deeds_of(step)
    source = step["source"]
    arrival = step.get("arrival", "")
    words: list[Content] = [
        tag("span", "from outside" if arrival else lanes.called(process), class_="who")
    ]
    if arrival:
        words.append(tag("span", arrival, class_="arrives"))
    else:
        kind = "source" if source else "source only"
        words.append(tag("code", source or deeds or "…", class_=kind))
    below = tag("span", deeds, class_="deeds") if source and deeds and not arrival else None
    badges = _badges(step, mark, failure)
    if below or badges:
        words.append(tag("span", below, badges, class_="below"))
    button = tag(
        "button",
        tag("span", str(index + 1), tag("small", f":{place}") if place else None, class_="n"),
        tag("span", words, class_="cell"),
        type="button",
        class_="step",
        tabindex="-1",
        title=f"{step['where']}  {deeds}".strip(),
    )
    marked = [f"is-{word}" for word in mark.split()]
    colour = "arrival" if arrival else lanes.colour(process)
    state = classes(colour, "preempts" if step["preempts"] and not arrival else None, *marked)
    column = f"--at:{lanes.number(process) + 2}"
    return tag("li", button, id=f"{name}-{index + 1}", class_=state, style=column, hidden=is_hidden)


def _badges(step: Json, mark: str, failure: Json) -> list[Markup]:
    """Return what is to be seen at a glance of a step."""
    words = mark.split()
    found = []
    if step["preempts"] and not step.get("arrival"):
        found.append(("preempts", "preempts"))
    if "first" in words:
        found.append(("pair", "① first"))
    if "second" in words:
        found.append(("pair", "② second"))
    if "failing" in words:
        found.append(("fails", step["error"].partition(":")[0] or failure["kind"]))
    elif step["then"] in ("waits", "ends"):
        found.append((step["then"], step["then"]))
    return [tag("span", text, class_=f"badge {kind}") for kind, text in found]

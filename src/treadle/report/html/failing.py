"""A failure to look at: what failed, how it came to that step by step, and why."""

from __future__ import annotations

from treadle.core.counting import count
from treadle.report.failure import GRANULARITIES
from treadle.report.html.diagram import MOST_STEPS, diagram
from treadle.report.html.lanes import Json, Lanes, deeds_of
from treadle.report.html.markup import Content, Markup, breakable, cut, headings, tag
from treadle.report.html.network import network
from treadle.report.html.source import listing
from treadle.report.html.timeline import timeline
from treadle.report.html.versus import versus

MOST_LETTERS = 400
"""Letters of a headline: messages can be long."""


def failing(failure: Json, sources: Json, name: str) -> Markup:
    """Return the section of a failure; `name` begins the addresses of its parts."""
    lanes = Lanes(failure["trace"], failure["waits"])
    return tag(
        "section",
        tag(
            "header",
            tag("span", failure["kind"], class_="kind"),
            tag("h2", breakable(cut(failure["headline"], MOST_LETTERS)), id=f"{name}-title"),
            class_="failure-head",
        ),
        _whole(failure["headline"]),
        _command(failure),
        _waits(failure, lanes, name),
        _pair(failure, lanes, name),
        [tag("p", remark, class_="remark") for remark in failure["remarks"]],
        _player(failure, sources, lanes, name) if failure["trace"] else _without_steps(),
        _more(failure, lanes, name),
        class_="failure",
        id=name,
        aria_labelledby=f"{name}-title",
        data_failure=name,
    )


def _whole(headline: str) -> Markup | None:
    """Return a headline to be unfolded that is too long to be one."""
    if len(headline) <= MOST_LETTERS:
        return None
    shown = tag("pre", headline, class_="traceback whole", tabindex="0")
    return _details(f"The whole message, {len(headline):,} characters", shown)


def _command(failure: Json) -> Markup | None:
    """Return the command that replays a failure, to be copied."""
    if not failure.get("replay"):
        return None
    return tag(
        "div",
        tag("span", "Replay", class_="label"),
        tag("code", failure["replay"], tabindex="0"),
        tag("button", "Copy", type="button", class_="copy", data_copy=failure["replay"]),
        class_="command",
    )


# Why


def _waits(failure: Json, lanes: Lanes, name: str) -> Markup | None:
    """Return who waits for whom for ever."""
    if not failure["waits"]:
        return None
    cycle = failure["cycle"]
    order = {process: at for at, process in enumerate(cycle)}
    waits = sorted(failure["waits"], key=lambda wait: order.get(wait["process"], len(order)))
    rows = [_wait(wait, failure, lanes, name) for wait in waits]
    title = "Who waits for whom, in a circle" if cycle else "Who waits for ever"
    return tag("div", tag("h3", title), tag("ol", rows, class_="chain"), class_="why")


def _wait(wait: Json, failure: Json, lanes: Lanes, name: str) -> Markup:
    verb = "spins, waiting for" if wait["spins"] else "waits for"
    words: list[Content] = [
        tag("b", lanes.called(wait["process"]), class_=lanes.colour(wait["process"])),
        f" {verb} ",
        tag("b", wait["resource"]),
        f" at {wait['where']}" if wait["where"] else "",
    ]
    if wait["kind"] not in ("end", "result"):
        for holder in wait["holders"]:
            words += [", held by ", tag("b", lanes.called(holder), class_=lanes.colour(holder))]
            words += _since(holder, failure, name)
    in_cycle = wait["process"] in failure["cycle"]
    return tag("li", words, class_="in-cycle" if in_cycle else None)


def _since(holder: str, failure: Json, name: str) -> list[Content]:
    """Return since when somebody holds what others wait for."""
    steps = [at for at in failure["acquired"] if failure["trace"][at]["process"] == holder]
    return [" since ", _jump(steps[-1], name)] if steps else []


def _jump(index: int, name: str) -> Markup:
    return tag("a", f"step {index + 1}", href=f"#{name}-{index + 1}", class_="jump")


def _pair(failure: Json, lanes: Lanes, name: str) -> Markup | None:
    """Return the two steps whose order makes the difference, or may."""
    cause = failure["cause"]
    if cause is None or failure["cycle"]:
        return None
    if failure["kind"] == "race":
        sentence = "No synchronisation orders these two"
    elif cause["decides"]:
        sentence = "The order of these two decides: the other way round, this execution passes"
    else:
        sentence = "These two could have come in the other order, which may make a difference"
    rows = [
        tag(
            "li",
            tag("span", sign, class_="sign", aria_hidden="true"),
            _jump(index, name) if index < len(failure["trace"]) else "later",
            " ",
            tag("b", step["process"], class_=lanes.colour(step["process"])),
            " ",
            tag("code", step["source"] or deeds_of(step)),
            tag("span", deeds_of(step) if step["source"] else "", class_="deeds"),
        )
        for sign, index, step in zip("①②", cause["indices"], cause["steps"], strict=True)
    ]
    return tag("div", tag("h3", sentence), tag("ol", rows, class_="pair"), class_="why")


# Step by step


def _player(failure: Json, sources: Json, lanes: Lanes, name: str) -> Markup:
    """Return swimlanes, what moves through them, and what is known of the selected step."""
    return tag(
        "div",
        _controls(failure, name),
        tag(
            "div",
            tag("div", timeline(failure, lanes, name), _key(failure), class_="lane-box"),
            _inspector(failure, sources, name),
            class_="stage",
        ),
        class_="player",
    )


_ARROWS = {
    "spawn": "starts a process",
    "join": "its end was waited for",
    "message": "a message, item or signal",
    "result": "a result",
    "lock": "a lock that changes hands",
    "wake": "changes what was waited for",
}


def _key(failure: Json) -> Markup | None:
    """Return what the arrows mean that there are."""
    kinds = {link["kind"] for link in failure["links"]}
    rows = [tag("li", words, class_=kind) for kind, words in _ARROWS.items() if kind in kinds]
    return tag("ul", rows, class_="key", aria_label="Arrows") if rows else None


_MOVES = (
    ("first", "M3 3v10h2V3zM13 3v10L6 8z", "First step"),
    ("back", "M12 3v10L4 8z", "Step back"),
    ("forward", "M4 3v10l8-5z", "Step forward"),
    ("last", "M13 3v10h-2V3zM3 3v10l7-5z", "Last step"),
)
"""Drawn, since not every font has the signs."""


def _icon(way: str) -> Markup:
    shape = tag("path", d=way, fill="currentColor")
    return tag("svg", shape, viewBox="0 0 16 16", width=16, height=16, aria_hidden="true")


def _controls(failure: Json, name: str) -> Markup:
    last = len(failure["trace"])
    moves = [
        tag("button", _icon(way), type="button", data_move=move, aria_label=label, title=label)
        for move, way, label in _MOVES
    ]
    slider = tag(
        "input",
        type="range",
        min=1,
        max=last,
        value=1,
        class_="slider",
        aria_label="Step to look at",
    )
    search = tag(
        "input",
        type="search",
        class_="search",
        placeholder="Search steps",
        aria_label="Search steps",
    )
    return tag(
        "div",
        tag("div", moves[:2], slider, moves[2:], class_="moves"),
        tag("output", f"1 of {last}", class_="position", id=f"{name}-position"),
        tag("div", search, tag("span", class_="found", role="status"), class_="searching"),
        tag("button", "Unfold all", type="button", class_="unfold", aria_pressed="false"),
        tag("button", "Arrows", type="button", class_="arrows", aria_pressed="true"),
        class_="controls",
        role="toolbar",
        aria_label="Step through",
    )


def _inspector(failure: Json, sources: Json, name: str) -> Markup:
    """Return what is said of the selected step: `page.js` fills it."""
    places = {step["where"] for step in failure["trace"]}
    files = {place.rpartition(":")[0] for place in places}
    own = {file: pieces for file, pieces in sources.items() if file in files}
    return tag(
        "aside",
        tag("div", tag("h3", "Step 1"), class_="now", aria_live="polite"),
        network(failure["graph"]) if failure["graph"] else None,
        tag(
            "table",
            tag("caption", "Shared state"),
            headings("name", "before", "after"),
            tag("tbody"),
            class_="state",
        ),
        tag("div", tag("h4", "Held"), tag("ul", class_="holds"), class_="held"),
        listing(own, f"{name}-source", marked=places) if own else None,
        class_="inspector",
        aria_label="The selected step",
    )


def _without_steps() -> Markup:
    return tag("p", "Its steps could not be recorded: the program did not repeat them.")


# Below


def _more(failure: Json, lanes: Lanes, name: str) -> list[Content]:
    parts: list[Content] = []
    other = versus(failure)
    if other is not None:
        parts.append(_details("Compare with the other order", other, kind="compare"))
    if failure["trace"]:
        has_messages = any(step["lane"] for step in failure["trace"])
        drawn = tag(
            "div",
            diagram(failure, name),
            class_="scrolling",
            tabindex="0",
            role="region",
            aria_label="Sequence diagram",
        )
        left = len(failure["trace"]) - MOST_STEPS
        rest = tag("p", f"{count(left, 'more step')} not drawn.") if left > 0 else None
        parts.append(_details("Sequence diagram", [drawn, rest], is_open=has_messages))
    if failure["frames"]:
        parts.append(_details("Local variables at that point", _frames(failure, lanes)))
    if failure["traceback"]:
        shown = tag("pre", failure["traceback"], class_="traceback", tabindex="0")
        parts.append(_details("Traceback", shown))
    if failure["granularity"] in GRANULARITIES:
        parts.append(tag("p", GRANULARITIES[failure["granularity"]], class_="small"))
    return parts


def _details(
    title: str, content: Content, *, is_open: bool = False, kind: str | None = None
) -> Markup:
    return tag("details", tag("summary", title), content, open=is_open, class_=kind)


def _frames(failure: Json, lanes: Lanes) -> list[Markup]:
    return [
        tag(
            "div",
            tag(
                "h4",
                tag("b", frame["process"], class_=lanes.colour(frame["process"])),
                f" {frame['function']}() ",
                tag("small", frame["where"]),
            ),
            tag(
                "dl",
                [
                    tag("div", tag("dt", key), tag("dd", tag("code", value)))
                    for key, value in frame["variables"]
                ],
            )
            if frame["variables"]
            else None,
            class_="frame",
        )
        for frame in failure["frames"]
    ]

"""Parts of pages, read as a tree of elements: what is there, and what it says."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looked_at import (
    ACTORS,
    BANK,
    EVERYTHING,
    FAILING,
    LAZY,
    NETWORK,
    PROVED,
    QUEUE,
    WAKEUP,
    access,
    failing_with,
    failure,
    long_report,
    read,
    report,
    step,
    tasks_report,
)
from treadle.core.counting import count
from treadle.report.html import timeline as timelines
from treadle.report.html.diagram import MOST_STEPS, diagram
from treadle.report.html.failing import failing
from treadle.report.html.heat import heat_map, heat_of_lines, pairs_of
from treadle.report.html.lanes import Lanes, deed_in_words, deeds_of, lane_of, links_to_see
from treadle.report.html.markup import (
    Markup,
    breakable,
    classes,
    cut,
    markup,
    printable,
    tag,
)
from treadle.report.html.network import network
from treadle.report.html.source import coloured, listing
from treadle.report.html.timeline import folds_of, marks_of, timeline
from treadle.report.html.tree import WHY, depths_of, legend, tree
from treadle.report.html.versus import aligned, versus

every_failure = pytest.mark.parametrize("target", FAILING)


def waiting(process: str, holder: str, **more: Any) -> dict[str, Any]:
    return {
        "process": process,
        "resource": f"what {holder} has",
        "holders": [holder],
        "where": "a.py:1",
        "spins": False,
        "label": "",
        "kind": "lock",
        **more,
    }


# Markup


@given(st.text())
def test_text_stays_text(text: str) -> None:
    element = read(tag("p", text, title=text)).one("p")
    unified = re.sub("\r\n?", "\n", printable(text))
    assert re.sub("\r\n?", "\n", element.text) == unified
    assert re.sub("\r\n?", "\n", element.attributes["title"]) == unified


@given(st.text())
def test_only_what_cannot_be_seen_is_escaped(text: str) -> None:
    shown = [character for character in text if printable(character) == character]
    assert printable("".join(shown)) == "".join(shown)
    for character in set(text) - set(shown):
        assert unicodedata.category(character) in ("Cc", "Cf", "Cs")
        assert printable(character).encode().decode("unicode_escape") == character
    assert {"\t", "\n", "\r", "\f", "é", "語", "\u200d"} == {
        printable(one) for one in "\t\n\r\fé語\u200d"
    }


def test_markup_is_not_escaped_twice() -> None:
    inner = tag("b", "<")
    assert inner == "<b>&lt;</b>"
    assert tag("p", inner, ["a", inner], None) == "<p><b>&lt;</b>a<b>&lt;</b></p>"
    assert isinstance(markup(inner), Markup)


def test_attributes() -> None:
    assert tag("input", type="range", min=1, value=0, hidden=False) == (
        '<input type="range" min="1" value="0">'
    )
    assert tag("svg", viewBox="0 0 1 1") == '<svg viewBox="0 0 1 1"></svg>'
    assert tag("line", x1=1.5) == '<line x1="1.5"/>'
    assert tag("p", data_step=3, aria_label='"') == '<p data-step="3" aria-label="&quot;"></p>'


def test_words() -> None:
    assert classes() is None
    assert classes("a", None, "b") == "a b"
    assert cut("abc", 3) == "abc"
    assert count(0, "branch", "branches") == "0 branches"
    assert breakable("<a>/b") == "&lt;a&gt;/<wbr>b"


# Lanes


def test_a_process_has_a_lane_of_its_own() -> None:
    lanes = Lanes([step("p"), step("q", label="worker"), step("p")])
    assert lanes.names == ["p", "q"]
    assert (lanes.number("q"), lanes.colour("q")) == (1, "lane-1")
    assert (lanes.heading("p"), lanes.heading("q")) == ("", "worker")
    assert lanes.called("q") == "q"
    assert not lanes.knows("r")


def test_several_processes_share_the_lane_of_an_actor() -> None:
    steps = [step("m.1", lane="A", label="one of A"), step("m.2", lane="A", label="two of A")]
    lanes = Lanes(steps)
    assert lanes.names == ["A"]
    assert lanes.called("m.2") == "two of A"
    assert lanes.heading("A") == ""
    assert lane_of(steps[0]) == "A"


def test_who_waits_without_a_step_stands_where_it_waits() -> None:
    steps = [step("m.1", lane="A", label="one of A")]
    lanes = Lanes(steps, [waiting("m.2", "m.1", label="two of A"), waiting("t", "u")])
    assert lanes.names == ["A", "t"]
    assert lanes.number("m.2") == 0
    assert lanes.called("m.2") == "two of A"


def test_deeds() -> None:
    one = step("p", accesses=[access("read", "x", "1"), access("acquire", "lock")])
    assert deeds_of(one) == "read x = 1; acquire lock"
    assert deed_in_words(access("print", "")) == "print"


# Swimlanes


@every_failure
def test_every_step_is_a_row_in_its_lane(target: str) -> None:
    for found in report(target)["failures"]:
        lanes = Lanes(found["trace"], found["waits"])
        page = read(timeline(found, lanes, "f1"))
        rows = [row for row in page.all("li") if "id" in row.attributes]
        assert [row.attributes["id"] for row in rows] == [
            f"f1-{number}" for number in range(1, len(found["trace"]) + 1)
        ]
        for row, one in zip(rows, found["trace"], strict=True):
            button = row.one("button")
            assert f"--at:{lanes.number(one['process']) + 2}" in row.attributes["style"]
            assert lanes.colour(one["process"]) in row.kinds
            assert lanes.called(one["process"]) in button.text, "for who cannot see the column"
            assert (one["source"] or deeds_of(one)) in button.text
            assert ("preempts" in row.kinds) == bool(one["preempts"])
        heads = [head.one("b").text for head in page.all(kind="head") if head.all("b")]
        assert heads == lanes.names


def test_the_pair_and_the_failing_step_are_marked() -> None:
    found = failure(LAZY)
    first, second = found["cause"]["indices"]
    marks = marks_of(found)
    assert marks == {first: "first", second: "second", found["step"]: "failing"}
    page = read(timeline(found, Lanes(found["trace"]), "f1"))
    for kind, index in [("first", first), ("second", second), ("failing", found["step"])]:
        assert page.one("li", f"is-{kind}").attributes["id"] == f"f1-{index + 1}"
    assert page.one(kind="fails").text == "AssertionError"


def test_a_step_may_be_second_and_failing() -> None:
    found = failing_with(step("p"), step("q"), pair=[0, 1])
    assert marks_of(found) == {0: "first", 1: "second failing"}


def test_a_deadlock_marks_no_pair_but_says_who_waits() -> None:
    found = failure(BANK)
    assert marks_of(found) == {}
    page = read(timeline(found, Lanes(found["trace"], found["waits"]), "f1"))
    stuck = page.one("li", "stuck")
    assert [cell.text for cell in stuck.all(kind="cell")] == [
        "waits for the end of main.1",
        "waits for bob.lock",
        "waits for ann.lock",
    ]


def test_who_waits_in_one_lane_is_told_together() -> None:
    found = failure(ACTORS)
    page = read(timeline(found, Lanes(found["trace"], found["waits"]), "f1"))
    cells = page.one("li", "stuck").all(kind="cell")
    assert len(cells) == 2, "Store1 and Worker1"
    assert "register of Store1 waits for ping of Worker1" in cells[0].text
    assert "get_data of Store1 waits for its turn in Store1" in cells[0].text


def test_long_stretches_are_folded_in_long_executions() -> None:
    steps = [step(process) for process in ["p"] * 20 + ["q"] * 3 + ["p"] * 20]
    found = failing_with(*steps)
    assert folds_of(steps, set()) == {1: 18, 24: 18}
    page = read(timeline(found, Lanes(steps), "f1"))
    folds = page.all("button", "fold")
    assert [fold.text for fold in folds] == ["18 more steps of p"] * 2
    assert {fold.attributes["aria-expanded"] for fold in folds} == {"false"}
    hidden = [row for row in page.all("li") if "hidden" in row.attributes]
    assert len(hidden) == 36


def test_a_short_execution_is_not_folded() -> None:
    steps = [step("p") for _ in range(timelines._UNFOLDED)]
    page = read(timeline(failing_with(*steps), Lanes(steps), "f1"))
    assert page.one("button", "fold").attributes["aria-expanded"] == "true"
    assert not [row for row in page.all("li") if "hidden" in row.attributes]


@given(st.lists(st.sampled_from("pq"), max_size=40), st.sets(st.integers(0, 39)))
def test_folds_leave_turns_and_what_is_kept(processes: list[str], kept: set[int]) -> None:
    steps = [step(process) for process in processes]
    inside: list[int] = []
    for start, size in folds_of(steps, kept).items():
        inside += range(start, start + size)
        assert size >= 4
        assert len({processes[at] for at in range(start - 1, start + size + 1)}) == 1
    assert len(set(inside)) == len(inside)
    assert not kept.intersection(inside)


# Sequence diagrams


@every_failure
def test_every_step_is_a_box(target: str) -> None:
    for found in report(target)["failures"]:
        page = read(diagram(found, "f1"))
        boxes = page.all("a", "step")
        assert [box.attributes["href"] for box in boxes] == [
            f"#f1-{number}" for number in range(1, len(found["trace"]) + 1)
        ]
        assert len(page.all("g", "arrow")) == len(found["links"])
        assert all(box.one("title").text.startswith("Step ") for box in boxes)
        names = [text.text for text in page.all("text", "lane-name")]
        assert names == Lanes(found["trace"], found["waits"]).names


def test_boxes_are_in_their_columns_one_below_the_other() -> None:
    found = failure(QUEUE)
    page = read(diagram(found))
    lanes = Lanes(found["trace"], found["waits"])
    boxes = [box.one("rect").attributes for box in page.all("g", "step")]
    heights = [int(box["y"]) for box in boxes]
    assert heights == sorted(set(heights))
    columns = {int(box["x"]) for box in boxes}
    assert len(columns) == len(lanes.names)
    width = int(page.one("svg").attributes["width"])
    assert all(int(box["x"]) > 0 and int(box["x"]) + int(box["width"]) < width for box in boxes)


def test_a_box_tells_how_the_step_ended() -> None:
    found = failing_with(
        step("p", then="ends"),
        step("q", then="waits"),
        step("r", then="waits", takes=["r"]),
        step("s"),
        step("s", error="ValueError"),
    )
    page = read(diagram(found))
    endings = {"returned", "released", "blocked", "running", "failing"}
    assert [endings & box.kinds for box in page.all("g", "step")] == [
        {"returned"},
        {"released"},
        {"blocked"},
        {"running"},
        {"failing"},
    ]
    assert len(page.all("line", "waiting")) == 2


def test_who_waits_for_ever_is_tied() -> None:
    page = read(diagram(failure(ACTORS)))
    tied = page.all("g", "tied")
    assert [one.one("title").text for one in tied] == [
        "main.1:register waits for ping of Worker1",
        "main.2:work waits for get_data of Store1",
        "main.2:work.1:get_data waits for its turn in Store1",
        "main.1:register.2:ping waits for its turn in Worker1",
    ]
    assert len(read(diagram(failure(BANK))).all("g", "tied")) == 2, "who waits for an end is not"
    assert not read(diagram(failure(LAZY))).all("g", "tied")


def test_a_diagram_stands_alone() -> None:
    alone = diagram(failure(NETWORK))
    svg = read(alone).one("svg")
    assert svg.attributes["xmlns"] == "http://www.w3.org/2000/svg"
    assert svg.attributes["role"] == "img"
    assert not svg.all("a")
    marked = set(re.findall(r"url\(#([^)]+)\)", alone))
    assert marked <= {head.attributes["id"] for head in svg.all("marker")}


def test_names_of_two_diagrams_differ() -> None:
    both = read(diagram(failure(LAZY), "f1") + diagram(failure(LAZY), "f2"))
    names = [head.attributes["id"] for head in both.all("marker")]
    assert len(set(names)) == len(names)


def test_of_a_long_execution_the_beginning_is_drawn() -> None:
    (found,) = long_report()["failures"]
    assert len(read(diagram(found)).all("g", "step")) == MOST_STEPS
    section = read(failing(found, {}, "f1"))
    assert f"{len(found['trace']) - MOST_STEPS:,} more steps not drawn." in section.text


# Networks


def test_a_network_and_its_tables() -> None:
    graph = failure(NETWORK)["graph"]
    page = read(network(graph))
    assert len(page.all("g", "switch")) == 3
    assert len(page.all("g", "host")) == 3
    assert len(page.all("g", "edge")) == len(graph["edges"])
    rows = page.one("dl", "tables").all("div")
    assert [row.attributes["data-node"] for row in rows] == ["s1", "s2", "s3"]
    assert {row.one("dd").text for row in rows} == {"empty"}


def test_tables_of_the_beginning() -> None:
    graph = {"nodes": [["s", "switch"]], "edges": [], "tables": [["s", "dst=h → h"]]}
    assert read(network(graph)).one("dd").text == "dst=h → h"


# The other order


def test_the_other_order_beside_the_failing_one() -> None:
    found = failure(LAZY)
    table = versus(found)
    assert table is not None
    page = read(table)
    rows = [row.all("td") for row in page.one("tbody").all("tr")]
    assert all(len(cells) == 2 for cells in rows)
    left = [cells[0] for cells in rows if "none" not in cells[0].kinds]
    right = [cells[1] for cells in rows if "none" not in cells[1].kinds]
    assert len(left) == len(found["trace"])
    assert len(right) == len(found["cause"]["other"])
    for cells, steps in ((left, found["trace"]), (right, found["cause"]["other"])):
        for number, (cell, one) in enumerate(zip(cells, steps, strict=True), start=1):
            assert cell.one(kind="n").text == str(number)
            assert cell.one(kind="who").text == one["process"]
        assert sum("swapped" in cell.kinds for cell in cells) == 2
    assert any("error" in cell.kinds for cell in left)
    assert not any("error" in cell.kinds for cell in right)


@every_failure
def test_there_is_a_comparison_if_another_order_is_known(target: str) -> None:
    for found in report(target)["failures"]:
        known = bool(found["cause"] and found["cause"]["other"])
        assert (versus(found) is not None) == known


@given(st.lists(st.sampled_from("pq"), max_size=12), st.lists(st.sampled_from("pq"), max_size=12))
def test_rows_have_every_step_once_in_order(one: list[str], other: list[str]) -> None:
    steps, others = ([step(process) for process in way] for way in (one, other))
    rows = list(aligned(steps, others))
    assert [left for left, _ in rows if left is not None] == list(range(len(one)))
    assert [right for _, right in rows if right is not None] == list(range(len(other)))
    for left, right in rows:
        if left is not None and right is not None:
            assert one[left] == other[right]


# Source


def test_source_lines_have_numbers_and_addresses() -> None:
    sources = {"a.py": [{"first": 9, "lines": ["x = 1", ""]}, {"first": 20, "lines": ["y"]}]}
    page = read(listing(sources, "s", marked={"a.py:9"}))
    assert page.one("figcaption").text == "a.py"
    lines = [line for line in page.all("span", "line") if "gap" not in line.kinds]
    assert [line.attributes["id"] for line in lines] == ["s-0-9", "s-0-10", "s-0-20"]
    assert [line.text.split() for line in lines] == [["9", "x", "=", "1"], ["10"], ["20", "y"]]
    assert ["marked" in line.kinds for line in lines] == [True, False, False]
    assert len(page.all(kind="gap")) == 1


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_colour_changes_no_text(text: str) -> None:
    assert read(coloured(text)).text == printable(text)


def test_what_is_coloured() -> None:
    kinds = {
        i.text: i.attributes["class"] for i in read(coloured('for x in "a" + 12: # c')).all("i")
    }
    assert kinds == {"for": "k", "in": "k", '"a"': "s", "12": "m", "# c": "c"}


# The tree


@pytest.mark.parametrize("target", EVERYTHING)
def test_every_branch_is_a_row(target: str) -> None:
    explored = report(target)["exploration"]
    page = read(tree(explored))
    rows = page.all("li", role="treeitem")
    assert len(rows) == len(explored["tree"])
    levels = [int(row.attributes["aria-level"]) - 1 for row in rows]
    assert levels == depths_of(explored["tree"])
    for at, (row, branch) in enumerate(zip(rows, explored["tree"], strict=True)):
        has_children = any(one["parent"] == at for one in explored["tree"])
        assert ("aria-expanded" in row.attributes) == has_children
        if branch["steps"]:
            assert branch["steps"][0]["process"] in row.text
        assert bool(row.all(kind=f"end-{branch['ending']}")) == bool(branch["ending"])
        assert len(row.all(kind="left-out")) == len(branch["left_out"])
    below = explored["tree"][0]["below"]
    assert f"{below['executions']} execution" in rows[0].text


def branch(parent: int | None, **more: Any) -> dict[str, Any]:
    below = {"executions": 1, "blocked": 2, "cut": 3, "failing": 4, "left_out": 5}
    return {
        "parent": parent,
        "steps": [],
        "ending": "",
        "left_out": [],
        "undrawn": 0,
        "below": below,
        **more,
    }


def test_a_row_says_what_became_of_the_branch() -> None:
    steps = [{"process": "p", "words": "read x", "where": "d/a.py:3"}] * 2
    left = [{"process": "q", "why": "asleep", "times": 2}]
    branches = [branch(None), branch(0, steps=steps, ending="blocked", left_out=left, undrawn=7)]
    root, below = read(tree({"tree": branches})).all("li")
    assert "start" in root.text
    assert "1 execution, 4 failing, 2 blocked, 3 cut, 5 left out" in root.text
    assert "p read x a.py:3 + 1 more (p)" in below.text
    assert "⊘ blocked: found to be redundant" in below.text
    assert below.one(kind="left-out").text == "✂ q left out: asleep ×2"
    assert below.one(kind="left-out").attributes["title"] == WHY["asleep"]
    assert "7 more not drawn" in below.text


def test_large_trees_are_folded_and_cut() -> None:
    branches = [branch(None), *(branch(at) for at in range(1500))]
    page = read(tree({"tree": branches}))
    rows = page.all("li")
    assert len(rows) == 1200
    assert sum("hidden" not in row.attributes for row in rows) == 3
    assert "301 more branches in the JSON only." in page.text
    assert len(read(tree({"tree": branches}, most=10)).all("li")) == 10


def test_the_legend_explains_every_reason() -> None:
    assert [one.text for one in read(legend()).all("dt")] == [*WHY, "not listed"]


# The heat map


def reversal(first: str, second: str, times: int) -> dict[str, Any]:
    places = ({"process": "p", "words": "w", "where": where} for where in (first, second))
    return {**dict(zip(("first", "second"), places, strict=True)), "times": times}


def test_pairs_in_either_order_are_one() -> None:
    found = [reversal("a:1", "a:2", 3), reversal("a:2", "a:1", 2), reversal("a:1", "a:1", 1)]
    assert pairs_of(found) == {("a:1", "a:2"): 5, ("a:1", "a:1"): 1}
    assert heat_of_lines(found) == {"a:1": 6, "a:2": 5}


def test_what_has_no_line_is_called_by_what_it_does() -> None:
    assert pairs_of([reversal("", "a:1", 1)]) == {("a:1", "p w"): 1}


def test_the_hottest_line_is_the_hottest() -> None:
    explored, sources = report(PROVED)["exploration"], report(PROVED)["sources"]
    page = read(heat_map(explored, sources))
    hot = {
        int(line.attributes["id"].rpartition("-")[2]): float(
            line.attributes["style"].removeprefix("--heat:")
        )
        for line in page.all("span", "hot")
    }
    heat = heat_of_lines(explored["reversals"])
    expected = {int(place.rpartition(":")[2]): times for place, times in heat.items()}
    hottest = max(expected.values())
    assert hot == {line: round(times / hottest, 2) for line, times in expected.items()}
    assert max(hot.values()) == 1
    total = sum(one["times"] for one in explored["reversals"])
    assert f"{total} reversals" in page.text
    shares = [float(row.all("td")[0].text) for row in page.one("tbody").all("tr")]
    assert shares == sorted(shares, reverse=True)


def test_without_reversals_it_says_so() -> None:
    none: dict[str, Any] = {"reversals": [], "uncounted": 0}
    assert "nothing depends on the order" in heat_map(none, {}, is_only_one=True)
    assert "does not look for any" in heat_map(none, {})


# A failure as a whole


@every_failure
def test_a_failure_has_its_parts(target: str) -> None:
    for number, found in enumerate(report(target)["failures"], start=1):
        name = f"f{number}"
        section = read(failing(found, report(target)["sources"], name)).one("section", id=name)
        assert section.one("h2").text == found["headline"]
        assert section.one(kind="command").one("code").text == found["replay"]
        assert section.one("button", "copy").attributes["data-copy"] == found["replay"]
        slider = section.one("input", "slider").attributes
        assert (slider["min"], slider["max"]) == ("1", str(len(found["trace"])))
        assert bool(section.all("figure", "network")) == bool(found["graph"])
        assert bool(section.all("ol", "chain")) == bool(found["waits"])
        targets = {link.attributes["href"][1:] for link in section.all("a", "jump")}
        assert targets <= {row.attributes["id"] for row in section.all("li") if "id" in
                           row.attributes}  # fmt: skip
        assert "Sequence diagram" in section.text
        assert ("Local variables" in section.text) == bool(found["frames"])


def test_the_pair_is_told_with_what_is_known_of_it() -> None:
    found = failure(LAZY)
    pair = read(failing(found, {}, "f1")).one("ol", "pair")
    assert [item.one("a").text for item in pair.all("li")] == [
        f"step {index + 1}" for index in found["cause"]["indices"]
    ]
    cause = {**found["cause"], "decides": False}
    assert "which may make a difference" in failing({**found, "cause": cause}, {}, "f1")
    race = {**found, "kind": "race"}
    assert "No synchronisation orders these two" in failing(race, {}, "f1")


def test_a_second_step_that_comes_too_late() -> None:
    found = failure(LAZY)
    late = {**found["cause"], "indices": [3, 900]}
    pair = read(failing({**found, "cause": late}, {}, "f1")).one("ol", "pair")
    assert "later" in pair.all("li")[1].text
    assert len(pair.all("a")) == 1


def test_in_a_deadlock_links_lead_to_where_locks_were_taken() -> None:
    chain = read(failing(failure(BANK), {}, "f1")).one("ol", "chain")
    said = [item.text for item in chain.all("li")]
    assert said[0].startswith("main.1 waits for bob.lock at examples/threads/bank_transfer.py:23")
    assert "held by main.2 since step 4" in said[0]
    assert "held by main.1 since step 3" in said[1]
    assert said[2] == "main waits for the end of main.1 at examples/threads/bank_transfer.py:52"
    assert ["in-cycle" in item.kinds for item in chain.all("li")] == [True, True, False]


def test_who_spins() -> None:
    found = failing_with(step("p"), waits=[waiting("p", "q", spins=True, where="")])
    section = read(failing(found, {}, "f1"))
    assert section.one("ol", "chain").one("li").text == (
        "p spins, waiting for what q has, held by q"
    )
    assert "Who waits for ever" in section.text


def test_what_could_not_be_recorded_is_said() -> None:
    found = failing_with(step=0)
    section = read(failing(found, {}, "f1"))
    assert "could not be recorded" in section.text
    assert not section.all("svg")


def test_frames_and_tracebacks() -> None:
    section = read(failing(failure(WAKEUP), {}, "f1"))
    frames = section.all("div", "frame")
    assert len(frames) == len(failure(WAKEUP)["frames"])
    assert section.one("pre", "traceback").text == failure(WAKEUP)["traceback"]
    assert "Granularity: access." in section.text


def test_the_arrows_that_there_are_have_a_key() -> None:
    section = read(failing(failure(LAZY), {}, "f1"))
    kinds = [next(iter(item.kinds)) for item in section.one("ul", "key").all("li")]
    assert kinds == ["spawn", "join", "lock"]
    assert not read(failing(failing_with(step("p")), {}, "f1")).all("ul", "key")


def test_what_turns_the_direction_of_text_is_escaped() -> None:
    evil = "pass \u202e \u2066 fail \x1b[31m"
    found = failing_with(step("p", source=evil), headline=evil)
    section = failing(found, {"a": [{"first": 1, "lines": [evil, "a\tb"]}]}, "f1")
    assert not set(section) & set("\u202e\u2066\x1b")
    assert read(section).one("h2").text == r"pass \u202e \u2066 fail \x1b[31m"


def test_a_long_error_is_cut_beside_the_other_order() -> None:
    found = failure(LAZY)
    steps = [{**one, "error": "long " * 999 if one["error"] else ""} for one in found["trace"]]
    table = read(str(versus({**found, "trace": steps})))
    assert len(table.one("span", "badge").text) == 200


def test_who_is_stuck_leaves_the_gutter_free() -> None:
    found = failure(BANK)
    (stuck,) = read(timeline(found, Lanes(found["trace"], found["waits"]), "f1")).all("li", "stuck")
    assert [one.text for one in stuck.all("span", "n")] == [""]


def test_markup_in_a_program_stays_text() -> None:
    evil = "<script>alert(1)</script>"
    found = failing_with(
        step(evil, source=evil, where=f"{evil}:1", accesses=[access("write", evil, evil)]),
        headline=evil,
        remarks=[evil],
        replay=evil,
    )
    section = failing(found, {evil: [{"first": 1, "lines": [evil]}]}, "f1")
    assert "<script" not in section
    assert evil in read(section).text


# Tasks


def test_what_arrives_stands_across_all_columns() -> None:
    told = tasks_report()["failures"][0]
    lanes = Lanes(told["trace"])
    assert lanes.names == ["main", "ann", "bob"], "no column for what comes from outside"
    rows = read(timeline(told, lanes, "f1")).all("li", "arrival")
    assert [row.attributes["id"] for row in rows] == ["f1-4", "f1-7"]
    assert rows[0].one("span", "arrives").text == "0.1 s passes: sleep(0.1) of ann ends"
    assert [row.all("span", "preempts") for row in rows] == [[], []]


def test_what_the_loop_does_itself_is_folded_unless_it_fails() -> None:
    told = tasks_report()["failures"][0]
    parsed = read(timeline(told, Lanes(told["trace"]), "f1"))
    folds = [row.one("button").attributes["data-start"] for row in parsed.all("li", "thin")]
    assert folds == ["5", "8"]
    hidden = [row.attributes["id"] for row in parsed.all("li") if "hidden" in row.attributes]
    assert hidden == ["f1-6", "f1-9"]
    failed = {**told, "step": 8}
    parsed = read(timeline(failed, Lanes(told["trace"]), "f1"))
    assert len(parsed.all("li", "thin")) == 1


def test_links_lead_through_what_is_not_seen() -> None:
    told = tasks_report()["failures"][0]
    seen = [(link["source"], link["target"]) for link in links_to_see(told)]
    assert seen == [(0, 1), (0, 2), (1, 3), (3, 4), (2, 6), (6, 7), (4, 9), (7, 9)]


def test_a_sequence_diagram_of_tasks() -> None:
    told = tasks_report()["failures"][0]
    drawn = read(str(diagram(told, "f1")))
    steps = drawn.all("a", "step")
    assert [one.attributes["data-step"] for one in steps] == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "6",
        "7",
        "9",
    ]
    assert len(drawn.all("a", "arrival")) == 2
    # who sets a timer is no arrow to what it brings; the rest of the links is drawn
    assert len(drawn.all("g", "arrow")) == 6
    # main, ann and bob wait until they go on: nobody waits until the end
    waits = drawn.all("line", "waiting")
    assert len(waits) == 3
    last = max(float(one.attributes["y"]) for one in drawn.all("rect"))
    assert all(float(one.attributes["y2"]) <= last for one in waits)


# Large trees


def test_of_a_large_tree_the_branches_near_the_root_are_drawn() -> None:
    """A chain of 30 and 9 short branches at the root: the deep end is left out."""
    branch = {"steps": [], "ending": "", "left_out": [], "undrawn": 0}
    below = dict.fromkeys(("executions", "blocked", "cut", "failing", "left_out"), 0)
    parents = [None, *range(30), *[0] * 9]
    branches = [{**branch, "parent": parent, "below": below} for parent in parents]
    parsed = read(str(tree({"tree": branches}, most=20)))
    rows = parsed.all("li")
    assert len(rows) == 20
    assert [row.attributes["aria-level"] for row in rows].count("2") == 10
    assert [row.one("span", "badge").text for row in rows if row.all("span", "badge")] == [
        "20 branches below not drawn"
    ]
    assert "20 more branches in the JSON only." in parsed.text

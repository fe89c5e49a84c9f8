"""Whole pages: self-contained, small, and with all that a report has to say."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

import treadle
from looked_at import (
    BANK,
    EVERYTHING,
    FAILING,
    LAZY,
    PROVED,
    ROOT,
    compared,
    explored,
    long_report,
    read,
    report,
)
from treadle.core.result import Result
from treadle.report.as_json import report_as_dict
from treadle.report.comparison import Comparison
from treadle.report.html.document import document
from treadle.report.html.index import Entry, index_page
from treadle.report.html.page import (
    comparison_in_html,
    comparison_page,
    page,
    report_in_html,
    result_in_a_frame,
    result_in_html,
)


def asked_for(text: str) -> list[str]:
    """Return what a page would ask others for."""
    found = [
        value
        for element in read(text).all()
        for name, value in element.attributes.items()
        if name in ("src", "href", "action", "srcset") and not value.startswith(("#", "data:"))
    ]
    for style in read(text).all("style"):
        found += re.findall(r"@import|url\((?!#)", style.text)
    return found


def data_of(text: str) -> dict[str, Any]:
    return json.loads(read(text).one("script", id="data").text)


@pytest.mark.parametrize("target", EVERYTHING)
def test_a_page_is_one_file_and_small(target: str) -> None:
    text = page(report(target))
    assert text.startswith("<!DOCTYPE html>\n<html")
    assert len(text.encode()) < 1_000_000
    assert asked_for(text) == [], "nothing from elsewhere"
    parsed = read(text.removeprefix("<!DOCTYPE html>\n"))
    assert parsed.one("html").attributes["lang"] == "en"
    names = [e.attributes["id"] for e in parsed.all() if "id" in e.attributes]
    assert len(set(names)) == len(names)
    targets = {a.attributes["href"] for a in parsed.all("a") if "href" in a.attributes}
    assert {one[1:] for one in targets} <= set(names), "links lead to what is there"


def test_a_long_execution_is_below_three_megabytes() -> None:
    found = long_report()
    (failure,) = found["failures"]
    assert len(failure["trace"]) == 1992
    assert len({step["process"] for step in failure["trace"]}) == 12
    assert len(page(found).encode()) < 3_000_000


@pytest.mark.parametrize("target", EVERYTHING)
def test_verdict_and_figures_come_first(target: str) -> None:
    found = report(target)
    banner = read(page(found)).one("header", "banner")
    assert banner.one("p", "verdict").text == found["verdict"]
    assert banner.one("h1").text == target
    figures = {
        one.one("dt").text: one.one("dd").text for one in banner.one("dl", "figures").all("div")
    }
    assert figures["executions"] == f"{found['executions']:,}"
    assert figures["steps"] == f"{found['events']:,}"
    assert figures["algorithm"] == "optimal"
    assert figures.get("findings", "0") == f"{found['failing']:,}"


@pytest.mark.parametrize("target", FAILING)
def test_every_failure_has_a_section_and_data(target: str) -> None:
    found = report(target)
    text = page(found)
    parsed = read(text)
    sections = parsed.all("section", "failure")
    assert [section.attributes["id"] for section in sections] == [
        f"f{number + 1}" for number in range(len(found["failures"]))
    ]
    links = parsed.all("nav", "contents")
    assert len(links) == (len(found["failures"]) > 1)
    for data, failure in zip(data_of(text)["failures"], found["failures"], strict=True):
        assert len(data["steps"]) == len(failure["trace"])
        assert data["state"] == failure["state"]
        assert data["links"] == failure["links"]
        assert 0 <= data["start"] < len(failure["trace"])
        for step, whole in zip(data["steps"], failure["trace"], strict=True):
            assert step["process"] == whole["process"]
            assert step.get("changes", []) == whole["changes"]
            assert step.get("takes", []) == whole["takes"]


def test_a_verified_page_says_what_was_covered() -> None:
    found = report(PROVED)
    parsed = read(page(found))
    assert not parsed.all("section", "failure")
    section = parsed.one("section", "exploration")
    covered = {one.one("dt").text: one.one("dd") for one in section.one("dl", "covered").all("div")}
    assert list(covered) == ["2 processes", "4 shared locations", "longest execution"]
    assert [code.text for code in covered["2 processes"].all("code")] == ["p0", "p1"]
    assert covered["longest execution"].text == "10 steps"
    assert section.all("ul", "tree")
    assert section.all("table", "heat-pairs")


def result(**changes: Any) -> Result:
    return Result("bank", "optimal", **{"executions": 7, "complete": True, **changes})


def remarks_of(text: str) -> list[tuple[str, str]]:
    rows = read(text).one("dl", "remarks").all("div")
    return [(row.one("dt").text, row.one("dd").text) for row in rows]


def test_notes_and_escapes_are_told() -> None:
    escape = "socket.socket at a.py:12: what sockets carry is not seen"
    text = result_in_html(result(notes=["a note"], escapes=[escape]))
    assert remarks_of(text) == [("escape", escape), ("note", "a note")]
    summary = read(text).one("p", "summary").text
    assert summary == (
        "no interleaving fails; except for what went through socket.socket at a.py:12"
    )


def test_what_ended_early_says_why() -> None:
    stopped = result(complete=False, stopped_by="timeout = 3 s", estimate=40.0, cut=2)
    text = result_in_html(stopped)
    assert remarks_of(text) == [
        ("stopped", "by timeout = 3 s: the space was not covered"),
        ("estimate", "about 40 executions in all or more"),
    ]
    assert "incomplete" in read(text).one("header", "banner").kinds
    assert "cut" in read(text).one("dl", "figures").text


def test_without_remarks_there_is_no_section_for_them() -> None:
    assert not read(result_in_html(result())).all("dl", "remarks")
    assert not read(result_in_html(result())).all("section", "exploration"), "not observed"


# Where pages come from


def test_results_make_pages_of_themselves() -> None:
    found = explored(BANK)
    text = found.to_html()
    (failure,) = found.failures
    assert text == result_in_html(found)
    command = read(text).one(kind="command").one("code").text
    assert command == f"treadle.replay(test, {failure.token!r})"
    namespace = {"treadle": treadle, "test": failure.test}
    assert eval(command, namespace).kind == "deadlock"


def test_notebooks_show_a_frame() -> None:
    frame = explored(BANK)._repr_html_()
    assert frame == result_in_a_frame(explored(BANK))
    element = read(frame).one("iframe")
    assert element.attributes["srcdoc"] == result_in_html(explored(BANK))
    assert element.attributes["sandbox"] == "allow-scripts"
    assert element.attributes["title"] == f"Treadle: {explored(BANK).program}"


def test_a_page_needs_nothing_but_the_json() -> None:
    again = json.loads(json.dumps(report(LAZY)))
    assert page(again) == page(report(LAZY))


def test_a_page_of_a_report_is_that_of_its_json() -> None:
    found = explored(PROVED)
    assert report_in_html(found, PROVED, []) == page(report_as_dict(found, PROVED, []))


def test_text_of_programs_cannot_end_the_data() -> None:
    evil = "</script><script>alert(1)</script>"
    text = document("t", "b", {"failures": [], "evil": evil})
    assert text.count("<script") == 2
    assert data_of(text)["evil"] == evil


def test_what_is_no_text_is_written_all_the_same() -> None:
    program = treadle.model.Program()

    @program.process
    def p(_: Any) -> Iterator[None]:
        yield
        raise ValueError("half \udc80 </script> of a character")

    text = treadle.explore(program).to_html()
    assert "\\udc80" in text.encode("utf-8").decode("utf-8")


def test_what_cannot_be_seen_is_escaped_in_the_data_too() -> None:
    text = document("t", "b", {"failures": [], "a\0": ["turn \u202e round", {"x": 1, "y": None}]})
    assert data_of(text)["a\\x00"] == ["turn \\u202e round", {"x": 1, "y": None}]


def test_a_long_message_is_cut_in_the_headline_and_there_as_a_whole() -> None:
    program = treadle.model.Program()

    @program.process
    def p(_: Any) -> Iterator[None]:
        yield
        raise ValueError("much " * 4000 + "end")

    text = treadle.explore(program).to_html()
    section = read(text).one("section", "failure")
    assert len(section.one("h2").text) == 400
    assert section.one("h2").text.endswith("…")
    assert section.one("pre", "whole").text.endswith("much end")
    (step,) = data_of(text)["failures"][0]["steps"]
    assert len(step["error"]) == 400


def test_long_lists_of_names_say_how_many_are_left_out() -> None:
    found = report(PROVED)
    names = [f"place{number}" for number in range(70)]
    text = page({**found, "exploration": {**found["exploration"], "locations": names}})
    covered = read(text).one("dl", "covered")
    assert "70 shared locations" in covered.text
    assert covered.text.count("place") == 60
    assert "and 10 more" in covered.text
    alone = page({**found, "exploration": {**found["exploration"], "locations": ["x"]}})
    assert "1 shared location" in [one.text for one in read(alone).one("dl", "covered").all("dt")]


def other_than_by_order(algorithm: str) -> str:
    """Return the page of two processes whose order matters, by an algorithm without races."""
    program = treadle.model.Program(x=0)
    for number in (1, 2):

        @program.process(name=f"p{number}")
        def p(s: Any, number: int = number) -> Iterator[None]:
            yield
            s.x = number

    return treadle.explore(program, algorithm=algorithm, observe=True).to_html()


@pytest.mark.parametrize("algorithm", ["random", "exhaustive", "sleep"])
def test_without_known_pairs_nobody_says_that_order_means_nothing(algorithm: str) -> None:
    text = read(other_than_by_order(algorithm)).one("section", "exploration").text
    assert "nothing depends on the order" not in text
    assert "does not look for any" in text


def test_one_execution_for_all_says_that_order_means_nothing() -> None:
    program = treadle.model.Program(x=0)

    @program.process
    def p(s: Any) -> Iterator[None]:
        yield
        s.x = 1

    text = treadle.explore(program, observe=True).to_html()
    assert "nothing depends on the order" in read(text).one("section", "exploration").text


# Comparisons


ALGORITHMS = ("exhaustive", "sleep", "source", "optimal")


def test_algorithms_side_by_side() -> None:
    text = comparison_in_html(compared(LAZY, *ALGORITHMS))
    assert len(text.encode()) < 1_000_000
    assert asked_for(text) == []
    parsed = read(text)
    rows = parsed.one("table", "algorithms").one("tbody").all("tr")
    assert [row.one("th").text for row in rows] == list(ALGORITHMS)
    executions = [row.all("td")[0].text for row in rows]
    assert executions == [f"{explored(LAZY, name).executions:,}" for name in ALGORITHMS]
    columns = parsed.one(kind="side-by-side").all("article")
    assert [column.one("h3").text for column in columns] == list(ALGORITHMS)
    for column, name in zip(columns, ALGORITHMS, strict=True):
        counts = column.all("span", "counts")[0].text
        assert counts.startswith(f"{explored(LAZY, name).executions} execution")
    assert not parsed.all("ul", "disagreements")


def test_disagreements_are_told() -> None:
    fine, wrong = result(), result(failures=[explored(BANK).failures[0]])
    wrong.algorithm = "source"
    shown = comparison_page(Comparison("t", [fine, wrong], frozenset()).as_dict())
    (said,) = read(shown).one("ul", "disagreements").all("li")
    assert said.text.startswith("optimal missed deadlock")


# An index


def test_the_index_has_failures_first() -> None:
    entries = [
        Entry("test_a.py::test_it", "verified", "verified, 2 executions", "a.html"),
        Entry("test_b.py::test_it", "failed", "failed: deadlock", "b.html"),
    ]
    parsed = read(index_page(entries))
    rows = parsed.one("ul", "index").all("li")
    assert [row.one("a").attributes["href"] for row in rows] == ["b.html", "a.html"]
    assert [row.one("a").text for row in rows] == ["test_b.py::test_it", "test_a.py::test_it"]
    assert "2 tests, 1 failed" in parsed.one("header").text


def test_what_pages_are_made_of_is_in_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    source = ROOT / "src" / "treadle"
    packaged = {
        str(file.relative_to(source))
        for pattern in project["tool"]["setuptools"]["package-data"]["treadle"]
        for file in source.glob(pattern)
    }
    others = {
        str(file.relative_to(source))
        for file in source.rglob("*.*")
        if file.suffix not in (".py", ".pyc", ".so") and file.is_file()
    }
    assert others == packaged

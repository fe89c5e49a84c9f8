"""Every kind of failure has a page and JSON as the schema says, whatever is known of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import golden_programs as programs
import treadle
import treadle.report
from looked_at import ACTORS, LAZY, NETWORK, PROVED, read, report
from schema import validate
from treadle.report.as_json import report_as_dict
from treadle.report.html.page import page

CASES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "assertion": (programs.lost_deposit, {}),
    "exception": (programs.chained, {}),
    "deadlock": (programs.missed_notification, {}),
    "livelock": (programs.spinning, {}),
    "race": (programs.unsynchronised, {"races": True}),
    "budget": (programs.endless, {"max_steps": 60}),
    "nondeterminism": (programs.moody, {}),
    "gil": (programs.lost_over_calls, {"granularity": "gil"}),
    "crowd": (programs.crowd, {}),
    "folded": (programs.long_stretches, {}),
    "model's deadlock": (programs.model_embrace, {}),
    "model's budget": (programs.model_endless, {"max_steps": 60}),
    "model's nondeterminism": (programs.model_moody, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_failure(name: str) -> None:
    test, options = CASES[name]
    result = treadle.explore(test, observe=True, **options)
    shown = json.loads(json.dumps(report_as_dict(result, name, ["replay"] * len(result.failures))))
    validate(shown)
    parsed = read(page(shown))
    sections = parsed.all("section", "failure")
    assert len(sections) == len(result.failures) == 1
    (failure,) = result.failures
    assert sections[0].one("span", "kind").text == failure.kind
    assert sections[0].one("h2").text == shown["failures"][0]["headline"]
    rows = [row for row in sections[0].all("li") if "id" in row.attributes]
    assert len(rows) == len(failure.trace)
    names = [e.attributes["id"] for e in parsed.all() if "id" in e.attributes]
    assert len(set(names)) == len(names)
    data = json.loads(parsed.one("script", id="data").text)
    assert len(data["failures"][0]["steps"]) == len(failure.trace)


def test_the_headline_is_that_of_the_terminal() -> None:
    result = treadle.explore(programs.lost_deposit)
    shown = report_as_dict(result, "", ["replay"])["failures"][0]["headline"]
    printed = str(result.failures[0]).partition("\n\n")[0]
    assert " ".join(printed.split()) == shown


async def forgotten_check() -> None:
    """Two tasks look, wait, and then both act."""
    left = [1]

    async def buyer() -> None:
        if left[0] > 0:
            await asyncio.sleep(0.1)
            left[0] -= 1

    await asyncio.gather(buyer(), buyer())
    assert left[0] >= 0


@pytest.mark.parametrize("target", [LAZY, ACTORS, NETWORK, PROVED])
def test_json_of_every_front_end_is_what_the_schema_says(target: str) -> None:
    shown = json.loads(json.dumps(report(target)))
    validate(shown)
    assert shown["exploration"]["tree"]


def test_tasks_have_a_page_and_json_as_the_schema_says() -> None:
    result = treadle.explore(forgotten_check, observe=True)
    shown = json.loads(json.dumps(report_as_dict(result, "tasks", ["replay"])))
    validate(shown)
    (failure,) = shown["failures"]
    parsed = read(page(shown))
    rows = [row for row in parsed.one("ol", "steps").all("li") if "id" in row.attributes]
    assert len(rows) == len(failure["trace"])
    assert len(parsed.all("svg", "diagram")) == 1
    assert result.to_html() == read_back(result._repr_html_())


def read_back(frame: str) -> str:
    """Return the page that a notebook shows in a frame."""
    return read(frame).one("iframe").attributes["srcdoc"]

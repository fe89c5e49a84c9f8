"""Reports to look at: results of examples with all that a page shows, and a way to read pages."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import treadle
from treadle.cli.loading import find
from treadle.core.result import Result
from treadle.report.as_json import report_as_dict
from treadle.report.comparison import Comparison
from treadle.session.settings import Settings

ROOT = Path(__file__).parent.parent
LAZY = "examples/threads/lazy_initialisation.py::checked_once"
BANK = "examples/threads/bank_transfer.py::opposite_order"
QUEUE = "examples/threads/bounded_queue.py::order_between_producers"
WAKEUP = "examples/threads/lost_wakeup.py::looked_once"
ACTORS = "examples/actors/database.py::main"
NETWORK = "examples/sdn/load_balancer.py::test_hasty"
PROVED = "examples/peterson.py::correct"
FAILING = (LAZY, BANK, QUEUE, WAKEUP, ACTORS, NETWORK)
EVERYTHING = (*FAILING, PROVED)


@functools.cache
def explored(target: str, algorithm: str = "optimal") -> Result:
    """Explore an example to the end, observed, and record what fails."""
    here = Path.cwd()
    os.chdir(ROOT)  # so that places are as users see them
    try:
        settings = Settings().changed({"stop_on_failure": False}, for_this_test=True)
        with find(target).opened(settings) as session:
            result = session.explore(algorithm, observe=True)
            session.record(*result.failures)
            return result
    finally:
        os.chdir(here)


@functools.cache
def report(target: str) -> dict[str, Any]:
    """Return what a page shows of an example; not to be changed."""
    result = explored(target)
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        replays = [f"treadle replay {target} {failure.token}" for failure in result.failures]
        return report_as_dict(result, target, replays)
    finally:
        os.chdir(here)


def failure(target: str) -> dict[str, Any]:
    """Return the first failure of an example."""
    return report(target)["failures"][0]


@functools.cache
def compared(target: str, *algorithms: str) -> Comparison:
    results = [explored(target, algorithm) for algorithm in algorithms]
    return Comparison(target, results, frozenset())


@functools.cache
def long_report(steps: int = 1992, lanes: int = 12) -> dict[str, Any]:
    """Return the report of a failing execution of so many steps in so many lanes."""
    program = treadle.model.Program(counter=0, cells=[0] * lanes)

    def worker(s: Any, me: int) -> Iterator[None]:
        for number in range(steps // lanes // 2):
            yield
            s.cells[me] = number
            yield
            s.counter = s.counter + 1

    for me in range(lanes):
        program.process(worker, me, name=f"worker{me}")

    @program.finally_
    def end(s: Any) -> None:
        assert s.counter < 0, "it counts"

    result = treadle.explore(program, schedule="round-robin", observe=True)
    replays = [f"treadle replay {one.token}" for one in result.failures]
    return report_as_dict(result, "long", replays)


def step(process: str, **more: Any) -> dict[str, Any]:
    """Return a step of the JSON."""
    return {
        "process": process,
        "accesses": [],
        "where": "",
        "source": "",
        "error": "",
        "label": "",
        "then": "",
        "lane": "",
        "arrival": "",
        "is_inner": False,
        "takes": [],
        "gives": [],
        "changes": [],
        "preempts": "",
        **more,
    }


def access(operation: str, location: str, value: str = "") -> dict[str, str]:
    return {"operation": operation, "location": location, "value": value}


def failing_with(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a failure of the JSON."""
    return {
        **failure(BANK),
        "kind": "assertion",
        "headline": "It failed",
        "trace": list(steps),
        "step": len(steps) - 1,
        "waits": [],
        "cycle": [],
        "acquired": [],
        "links": [],
        "cause": None,
        "pair": None,
        "graph": None,
        "frames": [],
        "state": {},
        "remarks": [],
        "traceback": "",
        **more,
    }


def tasks_report() -> dict[str, Any]:
    """Return the report of tasks: an arrival that wakes one of them, and callbacks of the loop."""

    def of_task(name: str, at: int, source: str, **more: Any) -> dict[str, Any]:
        return step(
            f"{name}#{at}", lane=name, label=name, source=source, where=f"shop.py:{at}", **more
        )

    timer = "0.1 s passes: sleep(0.1) of ann ends"
    steps = [
        of_task("main", 1, "await asyncio.gather(ann, bob)", then="waits"),
        of_task("ann", 1, "if stock > 0:", then="waits", accesses=[access("read", "stock", "1")]),
        of_task("bob", 1, "if stock > 0:", then="waits", accesses=[access("read", "stock", "1")]),
        step("ann/t1", lane="ann", label="ann", arrival=timer, then="over"),
        of_task("ann", 2, "stock -= 1", then="ends", accesses=[access("write", "stock", "0")]),
        step("main/d1", lane="main", label="main", is_inner=True, then="over"),
        step("bob/t1", lane="bob", label="bob", arrival=timer.replace("ann", "bob"), then="over"),
        of_task("bob", 2, "stock -= 1", then="ends", accesses=[access("write", "stock", "-1")]),
        step("main/d2", lane="main", label="main", is_inner=True, then="over"),
        of_task("main", 2, "assert stock >= 0", error="AssertionError"),
    ]
    ways = [(0, 1), (0, 2), (1, 3), (3, 4), (4, 5), (2, 6), (6, 7), (7, 8), (5, 9), (8, 9)]
    links = [{"source": a, "target": b, "kind": "wake", "about": "a future"} for a, b in ways]
    shown = report(PROVED)
    told = failing_with(*steps, links=links, headline="Assertion failed in main: oversold")
    return {**shown, "verdict": "failed", "exploration": None, "failures": [told]}


class Element:
    """An element of a page: its name, attributes, and what is in it."""

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.inside: list[Element | str] = []

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(one if isinstance(one, str) else one.text for one in self.inside)

    @property
    def kinds(self) -> set[str]:
        """Its classes."""
        return set(self.attributes.get("class", "").split())

    def all(self, name: str = "", kind: str = "", **attributes: str) -> list[Element]:
        """Return all elements in it of a name, with a class and with attributes, in order."""
        found = []
        for one in self.inside:
            if isinstance(one, str):
                continue
            wanted = {key.rstrip("_").replace("_", "-"): v for key, v in attributes.items()}
            if (
                name in ("", one.name)
                and (not kind or kind in one.kinds)
                and wanted.items() <= one.attributes.items()
            ):
                found.append(one)
            found += one.all(name, kind, **attributes)
        return found

    def one(self, name: str = "", kind: str = "", **attributes: str) -> Element:
        """Return the only one."""
        (found,) = self.all(name, kind, **attributes)
        return found


class _Reader(HTMLParser):
    """Reads pages strictly: whatever is opened is closed, in order."""

    VOID = frozenset({"meta", "link", "input", "br", "wbr"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        made = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].inside.append(made)
        if tag not in self.VOID:
            self._open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].name == tag, f"</{tag}> closes <{self._open[-1].name}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)

    def close(self) -> None:
        super().close()
        assert self._open == [self.root], f"<{self._open[-1].name}> is not closed"


def read(page: str) -> Element:
    """Return a page, or part of one, as a tree of elements."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.root

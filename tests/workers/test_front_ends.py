"""Every front end is explored in parts with the counts of one worker."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from drawn_programs import made

import treadle
import treadle.networks as sdn
from treadle.actors import Actor, program
from treadle.session.workers import policy


class Counter(Actor):
    def __init__(self) -> None:
        self.total = 0

    async def add(self, amount: int) -> None:
        self.total = self.total * 2 + amount


@program
def adding() -> None:
    counter = Counter()
    for amount in range(5):
        counter.add.send(amount)


def waiting() -> treadle.model.Program:
    """Return a model with a condition, a lock and a mailbox."""
    model = treadle.model.Program(x=0, lock=treadle.model.Lock())
    for name in "pqr":

        @model.process(name=name)
        def worker(s: Any) -> Any:
            yield s.lock.acquire()
            s.x += 1
            yield s.lock.release()
            value = s.x
            yield
            s.x = value

    return model


def forgetful() -> None:
    """Learn only in a rare execution what is shared: all parts begin anew then."""
    import threading

    class Box:
        first = 0

    def one() -> None:
        Box.first += 1
        if Box.first == 3:
            Box.second = 1  # type: ignore[attr-defined]

    def two() -> None:
        Box.first += 1
        if hasattr(Box, "second"):
            Box.second += 1

    threads = [threading.Thread(target=body) for body in (two, one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Balancer(sdn.Controller):
    """Sends packets to two hosts by turns."""

    def __init__(self) -> None:
        self.turn = 0

    def packet_in(self, event: Any) -> None:
        host = ("h2", "h3")[self.turn % 2]
        self.turn += 1
        for switch, port in self.net.path(event.switch, host):
            switch.install(sdn.match(src=event.packet.src), sdn.output(port))
        event.switch.packet_out(event)


def network() -> Any:
    """Return a network in which the order of packets decides where they go."""
    net = sdn.Network().switches("s1 s2").hosts("h1 h2 h3")
    net.links("h1-s1", "h2-s1", "h3-s2", "s1-s2")

    def packets(net: Any) -> None:
        for number in range(3):
            net.send("h1", dst="any", src=f"client{number}")

    return sdn.program(net, Balancer, packets)


async def tasks() -> None:
    box = {"n": 0}

    async def add() -> None:
        for _ in range(2):
            seen = box["n"]
            await treadle.pause()
            box["n"] = seen + 1

    await asyncio.gather(add(), add())
    assert box["n"] > 1


@pytest.mark.parametrize("order", ["any", "fifo"])
def test_tasks(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order they have cubes; in order of arrival zones, of which nothing is lost."""
    monkeypatch.setattr(policy, "_EXECUTIONS", 4)
    options: dict[str, Any] = {
        "order": order, "stop_on_failure": False, "split_by": "executions",
    }  # fmt: skip
    alone = treadle.explore(tasks, **options)
    result = treadle.explore(tasks, workers=2, **options)
    assert (result.executions, result.complete, result.workers) == (alone.executions, True, 2)
    assert alone.executions > 4
    assert result.lost == 0 or order == "any"
    found = {(f.kind, f.process, f.message) for f in result.failures}
    assert found == {(f.kind, f.process, f.message) for f in alone.failures}


async def sometimes_long() -> None:
    box = {"n": 0, "m": 0}

    async def add() -> None:
        for _ in range(2):
            seen = box["n"]
            await treadle.pause()
            box["n"] = seen + 1

    async def look() -> None:
        await treadle.pause()
        if box["n"] == 0:
            for _ in range(12):
                await treadle.pause()
                box["m"] += 1

    await asyncio.gather(add(), add(), look())


@pytest.mark.parametrize(("order", "executions"), [("any", 56), ("fifo", 24)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_what_was_cut_is_not_covered(
    order: str, executions: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if others go on where whoever was cut has given up."""
    options: dict[str, Any] = {
        "order": order, "stop_on_failure": False, "split_by": "executions", "max_steps": 28,
    }  # fmt: skip
    alone = treadle.explore(sometimes_long, **options)
    monkeypatch.setattr(policy, "_EXECUTIONS", size)
    several = treadle.explore(sometimes_long, workers=2, **options)
    assert several.workers == 2
    for result in (alone, several):
        assert (result.executions, result.failing) == (executions, 14 if order == "any" else 6)
        assert (result.complete, result.stopped_by) == (False, "max_steps = 28")
        assert [failure.kind for failure in result.failures] == ["budget"]


def in_common(end: str, *parts: list[Any]) -> Any:
    """Return tasks of which two zones have points that mean the same class."""
    return made(([*parts], end), "fifo")


@pytest.mark.parametrize(
    ("test", "executions"),
    [
        (
            in_common(
                "wait", [("later", 1), ("lock",), ("gap",)], [("read",), ("timeout", 1), ("add",)]
            ),
            24,
        ),
        (in_common("wait", [("add",), ("gap",)], [("within", 1), ("within", 1)]), 35),
        (in_common("exceptions", [("broken",)], [("gap",), ("first",), ("add",)]), 42),
    ],
    ids=["24", "35", "42"],
)
def test_classes_that_zones_have_in_common(
    test: Any, executions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each counts once, whoever runs it, also if somebody goes on later."""
    monkeypatch.setattr(policy, "_EXECUTIONS", 4)
    options: dict[str, Any] = {
        "order": "fifo", "stop_on_failure": False, "split_by": "executions",
    }  # fmt: skip
    assert treadle.explore(test, **options).executions == executions
    several = treadle.explore(test, workers=2, **options)
    assert (several.executions, several.complete) == (executions, True)
    assert (executions == 24) <= (several.elsewhere > 0)
    kept = tmp_path / "kept.json"
    part = treadle.explore(test, checkpoint=kept, max_executions=executions // 2, **options)
    assert not part.complete
    whole = treadle.explore(test, resume=kept, workers=2, **options)
    assert (whole.executions, whole.complete) == (executions, True)


@pytest.mark.parametrize("test", [adding, waiting, forgetful, network])
@pytest.mark.parametrize("algorithm", ["optimal", "source"])
def test_the_same_counts(test: Any, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "_EXECUTIONS", 4)
    options = {"stop_on_failure": False, "split_by": "executions"}
    alone = treadle.explore(test, algorithm, **options)
    result = treadle.explore(test, algorithm, workers=2, **options)
    assert result.workers == 2
    assert alone.executions > 4
    assert (result.executions, result.complete) == (alone.executions, True)
    assert {f.message for f in result.failures} == {f.message for f in alone.failures}

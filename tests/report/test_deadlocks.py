"""Deadlock cycles in words and as JSON, from data alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from schema import validate
from treadle.core.deadlocks import VERDICTS, Condition, DeadlockCycle, Deadlocks, Link
from treadle.core.failure import Failure
from treadle.core.schedule import Schedule
from treadle.report.deadlocks import cycle_in_words, deadlocks_as_dict, deadlocks_in_words, headline

ASK = Link("Self.ask", "a.py", 6, "get", "Self.answer", "Self of L9", "Self.ask")
REGISTER = Link("DB.register", "db.py", 3, "get", "Worker.ping", "Worker of L9", "Worker.work")
WORK = Link("Worker.work", "db.py", 7, "await", "DB.get_data", "DB of L9", "DB.register")
ENTER = Link("Valve.enter", "v.py", 2, "until", "Valve.lift")
FAILURE = Failure("deadlock", "ask waits for answer", Schedule(["main", "main.1:ask"]), 2)


def cycle(*chain: Link, verdict: str = "undecided", **more: object) -> DeadlockCycle:
    kind = "condition" if any(link.wait == "until" for link in chain) else "deadlock"
    return replace(DeadlockCycle(kind, chain, verdict), **more)


def test_a_cycle_of_one() -> None:
    assert (
        str(cycle(ASK))
        == "Self.ask waits at a.py:6 for Self.answer; Self of L9 is held by Self.ask"
    )


def test_a_cycle_of_two() -> None:
    assert cycle_in_words(cycle(REGISTER, WORK)) == (
        "DB.register waits at db.py:3 for Worker.ping; Worker of L9 is held by Worker.work, which "
        "waits, its actor released, at db.py:7 for DB.get_data; DB of L9 is held by DB.register"
    )


def test_a_cycle_through_a_condition() -> None:
    assert "Valve.enter waits for a condition at v.py:2 for Valve.lift to write" in str(
        cycle(ENTER)
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Deadlocks("a.py", free=True), "VERIFIED: a.py, free of deadlock, proved for all inputs"),
        (
            Deadlocks("a.py", free=True, cycles=[cycle(ASK, verdict="unfeasible")]),
            "VERIFIED: a.py, free of deadlock, proved",
        ),
        (
            Deadlocks("a.py", cycles=[cycle(ASK, verdict="confirmed"), cycle(ASK)]),
            "FAILED: a.py, 1 deadlock cycle confirmed of 2",
        ),
        (
            Deadlocks("a.py", cycles=[cycle(ASK), cycle(ASK)]),
            "INCOMPLETE: a.py, 2 deadlock cycles, none confirmed",
        ),
        (
            Deadlocks("a.py", notes=["nothing is proved, a.py:3: getattr"]),
            "INCOMPLETE: a.py, no deadlock cycle, but not all code is understood",
        ),
    ],
)
def test_headlines(found: Deadlocks, expected: str) -> None:
    assert headline(found) == expected
    assert str(found).splitlines()[0] == expected


def test_a_whole_report() -> None:
    found = Deadlocks(
        "a.py",
        cycles=[
            cycle(ASK, verdict="confirmed", failures=[FAILURE], states=2, pruned=1),
            cycle(ENTER, verdict="unfeasible", states=1),
            cycle(REGISTER, WORK, reason="timeout = 5 s"),
        ],
        conditions=[Condition("Valve.enter", "v.py", 2, "self.open")],
        notes=["something"],
        seconds=1.5,
    )
    assert deadlocks_in_words(found).splitlines() == [
        "FAILED: a.py, 1 deadlock cycle confirmed of 3",
        "  time        1.50 s",
        "",
        "Cycle 1, confirmed (2 states, 1 execution cut):",
        "  Self.ask waits at a.py:6 for Self.answer; Self of L9 is held by Self.ask",
        "  Schedule: main main.1:ask",
        "",
        "Cycle 2, through a condition, unfeasible here (1 state, 0 executions cut):",
        "  Valve.enter waits for a condition at v.py:2 for Valve.lift to write what it",
        "  waits for",
        "",
        "Cycle 3, not decided: timeout = 5 s:",
        "  DB.register waits at db.py:3 for Worker.ping; Worker of L9 is held by",
        "  Worker.work, which waits, its actor released, at db.py:7 for DB.get_data; DB",
        "  of L9 is held by DB.register",
        "",
        "Conditions that may never hold:",
        "  Valve.enter at v.py:2: self.open",
        "",
        "  note        something",
    ]


def test_json() -> None:
    found = Deadlocks(
        "a.py",
        cycles=[cycle(ASK, verdict="confirmed", failures=[FAILURE], states=2, tests=["test_x"])],
        conditions=[Condition("Valve.enter", "v.py", 2, "self.open")],
        seconds=0.12345,
    )
    shown = json.loads(json.dumps(deadlocks_as_dict(found)))
    keys = ["target", "free", "cycles", "conditions", "notes", "seconds"]
    assert list(shown) == keys
    validate(shown, "deadlocks")
    assert shown["cycles"][0]["chain"][0]["words"] == str(found.cycles[0]).partition(", which")[0]
    assert shown["seconds"] == 0.1235
    assert shown["conditions"] == [
        {"method": "Valve.enter", "file": "v.py", "line": 2, "condition": "self.open"}
    ]
    (one,) = shown["cycles"]
    assert one["verdict"] in VERDICTS
    assert one["tests"] == ["test_x"]
    assert one["failures"][0]["message"] == "ask waits for answer"


def test_what_is_decided() -> None:
    confirmed, unfeasible = cycle(ASK, verdict="confirmed"), cycle(ASK, verdict="unfeasible")
    assert Deadlocks("a", free=True).is_decided
    assert not Deadlocks("a").is_decided
    assert Deadlocks("a", cycles=[confirmed, unfeasible]).is_decided
    assert not Deadlocks("a", cycles=[confirmed, cycle(ASK)]).is_decided
    assert Deadlocks("a", cycles=[confirmed, cycle(ASK)]).confirmed == [confirmed]

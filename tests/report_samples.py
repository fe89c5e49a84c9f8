"""Failures as a front end would report them, written by hand for the tests of reports."""

from __future__ import annotations

from textwrap import dedent

from treadle.core.failure import Failure
from treadle.core.records import Access, StepRecord, Wait, WaitKind
from treadle.core.schedule import Schedule


def step(process: str, line: int, *accesses: str, file: str = "bank.py", **more: str) -> StepRecord:
    """Return a step; an access is written `read x = 1`."""
    parsed = []
    for text in accesses:
        words, _, value = text.partition(" = ")
        operation, _, location = words.rpartition(" ")
        held = location if "acquire" in operation else ""
        parsed.append(Access(operation, location, value, held))
    return StepRecord(process, tuple(parsed), f"{file}:{line}", **more)


def waits_for_lock(process: str, lock: str, holders: tuple[str, ...], where: str) -> Wait:
    return Wait(process, lock, holders, where, kind=WaitKind.LOCK, held=lock)


def failure(kind: str, message: str, trace: list[StepRecord], **more) -> Failure:
    schedule = Schedule(record.process for record in trace)
    return Failure(kind, message, schedule, **{"step": len(trace), **more}, trace=trace)


LOST_UPDATE = failure(
    "assertion",
    "AssertionError: 1 of 2 deposits is lost",
    [
        step("alice", 7, "read balance = 0"),
        step("bob", 7, "read balance = 0"),
        step("bob", 9, "write balance = 1", then="ends"),
        step("alice", 9, "write balance = 1", then="ends"),
        step("audit", 13, "join alice"),
        step(
            "audit",
            15,
            "join bob",
            "read balance = 1",
            error="AssertionError: 1 of 2 deposits is lost",
        ),
        step("late", 20, "read balance = 1"),
    ],
    step=5,
    process="audit",
)

EMBRACE = failure(
    "deadlock",
    "",
    [step("left", 5, "acquire a"), step("right", 10, "acquire b")],
    waits=(
        waits_for_lock("left", "b", ("right",), "bank.py:6"),
        waits_for_lock("right", "a", ("left",), "bank.py:11"),
    ),
)


def text_of(block: str) -> str:
    return dedent(block).strip("\n")

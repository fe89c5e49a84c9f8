"""The options of tests that are coroutine functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict

from treadle.core.options import FLAG, Names, Number, OneOf, Option
from treadle.threads.options import INSTRUMENT, PATIENCE, RESTORE, SECONDS, WHICH_WAITS

ORDERS = ("fifo", "any")
YIELDS = ("test", "exact", "all")
LATENCY = 60.0
"""Seconds that what comes from outside may take, unless told otherwise."""


class Boundaries(Names):
    """Texts at which data may be cut; false for none."""

    def stored(self, value: Any) -> Any:
        """Return any collection as a tuple, and false as an empty one."""
        return () if value is False else super().stored(value)


class TaskOptions(TypedDict, total=False):
    """What can be asked of a test that is a coroutine function."""

    order: Annotated[
        str,
        Option(
            OneOf(ORDERS),
            "fifo",
            "Which ready task is next: the first of the queue, as in CPython, or any.",
        ),
    ]
    yields: Annotated[
        str,
        Option(
            OneOf(YIELDS),
            "test",
            "Where `sleep(0)` may take more than one turn of the loop: in the test's own module, "
            "nowhere, or everywhere.",
        ),
    ]
    latency: Annotated[
        float,
        Option(SECONDS, LATENCY, "How long what comes from outside may take."),
    ]
    timeouts: Annotated[
        str,
        Option(
            WHICH_WAITS,
            "latency",
            "When timeouts expire: if what they wait for can take that long, always in one "
            "execution, only if nothing else can happen, or never.",
        ),
    ]
    cancellations: Annotated[
        int,
        Option(
            Number(from_zero=True),
            0,
            "Cancel up to N tasks of the test, at any moment, as a client that hangs up would.",
        ),
    ]
    leftover_tasks: Annotated[
        bool,
        Option(FLAG, True, "Whether a task that is still pending at the end is a failure."),
    ]
    threads: Annotated[
        bool,
        Option(
            FLAG,
            False,
            "Whether the loop is explored as one thread among others from the beginning.",
        ),
    ]
    split: Annotated[
        Iterable[str] | Literal[False],
        Option(
            Boundaries("texts", r'["\n"]', "TEXT"),
            (),
            "A text behind which what is written to a connection may arrive in two pieces.",
        ),
    ]
    resets: Annotated[
        int,
        Option(Number(), 0, "How many connections may break in an execution, at any moment."),
    ]
    restore: Annotated[bool, RESTORE]
    instrument: Annotated[Iterable[str], INSTRUMENT]
    watchdog: Annotated[float | None, PATIENCE]

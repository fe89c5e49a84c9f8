"""The options of tests that use threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypedDict

from treadle.core.options import COUNT_OR_NONE, FLAG, SECONDS_OR_NONE, Names, Number, OneOf, Option
from treadle.python.runtime.patience import BY_LATENCY, LATENCY, TIMEOUTS

GRANULARITIES = ("access", "gil", "free-threaded")
ESCAPE = "escape"
"""The kind of failure that an escape is, if it is to be one."""
ESCAPES = ("note", "fail")
CLOCKS = ("thread", "shared")

WATCHDOG = 10.0
"""Seconds that a step may take, unless told otherwise."""

SECONDS = Number(float, above_zero=True, unit="seconds", metavar="SECONDS")
WHICH_WAITS = OneOf(TIMEOUTS)

INSTRUMENT = Option(
    Names("packages", '["json"]', "PACKAGE"),
    (),
    "A package whose code is under test besides the project's own.",
)
RESTORE = Option(
    FLAG,
    True,
    "Whether what an execution changed in modules and classes under test is undone before the "
    "next one.",
)
PATIENCE = Option(
    SECONDS_OR_NONE,
    WATCHDOG,
    "Seconds after which a step is said to block outside of Treadle's control.",
    in_tokens=False,
)


class ThreadOptions(TypedDict, total=False):
    """What can be asked of a test that uses threads."""

    granularity: Annotated[
        str,
        Option(
            OneOf(GRANULARITIES),
            "access",
            "Where threads may switch: between any two accesses, only where a global interpreter "
            "lock is handed over, or also inside of what looks through a list.",
        ),
    ]
    instrument: Annotated[Iterable[str], INSTRUMENT]
    races: Annotated[bool, Option(FLAG, False, "Whether a data race is a failure.")]
    thread_exceptions: Annotated[
        bool,
        Option(
            FLAG,
            True,
            "Whether an exception that ends a thread is a failure; else it is left to "
            "`threading.excepthook`.",
        ),
    ]
    max_rounds: Annotated[
        int | None,
        Option(
            COUNT_OR_NONE,
            None,
            "Leave out what comes after a thread slept, or waited in vain, more than N times in a "
            "row at one line.",
        ),
    ]
    escapes: Annotated[
        str,
        Option(
            OneOf(ESCAPES),
            "note",
            "What becomes of what leaves Treadle's sight: a part of the verdict, or a failure.",
        ),
    ]
    clock: Annotated[
        str,
        Option(
            OneOf(CLOCKS),
            "thread",
            "Whose clock a thread looks at: one of its own, or one that all share, so that each "
            "look is a step.",
        ),
    ]
    latency: Annotated[
        float,
        Option(
            SECONDS,
            LATENCY,
            "Seconds that whatever threads do takes at most: a sleep or a timed wait beyond that "
            "ends only when nothing else can go on.",
        ),
    ]
    timeouts: Annotated[
        str,
        Option(
            WHICH_WAITS,
            BY_LATENCY,
            "Which timed waits end only when nothing else can go on: those beyond `latency`, none "
            "(explore), or all (last); or whether they never time out.",
        ),
    ]
    restore: Annotated[bool, RESTORE]
    towards_deadlock: Annotated[
        bool,
        Option(
            FLAG,
            False,
            "Try first what leads to cycles of locks that the source shows; leave out nothing.",
            in_tokens=False,
        ),
    ]
    watchdog: Annotated[float | None, PATIENCE]

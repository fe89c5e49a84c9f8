"""The options of tests that are coroutine functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypedDict

from treadle.core.options import FLAG, OneOf, Option
from treadle.threads.options import INSTRUMENT, PATIENCE

ORDERS = ("fifo", "any")
YIELDS = ("test", "exact", "all")


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
    leftover_tasks: Annotated[
        bool,
        Option(FLAG, True, "Whether a task that is still pending at the end is a failure."),
    ]
    instrument: Annotated[Iterable[str], INSTRUMENT]
    watchdog: Annotated[float | None, PATIENCE]

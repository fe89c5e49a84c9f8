"""The options of programs of actors."""

from __future__ import annotations

from typing import Annotated, TypedDict

from treadle.core.options import COUNT, FLAG, SECONDS_OR_NONE, OneOf, Option

DEPENDENCIES = ("actor", "field", "access", "entry")
ORDERS = ("any", "sender", "fifo")

MAX_TASKS = 10_000
"""Tasks that one execution may have, unless told otherwise."""

WATCHDOG = 10.0
"""Seconds that one step may compute, unless told otherwise."""


class ActorOptions(TypedDict, total=False):
    """What can be asked of a program of actors."""

    dependency: Annotated[
        str,
        Option(
            OneOf(DEPENDENCIES),
            "actor",
            "When two steps in one actor are dependent: always, or by the fields that they may "
            "access, or by what they access, or by keys of dictionaries too.",
        ),
    ]
    order: Annotated[
        str,
        Option(
            OneOf(ORDERS),
            "any",
            "In which order messages are taken up: any, as each sender sent them, or as they "
            "arrive.",
        ),
    ]
    max_tasks: Annotated[
        int, Option(COUNT, MAX_TASKS, "Tasks that one execution may have; more is a failure.")
    ]
    watchdog: Annotated[
        float | None,
        Option(
            SECONDS_OR_NONE,
            WATCHDOG,
            "Seconds of the processor after which a step is said to have no end.",
            in_tokens=False,
        ),
    ]
    always_release: Annotated[
        bool,
        Option(FLAG, False, "Whether `await` lets others in even if there is nothing to wait for."),
    ]
    early_stop: Annotated[
        bool,
        Option(
            FLAG,
            False,
            "Whether an execution ends where its deadlock is inevitable (exhaustive and sleep).",
        ),
    ]

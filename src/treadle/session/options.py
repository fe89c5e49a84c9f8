"""All options: those of every search, those of front ends, and those of what is around a search."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypedDict

from treadle.actors.options import ActorOptions
from treadle.core.options import (
    COUNT,
    COUNT_OR_NONE,
    FLAG,
    SECONDS_OR_NONE,
    CountOr,
    Directory,
    Engine,
    File,
    Number,
    OneOf,
    Option,
    declared_in,
    merged,
)
from treadle.explore.budget import MAX_STEPS
from treadle.explore.choosers import SCHEDULES
from treadle.explore.constrained import CONSTRAINTS, UNIFORMITY
from treadle.explore.registry import ALGORITHMS
from treadle.session.front_ends import FRONT_ENDS
from treadle.tasks.options import TaskOptions
from treadle.threads.options import ThreadOptions


class SearchOptions(TypedDict, total=False):
    """What can be asked of every exploration."""

    schedule: Annotated[
        str,
        Option(OneOf(SCHEDULES), "stay", "Which process runs where the algorithm leaves it open."),
    ]
    max_executions: Annotated[int | None, Option(COUNT_OR_NONE, None, "Stop after N executions.")]
    max_steps: Annotated[
        int, Option(COUNT, MAX_STEPS, "Steps that one execution may take; more is a failure.")
    ]
    timeout: Annotated[float | None, Option(SECONDS_OR_NONE, None, "Stop after this time.")]
    seed: Annotated[int, Option(Number(), 0, "Seed of `random` and `pct`.")]
    depth: Annotated[int, Option(COUNT, 3, "Bug depth that `pct` aims at.")]
    stop_on_failure: Annotated[
        bool,
        Option(FLAG, True, "Whether the first failure ends the search.", off="keep-going"),
    ]
    learn: Annotated[
        bool,
        Option(
            FLAG,
            True,
            "Whether the eager algorithms leave out what was seen to be impossible, which their "
            "paper does not.",
        ),
    ]
    refined: Annotated[
        bool,
        Option(
            FLAG,
            True,
            "Whether the context-sensitive algorithms compare only what a race can change, not "
            "whole states.",
        ),
    ]
    constraints: Annotated[
        str,
        Option(
            OneOf(CONSTRAINTS),
            "declared",
            "Which independence constraints the constrained algorithms use; 'synthesised' asks a "
            "solver for those that are not declared.",
        ),
    ]
    uniformity: Annotated[
        str,
        Option(
            OneOf(UNIFORMITY),
            "static",
            "How the constrained algorithms know that a constraint goes on to hold: nobody else "
            "may write what it reads ('static'), or a solver sees that others keep it true "
            "('keeps').",
        ),
    ]


class WorkerOptions(TypedDict, total=False):
    """Who explores: one process, several, or the machines of an engine."""

    workers: Annotated[
        int | str,
        Option(
            CountOr("auto"),
            1,
            "Explore with N processes, or with 'auto', one for each processor; small spaces need "
            "none of them.",
        ),
    ]
    on: Annotated[
        Any,
        Option(
            Engine(), None, "Explore on an engine: 'ray', 'ray://HOST:PORT' or 'dask://HOST:PORT'."
        ),
    ]
    checkpoint: Annotated[
        str | None, Option(File(), None, "Keep in a file how far the exploration is.")
    ]
    resume: Annotated[
        str | None, Option(File(), None, "Go on with what `checkpoint` kept in a file.")
    ]
    spawn: Annotated[
        bool,
        Option(FLAG, False, "Whether workers import the test by name; on Linux they are copies."),
    ]
    split_by: Annotated[
        str,
        Option(
            OneOf(("time", "executions")),
            "time",
            "What decides when a part of the space is divided further; 'executions' makes the "
            "same parts in every run, for experiments.",
        ),
    ]


class ProgramOptions(ThreadOptions, ActorOptions, TaskOptions, total=False):
    """What decides how a program runs: the options of front ends."""


class Options(SearchOptions, WorkerOptions, ProgramOptions, total=False):
    """The options of `treadle.explore`."""


class AlgorithmOption(TypedDict, total=False):
    """Which algorithm; apart, as `explore` takes it in second place, too."""

    algorithm: Annotated[str, Option(OneOf(ALGORITHMS), "optimal", "Which interleavings are run.")]


class SurroundingOptions(TypedDict, total=False):
    """What can be asked of `check`, settings and commands: what becomes of an exploration."""

    strict: Annotated[
        bool,
        Option(FLAG, False, "Whether a space that was not covered within its budget is a failure."),
    ]
    shrink: Annotated[
        bool, Option(FLAG, True, "Look for the same failure with fewer context switches.")
    ]
    database: Annotated[
        str | None,
        Option(
            Directory(),
            ".treadle",
            "Directory of failing schedules, which the next run tries first.",
        ),
    ]


class CheckOptions(Options, AlgorithmOption, SurroundingOptions, total=False):
    """The options of `treadle.check`."""

    profile: str


ALGORITHM = declared_in(AlgorithmOption)["algorithm"]
SEARCH = declared_in(SearchOptions)
WORKERS = declared_in(WorkerOptions)
SURROUNDING = declared_in(SurroundingOptions)


def front_end_options() -> Mapping[str, Sequence[Option]]:
    """Return the options of front ends by name: one name may mean something else to another."""
    return _all_options(FRONT_ENDS.changes).of_front_ends


def running() -> Mapping[str, Option]:
    """Return the options that decide how a program runs: those of `treadle.replay`."""
    return _all_options(FRONT_ENDS.changes).running


def exploring() -> Mapping[str, Option]:
    """Return the options of `treadle.explore`, the algorithm first."""
    return _all_options(FRONT_ENDS.changes).exploring


def everything() -> Mapping[str, Option]:
    """Return all options that can be set for a test."""
    return _all_options(FRONT_ENDS.changes).everything


def defaults() -> Mapping[str, object]:
    """Return what each option is if nobody sets it."""
    return _all_options(FRONT_ENDS.changes).defaults


class _Options(NamedTuple):
    """The options that there are with certain front ends."""

    of_front_ends: Mapping[str, Sequence[Option]]
    running: Mapping[str, Option]
    exploring: Mapping[str, Option]
    everything: Mapping[str, Option]
    defaults: Mapping[str, object]


@functools.lru_cache(maxsize=1)
def _all_options(changes: int) -> _Options:
    """Work the options out, anew after each change of the front ends."""
    del changes
    of_front_ends: dict[str, list[Option]] = {}
    for front_end in FRONT_ENDS.values():
        for name, option in front_end.options.items():
            of_front_ends.setdefault(name, []).append(option)
    running = {name: merged(options) for name, options in of_front_ends.items()}
    exploring = {"algorithm": ALGORITHM, **SEARCH, **WORKERS, **running}
    everything = {**exploring, **SURROUNDING}
    defaults = {name: option.default for name, option in everything.items()}
    return _Options(of_front_ends, running, exploring, everything, defaults)

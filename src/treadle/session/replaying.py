"""One interleaving again, from what a user has of it: a token, or a written schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.core.options import find_option
from treadle.core.schedule import Schedule
from treadle.findings.database import RecordedStep
from treadle.findings.replay import Replayed
from treadle.findings.tokens import Recipe, is_token, read_token
from treadle.session.options import running
from treadle.session.recipes import options_of
from treadle.session.session import opened
from treadle.session.settings import Settings


def rerun(
    test: object,
    schedule: Sequence[str] | str,
    *,
    recorded: Sequence[RecordedStep] = (),
    explained: bool = False,
    **given: Any,
) -> Replayed:
    """Run exactly one interleaving, once, and say how it differs from what was recorded.

    `given` are options of front ends, None for those that a token knows; `recorded` is what the
    database knows of the schedule. Nothing else is run unless a failure is to be `explained`.
    """
    for name in given:
        find_option(running(), name)
    what = interleaving(schedule)
    if isinstance(what, Recipe):
        given |= options_of(what, **given)
    options = {name: value for name, value in given.items() if value is not None}
    settings = Settings().changed(options, for_this_test=True)
    with opened(test, settings) as session:
        replayed = session.rerun(what, races=settings.races, recorded=recorded)
        if explained and replayed.failure is not None:
            session.record(replayed.failure)
        return replayed


def interleaving(schedule: Sequence[str] | str) -> Schedule | Recipe:
    """Read what a user gives: a token, a written schedule, or the names of processes."""
    if isinstance(schedule, Schedule):
        return schedule
    if not isinstance(schedule, str):
        return Schedule(schedule)
    return read_token(schedule) if is_token(schedule) else Schedule.parse(schedule)

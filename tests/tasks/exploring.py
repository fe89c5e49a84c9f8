"""Explore an asyncio test, and see in which final states it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.core.program import Run
from treadle.core.result import Result
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.tasks.run import TaskRun

DEADLOCK = "deadlock"


def final_state(run: Run) -> str:
    """Return how an execution ended, in words."""
    assert isinstance(run, TaskRun)
    run.ending()
    if run.main._state == "PENDING":
        return DEADLOCK
    return repr([repr(crash.exception) for crash in run.crashes] or run.main._result)


def explored(test: Callable[[], Any], order: str, **options: Any) -> tuple[Result, set[str]]:
    """Explore all of a test; return the result, and the final states that were seen."""
    seen: set[str] = set()

    def note(run: Run, _: object) -> bool:
        if not run.enabled():
            seen.add(final_state(run))
        return False

    asked = {"order": order, "yields": "exact", "stop_on_failure": False, **options}
    with opened(test, Settings.asked_for(asked)) as session:
        return session.explore(is_enough=note), seen

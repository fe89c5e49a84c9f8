"""Sleep sets alone (Godefroid 1996; "Source Sets", J. ACM 2017, section 2).

Explores every enabled process in every state except those asleep: never two complete executions of
one class, but many that are begun and then blocked.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.program import Run
from treadle.explore.basic.backtracking import Backtracking


class SleepSets(Backtracking):
    """Explore every enabled process that is not asleep."""

    survives_cuts: ClassVar[bool] = True
    divides: ClassVar[bool] = True

    def first_choices(self, run: Run, process: int) -> list[int]:
        """Return all enabled processes, the default schedule's choice first."""
        return everybody(run, process)


def everybody(run: Run, process: int) -> list[int]:
    """Return all enabled processes, a given one first."""
    return [process, *(other for other in run.enabled() if other != process)]

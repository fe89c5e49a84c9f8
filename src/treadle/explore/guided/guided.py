"""What explores a program that cuts executions which do not lead where they are to lead.

Cutting removes whole subtrees, and sleep sets only leave out what is equivalent to something that
is explored: so every class of deadlocks survives. Algorithms that find other executions from the
races of what was executed would lose some: a cut execution has not executed them.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.explore.basic.exhaustive import Exhaustive
from treadle.explore.basic.sleep import SleepSets
from treadle.explore.strategy import Algorithm


class GuidedExhaustive(Exhaustive):
    """Every interleaving that is not cut: the paper's figures."""

    is_guided: ClassVar[bool] = True


class GuidedSleepSets(SleepSets):
    """Every interleaving that is not cut, and not asleep."""

    is_guided: ClassVar[bool] = True


GUIDED: dict[str, type[Algorithm]] = {"exhaustive": GuidedExhaustive, "sleep": GuidedSleepSets}
"""By the name of what they are without cuts."""

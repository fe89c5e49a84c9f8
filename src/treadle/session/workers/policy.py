"""When parts are given up, and how many are handed out at once: all numbers in one place.

What an unfinished part has explored is lost when it is given up. Estimates of what is left in it
are too small, by 3 in the median: so a part is looked at once, early, and then finished, as long as
there are others for everybody. Only when work is scarce it is looked at again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ALONE = 0.5
"""Seconds that a space is explored in the process itself before hands are started."""
SHORT = 1.0
"""Seconds that may be left, by the estimate, for it to be finished there."""
TOO_SMALL = 3.0
"""What the estimate is too small by, in the median."""
_QUANTUM = 0.25
_OF_ELAPSED = 0.01
_FIRST_LOOK = 1 / 8
"""Part of a quantum after which a part is looked at."""
_TOO_LARGE = 8.0
"""Quanta that a part may need, if there are plenty."""
_SCARCE = 4.0
"""What quanta are divided by when there are fewer parts than hands, and how patient hands are."""
_STILL_SCARCE = 2.0
"""Quanta that a part may need then."""
_IDLE_AFTER, _IDLE_BELOW = 0.1, 0.3
"""Seconds, and share explored, with which a part is given up because somebody is idle."""
_MANY = 128
"""Hands of which most would have nothing to do while one finishes a large part."""
_MOST_AT_ONCE = 64
_EACH = 3
"""Jobs for each hand that pending parts are divided into."""
_PAIRS = (2, 8)
_EXECUTIONS = 64
"""Executions of a part, for each order and one more, if time is not to decide."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How a space is handed out."""

    workers: int
    by_executions: bool = False
    """Whether executions decide, and not time, so that the same happens in every run."""
    hands: int = 1
    """How many hands each worker has: several, if workers are foremen."""
    cost: float = 0.0
    """Seconds of the coordinator for each job: quanta are long enough for it to be idle half."""
    is_kept: bool = False
    """Whether it is kept how far an exploration is, which is known of parts that are finished."""

    def quantum(self, elapsed: float) -> float:
        """Return how long a job is to be, in seconds of the processor."""
        return max(_QUANTUM, _OF_ELAPSED * elapsed, 2 * self.workers * self.cost)

    def is_scarce(self, pending: int) -> bool:
        """Tell whether there is less to do than there are hands."""
        return pending < self.workers * self.hands and self.workers * self.hands > 1

    @property
    def patience(self) -> float:
        """How many quanta a part may take at most when work is scarce."""
        return _SCARCE

    @property
    def again(self) -> float:
        """After how many quanta a part is looked at again although there are plenty; 0: it is not.

        Many would wait for the last one whose estimate was too small; few lose more by giving up,
        unless it may end before the part does: the next one would begin where this one began.
        """
        is_again = self.is_kept or self.workers * self.hands >= _MANY
        return _TOO_LARGE if is_again else 0.0

    def shortened(self, quantum: float) -> float:
        """Return how long a job is when work is scarce."""
        return quantum / _SCARCE

    def group(self, pending: int, idle: int) -> int:
        """Return how many parts one job gets, when so many workers are idle.

        Foremen share what there is: what is too much for one comes back, and too little leaves
        most of its hands idle. As much as each of them gets is kept for those who come back.
        """
        if self.hands > 1:
            return max(1, min(pending // (idle + 1), _MOST_AT_ONCE * self.hands))
        return max(1, min(pending // (_EACH * self.workers), _MOST_AT_ONCE))

    def wanted(self, parts: int) -> int:
        """Return on how many pairs to divide when so many parts are all there is."""
        return max(1, math.ceil(math.log2(4 * self.workers * self.hands / max(parts, 1))))

    def limit(self, orders: int) -> int:
        """Return how many executions a part may have, if these decide."""
        return _EXECUTIONS * (1 + orders)


class Looks:
    """When to look at a part that is being explored, and whether to give it up."""

    def __init__(self, quantum: float, patience: float, again: float = 0.0) -> None:
        looks = [(quantum * _FIRST_LOOK, quantum * (_STILL_SCARCE if patience else _TOO_LARGE))]
        if patience:
            looks += [(quantum, quantum * patience), (quantum * patience, -1.0)]
        elif again:
            looks.append((quantum * again, -1.0))
        self._looks = looks

    @property
    def moments(self) -> list[float]:
        """After how many seconds there are looks."""
        return [seconds for seconds, _ in self._looks]

    def is_due(self, used: float) -> bool:
        """Tell whether it is time to look, after so many seconds."""
        return bool(self._looks) and used >= self._looks[0][0]

    def is_too_large(self, used: float, share: float) -> bool:
        """Look: tell whether more than it may take is needed, a share being explored."""
        _, most = self._looks.pop(0)
        return needed(used, share) > most


def needed(used: float, share: float) -> float:
    """Estimate how many seconds are left, a share being explored in those used."""
    return math.inf if share <= 0 else used / share - used


def is_for_the_idle(used: float, share: float) -> bool:
    """Tell whether a part is to be divided because somebody has nothing to do."""
    return used >= _IDLE_AFTER and share < _IDLE_BELOW


def idle_after() -> float:
    """Return after how many seconds it is asked whether somebody is idle."""
    return _IDLE_AFTER


def pairs(seconds: float, quantum: float, wanted: int) -> int:
    """Return on how many pairs to divide what is likely to take so long."""
    fewest, most = _PAIRS
    if math.isinf(seconds):
        return most
    enough = math.ceil(math.log2(max(6 * seconds / quantum, 1)))
    return min(max(fewest, enough, wanted), most)

"""Which samples were taken, and what they have shown: a few ranges, however many samples there are.

Samples are told in their order, whoever has taken which, and when. So what neighbours have shown is
put together at once; what nobody has taken is what lies between the ranges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from treadle.core.failure import Failure
from treadle.session.workers.parts import key_of


@dataclass(frozen=True, slots=True)
class Taken:
    """Samples of consecutive numbers that were taken."""

    numbers: range
    counts: Counter[str]
    failures: list[Failure]
    """Of each failure that of the sample with the lowest number, in their order."""
    reason: str = ""
    """Why no sample after the last one is wanted, if none is."""

    def __add__(self, after: Taken) -> Taken:
        """Put what comes next behind it."""
        known = set(map(key_of, self.failures))
        return Taken(
            range(self.numbers.start, after.numbers.stop),
            self.counts + after.counts,
            [*self.failures, *(one for one in after.failures if key_of(one) not in known)],
            after.reason,
        )


def with_more(taken: list[Taken], more: Taken) -> list[Taken]:
    """Return ranges with one more, in order; without those after one that is the last wanted."""
    found: list[Taken] = []
    for one in sorted([*taken, more], key=lambda one: one.numbers.start):
        if found and found[-1].reason:
            break
        if found and found[-1].numbers.stop == one.numbers.start:
            found[-1] += one
        else:
            found.append(one)
    return found


def gaps(taken: list[Taken], most: int) -> Iterator[range]:
    """Yield the numbers below a limit that nobody has taken; none after the last one wanted.

    >>> nothing = Counter(), []
    >>> some = [Taken(range(3), *nothing), Taken(range(5, 8), *nothing)]
    >>> list(gaps(some, 10)), list(gaps(some, 6))
    ([range(3, 5), range(8, 10)], [range(3, 5)])
    """
    first = 0
    for one in taken:
        if first < min(one.numbers.start, most):
            yield range(first, min(one.numbers.start, most))
        first = one.numbers.stop
    if first < most and not (taken and taken[-1].reason):
        yield range(first, most)

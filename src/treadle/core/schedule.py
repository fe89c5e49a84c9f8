"""Interleavings: which process takes each step."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from treadle.core.errors import ScheduleMismatch

_SPECIAL = re.compile(r"[%*\s]|^\+")
"""What a process's name may contain but a written schedule uses for itself."""
_COUNT_DIGITS = 7


class Schedule(tuple[str, ...]):
    """An interleaving: the name of the process of each step, in order.

    It can be written down as one line and read back:

    >>> schedule = Schedule(["p", "p", "q", "p"])
    >>> str(schedule)
    'p*2 q p'
    >>> Schedule.parse("p*2 q p") == schedule
    True
    >>> str(Schedule(["move(1, 2)"]))
    'move(1,%202)'

    `knowledge` is what the program had learned about itself, which decides what is a step.
    """

    knowledge: tuple[str, ...]

    def __new__(cls, processes: Iterable[str] = (), knowledge: Iterable[str] = ()) -> Schedule:
        """Make a schedule of the names of processes."""
        schedule = super().__new__(cls, processes)
        schedule.knowledge = tuple(knowledge)
        return schedule

    def upto(self, length: int) -> Schedule:
        """Return the first steps."""
        return Schedule(self[:length], self.knowledge)

    def __str__(self) -> str:
        runs: list[tuple[str, int]] = []
        for process in self:
            if runs and runs[-1][0] == process:
                runs[-1] = (process, runs[-1][1] + 1)
            else:
                runs.append((process, 1))
        words = [f"+{_quoted(known)}" for known in self.knowledge]
        words += [_quoted(process) + (f"*{count}" if count > 1 else "") for process, count in runs]
        return " ".join(words)

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule that `str` wrote."""
        processes: list[str] = []
        knowledge: list[str] = []
        for part in text.split():
            if part.startswith("+"):
                knowledge.append(unquote(part[1:]))
                continue
            name, star, count = part.rpartition("*")
            if not star:
                processes.append(unquote(part))
            elif name and count.isdecimal() and len(count) <= _COUNT_DIGITS:
                processes += [unquote(name)] * int(count)
            else:
                raise ScheduleMismatch(
                    f"cannot read {part!r} in the schedule: write `name`, or `name*3` for 3 steps"
                )
        return cls(processes, knowledge)

    @property
    def switches(self) -> int:
        """How often another process goes on than the one before."""
        return sum(a != b for a, b in itertools.pairwise(self))


def _quoted(name: str) -> str:
    return _SPECIAL.sub(lambda found: quote(found[0], safe=""), name)

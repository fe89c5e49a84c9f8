"""How long tasks may take: which waits are long, and what a verdict rests on because of that."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType

from treadle.core.frames import users_frame
from treadle.core.records import StepRecord
from treadle.python.runtime.operation import TIMED_OUT

LATENCY = 0.5
"""Seconds that whatever tasks do takes at most, unless told otherwise."""
BY_LATENCY = "latency"
SLEEP = "sleep"
"""What sleeping is called in reports."""
Call = tuple[str, tuple[float | None, ...]]
"""A file with lines and columns; or a timer, whose thread runs no code under test: its seconds."""
TIMEOUTS = (BY_LATENCY, "explore", "last", "never")


@dataclass(slots=True)
class Patience:
    """How long a program's tasks may take, and which waits were held back because of that."""

    given: float = LATENCY
    """What was given as `latency`."""
    timeouts: str = BY_LATENCY
    """Which waits are long: those beyond `latency`, none (`explore`), or all (`last`).

    With `never`, time-outs are none; sleeps end as they do by default."""
    held_back: dict[Call, float] = field(default_factory=dict)
    """Calls that had to wait long: the shortest of their seconds."""

    @property
    def latency(self) -> float:
        """Seconds that whatever tasks do takes at most."""
        return {"explore": math.inf, "last": 0.0}.get(self.timeouts, self.given)

    @property
    def expires(self) -> bool:
        """Whether time-outs are ever over; sleeps always are."""
        return self.timeouts != "never"

    @property
    def options(self) -> dict[str, object]:
        """Options that it takes to have the same again."""
        found: dict[str, object] = {} if self.given == LATENCY else {"latency": self.given}
        return found if self.timeouts == BY_LATENCY else {**found, "timeouts": self.timeouts}

    def note(self, seconds: float) -> None:
        """Take note that the current task has to wait for so long."""
        frame = users_frame(sys._getframe(1))
        call = ("a timer", (seconds,)) if frame is None else _call(frame)
        self.held_back[call] = min(seconds, self.held_back.get(call, math.inf))

    def in_words(self) -> list[str]:
        """Say what a verdict rests on."""
        if not self.held_back:
            return []
        count = len(self.held_back)
        waits = f"{count} wait{'' if count == 1 else 's'}"
        shortest = f"{min(self.held_back.values()):.6g} s{' and more' if count > 1 else ''}"
        if not self.expires:
            return [f'{waits} of {shortest} never time out (timeouts="explore" lets them)']
        end = "ends last" if count == 1 else "end last"
        them = "it" if count == 1 else "them"
        return [f'{waits} of {shortest} {end} (timeouts="explore" tries {them} too)']


def _call(frame: FrameType) -> Call:
    """Return where a frame is in its source: the test of a loop is compiled twice."""
    code, at = frame.f_code, frame.f_lasti // 2
    return code.co_filename, next(islice(code.co_positions(), at, None))


def over_in_time(steps: Sequence[StepRecord]) -> list[str]:
    """Say which waits of an execution were over because of time: it rests on that."""
    expired: dict[str, None] = {}
    slept: dict[str, None] = {}
    for step in steps:
        for access in step.accesses:
            words = f"{access.operation} {access.location}"
            words += f" at {step.where}" if step.where else ""  # a timer waits in `threading`
            if access.value == TIMED_OUT:
                expired[words] = None
            elif access.operation == SLEEP:
                slept[words] = None
    return [
        *([f"It rests on a wait that timed out: {', '.join(expired)}"] if expired else []),
        *([f"It rests on an order of sleeps: {', '.join(slept)}"] if slept else []),
    ]

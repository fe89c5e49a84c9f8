"""`while` loops inside of a step that never end: `while self.unfinished: await event.wait()`.

If the event is set, such a loop never gives up its turn. Nobody else can change what it reads in
the meantime: so if it changes nothing itself, round after round, it never ends. Rewritten code
tells of each backward jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from treadle.core.events import Mode, mode_of
from treadle.core.frames import callers_frame
from treadle.core.words import place_in_words
from treadle.python.runtime import control
from treadle.python.runtime.spin import drawn, effects, own_values, same_values, unseen
from treadle.tasks.kinds import EndlessLoop

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop

_MOST_ROUNDS = 1000
"""Rounds without a change after which a loop is endless: what it calls may have a memory."""
_HARMLESS = frozenset({Mode.READ, Mode.AWAIT, Mode.OPEN})


@dataclass(slots=True)
class _Visit:
    """How things stood at a loop's last backward jump."""

    frame: FrameType
    values: dict[str, Any]
    accesses: int
    spawned: int
    idle: int = 0
    """Rounds in a row that changed nothing."""


class Rounds:
    """The loops of the present step."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._visits: dict[object, _Visit] = {}
        self._changed = False

    def begin(self) -> None:
        """Forget the last step."""
        self._visits.clear()
        self._changed = effects[0] = unseen[0] = drawn[0] = False

    def has_changed_something(self) -> bool:
        """Tell whether the step has changed anything so far, shared or not."""
        return self._changed or effects[0]

    def may_see_another_thing(self) -> bool:
        """Tell whether the step, done again, may see what nobody here has changed."""
        return unseen[0] or drawn[0]

    def visit(self, site: object) -> None:
        """Take note of a round; raise if the loop will only go on like this."""
        loop = self._loop
        frame = callers_frame()
        accesses = [*loop.accessed, *(control.collected or ())]
        now = _Visit(frame, own_values(frame), len(accesses), len(loop.spawned))
        last = self._visits.get(site)
        self._visits[site] = now
        changed, effects[0] = effects[0], False
        self._changed = self._changed or changed
        if (
            changed
            or last is None
            or last.frame is not frame
            or last.spawned != now.spawned
            or not same_values(last.values, now.values)
            or not all(mode_of(access) in _HARMLESS for access in accesses[last.accesses :])
        ):
            return
        now.idle = last.idle + 1
        if now.idle >= _MOST_ROUNDS:
            place = place_in_words((frame.f_code.co_filename, frame.f_lineno))
            loop.report(
                EndlessLoop(
                    f"the loop at {place} never ends: it changes nothing, and no other task gets "
                    f"to run as long as nothing in it suspends"
                )
            )

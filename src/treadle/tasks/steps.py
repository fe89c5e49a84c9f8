"""What a step is: one run of one handle of the loop, with a name that every execution gives it.

| what | its name |
|---|---|
| task | `main`, then `<task>.<n>` for the n-th task that its creator made |
| its k-th handle | `<task>#<k>`, whoever woke it |
| done callback | `<owner>/d<n>`, by who registered it |
| `call_soon`, timer, arrival | `<owner>/s<n>`, `/t<n>`, `/p<n>` |
| future, generator | `<owner>~f<n>`, `~g<n>` |

An owner is a task or a callback's handle; it counts on its own what it makes.
"""

from __future__ import annotations

import asyncio
from typing import Any

from greenlet import getcurrent

from treadle.core.events import Codes, Mode, Vocabulary, code
from treadle.python.runtime.task import Path
from treadle.python.runtime.task import Task as Actor
from treadle.tasks.moments import Moment
from treadle.tasks.positions import START, Position


class Owner:
    """Who takes steps, and names what it makes: a task, or a callback."""

    __slots__ = ("actor", "counts", "name")

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.counts: dict[str, int] = {}
        self.actor = Actor(path, None)
        """What the hooks of rewritten code take for the thread that runs."""
        self.actor.fiber = getcurrent()

    def next_name(self, mark: str) -> str:
        """Return the name of something that it makes."""
        number = self.counts[mark] = self.counts.get(mark, 0) + 1
        return f"{self.name}{mark}{number}"


class Step:
    """A handle as a process of the exploration, which takes one step.

    Most of what can be said of one is said of few: it stands in the class, since every run makes
    them all anew.
    """

    handle: asyncio.Handle | None = None
    deadline: Moment | None = None
    """When it is due, if it is a timer's."""
    delay = 0.0
    """How many seconds after it was armed that is."""
    is_arrival = False
    """Whether it comes from outside: a timer, an answer."""
    is_timeout = False
    """Whether it ends a wait that was given only so much time."""
    has_struck = False
    """Whether it was run, and not cancelled before."""
    is_turn = False
    """Whether it ends a `sleep(0)` that may take more than one turn."""
    is_fault = False
    """Whether it cancels a task on behalf of nobody: it may as well not come."""
    armed_at: tuple[str, int] | None = None
    """The line of the user's where it was armed; only if somebody asked for detail."""
    spin: Codes = ()
    """What it has to wait for although it is ready, or due (`spinning`)."""
    waits = False
    """Whether nobody has written that so far."""
    waits_for_time = False
    """Whether it goes on when time passes, too."""
    woken_by: Step | None = None
    """Who was the first to write that."""
    joins: Codes = ()
    """The countdown's callbacks that had to run before it could."""
    countdown: Any = None
    """The countdown that it is part of (`countdowns`)."""
    armed_by: Step | None = None
    positions: tuple[Position, ...] = (Position(START, 0, ()),)
    """When it runs: at the latest of these; there are several if a countdown woke it."""

    def __init__(self, name: str, process: int, owner: Owner, moment: Moment) -> None:
        self.name = name
        self.process = process
        self.owner = owner
        self.moment = moment

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody cancelled its handle: it does nothing then."""
        return self.handle is not None and self.handle._cancelled

    def __repr__(self) -> str:
        return f"<step {self.name}>"


class Place:
    """A location of the front end's own: a future's state, a task's control, a handle."""

    __slots__ = ("add", "await_", "number", "read", "write")

    def __init__(self, vocabulary: Vocabulary, sort: str, name: str, words: str) -> None:
        number = vocabulary.location((sort, name), words)
        self.number = number
        self.read = code(number, Mode.READ)
        self.write = code(number, Mode.WRITE)
        self.add = code(number, Mode.ADD)
        self.await_ = code(number, Mode.AWAIT)


class CallHandle(asyncio.Handle):
    """What `call_soon` returns."""

    __slots__ = ("step", "where")

    step: Step
    where: Place

    def cancel(self) -> None:
        """Cancel it; it stays a process that does nothing, so that the race is seen."""
        self._loop.touch(_cancellation_of(self))  # type: ignore[attr-defined]
        super().cancel()

    def cancelled(self) -> bool:
        """Tell whether somebody cancelled it."""
        self._loop.touch(self.where.read)  # type: ignore[attr-defined]
        return super().cancelled()

    def __repr__(self) -> str:
        """Put it into words: whether it was cancelled, too."""
        self._loop.touch(self.where.read)  # type: ignore[attr-defined]
        return super().__repr__()


class Timer(asyncio.TimerHandle):
    """What `call_later` and `call_at` return."""

    __slots__ = ("step", "where")

    step: Step
    where: Place

    def cancel(self) -> None:
        """Cancel it; it is due at once then, and does nothing."""
        self._loop.touch(_cancellation_of(self))  # type: ignore[attr-defined]
        asyncio.Handle.cancel(self)

    def cancelled(self) -> bool:
        """Tell whether somebody cancelled it."""
        self._loop.touch(self.where.read)  # type: ignore[attr-defined]
        return asyncio.Handle.cancelled(self)

    def __repr__(self) -> str:
        """Put it into words: whether it was cancelled, too."""
        self._loop.touch(self.where.read)  # type: ignore[attr-defined]
        return super().__repr__()


def _cancellation_of(handle: CallHandle | Timer) -> int:
    """Return the access of who cancels a handle: if somebody has done so, it changes nothing."""
    return handle.where.read if handle._cancelled else handle.where.write

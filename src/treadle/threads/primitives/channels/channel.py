"""A channel: bytes in memory on their way from who writes to who reads.

A guided tour. Both ends of a socket pair, of a connection within the test, and of a pipe are in
one process: so no kernel is needed. Each direction is a `Channel`. Reading waits until there is
something or nobody writes any more; writing waits while the channel is full. What is written in two
calls may be read one by one or together, whichever comes of the order of the steps; a write is one
step, as long as there is room for it.

Each channel is one location, which reading and writing change: whoever reads can tell how much has
come by then. Channels are named by the task that made them, and not by who can reach them: it takes
two objects, one on each side, to share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from treadle.core.events import OPEN, Codes, Mode, code
from treadle.core.records import WaitKind
from treadle.python.runtime import control
from treadle.python.runtime.deeds import Deed, given
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.spin import effects
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import InTime
from treadle.threads.primitives.facets import act

CAPACITY = 65_536
"""How many bytes a channel holds: what a pipe does on Linux; sockets there hold some more."""


class Named:
    """Something that a task made, with a name that is the same in every execution."""

    def __init__(self, sort: str, what: str = "") -> None:
        me = control.task()
        number: int = me.scratch.get(sort, 0) + 1
        me.scratch[sort] = number
        self.label = f"{what or sort} {number} of {me.name}"
        self.number = (me.number, number)
        self.location = control.the_program().shared.location((sort, *self.number), self.label)


class Channel(Named):
    """One direction of a connection."""

    def __init__(self, sort: str) -> None:
        super().__init__("channel", f"{sort} data")
        self.data = bytearray()
        """What was written and not read yet."""
        self.is_ended = False
        """Whether nobody writes any more."""
        self.is_deaf = False
        """Whether nobody reads any more."""

    @property
    def is_full(self) -> bool:
        """Whether who writes has to wait."""
        return len(self.data) >= CAPACITY

    def take(self, most: int, *, peeks: bool = False) -> bytes:
        """Read up to some number of bytes."""
        found = bytes(self.data[:most])
        if not peeks:
            del self.data[:most]
        return found

    def add(self, data: bytes | memoryview) -> int:
        """Write what there is room for; return how much that is."""
        room = max(CAPACITY - len(self.data), 0)
        self.data += data[:room]
        return min(room, len(data))


class _Until(Operation):
    """Wait until something holds."""

    __slots__ = ("_codes", "_holds", "_what")

    kind = WaitKind.OTHER

    def __init__(self, holds: Callable[[], bool], codes: Codes, what: str) -> None:
        self._holds = holds
        self._codes = codes
        self._what = what

    def ready(self, task: Task) -> bool:
        """Tell whether it holds."""
        return self._holds()

    def pending(self, task: Task) -> Codes:
        """Return what it looks at and changes then."""
        return self._codes

    def describe(self) -> str:
        """Say what it waits for."""
        return self._what


class Step:
    """One step on channels, listening sockets and addresses, which may have to wait."""

    def __init__(self, deed: Deed, about: object, detail: object = None) -> None:
        self._told = (deed, about, detail)

    def when(
        self,
        holds: Callable[[], bool],
        what: str,
        looked_at: Iterable[int],
        changed: Iterable[int] = (),
        seconds: float | None = None,
    ) -> bool:
        """Wait until something holds, for some seconds or for ever; tell whether it does.

        The condition looks at some locations; if it holds, the step changes some of them.
        """
        me = control.task()
        looks, writes = tuple(looked_at), tuple(code(place, Mode.WRITE) for place in changed)
        waiting = (*(code(place, Mode.AWAIT) for place in looks), *writes)
        operation = _Until(holds, waiting, what)
        timed = None if seconds is None else InTime(operation, me, seconds)
        control.announce(timed or operation, *self._told)
        reads = (OPEN, *(code(place, Mode.READ) for place in looks))
        if not holds():
            assert timed is not None
            assert seconds is not None
            act(me, timed.codes(me, reads))
            control.pass_time(me, seconds)
            return False
        effects[0] = effects[0] or bool(writes)
        if timed is None or timed.is_patient:
            act(me, waiting)
        else:
            act(me, timed.codes(me, (*reads, *writes)))
        return True

    def now(
        self,
        changed: Iterable[int],
        looked_at: Iterable[int] = (),
        more: Callable[[], Iterable[int]] | None = None,
    ) -> None:
        """Take a step that need not wait; `more` tells what else it changes as things are then."""
        reads = tuple(code(place, Mode.READ) for place in looked_at)
        writes = tuple(code(place, Mode.WRITE) for place in changed)
        effects[0] = effects[0] or bool(writes)
        codes = (*reads, *writes) if more is None else (OPEN, *reads, *writes)
        me = control.announce(codes, *self._told)
        found = () if more is None else (code(place, Mode.WRITE) for place in more())
        act(me, (*codes, *found))


def deed(verb: str) -> Deed:
    """Return what is done to an end of a connection."""
    return Deed(verb, lambda end: end.label, given)

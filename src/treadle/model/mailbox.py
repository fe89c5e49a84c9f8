"""Mailboxes: messages in order of sending, taken by blocking, selective or timed receives.

Dependence is as fine as in "Source Sets" (J. ACM 2017), sections 2 and 10: two sends to one mailbox
are dependent; a send is dependent with the receive of its own message, not with that of another
one; a receive that timed out is dependent with the sends whose message it could have taken.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from treadle.core.events import OPEN, Codes, Mode, code
from treadle.core.records import WaitKind
from treadle.core.words import Said
from treadle.model.operations import Operation, Raised, closed_over
from treadle.model.state import is_plain

if TYPE_CHECKING:
    from treadle.model.run import ModelRun

Match = Callable[[Any], object]

_RECEIVE = "receive from"


class _Timeout:
    """What a receive returns that found no message."""

    def __repr__(self) -> str:
        return "TIMEOUT"

    def fingerprint_of(self) -> object:
        """Return the name: there is only one."""
        return "TIMEOUT"


TIMEOUT = _Timeout()
"""The value of a timed receive that found no message."""


_ANYTHING = object()
"""Stands for a message that cannot be compared by content: every time-out could have taken it."""


class _Lines:
    """Which messages and time-outs of a mailbox the exploration has seen, to link those that match.

    Kept across executions, beside the vocabulary.
    """

    def __init__(self) -> None:
        self.messages: dict[int, Any] = {}
        self.timeouts: dict[int, Match | None] = {}


class Mailbox:
    """A queue of messages: `s.box.send(m)`, `m = yield s.box.receive()`.

    `receive(match=...)` takes the first message for which `match(message)` is true;
    `receive(timeout=True)` never blocks: it returns `TIMEOUT` if there is nothing to take.
    """

    __slots__ = ("_head", "_lines", "_messages", "_name", "_run", "_sent", "_tail")

    _run: ModelRun
    _name: str
    _head: int
    _tail: int
    _sent: dict[int, int]
    _lines: _Lines

    def __init__(self) -> None:
        self._messages: list[tuple[int, Any]] = []

    def build(self, run: ModelRun, name: str) -> Mailbox:
        """Return this mailbox as a shared object of a run."""
        built = Mailbox()
        built._run = run
        built._name = name
        built._tail = run.locate((name, "tail"), f"{name} order", lambda: len(built._messages))
        built._head = run.locate((name, "head"), f"{name} receivers", lambda: len(built._messages))
        built._sent = {}
        built._lines = run.keep(("mailbox", name), _Lines)
        return built

    def send(self, message: Any) -> None:
        """Append a message; never blocks."""
        run = self._run
        number = self._sent[run.current] = self._sent.get(run.current, 0) + 1
        location = self._message_location(run.current, number, message)
        self._messages.append((location, message))
        codes = (code(self._tail, Mode.WRITE), code(location, Mode.WRITE))
        run.log_call(codes, "send to", self._name, message)

    def receive(self, match: Match | None = None, *, timeout: bool = False) -> Operation:
        """Take the first (matching) message: to be yielded."""
        return self._run.offer(_Timed(self, match) if timeout else _Receive(self, match))

    def __len__(self) -> int:
        self._run.append(code(self._tail, Mode.READ))
        self._run.append(code(self._head, Mode.READ))
        return len(self._messages)

    def _first(self, match: Match | None, process: int) -> int:
        """Return the index of the first message that a process's receive takes, or -1."""
        for index, (_, message) in enumerate(self._messages):
            if self._matches(match, message, process):
                return index
        return -1

    def _matches(self, match: Match | None, message: Any, process: int) -> bool:
        """Tell whether a receive takes a message: so does one that fails when it looks at it."""
        return match is None or bool(self._run.as_process(process, match, message))

    def _take(self, index: int, match: Match | None, process: int) -> Any:
        """Remove a message; its receive fails if `match` does."""
        message = self._messages.pop(index)[1]
        if match is not None:
            matched = self._run.as_process(process, match, message)
            if isinstance(matched, Raised):
                matched.again()
        return message

    def _message_location(self, sender: int, number: int, message: Any) -> int:
        plain = is_plain(message)
        location = self._run.locate(
            (self._name, "message", sender, number, *((message, repr(message)) if plain else ())),
            f"{self._name} message {number} of {self._run.name_of(sender)}",
            lambda: message,
        )
        if location not in self._lines.messages:
            self._lines.messages[location] = message if plain else _ANYTHING
            for timeout, match in self._lines.timeouts.items():
                self._link(timeout, match, location, self._lines.messages[location])
        return location

    def _timeout_location(self, match: Match | None) -> int | None:
        """Return the location of "no message for `match`", or None if `match` has no name."""
        key = _name_of_match(match)
        if key is None:
            return None
        location = self._run.locate(
            (self._name, "timeout", key), f"{self._name} (empty)", lambda: "TIMEOUT"
        )
        if location not in self._lines.timeouts:
            self._lines.timeouts[location] = match
            for message_location, message in self._lines.messages.items():
                self._link(location, match, message_location, message)
        return location

    def _link(self, timeout: int, match: Match | None, location: int, message: Any) -> None:
        if message is _ANYTHING or self._matches(match, message, self._run.current):
            self._run.vocabulary.link(code(timeout, Mode.READ), code(location, Mode.WRITE))

    def fingerprint_of(self) -> object:
        """Return the messages, for the state's fingerprint."""
        return self._name, [message for _, message in self._messages]


class _Taking(Operation):
    """Take the first message that somebody wants."""

    __slots__ = ("_box", "_match")

    kind = WaitKind.MESSAGE

    def __init__(self, box: Mailbox, match: Match | None) -> None:
        self._box = box
        self._match = match

    def asked(self) -> object:
        """Return the mailbox's name and which messages are wanted."""
        return self._box._name, self._match


class _Receive(_Taking):
    """Block until a message can be taken."""

    __slots__ = ()

    def ready(self, process: int) -> bool:
        """Tell whether there is a message to take."""
        return self._box._first(self._match, process) >= 0

    def perform(self, process: int) -> Any:
        """Take the message."""
        box = self._box
        index = box._first(self._match, process)
        location, message = box._messages[index]
        codes = (code(box._head, Mode.TAKE), code(location, Mode.NEED))
        box._run.log_call(codes, _RECEIVE, box._name, message)
        return box._take(index, self._match, process)

    def pending(self, process: int) -> Codes:
        """Return the taking and the message, or that one has to be sent."""
        box = self._box
        index = box._first(self._match, process)
        needed = box._tail if index < 0 else box._messages[index][0]
        return (code(box._head, Mode.TAKE), code(needed, Mode.NEED))

    def describe(self) -> str:
        """Name the mailbox."""
        return f"a message in {self._box._name}"


class _Timed(_Taking):
    """Take a message if there is one now."""

    __slots__ = ()

    def ready(self, process: int) -> bool:
        """A timed receive never blocks."""
        return True

    def perform(self, process: int) -> Any:
        """Take the message, or time out."""
        box = self._box
        first = box._first(self._match, process)
        value = Said("timed out") if first < 0 else box._messages[first][1]
        box._run.log_call(self._codes(first), _RECEIVE, box._name, value)
        index = box._first(self._match, process)
        return TIMEOUT if index < 0 else box._take(index, self._match, process)

    def pending(self, process: int) -> Codes:
        """Return the taking, or the observation that there is nothing to take."""
        return self._codes(self._box._first(self._match, process))

    def _codes(self, index: int) -> Codes:
        box = self._box
        if index >= 0:
            return (OPEN, code(box._head, Mode.WRITE), code(box._messages[index][0], Mode.READ))
        location = box._timeout_location(self._match)
        nothing = box._tail if location is None else location
        return (OPEN, code(box._head, Mode.READ), code(nothing, Mode.READ))

    def describe(self) -> str:
        """Name the mailbox."""
        return f"a message in {self._box._name}, or a time-out"


def _name_of_match(match: Match | None) -> Hashable | None:
    """Return a value that identifies a predicate in every execution, or None if there is none."""
    if match is None:
        return "any"
    if not isinstance(match, types.FunctionType):
        return None  # a method's object, or a callable one, cannot be compared
    given = closed_over(match)
    if given is None or not all(map(is_plain, given)):
        return None
    names = tuple(match.__kwdefaults__ or ())
    return (match.__code__, names, tuple(given), repr(given))  # 1, 1.0 and True are equal

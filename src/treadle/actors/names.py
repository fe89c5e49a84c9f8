"""Names of tasks, actors and locations: the same in every execution, and made once.

A task is called `main`, or `<task>.<k>:<method>`, k counting what the parent task sent. An actor is
called `<creating task>/<Class><k>`, k counting what that task made of the class. All that follows
from a name (numbers, access codes) is kept with it: executions come by it again and again.
"""

from __future__ import annotations

import hashlib

from treadle.analyses.segments import Segment
from treadle.core.events import Codes, Mode, Vocabulary, code

_PARTS = 2
"""Parts of a task's name that people get to see: recursion makes long ones."""


_LONGEST = 400
"""Characters of a task's name to which those of its children are added."""


def short(name: str) -> str:
    """Return the end of a task's or actor's name, for people.

    >>> short("main.1:feed.2:feed.1:push"), short("main/Cell1"), short("main.1:feed.1:feed/Cell2")
    ('…2:feed.1:push', 'Cell1', '…1:feed.1:feed/Cell2')
    """
    parts = name.removeprefix("main/").split(".")
    cut = parts[-_PARTS:] if len(parts) > _PARTS else parts
    return ("…" if len(parts) > len(cut) else "") + ".".join(cut)


class GroupNames:
    """What the locations of a group are called."""

    def __init__(self, vocabulary: Vocabulary, name: str) -> None:
        self.vocabulary = vocabulary
        self.name = name
        self.label = short(name)
        lock = vocabulary.location(("lock", name), f"the turn of {self.label}")
        state = vocabulary.location(("state", name), f"the state of {self.label}")
        self.take = code(lock, Mode.TAKE)
        self.passes = code(lock, Mode.PASS)
        self.give = code(lock, Mode.GIVE)
        self.read = code(state, Mode.READ)
        self.write = code(state, Mode.WRITE)
        self.awaited = code(state, Mode.AWAIT)
        self.accessed: dict[Segment, Codes] = {}
        """What steps in the group access, by what they may do."""
        self._channels: dict[str, int] = {}

    def field(self, kind: str, name: str) -> int:
        """Return the location of a field of the objects of a class in the group."""
        return self.vocabulary.location(("field", self.name, kind, name), f"{self.label}.{name}")

    def entry(self, kind: str, name: str, key: object, label: str) -> int:
        """Return the location of an entry of a dictionary in a field; of its keys, for no key."""
        what = f"{self.label}.{name}[{label}]"
        return self.vocabulary.location(("entry", self.name, kind, name, key), what)

    def channel(self, sender: str) -> int:
        """Return the code of a send from a group to this one; of anybody's, without a name."""
        channel = self._channels.get(sender)
        if channel is None:
            what = f"messages to {self.label}" + (f" from {short(sender)}" if sender else "")
            location = self.vocabulary.location(("channel", sender, self.name), what)
            channel = self._channels[sender] = code(location, Mode.WRITE)
        return channel


class TaskNames:
    """What a task is called, and those that it sends and makes."""

    def __init__(self, vocabulary: Vocabulary, name: str, method: str) -> None:
        self.vocabulary = vocabulary
        self.name = name
        self.method = method
        self.number = number = vocabulary.process(name)
        self.spawn = code(number, Mode.SPAWN)
        self.join = code(number, Mode.JOIN)
        self._status = self._started = -1
        self._children: dict[tuple[int, str], TaskNames] = {}
        self._groups: dict[tuple[str, int], GroupNames] = {}

    def sent(self, index: int, method: str) -> TaskNames:
        """Return the names of the task that was sent as the index-th."""
        child = self._children.get((index, method))
        if child is None:
            name = f"{_cut(self.name)}.{index}:{method}"
            child = self._children[index, method] = TaskNames(self.vocabulary, name, method)
        return child

    def made(self, kind: str, index: int) -> GroupNames:
        """Return the names of the index-th actor of a class that the task made."""
        group = self._groups.get((kind, index))
        if group is None:
            name = f"{self.name}/{kind}{index}"
            group = self._groups[kind, index] = GroupNames(self.vocabulary, name)
        return group

    def status(self, mode: Mode) -> int:
        """Return the code of an access to whether the task has ended."""
        if self._status < 0:
            what = f"whether {short(self.name)} has ended"
            self._status = self.vocabulary.location(("status", self.name), what)
        return code(self._status, mode)

    def started(self, mode: Mode) -> int:
        """Return the code of an access to whether the task has started."""
        if self._started < 0:
            what = f"whether {short(self.name)} has started"
            self._started = self.vocabulary.location(("started", self.name), what)
        return code(self._started, mode)


def _cut(name: str) -> str:
    """Return a task's name for those of its children: a digest instead of what is very long."""
    if len(name) <= _LONGEST:
        return name
    return f"~{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"

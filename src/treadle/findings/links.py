"""Which steps made which others possible: the arrows between the columns of an execution.

All of it is in the access codes, so it is the same for every front end. A process is created by
the step that spawns it, and its end is awaited by the step that joins it; who takes a unit gets it
from whoever gave one back last; who needs a location to be written gets it from the one that wrote
it: an item of a queue, a notification, a message. Where several processes share a column, as the
messages that a node or an actor handles, what creates one sends a message, and what awaits its end
gets a result. The handles of one task share a column, too, but that is the task itself: who makes
them starts it, or wakes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treadle.core.events import Mode, location_of, mode_of
from treadle.core.happens_before import Trace
from treadle.core.records import Link, LinkKind, StepRecord

_WRITING = (Mode.WRITE, Mode.STORE, Mode.ADD, Mode.GIVE)
_KINDS = {
    Mode.TAKE: LinkKind.LOCK,
    Mode.SPARE: LinkKind.LOCK,
    Mode.NEED: LinkKind.MESSAGE,
    Mode.AWAIT: LinkKind.WAKE,
}


def links_of(trace: Trace, steps: Sequence[StepRecord]) -> list[Link]:
    """Return the links between steps of different processes, by the step that they lead to."""
    finder = _Finder(trace, steps)
    found = (link for index in range(len(steps)) for link in finder.links_to(index))
    return list(dict.fromkeys(found))


class _Finder:
    """What happened so far, while the steps are gone through in order."""

    def __init__(self, trace: Trace, steps: Sequence[StepRecord]) -> None:
        self._trace = trace
        self._steps = steps
        self._created: dict[int, int] = {}
        """The step that creates each process that has not taken one yet."""
        self._latest: dict[int, int] = {}
        """The latest step of each process."""
        self._given: dict[int, int] = {}
        """The step that gave the unit of each location back that nobody has taken since."""
        self._written: dict[int, int] = {}
        """The latest step that changed each location."""

    def links_to(self, index: int) -> Iterator[Link]:
        """Yield what a step was made possible by, and take note of what it does."""
        process, codes = self._trace.processes[index], self._trace.codes[index]
        if process in self._created:
            step = self._steps[index]
            kind = self._kind_of(index)
            about = step.process if step.label in ("", step.lane) else step.label
            yield Link(self._created.pop(process), index, kind, about)
        self._latest[process] = index
        for access in codes:
            yield from self._link_by(index, mode_of(access), location_of(access))

    def _kind_of(self, index: int) -> LinkKind:
        """Return what it is to a process that somebody made it possible."""
        step = self._steps[index]
        if _is_one_of_several(step):
            return LinkKind.MESSAGE
        is_new = all(other.lane != step.lane for other in self._steps[:index])
        return LinkKind.SPAWN if not step.lane or is_new else LinkKind.WAKE

    def _link_by(self, index: int, mode: Mode, number: int) -> Iterator[Link]:
        if mode is Mode.SPAWN:
            self._created[number] = index
            return
        if mode is Mode.JOIN:
            if number in self._latest:
                is_result = _is_one_of_several(self._steps[index])
                kind = LinkKind.RESULT if is_result else LinkKind.JOIN
                about = self._trace.vocabulary.process_names[number]
                yield from self._from_another(self._latest[number], index, kind, about)
            return
        known = self._given if mode in (Mode.TAKE, Mode.SPARE) else self._written
        if mode in _KINDS and number in known:
            about = self._trace.vocabulary.location_names[number]
            yield from self._from_another(known[number], index, _KINDS[mode], about)
        if mode is Mode.TAKE:
            self._given.pop(number, None)
        elif mode is Mode.GIVE:
            self._given[number] = index
        if mode in _WRITING:
            self._written[number] = index

    def _from_another(self, source: int, target: int, kind: LinkKind, about: str) -> Iterator[Link]:
        """Yield a link, unless it stays in one process."""
        if self._trace.processes[source] != self._trace.processes[target]:
            yield Link(source, target, kind, about)


def _is_one_of_several(step: StepRecord) -> bool:
    """Tell whether a process shares its column with others: a message, and not a task's handle."""
    is_task = step.label == step.lane and step.then in ("waits", "ends")
    return bool(step.lane) and not is_task

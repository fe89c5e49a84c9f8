"""Sections ("Eager POR", ATVA 2016, sections 3.2 and 3.3): traces are known in advance.

A section starts in some state and consists of the next few steps of some processes, such that (A)
every execution of the section has the same events and (B) the same of them are dependent, in
whatever order its processes take turns. Both hold if no value that is read in the section decides
what a later step of it accesses:

- A front end *foresees* where the next step of a process begins, and which earlier steps of the
  process read values that may decide what it accesses or whether it is taken at all (branching
  transitions, and variables that influence an address). If such a step is in the section, it is
  *pinned*: no step of another process may change what it reads, so that it reads the same in every
  order. What it reads may also have been written in the section by its own process, with a value
  that comes from any earlier read: then these steps are pinned too.
- A step that may access other locations when it reads other values (the core calls it open) is
  pinned by itself.
- A step that may be disabled has the section for itself, as far as others touch what it touches: a
  lock is taken only in a section where nobody else touches it. So the paper's assumption holds that
  transitions do not disable each other.

A process that waits for the end of another does not join a section that this one takes part in, nor
does a process that was created in it.

Once a section is whole, `plan` has all its traces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from treadle.core.events import Codes, Footprint
from treadle.core.happens_before import Sleep, bits
from treadle.core.program import Foreseen
from treadle.explore.eager.plan import Plan

LONGEST = 255
"""Events of a section: their numbers are bytes."""


@dataclass(slots=True)
class Step:
    """A step that may become an event of a section."""

    process: int
    footprint: Footprint
    reading: Footprint
    """The part of it that reads."""
    place: int
    pins: int = 0
    """Events that have to be pinned, so that it is the same in every order."""
    dependent: int = 0
    """Events of other processes that it is dependent with."""
    disturbed: int = 0
    """Those of them that change what it reads."""
    disturbs: int = 0
    """Those of them that read what it changes."""
    source: int = -1
    """The last event of its own process that it is dependent with, or -1."""


class Section:
    """Consecutive steps of the current execution, and all orders in which they can be taken."""

    def __init__(self, start: int, sleep: Sleep) -> None:
        self.start = start
        """Index of its first event in the execution."""
        self.sleep = sleep
        """The sleep set of the state in which it starts; who is in it takes no part."""
        self.processes: list[int] = []
        self.codes: list[Codes] = []
        self.footprints: list[Footprint] = []
        self.previous: list[int] = []
        """For each event the one before it in its process, or -1: the program order."""
        self.dependent: list[int] = []
        """For each event the mask of those of other processes that are dependent with it."""
        self.constraints = 0
        """The number of dependent pairs."""
        self.of_process: dict[int, list[int]] = {}
        self._places: list[int] = []
        self._source: list[int] = []
        """For each event the last one of its process before it that it is dependent with, or -1."""
        self._touched: dict[int, int] = {}
        """For each mask key (see `events`) the mask of the events that belong to it."""
        self._looked_at: dict[int, int] = {}
        """The same of what they read."""
        self._disturbed = 0
        """The mask of events for which one of another process changes what they read."""
        self._pinned = 0
        self._exclusive = 0
        self._spawned: set[int] = set()
        self.length = 0
        """How many of its events are on the path of the current execution."""
        self.plan: Plan | None = None
        self.sleep_after: Sleep = {}
        """Who still sleeps at the end of the section: the same after each of its traces."""

    # Which steps belong to the section

    def has_room(self) -> bool:
        """Tell whether one more event has a number."""
        return len(self.processes) < LONGEST

    def may_join(self, process: int) -> bool:
        """Tell whether a process was there before the section, and is awake."""
        return process not in self._spawned and process not in self.sleep

    def pins(self, process: int, foreseen: Foreseen | None) -> int:
        """Return the mask of the events whose reads may decide about the next step of a process.

        What such an event reads may be what its process wrote in the section, and that may come
        from any earlier read: so these events are pinned as well.
        """
        events = self.of_process.get(process, ())
        if foreseen is None:
            return self._upto(process, events[-1]) if events else 0
        mask, source = 0, -1
        for event in events:
            if self._places[event] < 0 or self._places[event] in foreseen.decisive:
                mask |= 1 << event
                source = max(source, self._source[event])
        return mask | self._upto(process, source)

    def _upto(self, process: int, last: int) -> int:
        """Return the mask of the events of a process up to one of them; none if that is -1."""
        if last < 0:
            return 0
        return sum(1 << event for event in self.of_process.get(process, ()) if event <= last)

    def can_pin(self, pins: int) -> bool:
        """Tell whether events read the same in every order of the section so far."""
        return not pins & self._disturbed

    def compare(self, step: Step) -> None:
        """Compare a step that was just taken with the events of the section."""
        dependent = _events_in(self._touched, step.footprint)
        if not dependent:
            return
        others = ~sum(1 << event for event in self.of_process.get(step.process, ()))
        step.source = (dependent & ~others).bit_length() - 1
        step.dependent = dependent & others
        if step.dependent:
            step.disturbed = _events_in(self._touched, step.reading) & others
            step.disturbs = _events_in(self._looked_at, step.footprint) & others
        if step.footprint.guarded:
            step.pins |= self._upto(step.process, step.source)

    def admits(self, step: Step) -> bool:
        """Tell whether (A) and (B) still hold with a step."""
        footprint = step.footprint
        if step.dependent and footprint.exclusive:
            return False
        if step.disturbed and footprint.guarded:
            return False
        if step.disturbs & self._pinned or step.dependent & self._exclusive:
            return False
        if any(ended in self.of_process for ended in footprint.joins):
            return False
        return self.can_pin(step.pins)

    def add(self, step: Step) -> None:
        """Add a step that is admitted."""
        event = len(self.processes)
        events = self.of_process.setdefault(step.process, [])
        self.previous.append(events[-1] if events else -1)
        events.append(event)
        self.processes.append(step.process)
        self.codes.append(step.footprint.codes)
        self.footprints.append(step.footprint)
        self._places.append(step.place)
        self._source.append(step.source)
        self.dependent.append(step.dependent)
        bit = 1 << event
        for other in bits(step.dependent):
            self.dependent[other] |= bit
            self.constraints += 1
        for key in step.footprint.own:
            self._touched[key] = self._touched.get(key, 0) | bit
        for key in step.reading.own:
            self._looked_at[key] = self._looked_at.get(key, 0) | bit
        self._disturbed |= step.disturbs | (bit if step.disturbed else 0)
        self._pinned |= step.pins | (bit if step.footprint.guarded else 0)
        if step.footprint.exclusive:
            self._exclusive |= bit
        self._spawned.update(step.footprint.spawns)
        self.length = event + 1

    def stays_short_with(self, step: Step) -> bool:
        """Tell whether each process still has at most one dependent event with a step."""
        if not step.dependent:
            return True
        if any(self.dependent[event] for event in self.of_process.get(step.process, ())):
            return False
        events = bits(step.dependent)
        for event in events:
            others = self.of_process[self.processes[event]]
            if any(self.dependent[other] for other in others if other != event):
                return False
        return len({self.processes[event] for event in events}) == len(events)

    def close(self) -> None:
        """Take note that the section is whole."""
        self.sleep_after = {
            process: step
            for process, step in self.sleep.items()
            if not any(step.conflicts_with(footprint) for footprint in self.footprints)
        }

    # The traces of the section

    def make_plan(self, *, learn: bool, room: int, is_over: Callable[[], bool]) -> Plan:
        """Plan all traces of the section, which is whole (see `Plan`)."""
        self.plan = Plan(self.previous, self.dependent, learn=learn, room=room, is_over=is_over)
        return self.plan

    def sleep_at(self, depth: int) -> Sleep:
        """Return the sleep set after `depth` events, when all that is scheduled there is done."""
        assert self.plan is not None
        sleep = dict(self.sleep)
        for position in range(depth + 1):
            taken = self.plan.solution[position] if position < depth else len(self.processes)
            for event in self.plan.scheduled(position):
                if event < taken:
                    sleep[self.processes[event]] = self.footprints[event]
            if position < depth:
                other = self.footprints[taken]
                sleep = {q: step for q, step in sleep.items() if not step.conflicts_with(other)}
        return sleep


def _events_in(events: dict[int, int], step: Footprint) -> int:
    """Return the mask of the events that a step is dependent with, by mask key."""
    mask = 0
    for key in step.conflicts:
        mask |= events.get(key, 0)
    for writers, value in step.unequal:
        mask |= events.get(writers, 0) & ~events.get(value, 0)
    return mask

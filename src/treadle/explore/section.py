"""Sections (seed 004, sections 3.2 and 3.3): fragments whose traces are known in advance.

A section starts in some state and consists of the next few steps of some processes, such that (A)
every execution of the section has the same events and (B) the same of them are dependent, in
whatever order its processes take turns. Both hold if no value that is read in the section decides
what a later step of it accesses:

- A front end *foresees* where the next step of a process begins, and which earlier steps of the
  process read values that may decide what it accesses or whether it is taken at all (branching
  transitions, and variables that influence an address). If such a step is in the section, it is
  *pinned*: no step of another process may be dependent with it, so that it reads the same in every
  order.
- A step that may be disabled, or that may access other locations when it reads other values (the
  core calls it guarded), is pinned by itself. So a lock is only taken in a section where nobody
  else touches it, and the paper's assumption that transitions do not disable each other holds.

A process that waits for the end of another does not join a section that this one takes part in, nor
does a process that was created in it.

Once a section is whole, `plan` has all its traces.
"""

from __future__ import annotations

from treadle.events import Codes, Footprint
from treadle.explore.algorithm import Sleep
from treadle.explore.plan import Plan
from treadle.program import Foreseen
from treadle.trace import bits

LONGEST = 255
"""Events of a section: their numbers are bytes."""


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
        self._pinned = 0
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

    def pins(self, process: int, foreseen: Foreseen | None) -> int:
        """Return the mask of the events whose reads may decide about the next step of a process."""
        events = self.of_process.get(process, ())
        if foreseen is None:
            return sum(1 << event for event in events)
        decisive = foreseen.decisive
        return sum(1 << event for event in events if self._places[event] in decisive)

    def can_pin(self, pins: int) -> bool:
        """Tell whether events read the same in every order of the section so far."""
        return not any(self.dependent[event] for event in bits(pins))

    def may_join(self, process: int) -> bool:
        """Tell whether a process was there before the section, and is awake."""
        return process not in self._spawned and process not in self.sleep

    def dependent_with(self, process: int, footprint: Footprint) -> int:
        """Return the mask of the events of other processes that are dependent with a step."""
        conflicts = footprint.conflict_set
        mask = 0
        for event, other in enumerate(self.footprints):
            if not conflicts.isdisjoint(other.own) and self.processes[event] != process:
                mask |= 1 << event
        return mask

    def admits(self, footprint: Footprint, dependent: int, pins: int) -> bool:
        """Tell whether a step that was just taken leaves (A) and (B) as they are."""
        if dependent and (footprint.guarded or dependent & (self._pinned | pins)):
            return False
        return not any(ended in self.of_process for ended in footprint.joins)

    def add(
        self, process: int, footprint: Footprint, dependent: int, pins: int, place: int
    ) -> None:
        """Add a step that is admitted."""
        event = len(self.processes)
        events = self.of_process.setdefault(process, [])
        self.previous.append(events[-1] if events else -1)
        events.append(event)
        self.processes.append(process)
        self.codes.append(footprint.codes)
        self.footprints.append(footprint)
        self._places.append(place)
        self.dependent.append(dependent)
        for other in bits(dependent):
            self.dependent[other] |= 1 << event
            self.constraints += 1
        self._pinned |= pins | (1 << event if footprint.guarded else 0)
        self._spawned.update(footprint.spawns)
        self.length = event + 1

    def has_one_dependent_step_each(self, process: int, dependent: int) -> bool:
        """Tell whether a step dependent with some events leaves each process one dependent step."""
        if any(self.dependent[event] for event in self.of_process.get(process, ())):
            return False
        for event in bits(dependent):
            others = self.of_process[self.processes[event]]
            if any(self.dependent[other] for other in others if other != event):
                return False
        processes = [self.processes[event] for event in bits(dependent)]
        return len(set(processes)) == len(processes)

    def close(self) -> None:
        """Take note that the section is whole."""
        self.sleep_after = {
            process: step
            for process, step in self.sleep.items()
            if not any(step.conflicts_with(footprint) for footprint in self.footprints)
        }

    # The traces of the section

    def make_plan(self, *, learn: bool) -> Plan:
        """Plan all traces of the section, which is whole."""
        self.plan = Plan(self.previous, self.dependent, learn=learn)
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
                own = self.footprints[taken].own
                sleep = {q: step for q, step in sleep.items() if step.conflict_set.isdisjoint(own)}
        return sleep

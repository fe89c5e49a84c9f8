"""Every execution with few context switches, fewest first.

Level k holds the states that k switches lead to. Each state of a level in which another process
than the last one can go on is the root of a run of the next level: that process goes on alone, as
far as it can. A state is what has happened up to the order of independent steps, and who was last;
where a state was seen before, with fewer switches or as many, a run need not go on.

If the search ends by itself, no execution with fewer switches shows the failure, and none with as
many shows it in fewer steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.findings.shrink.trials import Shown, Trials

_Event = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Process, accesses, and the latest event of each process in its past."""


@dataclass(frozen=True, slots=True)
class _Root:
    """Where a run of a level begins: after these steps, with this process."""

    steps: tuple[int, ...]
    process: int


@dataclass(slots=True)
class _States:
    """The states seen so far, up to the order of independent steps."""

    seen: set[tuple[tuple[int, ...], int]] = field(default_factory=set)
    _numbers: dict[_Event, int] = field(default_factory=dict)

    def add(self, trace: Trace, events: list[int]) -> bool:
        """Add the state after the last step of a trace; tell whether it is new.

        `events` are the numbers of the events before it; that of the last step is added.
        """
        trace.extend()
        last = len(trace) - 1
        process = trace.processes[last]
        past = trace.before[last] ^ 1 << last
        event = (process, trace.codes[last], _latest(trace, past, events))
        events.append(self._numbers.setdefault(event, len(self._numbers)))
        state = (_latest(trace, (1 << last + 1) - 1, events), process)
        if state in self.seen:
            return False
        self.seen.add(state)
        return True


def _latest(trace: Trace, among: int, events: list[int]) -> tuple[int, ...]:
    """Return the number of the latest event of each process among those of a mask."""
    masks = (own & among for own in trace.of_process)
    return tuple(events[mask.bit_length() - 1] if mask else -1 for mask in masks)


class _Alone:
    """Takes given steps, then lets one process go on as far as it leads to new states."""

    def __init__(self, root: _Root, states: _States) -> None:
        self._root = root
        self._states = states
        self._events: list[int] = []
        self.found: list[_Root] = []
        """Where runs of the next level begin."""

    def choose(self, run: Run, trace: Trace) -> int:
        steps, process = self._root.steps, self._root.process
        at = len(trace)
        if at <= len(steps):
            if at:
                self._states.add(trace, self._events)
            following = steps[at] if at < len(steps) else process
            return following if run.is_enabled(following) else -1
        if not self._states.add(trace, self._events):
            return -1
        taken = tuple(trace.processes)
        enabled = run.enabled()
        self.found += [_Root(taken, other) for other in enabled if other != process]
        return process if process in enabled else -1


class Levels:
    """The search."""

    def __init__(self, trials: Trials, bound: tuple[int, int]) -> None:
        self._trials = trials
        self.bound = bound
        """Switches and steps of the best execution so far: only better ones are of interest."""
        self.is_complete = False
        self._states = _States()

    def search(self) -> Iterator[Shown]:
        """Yield executions that show the failure; stop when none can be better than `bound`."""
        level = 0
        roots = self._first_roots()
        while roots and level <= self.bound[0]:
            following: list[_Root] = []
            for root in roots:
                if (level, len(root.steps) + 1) >= self.bound:
                    continue
                if self._trials.is_over:
                    return
                alone = _Alone(root, self._states)
                shown = self._trials.run(alone)
                if shown is not None:
                    yield shown
                following += alone.found
            roots = following
            level += 1
        self.is_complete = self._trials.are_exact

    def _first_roots(self) -> list[_Root]:
        """Return one root for each process that is there at the beginning."""
        look = _Look()
        self._trials.run(look)
        return [_Root((), process) for process in look.enabled]


class _Look:
    """Takes no step."""

    enabled: list[int]

    def choose(self, run: Run, trace: Trace) -> int:
        self.enabled = run.enabled()
        return -1

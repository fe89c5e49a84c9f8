"""Brute force: every interleaving of a program, with no reduction and none of the core's code.

Dependence is decided here from the access codes by a table of its own, and happens-before by
transitive closure, so that a mistake in `treadle.trace` cannot hide.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.events import Mode, location_of, mode_of
from treadle.program import Program, Run

READS = {Mode.READ, Mode.NEED, Mode.AWAIT}
WRITES = {Mode.WRITE, Mode.TAKE, Mode.SPARE}
UPDATES = {Mode.ADD, Mode.GIVE}

Event = tuple[str, int]
TraceClass = frozenset[tuple[Event, Event]]


@dataclass
class Everything:
    """What all interleavings of a program do."""

    interleavings: int = 0
    classes: set[tuple[frozenset[Event], TraceClass]] = field(default_factory=set)
    final_states: set[object] = field(default_factory=set)
    failures: set[tuple[str, str]] = field(default_factory=set)


class TooMany(Exception):
    """The program has more interleavings than the caller wants to see."""


def brute_force(program: Program, limit: int) -> Everything:
    """Run every interleaving; raise `TooMany` beyond `limit` of them."""
    everything = Everything()
    schedule: list[int] = []
    choices: list[list[int]] = []
    while True:
        run = program.start()
        steps = [(process, run.step(process)) for process in schedule]
        while enabled := run.enabled():
            choices.append(enabled[1:])
            schedule.append(enabled[0])
            steps.append((enabled[0], run.step(enabled[0])))
        everything.interleavings += 1
        if everything.interleavings > limit:
            raise TooMany
        names = program.vocabulary.process_names
        everything.classes.add(class_of(program, [(names[p], codes) for p, codes in steps]))
        everything.final_states.add(run.fingerprint())
        everything.failures |= failures_of(run)
        run.close()
        while choices and not choices[-1]:
            choices.pop()
            schedule.pop()
        if not choices:
            return everything
        schedule[-1] = choices[-1].pop(0)


def failures_of(run: Run) -> set[tuple[str, str]]:
    """Return kind and text of what an execution shows."""
    if run.crashes:
        return {(type(crash.exception).__name__, str(crash.exception)) for crash in run.crashes}
    waits = run.ending().waits
    return {("deadlock", "; ".join(map(str, waits)))} if waits else set()


def class_of(
    program: Program, steps: list[tuple[str, tuple[int, ...]]]
) -> tuple[frozenset[Event], TraceClass]:
    """Return the events and the happens-before relation of an execution."""
    counts: dict[str, int] = {}
    events: list[Event] = []
    ordered: list[set[int]] = []
    for index, (process, codes) in enumerate(steps):
        counts[process] = counts.get(process, 0) + 1
        events.append((process, counts[process]))
        before = {
            earlier
            for earlier in range(index)
            if steps[earlier][0] == process or dependent(program, steps[earlier], (process, codes))
        }
        ordered.append(before.union(*(ordered[earlier] for earlier in before)))
    relation = frozenset(
        (events[earlier], events[index]) for index in range(len(steps)) for earlier in ordered[index]
    )
    return frozenset(events), relation


def dependent(
    program: Program, first: tuple[str, tuple[int, ...]], second: tuple[str, tuple[int, ...]]
) -> bool:
    """Tell whether two steps, in this order, are ordered by happens-before."""
    names = program.vocabulary.process_names
    for a in first[1]:
        if mode_of(a) is Mode.SPAWN and names[location_of(a)] == second[0]:
            return True
        for b in second[1]:
            if mode_of(b) is Mode.JOIN:
                if names[location_of(b)] == first[0]:
                    return True
            elif accesses_conflict(program, a, b):
                return True
    return any(mode_of(b) is Mode.JOIN and names[location_of(b)] == first[0] for b in second[1])


def accesses_conflict(program: Program, a: int, b: int) -> bool:
    """Tell whether two accesses of different processes are dependent."""
    kinds = mode_of(a), mode_of(b)
    if any(kind in (Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN) for kind in kinds):
        return False
    if location_of(a) != location_of(b):
        return linked(program, a, b)
    if any(kind in WRITES for kind in kinds):
        return True
    return (kinds[0] in UPDATES) != (kinds[1] in UPDATES)


def linked(program: Program, a: int, b: int) -> bool:
    """Tell whether a time-out and a message that it could have taken meet."""
    for timed, sent in ((a, b), (b, a)):
        if mode_of(timed) is Mode.READ and mode_of(sent) is Mode.WRITE:
            for lines in program.kept.values():
                timeout = location_of(timed)
                message = location_of(sent)
                if timeout in lines.timeouts and message in lines.messages:
                    match = lines.timeouts[timeout]
                    return match is None or bool(match(lines.messages[message]))
    return False

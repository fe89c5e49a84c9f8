"""An execution moment by moment: what is known of the shared state, and who holds what.

Records say what a step read and wrote. Between two changes of a location its value stays what it
is, so a read tells it for the whole time since the last change, and back to the beginning if there
was none. What nobody read or wrote in words stays unknown, and is not made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from treadle.core.records import StepRecord

READ, WRITE = "read", "write"
"""The operations that tell a value, as all front ends call them."""


@dataclass(frozen=True, slots=True)
class Change:
    """A location that a step changed; what is not known is empty."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Moment:
    """What a step changed besides its process."""

    takes: tuple[str, ...]
    """What its process holds from then on."""
    gives: tuple[tuple[str, str], ...]
    """What somebody held until then, by name, and who."""
    changes: tuple[Change, ...]


@dataclass(slots=True)
class _Event:
    """Something that tells about the value of a location."""

    step: int
    is_change: bool
    value: str
    """The value from then on; empty if that is not known."""


def moments_of(steps: Sequence[StepRecord]) -> tuple[dict[str, str], list[Moment]]:
    """Return the shared state in the beginning, as far as it is known, and what each step did."""
    events = _events(steps)
    changes: list[list[Change]] = [[] for _ in steps]
    initial = {}
    for name, told in events.items():
        initial[name] = "" if told[0].is_change else told[0].value
        value = initial[name]
        for event in told:
            if event.is_change:
                changes[event.step].append(Change(name, value, event.value))
                value = event.value
    held = list(_holding(steps))
    moments = [Moment(*held[at], tuple(changes[at])) for at in range(len(steps))]
    return initial, moments


def _events(steps: Sequence[StepRecord]) -> dict[str, list[_Event]]:
    """Return what tells about each location that has a known value at some time, in order."""
    events: dict[str, list[_Event]] = {}
    for index, step in enumerate(steps):
        written = set()
        for access in step.accesses:
            if access.operation in (READ, WRITE) and access.value:
                is_change = access.operation == WRITE
                written |= {access.location} if is_change else set()
                events.setdefault(access.location, []).append(
                    _Event(index, is_change, access.value)
                )
        for name in step.changes:
            if name not in written:
                events.setdefault(name, []).append(_Event(index, True, ""))
    known = {name: told for name, told in events.items() if any(event.value for event in told)}
    for told in known.values():
        for event, later in pairwise(told):
            if not event.value and not later.is_change:
                event.value = later.value
    return known


def _holding(
    steps: Sequence[StepRecord],
) -> Iterator[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]:
    """Yield what is taken and given in each step.

    A task that holds its actor holds it while it waits: its next step ends that, or says so again.
    """
    holders: dict[str, list[str]] = {}
    for step in steps:
        gives = []
        ended = [step.lane] if step.process in holders.get(step.lane, ()) else []
        for name in [*step.gives, *ended]:
            if owners := holders.get(name):
                who = step.process if step.process in owners else owners[0]
                owners.remove(who)
                gives.append((name, who))
        takes = [access.held for access in step.accesses if access.held]
        for name in takes:
            holders.setdefault(name, []).append(step.process)
        yield tuple(takes), tuple(gives)


def preempted(steps: Sequence[StepRecord], index: int) -> str:
    """Return the process that could have gone on when a step of another one came, or nothing."""
    if not index or steps[index - 1].process == steps[index].process:
        return ""
    return "" if steps[index - 1].then else steps[index - 1].process

"""What else there is to say about a failure of tasks: what it rests on, and which pattern it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from treadle.core.failure import Failure
from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.core.records import StepRecord
from treadle.core.words import place_in_words
from treadle.python.sharing import finalizers
from treadle.tasks.labels import label_of
from treadle.tasks.possible import is_possible_in_fifo
from treadle.tasks.run import TaskRun
from treadle.tasks.steps import Step

_STUCK = ("deadlock", "leftover", "livelock")
_IS_CLOSED = re.compile("clos|shut ?down|disconnected", re.IGNORECASE)
"""How exceptions say that something cannot be used any more."""
_CLOSES = re.compile(r"clos(e|ing)|shut_?down|disconnect|is_open", re.IGNORECASE)
"""How lines and attributes are called that close something."""


def remarks_on(run: Run, trace: Trace, failure: Failure, *, order: str) -> list[str]:
    """Say what can be seen of a failure in its run, whose steps are taken."""
    assert isinstance(run, TaskRun)
    found = [*_rests(run, trace, failure), *_patterns(run, failure)]
    found += finalizers.in_failures() if failure.kind != "race" else []
    if order == "any":
        found.append(
            "CPython's loop can do this too"
            if is_possible_in_fifo(run, trace)
            else "not in CPython's loop: its ready queue is FIFO"
        )
    return found


def _rests(run: TaskRun, trace: Trace, failure: Failure) -> Iterator[str]:
    """Yield which timeouts expired, and which turns took longer, before it failed."""
    trace.extend()
    taken = run.loop.taken
    for index, step in enumerate(taken):
        if not step.has_struck or not _matters(trace, index, failure):
            continue
        at = place_in_words(step.armed_at)
        if step.is_timeout:
            yield f'it rests on a timeout that expired, {at}: `timeouts="never"` excludes it'
        elif step.is_turn and _is_delayed(taken, index):
            yield (
                f"it rests on `sleep(0)` at {at} that takes more than one turn of the loop: "
                f'`yields="exact"` excludes it'
            )


def _matters(trace: Trace, index: int, failure: Failure) -> bool:
    """Tell whether a step happens before the failing one; if tasks wait, all do."""
    last = failure.step
    return last >= len(trace) or bool(trace.before[last] >> index & 1)


def _is_delayed(taken: Sequence[Step], index: int) -> bool:
    """Tell whether something else arrived, or somebody ran twice, while a turn was given up."""
    step = taken[index]
    first = taken.index(step.armed_by) if step.armed_by in taken else -1
    between = taken[first + 1 : index]
    owners = [other.owner for other in between]
    return any(other.is_arrival for other in between) or len(set(map(id, owners))) < len(owners)


def _patterns(run: TaskRun, failure: Failure) -> Iterator[str]:
    """Yield what is known to go wrong like this."""
    loop = run.loop
    if failure.kind in _STUCK:
        for task in dict.fromkeys(loop.lost_wakeups):
            yield (
                f"lost wakeup on cancellation: {label_of(task, loop.tasks) or 'main'} was "
                f"cancelled after it had been woken and before it ran"
            )
    for task in loop.tasks:
        is_swallowed = task._state == "FINISHED" and task._exception is None
        if is_swallowed and task._num_cancels_requested:
            yield (
                f"cancellation swallowed: {label_of(task, loop.tasks) or 'main'} was asked to end "
                f"and went on to its result"
            )
    steps = failure.trace[: failure.step + 1]
    if failure.kind == "exception" and _IS_CLOSED.search(failure.message):
        yield from _use_after_close(steps)
    checked = next(_check_then_act(steps), "")
    if checked:
        yield checked


def _use_after_close(steps: Sequence[StepRecord]) -> Iterator[str]:
    """Yield who used last what somebody else had closed, if an exception says so."""
    for at, using in reversed(list(enumerate(steps))):
        touched = {access.location for access in using.accesses}
        for before, closing in reversed(list(enumerate(steps[:at]))):
            names = [name for name in closing.changes if name in touched]
            if closing.lane == using.lane or not names:
                continue
            if _CLOSES.search(" ".join([closing.source, *names])):
                yield (
                    f"use after close: {using.label} used {_owner(names[0])} in step {at + 1}, "
                    f"{using.where}, which {closing.label} had closed in step {before + 1}, "
                    f"{closing.where}"
                )
                return


def _owner(location: str) -> str:
    """Return what an attribute belongs to that says whether it is closed."""
    owner, _, name = location.rpartition(".")
    return owner if owner and _CLOSES.search(name) else location


def _check_then_act(steps: Sequence[StepRecord]) -> Iterator[str]:
    """Yield who read something, awaited, and wrote it although somebody else had meanwhile."""
    for at, step in enumerate(steps):
        for name in step.changes:
            others = [
                index
                for index, other in enumerate(steps[:at])
                if name in other.changes and other.lane != step.lane
            ]
            reads = [
                index
                for index, other in enumerate(steps[: others[-1]] if others else [])
                if other.lane == step.lane
                and any(a.operation == "read" and a.location == name for a in other.accesses)
            ]
            if reads:
                yield (
                    f"check-then-act across an await: {step.label} read {name} in step "
                    f"{reads[-1] + 1} and changed it in step {at + 1}; in between, at its `await` "
                    f"after {steps[reads[-1]].where}, {steps[others[-1]].label} changed it in step "
                    f"{others[-1] + 1}"
                )

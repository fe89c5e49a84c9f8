"""Brute force: all that a loop can do, by every choice at every poll, or of every next handle.

It shares nothing with the searches but the recorded accesses, which name the classes.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from exploring import explored, final_state

import treadle
from treadle.core.happens_before import Trace
from treadle.core.program import Program, Restart
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.tasks.run import TaskRun

Class = frozenset[Any]
Choices = Callable[[TaskRun], list[tuple[int, ...]]]


class TooMany(Exception):
    """There are more schedules than anybody wants to see."""


def every_schedule(
    test: Callable[[], Any], limit: int, order: str = "fifo", **options: Any
) -> tuple[int, set[Class], set[str]]:
    """Return how many schedules there are, their classes, and the final states."""
    asked = {"order": order, "yields": "exact", **options}
    with opened(test, Settings.asked_for(asked)) as session:
        while True:
            try:
                return _enumerate(session.program, limit, CHOICES[order])
            except Restart:
                continue


def _enumerate(program: Program, limit: int, choices: Choices) -> tuple[int, set[Class], set[str]]:
    count, classes, states = 0, set(), set()
    todo: list[list[int]] = [[]]
    while todo:
        prefix = todo.pop()
        made, options, run, trace = _run(program, prefix, choices)
        count += 1
        if count > limit:
            run.close()
            raise TooMany
        states.add(final_state(run))
        classes.add(class_of(trace))
        run.close()
        for depth in range(len(prefix), len(made)):
            todo += [[*made[:depth], other] for other in range(1, options[depth])]
    return count, classes, states


def _run(
    program: Program, prefix: list[int], choices: Choices
) -> tuple[list[int], list[int], TaskRun, Trace]:
    run = program.start()
    assert isinstance(run, TaskRun)
    trace = Trace(program.vocabulary)
    made: list[int] = []
    options: list[int] = []
    while True:
        found = choices(run)
        if not found:
            return made, options, run, trace
        options.append(len(found))
        made.append(prefix[len(made)] if len(made) < len(prefix) else 0)
        for process in found[made[-1]]:
            trace.append(process, run.step(process))


def _at_a_poll(run: TaskRun) -> list[tuple[int, ...]]:
    """Return what an iteration may run: what is ready, and behind it what comes, in each order."""
    ready = (*run.loop.ready, *_cancelled(run))
    due = [step.process for step in run.loop.armed.values() if run.is_due(step)]
    due = [process for process in due if process not in ready]
    arrivals = (some for size in range(len(due) + 1) for some in itertools.permutations(due, size))
    return [(*ready, *some) for some in arrivals if some or ready]


def _any_handle(run: TaskRun) -> list[tuple[int, ...]]:
    return [(process,) for process in _cancelled(run)[:1] or run.enabled()]


def _cancelled(run: TaskRun) -> list[int]:
    """Return the timers that were cancelled: they are due at once, and do nothing."""
    return [step.process for step in run.loop.armed.values() if step.is_cancelled]


CHOICES: dict[str, Choices] = {"fifo": _at_a_poll, "any": _any_handle}


def class_of(trace: Trace) -> Class:
    """Return the events of an execution, each with those that happen before it.

    What they access is left out: whoever is first to use what asyncio makes once reads more.
    """
    trace.extend()
    names = trace.vocabulary.process_names
    found = []
    for index, process in enumerate(trace.processes):
        past = frozenset(
            names[trace.processes[other]]
            for other in range(index)
            if trace.before[index] >> other & 1
        )
        found.append((names[process], past))
    return frozenset(found)


ORDERS = ["fifo", "any"]


def gap(order: str) -> Any:
    """Return what a test awaits while others may run."""
    return treadle.pause() if order == "fifo" else asyncio.sleep(0)


def agreed(test: Callable[[], Any], order: str, **options: Any) -> tuple[int, set[str]]:
    """Return classes and final states, which are those of all schedules."""
    _, classes, states = every_schedule(test, 3000, order, **options)
    result, seen = explored(test, order, **options)
    assert (result.complete, result.executions, seen) == (True, len(classes), states)
    return result.executions, seen

"""Brute force: all that a loop with a FIFO queue can do, by every choice at every poll.

It shares nothing with the search by zones but the recorded accesses, which name the classes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from exploring import final_state

from treadle.core.happens_before import Trace
from treadle.core.program import Program, Restart
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.tasks.run import TaskRun

Class = frozenset[Any]


class TooMany(Exception):
    """There are more schedules than anybody wants to see."""


def every_schedule(test: Callable[[], Any], limit: int) -> tuple[int, set[Class], set[str]]:
    """Return how many schedules there are, their classes, and the final states."""
    asked = {"order": "fifo", "yields": "exact"}
    with opened(test, Settings.asked_for(asked)) as session:
        while True:
            try:
                return _enumerate(session.program, limit)
            except Restart:
                continue


def _enumerate(program: Program, limit: int) -> tuple[int, set[Class], set[str]]:
    count, classes, states = 0, set(), set()
    todo: list[list[int]] = [[]]
    while todo:
        prefix = todo.pop()
        made, options, run, trace = _run(program, prefix)
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


def _run(program: Program, prefix: list[int]) -> tuple[list[int], list[int], TaskRun, Trace]:
    run = program.start()
    assert isinstance(run, TaskRun)
    trace = Trace(program.vocabulary)
    made: list[int] = []
    options: list[int] = []
    while True:
        ready = list(run.loop.ready)
        choices = [batch for batch in _arrivals(run) if batch or ready]
        if not choices:
            return made, options, run, trace
        options.append(len(choices))
        made.append(prefix[len(made)] if len(made) < len(prefix) else 0)
        for process in [*ready, *choices[made[-1]]]:
            trace.append(process, run.step(process))


def _arrivals(run: TaskRun) -> Iterator[tuple[int, ...]]:
    """Yield what may come at a poll, in each order: nothing first."""
    due = [step.process for step in run.loop.armed.values() if run.is_due(step)]
    for size in range(len(due) + 1):
        yield from itertools.permutations(due, size)


def class_of(trace: Trace) -> Class:
    """Return the events of an execution, each with those that happen before it."""
    trace.extend()
    names = trace.vocabulary.process_names
    found = []
    for index, process in enumerate(trace.processes):
        past = frozenset(
            names[trace.processes[other]]
            for other in range(index)
            if trace.before[index] >> other & 1
        )
        found.append((names[process], trace.codes[index], past))
    return frozenset(found)

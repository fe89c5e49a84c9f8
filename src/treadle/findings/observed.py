"""Where the steps of an observed exploration are: some executions are run again, in detail.

An exploration runs programs as fast as it can and knows no lines. The beginnings of executions that
show the most frequent reversals are run once more, recorded; each tells the lines of all its steps.
"""

from __future__ import annotations

from collections import Counter

from treadle.core.errors import TreadleError
from treadle.core.exploration import Exploration
from treadle.core.happens_before import Trace
from treadle.core.program import CannotStepError, Program
from treadle.core.schedule import Schedule
from treadle.explore.observing import Observer, Places
from treadle.findings.recording import for_report
from treadle.findings.replay import follow
from treadle.findings.steps import steps_of

MOST_RUNS = 30
"""Executions that are run again."""
_MOST_STEPS = 20_000
"""Steps that they take together."""


def exploration_of(program: Program, observer: Observer) -> Exploration:
    """Return what was observed, with the lines of the steps, as far as they are known."""
    places, steps, runs = Places(), 0, 0
    with for_report(program):
        for pair, processes in observer.examples:
            if runs == MOST_RUNS or steps > _MOST_STEPS:
                break
            if not all(places.knows(event) for event in pair):
                steps, runs = steps + len(processes), runs + 1
                _look(program, processes, places)
    return observer.exploration(places)


def _look(program: Program, processes: list[int], places: Places) -> None:
    """Run the beginning of an execution again, and take note of where its steps are."""
    trace = Trace(program.vocabulary)
    names = program.vocabulary.process_names
    schedule = Schedule((names[process] for process in processes), program.knowledge())
    try:
        run = follow(program, schedule, detail=True, trace=trace)
    except (CannotStepError, TreadleError):  # the program is not deterministic
        return
    taken: Counter[int] = Counter()
    for process, codes, record in zip(
        trace.processes, trace.codes, steps_of(run, trace), strict=False
    ):
        places.add((process, taken[process], codes), record.where)
        taken[process] += 1
    run.drop()

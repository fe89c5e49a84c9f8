"""Whether CPython's loop, whose ready queue is FIFO, can do what was seen in `order="any"`.

The execution's class gives constraints on when things arrive, as in `fifo`. If no point satisfies
them all, or if two steps that come from the same arrival ran in an order that the queue does not
allow, no loop with a FIFO queue can do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.happens_before import Trace
from treadle.tasks.positions import before, polled_after
from treadle.tasks.zones import Region

if TYPE_CHECKING:
    from treadle.tasks.run import TaskRun

_MOST_STEPS = 1000
"""Steps that are taken to see what would have come after the failing one."""


def is_possible_in_fifo(run: TaskRun, trace: Trace) -> bool:
    """Tell whether a FIFO loop can do what a run did; the run goes on to its end.

    What was not run yet when it failed, and is dependent on what was, came later than that.
    """
    length = len(trace)
    for _ in range(_MOST_STEPS):
        if not run.enabled():
            break
        process = run.enabled()[0]
        trace.append(process, run.step(process))
    trace.extend()
    taken = run.loop.taken
    races = [*trace.races, *trace.undecided]  # all steps are open: what they do depends on values
    formulas = []
    for race in races:
        if race.first < length:
            order = before(taken[race.first].positions, taken[race.second].positions)
            formulas.append(order)
    for index, step in enumerate(taken[:length]):
        if step.is_arrival:
            for other in run.ahead_of(step, index):
                formulas.append(polled_after((other.positions,), step.process + 1))
    return not Region(formulas).is_empty

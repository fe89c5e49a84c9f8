"""Whether CPython's loop, whose ready queue is FIFO, can do what was seen in `order="any"`.

The execution's class gives constraints on when things arrive, as in `fifo`. If no point satisfies
them all, or if two steps that come from the same arrival ran in an order that the queue does not
allow, no loop with a FIFO queue can do it.
"""

from __future__ import annotations

from treadle.core.happens_before import Trace
from treadle.tasks.run import TaskRun
from treadle.tasks.steps import Step
from treadle.tasks.zones import Zone, before, polled_after, position

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
    zone = Zone()
    races = [*trace.races, *trace.undecided]  # all steps are open: what they do depends on values
    pairs = [(taken[race.first], taken[race.second]) for race in races if race.first < length]
    for step in taken[:length]:
        for countdown in step.rests:
            last = countdown.last
            pairs += [(other, last) for other in countdown.counted if other is not last]
    for index, step in enumerate(taken[:length]):
        if step.is_arrival:
            for other in run.ahead_of(step, index):
                found = polled_after(position(other), step.process + 1)
                if found is not None and not zone.add(found):
                    return False
    return all(_can_precede(zone, first, second) for first, second in pairs)


def _can_precede(zone: Zone, first: Step, second: Step) -> bool:
    """Add that a step runs before another; tell whether that can be."""
    constraint = before(position(first), position(second))
    if constraint is not None:
        return zone.add(constraint)
    return (first.hops, first.place) < (second.hops, second.place)

"""What a deadlock cycle asks of executions: one constraint for each of its arrows into a task.

"Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016), definition 4.
"""

from __future__ import annotations

from typing import NamedTuple

from treadle.analyses.abstract import Routine
from treadle.analyses.ahead import Place
from treadle.analyses.deadlock_cycles import Cycle
from treadle.analyses.dependency_graph import Reason


class Constraint(NamedTuple):
    """A task of a method stops somewhere for a task of another one."""

    method: object
    """The function of the task that waits."""
    place: Place
    """Where it waits: there, or in what it calls."""
    awaited: object
    """The function of the task that it waits for; of a condition, of one that may make it true."""
    is_pending: bool
    """Whether the awaited task must not have ended: it needs a group that is held."""
    is_condition: bool


def constraints_of(cycle: Cycle) -> tuple[Constraint, ...]:
    """Return what has to be possible if the cycle is (definition 4)."""
    return tuple(
        Constraint(
            edge.task.function,
            (edge.point.routine.function, edge.point.position),
            edge.target.function,
            cycle.next_of(edge).reason is Reason.TURN,
            edge.reason is Reason.UNTIL,
        )
        for edge in cycle.waits
        if isinstance(edge.target, Routine)
    )

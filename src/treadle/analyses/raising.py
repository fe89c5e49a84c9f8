"""Which routines may end with an exception: tasks that they sent may still be there then.

What code says itself may raise: `raise`, `assert`, an index, a division, a function that is given
values, waiting for a task that may raise, calling a routine that may. Not expected are mistakes of
types, such as a message to None: nobody would prove anything then.
"""

from __future__ import annotations

from treadle.analyses.abstract import Routine
from treadle.analyses.ir import (
    Apply,
    Assert,
    Await,
    Expression,
    Get,
    Instruction,
    Operation,
    Raise,
    Return,
    parts,
    used,
)
from treadle.analyses.points_to import PointsTo, callers_in

_RAISING = frozenset(("index", "part", "/", "//", "%", "**", "/=", "//=", "%=", "**="))
_CAREFUL = frozenset((all, any, bool, enumerate, isinstance, len, list, print, range, repr,
                      reversed, str, tuple, zip))  # fmt: skip
"""Functions that take what code gives them."""


class Raising:
    """Where routines may be left."""

    def __init__(self, points_to: PointsTo) -> None:
        self._points_to = points_to
        self._routines: set[Routine] = set()
        callers = callers_in(points_to)
        waiters: dict[Routine, list[Routine]] = {}
        for routine, effects in points_to.routines.items():
            waited_for = [*effects.waits.values(), *effects.crossing.values()]
            for task in dict.fromkeys(one for tasks in waited_for for one in tasks):
                waiters.setdefault(task, []).append(routine)
        work = list(points_to.routines)
        while work:
            routine = work.pop()
            if routine not in self._routines and self._may_raise_somewhere(routine):
                self._routines.add(routine)
                work += [*callers.get(routine, []), *waiters.get(routine, [])]

    def _may_raise_somewhere(self, routine: Routine) -> bool:
        return any(
            self._may_raise(routine, at) and not routine.method.handled_at(at)
            for at in self._points_to.routines[routine].locals
        )

    def may_leave(self, routine: Routine, at: int) -> bool:
        """Tell whether a routine may end at a position: it returns, or fails there."""
        if isinstance(routine.method.instructions[at], Return):
            return True
        return not routine.method.handled_at(at) and self._may_raise(routine, at)

    def _may_raise(self, routine: Routine, at: int) -> bool:
        instruction = routine.method.instructions[at]
        if isinstance(instruction, Raise | Assert) or _fails(instruction):
            return True
        effects = self._points_to.routines[routine]
        tasks = [*effects.calls.get(at, ()), *effects.crossing.get(at, ())]
        if isinstance(instruction, Get) or (
            isinstance(instruction, Await) and instruction.target is not None
        ):
            tasks += effects.waits.get(at, ())
        return any(task in self._routines for task in tasks)


def _fails(instruction: Instruction) -> bool:
    return any(map(_may_fail, (part for value in used(instruction) for part in parts(value))))


def _may_fail(part: Expression) -> bool:
    match part:
        case Operation(operator):
            return operator in _RAISING
        case Apply(_, operands, callee):
            return callee not in _CAREFUL and bool(operands)
        case _:
            return False

"""The dependency graph of abstract tasks and groups: who may have to wait for whom.

After "May-Happen-in-Parallel Based Deadlock Analysis for Concurrent Objects" (Flores-Montoya,
Albert and Genaim, 2013). The arrows out of a task t of a group g, each with the point that is its
label:

- a wait for the future of u at p: t → u; if it does not release, also g → u. Left out if t has
  surely waited for that future before (`await f; f.get()`);
- t → g from its entry, and from each point at which it waits and releases: it needs the group free;
- `until` at p: t → w for each task w that may write a field of the condition.

A task has the arrows of all that it calls in its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from treadle.analyses.abstract import ENTRY, AbstractObject, Point, Routine
from treadle.analyses.ir import (
    Await,
    Call,
    Expression,
    Get,
    Operation,
    Pause,
    SetField,
    Until,
    Update,
    fields_of,
    parts,
)
from treadle.analyses.may_happen_in_parallel import LocalPhase
from treadle.analyses.points_to import PointsTo

Node = AbstractObject | Routine
"""A group, by the object that stands for it, or a task."""


class Reason(Enum):
    """Why one has to wait for another."""

    GET = "get"
    """It waits for the end of a task, and holds its group."""
    AWAIT = "await"
    """It waits for the end of a task, and has released its group."""
    UNTIL = "until"
    """It waits for a condition that the other one may make true."""
    TURN = "turn"
    """It waits until its group is free."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow of the graph: `source` cannot go on before `target`, since `task` is at `point`."""

    source: Node
    target: Node
    point: Point
    task: Routine
    """The task that is at the point: it, or what it calls."""
    reason: Reason
    is_child: bool = False
    """Whether the task itself has sent what it waits for."""

    @property
    def leaves_group(self) -> bool:
        """Whether it is a group that waits: it is held meanwhile."""
        return isinstance(self.source, AbstractObject)

    @property
    def enters_task(self) -> bool:
        """Whether something is waited for that a task does, not a group."""
        return isinstance(self.target, Routine)


class DependencyGraph:
    """All arrows of a program."""

    def __init__(self, points_to: PointsTo, local: LocalPhase) -> None:
        self._points_to = points_to
        self._local = local
        self.edges: list[Edge] = []
        self.conditions: list[Point] = []
        """Where tasks may wait for conditions."""
        for task in points_to.tasks:
            self.edges += dict.fromkeys(self._edges_of(task))

    def _edges_of(self, task: Routine) -> Iterator[Edge]:
        group = task.object.group
        if task.object.cls is not None:
            yield Edge(task, group, Point(task, ENTRY), task, Reason.TURN)
        for point in self._points_of(task):
            match point.instruction:
                case Get(_, future):
                    yield from self._waits(task, point, future, Reason.GET)
                case Await(_, future):
                    waits = list(self._waits(task, point, future, Reason.AWAIT))
                    yield from waits
                    if waits:  # else it goes on at once
                        yield Edge(task, group, point, task, Reason.TURN)
                case Until(condition):
                    if point not in self.conditions:
                        self.conditions.append(point)
                    yield from self._writers(task, point, condition)
                    yield Edge(task, group, point, task, Reason.TURN)
                case Pause():
                    yield Edge(task, group, point, task, Reason.TURN)
                case Call():
                    for callee in self._points_to.routines[point.routine].crossing.get(
                        point.position, ()
                    ):
                        yield from _held(task, callee, point, is_child=True)

    def _points_of(self, task: Routine) -> Iterator[Point]:
        """Yield the points of a task, and of all that it calls."""
        seen = {task: None}
        work = [task]
        while work:
            routine = work.pop()
            for at in sorted(at for at in self._local.atoms[routine] if at >= 0):
                yield Point(routine, at)
            for callee in self._called_by(routine):
                if callee not in seen:
                    seen[callee] = None
                    work.append(callee)

    def _called_by(self, routine: Routine) -> list[Routine]:
        calls = self._points_to.routines[routine].calls
        return [callee for at in sorted(calls) for callee in sorted(calls[at], key=str)]

    def _waits(
        self, task: Routine, point: Point, future: Expression, reason: Reason
    ) -> Iterator[Edge]:
        atoms = self._local.held_by(point, future)
        for awaited in self._points_to.routines[point.routine].waits.get(point.position, ()):
            known = [atom for atom in atoms if atom.task == awaited]
            if known and all(atom.is_over for atom in known):
                continue
            is_child = bool(known) and all(atom.is_own for atom in known)
            if reason is Reason.GET:
                yield from _held(task, awaited, point, is_child=is_child)
            else:
                yield Edge(task, awaited, point, task, reason, is_child)

    def _writers(self, task: Routine, point: Point, condition: Expression) -> Iterator[Edge]:
        names = _names_in(condition)
        for other in self._points_to.tasks:
            if other.object.group == task.object.group and any(
                _writes(each.instruction, names) for each in self._points_of(other)
            ):
                yield Edge(task, other, point, task, Reason.UNTIL)


def _held(task: Routine, awaited: Routine, point: Point, *, is_child: bool) -> Iterator[Edge]:
    """A wait that does not release: the task and its whole group wait."""
    yield Edge(task, awaited, point, task, Reason.GET, is_child)
    yield Edge(task.object.group, awaited, point, task, Reason.GET, is_child)


def _names_in(condition: Expression) -> frozenset[str]:
    """Return the names of fields in a condition, of other objects of the group too."""
    others = (part.operator[1:] for part in parts(condition) if isinstance(part, Operation)
              and part.operator.startswith("."))  # fmt: skip
    return fields_of(condition).union(others)


def _writes(instruction: object, names: frozenset[str]) -> bool:
    match instruction:
        case SetField(name):
            return name in names
        case Update(_, container, operation):
            changed = _names_in(container)
            return not names.isdisjoint(changed | {operation.strip(".=")})
        case _:
            return False

"""The deadlock cycles of a program of actors, in its own words, and how to look for them."""

from __future__ import annotations

from types import FunctionType
from typing import cast

from treadle.actors.actor import Actor
from treadle.actors.classes import classes_in
from treadle.actors.guidance import Guide
from treadle.actors.programs import Program
from treadle.actors.run import ActorRun
from treadle.actors.waiting import pause, until
from treadle.analyses.abstract import Point, Routine
from treadle.analyses.deadlock_cycles import MOST_CYCLES, Analysis, Cycle, analyse
from treadle.analyses.dependency_graph import Edge, Reason
from treadle.analyses.known import Known
from treadle.analyses.points_to import PointsTo
from treadle.analyses.sources import source_at
from treadle.core import program as core
from treadle.core.deadlocks import Aim, Candidates, Condition, DeadlockCycle, Link
from treadle.core.errors import TreadleError
from treadle.core.words import place_in_words

KNOWN = Known(actor=Actor, until=until, pause=pause)


class CycleOfActors(Aim):
    """A cycle of actors' tasks that executions can be guided to."""

    def __init__(self, cycle: Cycle, points_to: PointsTo) -> None:
        self.cycle = cycle
        self.guide = Guide(cycle, points_to)

    def guided(self, program: core.Program) -> Program:
        """Return the program with executions cut that cannot end in the cycle."""
        return cast("Program", program).guided_by(self.guide)

    def is_deadlock(self, run: core.Run) -> bool:
        """Tell whether tasks wait for ever, whatever the cycle is."""
        run = cast("ActorRun", run)
        return bool(run.chain) or (self.cycle.kind == "condition" and self._is_stuck(run))

    def is_met_by(self, run: core.Run) -> bool:
        """Tell whether an execution ended in this cycle."""
        run = cast("ActorRun", run)
        if self.cycle.kind == "condition":
            return self._is_stuck(run)
        return self.guide.is_represented_by(run.chain)

    def _is_stuck(self, run: ActorRun) -> bool:
        return not run.enabled() and self.guide.is_stuck_in(run.alive.values())


def analysis_of(program: Program, sensitivity: int) -> Analysis:
    """Analyse a program of actors, for whatever its main function is given."""
    main = program.main
    if not isinstance(main, FunctionType):
        raise TreadleError(f"{program.name} is no function with a source that can be analysed")
    classes = classes_in(main, (*program.args, *program.kwargs.values()))
    return analyse(KNOWN, classes, main, sensitivity)


def candidates_of(program: Program, sensitivity: int) -> Candidates:
    """Return the deadlock cycles of a program, as far as the static analysis can tell."""
    return candidates_from(analysis_of(program, sensitivity))


def candidates_from(analysis: Analysis) -> Candidates:
    """Return what an analysis found, in the program's words."""
    assert analysis.points_to is not None
    unknown = [f"{place_in_words(place)}: {why}" for place, why in analysis.unknown.items()]
    if analysis.is_cut:
        unknown.append(f"there are more than {MOST_CYCLES} cycles, and not all were looked at")
    return Candidates(
        [
            DeadlockCycle(cycle.kind, chain_of(cycle), aim=CycleOfActors(cycle, analysis.points_to))
            for cycle in analysis.cycles
        ],
        list(map(_condition, analysis.conditions)),
        unknown,
    )


def chain_of(cycle: Cycle) -> tuple[Link, ...]:
    """Return who waits for whom in a cycle."""
    return tuple(_link(cycle, edge) for edge in cycle.waits)


def _link(cycle: Cycle, edge: Edge) -> Link:
    file, line = _file_and_line(edge.point)
    held = holder = ""
    following = cycle.next_of(edge)
    if following.reason is Reason.TURN:
        held, holder = str(following.target), str(cycle.next_of(following).task)
    assert isinstance(edge.target, Routine)
    return Link(str(edge.task), file, line, edge.reason.value, str(edge.target), held, holder)


def _condition(point: Point) -> Condition:
    assert point.instruction is not None
    text = source_at(point.routine.method.file, point.instruction.span)
    return Condition(str(point.routine), *_file_and_line(point), text)


def _file_and_line(point: Point) -> tuple[str, int]:
    place = place_in_words((point.routine.method.file, point.line))
    return place.rpartition(":")[0], point.line

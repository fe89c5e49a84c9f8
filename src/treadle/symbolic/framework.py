"""From classes without a main program to a test case in hand, or "no deadlock up to M".

"Generation of Initial Contexts for Effective Deadlock Detection" (LOPSTR 2017), section 5: the
static analysis gives cycles; each cycle its interfering tasks, those the minimal contexts, and from
each context starts a symbolic execution that the cycle guides. The first deadlock that it meets
becomes a test case: a concrete context, and the interleaving that leads to the deadlock.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from treadle.analyses.deadlock_cycles import Analysis, Cycle, analyse
from treadle.analyses.known import Known, function_of
from treadle.core.deadlocks import SENSITIVITY
from treadle.symbolic.chains import chain_in_words
from treadle.symbolic.code import INITIALISER, Code
from treadle.symbolic.concrete import Concretion
from treadle.symbolic.contexts import AbstractTask, Context, minimal_contexts, number_of_contexts
from treadle.symbolic.guidance import CycleGuide
from treadle.symbolic.interfering import interfering_tasks, stops_of
from treadle.symbolic.interleaving import diagram
from treadle.symbolic.limits import Limits
from treadle.symbolic.search import End, Path, Search, state_of
from treadle.symbolic.state import State
from treadle.symbolic.step import Machine
from treadle.symbolic.test_case import Origin, TestCase, program_source


@dataclass(frozen=True, slots=True)
class Examined:
    """What symbolic execution from one context found; it can be sent to another process."""

    context: str
    test: TestCase | None
    """A deadlock, if one was met."""
    met: tuple[int, ...]
    """The cycles that it is one of, by index."""
    limits: tuple[str, ...]
    """Limits that were met: without any, all executions of the context were followed."""
    states: int
    pruned: int


class Framework:
    """The contexts of some classes, and what may happen in them."""

    def __init__(
        self, known: Known, classes: list[type], limits: Limits, sensitivity: int = SENSITIVITY
    ) -> None:
        self.analysis: Analysis = analyse(known, classes, None, sensitivity)
        self.code = Code(known, classes)
        self.limits = limits
        self._machine: Machine | None = None
        self._guides: dict[int, CycleGuide] = {}

    @property
    def machine(self) -> Machine:
        """What executes; made when it is first needed, for it needs z3."""
        if self._machine is None:
            self._machine = Machine(self.code, self.limits)
        return self._machine

    def set_limits(self, limits: Limits) -> None:
        """Go on with other limits."""
        self.limits = limits
        if self._machine is not None:
            self._machine.limits = limits

    @property
    def cycles(self) -> list[Cycle]:
        """The deadlock cycles that the analysis found."""
        return self.analysis.cycles

    # Contexts

    def tasks(self, cycle: Cycle, most: int) -> list[AbstractTask]:
        """Return the tasks that contexts of a cycle have, from 1 to `most` of each."""
        return interfering_tasks(self.code, stops_of(self.code, cycle), most)

    def contexts(self, cycle: Cycle, most: int) -> Iterator[Context]:
        """Yield the contexts of a cycle."""
        return minimal_contexts(self.tasks(cycle, most))

    def number_of(self, cycle: Cycle, most: int) -> int:
        """Return how many contexts a cycle has."""
        return number_of_contexts(self.tasks(cycle, most))

    def number_of_all_contexts(self, most: int) -> int:
        """Return how many contexts there are with all methods of all classes."""
        return number_of_contexts(
            [
                AbstractTask(cls, method, 1, most)
                for cls in self.code.classes
                for method in self.code.methods(cls)
            ]
        )

    # Symbolic execution

    def guide(self, at: int) -> CycleGuide:
        """Return what guides executions to a cycle."""
        if at not in self._guides:
            assert self.analysis.points_to is not None
            cycle, points_to = self.cycles[at], self.analysis.points_to
            self._guides[at] = CycleGuide(cycle, points_to, self.code)
        return self._guides[at]

    def examine(self, at: int, context: Context, name: str, *, any_deadlock: bool) -> Examined:
        """Look for a deadlock of a cycle in a context; or for any, on the way to it."""
        guide, machine = self.guide(at), self.machine
        start = state_of(machine, context)
        search = Search(machine, guide.allows, time.process_time() + self.limits.seconds)
        found: Path | None = None
        for path in search.paths(start):
            is_met = guide.is_met_by(path)
            if is_met or (path.end is End.DEADLOCK and found is None):
                found = path
            if found is not None and (is_met or any_deadlock):
                break
        test, met = None, list[int]()
        if found is not None:
            test = self.test_case(start, found, name, str(context))
            met = [each for each in range(len(self.cycles)) if self.guide(each).is_met_by(found)]
        limits = tuple(sorted(search.limits))
        return Examined(str(context), test, tuple(met), limits, search.states, search.cut)

    # Test cases

    def test_case(self, start: State, path: Path, name: str, context: str) -> TestCase:
        """Return a path as a test case."""
        concretion = Concretion(self.machine, start, path)
        concrete = concretion.concrete()
        words = self._words(path, concretion.labels)
        return TestCase(
            name=name,
            words=words,
            kind=path.end.value,
            context=context,
            program=program_source(name, words, concrete),
            schedule=concrete.schedule,
            origins=tuple(map(origin_of, dict.fromkeys(each.cls for each in concrete.actors))),
            constraints=concrete.constraints,
            table=diagram(path.state, concretion.labels),
        )

    def _words(self, path: Path, labels: dict[str, str]) -> str:
        if path.end is End.DEADLOCK:
            return chain_in_words(path.state, path.chain, labels)
        waiting = [task.method for task in path.state.alive()]
        return f"{', '.join(waiting)} wait for ever" if waiting else f"it ends in {path.end.value}"


def origin_of(cls: type) -> Origin:
    """Return where a class comes from."""
    functions = [function_of(cls, name) for name in (INITIALISER, *vars(cls))]
    function = next((each for each in functions if each is not None), None)
    if function is not None and function.__qualname__.startswith(cls.__qualname__):
        file = function.__code__.co_filename
    else:
        module = sys.modules.get(cls.__module__)
        file = str(getattr(module, "__file__", None) or inspect.getfile(cls))
    path = cls.__qualname__
    return Origin(cls.__name__, file, "" if "<locals>" in path else path)

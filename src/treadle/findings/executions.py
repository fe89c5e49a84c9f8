"""All executions of an exploration, one by one: the tree says which there were.

An observed search leaves a tree behind, not its executions. Each is run once more, to be looked at
like a failing one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from treadle.core.exploration import Branch, Exploration
from treadle.core.program import Program
from treadle.core.schedule import Schedule
from treadle.findings.recording import for_report
from treadle.findings.replay import Replayed, run_again

_WHOLE = frozenset({"ended", "failed"})
"""Endings of executions that can be run again as they were."""


def schedules_of(exploration: Exploration) -> Iterator[tuple[str, ...]]:
    """Yield who takes the steps of each execution that the tree has to its end; failing ones first.

    >>> from treadle.core.exploration import Step
    >>> p, q = Branch([Step("p"), Step("q")], ending="ended"), Branch([Step("q")], ending="failed")
    >>> list(schedules_of(Exploration(Branch(children=[p, q]), [], [], [], 2)))
    [('q',), ('p', 'q')]
    """
    found = list(_walk(exploration.tree))
    for wanted in ("failed", "ended"):
        yield from (steps for steps, ending in found if ending == wanted)


def _walk(root: Branch) -> Iterator[tuple[tuple[str, ...], str]]:
    ahead: list[tuple[Branch, tuple[str, ...]]] = [(root, ())]
    while ahead:
        branch, before = ahead.pop()
        steps = before + tuple(step.process for step in branch.steps)
        if branch.ending in _WHOLE:
            yield steps, branch.ending
        ahead += ((child, steps) for child in reversed(branch.children))


def executions_of(program: Program, exploration: Exploration, most: int) -> Iterator[Replayed]:
    """Run the first `most` executions of an exploration again, those that fail first."""
    with for_report(program):
        for processes in islice(schedules_of(exploration), most):
            yield run_again(program, Schedule(processes, program.knowledge()))

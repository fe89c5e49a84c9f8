"""What the context-sensitive algorithms and those with observers do, noted step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import treadle
from treadle.core.program import Run
from treadle.explore.budget import Budget
from treadle.explore.choosers import Chooser, stay
from treadle.explore.search import Search
from treadle.explore.source_sets.wakeup_tree import Tree
from treadle.explore.strategy import BLOCKED
from treadle.model import Program


def counts(make: Callable[[], Program], algorithm: str, **options: Any) -> tuple[int, int]:
    """Return complete and blocked executions."""
    result = treadle.explore(make(), algorithm, stop_on_failure=False, **options)
    assert result.complete
    return result.executions, result.blocked


@dataclass
class Logbook:
    """What an exploration did: each execution, and the sets at each state after it."""

    runs: list[str] = field(default_factory=list)
    """Complete ones; blocked ones with the forbidden step behind a dash."""
    wut: list[dict[str, str]] = field(default_factory=list)
    """Wakeup trees by state, `v + w` as in the paper."""
    dnd: list[dict[str, set[str]]] = field(default_factory=list)


def logbook(
    program: Program, algorithm: type[Any], choose: Chooser = stay, *, refined: bool = True
) -> Logbook:
    """Explore with an algorithm, one letter per process, and note what it does."""
    names = program.vocabulary.process_names
    found = Logbook()

    def written(processes: Any) -> str:
        return "".join(names[process][-1] for process in processes)

    def leaves(tree: Tree) -> list[str]:
        return [
            written(branch.processes) + leaf
            for branch in tree
            for leaf in (leaves(branch.children) or [""])
        ]

    class Watched(algorithm):  # type: ignore[misc]
        def analyse(self, run: Run, outcome: int) -> None:
            trace = self.search.trace
            steps = written(trace.processes)
            dnd_sets = getattr(self, "dnd", [])
            stopped = written(getattr(dnd_sets, "stopped", {}))
            found.runs.append(f"{steps}-{stopped}" if outcome == BLOCKED else steps)
            super().analyse(run, outcome)
            found.wut.append(
                {
                    steps[:depth]: " + ".join(leaves(tree))
                    for depth, tree in enumerate(self.wut.trees if hasattr(self, "wut") else [])
                    if tree
                }
            )
            found.dnd.append(
                {
                    steps[:depth]: {written(p for p, _ in one) for one in dnd}
                    for depth, dnd in enumerate(getattr(dnd_sets, "sets", dnd_sets))
                    if dnd
                }
            )

    search = Search(
        program,
        Watched,
        "watched",
        budget=Budget(),
        choose=choose,
        stop_on_failure=False,
        refined=refined,
    )
    assert search.explore().complete
    return found

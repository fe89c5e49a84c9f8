"""What has to hold of a wakeup tree ("Source Sets", J. ACM 2017, definition 6.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treadle.core.happens_before import Sleep
from treadle.core.steps import Step, Steps
from treadle.explore.invariants import is_weak_initial
from treadle.explore.source_sets.wakeup_tree import Branch, Tree


def wrong_tree(tree: Tree, done: Sleep, way: Steps = ()) -> Iterator[str]:
    """Yield where a tree is no wakeup tree after `E, P` (definition 6.1 of "Source Sets").

    `done` are the processes of `P`, and those that were explored from the same node before.
    """
    earlier = dict(done)
    for branch in tree:
        steps = tuple(zip(branch.processes, branch.footprints, strict=True))
        if not steps:
            yield f"an empty branch after {_named(way)}"
            return
        for leaf in leaves(branch):
            for process, step in earlier.items():
                if is_weak_initial(process, step, leaf):
                    yield f"{process} can begin {_named(leaf)} after {_named(way)}, and came before"
        yield from wrong_tree(branch.children, {}, (*way, *steps))
        earlier[steps[0][0]] = steps[0][1]


def leaves(branch: Branch) -> Iterator[Steps]:
    """Yield the sequences from a branch to its leaves."""
    steps = tuple(zip(branch.processes, branch.footprints, strict=True))
    if not branch.children:
        yield steps
    for child in branch.children:
        for rest in leaves(child):
            yield (*steps, *rest)


def size(tree: Tree) -> int:
    """Return how many steps a tree has."""
    return sum(len(branch.processes) + size(branch.children) for branch in tree)


def _named(steps: Sequence[Step]) -> str:
    return ".".join(str(process) for process, _ in steps) or "the root"

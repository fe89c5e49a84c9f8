"""Wakeup trees ("Source Sets", J. ACM 2017, section 6).

The tree at `E` is an ordered list of branches still to be explored after `E`. A branch is a
sequence of steps with, behind it, branches of its own or nothing (a leaf).
"""

from __future__ import annotations

from collections.abc import Iterator

from treadle.core.events import Footprint
from treadle.core.happens_before import EVERYTHING, Trace
from treadle.explore.source_sets.planned import Planned

Tree = list["Branch"]


class Branch:
    """A sequence of steps with their footprints, and what comes after it.

    Stretches of the tree that do not branch are one such sequence each, as most of a tree is
    unbranched: readers(13) takes 1.05 times as long with a branch for each step.

    All steps but the last of a leaf are exactly as recorded. That last one is the second event of
    a reversed race: it reads other values than in the execution it was taken from.
    """

    __slots__ = ("children", "footprints", "processes")

    def __init__(
        self, processes: tuple[int, ...], footprints: tuple[Footprint, ...], children: Tree
    ) -> None:
        self.processes = processes
        self.footprints = footprints
        self.children = children

    def split(self, position: int) -> None:
        """Make the steps from `position` on a child, so that a sibling can be added there."""
        tail = Branch(self.processes[position:], self.footprints[position:], self.children)
        self.processes = self.processes[:position]
        self.footprints = self.footprints[:position]
        self.children = [tail]


def insert(tree: Tree, w: Planned) -> int:
    """Do `insert[E](w, ⟨B, ≺⟩)` (section 6.2); return how many nodes were added.

    Let `v` be the smallest sequence in the tree such that `v ~ w`. If `v` is a leaf, the tree stays
    as it is. Otherwise what `w` has beyond `v` is added behind `v`, after all that is there.
    """
    branch, length = _smallest_consistent(tree, w)
    if branch is None:
        return _add_leaf(tree, w)
    if length < len(branch.processes):
        if not w.leaf():
            return 0
        branch.split(length)
    elif not branch.children:
        return 0
    return _add_leaf(branch.children, w)


def _smallest_consistent(tree: Tree, w: Planned) -> tuple[Branch | None, int]:
    """Return the last branch on the way to the smallest sequence `v ~ w`, and its steps in `v`.

    The steps of `v` are taken off `w`. Of steps that are not consistent with it, something is kept
    that tells so.
    """
    order, left, rests_on = w.order, w.left, w.rests_on
    before, of_process, known = order.before, order.of_process, order.known
    end: Branch | None = None
    length = 0
    while end is None or length == len(end.processes):
        for branch in tree:
            taken = 0
            for process in branch.processes:
                first = of_process[process] & left
                first &= -first
                if not first or before[first.bit_length() - 1] & left != first:
                    obstacles = known.get(branch.footprints[taken])  # as in `Trace.obstacles`
                    if obstacles is None:
                        obstacles = order.depends(branch.footprints[taken])
                    obstacles = obstacles & left or first
                    if obstacles:
                        if not obstacles & w.keep:
                            w.keep_first_of(obstacles, left)
                        break
                left ^= first
                rests_on |= first or EVERYTHING
                taken += 1
            if taken:
                end, length, tree = branch, taken, branch.children
                break
        else:
            break
    w.left, w.rests_on = left, rests_on
    return end, length


def _add_leaf(tree: Tree, w: Planned) -> int:
    """Add what is left of `w` as the last branch of a tree, if anything is."""
    events = w.leaf()
    if events:
        tree.append(_leaf(w.order, events))
    return len(events)


def _leaf(order: Trace, events: list[int]) -> Branch:
    """Return events of a trace as a branch with nothing behind it."""
    processes, footprints = order.processes, order.footprints
    return Branch(
        tuple([processes[event] for event in events]),
        tuple([footprints[event] for event in events]),
        [],
    )


class WakeupTrees:
    """`wut(E)` for each prefix `E` of the current execution, by length; None where it is empty.

    The branch that the execution goes along is no longer in it (line 20 of algorithm 2 comes first:
    nobody asks about it meanwhile).
    """

    def __init__(self) -> None:
        self.trees: list[Tree | None] = []
        self.nodes = 0
        """Steps of all trees."""
        self.peak_nodes = 0
        """The most that there ever were at once."""
        self._next: Tree | None = None
        """The tree from which the next execution begins."""

    def insert(self, depth: int, w: Planned) -> None:
        """Insert a sequence into the tree of the prefix of a length."""
        tree = self.trees[depth]
        if not tree:
            tree = self.trees[depth] = []
            added = _add_leaf(tree, w)
        else:
            added = insert(tree, w)
        self.grow(added)

    def begin(self, depth: int, order: Trace, events: list[int]) -> None:
        """Plan a sequence of events where nothing is planned yet."""
        self.trees[depth] = [_leaf(order, events)]
        self.grow(len(events))

    def tree(self, depth: int) -> Tree:
        """Return the tree of the prefix of a length, to insert something into it."""
        tree = self.trees[depth]
        if tree is None:
            tree = self.trees[depth] = []
        return tree

    def grow(self, added: int) -> None:
        """Take note of so many more steps."""
        self.nodes += added
        if self.nodes > self.peak_nodes:
            self.peak_nodes = self.nodes

    def first_leaf(self) -> Iterator[Branch]:
        """Yield the branches on the way to the first leaf; each one's siblings wait at its depth.

        The tree that is left behind the last one is passed on as far as the caller goes.
        """
        tree, self._next = self._next, None
        while tree:
            branch = tree.pop(0)
            self.nodes -= len(branch.processes)
            self.trees.append(tree)
            yield branch
            tree = branch.children

    def take_first_leaf(self) -> list[Branch]:
        """Return the branches on the way to the first leaf; all their steps are going to be taken.

        With `first_leaf` and `pass_on`, readers(8) takes 1.01 times as long.
        """
        branches, trees = [], self.trees
        tree, self._next = self._next, None
        while tree:
            branch = tree.pop(0)
            branches.append(branch)
            steps = len(branch.processes)
            self.nodes -= steps
            trees.append(tree)
            trees += [None] * (steps - 1)
            tree = branch.children
        return branches

    def pass_on(self, steps: int) -> None:
        """Take note of steps after which nothing is planned."""
        self.trees += [None] * steps

    def all_trees(self) -> list[Tree | None]:
        """Return the trees of all prefixes, and the one from which the next execution begins."""
        return [*self.trees, self._next]

    def leave(self) -> int:
        """Leave the current execution as late as possible; return after how many steps, or -1."""
        trees = self.trees
        depth = len(trees) - 1
        while depth >= 0 and not trees[depth]:
            depth -= 1
        if depth >= 0:
            self._next = trees[depth]
            del trees[depth:]
        return depth

    def todo(self, depth: int) -> int:
        """Return how many branches wait at a depth."""
        return len(self.trees[depth] or ())

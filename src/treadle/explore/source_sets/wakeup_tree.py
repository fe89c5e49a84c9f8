"""Wakeup trees (seed 002, section 6).

The tree at `E` is an ordered list of branches still to be explored after `E`. A branch is a
sequence of steps with, behind it, branches of its own or nothing (a leaf): unbranched stretches
are stored as one tuple each, because most of a tree is unbranched and trees can be large.
"""

from __future__ import annotations

from treadle.core.events import Footprint

Tree = list["Branch"]


class Branch:
    """A sequence of steps with their footprints, and what comes after it.

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

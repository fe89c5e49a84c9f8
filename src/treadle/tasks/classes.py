"""Classes that were run, each as the region of points that mean it; the next point is elsewhere.

The zones that a search divides may cut a class in two: when a pair is turned round, an earlier
constraint about something that only happened because of it is kept, and means nothing any more. So
each class that was run is remembered by the constraints of its own run alone, and a point is taken
from the part of a zone that lies in none of them. If there is no such part, nothing is run.

Hard constraints tell whether a class has a point in a zone at all. What is cut off are points that
order something otherwise: of these, other hard constraints may hold.

They are kept as a tree by the pairs that they order, so that those are soon left aside that order
some pair otherwise than all of a zone.
"""

from __future__ import annotations

from collections.abc import Iterable

from treadle.core import deadline
from treadle.core.deadline import OutOfTime
from treadle.tasks.positions import Formula
from treadle.tasks.zones import Region

Label = tuple[Formula, Formula | None]
"""An order of two steps, and the opposite one; None for what is hard."""
Node = dict[Label, "Node"]
_END: Label = ((), None)
"""Stands where the constraints of a class end."""
_MOST_PARTS = 1000
"""Parts of a zone that are looked at: beyond that a class may be run twice."""


class Classes:
    """The classes that were run so far."""

    def __init__(self) -> None:
        self._tree: Node = {}

    def add(self, labels: Iterable[Label]) -> None:
        """Take note of a class."""
        node = self._tree
        for label in (*sorted(set(labels), key=_place), _END):
            node = node.setdefault(label, {})

    def outside(self, region: Region) -> Region | None:
        """Return a part of a region that lies in no class; None if there is none."""
        todo = [region]
        for _ in range(_MOST_PARTS):
            if not todo:
                return None
            if deadline.is_over():
                raise OutOfTime
            part = todo.pop()
            met = self._met_by(part)
            if met is None:
                return part
            for order, opposite in met:
                todo.append(part.within(opposite))
                part = part.within(order)
            todo = [one for one in todo if not one.is_empty]
        return region

    def _met_by(self, region: Region) -> list[tuple[Formula, Formula]] | None:
        """Return how a class that has a point in a region orders things."""
        todo: list[tuple[Node, Region, list[tuple[Formula, Formula]]]] = [(self._tree, region, [])]
        while todo:
            node, part, path = todo.pop()
            if _END in node:
                return path
            for (order, opposite), child in node.items():
                inside = part.within(order)
                if not inside.is_empty:
                    further = path if opposite is None else [*path, (order, opposite)]
                    todo.append((child, inside, further))
        return None


def _place(label: Label) -> tuple[bool, int, int, Label]:
    """Return where a constraint stands in the tree: pairs that are ordered first, oldest first."""
    a, b, *_ = label[0][0].all_of[0]
    return label[1] is None, max(a, b), min(a, b), label

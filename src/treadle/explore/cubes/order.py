"""What a cube is: a list of orders between two steps.

A step is the n-th one of a process, from 0, by name, so that it means the same wherever the program
is run. To split a cube on two steps `a` and `b` gives two: in the first, `b` is disabled until `a`
took place; in the second, `a` until `b` did, and an execution of it counts only if its own
accesses, or the orders of the cube before the split, put `b` before `a` (`belongs`). Every class of
the program is in exactly one of the two.
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """The n-th step of a process."""

    process: str
    number: int

    def __str__(self) -> str:
        return f"{self.process} step {self.number + 1}"


class Order(NamedTuple):
    """`second` is disabled until `first` took place."""

    first: Step
    second: Step
    is_claim: bool = False
    """Whether executions count only if the two steps are ordered without this order, too."""

    def __str__(self) -> str:
        return f"{self.first} before {self.second}"


Cube = tuple[Order, ...]
"""Orders, in the order of the splits that they come from; the empty cube is the whole space."""

EVERYTHING: Cube = ()


def split(cube: Cube, a: Step, b: Step) -> list[Cube]:
    """Return the two parts of a cube, without one that contradicts itself.

    >>> p, q = Step("p", 0), Step("q", 2)
    >>> [" and ".join(map(str, part)) for part in split(EVERYTHING, p, q)]
    ['p step 1 before q step 3', 'q step 3 before p step 1']
    """
    parts: list[Cube] = [(*cube, Order(a, b)), (*cube, Order(b, a, is_claim=True))]
    return [part for part in parts if not has_cycle(part)]


def has_cycle(cube: Cube) -> bool:
    """Tell whether orders and program order contradict each other.

    >>> a, b = Step("p", 1), Step("q", 1)
    >>> has_cycle((Order(a, Step("q", 0)), Order(b, Step("p", 0))))
    True
    >>> has_cycle((Order(a, b), Order(b, Step("p", 2))))
    False
    """
    left = list(cube)
    while left:
        # An order can be left out if nothing that is left has to come before its first step.
        free = [
            order
            for order in left
            if not any(
                other.second.process == order.first.process
                and other.second.number <= order.first.number
                for other in left
            )
        ]
        if not free:
            return True
        left = [order for order in left if order not in free]
    return False

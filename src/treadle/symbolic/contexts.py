"""Initial contexts: which actors there are at first, and which tasks wait in each of them.

"Generation of Initial Contexts for Effective Deadlock Detection" (LOPSTR 2017), section 3. The
input says of each *abstract task* how many there are at least and at most. A context is a set of
locations, each with a multiset of tasks; two contexts are equivalent if one is the other with its
locations renamed (definition 2), and one of each class is enough (definition 3). So a location is
a vector of counts, one for each task of its class, and the locations of a class are in *normal
form*: their vectors do not increase. Over several classes, all combinations (definition 4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from treadle.core.errors import TreadleError

Vector = tuple[int, ...]
"""How many tasks of each method of a class: in a location, or in all of them together."""


@dataclass(frozen=True, slots=True)
class AbstractTask:
    """A method of a class, and how many tasks of it a context has: `(C.m, least, most)`."""

    cls: type
    method: str
    least: int = 1
    most: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise TreadleError(
                f"{self}: the least number of tasks has to be 0 or more, and at most the greatest"
            )

    @property
    def name(self) -> str:
        """The class and the method."""
        return f"{self.cls.__name__}.{self.method}"

    def __str__(self) -> str:
        return f"({self.name}, {self.least}, {self.most})"


@dataclass(frozen=True, slots=True)
class Location:
    """An actor of a context, and the methods whose tasks wait in it."""

    cls: type
    tasks: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.cls.__name__}[{', '.join(self.tasks)}]"


@dataclass(frozen=True, slots=True)
class Context:
    """Actors and their first tasks; fields and arguments may be anything."""

    locations: tuple[Location, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.locations)) or "no actors"


def minimal_contexts(tasks: Sequence[AbstractTask]) -> Iterator[Context]:
    """Yield one context of each class of equivalent ones.

    >>> class DB: pass
    >>> initial = [AbstractTask(DB, "register", 1, 1), AbstractTask(DB, "connect", 0, 1)]
    >>> for context in minimal_contexts(initial): print(context)
    DB[register]
    DB[register, connect]
    DB[register], DB[connect]
    """
    of_classes = [list(_locations(cls, group)) for cls, group in _by_class(tasks).items()]
    for chosen in product(*of_classes):
        yield Context(tuple(location for part in chosen for location in part))


def number_of_contexts(tasks: Sequence[AbstractTask]) -> int:
    """Return how many contexts `minimal_contexts` yields, without making them."""
    return math.prod(_number_of_partitions(group) for group in _by_class(tasks).values())


def number_of_solutions(tasks: Sequence[AbstractTask]) -> int:
    """Return how many solutions the integer system of definition 1 has: contexts up to nothing.

    Each of the sum of all maxima locations has a variable for each task.
    """
    return math.prod(_number_of_solutions(group) for group in _by_class(tasks).values())


def _by_class(tasks: Sequence[AbstractTask]) -> dict[type, list[AbstractTask]]:
    found: dict[type, list[AbstractTask]] = {}
    for task in tasks:
        found.setdefault(task.cls, []).append(task)
    return found


def _locations(cls: type, tasks: Sequence[AbstractTask]) -> Iterator[tuple[Location, ...]]:
    """Yield the ways to spread the tasks of one class over locations, in normal form."""
    names = [task.method for task in tasks]
    for total in _totals(tasks):
        for partition in _partitions(total, total):
            yield tuple(_location(cls, names, vector) for vector in partition)


def _location(cls: type, names: Sequence[str], vector: Vector) -> Location:
    counted = zip(names, vector, strict=True)
    return Location(cls, tuple(name for name, count in counted for _ in range(count)))


def _totals(tasks: Sequence[AbstractTask]) -> Iterator[Vector]:
    """Yield how many tasks of each there may be."""
    return product(*(range(task.least, task.most + 1) for task in tasks))


def _partitions(total: Vector, largest: Vector) -> Iterator[tuple[Vector, ...]]:
    """Yield the non-increasing sequences of vectors that add up, none above the largest."""
    if not any(total):
        yield ()
        return
    for first in product(*(range(count, -1, -1) for count in total)):
        if any(first) and first <= largest:
            rest = tuple(all_ - one for all_, one in zip(total, first, strict=True))
            for others in _partitions(rest, first):
                yield (first, *others)


def _number_of_partitions(tasks: Sequence[AbstractTask]) -> int:
    """Count as coins that are changed: a vector of a location may be used again and again."""
    most = tuple(task.most for task in tasks)
    vectors = list(product(*(range(count + 1) for count in most)))
    ways = dict.fromkeys(vectors, 0) | {(0,) * len(most): 1}
    for coin in vectors[1:]:
        for total in vectors:  # smaller ones first
            rest = tuple(all_ - one for all_, one in zip(total, coin, strict=True))
            if min(rest) >= 0:
                ways[total] += ways[rest]
    return sum(ways[total] for total in _totals(tasks))


def _number_of_solutions(tasks: Sequence[AbstractTask]) -> int:
    locations = sum(task.most for task in tasks)
    return math.prod(
        sum(
            math.comb(count + locations - 1, count) if count else 1
            for count in range(task.least, task.most + 1)
        )
        for task in tasks
    )

"""Cycles of edges: what may be a deadlock.

In a cycle each thread waits for what the next has to provide. It needs at least one lock, and no
lock that all of them must hold at once: such a *gate* lets only one of them in (Bensalem, Havelund:
"Dynamic deadlock analysis of multi-threaded programs", 2005).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle.analyses.lock_order.order import Edge
from treadle.analyses.lock_order.primitives import Resource

MOST = 1000
"""Cycles, and choices of edges for one of them, that are looked at."""
_LONGEST = 6
"""Threads in a cycle at most: longer ones are rarely real, and there are too many of them."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cycle; each link has at least one edge, by which its threads may get there."""

    links: tuple[tuple[Edge, ...], ...]

    @property
    def title(self) -> str:
        """Name what is waited for, all around: `A.lock → B.lock → A.lock`."""
        names = [link[0].names[0] for link in self.links]
        return " → ".join([*names, names[0]])

    @property
    def is_alone(self) -> bool:
        """Whether one thread is enough: it takes again what it holds."""
        return len(self.links) == 1 and all(edge.is_same_object for edge in self.links[0])


def candidates_among(edges: Sequence[Edge]) -> tuple[list[Candidate], bool]:
    """Return the cycles of edges, shortest first, and whether these are all."""
    between: dict[Resource, dict[Resource, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for edge in edges:
        between[edge.source][edge.target].append(edge)
    numbers = {resource: number for number, resource in enumerate(between)}
    found = []
    cycles = _cycles(between, numbers)
    for cycle in itertools.islice(cycles, MOST):
        pairs = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        links = tuple(tuple(between[source][target]) for source, target in pairs)
        if any(one.is_lock for one in cycle) and _may_be_at_once(links):
            found.append(Candidate(links))
    is_all = next(cycles, None) is None
    return sorted(found, key=lambda one: (len(one.links), one.title)), is_all


def _cycles(
    between: dict[Resource, dict[Resource, list[Edge]]], numbers: dict[Resource, int]
) -> Iterator[list[Resource]]:
    """Yield each simple cycle once: from its resource with the smallest number."""

    def extend(path: list[Resource]) -> Iterator[list[Resource]]:
        for following in list(between[path[-1]]):
            if following == path[0]:
                yield list(path)
            elif (
                len(path) < _LONGEST
                and numbers.get(following, -1) > numbers[path[0]]
                and following not in path
            ):
                path.append(following)
                yield from extend(path)
                path.pop()

    for start in numbers:
        yield from extend([start])


def _may_be_at_once(links: tuple[tuple[Edge, ...], ...]) -> bool:
    """Tell whether some choice of edges has no gate in two of them; yes if there are too many."""
    gates = [{edge.gates for edge in link} for link in links]
    return math.prod(map(len, gates)) > MOST or any(
        not any(one & other for one, other in itertools.combinations(choice, 2))
        for choice in itertools.product(*gates)
    )

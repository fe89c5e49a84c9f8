"""Static deadlock analysis: the cycles of the dependency graph that may really happen.

A guided tour. `analyse` runs points-to, the local and the global phase of may-happen-in-parallel,
builds the dependency graph, and enumerates within its strongly connected components the simple
cycles with a choice of label for each arrow such that all pairs of labels may happen in parallel.
No cycle, and nothing unknown: no execution of the program, whatever main is given, ends in a
deadlock.

Kinds: a cycle of gets and awaits is a *deadlock* cycle. One that also leads through a condition is
a *condition* cycle: it may wait for ever, but waiting for one of several writers is no certain
dependence. Conditions that only wait for each other are no cycles; they are listed by themselves.

What is left out because it cannot be: a cycle of awaits in which each task waits for one that it
sent itself, since nobody is its own descendant. (Recursion that awaits its own tasks is that.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FunctionType

from treadle.analyses.abstract import Point
from treadle.analyses.dependency_graph import DependencyGraph, Edge, Node, Reason
from treadle.analyses.known import Known
from treadle.analyses.may_happen_in_parallel import LocalPhase, Parallelism
from treadle.analyses.points_to import PointsTo
from treadle.core.deadlocks import SENSITIVITY

MOST_CYCLES = 1000
"""Cycles that are enumerated at most."""
_MOST_STEPS = 200_000
"""Arrows that are tried at most."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """Tasks and groups each of which may have to wait for the next."""

    edges: tuple[Edge, ...]

    @property
    def kind(self) -> str:
        """`deadlock`, or `condition` if it leads through one."""
        return "condition" if any(e.reason is Reason.UNTIL for e in self.edges) else "deadlock"

    @property
    def waits(self) -> tuple[Edge, ...]:
        """The arrows into tasks, in order: each is somebody who waits for somebody."""
        return tuple(edge for edge in self.edges if edge.enters_task)

    def next_of(self, edge: Edge) -> Edge:
        """Return the arrow after one."""
        at = self.edges.index(edge)
        return self.edges[(at + 1) % len(self.edges)]

    def __str__(self) -> str:
        return " ".join(f"{edge.source} –{edge.point}:{edge.task}→" for edge in self.edges)


@dataclass(slots=True)
class Analysis:
    """What the static analysis found."""

    cycles: list[Cycle]
    conditions: list[Point]
    """Where conditions are waited for that may never hold."""
    unknown: dict[tuple[str, int], str] = field(default_factory=dict)
    """Why nothing is proved, by file and line."""
    is_cut: bool = False
    """Whether there may be more cycles than were enumerated."""
    points_to: PointsTo | None = None
    """What the routines do, for who goes on from here."""

    @property
    def is_free(self) -> bool:
        """Whether it is proved that no execution ends in a deadlock."""
        return not (self.cycles or self.unknown or self.is_cut)


def analyse(
    known: Known,
    classes: Iterable[type],
    main: FunctionType | None,
    k: int = SENSITIVITY,
) -> Analysis:
    """Look for deadlock cycles of a main function; without one, of classes used in any way."""
    points_to = PointsTo(known, classes, k)
    points_to = points_to.from_all_methods() if main is None else points_to.from_main(main)
    local = LocalPhase(points_to)
    graph = DependencyGraph(points_to, local)
    parallel = Parallelism(points_to, local, (edge.point for edge in graph.edges))
    search = _Enumeration(graph.edges, parallel)
    cycles = list(search)
    return Analysis(cycles, graph.conditions, dict(points_to.unknown), search.is_cut, points_to)


class _Enumeration:
    """Enumerates simple cycles; each begins at its node that comes first."""

    def __init__(self, edges: list[Edge], parallel: Parallelism) -> None:
        self._parallel = parallel
        self._edges = edges
        self._steps = 0
        self.is_cut = False

    def __iter__(self) -> Iterator[Cycle]:
        found = 0
        for component in _components(self._edges):
            out: dict[Node, list[Edge]] = {node: [] for node in component}
            for edge in self._edges:
                if edge.source in out and edge.target in out:
                    out[edge.source].append(edge)
            for start in list(out):
                for path in self._paths(start, out, []):
                    if _may_close(path):
                        found += 1
                        yield Cycle(tuple(path))
                    if found >= MOST_CYCLES or self._steps >= _MOST_STEPS:
                        self.is_cut = True
                        return
                del out[start]

    def _paths(
        self, at: Node, out: dict[Node, list[Edge]], path: list[Edge]
    ) -> Iterator[list[Edge]]:
        """Yield the ways back to the beginning whose labels may all happen in parallel."""
        start = path[0].source if path else at
        passed = {edge.source for edge in path}
        for edge in out.get(at, ()):
            self._steps += 1
            if self._steps >= _MOST_STEPS:
                return
            if edge.target in passed and edge.target != start:
                continue
            if not all(self._are_parallel(edge, other) for other in path):
                continue
            longer = [*path, edge]
            if edge.target == start:
                yield longer
            elif edge.target in out:
                yield from self._paths(edge.target, out, longer)

    def _are_parallel(self, first: Edge, second: Edge) -> bool:
        return self._parallel.may(first.point, second.point)


def _may_close(path: list[Edge]) -> bool:
    """Tell whether a cycle may be one of real tasks, and is worth a report."""
    if all(edge.reason is Reason.AWAIT and edge.is_child for edge in path):
        return False  # nobody is its own descendant
    return any(edge.reason in (Reason.GET, Reason.AWAIT) for edge in path)


def _components(edges: list[Edge]) -> list[list[Node]]:
    """Return the strongly connected components with a cycle (Tarjan 1972), in a fixed order."""
    out: dict[Node, list[Node]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append(edge.target)
        out.setdefault(edge.target, [])
    order = {node: at for at, node in enumerate(out)}
    search = _Tarjan(out)
    components = [sorted(c, key=order.__getitem__) for c in search.components()]
    return sorted(components, key=lambda component: order[component[0]])


class _Tarjan:
    """Tarjan's algorithm without recursion."""

    def __init__(self, out: dict[Node, list[Node]]) -> None:
        self._out = out

    def components(self) -> Iterator[list[Node]]:
        """Yield the components that have an arrow inside."""
        low: dict[Node, int] = {}
        stack: list[Node] = []
        index: dict[Node, int] = {}
        for root in self._out:
            if root in index:
                continue
            calls: list[tuple[Node, Iterator[Node]]] = []
            self._enter(root, index, low, stack, calls)
            while calls:
                node, targets = calls[-1]
                target = next(targets, None)
                if target is None:
                    calls.pop()
                    if calls:
                        low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
                    if low[node] == index[node]:
                        component = stack[stack.index(node) :]
                        del stack[stack.index(node) :]
                        if len(component) > 1 or node in self._out[node]:
                            yield component
                elif target not in index:
                    self._enter(target, index, low, stack, calls)
                elif target in stack:
                    low[node] = min(low[node], index[target])

    def _enter(
        self,
        node: Node,
        index: dict[Node, int],
        low: dict[Node, int],
        stack: list[Node],
        calls: list[tuple[Node, Iterator[Node]]],
    ) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        calls.append((node, iter(self._out[node])))

"""All functions together: who waits for what while others may wait for him.

A function is gone through with nothing held, since anybody may call it, and once with what each of
its callers holds. Each wait then gives an edge from all that is held; what somebody provides who
holds something, or needed something before, gives an edge from what he provides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from treadle.analyses.lock_order.effort import Effort, TooMuch
from treadle.analyses.lock_order.events import (
    SELF,
    Calls,
    Event,
    Held,
    Path,
    Provides,
    Summary,
    Unknown,
    Waits,
)
from treadle.analyses.lock_order.points_to import PointsTo
from treadle.analyses.lock_order.primitives import REENTRANT, Aspect, Resource
from treadle.analyses.lock_order.sources import Function, Place
from treadle.analyses.lock_order.values import Kind, Site
from treadle.analyses.lock_order.walk import Walk, functions_run_by

_ROUNDS = 10
"""Of looking what functions leave held: as deep as helpers that take locks call each other."""
_CONTEXTS = 20
"""Sets of locks with which a function is gone through, before they are thrown together."""
_ARTICLES = {Aspect.NOTIFICATION: "a ", Aspect.ITEM: "an ", Aspect.END: "the "}
_MOST = 2_000_000
"""Events, and locks held at them, that are looked at; some seconds."""
_CUT = (
    "there is too much code to follow all of it: candidates may be missing, give a part of the "
    "package"
)


@dataclass(frozen=True, slots=True)
class Edge:
    """Whoever has to provide `source` may wait for `target` first."""

    source: Resource
    target: Resource
    names: tuple[str, str]
    """What people call the two."""
    held_since: Place
    """Where the source was taken; where it is provided, if it is no lock."""
    place: Place
    """Where it waits for the target, or needs it."""
    function: str
    gates: frozenset[Site] = frozenset()
    """What it holds besides, of which there is only one."""
    is_same_object: bool = False
    """Whether it surely takes again what it holds."""


def edges_of(points_to: PointsTo) -> tuple[list[Edge], list[str]]:
    """Return all edges, and what was not understood."""
    walks = _walks(points_to)
    order = _Order(points_to, walks)
    with contextlib.suppress(TooMuch):
        order.follow_calls()
    order.follow_threads()
    is_cut = points_to.effort.is_spent or order.effort.is_spent
    return list(dict.fromkeys(order.edges)), order.not_understood + [_CUT] * is_cut


def _walks(points_to: PointsTo) -> dict[str, Walk]:
    """Go through all functions until it is known what each leaves held."""
    summaries: dict[str, Summary] = {}
    for _ in range(_ROUNDS):
        walks = {
            name: Walk(points_to, function, summaries)
            for name, function in points_to.sources.functions.items()
        }
        now = {name: walk.summary for name, walk in walks.items()}
        if now == summaries:
            break
        summaries = now
    return walks


class _Order:
    """Joins functions over their calls."""

    def __init__(self, points_to: PointsTo, walks: dict[str, Walk]) -> None:
        self._to = points_to
        self._walks = walks
        self.edges: list[Edge] = []
        self.effort = Effort(_MOST)
        self._unknown: dict[tuple[Place, str], set[str]] = {}
        """Calls of something that nobody knows, and what is held there."""
        self._unknown_locks: dict[Site, set[str]] = {}
        """What is taken that nobody knows, and what it is held with."""
        self._contexts: dict[str, set[frozenset[Held]]] = {}
        self._together: dict[str, dict[tuple[Site, Path | None], Held]] = {}
        """What a function is gone through with if it has too many contexts: each lock once."""
        self._waiting: list[tuple[str, frozenset[Held]]] = []

    def follow_calls(self) -> None:
        """Go through every function with all that its callers may hold."""
        for name in self._walks:
            self._enter(name, frozenset())
        while self._waiting:
            name, entry = self._waiting.pop()
            function = self._to.sources.functions[name]
            for event in self._walks[name].events:
                held = entry | event.held
                self.effort.spend(1 + len(held))
                self._event(event, held, function)

    def _enter(self, name: str, held: frozenset[Held]) -> None:
        known = self._contexts.setdefault(name, set())
        if len(known) >= _CONTEXTS:
            together = self._together.setdefault(
                name, {(h.site, h.path): h for h in held.union(*known)}
            )
            if len(known) > _CONTEXTS and all((h.site, h.path) in together for h in held):
                return
            together.update({(h.site, h.path): h for h in held})
            held = frozenset(together.values())
        if held not in known and name in self._walks:
            known.add(held)
            self._waiting.append((name, held))

    def _event(self, event: Event, held: frozenset[Held], function: Function) -> None:
        match event:
            case Calls(callee, on_self):
                self._enter(callee, frozenset(self._seen_from(callee, held, on_self=on_self)))
            case Waits(resource, path):
                self._wait(resource, path, held, event.place, function)
            case Provides(resource):
                self._provide(event, held, function)
            case Unknown(what) if any(one.site.kind is not Kind.UNKNOWN for one in held):
                names = {self._name(one.site) for one in held}
                self._unknown.setdefault((event.place, what), set()).update(names)

    def _seen_from(self, callee: str, held: Iterable[Held], *, on_self: bool) -> Iterator[Held]:
        """Yield what is held as the function that is called sees it."""
        for one in held:
            path = one.path
            if path is None or path[0] == SELF:
                keeps = on_self
            else:
                keeps = path[0][0] == "global" or self._is_inside(callee, str(path[0][1]))  # type: ignore[index]
            yield one if keeps else Held(one.site, None, one.place)

    def _is_inside(self, name: str, outer: str) -> bool:
        scope: Function | None = self._to.sources.functions[name]
        while scope is not None and scope.name != outer:
            scope = scope.outer
        return scope is not None

    def _wait(
        self,
        resource: Resource,
        path: Path | None,
        held: frozenset[Held],
        place: Place,
        function: Function,
    ) -> None:
        again = [one for one in held if resource.is_lock and _is_same(one, resource.site, path)]
        if again and resource.site.kind in REENTRANT:
            return
        for one in held:
            self._edge(
                Resource(one.site, Aspect.LOCK), resource, one.place, place, function, held,
                is_same_object=one in again,
            )  # fmt: skip

    def _provide(self, event: Provides, held: frozenset[Held], function: Function) -> None:
        if event.resource in {Resource(one.site, Aspect.LOCK) for one in held}:
            return  # given back by a helper of whoever took it
        targets = {(Resource(one.site, Aspect.LOCK), one.place) for one in held} | event.needed
        for target, place in targets:
            self._edge(event.resource, target, event.place, place, function, held)

    def _edge(
        self,
        source: Resource,
        target: Resource,
        since: Place,
        place: Place,
        function: Function,
        held: frozenset[Held],
        *,
        is_same_object: bool = False,
    ) -> None:
        gates = {one.site for one in held if one.site.is_single}
        names = (self.in_words(source), self.in_words(target))
        for one, other in ((source.site, names[1]), (target.site, names[0])):
            if one.kind is Kind.UNKNOWN:
                self._unknown_locks.setdefault(one, set()).add(other)
        if Kind.UNKNOWN in (source.site.kind, target.site.kind):
            return
        edge = Edge(source, target, names, since, place, function.short_name)
        besides = frozenset(gates - {source.site, target.site})
        self.edges.append(replace(edge, gates=besides, is_same_object=is_same_object))

    @property
    def not_understood(self) -> list[str]:
        """What may hide further edges, a sentence each."""
        return [
            f"{place}: what `{what}(…)` runs is not known, and {' and '.join(sorted(names))} may "
            f"be held there"
            for (place, what), names in self._unknown.items()
        ] + [
            f"{site.place}: which lock {self._name(site)} is that is taken here is not known, and "
            f"{' and '.join(sorted(names))} may be held with it"
            for site, names in self._unknown_locks.items()
        ]

    # Threads

    def follow_threads(self) -> None:
        """Whoever waits for the end of a thread waits for all that the thread waits for."""
        sites = {
            event.resource.site
            for walk in self._walks.values()
            for event in walk.events
            if isinstance(event, Waits) and event.resource.aspect is Aspect.END
        }
        for site in sites:
            for name in self._reached_from(functions_run_by(self._to, site)):
                for event in self._walks[name].events:
                    if isinstance(event, Waits) and event.resource.is_lock:
                        function = self._to.sources.functions[name]
                        self._edge(
                            Resource(site, Aspect.END), event.resource, event.place, event.place,
                            function, frozenset(),
                        )  # fmt: skip

    def _reached_from(self, names: list[str]) -> list[str]:
        found: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found and name in self._walks:
                found[name] = None
                waiting += [e.function for e in self._walks[name].events if isinstance(e, Calls)]
        return list(found)

    # Words

    def _name(self, site: Site) -> str:
        return self._to.names.get(site, f"a {site.kind} made at {site.place}")

    def in_words(self, resource: Resource) -> str:
        """Name what is waited for."""
        name = self._name(resource.site)
        if resource.is_lock:
            return name
        return f"{_ARTICLES.get(resource.aspect, '')}{resource.aspect} of {name}"


def _is_same(held: Held, site: Site, path: Path | None) -> bool:
    """Tell whether what is held is surely the object that is taken."""
    if held.site != site:
        return False
    return site.is_single or (path is not None and held.path == path)

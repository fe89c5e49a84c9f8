"""Zones: sets of constraints on when things arrive at the polls of a loop.

A zone is a difference-bound matrix over the polls `t(a)` of arrivals, kept closed, and a strict
order of those that come at the same poll. A region is a union of zones: a clause with alternatives
(`positions`) divides each zone into those that satisfy one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treadle.tasks.positions import START, Clause, Constraint

_FAR = 1 << 40


class Zone:
    """A set of constraints, closed; `add` tells whether any point is left."""

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        self._most: dict[int, dict[int, int]] = {START: {START: 0}}
        """Upper bounds of `t(a) - t(b)`."""
        self._behind: dict[int, set[int]] = {}
        """What comes behind an arrival by order."""
        self.is_empty = False
        for constraint in constraints:
            self.add(constraint)

    def copy(self) -> Zone:
        """Return another one with the same constraints."""
        other = Zone()
        other._most = {name: dict(row) for name, row in self._most.items()}
        other._behind = {name: set(behind) for name, behind in self._behind.items()}
        other.is_empty = self.is_empty
        return other

    def _enter(self, arrival: int) -> None:
        if arrival in self._most:
            return
        bounds = self._most
        for row in bounds.values():  # nothing arrives before poll 1, and more is not known
            from_start = row[START]
            row[arrival] = from_start - 1 if from_start < _FAR >> 1 else _FAR
        row = bounds[arrival] = dict.fromkeys(bounds, _FAR)
        row[arrival] = 0

    def admits(self, constraint: Constraint) -> bool:
        """Tell whether some point of the zone satisfies a constraint."""
        a, b, most, is_order = constraint
        if self.is_empty or (is_order and a in self._behind.get(b, ())):
            return False
        rows = self._most
        if a in rows:
            return b not in rows or rows[b][a] + most >= 0
        return b not in rows or rows[b][START] - 1 + most >= 0  # nothing arrives before poll 1

    def implies(self, constraint: Constraint) -> bool:
        """Tell whether all points of the zone satisfy a constraint."""
        return not self.admits(constraint.negation)

    def add(self, constraint: Constraint) -> bool:
        """Add a constraint; tell whether any point is left."""
        if not self.admits(constraint):
            self.is_empty = True
            return False
        a, b, most, is_order = constraint
        self._enter(a)
        self._enter(b)
        self._bound(a, b, most)
        if is_order:
            behind = {b, *self._behind.get(b, ())}
            for first in [a, *(one for one, others in self._behind.items() if a in others)]:
                self._behind.setdefault(first, set()).update(behind)
        return True

    def _bound(self, a: int, b: int, most: int) -> None:
        """Note that `t(a) - t(b) <= most`, and what follows."""
        bounds = self._most
        if bounds[a][b] <= most:
            return
        beyond = bounds[b]
        for row in bounds.values():
            through = row[a] + most
            if through < _FAR >> 1:
                for other, rest in beyond.items():
                    if through + rest < row[other]:
                        row[other] = through + rest

    def point(self) -> dict[int, tuple[int, int]]:
        """Return the earliest poll of each arrival that the zone names, and its place there."""
        names = [name for name in self._most if name != START]
        polls = {name: -self._most[START][name] for name in names}
        found: dict[int, tuple[int, int]] = {}
        for name in names:
            ahead = sum(name in behind for behind in self._behind.values())
            found[name] = polls[name], ahead
        return found


class Region:
    """A union of zones: all that satisfies some clauses."""

    def __init__(self, clauses: Iterable[Clause] = ()) -> None:
        self._zones = [Zone()]
        for clause in clauses:
            self.add(clause)

    @property
    def is_empty(self) -> bool:
        """Whether no point is left."""
        return not self._zones

    def copy(self) -> Region:
        """Return another one of the same points."""
        return _union(zone.copy() for zone in self._zones)

    def add(self, clause: Clause) -> None:
        """Leave out what does not satisfy a clause."""
        if len(clause) == 1:
            self._zones = [zone for zone in self._zones if zone.add(clause[0])]
        else:
            self._zones = [part for zone in self._zones for part in _parts(zone, clause)]

    def within(self, clause: Clause) -> Region:
        """Return the part that satisfies a clause."""
        return _union(part for zone in self._zones for part in _parts(zone, clause))

    def without(self, clause: Clause) -> Region:
        """Return the part that does not satisfy a clause."""
        found = self
        for one in clause:
            found = found.within((one.negation,))
        return found

    def admits(self, clauses: Sequence[Clause]) -> bool:
        """Tell whether some point satisfies some more clauses."""
        if len(clauses) == 1:
            return any(zone.admits(one) for zone in self._zones for one in clauses[0])
        found = self
        for clause in clauses:
            found = found.within(clause)
        return not found.is_empty

    def point(self) -> dict[int, tuple[int, int]]:
        """Return the earliest poll of each arrival that is named, and its place there."""
        return self._zones[0].point()


def _union(zones: Iterable[Zone]) -> Region:
    found = Region()
    found._zones = list(zones)
    return found


def _parts(zone: Zone, clause: Clause) -> list[Zone]:
    """Return the parts of a zone that satisfy one of some alternatives, none of them twice."""
    if any(map(zone.implies, clause)):
        return [zone]
    parts, rest = [], zone
    for one in clause:
        if rest.admits(one):
            part = rest.copy()
            part.add(one)
            parts.append(part)
        rest = rest.copy()
        if not rest.add(one.negation):
            break
    return parts

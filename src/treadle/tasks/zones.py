"""Zones: sets of constraints on when things arrive at the polls of a loop.

A zone is a difference-bound matrix over the polls `t(a)` of arrivals, kept closed, and a strict
order of those that come at the same poll. A region is a union of zones: a formula of alternatives
(`positions`) divides each zone into those that satisfy one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treadle.tasks.positions import START, Alternative, Constraint, Formula

_FAR = 1 << 40


class Zone:
    """A set of constraints, closed; `add` tells whether any point is left."""

    def __init__(self) -> None:
        self._most: dict[int, dict[int, int]] = {START: {START: 0}}
        """Upper bounds of `t(a) - t(b)`."""
        self._behind: dict[int, set[int]] = {}
        """What comes behind an arrival by order."""
        self.is_empty = False

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

    def add_all(self, constraints: Iterable[Constraint]) -> bool:
        """Add constraints; tell whether any point is left."""
        return all(map(self.add, constraints))

    def with_all(self, constraints: Sequence[Constraint]) -> Zone | None:
        """Return the part that satisfies constraints, if there is one."""
        if not all(map(self.admits, constraints)):
            return None
        found = self.copy()
        return found if found.add_all(constraints) else None

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
    """A union of zones: all that satisfies some formulas."""

    def __init__(self, formulas: Iterable[Formula] = ()) -> None:
        self._zones = [Zone()]
        for formula in formulas:
            self.add(formula)

    @property
    def is_empty(self) -> bool:
        """Whether no point is left."""
        return not self._zones

    def copy(self) -> Region:
        """Return another one of the same points."""
        return _union(zone.copy() for zone in self._zones)

    def add(self, formula: Formula) -> None:
        """Leave out what does not satisfy a formula."""
        if len(formula) == 1:
            constraints = formula[0].all_of
            self._zones = [zone for zone in self._zones if zone.add_all(constraints)]
        else:
            self._zones = [part for zone in self._zones for part in _parts(zone, formula)]

    def within(self, formula: Formula) -> Region:
        """Return the part that satisfies a formula."""
        return _union(part for zone in self._zones for part in _parts(zone, formula))

    def admits(self, formula: Formula) -> bool:
        """Tell whether some point satisfies one more formula."""
        return any(_admits(zone, one) for zone in self._zones for one in formula)

    def point(self) -> dict[int, tuple[int, int]]:
        """Return the earliest poll of each arrival that is named, and its place there."""
        return self._zones[0].point()


def _union(zones: Iterable[Zone]) -> Region:
    found = Region()
    found._zones = list(zones)
    return found


def _admits(zone: Zone, alternative: Alternative) -> bool:
    """Tell whether some point of a zone satisfies an alternative."""
    constraints = alternative.all_of
    if len(constraints) == 1:
        return zone.admits(constraints[0])
    return zone.with_all(constraints) is not None


def _parts(zone: Zone, formula: Formula) -> list[Zone]:
    """Return the parts of a zone that satisfy one of some alternatives.

    None is there twice, but for alternatives of several constraints that do not exclude each other.
    """
    if any(all(map(zone.implies, one.all_of)) for one in formula):
        return [zone]
    parts, rest = [], zone
    for one in formula:
        part = rest.with_all((*one.all_of, *one.only))
        if part is not None:
            parts.append(part)
        if len(one.all_of) == 1 and not one.only:
            others = rest.with_all((one.all_of[0].negation,))
            if others is None:
                break
            rest = others
    return parts

"""What happens in a function, as far as waiting is concerned."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.analyses.lock_order.primitives import Resource
from treadle.analyses.lock_order.sources import Place
from treadle.analyses.lock_order.values import Site

Path = tuple[object, ...]
"""How an object is reached: from which variable, by which attributes."""
SELF = "self"
"""The variable that a path begins with if that is the object whose method runs."""


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is held, since when, and how it was reached if that names one object."""

    site: Site
    path: Path | None
    place: Place


@dataclass(frozen=True, slots=True)
class Waits:
    """It may have to wait here."""

    resource: Resource
    path: Path | None
    held: frozenset[Held]
    place: Place


@dataclass(frozen=True, slots=True)
class Provides:
    """It gives something that others may wait for; it had to wait for some things before."""

    resource: Resource
    held: frozenset[Held]
    needed: frozenset[tuple[Resource, Place]]
    """What it took before, and where."""
    place: Place


@dataclass(frozen=True, slots=True)
class Calls:
    """It calls a function that is analysed, too."""

    function: str
    on_self: bool
    held: frozenset[Held]
    place: Place


@dataclass(frozen=True, slots=True)
class Unknown:
    """It calls something, and nobody knows what."""

    what: str
    held: frozenset[Held]
    place: Place


Event = Waits | Provides | Calls | Unknown


@dataclass(slots=True)
class Summary:
    """What a caller has to know of a function."""

    leaves: frozenset[Held] = frozenset()
    """What it may hold when it returns, or yields to a `with`, that it took itself."""
    gives_back: frozenset[Site] = frozenset()
    """What it releases without having taken it."""
    generates: frozenset[Held] = frozenset()
    """What it holds, as a generator, while somebody has what it yields."""

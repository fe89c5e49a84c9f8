"""Which algorithms a test is about: asked of the registry, so that a new one is tested at once."""

from __future__ import annotations

from treadle.explore.eager.eager import Eager
from treadle.explore.registry import ALGORITHMS


def covering() -> list[str]:
    """Return the algorithms that see every order of dependent steps: all classes."""
    return [name for name, kind in ALGORITHMS.items() if kind.covers and kind.sees_every_order]


def reducing() -> list[str]:
    """Return those of them that see each class once."""
    return [name for name in covering() if not ALGORITHMS[name].repeats_classes]


def coarser() -> list[str]:
    """Return the algorithms that cover the space without seeing every order."""
    return [name for name, kind in ALGORITHMS.items() if kind.covers and not kind.sees_every_order]


def sampling() -> list[str]:
    """Return the algorithms that cover nothing."""
    return [name for name, kind in ALGORITHMS.items() if not kind.covers]


def planning() -> list[str]:
    """Return the eager algorithms."""
    return [name for name, kind in ALGORITHMS.items() if issubclass(kind, Eager)]


def may_block(algorithm: str) -> bool:
    """Tell whether an algorithm may begin executions that turn out to be redundant."""
    return not ALGORITHMS[algorithm].never_blocks


def repeats_classes(algorithm: str) -> bool:
    """Tell whether an algorithm explores equivalent executions more than once."""
    return ALGORITHMS[algorithm].repeats_classes

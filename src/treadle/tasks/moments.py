"""Virtual time: when something happens, as far as that is known.

A moment is a base and an offset. A timer's arrival is exactly at its deadline; what comes from
outside takes an unknown time, between 0 and `latency` seconds, and begins a new base. Two moments
are ordered if they have a base in common and differ, or if the bounds of their bases decide. What a
countdown wakes happens at the latest of several moments, of which it may be open which one that is.
"""

from __future__ import annotations

from collections.abc import Iterable

RESOLUTION = 1e-9
"""Seconds by which moments have to differ so that their order is known."""

Bounds = dict[str, tuple[float, float]]
"""By base: how long after it a moment is, at least and at most."""


class Moment:
    """A moment of virtual time: the latest of some that each have one base."""

    __slots__ = ("_bounds", "_prompt", "seconds")

    def __init__(
        self, bounds: tuple[Bounds, ...], prompt: tuple[Bounds, ...], seconds: float
    ) -> None:
        self._bounds = bounds
        self._prompt = prompt
        """The same if what comes from outside takes no time."""
        self.seconds = seconds
        """What a clock shows at this moment, if all that came from outside took no time."""

    def later(self, seconds: float) -> Moment:
        """Return the moment that is so many seconds after this one."""
        return Moment(
            _shifted(self._bounds, seconds, seconds),
            _shifted(self._prompt, seconds, seconds),
            self.seconds + seconds,
        )

    def outside(self, name: str, latency: float) -> Moment:
        """Return the moment of what comes from outside, up to so many seconds after this one."""
        begun = {name: (0.0, 0.0)}
        return Moment(
            tuple({**part, **begun} for part in _shifted(self._bounds, 0.0, latency)),
            tuple({**part, **begun} for part in self._prompt),
            self.seconds,
        )

    def precedes(self, other: Moment, *, is_prompt: bool = False) -> bool:
        """Tell whether this moment is surely before another one.

        For what is prompt, nothing from outside takes any time.
        """
        if is_prompt:
            return _precede(self._prompt, other._prompt)
        return self is not other and _precede(self._bounds, other._bounds)


BEGINNING = Moment(({"": (0.0, 0.0)},), ({"": (0.0, 0.0)},), 0.0)
"""When the execution begins."""


def latest(moments: Iterable[Moment]) -> Moment:
    """Return the latest of some moments."""
    found = list(dict.fromkeys(moments))
    if len(found) == 1:
        return found[0]
    return Moment(
        _maximal([part for one in found for part in one._bounds]),
        _maximal([part for one in found for part in one._prompt]),
        max(one.seconds for one in found),
    )


def _maximal(parts: list[Bounds]) -> tuple[Bounds, ...]:
    """Leave out what is never later than another part."""
    kept: list[Bounds] = []
    for part in parts:
        if not any(_is_covered(part, other) for other in kept):
            kept = [other for other in kept if not _is_covered(other, part)]
            kept.append(part)
    return tuple(kept)


def _is_covered(ours: Bounds, theirs: Bounds) -> bool:
    """Tell whether one moment is surely not after another one."""
    return any(name in theirs and most <= theirs[name][0] for name, (_, most) in ours.items())


def _shifted(parts: tuple[Bounds, ...], least: float, most: float) -> tuple[Bounds, ...]:
    return tuple(
        {name: (low + least, high + most) for name, (low, high) in part.items()} for part in parts
    )


def _precede(ours: tuple[Bounds, ...], theirs: tuple[Bounds, ...]) -> bool:
    """Tell whether the latest of ours is surely before the latest of theirs."""
    return all(any(_is_before(one, other) for other in theirs) for one in ours)


def _is_before(ours: Bounds, theirs: Bounds) -> bool:
    return any(
        name in theirs and most < theirs[name][0] - RESOLUTION for name, (_, most) in ours.items()
    )

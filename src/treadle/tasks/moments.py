"""Virtual time: when something happens, as far as that is known.

A moment is a base and an offset. A timer's arrival is exactly at its deadline; what comes from
outside takes an unknown time, between 0 and `latency` seconds, and begins a new base. Two moments
are ordered if they have a base in common and differ, or if the bounds of their bases decide. What a
countdown wakes happens at the latest of several moments, of which it may be open which one that is.

Only timers ask how moments are ordered. So what is known of one is found out when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

RESOLUTION = 1e-9
"""Seconds by which moments have to differ so that their order is known."""

Bounds = dict[str, tuple[float, float]]
"""By base: how long after it a moment is, at least and at most."""
Parts = tuple[Bounds, ...]
Known = tuple[Parts, Parts]
"""What is known of a moment; and the same if what comes from outside takes no time."""
_MOST_OPEN = 100
"""Moments in a row of which it is not known how they are bounded: each asks the one before."""


class Moment:
    """A moment of virtual time: the latest of some that each have one base."""

    __slots__ = ("_find", "_known", "_open", "seconds")

    def __init__(self, find: Callable[[], Known], seconds: float, after: int = 0) -> None:
        self._find: Callable[[], Known] | None = find
        self._known: Known = ((), ())
        self.seconds = seconds
        """What a clock shows at this moment, if all that came from outside took no time."""
        self._open = after + 1
        """How many in a row, up to this one, nobody has asked for so far."""
        if self._open > _MOST_OPEN:
            self._parts()

    def _parts(self) -> Known:
        if self._find is not None:
            self._known, self._find, self._open = self._find(), None, 0
        return self._known

    def later(self, seconds: float) -> Moment:
        """Return the moment that is so many seconds after this one."""

        def find() -> Known:
            bounds, prompt = self._parts()
            return _shifted(bounds, seconds, seconds), _shifted(prompt, seconds, seconds)

        return Moment(find, self.seconds + seconds, self._open)

    def outside(self, name: str, latency: float) -> Moment:
        """Return the moment of what comes from outside, up to so many seconds after this one."""

        def find() -> Known:
            begun = {name: (0.0, 0.0)}
            bounds, prompt = self._parts()
            return (
                tuple({**part, **begun} for part in _shifted(bounds, 0.0, latency)),
                tuple({**part, **begun} for part in prompt),
            )

        return Moment(find, self.seconds, self._open)

    def precedes(self, other: Moment, *, is_prompt: bool = False) -> bool:
        """Tell whether this moment is surely before another one.

        For what is prompt, nothing from outside takes any time.
        """
        if self is other and not is_prompt:
            return False
        return _precede(self._parts()[is_prompt], other._parts()[is_prompt])

    @property
    def is_exact(self) -> bool:
        """Tell whether a clock shows just this: nothing from outside comes before it."""
        bounds, _ = self._parts()
        return bounds == ({"": (self.seconds, self.seconds)},)

    @staticmethod
    def latest_of(moments: list[Moment]) -> Moment:
        """Return the latest of several moments."""

        def find() -> Known:
            known = [moment._parts() for moment in moments]
            bounds = [part for one, _ in known for part in one]
            return _maximal(bounds), _maximal([part for _, one in known for part in one])

        seconds = max(moment.seconds for moment in moments)
        return Moment(find, seconds, max(moment._open for moment in moments))


BEGINNING = Moment(lambda: (({"": (0.0, 0.0)},), ({"": (0.0, 0.0)},)), 0.0)
"""When the execution begins."""


def latest(moments: Iterable[Moment]) -> Moment:
    """Return the latest of some moments."""
    found = list(dict.fromkeys(moments))
    return found[0] if len(found) == 1 else Moment.latest_of(found)


def _maximal(parts: list[Bounds]) -> Parts:
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


def _shifted(parts: Parts, least: float, most: float) -> Parts:
    return tuple(
        {name: (low + least, high + most) for name, (low, high) in part.items()} for part in parts
    )


def _precede(ours: Parts, theirs: Parts) -> bool:
    """Tell whether the latest of ours is surely before the latest of theirs."""
    return all(any(_is_before(one, other) for other in theirs) for one in ours)


def _is_before(ours: Bounds, theirs: Bounds) -> bool:
    return any(
        name in theirs and most < theirs[name][0] - RESOLUTION for name, (_, most) in ours.items()
    )

"""Virtual time: when something happens, as far as that is known.

A moment is a base and an offset. A timer's arrival is exactly at its deadline; what comes from
outside takes an unknown time, between 0 and `latency` seconds, and begins a new base. Two moments
are ordered if they have a base in common and differ, or if the bounds of their bases decide.
"""

from __future__ import annotations

from dataclasses import dataclass

RESOLUTION = 1e-9
"""Seconds by which moments have to differ so that their order is known."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of virtual time."""

    name: str = ""
    """The arrival that its base begins with; empty for the beginning of the execution."""
    offset: float = 0.0
    armed: Moment | None = None
    """When the base's arrival was armed: the base is up to `latency` seconds later."""
    latency: float = 0.0

    def later(self, seconds: float) -> Moment:
        """Return the moment that is so many seconds after this one."""
        return Moment(self.name, self.offset + seconds, self.armed, self.latency)

    @property
    def seconds(self) -> float:
        """What a clock shows at this moment, if all that came from outside took no time."""
        return self.offset + (self.armed.seconds if self.armed is not None else 0.0)

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return how long after each of the bases that it rests on it is, at least and at most."""
        found = {}
        least = most = 0.0
        moment: Moment | None = self
        while moment is not None:
            least, most = least + moment.offset, most + moment.offset
            found[moment.name] = (least, most)
            most += moment.latency
            moment = moment.armed
        return found

    def precedes(self, other: Moment) -> bool:
        """Tell whether this moment is surely before another one."""
        theirs = other.bounds()
        return any(
            name in theirs and most < theirs[name][0] - RESOLUTION
            for name, (_, most) in self.bounds().items()
        )


def outside(name: str, armed: Moment, latency: float) -> Moment:
    """Return the moment of something that comes from outside, some time after it was armed."""
    return Moment(name, 0.0, armed, latency)

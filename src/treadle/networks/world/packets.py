"""Packets: what is sent, the copies of it that are under way, and what a controller sees of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from treadle.networks.world.matching import Header

Visit = tuple[str, int]
"""A switch, and the port through which a packet came."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet of the test: who sends it, and its header."""

    name: str
    group: str
    """What all packets of one `send` are called."""
    host: str
    header: Header


class Copy(NamedTuple):
    """A copy of a packet: it carries where it was, which tells it from the other copies."""

    packet: str
    header: Header
    visits: tuple[Visit, ...] = ()

    def at(self, switch: str, port: int) -> Copy:
        """Return the copy after it has come to a switch."""
        return self._replace(visits=(*self.visits, (switch, port)))

    def has_been_at(self, switch: str) -> bool:
        """Tell whether the copy came to a switch."""
        return any(visited == switch for visited, _ in self.visits)


class Packet:
    """A packet as a controller sees it: its header fields are attributes."""

    __slots__ = ("_fields", "name")

    is_fixed = True

    def __init__(self, name: str, header: Header) -> None:
        self.name = name
        self._fields = dict(header)

    def __getattr__(self, field: str) -> Any:
        fields: dict[str, Any] = object.__getattribute__(self, "_fields")
        if field not in fields:
            raise AttributeError(
                f"packet {self.name} has no header field {field!r}: it has {', '.join(fields)}"
            )
        return fields[field]

    def get(self, field: str, default: Any = None) -> Any:
        """Return a header field, or `default` if the packet has none of this name."""
        return self._fields.get(field, default)

    def __repr__(self) -> str:
        return f"<packet {self.name}>"

    def fingerprint_of(self) -> object:
        """Return name and header, for the state's fingerprint."""
        return self.name, tuple(self._fields.items())

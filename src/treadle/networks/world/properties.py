"""Properties of networks: what must hold in every execution, for the packets of the test.

Each is looked at where it can fail: when a packet moves (`no_loop`, `no_black_hole`, `no_conflict`:
see `semantics`), when one arrives, or when nothing is under way any more. The kind of a failure is
the name of its property.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from treadle.core.errors import TreadleError
from treadle.core.program import Violation

if TYPE_CHECKING:
    from treadle.networks.world.network import Network
    from treadle.networks.world.packets import Copy
    from treadle.networks.world.semantics import World


class Loop(Violation):
    """A packet comes to a switch again."""

    kind = "no_loop"


class BlackHole(Violation):
    """A packet is dropped, and no rule says so."""

    kind = "no_black_hole"


class Conflict(Violation):
    """Two rules of the same priority say different things about a packet."""

    kind = "no_conflict"


class Leak(Violation):
    """A packet arrives where it never must."""

    kind = "never"


class NotDelivered(Violation):
    """A packet has not arrived where it must."""

    kind = "delivered"


class NotIsolated(Violation):
    """A packet gets from one group of hosts to another."""

    kind = "isolated"


class Bypass(Violation):
    """A packet arrives that has not been where it must pass."""

    kind = "waypoint"


class Unbalanced(Violation):
    """Some hosts have got more packets than others."""

    kind = "balanced"


class Disagreement(Violation):
    """The tables of the end do not lead a packet to a host."""

    kind = "tables_agree"


class NotQuiet(Violation):
    """Something is left over at the end."""

    kind = "quiet"


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return tuple(given.split()) if isinstance(given, str) else tuple(given)


class Property:
    """Something that must hold; derived classes say where it is looked at."""

    def check(self, net: Network) -> None:
        """Refuse names that the network or the test does not have."""

    def at_arrival(self, net: Network, copy: Copy, host: str) -> Iterator[Violation]:
        """Yield what is wrong with the arrival of a packet."""
        yield from ()

    def at_end(self, world: World) -> Iterator[Violation]:
        """Yield what is wrong when nothing is under way any more."""
        yield from ()


@dataclass(frozen=True)
class _OfPacket(Property):
    """A property of packets and a host."""

    packet: str
    host: str

    def check(self, net: Network) -> None:
        net.named(self.packet)
        net.check_host(self.host)


class _Never(_OfPacket):
    def at_arrival(self, net: Network, copy: Copy, host: str) -> Iterator[Violation]:
        if host == self.host and copy.packet in net.named(self.packet):
            yield Leak(f"packet {copy.packet} arrives at {host}")


class _Delivered(_OfPacket):
    def at_end(self, world: World) -> Iterator[Violation]:
        for name in world.net.named(self.packet):
            if not world.has_arrived(name, self.host):
                yield NotDelivered(f"packet {name} has not arrived at {self.host}")


@dataclass(frozen=True)
class _Isolated(Property):
    groups: tuple[tuple[str, ...], tuple[str, ...]]

    def check(self, net: Network) -> None:
        for host in (host for group in self.groups for host in group):
            net.check_host(host)

    def at_arrival(self, net: Network, copy: Copy, host: str) -> Iterator[Violation]:
        source = next(sent.host for sent in net.packets if sent.name == copy.packet)
        for one, other in (self.groups, self.groups[::-1]):
            if source in one and host in other:
                yield NotIsolated(f"packet {copy.packet} gets from {source} to {host}")


@dataclass(frozen=True)
class _Waypoint(Property):
    packets: tuple[str, ...]
    switch: str

    def check(self, net: Network) -> None:
        net.check_switch(self.switch)
        for name in self.packets:
            net.named(name)

    def at_arrival(self, net: Network, copy: Copy, host: str) -> Iterator[Violation]:
        meant = [name for packets in self.packets for name in net.named(packets)]
        if copy.packet in meant and not copy.has_been_at(self.switch):
            yield Bypass(f"packet {copy.packet} arrives at {host} and was not at {self.switch}")


@dataclass(frozen=True)
class _Balanced(Property):
    hosts: tuple[str, ...]
    by: int

    def check(self, net: Network) -> None:
        for host in self.hosts:
            net.check_host(host)

    def at_end(self, world: World) -> Iterator[Violation]:
        got = {host: len(world.net.arrivals(host)) for host in self.hosts}
        if max(got.values()) - min(got.values()) > self.by:
            counts = ", ".join(f"{host} {count}" for host, count in got.items())
            yield Unbalanced(f"packets arrived: {counts}, which differ by more than {self.by}")


@dataclass(frozen=True)
class _TablesAgree(Property):
    packets: tuple[str, ...]
    host: str | None

    def check(self, net: Network) -> None:
        for name in self.packets:
            net.named(name)
        if self.host is not None:
            net.check_host(self.host)

    def at_end(self, world: World) -> Iterator[Violation]:
        net = world.net
        meant = {name for packets in self.packets for name in net.named(packets)}
        for sent in net.packets:
            if self.packets and sent.name not in meant:
                continue
            where, is_there = world.follow(sent)
            if not is_there or (self.host is not None and where != self.host):
                wanted = self.host or "a host"
                yield Disagreement(
                    f"the tables lead packet {sent.name} to {where}, not to {wanted}"
                )


class _Quiet(Property):
    """`sdn.quiet`, which can be called as well."""

    kind: ClassVar[str] = "quiet"

    def __call__(self) -> _Quiet:
        return self

    def at_end(self, world: World) -> Iterator[Violation]:
        for switch, packet in world.buffered():
            yield NotQuiet(f"packet {packet} is left in the buffer of {switch}")


def never(packet: str, host: str) -> Property:
    """Return the property that a packet never arrives at a host."""
    return _Never(packet, host)


def delivered(packet: str, host: str) -> Property:
    """Return the property that a packet has arrived at a host in the end."""
    return _Delivered(packet, host)


def isolated(one: str | Iterable[str], other: str | Iterable[str]) -> Property:
    """Return the property that no packet gets from one group of hosts to the other, or back."""
    return _Isolated((_names(one), _names(other)))


def waypoint(packets: str | Iterable[str], switch: str) -> Property:
    """Return the property that packets pass a switch before they arrive anywhere."""
    return _Waypoint(_names(packets), switch)


def balanced(hosts: str | Iterable[str], by: int = 1) -> Property:
    """Return the property that hosts have got as many packets in the end, but for `by`."""
    return _Balanced(_names(hosts), by)


def tables_agree(packets: str | Iterable[str] = (), host: str | None = None) -> Property:
    """Return the property that the tables of the end lead packets to a host, all of them there.

    Of all packets unless some are named; to any host unless one is named.
    """
    return _TablesAgree(_names(packets), host)


quiet = _Quiet()
"""The property that nothing is left over in the end: no packet waits in a buffer."""


def checked(properties: Iterable[object], net: Network) -> tuple[Property, ...]:
    """Return properties; refuse what is none, and names that are not there."""
    found = []
    for given in properties:
        if not isinstance(given, Property):
            raise TreadleError(
                f"{given!r} is no property: write sdn.never(packet, host), "
                f"sdn.delivered(packet, host) and so on, or use @net.finally_"
            )
        given.check(net)
        found.append(given)
    return tuple(found)

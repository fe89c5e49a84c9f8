"""Networks and policies of the case studies: load balancer, SSH, learning switch, firewall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import treadle.networks as sdn

Packets = Callable[[sdn.Network], None]
Waiting = Iterator[Any]


def kinds(result: Any) -> set[str]:
    return {failure.kind for failure in result.failures}


# Figure 1: one host, two replicas


def triangle(**options: Any) -> sdn.Network:
    net = sdn.Network(**options)
    net.switches("s1 s2 s3").hosts("h0 r1 r2")
    net.links("h0-s1", "r1-s2", "r2-s3", "s1-s2", "s1-s3")
    return net


def requests(count: int) -> Packets:
    """Packets from h0, each with an entry of its own."""

    def packets(net: sdn.Network) -> None:
        for number in range(count):
            net.send("h0", dst="vip", src=f"client{number}")

    return packets


class Balancer(sdn.Controller):
    """Sends each header to the replicas by turns; a turn for each header."""

    def __init__(self) -> None:
        self.turns: dict[str, int] = {}

    def turn(self, event: sdn.Event) -> int:
        turn = self.turns.get(event.packet.src, 0)
        self.turns[event.packet.src] = turn + 1
        return turn

    def path(self, event: sdn.Event) -> list[Any]:
        replica = ("r1", "r2")[self.turn(event) % 2]
        return self.net.path(event.switch, replica)

    def install(self, event: sdn.Event, path: list[Any]) -> None:
        for switch, port in path:
            switch.install(sdn.match(src=event.packet.src), sdn.output(port))

    def packet_in(self, event: sdn.Event) -> Any:
        self.install(event, self.path(event))
        event.switch.packet_out(event)


class OneTurn(Balancer):
    """One turn for all headers."""

    def __init__(self) -> None:
        self.next = 0

    def turn(self, event: sdn.Event) -> int:
        turn = self.next
        self.next += 1
        return turn


class WithBarriers(Balancer):
    """Waits for barriers of some switches before it lets the packet go."""

    def waits_for(self, event: sdn.Event, switches: list[sdn.Switch]) -> list[sdn.Switch]:
        return switches

    def packet_in(self, event: sdn.Event) -> Waiting:
        path = self.path(event)
        self.install(event, path)
        chosen = self.waits_for(event, [switch for switch, _ in path])
        yield [switch.barrier() for switch in chosen]
        event.switch.packet_out(event)


class AllBarriers(WithBarriers):
    pass


class AskingBarrier(WithBarriers):
    def waits_for(self, event: sdn.Event, switches: list[sdn.Switch]) -> list[sdn.Switch]:
        return [event.switch]


class OtherBarriers(WithBarriers):
    def waits_for(self, event: sdn.Event, switches: list[sdn.Switch]) -> list[sdn.Switch]:
        return [switch for switch in switches if switch != event.switch]


class FarEndFirst(Balancer):
    def packet_in(self, event: sdn.Event) -> Waiting:
        for switch, port in reversed(self.path(event)):
            switch.install(sdn.match(src=event.packet.src), sdn.output(port))
            yield switch.barrier()
        event.switch.packet_out(event)


class OneTurnWithBarriers(OneTurn, AllBarriers):
    pass


# Two switches between two hosts: no ssh


def pair(**options: Any) -> sdn.Network:
    net = sdn.Network(**options).switches("s1 s2").hosts("h1 h2")
    return net.links("h1-s1", "s1-s2", "s2-h2")


def protocols(*names: str) -> Packets:
    def packets(net: sdn.Network) -> None:
        for number, proto in enumerate(names):
            net.send("h1", name=f"{proto}{number}", dst="h2", proto=proto)

    return packets


def no_ssh(*names: str) -> list[Any]:
    return [
        sdn.never(f"{proto}{number}", "h2") for number, proto in enumerate(names) if proto == "ssh"
    ]


class Ssh(sdn.Controller):
    """Drops ssh everywhere and forwards by destination, all at once and with equal priorities."""

    DROPS = 1

    def drop(self) -> list[sdn.Switch]:
        switches = [self.net.switch(name) for name in self.net.switch_names]
        for switch in switches:
            switch.install(sdn.match(proto="ssh"), sdn.drop(), priority=self.DROPS)
        return switches

    def forward(self, event: sdn.Event) -> None:
        for switch, port in self.net.path(event.switch, event.packet.dst):
            switch.install(sdn.match(dst=event.packet.dst), sdn.output(port), priority=1)

    def packet_in(self, event: sdn.Event) -> Any:
        self.drop()
        self.forward(event)
        event.switch.packet_out(event)


class SshFirst(Ssh):
    """The drop rules have priority."""

    DROPS = 2


class SshBarrier(SshFirst):
    """One barrier before the packet goes."""

    def packet_in(self, event: sdn.Event) -> Waiting:
        switches = self.drop()
        self.forward(event)
        yield [switch.barrier() for switch in switches]
        event.switch.packet_out(event)


class SshTwoPhases(SshFirst):
    """The drop rules come first, behind a barrier of their own."""

    def packet_in(self, event: sdn.Event) -> Waiting:
        switches = self.drop()
        yield [switch.barrier() for switch in switches]
        self.forward(event)
        yield [switch.barrier() for switch in switches]
        event.switch.packet_out(event)


# A learning switch with authentication


def line(switches: int) -> sdn.Network:
    middle = (switches + 1) // 2
    net = sdn.Network().switches(f"s{number}" for number in range(1, switches + 1))
    net.hosts("h1 h2 h3").links("h1-s1", f"h2-s{middle}", f"h3-s{switches}")
    return net.links(*(f"s{number}-s{number + 1}" for number in range(1, switches)))


class Learning(sdn.Controller):
    """Learns where sources are; a source that is not authenticated gets a drop rule."""

    def __init__(self) -> None:
        self.learned: dict[tuple[str, str], int] = {}

    def match(self, packet: sdn.Packet) -> sdn.Match:
        return sdn.match(src=packet.src, dst=packet.dst)

    def packet_in(self, event: sdn.Event) -> Waiting:
        switch, packet = event.switch, event.packet
        if packet.src == "h2":
            switch.install(sdn.match(src=packet.src), sdn.drop(), priority=2)
            return
        self.learned[switch.name, packet.src] = event.port
        port = self.learned.get((switch.name, packet.dst))
        if port is None:
            switch.packet_out(event, sdn.flood())
            return
        switch.install(self.match(packet), sdn.output(port))
        yield switch.barrier()
        switch.packet_out(event)


class LearningByDestination(Learning):
    """Its rules say nothing about the source: whoever sends there gets through."""

    def match(self, packet: sdn.Packet) -> sdn.Match:
        return sdn.match(dst=packet.dst)


def authenticated(count: int) -> Packets:
    def packets(net: sdn.Network) -> None:
        for source, target in (("h1", "h3"), ("h3", "h1"), ("h2", "h1"))[:count]:
            net.send(source, name=f"{source}{target}", src=source, dst=target)

    return packets


# A firewall: who spoke through port 1 is trusted


def star() -> sdn.Network:
    net = sdn.Network().switches("s1").hosts("h1 h2 h3 h4 h5")
    return net.links(*(f"h{number}-s1" for number in range(1, 6)))


def migrating(count: int) -> Packets:
    def packets(net: sdn.Network) -> None:
        for source, target in ((1, 2), (2, 1), (3, 1), (1, 3), (4, 1), (1, 4))[:count]:
            net.send(f"h{source}", name=f"{source}{target}", src=f"h{source}", dst=f"h{target}")

    return packets


class Firewall(sdn.Controller):
    def __init__(self) -> None:
        self.trusted: dict[str, bool] = {}

    def may_pass(self, host: str) -> bool:
        return self.trusted.get(host, False)

    def packet_in(self, event: sdn.Event) -> None:
        source, target = event.packet.src, event.packet.dst
        forward = sdn.output(self.net.port_to(event.switch.name, target))
        if event.port == 1:
            self.trusted[source] = self.trusted[target] = True
            event.switch.packet_out(event, forward)
        else:
            passes = self.may_pass(source)
            event.switch.packet_out(event, forward if passes else sdn.drop())


class ForgetfulFirewall(Firewall):
    def may_pass(self, host: str) -> bool:
        return True

"""What network engineers know from life: each is found, and its repair verified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies import Learning, LearningByDestination, authenticated, kinds, line

import treadle.networks as sdn


def explored(net: sdn.Network, policy: Any, packets: Any, *properties: Any) -> Any:
    result = sdn.explore(net, policy, packets, stop_on_failure=False, properties=properties)
    assert result.complete
    return result


# Rules by destination let a banned host through


def test_rules_by_destination() -> None:
    banned = sdn.never("h2h1", "h1")
    broken = explored(line(3), LearningByDestination, authenticated(3), banned)
    assert kinds(broken) == {"never"}
    assert explored(line(3), Learning, authenticated(3), banned).ok


# A path that is switched over before it is there


def diamond() -> sdn.Network:
    """Two ways from s1 to s4; the upper one is in use."""
    net = sdn.Network().switches("s1 s2 s3 s4").hosts("h1 h2")
    net.links("h1-s1", "s1-s2", "s1-s3", "s2-s4", "s3-s4", "h2-s4")
    net.install("s1", sdn.match(dst="h2"), sdn.output(2))
    net.install("s2", sdn.match(dst="h2"), sdn.output(2))
    net.install("s4", sdn.match(dst="h2"), sdn.output(3))
    return net


class SwitchOver(sdn.Controller):
    """Tells all switches at once of the lower way."""

    def start(self) -> Any:
        self.net.switch("s1").install(sdn.match(dst="h2"), sdn.output(3))
        self.net.switch("s3").install(sdn.match(dst="h2"), sdn.output(2))


class SwitchOverLast(sdn.Controller):
    """Lets the new way be there before anything is sent along it."""

    def start(self) -> Iterator[Any]:
        self.net.switch("s3").install(sdn.match(dst="h2"), sdn.output(2))
        yield self.net.switch("s3").barrier()
        self.net.switch("s1").install(sdn.match(dst="h2"), sdn.output(3))


def one_packet(net: sdn.Network) -> None:
    net.send("h1", name="p", dst="h2")


def test_a_path_that_is_switched_over_before_it_is_there() -> None:
    arrives = sdn.delivered("p", "h2")
    broken = explored(diamond(), SwitchOver, one_packet, arrives)
    assert kinds(broken) == {"no_black_hole", "delivered"}
    repaired = explored(diamond(), SwitchOverLast, one_packet, arrives)
    assert repaired.ok
    assert repaired.executions == 2  # the packet is before the change, or behind it


# An old rule that is deleted while a packet is on its way to it


class CleansUp(SwitchOverLast):
    """Deletes the rule of the old way behind a barrier: that does not wait for packets."""

    def start(self) -> Iterator[Any]:
        yield from super().start()
        yield self.net.switch("s1").barrier()
        self.net.switch("s2").delete(sdn.match(dst="h2"))


class CleansUpLater(CleansUp):
    """Lets the old rule be, but for a packet that comes to it: it still knows the way."""

    def start(self) -> Iterator[Any]:
        yield from SwitchOverLast.start(self)


class CleansUpWithDetour(CleansUp):
    """Answers what still comes to the old switch."""

    def packet_in(self, event: sdn.Event) -> None:
        (_, port), *_ = self.net.path(event.switch, event.packet.dst)
        event.switch.packet_out(event, sdn.output(port))


def test_an_old_rule_that_is_deleted_under_a_packet() -> None:
    arrives = sdn.delivered("p", "h2")
    broken = explored(diamond(), CleansUp, one_packet, arrives)
    assert kinds(broken) == {"no_black_hole", "delivered"}
    (failure,) = [one for one in broken.failures if one.kind == "no_black_hole"]
    assert "is dropped at s2" in failure.message
    assert explored(diamond(), CleansUpLater, one_packet, arrives).ok
    assert explored(diamond(), CleansUpWithDetour, one_packet, arrives).ok


# A flood on a ring


def ring() -> sdn.Network:
    net = sdn.Network().switches("s1 s2 s3").hosts("h1 h2")
    return net.links("h1-s1", "h2-s2", "s1-s2", "s2-s3", "s3-s1")


class Floods(sdn.Controller):
    def packet_in(self, event: sdn.Event) -> None:
        event.switch.packet_out(event, sdn.flood())


class FloodsOnATree(sdn.Controller):
    """Floods on the links of a spanning tree: all but that between s2 and s3."""

    CLOSED = (("s2", 3), ("s3", 1))

    def packet_in(self, event: sdn.Event) -> None:
        name = event.switch.name
        ports = [
            port
            for port in self.net.ports[name]
            if port != event.port and (name, port) not in self.CLOSED
        ]
        actions = [sdn.output(port) for port in ports]
        event.switch.packet_out(event, actions or sdn.drop())


def test_a_flood_on_a_ring() -> None:
    first = sdn.explore(ring(), Floods, one_packet)
    assert (first.executions, kinds(first)) == (1, {"no_loop"})
    assert explored(ring(), FloodsOnATree, one_packet, sdn.delivered("p", "h2")).ok


# Addresses that are rewritten ahead of the rules for the new ones


def chain() -> sdn.Network:
    net = sdn.Network().switches("s1 s2").hosts("h1 server")
    return net.links("h1-s1", "s1-s2", "s2-server")


class Rewrites(sdn.Controller):
    """Turns the public address into the inner one at s1; s2 only knows the inner one."""

    def rules(self, event: sdn.Event) -> list[tuple[Any, Any, Any]]:
        rewrite = [sdn.set_field(dst="inner"), sdn.output(2)]
        return [
            (event.switch, sdn.match(dst="public"), rewrite),
            (self.net.switch("s2"), sdn.match(dst="inner"), sdn.output(2)),
        ]

    def packet_in(self, event: sdn.Event) -> Any:
        if event.switch.name == "s1":
            for switch, match, actions in self.rules(event):
                switch.install(match, actions)
            event.switch.packet_out(event, [sdn.set_field(dst="inner"), sdn.output(2)])
        else:
            event.switch.packet_out(event)


class RewritesLast(Rewrites):
    def packet_in(self, event: sdn.Event) -> Iterator[Any]:
        first, second = self.rules(event)
        for switch, match, actions in (second, first):
            switch.install(match, actions)
            yield switch.barrier()
        event.switch.packet_out(event)


def to_the_public_address(net: sdn.Network) -> None:
    net.send("h1", name="p", dst="public")


def test_addresses_rewritten_ahead_of_the_rules_for_the_new_ones() -> None:
    arrives = sdn.delivered("p", "server")
    broken = explored(chain(), Rewrites, to_the_public_address, arrives)
    assert kinds(broken) == {"no_black_hole", "delivered"}
    repaired = explored(chain(), RewritesLast, to_the_public_address, arrives)
    assert (repaired.ok, repaired.executions) == (True, 1)


# Half a repair


def test_one_barrier_is_not_enough_for_ssh() -> None:
    from policies import SshBarrier, SshTwoPhases, no_ssh, pair, protocols

    sent = ("ssh", "web")
    alone = explored(pair(), SshBarrier, protocols("ssh"), *no_ssh("ssh"))
    assert alone.ok
    together = explored(pair(), SshBarrier, protocols(*sent), *no_ssh(*sent))
    assert kinds(together) == {"never"}
    assert explored(pair(), SshTwoPhases, protocols(*sent), *no_ssh(*sent)).ok

"""A load balancer: requests for one address go to two replicas by turns.

The controller installs rules on the whole path to a replica, and lets the packet go. Rules reach
switches in any order, so the packet may be at a switch before its rule is: then that switch asks as
well, the next replica is chosen, and the rules of the two paths contradict.

    treadle run examples/sdn/load_balancer.py::test_hasty      # a loop, and packets that are lost
    treadle run examples/sdn/load_balancer.py::test_half_repaired
    treadle run examples/sdn/load_balancer.py::test_repaired   # verified, for these packets
"""

from collections.abc import Iterator
from typing import Any

import treadle.networks as sdn

net = sdn.Network()
net.switches("s1 s2 s3").hosts("h0 r1 r2")
net.links("h0-s1", "r1-s2", "r2-s3", "s1-s2", "s1-s3")


class Balancer(sdn.Controller):
    """Chooses the replica whose turn it is, and waits for the barriers that it is told to."""

    def __init__(self) -> None:
        self.turn = 0

    def waits_for(self, event: sdn.Event, path: list[Any]) -> list[sdn.Switch]:
        """Return the switches that must have their rules before the packet goes."""
        del event, path
        return []

    def packet_in(self, event: sdn.Event) -> Iterator[Any]:
        """Install rules on the path to a replica, and let the packet go."""
        replica = ("r1", "r2")[self.turn % 2]
        self.turn += 1
        path = self.net.path(event.switch, replica)
        for switch, port in path:
            switch.install(sdn.match(dst=event.packet.dst), sdn.output(port))
        yield [switch.barrier() for switch in self.waits_for(event, path)]
        event.switch.packet_out(event)


class HalfRepaired(Balancer):
    """Waits for the switch that asked."""

    def waits_for(self, event: sdn.Event, path: list[Any]) -> list[sdn.Switch]:
        """Return the switch that asked."""
        return [event.switch]


class Repaired(Balancer):
    """Waits for every switch of the path."""

    def waits_for(self, event: sdn.Event, path: list[Any]) -> list[sdn.Switch]:
        """Return all switches of the path."""
        return [switch for switch, _ in path]


@sdn.check(net, Balancer)
def test_hasty(net: sdn.Network) -> None:
    net.send("h0", dst="vip")


@sdn.check(net, HalfRepaired)
def test_half_repaired(net: sdn.Network) -> None:
    net.send("h0", dst="vip")


@sdn.check(net, Repaired, properties=[sdn.delivered("1", "r1"), sdn.quiet])
def test_repaired(net: sdn.Network) -> None:
    net.send("h0", dst="vip")

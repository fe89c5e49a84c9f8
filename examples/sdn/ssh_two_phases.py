"""No ssh: rules that drop it, and rules that forward everything else, on two switches.

One barrier before the packet goes is enough for one packet. If a second one is under way, the
rules that were installed for that may forward before the first switch knows what to drop. In two
phases, what is dropped is known everywhere before anything is forwarded.

    treadle run examples/sdn/ssh_two_phases.py::test_one_barrier     # an ssh packet gets through
    treadle run examples/sdn/ssh_two_phases.py::test_two_phases
"""

from collections.abc import Iterator
from typing import Any

import treadle.networks as sdn

net = sdn.Network().switches("s1 s2").hosts("h1 h2").links("h1-s1", "s1-s2", "s2-h2")


class OneBarrier(sdn.Controller):
    """Installs all rules, waits until they are there, and lets the packet go."""

    def drop_ssh(self) -> None:
        """Install the rules that drop."""
        for name in ("s1", "s2"):
            self.net.switch(name).install(sdn.match(proto="ssh"), sdn.drop(), priority=2)

    def forward(self, event: sdn.Event) -> None:
        """Install the rules that forward."""
        for switch, port in self.net.path(event.switch, event.packet.dst):
            switch.install(sdn.match(dst=event.packet.dst), sdn.output(port), priority=1)

    def barriers(self) -> list[sdn.Barrier]:
        """Return barriers behind all that the switches were told."""
        return [self.net.switch(name).barrier() for name in ("s1", "s2")]

    def packet_in(self, event: sdn.Event) -> Iterator[Any]:
        """Install everything, then let the packet go."""
        self.drop_ssh()
        self.forward(event)
        yield self.barriers()
        event.switch.packet_out(event)


class TwoPhases(OneBarrier):
    """Installs what drops first, behind a barrier of its own."""

    def packet_in(self, event: sdn.Event) -> Iterator[Any]:
        """Install what drops, then what forwards, then let the packet go."""
        self.drop_ssh()
        yield self.barriers()
        self.forward(event)
        yield self.barriers()
        event.switch.packet_out(event)


def packets(net: sdn.Network) -> None:
    net.send("h1", name="secret", dst="h2", proto="ssh")
    net.send("h1", name="page", dst="h2", proto="web")


@sdn.check(net, OneBarrier, properties=[sdn.never("secret", "h2")])
def test_one_barrier(net: sdn.Network) -> None:
    packets(net)


@sdn.check(net, TwoPhases, properties=[sdn.never("secret", "h2"), sdn.delivered("page", "h2")])
def test_two_phases(net: sdn.Network) -> None:
    packets(net)

"""The programs of figure 9 of "Actor-based Model Checking for Software-Defined Networks" (2021).

Load balancer, SSH, learning switch with authentication, firewall with migration. Of the policies
the paper prints only the load balancer's, so the others are ours, from what its text says; see the
remarks. `n` is the number of packets. Properties are not checked here: every order is counted, also
of programs that have bugs, whereas the paper stops at the first one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import treadle.networks as sdn
from treadle.model import Program
from treadle.papers.paper import Benchmark, Paper, PaperTable, Printed, Row

Waiting = Iterator[Any]


def _program(name: str, n: int, net: sdn.Network, policy: Any, packets: Any) -> Program:
    return sdn.program(
        net, policy, packets, name=f"{name}({n})", no_loop=False, no_black_hole=False
    )


# The load balancer of figure 1


class LoadBalancer(sdn.Controller):
    """Chooses replicas by turns, and installs rules on the whole path."""

    def __init__(self) -> None:
        self.turns: dict[str, int] = {}

    def install(self, event: sdn.Event) -> list[sdn.Switch]:
        """Install the rules for a packet; return the switches of the path."""
        turn = self.turns.get(event.packet.src, 0)
        self.turns[event.packet.src] = turn + 1
        path = self.net.path(event.switch, ("r1", "r2")[turn % 2])
        for switch, port in path:
            switch.install(sdn.match(src=event.packet.src), sdn.output(port))
        return [switch for switch, _ in path]

    def packet_in(self, event: sdn.Event) -> Any:
        """Install, and let the packet go."""
        self.install(event)
        event.switch.packet_out(event)


class LoadBalancerWithBarriers(LoadBalancer):
    """Waits for every switch of the path."""

    def packet_in(self, event: sdn.Event) -> Waiting:
        """Install, wait, and let the packet go."""
        yield [switch.barrier() for switch in self.install(event)]
        event.switch.packet_out(event)


def _triangle() -> sdn.Network:
    net = sdn.Network().switches("s1 s2 s3").hosts("h0 r1 r2")
    return net.links("h0-s1", "r1-s2", "r2-s3", "s1-s2", "s1-s3")


def _clients(n: int) -> Callable[[sdn.Network], None]:
    def packets(net: sdn.Network) -> None:
        for client in range(n):
            net.send("h0", dst="vip", src=f"client{client}")

    return packets


def lb(n: int) -> Program:
    """Return the load balancer without barriers."""
    return _program("lb", n, _triangle(), LoadBalancer, _clients(n))


def lbb(n: int) -> Program:
    """Return the load balancer with barriers."""
    return _program("lbb", n, _triangle(), LoadBalancerWithBarriers, _clients(n))


# No ssh


class Ssh(sdn.Controller):
    """Drops ssh with priority, and forwards by destination."""

    def install(self, event: sdn.Event) -> list[sdn.Switch]:
        """Install all rules; return the switches."""
        switches = [self.net.switch(name) for name in ("s1", "s2")]
        for switch in switches:
            switch.install(sdn.match(proto="ssh"), sdn.drop(), priority=2)
        for switch, port in self.net.path(event.switch, event.packet.dst):
            switch.install(sdn.match(dst=event.packet.dst), sdn.output(port))
        return switches

    def packet_in(self, event: sdn.Event) -> Any:
        """Install, and let the packet go."""
        self.install(event)
        event.switch.packet_out(event)


class SshWithBarriers(Ssh):
    """Waits for both switches."""

    def packet_in(self, event: sdn.Event) -> Waiting:
        """Install, wait, and let the packet go."""
        yield [switch.barrier() for switch in self.install(event)]
        event.switch.packet_out(event)


def _ssh(name: str, n: int, policy: Any) -> Program:
    net = sdn.Network().switches("s1 s2").hosts("h1 h2").links("h1-s1", "s1-s2", "s2-h2")

    def packets(net: sdn.Network) -> None:
        for number in range(n):
            net.send("h1", dst="h2", proto=("ssh", "web")[number % 2])

    return _program(name, n, net, policy, packets)


def ssh(n: int) -> Program:
    """Return the correct SSH: ssh and web packets by turns."""
    return _ssh("ssh", n, Ssh)


def sshb(n: int) -> Program:
    """Return SSH with barriers."""
    return _ssh("sshb", n, SshWithBarriers)


# A learning switch with authentication


class Learning(sdn.Controller):
    """Learns where sources are, and drops those that are not authenticated."""

    def __init__(self) -> None:
        self.learned: dict[tuple[str, str], int] = {}

    def packet_in(self, event: sdn.Event) -> Waiting:
        """Learn, and forward or flood."""
        switch, packet = event.switch, event.packet
        if packet.src == "h2":
            switch.install(sdn.match(src=packet.src), sdn.drop(), priority=2)
            return
        self.learned[switch.name, packet.src] = event.port
        port = self.learned.get((switch.name, packet.dst))
        if port is None:
            switch.packet_out(event, sdn.flood())
            return
        switch.install(sdn.match(src=packet.src, dst=packet.dst), sdn.output(port))
        yield switch.barrier()
        switch.packet_out(event)


_LEARNED = (("h1", "h3"), ("h3", "h1"), ("h2", "h1"), ("h1", "h2"), ("h3", "h2"))


def le(n: int) -> Program:
    """Return a line of three switches with a host each, the second of them not authenticated."""
    net = sdn.Network().switches("s1 s2 s3").hosts("h1 h2 h3")
    net.links("h1-s1", "h2-s2", "h3-s3", "s1-s2", "s2-s3")

    def packets(net: sdn.Network) -> None:
        for source, target in _LEARNED[:n]:
            net.send(source, src=source, dst=target)

    return _program("le", n, net, Learning, packets)


# A firewall with migration


class Firewall(sdn.Controller):
    """Trusts whoever speaks through port 1, and whomever that speaks to."""

    checks = True

    def __init__(self) -> None:
        self.trusted: dict[str, bool] = {}

    def packet_in(self, event: sdn.Event) -> None:
        """Forward what is trusted."""
        source, target = event.packet.src, event.packet.dst
        forward = sdn.output(self.net.port_to(event.switch.name, target))
        if event.port == 1:
            self.trusted[source] = True
            self.trusted[target] = True
        elif self.checks and not self.trusted.get(source):
            forward = sdn.drop()
        event.switch.packet_out(event, forward)


class ForgetfulFirewall(Firewall):
    """Forgets to look who it is."""

    checks = False


def _migrating(n: int) -> list[tuple[int, int]]:
    """Return sources and targets: 1→2, 2→1, and then k→1, 1→k for each further host k."""
    others = [pair for host in range(3, n + 3) for pair in ((host, 1), (1, host))]
    return [(1, 2), (2, 1), *others][:n]


def _firewall(name: str, n: int, policy: Any) -> Program:
    hosts = [f"h{host}" for host in range(1, max(map(max, _migrating(n))) + 1)]
    net = sdn.Network().switches("s1").hosts(hosts).links(*(f"{host}-s1" for host in hosts))

    def packets(net: sdn.Network) -> None:
        for source, target in _migrating(n):
            net.send(f"h{source}", src=f"h{source}", dst=f"h{target}")

    return _program(name, n, net, policy, packets)


def mi(n: int) -> Program:
    """Return the firewall."""
    return _firewall("mi", n, Firewall)


def mib(n: int) -> Program:
    """Return the firewall that forgets the check."""
    return _firewall("mib", n, ForgetfulFirewall)


def _orders_of_trust(n: int) -> int:
    """Return in how many orders h1's packets make hosts trusted."""
    return math.factorial(sum(source == 1 for source, _ in _migrating(n)))


def _orders_with_checks(n: int) -> int:
    """Return the same, each order with every check before or after what makes it succeed."""
    sent = set(_migrating(n))
    asked = sum((target, source) in sent for source, target in sent if target == 1)
    return _orders_of_trust(n) << asked


# Figure 9

_OTHER_POLICY = (
    "the paper does not print its policy, and ours is another program; its counts are of its own"
)
_STOPS = "the paper stops at the first violation, and ours counts every order"

_LB = Benchmark("lb", lb, lambda n: 8**n, remark=_STOPS)
_LBB = Benchmark("lbb", lbb, lambda _: 1)
_SSH = Benchmark("ssh", ssh, {1: 22}.get, remark=_OTHER_POLICY)
_SSHB = Benchmark("sshb", sshb, {1: 1, 2: 21, 3: 1817}.get, remark=_OTHER_POLICY)
_LE = Benchmark(
    "le", le, {2: 4, 3: 4, 4: 66, 5: 1070}.get, smallest=2, largest=5, remark=_OTHER_POLICY
)
_MI = Benchmark("mi", mi, _orders_with_checks, remark=_OTHER_POLICY)
_MIB = Benchmark("mib", mib, _orders_of_trust, remark=_OTHER_POLICY)

_FIGURE_9 = (
    (_LB, ((50, 4, 1305), (100, 4, 7301), (200, 4, 38203), (300, 4, 110220))),
    (_LBB, ((50, 1, 11117), (75, 1, 31644), (100, 1, 68059), (125, 1, 127740))),
    (_SSH, ((2, 179, 1340),)),
    (_SSHB, ((2, 6, 104), (3, 65, 2506), (4, 421, 33470))),
    (_LE, ((2, 3, 42), (5, 10, 355))),
    (_MIB, ((12, 32, 1029), (14, 64, 2730), (16, 748, 24870), (20, 2242, 153419))),
    (_MI, ((8, 32, 865), (10, 256, 9176), (12, 960, 29675), (14, 1727, 119908))),
)
"""Programs; packets, executions and milliseconds as printed, of the smaller network if there are
two, and of SSH the correct version."""

_OURS = ((_LB, 1), (_LB, 2), (_LB, 3), (_SSH, 1), (_SSHB, 1), (_MIB, 6), (_MI, 6))
"""Rows that the paper does not have: small enough to be counted whole."""
_LARGE = {(_SSH.name, 2), (_SSHB.name, 4)}


def _is_large(benchmark: Benchmark, n: int) -> bool:
    """Tell whether a row has too many orders to be counted in a minute."""
    classes = benchmark.classes(n)
    return (benchmark.name, n) in _LARGE or (classes or 0) > 10_000


def _rows() -> tuple[Row, ...]:
    rows = []
    for benchmark, lines in _FIGURE_9:
        rows += [Row(benchmark, n) for ours, n in _OURS if ours is benchmark]
        rows += [
            Row(
                benchmark,
                n,
                {"optimal": Printed(executions=executions, time=f"{milliseconds / 1000:.2f}s")},
                on_demand=_is_large(benchmark, n),
            )
            for n, executions, milliseconds in lines
        ]
    return tuple(rows)


PAPER = Paper(
    "jss21",
    "Actor-based Model Checking for Software-Defined Networks (2021)",
    (
        PaperTable(
            "Figure 9. Software-defined networks: all orders of messages",
            ("optimal",),
            ("executions", "time"),
            _rows(),
        ),
    ),
    remarks=(
        "lb: the paper checks a property and stops at its first violation (4 executions); the rows "
        "for 50 packets and more have 8^n orders, and run only when asked for.",
        "lbb: our barriers are waited for by the handler that requests them. The controller of the "
        "paper's figure 7 keeps tables for all handlers instead, and has one execution only if "
        "these are declared independent.",
    ),
)
"""Figure 9, ours beside the paper's."""

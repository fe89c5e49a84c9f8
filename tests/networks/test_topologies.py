"""Topologies in words, from networkx and from mininet; matches; what packets do on their way."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from policies import kinds, triangle

import treadle.networks as sdn
from treadle.core.errors import TreadleError
from treadle.networks.world.matching import agrees, is_within

networkx = pytest.importorskip("networkx", reason="needs the extra sdn")


def ports(net: sdn.Network) -> dict[str, dict[int, tuple[str, int]]]:
    return {
        node: {port: (peer.node, peer.port) for port, peer in behind.items()}
        for node, behind in net.ports.items()
    }


def test_ports_are_numbered_in_the_order_of_links() -> None:
    assert ports(triangle()) == {
        "s1": {1: ("h0", 1), 2: ("s2", 2), 3: ("s3", 2)},
        "s2": {1: ("r1", 1), 2: ("s1", 2)},
        "s3": {1: ("r2", 1), 2: ("s1", 3)},
        "h0": {1: ("s1", 1)},
        "r1": {1: ("s2", 1)},
        "r2": {1: ("s3", 1)},
    }


def test_ports_can_be_fixed() -> None:
    net = sdn.Network().switches("s1 s2").hosts("h1").links("s1:3-s2:1", "h1-s1", "s1-s2:7")
    assert ports(net)["s1"] == {3: ("s2", 1), 1: ("h1", 1), 2: ("s2", 7)}


def test_paths() -> None:
    net = triangle()
    assert [(switch.name, port) for switch, port in net.path("s2", "r2")] == [
        ("s2", 2),
        ("s1", 3),
        ("s3", 1),
    ]
    assert [(hop.switch, hop.port) for hop in net.path(net.switch("s2"), "r1")] == [
        (net.switch("s2"), 1)
    ]
    assert [switch.name for switch, _ in net.path("s2", "s3")] == ["s2", "s1"]


def test_paths_do_not_lead_through_hosts() -> None:
    net = sdn.Network().switches("s1 s2 s3").hosts("h1 h2")
    net.links("h1-s1", "h1-s3", "s1-s2", "s2-s3", "h2-s3")
    assert [switch.name for switch, _ in net.path("s1", "h2")] == ["s1", "s2", "s3"]


def test_switches_are_equal_by_name() -> None:
    one, other = triangle(), triangle()
    assert one.switch("s1") == other.switch("s1")
    assert one.switch("s1") != one.switch("s2")
    assert len({one.switch("s1"), other.switch("s1")}) == 1
    assert repr(one.switch("s1")) == "s1"


def test_from_networkx() -> None:
    graph = networkx.Graph()
    graph.add_nodes_from(["core", "edge"])
    graph.add_nodes_from(["alice", "bob"], type="host")
    graph.add_edge("alice", "core")
    graph.add_edge("core", "edge", ports={"core": 5, "edge": 6})
    graph.add_edge("edge", "bob")
    net = sdn.Network.of(graph, ordered=True)
    assert (net.switch_names, net.host_names) == (["core", "edge"], ["alice", "bob"])
    assert ports(net)["core"] == {1: ("alice", 1), 5: ("edge", 6)}
    assert net.options == {"ordered": True}


def test_hosts_of_a_graph_by_their_names() -> None:
    graph = networkx.path_graph(3)
    graph.add_edge("h1", 0)
    net = sdn.Network.of(graph)
    assert (net.switch_names, net.host_names) == (["0", "1", "2"], ["h1"])


class Topo:
    """Stands for mininet's: names, and links with ports."""

    def switches(self) -> list[str]:
        return ["s1", "s2"]

    def hosts(self) -> list[str]:
        return ["h1", "h2"]

    def links(self) -> list[tuple[str, str]]:
        return [("h1", "s1"), ("s1", "s2"), ("h2", "s2")]

    def port(self, one: str, other: str) -> tuple[int, int]:
        return {("h1", "s1"): (0, 1), ("s1", "s2"): (2, 1), ("h2", "s2"): (0, 2)}[one, other]


def test_from_mininet() -> None:
    assert ports(sdn.Network.of(Topo())) == {
        "s1": {1: ("h1", 1), 2: ("s2", 1)},
        "s2": {1: ("s1", 2), 2: ("h2", 1)},
        "h1": {1: ("s1", 1)},
        "h2": {1: ("s2", 2)},
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda net: net.switches("s1"), "there is a node 's1' already: choose another name"),
        (lambda net: net.hosts("h-1"), "a node cannot be called 'h-1': links are written"),
        (lambda net: net.links("s1"), "'s1' is no link: write h1-s1, or s1:3-s2:1"),
        (lambda net: net.links("s1:x-s2"), "'s1:x-s2' is no link"),
        (lambda net: net.links("s1-s9"), "there is no node 's9': the network has s1, s2, s3, h0"),
        (lambda net: net.links("h0-r1"), "h0-r1 is no link: connect a switch"),
        (lambda net: net.links("s1-s1"), "s1-s1 is no link: connect a switch"),
        (lambda net: net.links("s1:1-s2"), "port 1 of s1 is taken or below 1"),
        (lambda net: net.switch("s9"), "there is no switch 's9': the network has s1, s2, s3"),
        (lambda net: net.path("s1", "h9"), "there is no host 'h9': the network has h0, r1, r2"),
        (lambda net: net.switches("s4").path("s1", "s4"), "no path leads from s1 to s4: add a"),
        (lambda net: net.send("h9"), "there is no host 'h9'"),
        (lambda net: net.hosts("h9").send("h9"), "h9 has no link: add one with net.links"),
        (lambda net: net.send("h0", count=0), "count=0 packets cannot be sent"),
        (lambda net: net.send("h0", dst=["x"]), r"dst=\['x'\] is no value of a header field"),
        (lambda net: net.fails("s2-s3"), "there is no link 's2-s3'"),
        (lambda net: net.table("s1"), "a network has arrivals and tables while it runs"),
        (lambda net: net.arrivals("h0"), "a network has arrivals and tables while it runs"),
        (lambda net: net.switch("s1").barrier(), "switches take messages from the handlers of a"),
        (lambda net: net.of(3), "cannot make a network of int objects: give a networkx graph"),
    ],
)
def test_mistakes(make: Any, message: str) -> None:
    with pytest.raises(TreadleError, match=message):
        make(triangle())


def test_names_of_packets() -> None:
    net = triangle()
    net.send("h0")
    net.send("h0", name="p")
    net.send("h0", name="q", count=2)
    net.send("h0", count=2)
    assert [packet.name for packet in net.packets] == ["1", "p", "q1", "q2", "5", "6"]
    assert net.named("q") == ["q1", "q2"]
    with pytest.raises(TreadleError, match="there is a packet 'p' already"):
        net.send("h0", name="p")
    with pytest.raises(TreadleError, match="no packet 'x': the test sends 1, p, q1, q2, 5, 6"):
        net.named("x")


# Matches


@pytest.mark.parametrize(
    ("wanted", "value", "expected"),
    [
        ("a", "a", True),
        ("a", "b", False),
        (1, 1, True),
        ("10.0.0.0/8", "10.200.0.1", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("fe80::/10", "fe80::1", True),
        ("fe80::/10", "10.0.0.1", False),
        ("a/b", "a", False),
        ("01:00:00:00:00:00/01:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", True),
        ("01:00:00:00:00:00/01:00:00:00:00:00", "00:00:00:00:00:01", False),
        ("01:00:00:00:00:00/01:00:00:00:00:00", "h1", False),
    ],
)
def test_what_agrees(wanted: Any, value: Any, expected: bool) -> None:
    assert agrees(wanted, value) is expected


def test_addresses_may_be_objects() -> None:
    net = ipaddress.ip_network("10.0.0.0/8")
    assert sdn.match(ipv4_dst=net) == sdn.match(ipv4_dst="10.0.0.0/8")
    assert repr(sdn.match(dst="x", in_port=1)) == "match(dst='x', in_port=1)"


def test_which_match_is_within_another() -> None:
    narrow, wide = sdn.match(dst="x", in_port=1), sdn.match(dst="x")
    assert is_within(narrow, wide)
    assert not is_within(wide, narrow)
    assert is_within(wide, sdn.match())
    assert is_within(sdn.match(ip="10.1.0.0/16"), sdn.match(ip="10.0.0.0/8"))


def one_switch() -> sdn.Network:
    return sdn.Network().switches("s1").hosts("h1 h2 h3").links("h1-s1", "h2-s1", "h3-s1")


def arrivals(net: sdn.Network, **header: Any) -> set[tuple[str, ...]]:
    seen = set()

    @net.finally_
    def look(net: sdn.Network) -> None:
        seen.add(tuple(host for host in net.host_names if net.arrivals(host)))

    sdn.explore(
        net,
        sdn.Controller,
        lambda net: net.send("h1", **header),
        no_black_hole=False,
        stop_on_failure=False,
    )
    return seen


def test_priorities_and_wildcards() -> None:
    net = one_switch()
    net.install("s1", sdn.match(), sdn.output(3))
    net.install("s1", sdn.match(dst="x"), sdn.output(2), priority=5)
    assert arrivals(net.copy(), dst="x") == {("h2",)}
    assert arrivals(net.copy(), dst="y") == {("h3",)}


def test_ports_and_prefixes_in_rules() -> None:
    net = one_switch()
    net.install("s1", sdn.match(in_port=2), sdn.output(3))
    net.install("s1", sdn.match(in_port=1, ipv4_dst="10.0.0.0/8"), sdn.output(2))
    assert arrivals(net.copy(), ipv4_dst="10.1.1.1") == {("h2",)}
    assert arrivals(net.copy(), ipv4_dst="11.1.1.1") == {()}


def test_the_later_rule_of_a_key_replaces_the_earlier() -> None:
    net = one_switch()
    net.install("s1", sdn.match(dst="x"), sdn.output(2))
    net.install("s1", sdn.match(dst="x"), sdn.output(3))
    assert arrivals(net, dst="x") == {("h3",)}


def test_flood_and_several_outputs() -> None:
    net = one_switch()
    net.install("s1", sdn.match(dst="all"), sdn.flood())
    net.install("s1", sdn.match(dst="back"), [sdn.output(1), sdn.output(3)])
    assert arrivals(net.copy(), dst="all") == {("h2", "h3")}
    assert arrivals(net.copy(), dst="back") == {("h1", "h3")}


def test_fields_are_set_for_what_comes_after() -> None:
    net = sdn.Network().switches("s1 s2").hosts("h1 h2 h3")
    net.links("h1-s1", "s1-s2", "h2-s2", "h3-s2")
    change = [sdn.output(2), sdn.set_field(dst="new"), sdn.output(2)]
    net.install("s1", sdn.match(dst="old"), change)
    net.install("s2", sdn.match(dst="old"), sdn.output(2))
    net.install("s2", sdn.match(dst="new"), sdn.output(3))
    assert arrivals(net, dst="old") == {("h2", "h3")}


def test_copies_of_a_flood_that_meet_at_a_host_do_not_race() -> None:
    net = sdn.Network().switches("s1 s2 s3 s4").hosts("h1 h2")
    net.links("h1-s1", "s1-s2", "s1-s3", "s2-s4", "s3-s4", "h2-s4")
    for name in ("s1", "s2", "s3"):
        net.install(name, sdn.match(), sdn.flood())
    net.install("s4", sdn.match(), sdn.output(3))
    result = sdn.explore(net, sdn.Controller, lambda net: net.send("h1"))
    assert (result.ok, result.executions) == (True, 1)


# Ways that come back


def there_and_back() -> sdn.Network:
    """A packet goes s1, s2, s1, s3: s2 is a middlebox."""
    net = triangle()
    net.install("s1", sdn.match(in_port=1), sdn.output(2))
    net.install("s2", sdn.match(), sdn.output(2))
    net.install("s1", sdn.match(in_port=2), sdn.output(3))
    net.install("s3", sdn.match(), sdn.output(1))
    return net


def send(net: sdn.Network) -> None:
    net.send("h0", name="p")


def test_revisits() -> None:
    assert kinds(sdn.explore(there_and_back(), sdn.Controller, send)) == {"no_loop"}
    legal = sdn.explore(
        there_and_back(),
        sdn.Controller,
        send,
        revisits=1,
        properties=[sdn.delivered("p", "r2"), sdn.waypoint("p", "s2")],
    )
    assert legal.ok


def test_revisits_end_at_the_same_port() -> None:
    net = triangle()
    net.install("s1", sdn.match(), sdn.output(2))
    net.install("s2", sdn.match(), sdn.output(2))
    (failure,) = sdn.explore(net, sdn.Controller, send, revisits=5).failures
    assert failure.message.endswith("s1 → s2 → s1 → s2")


def test_max_hops() -> None:
    assert kinds(sdn.explore(there_and_back(), sdn.Controller, send, revisits=1, max_hops=3)) == {
        "no_loop"
    }
    assert sdn.explore(there_and_back(), sdn.Controller, send, revisits=1, max_hops=4).ok


def test_options_of_the_network_are_defaults() -> None:
    net = there_and_back()
    net.options["revisits"] = 1
    assert sdn.explore(net, sdn.Controller, send).ok
    assert not sdn.explore(net, sdn.Controller, send, revisits=0).ok


# Links


def test_ordered_links() -> None:
    """Two packets on one link: the second one arrives first only if links may reorder."""
    net = sdn.Network().switches("s1").hosts("h1 h2").links("h1-s1", "s1-h2")

    class Remembering(sdn.Controller):
        def __init__(self) -> None:
            self.order: list[str] = []

        def packet_in(self, event: sdn.Event) -> None:
            self.order.append(event.packet.name)
            event.switch.packet_out(event, sdn.drop())

    assert sdn.explore(net, Remembering, lambda net: net.send("h1", count=2)).executions == 2


@pytest.mark.parametrize(("ordered", "orders"), [(False, {"ab", "ba"}), (True, {"ab"})])
def test_packets_on_one_link(ordered: bool, orders: set[str]) -> None:
    net = sdn.Network().switches("s1 s2").hosts("h0 h2").links("h0-s1", "s1-s2", "s2-h2")
    both = [sdn.set_field(x="a"), sdn.output(2), sdn.set_field(x="b"), sdn.output(2)]
    net.install("s1", sdn.match(), both)
    seen = set()

    class Noting(sdn.Controller):
        def __init__(self) -> None:
            self.order = ""

        def packet_in(self, event: sdn.Event) -> None:
            event.switch.packet_out(event, sdn.drop())

    program = sdn.program(net, Noting, send, ordered_links=ordered)

    def go(prefix: list[int]) -> None:
        run: Any = program.start(detail=True)
        for process in prefix:
            run.step(process)
        enabled = run.enabled()
        if not enabled:
            names = [record.process for record in run.records() if record.lane == "s2"]
            first = [name for name in names if name.endswith("s2: packet p")]
            seen.add("".join("ab"[name.split(":")[0].endswith(".2")] for name in first))
        run.drop()
        for process in enabled:
            go([*prefix, process])

    go([])
    assert seen == orders


def test_links_that_fail() -> None:
    net = sdn.Network().switches("s1 s2").hosts("h1 h2").links("h1-s1", "s1-s2", "s2-h2")
    for name in ("s1", "s2"):
        net.install(name, sdn.match(), sdn.output(2))

    def failing(net: sdn.Network) -> None:
        net.send("h1", name="p")
        net.fails("s1-s2")

    result = sdn.explore(net, sdn.Controller, failing, stop_on_failure=False)
    assert (result.executions, kinds(result)) == (2, {"no_black_hole"})
    assert "packet p is lost on the link from s1 to s2" in result.failures[0].message


def test_the_controller_hears_of_links_that_fail() -> None:
    class Detour(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.packet_out(event, sdn.drop())

        def port_status(self, switch: str, port: int, is_up: bool) -> None:
            assert not is_up
            self.net.switch(switch).install(sdn.match(gone=port), sdn.drop())

    net = triangle()
    seen = set()

    @net.finally_
    def look(net: sdn.Network) -> None:
        seen.add(tuple(len(net.table(name)) for name in net.switch_names))

    def failing(net: sdn.Network) -> None:
        send(net)
        net.fails("s1-s2")

    assert sdn.explore(net, Detour, failing).ok
    assert seen == {(1, 1, 0)}


# Pictures


def test_a_picture_of_the_start() -> None:
    net = triangle()
    net.install("s1", sdn.match(dst="<vip>"), sdn.output(2))
    picture = net.draw()
    assert picture.startswith("<svg ")
    assert picture.endswith("</svg>")
    assert "1: dst=&lt;vip&gt; → s2" in picture
    assert picture.count("<rect") == 3
    assert picture.count("<circle") == 3
    assert picture.count("<line") == 5


def test_a_picture_of_a_moment() -> None:
    from policies import Balancer, requests

    net = triangle()
    (failure, *_) = sdn.explore(net, Balancer, requests(1)).failures
    assert "src=client0" not in net.draw(failure, 1)
    assert "src=client0" in net.draw(failure)

"""Each property with a smallest network that violates it, and one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from policies import AllBarriers, Balancer, kinds, pair, requests, triangle

import treadle
import treadle.networks as sdn


class Forwarding(sdn.Controller):
    """Lets every packet go to where it is meant for; there are no rules."""

    def packet_in(self, event: sdn.Event) -> None:
        (_, port), *_ = self.net.path(event.switch, event.packet.dst)
        event.switch.packet_out(event, sdn.output(port))


class Silent(sdn.Controller):
    """Answers nothing."""

    def packet_in(self, event: sdn.Event) -> None:
        del event


class Deaf(sdn.Controller):
    """Takes no packet-ins."""


class Dropping(sdn.Controller):
    def packet_in(self, event: sdn.Event) -> None:
        event.switch.packet_out(event, sdn.drop())


class Unruly(sdn.Controller):
    """Lets packets go by a table in which there is no rule."""

    def packet_in(self, event: sdn.Event) -> None:
        event.switch.packet_out(event)


def hub(hosts: int = 2) -> sdn.Network:
    names = [f"h{number}" for number in range(1, hosts + 1)]
    net = sdn.Network().switches("s1").hosts(names)
    return net.links(*(f"{name}-s1" for name in names))


def to_h2(net: sdn.Network) -> None:
    net.send("h1", name="p", dst="h2")


def found(net: sdn.Network, policy: Any, packets: Any = to_h2, **options: Any) -> set[str]:
    result = sdn.explore(net, policy, packets, stop_on_failure=False, **options)
    assert result.complete
    return kinds(result)


def ring() -> sdn.Network:
    net = sdn.Network().switches("s1 s2 s3").hosts("h1 h2")
    return net.links("h1-s1", "h2-s2", "s1-s2", "s2-s3", "s3-s1")


class Flooding(sdn.Controller):
    def packet_in(self, event: sdn.Event) -> None:
        event.switch.packet_out(event, sdn.flood())


# The three that are on by default


def test_no_loop() -> None:
    assert found(ring(), Flooding) == {"no_loop"}
    assert found(pair(), Flooding) == set()
    assert found(ring(), Flooding, no_loop=False) == set()


def test_a_loop_says_where_the_packet_was() -> None:
    failure = sdn.explore(ring(), Flooding, to_h2).failures[0]
    assert failure.message.startswith("Loop: packet p comes to ")
    ways = failure.message.rpartition(": ")[2].split(" → ")
    assert ways[0] == ways[-1] == "s1"
    assert sorted(ways[1:-1]) == ["s2", "s3"]


def test_no_black_hole() -> None:
    assert found(hub(), Unruly) == {"no_black_hole"}
    assert found(hub(), Deaf) == {"no_black_hole"}
    assert found(hub(), Dropping) == set()
    assert found(hub(), Forwarding) == set()
    assert found(hub(), Unruly, no_black_hole=False) == set()


def test_a_drop_rule_is_no_black_hole() -> None:
    net = hub()
    net.install("s1", sdn.match(dst="h2"), sdn.drop())
    assert found(net, Deaf) == set()


@pytest.mark.parametrize("priorities", [(1, 1), (1, 2), (2, 1)])
def test_no_conflict(priorities: tuple[int, int]) -> None:
    net = hub(3)
    first, second = priorities
    net.install("s1", sdn.match(dst="h2"), sdn.output(2), first)
    net.install("s1", sdn.match(proto="ssh"), sdn.output(3), second)

    def ssh(net: sdn.Network) -> None:
        net.send("h1", name="p", dst="h2", proto="ssh")

    expected = {"no_conflict"} if first == second else set()
    assert found(net, Deaf, ssh) == expected
    host = "h2" if first > second else "h3"
    if first != second:
        assert found(net, Deaf, ssh, properties=[sdn.delivered("p", host)]) == set()


def test_equal_actions_are_no_conflict() -> None:
    net = hub(3)
    net.install("s1", sdn.match(dst="h2"), sdn.output(2))
    net.install("s1", sdn.match(), sdn.output(2))
    assert found(net, Deaf) == set()


def test_either_of_contradicting_rules_may_be_taken() -> None:
    """As the thesis has it, if that is no failure."""
    net = hub(3)
    net.install("s1", sdn.match(dst="h2"), sdn.output(2))
    net.install("s1", sdn.match(), sdn.output(3))
    seen = set()

    @net.finally_
    def look(net: sdn.Network) -> None:
        seen.add(tuple(host for host in ("h2", "h3") if net.arrived("p", host)))

    assert found(net, Deaf, no_conflict=False) == set()
    assert seen == {("h2",), ("h3",)}


# Access control


def test_never() -> None:
    assert found(hub(), Forwarding, properties=[sdn.never("p", "h2")]) == {"never"}
    assert found(hub(3), Forwarding, properties=[sdn.never("p", "h3")]) == set()
    assert found(hub(), Dropping, properties=[sdn.never("p", "h2")]) == set()


def test_never_of_all_packets_of_one_send() -> None:
    def two(net: sdn.Network) -> None:
        net.send("h1", name="p", count=2, dst="h2")

    result = sdn.explore(
        hub(), Forwarding, two, properties=[sdn.never("p", "h2")], stop_on_failure=False
    )
    assert {failure.message for failure in result.failures} == {
        "Leak: packet p1 arrives at h2",
        "Leak: packet p2 arrives at h2",
    }
    only = sdn.explore(
        hub(), Forwarding, two, properties=[sdn.never("p2", "h2")], stop_on_failure=False
    )
    assert [failure.message for failure in only.failures] == ["Leak: packet p2 arrives at h2"]


def test_delivered() -> None:
    assert found(hub(), Forwarding, properties=[sdn.delivered("p", "h2")]) == set()
    assert found(hub(3), Forwarding, properties=[sdn.delivered("p", "h3")]) == {"delivered"}
    assert found(hub(), Dropping, properties=[sdn.delivered("p", "h2")]) == {"delivered"}
    assert found(hub(), Silent, properties=[sdn.delivered("p", "h2")]) == {"delivered"}


def test_isolated() -> None:
    apart = [sdn.isolated("h1", ["h2", "h3"])]
    assert found(hub(3), Forwarding, properties=apart) == {"isolated"}

    def back(net: sdn.Network) -> None:
        net.send("h2", dst="h1")

    assert found(hub(3), Forwarding, back, properties=apart) == {"isolated"}

    def among(net: sdn.Network) -> None:
        net.send("h2", dst="h3")

    assert found(hub(3), Forwarding, among, properties=apart) == set()


def test_waypoint() -> None:
    net = triangle()

    def to_r1(net: sdn.Network) -> None:
        net.send("h0", name="p", dst="r1")

    assert found(net, Forwarding, to_r1, properties=[sdn.waypoint("p", "s2")]) == set()
    assert found(net, Forwarding, to_r1, properties=[sdn.waypoint("p", "s3")]) == {"waypoint"}


def test_balanced() -> None:
    def three(net: sdn.Network) -> None:
        for target in ("h2", "h2", "h3"):
            net.send("h1", dst=target)

    assert found(hub(3), Forwarding, three, properties=[sdn.balanced("h2 h3")]) == set()
    exactly = [sdn.balanced(["h2", "h3"], by=0)]
    assert found(hub(3), Forwarding, three, properties=exactly) == {"balanced"}


def test_tables_agree() -> None:
    net = pair()
    assert found(net, Forwarding, properties=[sdn.tables_agree("p", "h2")]) == {"tables_agree"}
    net.install("s1", sdn.match(dst="h2"), sdn.output(2))
    assert found(net, Forwarding, properties=[sdn.tables_agree("p", "h2")]) == {"tables_agree"}
    net.install("s2", sdn.match(dst="h2"), sdn.output(2))
    assert found(net, Forwarding, properties=[sdn.tables_agree("p", "h2")]) == set()
    assert found(net, Forwarding, properties=[sdn.tables_agree()]) == set()
    assert found(net, Forwarding, properties=[sdn.tables_agree("p", "h1")]) == {"tables_agree"}


def test_tables_agree_on_rewritten_headers() -> None:
    net = pair()
    net.install("s1", sdn.match(dst="h2"), [sdn.set_field(dst="inner"), sdn.output(2)])
    net.install("s2", sdn.match(dst="inner"), sdn.output(2))
    assert found(net, Deaf, properties=[sdn.tables_agree("p", "h2")]) == set()
    assert found(net, Deaf, properties=[sdn.delivered("p", "h2")]) == set()


def test_tables_that_lead_around_do_not_agree() -> None:
    net = pair()
    net.install("s1", sdn.match(dst="h2"), sdn.output(2))
    net.install("s2", sdn.match(dst="h2"), sdn.output(1))
    assert found(net, Deaf, properties=[sdn.tables_agree()]) == {"no_loop", "tables_agree"}


def test_quiet() -> None:
    for quiet in (sdn.quiet, sdn.quiet()):
        assert found(hub(), Silent, properties=[quiet]) == {"quiet"}
        assert found(hub(), Forwarding, properties=[quiet]) == set()


def test_what_is_left_over_is_said_even_if_it_is_no_failure() -> None:
    result = sdn.explore(hub(), Silent, to_h2)
    assert result.ok
    (note,) = result.notes
    assert note.startswith("packet p is left in the buffer of s1")
    assert sdn.explore(hub(), Forwarding, to_h2).notes == []


# A packet-out without a packet


class Twice(sdn.Controller):
    def packet_in(self, event: sdn.Event) -> None:
        event.switch.packet_out(event, sdn.output(2))
        event.switch.packet_out(event, sdn.output(2))


def test_a_second_packet_out_is_a_finding() -> None:
    result = sdn.explore(hub(), Twice, to_h2, stop_on_failure=False)
    assert kinds(result) == {"assertion"}
    assert "packet p is not in the buffer of s1" in result.failures[0].message


# One's own


def test_always_and_finally() -> None:
    net = hub()

    @net.always
    def never_two(net: sdn.Network) -> None:
        assert len(net.arrivals("h2")) < 2, "two are there"

    def one(net: sdn.Network) -> None:
        net.send("h1", dst="h2")

    def two(net: sdn.Network) -> None:
        net.send("h1", dst="h2", count=2)

    assert found(net, Forwarding, one) == set()
    assert found(net, Forwarding, two) == {"assertion"}


def test_always_sees_what_is_only_true_for_a_moment() -> None:
    """A rule that comes and goes; in the end, nothing shows it."""

    class Wavering(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> Iterator[Any]:
            event.switch.install(sdn.match(dst="h2"), sdn.output(2))
            yield event.switch.barrier()
            event.switch.delete(sdn.match(dst="h2"))
            event.switch.packet_out(event, sdn.drop())

    for watches, expected in (("always", {"assertion"}), ("finally_", set())):
        net = hub()

        def empty(net: sdn.Network) -> None:
            assert net.table("s1") == []

        getattr(net, watches)(empty)
        assert found(net, Wavering) == expected


def test_always_costs_reduction() -> None:
    def two(net: sdn.Network) -> None:
        net.send("h1", dst="h2", count=2)

    free = sdn.explore(hub(), Forwarding, two)
    net = hub()

    @net.always
    def look(net: sdn.Network) -> None:
        net.arrivals("h2")

    assert sdn.explore(net, Forwarding, two).executions > free.executions


def test_finally_is_free() -> None:
    net = triangle()
    net.finally_(lambda net: net.arrivals("r1"))
    assert sdn.explore(net, AllBarriers, requests(3)).executions == 1


def test_finally_fails_with_the_line_of_the_property() -> None:
    net = hub()

    @net.finally_
    def arrives(net: sdn.Network) -> None:
        assert net.arrived("p", "h2"), "it got lost"

    (failure,) = sdn.explore(net, Dropping, to_h2).failures
    assert failure.kind == "assertion"
    assert "it got lost" in failure.message
    assert "test_properties.py" in str(failure)


def test_a_property_that_raises_is_an_exception() -> None:
    net = hub()

    @net.finally_
    def broken(net: sdn.Network) -> None:
        raise KeyError(net.packets[0].name)

    assert found(net, Dropping) == {"exception"}


def test_properties_see_the_controller() -> None:
    net = triangle()

    @net.finally_
    def asked_once(net: sdn.Network) -> None:
        controller: Any = net.controller
        assert list(controller.turns.values()) == [1]

    assert found(net, AllBarriers, requests(1)) == set()
    assert "assertion" in found(net, Balancer, requests(1))


# Everything that a failure has


PROPERTIES = {
    "no_loop": (ring(), Flooding, []),
    "no_black_hole": (hub(), Unruly, []),
    "never": (hub(), Forwarding, [sdn.never("p", "h2")]),
    "delivered": (hub(), Dropping, [sdn.delivered("p", "h2")]),
    "isolated": (hub(), Forwarding, [sdn.isolated("h1", "h2")]),
    "waypoint": (pair(), Flooding, [sdn.waypoint("p", "s2")]),
    "balanced": (hub(3), Forwarding, [sdn.balanced("h2 h3", by=0)]),
    "tables_agree": (hub(), Dropping, [sdn.tables_agree()]),
    "quiet": (hub(), Silent, [sdn.quiet]),
}


@pytest.mark.parametrize("kind", [kind for kind in PROPERTIES if kind != "waypoint"])
def test_replay_and_shrink(kind: str) -> None:
    net, policy, properties = PROPERTIES[kind]
    program = sdn.program(net, policy, to_h2, properties=properties)
    (failure, *_) = treadle.explore(program).failures
    assert failure.kind == kind
    assert failure.trace
    again = treadle.replay(program, failure.token)
    assert again is not None
    assert (again.kind, again.message, again.token) == (kind, failure.message, failure.token)
    shrunk = treadle.shrink(failure)
    assert shrunk.failure.kind == kind
    assert shrunk.after <= shrunk.before


def test_shrinking_leaves_out_what_does_not_matter() -> None:
    program = sdn.program(triangle(), Balancer, requests(2))
    loops = [
        failure
        for failure in treadle.explore(program, "random", seed=3, stop_on_failure=False).failures
        if failure.kind == "no_loop"
    ]
    shrunk = treadle.shrink(loops[0])
    assert shrunk.failure.kind == "no_loop"
    assert len(shrunk.failure.schedule) <= 13  # one packet: the other one only has to be sent

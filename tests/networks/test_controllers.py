"""What a controller remembers: attributes one by one, dictionaries by key; and its mistakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from policies import kinds, pair, triangle

import treadle
import treadle.networks as sdn
from treadle.core.errors import TreadleError


def hub() -> sdn.Network:
    return sdn.Network().switches("s1").hosts("h1 h2").links("h1-s1", "h2-s1")


def two(net: sdn.Network) -> None:
    net.send("h1", name="a", key="a")
    net.send("h1", name="b", key="b")


def no_packets(net: sdn.Network) -> None:
    assert net.packets == []


def executions(policy: Any, packets: Any = two) -> int:
    result = sdn.explore(hub(), policy, packets, stop_on_failure=False)
    assert result.complete
    assert kinds(result) <= {"assertion"}
    return result.executions


class Dropping(sdn.Controller):
    """Does something with its memory, and drops the packet."""

    def touch(self, event: sdn.Event) -> None:
        raise NotImplementedError

    def packet_in(self, event: sdn.Event) -> None:
        self.touch(event)
        event.switch.packet_out(event, sdn.drop())


def policy(before: Any, touch: Any) -> type[sdn.Controller]:
    """Return a policy whose memory begins like this, and whose handlers do that."""

    class Policy(Dropping):
        def __init__(self) -> None:
            before(self)

        def touch(self, event: sdn.Event) -> None:
            touch(self, event.packet.key)

    return Policy


def nothing(self: Any) -> None:
    del self


def dictionary(self: Any) -> None:
    self.d = {"x": 0}


def of_lists(self: Any) -> None:
    self.d = defaultdict(list)


def items(self: Any) -> None:
    self.items = [1, 2]


def elements(self: Any) -> None:
    self.s = {"x"}


def nested(self: Any) -> None:
    self.d = {"a": {"n": 0}, "b": {"n": 0}}


class Box:
    """Something that cannot be watched."""

    value = 0


def opaque(self: Any) -> None:
    self.box = Box()


def set_attribute(self: Any, key: str) -> None:
    setattr(self, key, 1)


def count(self: Any, _key: str) -> None:
    self.n = getattr(self, "n", 0) + 1


def look(self: Any, _key: str) -> None:
    assert self.d["x"] == 0


def store(self: Any, key: str) -> None:
    self.d[key] = 1


def store_one(self: Any, key: str) -> None:
    self.d["x"] = key


def read_or_write(self: Any, key: str) -> None:
    if key == "a":
        self.d["x"] = 1
    else:
        self.d.get("x")


def read_or_add(self: Any, key: str) -> None:
    if key == "a":
        self.d["new"] = 1
    else:
        len(self.d)


def add_or_ask(self: Any, key: str) -> None:
    if key == "a":
        self.d["new"] = 1
    else:
        assert "other" not in self.d


def iterate_or_add(self: Any, key: str) -> None:
    if key == "a":
        self.d["new"] = 1
    else:
        list(self.d)


def append(self: Any, key: str) -> None:
    self.items.append(key)


def read_items(self: Any, key: str) -> None:
    assert len(self.items) == 2
    assert self.items[0] == 1
    assert self.items == [1, 2]
    assert list(self.items) == [1, 2]
    assert [*self.items, key] == self.items + [key]  # noqa: RUF005 (it can be added)


def append_by_key(self: Any, key: str) -> None:
    self.d[key].append(1)


def add_element(self: Any, key: str) -> None:
    self.s.add(key)


def ask_element(self: Any, key: str) -> None:
    assert key not in self.s


def add_or_ask_element(self: Any, key: str) -> None:
    if key == "a":
        self.s.add("z")
    else:
        self.z = "z" in self.s


def inner(self: Any, key: str) -> None:
    self.d[key]["n"] += 1


def inner_of_one(self: Any, _key: str) -> None:
    self.d["a"]["n"] += 1


def setdefault(self: Any, key: str) -> None:
    self.d.setdefault(key, {})[key] = 1
    assert self.d[key][key] == 1


def use_box(self: Any, _key: str) -> None:
    self.box.value += 1


def nothing_of_it(_self: Any, key: str) -> None:
    assert key


@pytest.mark.parametrize(
    ("before", "touch", "expected"),
    [
        (nothing, nothing_of_it, 1),
        (nothing, set_attribute, 1),
        (nothing, count, 2),
        (dictionary, look, 1),
        (dictionary, store, 1),
        (dictionary, store_one, 2),
        (dictionary, read_or_write, 2),
        (dictionary, read_or_add, 2),
        (dictionary, add_or_ask, 1),
        (dictionary, iterate_or_add, 2),
        (items, append, 2),
        (items, read_items, 1),
        (of_lists, append_by_key, 1),
        (elements, add_element, 1),
        (elements, ask_element, 1),
        (elements, add_or_ask_element, 2),
        (nested, inner, 1),
        (nested, inner_of_one, 2),
        (dictionary, setdefault, 1),
        (opaque, use_box, 2),
        (opaque, nothing_of_it, 2),
    ],
)
def test_which_handlers_conflict(before: Any, touch: Any, expected: int) -> None:
    assert executions(policy(before, touch)) == expected


def test_the_order_of_keys_matters_once_somebody_iterates() -> None:
    """Adding keys commutes; but who looks at all of them sees which one came first."""
    seen = set()

    class Policy(sdn.Controller):
        def __init__(self) -> None:
            self.d: dict[str, int] = {}

        def packet_in(self, event: sdn.Event) -> None:
            if event.packet.key == "look":
                seen.add(tuple(self.d))
            else:
                self.d[event.packet.key] = 1
            event.switch.packet_out(event, sdn.drop())

    def three(net: sdn.Network) -> None:
        two(net)
        net.send("h1", name="c", key="look")

    result = sdn.explore(hub(), Policy, three)
    assert result.ok
    assert seen == {(), ("a",), ("b",), ("a", "b"), ("b", "a")}
    assert result.executions == 6


def test_a_failure_after_something_was_learned_can_be_replayed() -> None:
    class Policy(sdn.Controller):
        def __init__(self) -> None:
            self.d: dict[str, int] = {}

        def packet_in(self, event: sdn.Event) -> None:
            self.d[event.packet.key] = 1
            assert next(iter(self.d)) == "a", "b was first"
            event.switch.packet_out(event, sdn.drop())

    program = sdn.program(hub(), Policy, two)
    (failure, *_) = treadle.explore(program).failures
    assert failure.kind == "assertion"
    fresh = sdn.program(hub(), Policy, two)
    again = treadle.replay(fresh, failure.token)
    assert again is not None
    assert again.message == failure.message


def test_containers_behave_as_they_do() -> None:
    class Policy(Dropping):
        def __init__(self) -> None:
            self.d: Any = {"x": 1}
            self.l: Any = [3, 1, 2]
            self.s: Any = {1}

        def touch(self, event: sdn.Event) -> None:
            del event
            self.d |= {"y": 2}
            assert self.d | {"z": 3} == {"x": 1, "y": 2, "z": 3}
            assert self.d.copy() == dict(self.d) == {"x": 1, "y": 2}
            assert repr(self.d) == "{'x': 1, 'y': 2}"
            del self.d["x"]
            assert self.d.pop("y") == 2
            assert not self.d
            self.l.sort()
            self.l.insert(0, 0)
            self.l[1] = 9
            del self.l[2]
            assert repr(self.l) == "[0, 9, 3]"
            self.s.update([2], [3])
            self.s.discard(1)
            assert self.s | {4} == {2, 3, 4}
            assert repr(self.s) == "{2, 3}"
            assert sorted(self.s) == [2, 3]
            assert len(self.s) == 2
            del self.s
            assert not hasattr(self, "s")

    assert sdn.explore(hub(), Policy, lambda net: net.send("h1")).ok


def test_defaults_of_the_class_and_properties() -> None:
    class Policy(Dropping):
        turn = 0
        LIMITS = (1, 2)

        @property
        def following(self) -> int:
            return self.turn + 1

        @following.setter
        def following(self, value: int) -> None:
            self.turn = value

        def touch(self, event: sdn.Event) -> None:
            self.following = self.following
            assert self.LIMITS == (1, 2)

    assert executions(Policy) == 2


# Mistakes: one sentence, with the line


def refused(policy: Any, net: sdn.Network | None = None, **options: Any) -> str:
    with pytest.raises(TreadleError) as error:
        sdn.explore(net or pair(), policy, lambda net: net.send("h1", dst="h2"), **options)
    text = str(error.value)
    assert "\n" not in text
    return text


def says(text: str, *parts: str) -> None:
    assert all(part in text for part in parts), text
    assert "test_controllers.py:" in text


def test_an_unknown_switch() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            self.net.switch("s9").barrier()

    says(refused(Policy), "there is no switch 's9': the network has s1, s2")


def test_an_unknown_port() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.install(sdn.match(dst="h2"), sdn.output(9))

    says(refused(Policy), "s1 has no port 9: its ports are 1, 2")


def test_an_unknown_port_of_a_packet_out() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.packet_out(event, sdn.output(9))

    says(refused(Policy), "s1 has no port 9: its ports are 1, 2")


@pytest.mark.parametrize("actions", [[], None])
def test_a_rule_without_action(actions: Any) -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.install(sdn.match(dst="h2"), actions)

    says(refused(Policy), "the rule for s1 has no action: write sdn.drop() if")


@pytest.mark.parametrize("actions", ["drop", 3, [3]])
def test_what_is_no_action(actions: Any) -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.install(sdn.match(dst="h2"), actions)

    says(refused(Policy), "for an action: write sdn.output(port), sdn.flood()")


def test_what_is_no_match() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.install({"dst": "h2"}, sdn.drop())  # type: ignore[arg-type]

    says(refused(Policy), "has {'dst': 'h2'} for a match: write sdn.match(dst=...)")


@pytest.mark.parametrize("value", [3, None, [3], "s1"])
def test_a_handler_that_yields_something_else(value: Any) -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> Iterator[Any]:
            event.switch.install(sdn.match(dst="h2"), sdn.drop())
            yield value

    says(refused(Policy), "a handler yields ", "yield switch.barrier(), or a list of barriers")


def test_state_in_the_class() -> None:
    class Policy(sdn.Controller):
        turn = 0

        def packet_in(self, event: sdn.Event) -> None:
            Policy.turn += 1
            event.switch.packet_out(event, sdn.drop())

    text = refused(Policy)
    says(text, "Policy keeps state in its class, which all runs share: set turn in __init__")


def test_a_dictionary_in_the_class() -> None:
    class Policy(sdn.Controller):
        table: dict[str, int] = {}  # noqa: RUF012 (the mistake)

        def packet_in(self, event: sdn.Event) -> None:
            self.table[event.packet.dst] = 1
            event.switch.packet_out(event, sdn.drop())

    says(refused(Policy), "Policy keeps state in its class", "set table in __init__")


def test_constants_in_the_class_are_fine() -> None:
    class Policy(sdn.Controller):
        TARGETS = ["h1", "h2"]  # noqa: RUF012

        def packet_in(self, event: sdn.Event) -> None:
            assert event.packet.dst in self.TARGETS
            event.switch.packet_out(event, sdn.drop())

    assert sdn.explore(pair(), Policy, lambda net: net.send("h1", dst="h2")).ok


def test_state_in_the_module_is_not_deterministic() -> None:
    calls: list[int] = []

    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            calls.append(1)
            if len(calls) > 1:
                event.switch.packet_out(event, sdn.drop())

    result = sdn.explore(pair(), Policy, lambda net: net.send("h1", dst="h2"))
    assert kinds(result) == {"nondeterminism"}


def test_a_flood_that_never_ends() -> None:
    names = [f"s{number}" for number in range(1, 6)]
    net = sdn.Network().switches(names).hosts("h1 h2").links("h1-s1", "h2-s5")
    net.links(*(f"{a}-{b}" for a in names for b in names if a < b))

    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.packet_out(event, sdn.flood())

    text = refused(Policy, net, revisits=10, no_loop=False)
    says(text, "copies of packet 1: a flood on a cycle never ends; give max_hops")


def test_messages_from_init() -> None:
    class Policy(sdn.Controller):
        def __init__(self) -> None:
            self.net.switch("s1").install(sdn.match(), sdn.drop())

    assert "Policy.__init__ sends messages: send them in `def start(self)`" in refused(Policy)


def test_what_is_no_policy() -> None:
    def packets(net: sdn.Network) -> None:
        net.send("h1")

    for given, message in [
        (object, "is no policy: give a class derived from sdn.Controller, or sdn.os_ken"),
        (sdn.Controller(), "is no policy"),
    ]:
        with pytest.raises(TreadleError, match=message):
            sdn.explore(pair(), given, packets)
    with pytest.raises(TreadleError, match="3 is no network: make one with"):
        sdn.explore(3, sdn.Controller, packets)  # type: ignore[arg-type]
    with pytest.raises(TreadleError, match="3 sends no packets: give a function"):
        sdn.explore(pair(), sdn.Controller, 3)  # type: ignore[arg-type]
    with pytest.raises(TreadleError, match="nothing happens: send a packet with"):
        sdn.explore(pair(), sdn.Controller, no_packets)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "port"}, "unknown level 'port': choose one of switch, table, entry"),
        ({"revisits": -1}, "revisits must be a number from 0 on, not -1"),
        ({"max_hops": 0}, "max_hops must be a number from 1 on, not 0"),
        ({"properties": ["x"]}, "'x' is no property: write sdn.never"),
        ({"properties": [sdn.never("x", "h1")]}, "there is no packet 'x': the test sends 1"),
        ({"properties": [sdn.never("1", "h9")]}, "there is no host 'h9'"),
        ({"properties": [sdn.waypoint("1", "s9")]}, "there is no switch 's9'"),
        ({"properties": [sdn.isolated("h1", "h9")]}, "there is no host 'h9'"),
        ({"properties": [sdn.balanced("h1 h9")]}, "there is no host 'h9'"),
        ({"properties": [sdn.tables_agree("1", "h9")]}, "there is no host 'h9'"),
        ({"max_executionz": 1}, "unknown setting 'max_executionz': did you mean"),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TreadleError, match=message):
        sdn.explore(pair(), sdn.Controller, lambda net: net.send("h1", dst="h2"), **options)


def test_options_of_networks() -> None:
    with pytest.raises(TreadleError, match="a network has no option 'orderd'"):
        sdn.explore(sdn.Network(orderd=True), sdn.Controller, no_packets)
    with pytest.raises(TreadleError, match="a network has no option 'timeout'"):
        sdn.program(pair(), sdn.Controller, no_packets, timeout=3)


def test_running_networks_are_not_built_any_more() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            self.net.send("h1")

    says(refused(Policy), "net.send() is for the time before a run")


def test_a_handler_that_raises_is_a_finding() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            event.switch.install(sdn.match(dst="h2"), sdn.drop())
            raise KeyError(event.packet.nothing)

    (failure,) = sdn.explore(pair(), Policy, lambda net: net.send("h1", dst="h2")).failures
    assert failure.kind == "exception"
    assert "packet 1 has no header field 'nothing': it has dst" in failure.message


# Start, and what else a controller may do


def test_start_comes_at_any_time() -> None:
    class Policy(sdn.Controller):
        def start(self) -> Iterator[Any]:
            for switch, port in self.net.path("s1", "h2"):
                switch.install(sdn.match(dst="h2"), sdn.output(port))
                yield switch.barrier()

    result = sdn.explore(
        pair(), Policy, lambda net: net.send("h1", dst="h2"), stop_on_failure=False
    )
    assert kinds(result) == {"no_black_hole"}
    assert sdn.explore(pair(), Policy, no_packets).ok


def test_events_can_be_kept_for_later() -> None:
    """The first packet waits until the second one has come."""

    class Policy(sdn.Controller):
        def __init__(self) -> None:
            self.waiting: list[sdn.Event] = []

        def packet_in(self, event: sdn.Event) -> None:
            self.waiting.append(event)
            if len(self.waiting) == 2:
                for waiting in self.waiting:
                    waiting.switch.packet_out(waiting, sdn.output(2))

    result = sdn.explore(
        hub(), Policy, two, properties=[sdn.delivered("a", "h2"), sdn.delivered("b", "h2")]
    )
    assert (result.ok, result.executions) == (True, 2)


def test_every_run_has_a_controller_of_its_own() -> None:
    made = []

    class Policy(sdn.Controller):
        def __init__(self) -> None:
            made.append(self)

        def packet_in(self, event: sdn.Event) -> None:
            event.switch.packet_out(event, sdn.drop())

    sdn.explore(triangle(), Policy, lambda net: net.send("h0"))
    assert len(made) == len(set(map(id, made))) > 1


def test_what_events_and_packets_say_of_themselves() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> None:
            assert repr(event) == "<packet-in of 1 at s1:1>"
            assert repr(event.packet) == "<packet 1>"
            assert event.packet.get("x", 3) == 3
            assert event.packet.get("dst") == event.packet.dst == "h2"
            assert (event.port, event.switch.name, event.packet.name) == (1, "s1", "1")
            event.switch.packet_out(event, sdn.drop())

    assert sdn.explore(pair(), Policy, lambda net: net.send("h1", dst="h2")).ok


def test_public_names() -> None:
    for name in sdn.__all__:
        assert getattr(sdn, name) is not None
        assert name in dir(sdn)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        sdn.nothing  # noqa: B018

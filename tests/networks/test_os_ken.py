"""os-ken applications, unmodified: what they are told, what they send, and what is refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from policies import kinds, pair

import treadle.networks as sdn
from treadle.core.errors import TreadleError

pytest.importorskip("os_ken", reason="needs the extra sdn")

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.lib.packet import arp, ethernet, ipv4, packet, tcp, udp
from os_ken.ofproto import ofproto_v1_0, ofproto_v1_3

from treadle.networks.world.frames import frame_of, openflow_header

EXAMPLES = Path(__file__).parents[2] / "examples" / "sdn"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


LEARNING = example("os_ken_learning_switch").LearningSwitch


def both_ways(net: sdn.Network) -> None:
    net.send("h1", src="h1", dst="h2")
    net.send("h2", src="h2", dst="h1")


def three(net: sdn.Network) -> None:
    both_ways(net)
    net.send("h1", src="h1", dst="h2")


@pytest.mark.parametrize(("packets", "executions"), [(both_ways, 6), (three, 236)])
def test_a_learning_switch_on_a_line(packets: Any, executions: int) -> None:
    result = sdn.explore(pair(), sdn.os_ken(LEARNING), packets)
    assert (result.ok, result.executions, result.blocked) == (True, executions, 0)


@pytest.mark.parametrize(("packets", "executions"), [(both_ways, 3), (three, 70)])
def test_handlers_that_conflict_by_their_accesses(packets: Any, executions: int) -> None:
    result = sdn.explore(pair(), sdn.os_ken(LEARNING, recorded=True), packets)
    assert (result.ok, result.executions) == (True, executions)


def test_an_instrumented_module() -> None:
    names = ("os_ken_learning_switch", "elsewhere")
    for instrument, executions in ((names, 3), (names[0], 3), (names[1], 6)):
        result = sdn.explore(pair(), sdn.os_ken(LEARNING), both_ways, instrument=instrument)
        assert (result.ok, result.executions) == (True, executions)
    with pytest.raises(TreadleError, match="instrument is for applications of os-ken"):
        sdn.explore(pair(), sdn.Controller, both_ways, instrument=names)


def test_a_learning_switch_on_a_ring() -> None:
    ring = example("os_ken_learning_switch").ring
    result = sdn.explore(ring, sdn.os_ken(LEARNING), lambda net: net.send("h1", src="h1", dst="h2"))
    assert (result.executions, kinds(result)) == (1, {"no_loop"})


class App(OSKenApp):
    """Answers packet-ins by a function that tests give."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)
    log: Any = None

    def answer(self, msg: Any, ofproto: Any, parser: Any) -> None:
        raise NotImplementedError

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev: Any) -> None:
        datapath = ev.msg.datapath
        self.answer(ev.msg, datapath.ofproto, datapath.ofproto_parser)

    def rule(self, msg: Any, parser: Any, ofproto: Any, *actions: Any, **fields: Any) -> None:
        apply = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, list(actions))]
        fields.setdefault("match", parser.OFPMatch())
        msg.datapath.send_msg(
            parser.OFPFlowMod(datapath=msg.datapath, instructions=apply, **fields)
        )

    def out(self, msg: Any, parser: Any, *actions: Any) -> None:
        msg.datapath.send_msg(
            parser.OFPPacketOut(
                datapath=msg.datapath,
                buffer_id=msg.buffer_id,
                in_port=msg.match["in_port"],
                actions=list(actions),
                data=msg.data,
            )
        )


def app(answer: Any, **members: Any) -> Any:
    """Return an application that answers like this."""
    return sdn.os_ken(type("Answering", (App,), {"answer": answer, **members}))


def hub_of_two() -> sdn.Network:
    return sdn.Network().switches("s1").hosts("h1 h2").links("h1-s1", "h2-s1")


def one(net: sdn.Network) -> None:
    net.send("h1", name="p", dst="h2")


def explored(answer: Any, packets: Any = one, net: Any = None, **options: Any) -> Any:
    members = options.pop("members", {})
    return sdn.explore(
        net or hub_of_two(), app(answer, **members), packets, stop_on_failure=False, **options
    )


def test_packet_outs() -> None:
    def forward(self: Any, msg: Any, _ofproto: Any, parser: Any) -> None:
        self.out(msg, parser, parser.OFPActionOutput(2))

    def flood(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        self.out(msg, parser, parser.OFPActionOutput(ofproto.OFPP_FLOOD))

    def back(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        self.out(msg, parser, parser.OFPActionOutput(ofproto.OFPP_IN_PORT))

    def nothing(self: Any, msg: Any, _ofproto: Any, parser: Any) -> None:
        self.out(msg, parser)

    for answer, host in ((forward, "h2"), (flood, "h2"), (back, "h1")):
        assert explored(answer, properties=[sdn.delivered("p", host)]).ok
    assert explored(nothing).ok
    assert kinds(explored(nothing, properties=[sdn.delivered("p", "h2")])) == {"delivered"}


def test_a_packet_out_by_the_table() -> None:
    def by_table(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        self.rule(msg, parser, ofproto, parser.OFPActionOutput(2), priority=1)
        self.out(msg, parser, parser.OFPActionOutput(ofproto.OFPP_TABLE))

    result = explored(by_table)
    assert (result.executions, kinds(result)) == (2, {"no_black_hole"})


def test_fields_are_rewritten() -> None:
    def rewrite(self: Any, msg: Any, _ofproto: Any, parser: Any) -> None:
        if msg.datapath.id == 1:
            change = parser.OFPActionSetField(eth_dst="00:00:00:00:00:77")
            self.out(msg, parser, change, parser.OFPActionOutput(2))
        else:
            eth = packet.Packet(msg.data).get_protocols(ethernet.ethernet)[0]
            assert eth.dst == "00:00:00:00:00:77"
            self.out(msg, parser, parser.OFPActionOutput(2))

    assert explored(rewrite, net=pair(), properties=[sdn.delivered("p", "h2")]).ok


def tables_of(answer: Any, packets: Any = one, **options: Any) -> set[Any]:
    """Return what is in the table of s1 at the end, in all executions."""
    net = hub_of_two()
    seen = set()

    @net.finally_
    def look(net: sdn.Network) -> None:
        rules = [(priority, match, tuple(actions)) for priority, match, actions in net.table("s1")]
        seen.add(tuple(rules))

    assert explored(answer, packets, net, no_black_hole=False, **options).complete
    return seen


def test_flow_mods() -> None:
    def change(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        match = parser.OFPMatch(eth_dst="00:00:00:00:00:02")
        self.rule(msg, parser, ofproto, parser.OFPActionOutput(2), match=match, priority=3)
        msg.datapath.send_barrier()
        self.rule(
            msg, parser, ofproto, parser.OFPActionOutput(1),
            command=ofproto.OFPFC_MODIFY, match=parser.OFPMatch(),
        )  # fmt: skip

    match = sdn.match(eth_dst="00:00:00:00:00:02")
    assert tables_of(change) == {((3, match, (sdn.output(1),)),)}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("priority", [3, 4])
def test_deletions(strict: bool, priority: int) -> None:
    def delete(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        match = parser.OFPMatch(eth_dst="00:00:00:00:00:02")
        self.rule(msg, parser, ofproto, parser.OFPActionOutput(2), match=match, priority=3)
        msg.datapath.send_barrier()
        self.rule(
            msg, parser, ofproto, match=match, priority=priority,
            command=ofproto.OFPFC_DELETE_STRICT if strict else ofproto.OFPFC_DELETE,
        )  # fmt: skip

    is_left = strict and priority == 4
    assert [len(table) for table in tables_of(delete)] == [int(is_left)]


def test_a_wide_deletion_and_an_addition_are_tried_in_both_orders() -> None:
    def race(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        match = parser.OFPMatch(eth_dst="00:00:00:00:00:02")
        self.rule(msg, parser, ofproto, parser.OFPActionOutput(2), match=match, priority=3)
        self.rule(msg, parser, ofproto, command=ofproto.OFPFC_DELETE)

    assert sorted(len(table) for table in tables_of(race)) == [0, 1]


def test_modify_adds_nothing() -> None:
    def modify(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        self.rule(msg, parser, ofproto, parser.OFPActionOutput(2), command=ofproto.OFPFC_MODIFY)

    assert tables_of(modify) == {()}


def test_masks() -> None:
    def masked(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        match = parser.OFPMatch(
            eth_type=0x0800, ipv4_dst=("10.0.0.0", "255.0.0.0"),
            eth_dst=("00:00:00:00:00:00", "01:00:00:00:00:00"),
        )  # fmt: skip
        self.rule(msg, parser, ofproto, parser.OFPActionOutput(2), match=match, priority=1)
        msg.datapath.send_barrier()
        self.out(msg, parser, parser.OFPActionOutput(ofproto.OFPP_TABLE))

    def in_ten(net: sdn.Network) -> None:
        net.send("h1", name="p", dst="h2", ipv4_dst="10.1.2.3")

    def in_eleven(net: sdn.Network) -> None:
        net.send("h1", name="p", dst="h2", ipv4_dst="11.1.2.3")

    assert explored(masked, in_ten, properties=[sdn.delivered("p", "h2")]).ok
    assert kinds(explored(masked, in_eleven)) == {"no_black_hole"}


# What applications are told


def test_barrier_replies() -> None:
    module = example("os_ken_load_balancer")
    for policy, failing in ((module.Hasty, {"balanced"}), (module.Patient, set())):
        result = sdn.explore(
            module.net,
            sdn.os_ken(policy),
            lambda net: net.send("h1", dst=module.VIRTUAL, count=2),
            properties=module.balanced,
            stop_on_failure=False,
        )
        assert kinds(result) == failing


class Notified(App):
    """Deletes its rule, and hears of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gone: list[Any] = []

    def answer(self, msg: Any, ofproto: Any, parser: Any) -> None:
        match = parser.OFPMatch(eth_dst="00:00:00:00:00:02")
        self.rule(
            msg, parser, ofproto, parser.OFPActionOutput(2), match=match, priority=7,
            flags=ofproto.OFPFF_SEND_FLOW_REM,
        )  # fmt: skip
        msg.datapath.send_barrier()
        self.rule(msg, parser, ofproto, match=match, command=ofproto.OFPFC_DELETE)

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)
    def removed(self, ev: Any) -> None:
        assert ev.msg.datapath.id == 1
        self.gone.append((ev.msg.priority, ev.msg.match["eth_dst"]))


def test_flow_removed() -> None:
    net = hub_of_two()

    @net.finally_
    def told(net: sdn.Network) -> None:
        application: Any = net.controller
        assert application.instance.gone == [(7, "00:00:00:00:00:02")]

    assert sdn.explore(net, sdn.os_ken(Notified), one).ok


class Ports(App):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.down: set[tuple[int, int]] = set()

    def answer(self, msg: Any, ofproto: Any, parser: Any) -> None:
        self.out(msg, parser)

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    def port_status(self, ev: Any) -> None:
        msg = ev.msg
        assert msg.reason == msg.datapath.ofproto.OFPPR_MODIFY
        assert msg.desc.state & msg.datapath.ofproto.OFPPS_LINK_DOWN
        self.down.add((msg.datapath.id, msg.desc.port_no))


def test_port_status() -> None:
    net = pair()

    @net.finally_
    def told(net: sdn.Network) -> None:
        application: Any = net.controller
        assert application.instance.down == {(1, 2), (2, 1)}

    def failing(net: sdn.Network) -> None:
        net.fails("s1-s2")
        net.send("h1", dst="h2")

    assert sdn.explore(net, sdn.os_ken(Ports), failing).ok


class Connecting(App):
    """Installs a rule when a switch connects."""

    def answer(self, msg: Any, ofproto: Any, parser: Any) -> None:
        self.out(msg, parser)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev: Any) -> None:
        datapath = ev.msg.datapath
        self.rule(
            ev.msg, datapath.ofproto_parser, datapath.ofproto,
            datapath.ofproto_parser.OFPActionOutput(2), priority=1,
        )  # fmt: skip
        assert ev.msg.datapath_id == datapath.id
        assert repr(datapath) == "<datapath s1>"


def test_switches_are_connected_before_or_meanwhile() -> None:
    arrives = [sdn.delivered("p", "h2")]
    before = sdn.explore(hub_of_two(), sdn.os_ken(Connecting), one, properties=arrives)
    assert (before.ok, before.executions) == (True, 1)
    meanwhile = sdn.explore(
        hub_of_two(),
        sdn.os_ken(Connecting, connected=False),
        one,
        properties=arrives,
        stop_on_failure=False,
    )
    assert (meanwhile.executions, kinds(meanwhile)) == (3, {"delivered"})


# What is refused, by name


@pytest.mark.parametrize(
    ("send", "name"),
    [
        (lambda d, p, o: p.OFPGroupMod(d, o.OFPGC_ADD, o.OFPGT_ALL, 1, []), "OFPGroupMod"),
        (lambda d, p, o: p.OFPMeterMod(d, o.OFPMC_ADD, 0, 1, []), "OFPMeterMod"),
        (lambda d, p, _: p.OFPFlowStatsRequest(d), "OFPFlowStatsRequest"),
        (
            lambda d, p, _: p.OFPFlowMod(d, instructions=[p.OFPInstructionGotoTable(1)]),
            "OFPInstructionGotoTable",
        ),
        (
            lambda d, p, _: p.OFPFlowMod(d, instructions=[p.OFPInstructionMeter(1)]),
            "OFPInstructionMeter",
        ),
        (lambda d, p, _: p.OFPFlowMod(d, table_id=3), "table 3"),
        (
            lambda d, p, o: p.OFPFlowMod(
                d,
                instructions=[
                    p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, [p.OFPActionGroup(1)])
                ],
            ),
            "OFPActionGroup",
        ),
        (
            lambda d, p, o: p.OFPPacketOut(
                d, o.OFP_NO_BUFFER, 1, [p.OFPActionOutput(2)], b"made up"
            ),
            "a packet-out of a packet that no switch has sent to it",
        ),
    ],
)
def test_what_is_refused(send: Any, name: str) -> None:
    def answer(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        del self
        msg.datapath.send_msg(send(msg.datapath, parser, ofproto))

    with pytest.raises(TreadleError) as error:
        explored(answer)
    text = str(error.value)
    assert text.startswith(f"Answering uses {name}, which networks do not have")
    assert "test_os_ken.py:" in text
    assert "\n" not in text


def test_ports_that_are_refused() -> None:
    def normal(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        self.out(msg, parser, parser.OFPActionOutput(ofproto.OFPP_NORMAL))

    def unknown(self: Any, msg: Any, _ofproto: Any, parser: Any) -> None:
        self.out(msg, parser, parser.OFPActionOutput(9))

    with pytest.raises(TreadleError, match="Answering uses the port 0xfffffffa"):
        explored(normal)
    with pytest.raises(TreadleError, match="s1 has no port 9: its ports are 1, 2"):
        explored(unknown)


def test_other_messages_change_nothing() -> None:
    def configure(self: Any, msg: Any, _ofproto: Any, parser: Any) -> None:
        msg.datapath.send_msg(parser.OFPSetConfig(msg.datapath, 0, 128))
        self.out(msg, parser)

    assert explored(configure).ok


@pytest.mark.parametrize("name", ["spawn", "sleep"])
def test_clocks_and_threads(name: str) -> None:
    def wait(self: Any, msg: Any, ofproto: Any, parser: Any) -> None:
        del self, msg, ofproto, parser
        getattr(hub, name)(1)

    original = getattr(hub, name)
    with pytest.raises(TreadleError, match=rf"Answering calls hub.{name}\(\), which needs a clock"):
        explored(wait)
    assert getattr(hub, name) is original


def test_what_is_no_application() -> None:
    for given in (object, 3, App(None)):
        with pytest.raises(TreadleError, match="is no os-ken application: give a class derived"):
            sdn.os_ken(given)
    contextual = type("Contextual", (App,), {"_CONTEXTS": {"dpset": object}})
    with pytest.raises(TreadleError, match="Contextual asks for the contexts dpset"):
        sdn.os_ken(contextual)
    old = sdn.os_ken(type("Old", (App,), {"OFP_VERSIONS": [ofproto_v1_0.OFP_VERSION]}))
    with pytest.raises(TreadleError, match=r"Old does not speak OpenFlow 1\.3"):
        sdn.explore(hub_of_two(), old, one)


def test_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "os_ken.base.app_manager", None)
    with pytest.raises(TreadleError, match=r"install the extra with pip install 'treadle\[sdn\]'"):
        sdn.os_ken(App)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(TreadleError, match=r"need networkx: install the extra .*treadle\[sdn\]"):
        pair().path("s1", "h2")


def test_state_in_the_class_of_an_application() -> None:
    class Counting(App):
        calls: list[int] = []  # noqa: RUF012 (the mistake)

        def answer(self, msg: Any, ofproto: Any, parser: Any) -> None:
            self.calls.append(1)
            self.out(msg, parser)

    with pytest.raises(TreadleError, match="Counting keeps state in its class"):
        sdn.explore(hub_of_two(), sdn.os_ken(Counting), one)


# Frames


def test_frames_have_what_headers_say() -> None:
    net = hub_of_two()
    header = openflow_header(net, "h1", (("dst", "h2"), ("proto", "ssh")))
    fields = dict(header)
    assert fields["eth_src"] == "00:00:00:00:00:01"
    assert fields["eth_dst"] == "00:00:00:00:00:02"
    assert (fields["eth_type"], fields["ip_proto"], fields["tcp_dst"]) == (0x0800, 6, 22)
    parsed = packet.Packet(frame_of("p", header))
    assert parsed.get_protocol(ethernet.ethernet).dst == "00:00:00:00:00:02"
    assert parsed.get_protocol(ipv4.ipv4).dst == "10.0.0.2"
    assert parsed.get_protocol(tcp.tcp).dst_port == 22
    assert frame_of("q", header) != frame_of("p", header)


@pytest.mark.parametrize(
    ("header", "kind", "expected"),
    [
        ({"udp_dst": 53}, udp.udp, {"dst_port": 53}),
        ({"ipv4_src": "10.9.9.9"}, ipv4.ipv4, {"src": "10.9.9.9"}),
        ({"arp_tpa": "10.0.0.7"}, arp.arp, {"dst_ip": "10.0.0.7"}),
        ({"dst": "00:00:00:00:00:77"}, ethernet.ethernet, {"dst": "00:00:00:00:00:77"}),
        ({"dst": "vip"}, ethernet.ethernet, {"ethertype": 0x88B5}),
        ({}, ethernet.ethernet, {"dst": "ff:ff:ff:ff:ff:ff"}),
    ],
)
def test_protocols(header: dict[str, Any], kind: Any, expected: dict[str, Any]) -> None:
    made = openflow_header(hub_of_two(), "h1", tuple(sorted(header.items())))
    found = packet.Packet(frame_of("p", made)).get_protocol(kind)
    assert {name: getattr(found, name) for name in expected} == expected

"""A load balancer for os-ken: one address, two servers behind a second switch.

The first switch rewrites the address, the second one forwards by the new one. The patient version
sends the packet on when the second switch has answered a barrier request.

    treadle run examples/sdn/os_ken_load_balancer.py::test_hasty      # packets that are lost
    treadle run examples/sdn/os_ken_load_balancer.py::test_patient
"""

from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

import treadle.networks as sdn

VIRTUAL = "00:00:00:00:00:aa"
SERVERS = (("00:00:00:00:00:02", 2), ("00:00:00:00:00:03", 3))
"""Addresses, and their ports at the second switch."""


class Hasty(OSKenApp):
    """Tells both switches, and sends the packet on at once."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.turn = 0
        self.datapaths: dict[int, Any] = {}
        self.waiting: list[tuple[Any, list[Any]]] = []

    @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)
    def connected(self, ev: Any) -> None:
        """Remember the switches."""
        self.datapaths[ev.datapath.id] = ev.datapath

    def rule(self, datapath: Any, match: Any, actions: list[Any]) -> None:
        """Install a rule."""
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        instructions = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(datapath=datapath, priority=1, match=match, instructions=instructions)
        )

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev: Any) -> None:
        """Choose a server for whoever asks at the first switch."""
        msg = ev.msg
        if msg.datapath.id != 1:
            self.send_on(msg, [])  # nobody knows the way
            return
        parser = msg.datapath.ofproto_parser
        address, port = SERVERS[self.turn % len(SERVERS)]
        self.turn += 1
        second = self.datapaths[2]
        self.rule(second, parser.OFPMatch(eth_dst=address), [parser.OFPActionOutput(port)])
        actions = [parser.OFPActionSetField(eth_dst=address), parser.OFPActionOutput(2)]
        self.chosen(msg, actions)

    def chosen(self, msg: Any, actions: list[Any]) -> None:
        """Send the packet on."""
        self.send_on(msg, actions)

    def send_on(self, msg: Any, actions: list[Any]) -> None:
        """Send a packet on."""
        parser = msg.datapath.ofproto_parser
        msg.datapath.send_msg(
            parser.OFPPacketOut(
                datapath=msg.datapath,
                buffer_id=msg.buffer_id,
                in_port=msg.match["in_port"],
                actions=actions,
                data=msg.data,
            )
        )


class Patient(Hasty):
    """Waits for the second switch."""

    def chosen(self, msg: Any, actions: list[Any]) -> None:
        """Ask the second switch for a reply when it is done."""
        second = self.datapaths[2]
        self.waiting.append((msg, actions))
        second.send_msg(second.ofproto_parser.OFPBarrierRequest(second))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def replied(self, ev: Any) -> None:
        """Send on what has waited longest."""
        del ev
        self.send_on(*self.waiting.pop(0))


net = sdn.Network().switches("s1 s2").hosts("h1 web1 web2")
net.links("h1-s1", "s1-s2", "web1-s2:2", "web2-s2:3")
balanced = [sdn.balanced("web1 web2", by=0)]


@sdn.check(net, sdn.os_ken(Hasty), properties=balanced)
def test_hasty(net: sdn.Network) -> None:
    net.send("h1", dst=VIRTUAL, count=2)


@sdn.check(net, sdn.os_ken(Patient), properties=balanced)
def test_patient(net: sdn.Network) -> None:
    net.send("h1", dst=VIRTUAL, count=2)

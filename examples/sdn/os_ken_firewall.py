"""A firewall for os-ken: h3 must not speak to h1; everything else is forwarded by destination.

The rule that drops is sent when a switch connects. If packets are under way by then, one can slip
through: the rule that forwards may be there first.

    treadle run examples/sdn/os_ken_firewall.py::test_connected
    treadle run examples/sdn/os_ken_firewall.py::test_while_connecting
"""

from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

import treadle.networks as sdn

BLOCKED = ("00:00:00:00:00:03", "00:00:00:00:00:01")
PORTS = {"00:00:00:00:00:01": 1, "00:00:00:00:00:02": 2, "00:00:00:00:00:03": 3}


class Firewall(OSKenApp):
    """Drops what is blocked, with priority, and forwards by a fixed table of ports."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def rule(self, datapath: Any, priority: int, match: Any, actions: list[Any]) -> None:
        """Install a rule; without actions it drops."""
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        apply = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(
                datapath=datapath,
                priority=priority,
                match=match,
                instructions=apply if actions else [],
            )
        )

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, ev: Any) -> None:
        """Block."""
        datapath = ev.msg.datapath
        source, target = BLOCKED
        match = datapath.ofproto_parser.OFPMatch(eth_src=source, eth_dst=target)
        self.rule(datapath, 10, match, [])

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev: Any) -> None:
        """Forward by destination."""
        msg = ev.msg
        datapath, parser = msg.datapath, msg.datapath.ofproto_parser
        eth = packet.Packet(msg.data).get_protocols(ethernet.ethernet)[0]
        actions = [parser.OFPActionOutput(PORTS[eth.dst])]
        self.rule(datapath, 1, parser.OFPMatch(eth_dst=eth.dst), actions)
        if (eth.src, eth.dst) != BLOCKED:
            datapath.send_msg(
                parser.OFPPacketOut(
                    datapath=datapath,
                    buffer_id=msg.buffer_id,
                    in_port=msg.match["in_port"],
                    actions=actions,
                    data=msg.data,
                )
            )


net = sdn.Network().switches("s1").hosts("h1 h2 h3").links("h1-s1", "h2-s1", "h3-s1")
wanted = [sdn.never("bad", "h1"), sdn.delivered("good", "h1")]


def packets(net: sdn.Network) -> None:
    net.send("h2", name="good", src="h2", dst="h1")
    net.send("h3", name="bad", src="h3", dst="h1")


@sdn.check(net, sdn.os_ken(Firewall), properties=wanted)
def test_connected(net: sdn.Network) -> None:
    packets(net)


@sdn.check(net, sdn.os_ken(Firewall, connected=False), properties=wanted)
def test_while_connecting(net: sdn.Network) -> None:
    packets(net)

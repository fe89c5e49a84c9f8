"""A learning switch for os-ken, in the usual form: flood what is unknown, install what is known.

The class is what one would deploy. It is fine on a line of switches; on a ring it floods for ever.

    treadle run examples/sdn/os_ken_learning_switch.py::test_line
    treadle run examples/sdn/os_ken_learning_switch.py::test_ring
"""

from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

import treadle.networks as sdn


class LearningSwitch(OSKenApp):
    """Learns through which port each address can be reached."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.mac_to_port: dict[int, dict[str, int]] = {}

    def add_flow(self, datapath: Any, priority: int, match: Any, actions: list[Any]) -> None:
        """Install a rule."""
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        instructions = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(
                datapath=datapath, priority=priority, match=match, instructions=instructions
            )
        )

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_features_handler(self, ev: Any) -> None:
        """Ask for every packet without a better rule."""
        datapath = ev.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        to_us = [parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)]
        self.add_flow(datapath, 0, parser.OFPMatch(), to_us)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in_handler(self, ev: Any) -> None:
        """Learn where the packet came from, and send it on."""
        msg = ev.msg
        datapath, in_port = msg.datapath, msg.match["in_port"]
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        eth = packet.Packet(msg.data).get_protocols(ethernet.ethernet)[0]
        ports = self.mac_to_port.setdefault(datapath.id, {})
        ports[eth.src] = in_port
        out_port = ports.get(eth.dst, ofproto.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        if out_port != ofproto.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=in_port, eth_dst=eth.dst, eth_src=eth.src)
            self.add_flow(datapath, 1, match, actions)
        data = msg.data if msg.buffer_id == ofproto.OFP_NO_BUFFER else None
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath,
                buffer_id=msg.buffer_id,
                in_port=in_port,
                actions=actions,
                data=data,
            )
        )


line = sdn.Network().switches("s1 s2").hosts("h1 h2").links("h1-s1", "s1-s2", "s2-h2")
ring = sdn.Network().switches("s1 s2 s3").hosts("h1 h2")
ring.links("h1-s1", "h2-s2", "s1-s2", "s2-s3", "s3-s1")


@sdn.check(line, sdn.os_ken(LearningSwitch))
def test_line(net: sdn.Network) -> None:
    net.send("h1", src="h1", dst="h2")
    net.send("h2", src="h2", dst="h1")


@sdn.check(ring, sdn.os_ken(LearningSwitch))
def test_ring(net: sdn.Network) -> None:
    net.send("h1", src="h1", dst="h2")

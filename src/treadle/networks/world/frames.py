"""Packets as bytes: frames that an application parses, and headers in the names of OpenFlow."""

from __future__ import annotations

import functools
import re
from typing import Any

from treadle.networks.world.matching import Header
from treadle.networks.world.network import Network

_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
_IPV4, _IPV6, _ARP = 0x0800, 0x86DD, 0x0806
_EXPERIMENTAL = 0x88B5
"""The type of frames of which only the addresses are said."""
_PROTOCOLS: dict[Any, dict[str, int]] = {
    "icmp": {"ip_proto": 1},
    "tcp": {"ip_proto": 6},
    "udp": {"ip_proto": 17},
    "ssh": {"ip_proto": 6, "tcp_dst": 22},
    "http": {"ip_proto": 6, "tcp_dst": 80},
    "web": {"ip_proto": 6, "tcp_dst": 80},
}


def mac_of(net: Network, host: str) -> str:
    """Return the address of a host: they are numbered."""
    high, low = divmod(net.host_names.index(host), 255)
    return f"00:00:00:00:{high:02x}:{low + 1:02x}"


def openflow_header(net: Network, sender: str, header: Header) -> Header:
    """Return a header in the names of OpenFlow; short names and hosts stand for addresses."""
    fields = dict(header)
    for short, long in (("src", "eth_src"), ("dst", "eth_dst")):
        if short in fields:
            fields[long] = _address(net, fields.pop(short))
    fields.update(_PROTOCOLS.get(fields.pop("proto", None), {}))
    fields.setdefault("eth_src", mac_of(net, sender))
    fields.setdefault("eth_dst", "ff:ff:ff:ff:ff:ff")
    if any(name.startswith("tcp_") for name in fields):
        fields.setdefault("ip_proto", 6)
    if any(name.startswith("udp_") for name in fields):
        fields.setdefault("ip_proto", 17)
    fields.setdefault("eth_type", _type_of(fields))
    if fields["eth_type"] == _IPV4:
        fields.setdefault("ipv4_src", "10.0.0.1")
        fields.setdefault("ipv4_dst", "10.0.0.2")
    return tuple(sorted(fields.items()))


def _type_of(fields: dict[str, Any]) -> int:
    if any(name.startswith("ipv6_") for name in fields):
        return _IPV6
    if any(name.startswith("arp_") for name in fields):
        return _ARP
    is_ip = "ip_proto" in fields or any(name.startswith("ipv4_") for name in fields)
    return _IPV4 if is_ip else _EXPERIMENTAL


def _address(net: Network, value: Any) -> str:
    if value in net.host_names:
        return mac_of(net, value)
    if isinstance(value, str) and _MAC.fullmatch(value):
        return value
    number = sum(map(ord, str(value))) % 0xFFFF  # any name: an address that no host has
    return f"02:00:00:00:{number >> 8:02x}:{number & 0xFF:02x}"


@functools.lru_cache(maxsize=10_000)
def frame_of(name: str, header: Header) -> bytes:
    """Return the bytes of a packet; its name is its content."""
    from os_ken.lib.packet import arp, ethernet, ipv4, packet, tcp, udp

    fields = dict(header)
    made = packet.Packet()
    made.add_protocol(ethernet.ethernet(fields["eth_dst"], fields["eth_src"], fields["eth_type"]))
    if fields["eth_type"] == _ARP:
        made.add_protocol(
            arp.arp(
                opcode=fields.get("arp_op", 1),
                src_mac=fields["eth_src"],
                src_ip=fields.get("arp_spa", "10.0.0.1"),
                dst_ip=fields.get("arp_tpa", "10.0.0.2"),
            )
        )
    if fields["eth_type"] == _IPV4:
        protocol = fields.get("ip_proto", 253)
        made.add_protocol(ipv4.ipv4(src=fields["ipv4_src"], dst=fields["ipv4_dst"], proto=protocol))
        if protocol == 6:
            made.add_protocol(tcp.tcp(fields.get("tcp_src", 1024), fields.get("tcp_dst", 80)))
        elif protocol == 17:
            made.add_protocol(udp.udp(fields.get("udp_src", 1024), fields.get("udp_dst", 53)))
    made.add_protocol(name.encode())
    made.serialize()
    return bytes(made.data)

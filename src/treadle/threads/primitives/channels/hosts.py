"""Names of hosts: this one is known, so that nobody asks the network for it."""

from __future__ import annotations

import os
import socket
from typing import Any

from treadle.python.accesses.outside_modules import NOT_SEEN
from treadle.python.runtime import control
from treadle.python.runtime.escapes import escapes
from treadle.threads.primitives.channels.listening import LOOPBACK
from treadle.threads.primitives.outside.world import concerns_program
from treadle.threads.primitives.patches import Patches

_SIX = {"127.0.0.1": "::1", "0.0.0.0": "::"}


def _addresses(
    host: Any,
    port: Any,
    family: int = 0,
    type: int = 0,  # noqa: A002 - so it is called
    *rest: int,
    **more: int,
) -> Any:
    """`socket.getaddrinfo`: this host has one address."""
    if control.current() is None or not concerns_program():
        return _original_addresses(host, port, family, type, *rest, **more)
    proto = rest[0] if rest else more.get("proto", 0)
    flags = rest[1] if len(rest) > 1 else more.get("flags", 0)
    name = os.fsdecode(host) if host is not None else ""
    if host is None and not flags & socket.AI_PASSIVE:
        name = "localhost"
    if name not in LOOPBACK:
        escapes.add(NOT_SEEN.format("names of hosts"), "socket.getaddrinfo")
        return _original_addresses(host, port, family, type, *rest, **more)
    number = _port(port)
    address = LOOPBACK[name]
    is_six = ":" in address or family == socket.AF_INET6
    home = socket.AF_INET6 if is_six else socket.AF_INET
    where = (_SIX.get(address, address), number, 0, 0) if is_six else (address, number)
    kind = socket.SocketKind(type or socket.SOCK_STREAM)
    return [(home, kind, proto or socket.IPPROTO_TCP, "", where)]


def _port(port: Any) -> int:
    """Return the number of a port, which may be given by the name of a service."""
    if not isinstance(port, str | bytes):
        return port or 0
    text = os.fsdecode(port)
    return int(text) if text.isdigit() else socket.getservbyname(text)


def _full_name(name: str = "") -> str:
    """`socket.getfqdn`."""
    if control.current() is not None and name in LOOPBACK:
        return "localhost"
    return str(_original_full_name(name))


def _address(hostname: str) -> str:
    """`socket.gethostbyname`."""
    if control.current() is not None and hostname in LOOPBACK:
        return LOOPBACK[hostname]
    return str(_original_address(hostname))


_original_addresses: Any = socket.getaddrinfo
_original_full_name: Any = socket.getfqdn
_original_address: Any = socket.gethostbyname

PATCHES: Patches = Patches(
    references=[
        (socket.getaddrinfo, _addresses),
        (socket.getfqdn, _full_name),
        (socket.gethostbyname, _address),
    ]
)

"""Messages under way: each is a process of the model kit that waits for its turn, and is one step.

What the steps do is said in `semantics`; the names in parentheses are those of the thesis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treadle.model.operations import Operation
from treadle.networks.world.controller import FlowMod, PacketOut
from treadle.networks.world.matching import Actions, Header
from treadle.networks.world.packets import Copy
from treadle.networks.world.waiting import All

Process = Iterator[Operation | None]


def send(s: Any, packet: str) -> Process:
    """Give a host's packet to its switch (si)."""
    yield None
    s._run.world.send(packet)


def packet(
    s: Any, copy: tuple[Any, ...], switch: str, port: int, after: tuple[int, ...]
) -> Process:
    """Handle a packet in a switch (shp)."""
    yield All.of(s._run, after)
    s._run.world.packet(Copy(*copy), switch, port)


def deliver(s: Any, copy: tuple[Any, ...], host: str, after: tuple[int, ...]) -> Process:
    """Let a packet arrive (hhp)."""
    yield All.of(s._run, after)
    s._run.world.deliver(Copy(*copy), host)


def packet_in(s: Any, copy: tuple[Any, ...], switch: str, port: int) -> Process:
    """Ask the controller about a packet (chm)."""
    yield None
    yield from s._run.world.packet_in(Copy(*copy), switch, port)


def start(s: Any) -> Process:
    """Let the controller begin."""
    yield None
    yield from s._run.world.handled(s._run.world.controller.start)


def flow_mod(s: Any, switch: str, message: tuple[Any, ...], after: tuple[int, ...]) -> Process:
    """Change the table of a switch (shm)."""
    yield All.of(s._run, after)
    s._run.world.flow_mod(FlowMod(switch, *message))


def packet_out(
    s: Any,
    switch: str,
    copy: tuple[Any, ...],
    port: int,
    actions: Actions | None,
    is_buffered: bool,
    after: tuple[int, ...],
) -> Process:
    """Let a packet go that the controller was asked about (so)."""
    yield All.of(s._run, after)
    s._run.world.packet_out(PacketOut(switch, Copy(*copy), port, actions, is_buffered))


def barrier(s: Any, switch: str, earlier: tuple[int, ...]) -> Process:
    """Wait until a switch has done what it was told before."""
    for number in earlier:
        yield All.of(s._run, (number,))
        s._run.world.finished(switch, number)


def reply(s: Any, switch: str, earlier: tuple[int, ...]) -> Process:
    """Tell the controller that a switch has done what it was told before a barrier."""
    yield All.of(s._run, earlier)
    yield from s._run.world.handled(s._run.world.controller.barrier_reply, switch)


def removed(s: Any, switch: str, match: Header, priority: int) -> Process:
    """Tell the controller that a rule is gone."""
    yield None
    yield from s._run.world.handled(s._run.world.controller.flow_removed, switch, match, priority)


def fail(s: Any, link: tuple[str, str]) -> Process:
    """Let a link go down."""
    yield None
    s._run.world.fail(*link)


def port_status(s: Any, switch: str, port: int) -> Process:
    """Tell the controller that a link went down."""
    yield None
    yield from s._run.world.handled(s._run.world.controller.port_status, switch, port, False)


def choice(s: Any, copy: tuple[Any, ...], switch: str, port: int, actions: Actions) -> Process:
    """Be the first of several contradicting rules that is chosen."""
    yield None
    s._run.world.choose(Copy(*copy), switch, port, actions)


HANDLERS = (packet_in, start, reply, removed, port_status)
"""The processes that run code of the controller."""

"""The load balancer with the controller of figure 7 of the article on SDN-Actors, task by task.

A guided tour. Each task of the paper's actors is a process here, under its name there:
`init_conf`, `sendIn`, `switchHandlePacket`, `controlHandleMessage`, `switchHandleMessage`,
`sendOut` and `hostHandlePacket`. A barrier is no message but a matter of the controller: it keeps
the futures of what each switch was told (`barrierMap`), sends nothing to a switch as long as some
task waits for that one's futures (`barrierOn`), and waits for them one by one.

`await f?` always gives way, `await` of a condition only if that does not hold. So, in the order of
the paper's tool (oldest task first, one that gives way going to the end of the queue), P packets
are 12P - 1 tasks: what figure 9 prints as states of LBB. That this is the only execution is what
the paper's tool is told: two tasks of the controller are declared independent there. They are not:
they take turns, and wait for each other. Treadle checks such declarations, so here they count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treadle.model import Program

Process = Iterator[Any]

_PATHS = ((("s1", "s2"), ("s2", "r1")), (("s1", "s3"), ("s3", "r2")))
"""From s1 to the replicas: switches, and where a packet goes from there."""
_SWITCHES = ("s1", "s2", "s3")


def program(packets: int) -> Program:
    """Return the program for a number of packets, each from a host of its own."""
    entries = {(switch, p): "" for switch in _SWITCHES for p in range(packets)}
    made = Program(
        f"lbb7({packets})",
        turn=0,
        flowT=entries,
        barrierOn=dict.fromkeys(_SWITCHES, False),
        barrierMap=dict.fromkeys(_SWITCHES, ()),
    )
    made.process(_init_conf, packets, name="init_conf")
    return made


def _init_conf(s: Any, packets: int) -> Process:
    yield
    for p in range(packets):
        s.spawn(_send_in, p, name=f"sendIn({p})")


def _send_in(s: Any, p: int) -> Process:
    yield
    s.spawn(_switch_handle_packet, "s1", p, name=f"s1!switchHandlePacket({p})")


def _switch_handle_packet(s: Any, switch: str, p: int) -> Process:
    yield
    if not _forward(s, switch, p):
        s.spawn(_control_handle_message, switch, p, name=f"controlHandleMessage({switch}, {p})")


def _send_out(s: Any, switch: str, p: int) -> Process:
    yield
    assert _forward(s, switch, p), f"packet {p} is dropped at {switch}"


def _forward(s: Any, switch: str, p: int) -> bool:
    """Do what the switch's table says about a packet, if it does."""
    to = s.flowT[switch, p]
    if to in _SWITCHES:
        s.spawn(_switch_handle_packet, to, p, name=f"{to}!switchHandlePacket({p})")
    elif to:
        s.spawn(_host_handle_packet, name=f"{to}!hostHandlePacket({p})")
    return bool(to)


def _host_handle_packet(s: Any) -> Process:
    del s  # the packet is consumed
    yield


def _switch_handle_message(s: Any, switch: str, p: int, to: str) -> Process:
    yield
    s.flowT[switch, p] = to


def _control_handle_message(s: Any, sid: str, p: int) -> Process:
    yield
    path = _PATHS[s.turn % 2]  # applyPolicy
    s.turn += 1
    for s1, to in path:
        yield from _barrier_wait(s, s1)
        name = f"{s1}!switchHandleMessage({p})"
        _put_add(s, s1, s.spawn(_switch_handle_message, s1, p, to, name=name))
    for s1, _ in path:
        yield from _barrier_wait(s, s1)
        yield from _barrier_request(s, s1)
    yield from _barrier_wait(s, sid)
    _put_add(s, sid, s.spawn(_send_out, sid, p, name=f"{sid}!sendOut({p})"))


def _put_add(s: Any, switch: str, future: Any) -> None:
    s.barrierMap[switch] += (future,)


def _barrier_wait(s: Any, switch: str) -> Process:
    if s.barrierOn[switch]:
        yield s.until(lambda: not s.barrierOn[switch])


def _barrier_request(s: Any, switch: str) -> Process:
    s.barrierOn[switch] = True
    futures, s.barrierMap[switch] = s.barrierMap[switch], ()
    for future in futures:
        yield s.join(future)
    s.barrierOn[switch] = False

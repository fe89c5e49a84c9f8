"""A network as a picture: nodes on a circle, links with ports, and flow tables (SVG)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.failure import Failure
from treadle.core.happens_before import Trace
from treadle.findings.replay import follow
from treadle.networks.world.matching import Actions
from treadle.networks.world.topology import Topology
from treadle.networks.world.words import Key, rule_in_words

Tables = Mapping[str, list[tuple[Key, Actions]]]
_SIZE, _RADIUS, _LINE = 720, 240, 14


def tables_after(failure: Failure, step: int | None = None) -> Tables:
    """Return the flow tables after a step of a failing execution, which is run again for that."""
    program: Any = failure.test() if callable(failure.test) else failure.test
    if getattr(program, "front_end", "") != "networks":
        raise TreadleError("only a failure of a network has flow tables to draw")
    length = len(failure.schedule) if step is None else step + 1
    run: Any = follow(
        program, failure.schedule.upto(length), detail=False, trace=Trace(program.vocabulary)
    )
    tables = {name: run.world.rules(name) for name in run.world.net.switch_names}
    run.drop()
    return tables


def picture(net: Topology, tables: Tables) -> str:
    """Return the network as SVG."""
    nodes = [*net.switch_names, *net.host_names]
    places = {name: _place(at, len(nodes)) for at, name in enumerate(nodes)}
    parts = [_link(places, node, port, peer) for node, port, peer in _links(net)]
    parts += [_node(places[name], name, name in net.switch_names) for name in nodes]
    for name, rules in tables.items():
        parts += _table(net, places[name], name, rules)
    size = f'width="{_SIZE}" height="{_SIZE}" viewBox="0 0 {_SIZE} {_SIZE}"'
    style = 'font-family="sans-serif" font-size="12"'
    body = "".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{body}</svg>'


def _place(at: int, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * at / count - math.pi / 2
    return _SIZE / 2 + _RADIUS * math.cos(angle), _SIZE / 2 + _RADIUS * math.sin(angle)


def _links(net: Topology) -> list[tuple[str, int, Any]]:
    """Return each link once."""
    return [
        (node, port, peer)
        for node, ports in net.ports.items()
        for port, peer in ports.items()
        if (node, port) < (peer.node, peer.port)
    ]


def _link(places: Mapping[str, tuple[float, float]], node: str, port: int, peer: Any) -> str:
    (x1, y1), (x2, y2) = places[node], places[peer.node]
    line = f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="gray"/>'
    ends = ((x1, y1, x2, y2, port), (x2, y2, x1, y1, peer.port))
    marks = [_text(x + (u - x) / 5, y + (v - y) / 5, str(number)) for x, y, u, v, number in ends]
    return line + "".join(marks)


def _node(place: tuple[float, float], name: str, is_switch: bool) -> str:
    x, y = place
    shape = (
        f'<rect x="{x - 24:.0f}" y="{y - 14:.0f}" width="48" height="28" fill="lightblue"/>'
        if is_switch
        else f'<circle cx="{x:.0f}" cy="{y:.0f}" r="18" fill="lightyellow" stroke="gray"/>'
    )
    return shape + _text(x, y + 4, name)


def _table(net: Topology, place: tuple[float, float], name: str, rules: Any) -> list[str]:
    x, y = place
    return [
        _text(x, y + 30 + _LINE * at, f"{key[0]}: {rule_in_words(net, name, key[1], actions)}")
        for at, (key, actions) in enumerate(rules)
    ]


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{escape(text)}</text>'

"""A network as a picture, and what is written at its nodes: flow tables, at one moment."""

from __future__ import annotations

import math

from treadle.report.html.lanes import Json
from treadle.report.html.markup import Markup, tag

_WIDTH, _RADIUS, _MARGIN = 440, 130, 46


def network(graph: Json) -> Markup:
    """Return the picture of a network, and a list of its tables as they are in the beginning."""
    tables = dict(graph["tables"])
    rows = [
        tag("div", tag("dt", name), tag("dd", tables.get(name) or "empty"), data_node=name)
        for name, kind in graph["nodes"]
        if kind == "switch"
    ]
    return tag(
        "figure",
        _picture(graph),
        tag("figcaption", "Flow tables after the selected step"),
        tag("dl", rows, class_="tables"),
        class_="network",
    )


def _picture(graph: Json) -> Markup:
    names = round_about(graph)
    height = 2 * (_RADIUS + _MARGIN)
    places = {name: _place(at, len(names), height) for at, name in enumerate(names)}
    words = f"A network of {len(names)} nodes"
    return tag(
        "svg",
        tag("title", words),
        [_edge(places, *edge) for edge in graph["edges"]],
        [_node(places[name], name, kind) for name, kind in graph["nodes"]],
        xmlns="http://www.w3.org/2000/svg",
        class_="graph",
        role="img",
        aria_label=words,
        viewBox=f"0 0 {_WIDTH} {height}",
    )


def round_about(graph: Json) -> list[str]:
    """Return the nodes in the order of the picture: hosts beside the switch that they are at.

    >>> round_about({
    ...     "nodes": [["s1", "switch"], ["s2", "switch"], ["h2", "host"], ["h1", "host"]],
    ...     "edges": [["h1", "s1", "1", "1"], ["s2", "h2", "1", "1"], ["s1", "s2", "2", "2"]],
    ... })
    ['s1', 'h1', 's2', 'h2']
    """
    kinds = dict(graph["nodes"])
    ends = [(first, second) for first, second, *_ in graph["edges"]]
    ends += [(second, first) for first, second in ends]
    at_switch = {node: other for node, other in ends if kinds[other] == "switch" != kinds[node]}
    order: list[str] = []
    for name, kind in graph["nodes"]:
        if kind == "switch":
            order += [name, *(node for node in kinds if at_switch.get(node) == name)]
    return list(dict.fromkeys([*order, *kinds]))


def _place(at: int, nodes: int, height: int) -> tuple[float, float]:
    angle = 2 * math.pi * at / nodes - math.pi / 2
    wide = (_WIDTH / 2 - _MARGIN) / _RADIUS
    return (
        _WIDTH / 2 + _RADIUS * wide * math.cos(angle),
        height / 2 + _RADIUS * math.sin(angle),
    )


def _edge(
    places: dict[str, tuple[float, float]], first: str, second: str, port: str, other: str
) -> Markup:
    (x1, y1), (x2, y2) = places[first], places[second]
    ends = ((x1, y1, x2, y2, port), (x2, y2, x1, y1, other))
    return tag(
        "g",
        tag("line", x1=round(x1), y1=round(y1), x2=round(x2), y2=round(y2)),
        [
            tag("text", number, x=round(x + (u - x) * 0.27), y=round(y + (v - y) * 0.27) - 3)
            for x, y, u, v, number in ends
        ],
        class_="edge",
    )


def _node(place: tuple[float, float], name: str, kind: str) -> Markup:
    x, y = map(round, place)
    shape = (
        tag("rect", x=x - 28, y=y - 15, width=56, height=30, rx=6)
        if kind == "switch"
        else tag("circle", cx=x, cy=y, r=19)
    )
    return tag("g", shape, tag("text", name, x=x, y=y + 4), class_=f"node {kind}", data_node=name)

"""The topology of a network: hosts, switches, ports and links."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from treadle.core.errors import TreadleError

if TYPE_CHECKING:
    pass

_END = re.compile(r"(?P<node>[^:]+)(:(?P<port>\d+))?")


class Hop(NamedTuple):
    """A switch on a path, and the port through which the path leaves it."""

    switch: Any
    port: int


@dataclass(frozen=True, slots=True)
class Peer:
    """What is at the other end of a link."""

    node: str
    port: int


class Topology:
    """Which nodes there are, and what their ports lead to."""

    def __init__(self) -> None:
        self.switch_names: list[str] = []
        self.host_names: list[str] = []
        self.ports: dict[str, dict[int, Peer]] = {}
        """Of each node: what is behind each port."""

    # In words

    def switches(self, names: str | Iterable[str]) -> Self:
        """Add switches: `net.switches("s1 s2")`."""
        return self._add(names, self.switch_names)

    def hosts(self, names: str | Iterable[str]) -> Self:
        """Add hosts: `net.hosts("h1 h2")`."""
        return self._add(names, self.host_names)

    def _add(self, names: str | Iterable[str], to: list[str]) -> Self:
        for name in names.split() if isinstance(names, str) else map(str, names):
            if name in self.ports:
                raise TreadleError(f"there is a node {name!r} already: choose another name")
            if not re.fullmatch(r"[^\s:-]+", name):
                raise TreadleError(
                    f"a node cannot be called {name!r}: links are written h1-s1 or s1:3-s2:1, so "
                    f"names have no space, colon or dash"
                )
            self.ports[name] = {}
            to.append(name)
        return self

    def links(self, *links: str) -> Self:
        """Add links: `net.links("h0-s1", "s1:3-s2:1")`; ports are numbered in this order."""
        for text in (link for given in links for link in given.split()):
            ends = text.split("-")
            if len(ends) != 2:
                raise TreadleError(f"{text!r} is no link: write h1-s1, or s1:3-s2:1 with ports")
            self.link(*map(self._end, ends, [text, text]))
        return self

    def _end(self, text: str, link: str) -> tuple[str, int | None]:
        found = _END.fullmatch(text)
        if found is None:
            raise TreadleError(f"{link!r} is no link: write h1-s1, or s1:3-s2:1 with ports")
        return found["node"], int(found["port"]) if found["port"] else None

    def link(self, one: tuple[str, int | None], other: tuple[str, int | None]) -> None:
        """Connect two nodes, each with its port, or None for the next free one."""
        for name, _ in (one, other):
            if name not in self.ports:
                raise TreadleError(f"there is no node {name!r}: the network has {self._all()}")
        if one[0] == other[0] or {one[0], other[0]} <= set(self.host_names):
            raise TreadleError(f"{one[0]}-{other[0]} is no link: connect a switch with another one")
        ends = [Peer(name, self._port(name, port)) for name, port in (one, other)]
        self.ports[ends[0].node][ends[0].port] = ends[1]
        self.ports[ends[1].node][ends[1].port] = ends[0]

    def _port(self, node: str, wanted: int | None) -> int:
        used = self.ports[node]
        if wanted is None:
            return next(port for port in range(1, len(used) + 2) if port not in used)
        if wanted in used or wanted < 1:
            raise TreadleError(f"port {wanted} of {node} is taken or below 1: choose another one")
        return wanted

    def _all(self) -> str:
        return ", ".join([*self.switch_names, *self.host_names]) or "none yet"

    # From elsewhere

    @classmethod
    def of(cls, graph: Any, **options: Any) -> Self:
        """Make a network of a networkx graph or of a mininet `Topo`, which need not be run.

        In a graph, nodes with `type="host"` or `host=True` are hosts; if none says so, those whose
        name begins with an `h` are. The attribute `ports={node: port}` of an edge fixes its ports.
        """
        net = cls(**options)
        if callable(getattr(graph, "links", None)) and callable(getattr(graph, "switches", None)):
            return net._add_mininet(graph)
        if not callable(getattr(graph, "edges", None)):
            raise TreadleError(
                f"cannot make a network of {type(graph).__name__} objects: give a networkx graph, "
                f"or a mininet Topo"
            )
        return net._add_graph(graph)

    def _add_mininet(self, topo: Any) -> Self:
        self.switches(topo.switches()).hosts(topo.hosts())
        for one, other in topo.links():
            ports = topo.port(one, other)
            self.link(
                *((node, port or None) for node, port in zip((one, other), ports, strict=True))
            )
        return self

    def _add_graph(self, graph: Any) -> Self:
        marked = {node for node, data in graph.nodes(data=True) if _is_host(data)}
        hosts = marked or {node for node in graph.nodes if str(node).startswith("h")}
        self.switches(str(node) for node in graph.nodes if node not in hosts)
        self.hosts(str(node) for node in graph.nodes if node in hosts)
        for one, other, data in graph.edges(data=True):
            ports = data.get("ports", {})
            self.link((str(one), ports.get(one)), (str(other), ports.get(other)))
        return self

    # Asking

    def check_switch(self, name: str) -> str:
        """Return the name of a switch; refuse one that is not there."""
        if name not in self.switch_names:
            known = ", ".join(self.switch_names) or "none yet"
            raise TreadleError(f"there is no switch {name!r}: the network has {known}")
        return name

    def check_host(self, name: str) -> str:
        """Return the name of a host; refuse one that is not there."""
        if name not in self.host_names:
            known = ", ".join(self.host_names) or "none yet"
            raise TreadleError(f"there is no host {name!r}: the network has {known}")
        return name

    def check_actions(self, switch: str, actions: tuple[tuple[Any, ...], ...]) -> None:
        """Refuse actions that forward through a port that the switch does not have."""
        for name, *args in actions:
            if name == "output" and args[0] not in self.ports[switch]:
                known = ", ".join(map(str, sorted(self.ports[switch]))) or "none"
                raise TreadleError(f"{switch} has no port {args[0]}: its ports are {known}")

    def ways(self, switch: str, node: str) -> list[tuple[str, int]]:
        """Return the shortest path from a switch to another node, as switches and ports."""
        nx = networkx_module()
        graph = nx.Graph()
        for name in [*self.switch_names, node]:
            graph.add_node(name)
        for name in self.switch_names:
            for peer in self.ports[name].values():
                if peer.node in graph:
                    graph.add_edge(name, peer.node)
        try:
            nodes = nx.shortest_path(graph, switch, node)
        except nx.NetworkXNoPath:
            raise TreadleError(f"no path leads from {switch} to {node}: add a link") from None
        return [(one, self.port_to(one, other)) for one, other in itertools.pairwise(nodes)]

    def port_to(self, node: str, neighbour: str) -> int:
        """Return the port of a node that leads to a neighbour."""
        return next(port for port, peer in self.ports[node].items() if peer.node == neighbour)

    def copy(self) -> Self:
        """Return the same network, to be told something that the original does not know."""
        return copy.deepcopy(self)


def _is_host(data: dict[str, Any]) -> bool:
    return data.get("type") == "host" or bool(data.get("host"))


def networkx_module() -> Any:
    """Return networkx; say how to get it if it is not there."""
    try:
        import networkx
    except ImportError:
        raise TreadleError(
            "paths and graphs need networkx: install the extra with pip install 'treadle[sdn]'"
        ) from None
    return networkx

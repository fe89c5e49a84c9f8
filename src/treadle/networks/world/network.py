"""A network: topology, rules of the start, the packets of a test, and properties of one's own.

The same class stands for a network while it runs: then `switch` and `path` return switches that
take messages, and `arrived` and `table` tell what has become of packets and rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from treadle.core.errors import TreadleError
from treadle.core.failure import Failure
from treadle.networks.world.controller import Controller, FlowMod, Message, Switch
from treadle.networks.world.drawing import picture, tables_after
from treadle.networks.world.matching import (
    Action,
    Actions,
    Match,
    header_of,
)
from treadle.networks.world.packets import Sent
from treadle.networks.world.topology import Hop, Topology
from treadle.networks.world.words import Key

if TYPE_CHECKING:
    from treadle.networks.world.semantics import World

Function = TypeVar("Function", bound=Callable[..., Any])


class Network(Topology):
    """Switches, hosts and links; what is installed and sent.

    `ordered` and `ordered_links` are for channels that keep the order: from the controller to each
    switch, and of packets on each link. A packet that comes to a switch again is in a loop; with
    `revisits=k` it may come k times again, through another port each time. `max_hops` ends its way
    in any case. These can be given to `explore` and `check` as well.

    >>> net = Network().switches("s1 s2").hosts("h1 h2").links("h1-s1", "s1-s2", "s2-h2")
    >>> net.path("s1", "h2")
    [Hop(switch=s1, port=2), Hop(switch=s2, port=2)]
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options
        self.rules: dict[str, dict[Key, Actions]] = {}
        """The rules of the start, by switch."""
        self.packets: list[Sent] = []
        self.failing: list[tuple[str, str]] = []
        """Links that go down at some time."""
        self.watching: list[Callable[[Network], object]] = []
        self.at_the_end: list[Callable[[Network], object]] = []
        self._world: World | None = None

    # Before it runs

    def install(
        self,
        switch: str | Switch,
        match: Match,
        actions: Action | Sequence[Action],
        priority: int = 1,
    ) -> None:
        """Install a rule that is there from the start."""
        self._refuse_running("install", "event.switch.install(...) or self.net.switch(...).install")
        self.switch(switch).install(match, actions, priority)

    def send(self, host: str, *, name: str | None = None, count: int = 1, **header: Any) -> None:
        """Let a host send a packet, or `count` alike; `name` is what properties call it."""
        self._refuse_running("send", "net.send(...) in the function that is checked")
        if count < 1:
            raise TreadleError(f"count={count} packets cannot be sent: give 1 or more")
        self.check_host(host)
        if not self.ports[host]:
            raise TreadleError(f"{host} has no link: add one with net.links({host + '-s1'!r})")
        group = name or ""
        for number in range(1, count + 1):
            called = name or str(len(self.packets) + 1)
            called += str(number) if name and count > 1 else ""
            if any(packet.name == called for packet in self.packets):
                raise TreadleError(f"there is a packet {called!r} already: choose another name")
            self.packets.append(Sent(called, group or called, host, header_of(header)))

    def fails(self, link: str) -> None:
        """Let a link, `"s1-s2"`, go down at any time; what is forwarded into it then is lost.

        The controller is told by `port_status(self, switch, port, is_up)`, if it has that.
        """
        self._refuse_running("fails", "net.fails(...) in the function that is checked")
        one, _, other = link.partition("-")
        for node, neighbour in ((one, other), (other, one)):
            if all(peer.node != neighbour for peer in self.ports.get(node, {}).values()):
                raise TreadleError(f"there is no link {link!r}: write it as net.links() does")
        self.failing.append((one, other))

    def always(self, function: Function) -> Function:
        """Check a property after each step: `def p(net): assert ...`. That costs reduction."""
        self.watching.append(function)
        return function

    def finally_(self, function: Function) -> Function:
        """Check a property at the end of each execution: `def p(net): assert ...`."""
        self.at_the_end.append(function)
        return function

    def named(self, name: str) -> list[str]:
        """Return the packets of a name: one, or all of one `send`."""
        found = [packet.name for packet in self.packets if name in (packet.name, packet.group)]
        if not found:
            known = ", ".join(packet.name for packet in self.packets) or "none"
            raise TreadleError(f"there is no packet {name!r}: the test sends {known}")
        return found

    # Switches and paths

    def switch(self, name: str | Switch) -> Switch:
        """Return a switch by name."""
        called = self.check_switch(name.name if isinstance(name, Switch) else name)
        return Switch(self, called, self.tell)

    def path(self, switch: str | Switch, host: str) -> list[Hop]:
        """Return the shortest path to a host, as pairs of switch and port."""
        start = self.switch(switch)
        end = host.name if isinstance(host, Switch) else host
        if end not in self.switch_names:
            self.check_host(end)
        return [Hop(self.switch(name), port) for name, port in self.ways(start.name, end)]

    def tell(self, message: Message) -> None:
        """Take a message to a switch: before a run, a rule of the start."""
        if self._world is not None:
            self._world.tell(message)
            return
        if not isinstance(message, FlowMod) or message.actions is None:
            raise TreadleError(
                "switches take messages from the handlers of a controller: before a run there is "
                "only net.install(...)"
            )
        rules = self.rules.setdefault(message.switch, {})
        rules[message.priority, message.match] = message.actions

    def _refuse_running(self, what: str, instead: str) -> None:
        if self._world is not None:
            raise TreadleError(f"net.{what}() is for the time before a run: use {instead}")

    # While it runs

    def running(self, world: World) -> Network:
        """Return the network of a run."""
        net = Network.__new__(Network)
        vars(net).update(vars(self), _world=world)
        return net

    @property
    def _running(self) -> World:
        if self._world is None:
            self._refuse_before_run()
        return self._world

    def _refuse_before_run(self) -> NoReturn:
        raise TreadleError("a network has arrivals and tables while it runs: ask in a property")

    @property
    def controller(self) -> Controller:
        """The controller of this run."""
        return self._running.controller

    def arrived(self, packet: str, host: str) -> bool:
        """Tell whether a packet, or all of one `send`, have arrived at a host."""
        self.check_host(host)
        return all(self._running.has_arrived(name, host) for name in self.named(packet))

    def arrivals(self, host: str) -> list[str]:
        """Return the packets that have arrived at a host."""
        self.check_host(host)
        has_arrived = self._running.has_arrived
        return [sent.name for sent in self.packets if has_arrived(sent.name, host)]

    def draw(self, failure: Failure | None = None, step: int | None = None) -> str:
        """Return the network as a picture (SVG), with the flow tables of a moment.

        Of a failure, that after a step, or after the last one; in a property, that of now.
        """
        if failure is not None:
            return picture(self, tables_after(failure, step))
        if self._world is None:
            return picture(self, {name: list(rules.items()) for name, rules in self.rules.items()})
        return picture(self, {name: self._running.table(name) for name in self.switch_names})

    def fingerprint_of(self) -> object:
        """Stand for the network in a state's fingerprint; what runs in it is compared once."""
        return "network"

    def table(self, switch: str | Switch) -> list[tuple[int, Match, list[Action]]]:
        """Return the rules of a switch: priority, match and actions, highest priority first."""
        name = self.check_switch(switch.name if isinstance(switch, Switch) else switch)
        return [
            (priority, Match(match), [Action(action) for action in actions])
            for (priority, match), actions in self._running.table(name)
        ]

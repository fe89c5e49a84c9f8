"""Controllers: a policy as a class, and what its handlers are given.

A handler is one step, up to the next barrier that it waits for. Whatever it sends meanwhile is
collected, and is on its way when the step ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.networks.world.matching import Action, Actions, Header, Match, actions_of, match_of
from treadle.networks.world.memory import Remembering
from treadle.networks.world.packets import Copy, Packet

if TYPE_CHECKING:
    from treadle.networks.world.network import Network


class Controller(Remembering):
    """A policy: derive from this, and define `packet_in(self, event)`, `start(self)` or both.

    Handlers are plain functions, or generators that `yield` barriers to wait for. `self.net` is the
    network. Every run makes a controller of its own; its attributes are what it remembers.
    """

    net: Network
    leaves_buffered = True
    """Whether a packet waits in the switch while the controller is asked; else it is sent along."""
    may_tell_first = False
    """Whether switches may be told rules while the controller is made."""

    equal_rules_commute = True
    """Whether it makes no difference if a switch is told the same rule again."""

    @classmethod
    def prepare(cls, net: Network) -> None:
        """Change the packets of a test to what the controller understands."""


@dataclass(frozen=True, slots=True)
class FlowMod:
    """A rule that a switch is told to add, change or delete: `actions` is None then."""

    switch: str
    match: Header
    priority: int
    actions: Actions | None
    sweeps: bool = False
    """Whether it is for all rules that the match covers, and adds none."""

    @property
    def content(self) -> tuple[Any, ...]:
        """All but the switch, as plain data."""
        return self.match, self.priority, self.actions, self.sweeps


@dataclass(frozen=True, slots=True)
class PacketOut:
    """A packet that a switch is told to let go: by these actions, or by its table."""

    switch: str
    copy: Copy
    port: int
    actions: Actions | None
    is_buffered: bool = True


class Barrier:
    """A barrier request: `yield` it to wait for the reply; else it only orders messages."""

    is_fixed = True

    def __init__(self, switch: str, *, is_answered: bool = False) -> None:
        self.switch = switch
        self.is_answered = is_answered
        """Whether a handler of its own is called with the reply."""
        self.earlier: tuple[int, ...] = ()
        """The messages that it comes after: processes by number."""

    def fingerprint_of(self) -> object:
        """Return what it waits for, for the state's fingerprint."""
        return self.switch, self.earlier


Message = FlowMod | PacketOut | Barrier


class Switch:
    """A switch as a policy sees it. Two of the same name are equal."""

    __slots__ = ("_net", "_tell", "name")

    is_fixed = True

    def __init__(self, net: Network, name: str, tell: Callable[[Message], None]) -> None:
        self.name = name
        self._net = net
        self._tell = tell

    def install(self, match: Match, actions: Action | Sequence[Action], priority: int = 1) -> None:
        """Tell the switch to add a rule; one of the same match and priority is replaced."""
        what = f"the rule for {self.name}"
        fixed = actions_of(actions, what)
        self._net.check_actions(self.name, fixed)
        self._tell(FlowMod(self.name, match_of(match, what), priority, fixed))

    def delete(self, match: Match, priority: int = 1) -> None:
        """Tell the switch to delete the rule of this match and priority, if it has one."""
        wanted = match_of(match, f"the rule to delete at {self.name}")
        self._tell(FlowMod(self.name, wanted, priority, None))

    def barrier(self) -> Barrier:
        """Ask the switch to finish what it was told before it does anything later.

        `yield` it, or a list of several, to wait until they have; without, it is only an order of
        messages to this switch.
        """
        barrier = Barrier(self.name)
        self._tell(barrier)
        return barrier

    def packet_out(self, event: Event, actions: Action | Sequence[Action] | None = None) -> None:
        """Let a packet go that waits in the switch: by these actions, or by the table again."""
        fixed = None
        if actions is not None:
            fixed = actions_of(actions, f"the packet-out to {self.name}")
            self._net.check_actions(self.name, fixed)
        self._tell(PacketOut(self.name, event.copy, event.port, fixed))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Switch) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def fingerprint_of(self) -> object:
        """Return the name, for the state's fingerprint."""
        return self.name


class Event:
    """A packet-in: which switch asks, through which port the packet came, and the packet."""

    __slots__ = ("copy", "packet", "port", "switch")

    is_fixed = True

    def __init__(self, switch: Switch, port: int, copy: Copy) -> None:
        self.switch = switch
        self.port = port
        self.packet = Packet(copy.packet, copy.header)
        self.copy = copy

    def __repr__(self) -> str:
        return f"<packet-in of {self.packet.name} at {self.switch.name}:{self.port}>"

    def fingerprint_of(self) -> object:
        """Return what it is about, for the state's fingerprint."""
        return "event", (self.switch.name, self.port, tuple(self.copy))

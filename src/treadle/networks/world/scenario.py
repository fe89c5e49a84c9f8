"""What is explored: a network with its packets, a controller, and what must hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from treadle.core.errors import TreadleError
from treadle.networks.world.controller import Controller
from treadle.networks.world.network import Network
from treadle.networks.world.outliving import Outliving
from treadle.networks.world.properties import Property, checked

LEVELS = ("switch", "table", "entry")


@dataclass(frozen=True)
class Options:
    """How a network behaves, what is checked, and how finely messages are told apart."""

    no_loop: bool = True
    no_black_hole: bool = True
    no_conflict: bool = True
    level: str = "entry"
    """What two messages to a switch conflict by: the switch, its table, or entries of that."""
    ordered: bool = False
    """Whether a switch handles the messages of the controller in their order."""
    ordered_links: bool = False
    """Whether packets on one link keep their order."""
    revisits: int = 0
    """How often a packet may come to a switch again, through another port each time."""
    max_hops: int | None = None
    """After how many switches the way of a packet ends."""

    def changed(self, given: Mapping[str, Any]) -> Options:
        """Return other options; refuse values that make no sense."""
        options = replace(self, **given)
        if options.level not in LEVELS:
            raise TreadleError(
                f"unknown level {options.level!r}: choose one of {', '.join(LEVELS)}"
            )
        if not isinstance(options.revisits, int) or options.revisits < 0:
            raise TreadleError(f"revisits must be a number from 0 on, not {options.revisits!r}")
        if options.max_hops is not None and options.max_hops < 1:
            raise TreadleError(f"max_hops must be a number from 1 on, not {options.max_hops!r}")
        return options


NAMES = frozenset(field.name for field in fields(Options))
"""The names of these options."""


@dataclass(frozen=True)
class Scenario:
    """A network with its packets, and what decides how it runs."""

    net: Network
    policy: type[Controller]
    options: Options
    properties: tuple[Property, ...]
    outliving: Outliving
    """What the controller's class must not change."""

    @property
    def answers(self) -> bool:
        """Whether the controller takes packet-ins."""
        return callable(getattr(self.policy, "packet_in", None))

    @property
    def starts(self) -> bool:
        """Whether the controller does something at the beginning."""
        return callable(getattr(self.policy, "start", None))


def scenario(
    net: Network,
    policy: Any,
    packets: Callable[[Network], object],
    properties: Iterable[object] = (),
    given: Mapping[str, Any] | None = None,
) -> Scenario:
    """Let a test send its packets in a copy of a network, and put all together."""
    if not isinstance(net, Network):
        raise TreadleError(f"{net!r} is no network: make one with sdn.Network()")
    if not inspect.isclass(policy) or not issubclass(policy, Controller):
        raise TreadleError(
            f"{policy!r} is no policy: give a class derived from sdn.Controller, or sdn.os_ken(App)"
        )
    if not callable(packets):
        raise TreadleError(f"{packets!r} sends no packets: give a function of the network")
    own = net.copy()
    packets(own)
    policy.prepare(own)
    for name in own.options:
        if name not in NAMES:
            raise TreadleError(f"a network has no option {name!r}: {', '.join(sorted(NAMES))}")
    options = Options().changed({**own.options, **(given or {})})
    made = Scenario(own, policy, options, checked(properties, own), Outliving(policy))
    if not own.packets and not made.starts:
        raise TreadleError("nothing happens: send a packet with net.send(host, dst=...)")
    return made

"""`explore`, `check` and `program` for networks: what users call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import treadle.api
from treadle.core.errors import TreadleError
from treadle.core.result import Result
from treadle.networks.world.applications import instrumented
from treadle.networks.world.network import Network
from treadle.networks.world.program import NetworkProgram
from treadle.networks.world.scenario import NAMES, scenario

Packets = Callable[[Network], object]


def program(
    net: Network,
    policy: Any,
    packets: Packets,
    *,
    properties: Iterable[object] = (),
    name: str = "",
    **options: Any,
) -> NetworkProgram:
    """Return a network with its packets as a program, for `treadle.explore` and `treadle.replay`.

    The options are those of networks: see `explore`.
    """
    names = options.pop("instrument", ())
    if names:
        policy = instrumented(policy, [names] if isinstance(names, str) else names)
    for given in options:
        if given not in NAMES:
            raise TreadleError(f"a network has no option {given!r}: {', '.join(sorted(NAMES))}")
    called = name or getattr(packets, "__name__", "network")
    return NetworkProgram(called, scenario(net, policy, packets, properties, options))


def explore(
    net: Network,
    policy: Any,
    packets: Packets,
    algorithm: str = "optimal",
    *,
    properties: Iterable[object] = (),
    **options: Any,
) -> Result:
    """Explore every order of messages that can make a difference, for the packets of a test.

    `policy` is a class derived from `Controller`, or `os_ken(App)`; `packets` is called with the
    network and lets hosts send. Besides the options of `treadle.explore`, those of networks:
    `no_loop`, `no_black_hole` and `no_conflict` (on unless they are set to False), `properties`,
    `level` (`entry`, `table` or `switch`: what two messages to a switch conflict by), `ordered`,
    `ordered_links`, `revisits` and `max_hops` (see `Network`). `instrument` names packages:
    handlers of an os-ken application in one of them conflict only by what they access.

    >>> import treadle.networks as sdn
    >>> net = sdn.Network().switches("s1").hosts("h1 h2").links("h1-s1", "h2-s1")
    >>> class Hub(sdn.Controller):
    ...     def packet_in(self, event):
    ...         event.switch.packet_out(event, sdn.flood())
    >>> result = sdn.explore(net, Hub, lambda net: net.send("h1", dst="h2"))
    >>> result.executions, result.ok
    (1, True)
    """
    ours, others = _apart(options)
    made = program(net, policy, packets, properties=properties, **ours)
    return treadle.api.explore(made, algorithm, **others)


def check(
    net: Network,
    policy: Any,
    *,
    properties: Iterable[object] = (),
    **options: Any,
) -> Callable[[Packets], Callable[[], Any]]:
    """Decorate the function that sends the packets of a test: calling it explores.

    It raises `treadle.CheckFailed` on a failure, which is made as simple as it gets. The options
    are those of `explore` here and of `treadle.check`.
    """
    wanted = tuple(properties)
    ours, others = _apart(options)

    def decorate(packets: Packets) -> Callable[[], Any]:
        def test() -> NetworkProgram:
            return program(net, policy, packets, properties=wanted, **ours)

        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(test, name, getattr(packets, name, None))
        return treadle.api.check(**others)(test)

    return decorate


def _apart(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of networks, and the others."""
    taken = NAMES | {"instrument"}
    ours = {name: value for name, value in options.items() if name in taken}
    return ours, {name: value for name, value in options.items() if name not in taken}

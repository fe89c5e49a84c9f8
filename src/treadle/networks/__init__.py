"""Software-defined networks: verify the policy you deploy, for the packets of a test.

    import treadle.networks as sdn

Nothing is loaded before it is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.networks.exploring import check, explore, program
    from treadle.networks.world.applications import os_ken
    from treadle.networks.world.controller import Barrier, Controller, Event, Switch
    from treadle.networks.world.matching import Action, Match, drop, flood, match, output, set_field
    from treadle.networks.world.network import Network
    from treadle.networks.world.packets import Packet
    from treadle.networks.world.properties import (
        balanced,
        delivered,
        isolated,
        never,
        quiet,
        tables_agree,
        waypoint,
    )

__all__ = [
    "Action",
    "Barrier",
    "Controller",
    "Event",
    "Match",
    "Network",
    "Packet",
    "Switch",
    "balanced",
    "check",
    "delivered",
    "drop",
    "explore",
    "flood",
    "isolated",
    "match",
    "never",
    "os_ken",
    "output",
    "program",
    "quiet",
    "set_field",
    "tables_agree",
    "waypoint",
]

_HOMES = {
    "exploring": ("check", "explore", "program"),
    "world.applications": ("os_ken",),
    "world.controller": ("Barrier", "Controller", "Event", "Switch"),
    "world.matching": ("Action", "Match", "drop", "flood", "match", "output", "set_field"),
    "world.network": ("Network",),
    "world.packets": ("Packet",),
    "world.properties": (
        "balanced",
        "delivered",
        "isolated",
        "never",
        "quiet",
        "tables_agree",
        "waypoint",
    ),
}
_HOME_OF = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all names, those that are not loaded yet included."""
    return sorted({*globals(), *__all__})

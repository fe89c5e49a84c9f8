"""Rules and tables in words, with the names of nodes for ports."""

from __future__ import annotations

from treadle.networks.world.matching import Actions, Header, fields_in_words
from treadle.networks.world.topology import Topology

Key = tuple[int, Header]
"""Priority and match: by which a rule is replaced or deleted."""


def table_in_words(net: Topology, switch: str, rules: list[tuple[Key, Actions]]) -> str:
    """Return a table for people to read, in one line."""
    return "; ".join(rule_in_words(net, switch, match, actions) for (_, match), actions in rules)


def rule_in_words(net: Topology, switch: str, match: Header, actions: Actions | None) -> str:
    """Return a rule for people to read: what it is for, and where it leads."""
    return f"{fields_in_words(match)} → {actions_in_words(net, switch, actions)}"


def actions_in_words(net: Topology, switch: str, actions: Actions | None) -> str:
    """Return actions for people to read, with the names of nodes for ports."""
    if actions is None:
        return "deleted"
    words = []
    for name, *args in actions:
        if name == "output":
            words.append(net.ports[switch][args[0]].node)
        elif name == "set_field":
            words.append(fields_in_words(tuple(args)))
        elif name != "notify":
            words.append(name)
    return ", ".join(words)

"""Flow tables: rules that are looked up by port and header, and changed by match and priority.

A key is priority and match. Most messages are for one key. Those of OpenFlow that are not strict
are for all rules whose match is covered by theirs: such a *sweep* depends on all other messages to
the table, and on all look-ups.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from treadle.core.events import Mode, code
from treadle.model.rules import Entry, Rules
from treadle.networks.world.matching import Actions, Header, is_within

NOTIFIES = ("notify",)
"""Among the actions of a rule: the controller is told when it is gone."""


class FlowTable(Rules):
    """The flow table of a switch: equal rules commute."""

    __slots__ = ()

    def look(self, question: Hashable) -> list[Entry]:
        """Return the rules that match a packet: its port and header."""
        self._touch(Mode.READ)
        return super().look(question)

    def replace(self, key: Hashable, actions: Actions | None) -> list[tuple[Any, Any]]:
        """Add, change or delete the rule of a key; return the rule that was there before."""
        before: list[tuple[Any, Any]] = [(k, v) for k, v in self._values.items() if k == key]
        is_told = any(NOTIFIES in rule for _, rule in before)
        self._touch(Mode.WRITE if is_told else Mode.READ)
        self.put(key, actions)
        return before

    def sweep(self, match: Header, actions: Actions | None) -> list[tuple[Any, Any]]:
        """Change or delete all rules that a match covers; return those that were there before."""
        found: list[Any] = [rule for rule in self.entries() if is_within(rule[0][1], match)]  # type: ignore[index]
        for key, _ in found:
            self.note(key, actions)
        self._touch(Mode.WRITE)
        return found

    def _touch(self, mode: Mode) -> None:
        """Record that rules were touched one by one, or all of them."""
        location = self._run.locate(
            (self._name, "sweeps"), f"{self._name} as a whole", self.entries
        )
        self._run.append(code(location, mode))


class CountingTable(FlowTable):
    """A flow table in which a rule that comes again is a change: its counters begin anew."""

    __slots__ = ()

    mode = Mode.WRITE

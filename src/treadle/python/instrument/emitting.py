"""What a rewriter has written so far, and what is known of the stack there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle.python.instrument.emit import Item, effect
from treadle.python.instrument.scope import Scope
from treadle.python.instrument.stack_origins import Origins


class Emitting:
    """Instructions that are emitted one by one, with hooks between them."""

    def __init__(self, scope: Scope, origins: Origins) -> None:
        self._scope = scope
        self._origins = origins
        self._out: list[Item] = []

    def _plain(self, i: Any) -> None:
        self._out.append(i)
        self._origins.follow(i)

    def _emit(self, items: Iterable[Item]) -> None:
        """Emit instructions that leave the stack as it is."""
        self._out += items

    def _effect(self, i: Any) -> None:
        """Say that something changed, shared or not: a loop that does that is no idle one."""
        self._emit(effect(i.location))

"""Limits on an exploration."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.core.errors import TreadleError

MAX_STEPS = 10_000
"""Steps that one execution may take, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a search may go on; it ends in an orderly way when one limit is reached."""

    max_executions: int | None = None
    """Executions in all, blocked ones included."""
    max_steps: int = MAX_STEPS
    """Steps in one execution."""
    timeout: float | None = None
    """Seconds of wall time for the whole search."""

    def __post_init__(self) -> None:
        for name in ("max_executions", "max_steps", "timeout"):
            value = getattr(self, name)
            if value is None and name != "max_steps":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise TreadleError(f"{name} must be a number above 0, not {value!r}")

"""Limits on an exploration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from treadle.core.errors import TreadleError

MAX_STEPS = 10_000
"""Steps after which an execution is asked whether it is endless, unless told otherwise."""
MOST_STEPS = 1_000_000
"""Steps after which an execution is cut that is not known to be endless, nor to have a limit."""
_LOOK = 1_000
"""Steps between two looks at the clock."""

Limit: TypeAlias = Literal["max_executions", "max_steps", "timeout"]
"""What a budget limits."""


def used_up(limit: Limit, value: float | None) -> str:
    """Return the reason of a search that ended because a limit was reached.

    >>> used_up("timeout", 2.50), used_up("max_executions", 1000)
    ('timeout = 2.5 s', 'max_executions = 1000')
    """
    return f"timeout = {value:g} s" if limit == "timeout" else f"{limit} = {value}"


def is_used_up(reason: str, *limits: Limit) -> bool:
    """Tell whether it is because of one of these limits that a search ended.

    >>> is_used_up("timeout = 2.5 s", "max_steps", "timeout"), is_used_up("Ctrl-C", "timeout")
    (True, False)
    """
    return reason.startswith(tuple(f"{limit} = " for limit in limits))


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a search may go on; it ends in an orderly way when one limit is reached."""

    max_executions: int | None = None
    """Executions in all, blocked ones included."""
    max_steps: int = MAX_STEPS
    """Steps in one execution."""
    timeout: float | None = None
    """Seconds of wall time for the whole search."""
    goes_on: bool = False
    """Whether an execution of `max_steps` goes on unless it is seen to be endless."""

    def __post_init__(self) -> None:
        for name in ("max_executions", "max_steps", "timeout"):
            value = getattr(self, name)
            if value is None and name != "max_steps":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise TreadleError(f"{name} must be a number above 0, not {value!r}")

    def next_look(self, steps: int) -> int:
        """Return after how many steps an execution of so many is looked at again."""
        then = steps - steps % _LOOK + _LOOK
        return then if self.goes_on else min(then, self.max_steps)

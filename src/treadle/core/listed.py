"""Independence constraints as data: where blocks of code commute, and what is not understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Constrained:
    """Two blocks, and where they are independent: wherever one of the constraints holds."""

    first: str
    second: str
    constraints: tuple[str, ...]
    """Python over `s`, `first`, `second`; `True`: in every state."""
    exact: bool
    """Whether it is known that they are independent nowhere else."""
    source: Literal["declared", "synthesised"]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Untranslated:
    """A block that is not understood: it is dependent on all that it conflicts with."""

    block: str
    line: int
    reason: str

    @property
    def in_words(self) -> str:
        """Say what that means."""
        return (
            f"{self.block} is dependent on all that it conflicts with: line {self.line}, "
            f"{self.reason}"
        )

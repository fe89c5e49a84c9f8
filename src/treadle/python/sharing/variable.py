"""What stands for a global variable: it has no object of its own that could be published."""

from __future__ import annotations

from dataclasses import dataclass

GLOBAL = "global "
"""What the sort of a global variable begins with; its module and name follow."""
MODULE = "module "
"""What the sort of a module begins with; its name follows."""


@dataclass(frozen=True)
class Variable:
    """Stands for a global variable of a module."""

    module: str
    name: str

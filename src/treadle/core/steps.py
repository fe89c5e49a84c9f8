"""A step by its process and what it does: what plans and don't-do sets are made of."""

from __future__ import annotations

from treadle.core.events import Footprint

Step = tuple[int, Footprint]
"""A process and what it does."""
Steps = tuple[Step, ...]

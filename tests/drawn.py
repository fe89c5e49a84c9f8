"""Random choices made by Hypothesis, where `random.Random` could make them too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Drawn:
    """Random choices made by Hypothesis, for `draw_program`."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def choice(self, options: Sequence[T], /) -> T:
        chosen: T = self._draw(st.sampled_from(options))
        return chosen

    def randint(self, low: int, high: int, /) -> int:
        return int(self._draw(st.integers(low, high)))

"""Whose code is instrumented: the modules under test, by the dictionaries of their globals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Namespaces(set[int]):
    """The `id` of namespaces; what was found out about classes is forgotten when they change."""

    def __init__(self) -> None:
        super().__init__()
        self.about_classes: dict[Any, Any] = {}
        self.plain_classes: set[type] = set()
        """Classes none of whose attributes runs code that is not instrumented."""
        self.direct_classes: set[type] = set()
        """Classes all of whose methods are under test, or a built-in container's."""
        self.resolved: dict[type, Any] = {}
        """What to call instead of classes that are not under test."""

    def forget(self) -> None:
        """Forget what was found out about classes."""
        self.about_classes.clear()
        self.resolved.clear()
        self.plain_classes.clear()
        self.direct_classes.clear()

    def add(self, element: int) -> None:
        """Enter a namespace."""
        super().add(element)
        self.forget()

    def update(self, *elements: Iterable[int]) -> None:
        """Enter namespaces."""
        super().update(*elements)
        self.forget()

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self.forget()


executed: set[int] = set()
"""`id` of the namespaces that `exec` runs code in, and that are no module's."""
instrumented = Namespaces()
"""`id` of the namespaces of modules whose functions announce what they do themselves."""

"""What steps are in words: data that whoever announces a step hands over with it.

    announce(codes, ATTRIBUTE, obj, name)
    announce(operation, PUT, queue, item)

A *deed* says what such steps are called. It is the same for all of a sort, and what goes with it is
at hand anyway: so handing them over costs next to nothing. Only a recorded execution looks at them,
and asks the deed for the name of the object that the step is about, and for the value that it
reads, writes or takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.core.words import UNKNOWN

Say = Callable[[object], str]
"""Puts a value into words."""
Value = Callable[[Any, Any], object]
"""Looks up what a step is going to read, write or take: of which object, and the detail."""


def _no_value(about: Any, detail: Any) -> object:
    del about, detail
    return UNKNOWN


class Deed:
    """What steps of one sort are in words."""

    __slots__ = ("name", "suffix", "value", "verb")

    def __init__(
        self,
        verb: str = "",
        name: Callable[[Any], str] | None = None,
        value: Value = _no_value,
        suffix: str = "",
    ) -> None:
        self.verb = verb
        """What is done; empty if the accessed locations say that."""
        self.name = name
        """Names the object that it is done to; None if the accessed location is the name."""
        self.value = value
        """Asked when the step begins."""
        self.suffix = suffix
        """Follows the name: an attribute or a method of the object."""

    def subject(self, about: Any, detail: Any, say: Say) -> str | None:
        """Return what it is done to, in words; None if the accessed location says that."""
        del detail, say
        return None if self.name is None else self.name(about) + self.suffix


PLAIN_ACCESS = Deed()
"""An access of which nothing more is known."""


def given(about: Any, detail: Any) -> object:
    """Return the detail: the value that is assigned or handed over."""
    del about
    return detail


def method(name: Callable[[Any], str], called: str, value: Value = _no_value) -> Deed:
    """Return the deed of a method that only looks at an object."""
    return Deed("call", name, value, f".{called}()")

"""Calls that make weak references, or follow them."""

from __future__ import annotations

import types
import weakref
from typing import Any

from treadle.python.runtime import slots
from treadle.python.sharing import finalizers
from treadle.python.sharing.lives import lives

REFERRING = (weakref.finalize, weakref.WeakMethod)
"""Classes whose instances refer to their first argument weakly, or to the object of a method."""


def of_weak(name: str, function: Any, *, has_threads: bool = False) -> Any:
    """What is weakly referred to, and shared, may live as long as the execution: say so."""
    if not lives.is_on:
        finalizers.refers_weakly(name, has_threads=has_threads)
    return function


def refer_weakly(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """Make something that refers to its first argument weakly, or to the object of a method."""
    found = kind(*args, **kwargs)
    for value in args[:1]:
        lives.refer_to(value.__self__ if type(value) is types.MethodType else value)
    return found


def follow(reference: Any) -> Any:
    """Follow a weak reference: it depends on who has let go of what it leads to."""
    if not lives.are_known(reference):
        finalizers.refers_weakly("weakref.ref")
    codes = lives.following(reference)
    if codes:
        slots.announce(codes)
    else:
        lives.come_to_look()
    return reference()

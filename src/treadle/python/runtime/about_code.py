"""What is found out about code is remembered by identity: code that was rewritten has no hash.

Its constants hold hooks, and the code of a library may be replaced by such code while a test runs.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

_MOST = 4096
"""Answers that are kept: a test may make code anew in every execution."""

T = TypeVar("T")


def remembered(find: Callable[..., T]) -> Callable[..., T]:
    """Remember what a function says of code, its first argument, and others that have a hash."""
    known: dict[tuple[Any, ...], tuple[types.CodeType, T]] = {}

    @functools.wraps(find)
    def ask(code: types.CodeType, *others: Any) -> T:
        key = (id(code), *others)
        found = known.get(key)
        if found is None:
            if len(known) >= _MOST:
                known.clear()
            found = known[key] = (code, find(code, *others))
        return found[1]

    return ask

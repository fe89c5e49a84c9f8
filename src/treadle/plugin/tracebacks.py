"""Tracebacks without the frames of Treadle and pytest: what users can look at and change."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.core.frames import users_part


def cut_to_user(error: BaseException) -> None:
    """Take the frames of Treadle, pytest and primitives out of a traceback, causes included."""
    for one in _chain(error):
        one.__traceback__ = users_part(one.__traceback__) or one.__traceback__


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all that it was caused by."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            todo += [one.__cause__, one.__context__]

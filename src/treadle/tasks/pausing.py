"""`treadle.pause` and `treadle.slow`: delays that a test marks."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from treadle.python.runtime import slots


async def pause() -> None:
    """Wait for something from outside: an answer that takes some time.

    While a test is explored, everything that can happen meanwhile is tried. Otherwise it is
    `asyncio.sleep(0)`.

    >>> import asyncio
    >>> asyncio.run(pause())
    """
    loop: Any = asyncio.get_running_loop()
    if slots.program is None or not hasattr(loop, "arrival"):
        await asyncio.sleep(0)
        return
    await arriving(loop)


async def arriving(loop: Any, *, is_turn: bool = False) -> None:
    """Wait until something arrives; perhaps because a turn of the loop takes some time."""
    future = loop.create_future()
    complete = asyncio.futures._set_result_unless_cancelled  # type: ignore[attr-defined]
    loop.arrival(complete, future, None).is_turn = is_turn
    await future


def slow(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return a coroutine function that calls another one, or a mock, and pauses before and after.

    >>> import asyncio
    >>> async def answer():
    ...     return 42
    >>> asyncio.run(slow(answer)())
    42
    """

    @functools.wraps(function, updated=())
    async def slowly(*args: Any, **kwargs: Any) -> Any:
        await pause()
        result = function(*args, **kwargs)
        if inspect.isawaitable(result):
            result = await result
        await pause()
        return result

    return slowly

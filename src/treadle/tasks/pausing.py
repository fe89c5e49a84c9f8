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
    loop = asyncio.get_running_loop()
    arrival = getattr(loop, "arrival", None)
    if slots.program is None or arrival is None:
        await asyncio.sleep(0)
        return
    future = loop.create_future()
    arrival(asyncio.futures._set_result_unless_cancelled, future, None)  # type: ignore[attr-defined]
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

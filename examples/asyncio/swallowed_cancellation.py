"""A wait that swallows a cancellation: if the answer has just come, the task goes on.

The remedy is not to catch the cancellation: `asyncio.timeout` knows its own from others'.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import treadle

WaitFor = Callable[[Coroutine[Any, Any, str]], Awaitable[str]]


async def swallow(answer: Coroutine[Any, Any, str]) -> str:
    """Wait for an answer for an hour; an answer that is there is better than an exception."""
    asked = asyncio.create_task(answer)
    try:
        await asyncio.wait({asked}, timeout=3600)
    except asyncio.CancelledError:
        if asked.done():
            return asked.result()
        asked.cancel()
        raise
    return asked.result()


async def let_pass(answer: Coroutine[Any, Any, str]) -> str:
    """Wait for an answer for an hour."""
    async with asyncio.timeout(3600):
        return await answer


async def goes_on() -> None:
    """A task that was cancelled goes on."""
    await _cancelled(swallow)


async def ends() -> None:
    """A task that was cancelled ends."""
    await _cancelled(let_pass)


async def _cancelled(wait_for: WaitFor) -> None:
    async def answer() -> str:
        await treadle.pause()
        return "answer"

    async def work() -> None:
        await wait_for(answer())
        await treadle.pause()  # what it does with the answer

    task = asyncio.create_task(work())
    await treadle.pause()
    was_asked = task.cancel()
    await asyncio.wait({task})
    assert task.cancelled() or not was_asked

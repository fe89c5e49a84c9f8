"""Coroutines and asynchronous generators that several tasks hold.

Only the first to await a coroutine gets anything from it: whoever does later is told that it is
being awaited, or that it was. A generator that is running cannot be asked for the next value. So
each attempt to run one changes it, whether it succeeds or not, and so does the end of the attempt.
"""

from __future__ import annotations

import gc
import types
from collections.abc import AsyncIterator, Iterable
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.uninstrumented import state_of
from treadle.python.sharing.published import published


async def _nothing() -> AsyncIterator[None]:
    yield


def _kinds_of_attempts() -> frozenset[type]:
    generator: Any = _nothing()
    attempts = [generator.asend(None), generator.aclose(), anext(generator, None)]
    for attempt in attempts:
        attempt.close()
    return frozenset(map(type, attempts))


_ATTEMPTS = _kinds_of_attempts()
"""What `anext`, `asend`, `athrow` and `aclose` return: it runs a generator if it is awaited."""


def changes(obj: Any) -> tuple[int, ...]:
    """Return the accesses of running something, if it is of one that others can reach."""
    while type(obj) in _ATTEMPTS:
        kinds = (types.AsyncGeneratorType, *_ATTEMPTS)
        obj = next((part for part in gc.get_referents(obj) if type(part) in kinds), None)
    return (state_of(published[id(obj)]),) if id(obj) in published else ()


def attempts_among(values: Iterable[Any]) -> list[Any]:
    """Return those of some values that run a generator if they are awaited."""
    return [value for value in values if type(value) in _ATTEMPTS]


def awaited(awaitable: Any) -> Any:
    """Return what to await instead: who awaits something that is shared changes it."""
    kind = type(awaitable)
    if kind is types.CoroutineType:
        return _awaiting(awaitable) if id(awaitable) in published else awaitable
    return _awaiting(awaitable) if kind in _ATTEMPTS and changes(awaitable) else awaitable


async def _awaiting(awaitable: Any) -> Any:
    written = changes(awaitable)
    hooks.say(written)
    try:
        return await awaitable
    finally:
        hooks.say(written)


def asked_for_next(iterator: Any) -> None:
    """Take note that `async for` asks a published asynchronous iterator for its next value."""
    if type(iterator) is types.AsyncGeneratorType:
        hooks.say(changes(iterator))

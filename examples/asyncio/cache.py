"""A cache that loads each value once: whoever comes meanwhile waits for the first.

If the first is cancelled while it loads, nobody wakes the others. The remedy: whatever happens to
the first, the others are woken, and one of them loads.
"""

import asyncio
from collections.abc import Awaitable, Callable

import treadle

Load = Callable[[str], Awaitable[str]]


class ForgetfulCache:
    """Wakes whoever waits when the value is there."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.values: dict[str, str] = {}
        self.loading: dict[str, asyncio.Event] = {}

    async def get(self, key: str) -> str:
        """Return a value."""
        while key not in self.values:
            if key in self.loading:
                await self.loading[key].wait()
            else:
                done = self.loading[key] = asyncio.Event()
                self.values[key] = await self.load(key)
                del self.loading[key]
                done.set()
        return self.values[key]


class Cache(ForgetfulCache):
    """Wakes whoever waits in any case."""

    async def get(self, key: str) -> str:
        """Return a value."""
        while key not in self.values:
            if key in self.loading:
                await self.loading[key].wait()
            else:
                done = self.loading[key] = asyncio.Event()
                try:
                    self.values[key] = await self.load(key)
                finally:
                    del self.loading[key]
                    done.set()
        return self.values[key]


async def nobody_wakes_them() -> None:
    """The second reader waits for ever if the first is cancelled while it loads."""
    await _two_readers(ForgetfulCache)


async def somebody_else_loads() -> None:
    """The second reader loads the value itself."""
    await _two_readers(Cache)


async def _two_readers(kind: type[ForgetfulCache]) -> None:
    async def load(key: str) -> str:
        await treadle.pause()  # the database answers
        return key.upper()

    cache = kind(load)
    first, second = (asyncio.create_task(cache.get("tea")) for _ in range(2))
    await treadle.pause()  # the first reader's client hangs up
    first.cancel()
    assert await second == "TEA"

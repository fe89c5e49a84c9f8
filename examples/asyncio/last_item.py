"""Two buyers and one item: what is checked before an `await` need not hold behind it.

The remedy is a lock around the check and the act.
"""

import asyncio
from collections.abc import Awaitable, Callable

import treadle


class Shop:
    """A shop that sells what it has."""

    def __init__(self) -> None:
        self.stock = 1
        self.lock = asyncio.Lock()

    async def sell(self) -> bool:
        """Sell an item, if there is one."""
        if self.stock == 0:
            return False
        await treadle.pause()  # the bank answers
        self.stock -= 1
        return True

    async def sell_one_by_one(self) -> bool:
        """Sell to one buyer at a time."""
        async with self.lock:
            return await self.sell()


async def both_buy() -> None:
    """The item is sold twice."""
    shop = Shop()
    await _two_buyers(shop.sell)


async def one_buys() -> None:
    """The item is sold once."""
    shop = Shop()
    await _two_buyers(shop.sell_one_by_one)


async def _two_buyers(sell: Callable[[], Awaitable[bool]]) -> None:
    async def buy() -> bool:
        await treadle.pause()  # nobody knows who comes first
        return await sell()

    assert sum(await asyncio.gather(buy(), buy())) == 1

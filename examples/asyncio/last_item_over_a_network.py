"""The same shop behind connections: asyncio's own streams and server run in memory."""

import asyncio
from asyncio import StreamReader, StreamWriter

import treadle

HOST, PORT = "shop.example", 8000


class Server:
    """Sells one item to whoever asks first."""

    def __init__(self, lock: asyncio.Lock | None) -> None:
        self.stock = 1
        self.lock = lock

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one request."""
        await reader.readline()
        if self.lock is None:
            sold = await self.sell()
        else:
            async with self.lock:
                sold = await self.sell()
        writer.write(b"sold\n" if sold else b"none\n")
        writer.close()

    async def sell(self) -> bool:
        """Sell the item, if it is there."""
        if self.stock == 0:
            return False
        await treadle.pause()  # the bank answers
        self.stock -= 1
        return True


async def buy() -> bytes:
    """Ask for the item; return the answer."""
    reader, writer = await asyncio.open_connection(HOST, PORT)
    writer.write(b"buy\n")
    answer = await reader.readline()
    writer.close()
    return answer


async def both_buy() -> None:
    """Two clients are told that they have it."""
    await _two_clients(Server(None))


async def one_buys() -> None:
    """With a lock, one is."""
    await _two_clients(Server(asyncio.Lock()))


async def _two_clients(shop: Server) -> None:
    server = await asyncio.start_server(shop.serve, HOST, PORT)
    answers = await asyncio.gather(buy(), buy())
    server.close()
    assert answers.count(b"sold\n") == 1

"""A client of aiohttp that logs in when it has no token: two requests at once log in twice.

aiohttp's own client runs on connections in memory; the server is a stand-in. The remedy is a lock
around the check and the login.
"""

import asyncio
from asyncio import StreamReader, StreamWriter

import aiohttp

HOST, PORT = "api.example", 8000


class Server:
    """Gives out a token to whoever logs in, and counts how often it did."""

    def __init__(self) -> None:
        self.logins = 0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one request."""
        await reader.readuntil(b"\r\n\r\n")
        self.logins += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")
        writer.close()


class Client:
    """Logs in when it has no token."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.token = ""
        self.lock = asyncio.Lock()

    async def headers(self) -> dict[str, str]:
        """Return what each request carries."""
        if not self.token:
            async with self.session.post(f"http://{HOST}:{PORT}/login") as answer:
                self.token = await answer.text()
        return {"Authorization": self.token}

    async def headers_one_by_one(self) -> dict[str, str]:
        """Let nobody look for a token while somebody logs in."""
        async with self.lock:
            return await self.headers()


async def logs_in_twice() -> None:
    """Both requests see that there is no token."""
    await _two_requests(is_careful=False)


async def logs_in_once() -> None:
    """The second request finds the token of the first."""
    await _two_requests(is_careful=True)


async def _two_requests(*, is_careful: bool) -> None:
    shop = Server()
    server = await asyncio.start_server(shop.serve, HOST, PORT)
    no_limit = aiohttp.ClientTimeout(total=None, sock_connect=None)
    async with aiohttp.ClientSession(timeout=no_limit) as session:
        client = Client(session)
        ask = client.headers_one_by_one if is_careful else client.headers
        await asyncio.gather(ask(), ask())
    server.close()
    assert shop.logins == 1

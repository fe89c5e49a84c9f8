"""Two clients of a web service change one number: each reads it, and writes what it makes of it.

httpx's own client runs on a transport that is a stand-in, whose answers take some time. The remedy
is that the server changes only what is as the client has seen it (`If-Match`), and the client tries
again.
"""

import asyncio

import httpx

import treadle

CHANGED = 412


class Service:
    """Keeps a number; each change gives it another version."""

    def __init__(self) -> None:
        self.number = 0
        self.version = 0

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        await treadle.pause()
        if request.method == "PUT":
            if request.headers.get("If-Match", str(self.version)) != str(self.version):
                return httpx.Response(CHANGED)
            self.number, self.version = int(request.content), self.version + 1
        return httpx.Response(200, text=str(self.number), headers={"ETag": str(self.version)})


async def increment(client: httpx.AsyncClient) -> None:
    """Write one more than was read."""
    seen = await client.get("/number")
    await client.put("/number", content=str(int(seen.text) + 1))


async def increment_if_same(client: httpx.AsyncClient) -> None:
    """Write it if nobody else has written meanwhile; try again otherwise."""
    done = CHANGED
    while done == CHANGED:
        seen = await client.get("/number")
        answer = await client.put(
            "/number", content=str(int(seen.text) + 1), headers={"If-Match": seen.headers["ETag"]}
        )
        done = answer.status_code


async def one_is_lost() -> None:
    """Both read the same number."""
    await _two_clients(is_careful=False)


async def none_is_lost() -> None:
    """Whoever was too late reads again."""
    await _two_clients(is_careful=True)


async def _two_clients(*, is_careful: bool) -> None:
    service = Service()
    transport = httpx.MockTransport(service.answer)
    change = increment_if_same if is_careful else increment
    async with httpx.AsyncClient(transport=transport, base_url="http://service.example") as client:
        await asyncio.gather(change(client), change(client))
    assert service.number == 2

"""The network in memory: what arrives, in which orders, and what both ends see of it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from every_poll import every_schedule
from exploring import explored

import treadle

Test = Callable[[], Awaitable[Any]]
HOST, PORT = "shop.example", 8000


def shop(*, is_locked: bool) -> Test:
    """Return a test: two clients want the last item of a shop, over connections."""

    async def test() -> Any:
        lock, stock = asyncio.Lock(), ["item"]

        async def sell() -> bytes:
            if not stock:
                return b"none\n"
            await treadle.pause()
            if stock:
                stock.pop()
            return b"sold\n"

        async def serve(reader: Any, writer: Any) -> None:
            await reader.readline()
            if is_locked:
                async with lock:
                    answer = await sell()
            else:
                answer = await sell()
            writer.write(answer)
            writer.close()

        async def buy() -> bytes:
            reader, writer = await asyncio.open_connection(HOST, PORT)
            writer.write(b"buy\n")
            answer: bytes = await reader.readline()
            writer.close()
            return answer

        server = await asyncio.start_server(serve, HOST, PORT)
        answers = await asyncio.gather(buy(), buy())
        server.close()
        assert answers.count(b"sold\n") == 1
        return sorted(answers)

    return test


@pytest.mark.parametrize(("is_locked", "failing"), [(True, 0), (False, 2)])
def test_shop(is_locked: bool, failing: int) -> None:
    result = treadle.explore(shop(is_locked=is_locked), stop_on_failure=False)
    assert result.complete
    assert (result.executions, result.failing) == (4, failing)
    assert result.notes == []


async def connected(serve: Any, client: Any) -> Any:
    """Let a coroutine serve one connection, and another one use it."""
    server = await asyncio.start_server(serve, HOST, PORT)
    try:
        reader, writer = await asyncio.open_connection(HOST, PORT)
        try:
            return await client(reader, writer)
        finally:
            writer.close()
    finally:
        server.close()


def states(test: Test, **options: Any) -> set[str]:
    """Return the final states of a test."""
    result, seen = explored(test, "fifo", **options)
    assert result.complete
    return seen


@pytest.mark.parametrize(
    "name",
    ["two_writes", "refused", "server_that_begins_late", "written_after_close", "answered"],
)
def test_brute_force_sees_the_same(name: str) -> None:
    test = globals()[name]
    count, classes, seen = every_schedule(test, 1000)
    result, found = explored(test, "fifo")
    assert found == seen
    assert len(classes) <= result.executions <= count


async def two_writes() -> Any:
    async def serve(_: Any, writer: Any) -> None:
        writer.write(b"a")
        writer.write(b"b")

    async def client(reader: Any, _: Any) -> Any:
        return await reader.read(10)

    return await connected(serve, client)


def test_two_writes_come_one_by_one_or_together() -> None:
    assert states(two_writes) == {"b'a'", "b'ab'"}


async def many_writes() -> Any:
    async def serve(_: Any, writer: Any) -> None:
        for letter in b"abc":
            writer.write(bytes([letter]))
            await writer.drain()
        writer.write_eof()

    async def client(reader: Any, _: Any) -> Any:
        whole = await reader.read()
        return whole, reader.at_eof()

    return await connected(serve, client)


def test_order_within_a_connection_is_kept() -> None:
    assert states(many_writes) == {"(b'abc', True)"}


async def two_connections() -> Any:
    heard: list[bytes] = []

    async def serve(reader: Any, writer: Any) -> None:
        heard.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(serve, HOST, PORT)
    ends = [await asyncio.open_connection(HOST, PORT) for _ in range(2)]
    for number, (_, writer) in enumerate(ends):
        writer.write(b"%d\n" % number)
    for reader, writer in ends:
        await reader.read()
        writer.close()
    server.close()
    return heard


def test_connections_do_not_wait_for_each_other() -> None:
    assert states(two_connections) == {"[b'0\\n', b'1\\n']", "[b'1\\n', b'0\\n']"}


async def refused() -> Any:
    log = []

    async def other() -> None:
        await treadle.pause()
        log.append("other")

    async def connect() -> None:
        with pytest.raises(ConnectionRefusedError, match="Connect call failed"):
            await asyncio.open_connection(HOST, PORT)
        log.append("refused")

    await asyncio.gather(other(), connect())
    return log


def test_server_that_is_not_there_refuses_some_time_later() -> None:
    assert states(refused) == {"['other', 'refused']", "['refused', 'other']"}


async def server_that_begins_late() -> Any:
    async def serve(_: Any, writer: Any) -> None:
        writer.close()

    async def listen() -> None:
        await treadle.pause()
        await asyncio.start_server(serve, HOST, PORT)

    async def connect() -> str:
        try:
            _, writer = await asyncio.open_connection(HOST, PORT)
        except ConnectionRefusedError:
            return "refused"
        writer.close()
        return "connected"

    return (await asyncio.gather(listen(), connect()))[1]


def test_whether_a_server_listens_is_a_race() -> None:
    assert states(server_that_begins_late) == {"'refused'", "'connected'"}


@pytest.mark.parametrize("look", [lambda it: it.is_serving(), lambda it: it.sockets])
def test_who_looks_whether_a_server_listens_sees_it_before_and_after(look: Any) -> None:
    """It was seen in one order only: a silent false pass."""

    async def test() -> bool:
        server = await asyncio.start_server(print, HOST, PORT)

        async def close() -> None:
            await treadle.pause()
            server.close()

        async def looks() -> bool:
            await treadle.pause()
            return bool(look(server))

        return (await asyncio.gather(close(), looks()))[1]

    for order in ("fifo", "any"):
        result, seen = explored(test, order)
        assert (result.complete, result.executions, seen) == (True, 2, {"True", "False"})


async def closed_while_data_come() -> Any:
    async def serve(_: Any, writer: Any) -> None:
        await treadle.pause()
        writer.close()

    async def client(reader: Any, writer: Any) -> Any:
        writer.write(b"question\n")
        try:
            await reader.read()
        except ConnectionResetError:
            return "reset"
        return "end"

    return await connected(serve, client)


def test_data_at_a_closed_end_break_the_connection() -> None:
    assert states(closed_while_data_come) == {"'end'", "'reset'"}


async def written_after_close() -> Any:
    async def serve(reader: Any, writer: Any) -> None:
        writer.write(await reader.read())
        writer.close()

    async def client(reader: Any, writer: Any) -> Any:
        writer.write(b"before")
        writer.write_eof()
        with pytest.raises(RuntimeError, match="write_eof"):
            writer.write(b"after")
        return await reader.read()

    return await connected(serve, client)


def test_end_of_a_stream() -> None:
    assert states(written_after_close) == {"b'before'"}


class Collecting(asyncio.Protocol):
    """Takes note of what it is told."""

    def __init__(self, log: list[Any], done: Any = None) -> None:
        self.log, self.done = log, done

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.log.append("made")

    def data_received(self, data: bytes) -> None:
        self.log.append(data)

    def eof_received(self) -> None:
        self.log.append("end")

    def connection_lost(self, exc: Exception | None) -> None:
        self.log.append(exc if exc is None else type(exc).__name__)
        if self.done is not None:
            self.done.set_result(None)


async def protocols(how: str, *, is_unix: bool = False) -> Any:
    loop = asyncio.get_running_loop()
    here: list[Any] = []
    there: list[Any] = []
    done = loop.create_future()
    if is_unix:
        await loop.create_unix_server(lambda: Collecting(there, done), "/run/shop")
        transport, _ = await loop.create_unix_connection(lambda: Collecting(here), "/run/shop")
    else:
        await loop.create_server(lambda: Collecting(there, done), HOST, PORT)
        transport, _ = await loop.create_connection(lambda: Collecting(here), HOST, PORT)
    transport.write(b"data")
    getattr(transport, how)()
    await done
    return here, there


@pytest.mark.parametrize("is_unix", [False, True])
def test_closing_tells_both_ends_in_order(is_unix: bool) -> None:
    async def test() -> Any:
        return await protocols("close", is_unix=is_unix)

    assert states(test) == {"(['made', None], ['made', b'data', 'end', None])"}


def test_aborting_overtakes_data() -> None:
    async def test() -> Any:
        return await protocols("abort")

    assert states(test) == {
        "(['made', None], ['made', b'data', 'ConnectionResetError'])",
        "(['made', None], ['made', 'ConnectionResetError'])",
    }


async def held_back() -> Any:
    loop = asyncio.get_running_loop()
    log: list[Any] = []
    protocol = Collecting(log)
    await loop.create_server(lambda: protocol, HOST, PORT)
    transport, _ = await loop.create_connection(lambda: Collecting([]), HOST, PORT)
    protocol.transport.pause_reading()
    assert not protocol.transport.is_reading()
    transport.write(b"data")
    transport.close()
    await asyncio.sleep(100)
    log.append("ready")
    protocol.transport.resume_reading()
    await asyncio.sleep(100)
    return log


def test_reading_can_be_paused() -> None:
    result, seen = explored(held_back, "fifo")
    assert result.complete
    assert seen == {"['made', 'ready', b'data', 'end', None]"}


class Buffered(asyncio.BufferedProtocol):
    """A protocol with a buffer of three bytes."""

    def __init__(self, got: list[bytes]) -> None:
        self.got, self.buffer = got, bytearray(3)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.got.append(bytes(self.buffer[:nbytes]))


async def buffered() -> Any:
    loop = asyncio.get_running_loop()
    got: list[bytes] = []
    await loop.create_server(lambda: Buffered(got), HOST, PORT)
    transport, _ = await loop.create_connection(lambda: Collecting([]), HOST, PORT)
    transport.writelines([b"ab", b"cde"])
    await asyncio.sleep(100)
    return got


def test_protocol_with_a_buffer() -> None:
    assert explored(buffered, "fifo")[1] == {"[b'abc', b'de']"}


async def addresses() -> Any:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Collecting([]), "localhost", 0)
    port = server.sockets[0].getsockname()[1]
    transport, _ = await loop.create_connection(lambda: Collecting([]), "127.0.0.1", port)
    with pytest.raises(OSError, match="address already in use"):
        await loop.create_server(lambda: Collecting([]), "127.0.0.1", port)
    names = [transport.get_extra_info(name) for name in ("peername", "sockname", "nothing")]
    found = await loop.getaddrinfo("db.example", 5432)
    assert found == await loop.getaddrinfo("db.example", "5432")
    server.close()
    with pytest.raises(ConnectionRefusedError):
        await loop.create_connection(lambda: Collecting([]), "localhost", port)
    return names[0] == ("127.0.0.1", port), names[1][0], names[2], found[0][4][1], server.sockets


def test_addresses() -> None:
    assert explored(addresses, "fifo")[1] == {"(True, '127.0.0.1', None, 5432, ())"}


async def encrypted() -> Any:
    context = ssl.create_default_context()

    async def serve(reader: Any, writer: Any) -> None:
        writer.write(await reader.readline())
        await writer.start_tls(context)
        writer.write(await reader.readline())
        writer.close()

    async def client(reader: Any, writer: Any) -> Any:
        writer.write(b"STARTTLS\n")
        first = await reader.readline()
        await writer.start_tls(context)
        writer.write(b"secret\n")
        return first, await reader.readline()

    return await connected(serve, client)


def test_nothing_is_encrypted_but_it_takes_time() -> None:
    result, seen = explored(encrypted, "fifo")
    assert result.complete
    assert seen == {"(b'STARTTLS\\n', b'secret\\n')"}


async def lines() -> Any:
    async def serve(_: Any, writer: Any) -> None:
        writer.write(b"a\nb\n")

    async def client(reader: Any, _: Any) -> Any:
        return await reader.read(10)

    return await connected(serve, client)


def test_writes_are_cut_where_the_test_says() -> None:
    assert states(lines) == {"b'a\\nb\\n'"}
    assert states(lines, split=["\n"]) == {"b'a\\n'", "b'a\\nb\\n'"}
    assert states(lines, split=False) == states(lines, split=[]) == {"b'a\\nb\\n'"}


async def answered() -> Any:
    async def serve(reader: Any, writer: Any) -> None:
        try:
            await reader.readline()
        except ConnectionResetError:
            return
        writer.write(b"answer\n")
        writer.close()

    async def client(reader: Any, writer: Any) -> Any:
        writer.write(b"question\n")
        try:
            return await reader.readline()
        except ConnectionResetError:
            return "reset"

    return await connected(serve, client)


def test_connections_break_if_asked_for() -> None:
    assert states(answered) == {"b'answer\\n'"}
    assert states(answered, resets=1) == {"b'answer\\n'", "'reset'"}


async def two_answered() -> Any:
    async def serve(_: Any, writer: Any) -> None:
        writer.write(b"answer\n")
        writer.close()

    async def ask() -> Any:
        reader, writer = await asyncio.open_connection(HOST, PORT)
        try:
            return await reader.readline()
        except ConnectionResetError:
            return "reset"
        finally:
            writer.close()

    await asyncio.start_server(serve, HOST, PORT)
    return sorted(map(str, await asyncio.gather(ask(), ask())))


@pytest.mark.parametrize("resets", [1, 2])
def test_no_more_connections_break_than_may(resets: int) -> None:
    answer = str(b"answer\n")
    expected = {repr(sorted([answer] * (2 - n) + ["reset"] * n)) for n in range(resets + 1)}
    assert explored(two_answered, "fifo", resets=resets)[1] == expected


def test_a_socket_that_the_loop_connects_is_made_a_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        sock = writer.get_extra_info("socket")
        assert sock.getsockname() == ("10.1.2.3", 80)
        assert sock.getpeername() == writer.get_extra_info("peername")
        writer.close()

    async def test() -> None:
        loop = asyncio.get_running_loop()
        sock = socket.socket()
        sock.setblocking(False)
        with pytest.raises(ConnectionRefusedError):
            await loop.sock_connect(sock, ("10.1.2.3", 80))
        server = await asyncio.start_server(serve, "10.1.2.3", 80)
        await loop.sock_connect(sock, ("10.1.2.3", 80))
        reader, writer = await asyncio.open_connection(sock=sock)
        given = writer.get_extra_info("socket")
        given.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert given.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert await reader.read() == b""
        writer.close()
        server.close()

    result = treadle.explore(test, stop_on_failure=False)
    assert (result.ok, result.escapes) == (True, []), result.failures


def test_what_the_end_of_the_test_cancels_is_no_finding_of_the_servers() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.close()

    async def test() -> None:
        server = await asyncio.start_server(serve, "db", 1)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(asyncio.Protocol, "db", 1)
        assert transport.get_extra_info("socket").fileno() == -1
        server.close()

    result = treadle.explore(test)
    assert result.ok, result.failures

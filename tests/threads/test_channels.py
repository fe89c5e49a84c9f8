"""Sockets and pipes with both ends in the test are channels of bytes in memory."""

from __future__ import annotations

import contextlib
import errno
import gc
import http.client
import http.server
import io
import multiprocessing
import os
import random
import select
import selectors
import socket
import socketserver
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_thread import verify

import treadle
from treadle.core.errors import CannotBeExplored
from treadle.threads.primitives.channels.channel import CAPACITY

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""What pickles to a pipe leaves a view of its buffer, which Python 3.13 cannot close in a cycle."""
COVERING = ["optimal", "source", "sleep", "observers", "exhaustive"]


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    """Leave nothing to be collected where warnings count."""
    yield
    gc.collect()


def beside(*targets: Callable[[], object]) -> None:
    """Run functions in threads, and wait for all."""
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def outcomes(test: Callable[[], object], algorithm: str = "optimal", **options: Any) -> set[Any]:
    """Return what a test returns in all executions, none of which fails."""
    seen: set[Any] = set()

    def told() -> None:
        seen.add(test())

    result = treadle.explore(told, algorithm, **options)
    assert result.ok, result.failures
    assert result.complete
    assert not result.escapes
    return seen


def failure_of(call: Callable[[], object]) -> object:
    """Return what a call returns, or the error that it raises, in words."""
    try:
        found = call()
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "")
        return f"{type(error).__name__} {name}".strip()
    return found


# Outcomes


def read_all(read: Callable[[], bytes]) -> tuple[bytes, ...]:
    """Return what is read up to the end."""
    pieces = []
    while piece := read():
        pieces.append(piece)
    return tuple(pieces)


def through_a_pair() -> tuple[bytes, ...]:
    one, other = socket.socketpair()
    got: list[tuple[bytes, ...]] = []

    def write() -> None:
        one.sendall(b"ab")
        one.sendall(b"c")
        one.close()

    beside(write, lambda: got.append(read_all(lambda: other.recv(10))))
    other.close()
    return got[0]


def through_a_pipe() -> tuple[bytes, ...]:
    reader, writer = os.pipe()
    got: list[tuple[bytes, ...]] = []

    def write() -> None:
        os.write(writer, b"ab")
        os.write(writer, b"c")
        os.close(writer)

    beside(write, lambda: got.append(read_all(lambda: os.read(reader, 10))))
    os.close(reader)
    return got[0]


@pytest.mark.parametrize("algorithm", COVERING)
@pytest.mark.parametrize("test", [through_a_pair, through_a_pipe])
def test_what_is_written_twice_is_read_one_by_one_or_together(
    test: Callable[[], tuple[bytes, ...]], algorithm: str
) -> None:
    assert outcomes(test, algorithm) == {(b"ab", b"c"), (b"abc",)}


@pytest.mark.parametrize("test", [through_a_pair, through_a_pipe])
def test_real_threads_see_nothing_else(test: Callable[[], tuple[bytes, ...]]) -> None:
    assert {test() for _ in range(10)} <= outcomes(test)


def test_exactly_so_many_bytes_come_one_way_only() -> None:
    def test() -> bytes:
        one, other = socket.socketpair()
        got: list[bytes] = []

        def write() -> None:
            one.sendall(b"he")
            one.sendall(b"llo")

        beside(write, lambda: got.append(other.recv(5, socket.MSG_WAITALL)))
        return got[0]

    assert outcomes(test) == {b"hello"}


@pytest.mark.parametrize("algorithm", COVERING[:2])
def test_two_who_write_at_once_come_in_both_orders(algorithm: str) -> None:
    def test() -> bytes:
        one, other = socket.socketpair()
        beside(lambda: one.sendall(b"a"), lambda: one.sendall(b"b"))
        return other.recv(2)

    assert outcomes(test, algorithm) == {b"ab", b"ba"}


def serve(listener: socket.socket, times: int) -> None:
    for _ in range(times):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(connection.recv(10).upper())


def ask(address: Any, question: bytes) -> bytes:
    with socket.create_connection(address) as connection:
        connection.sendall(question)
        return connection.recv(10)


def test_a_server_and_two_clients() -> None:
    def test() -> tuple[str, ...]:
        told: list[str] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = listener.getsockname()

            def client(question: bytes) -> None:
                assert ask(address, question) == question.upper()
                told.append(question.decode())

            beside(lambda: serve(listener, 2), lambda: client(b"a"), lambda: client(b"b"))
        return tuple(told)

    assert outcomes(test) == {("a", "b"), ("b", "a")}
    assert test() in {("a", "b"), ("b", "a")}


def test_a_client_that_comes_before_the_server_listens_is_refused() -> None:
    def test() -> str:
        listener = socket.socket()
        listener.bind(("localhost", 0))
        port = listener.getsockname()[1]
        said: list[str] = []

        def connect() -> None:
            with socket.socket() as client:
                said.append(str(client.connect_ex(("localhost", port))))

        beside(connect, listener.listen)
        listener.close()
        return said[0]

    assert outcomes(test) == {"0", str(errno.ECONNREFUSED)}


def test_a_time_out_may_come_first() -> None:
    def test() -> str:
        one, other = socket.socketpair()
        other.settimeout(0.1)
        said: list[str] = []

        def read() -> None:
            try:
                said.append(other.recv(1).decode())
            except TimeoutError as error:
                said.append(str(error))

        beside(read, lambda: one.sendall(b"x"))
        return said[0]

    assert outcomes(test) == {"x", "timed out"}
    assert outcomes(test, timeouts="last") == {"x"}


def test_an_accept_with_a_time_out() -> None:
    def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(5)
            beside(lambda: serve(listener, 1), lambda: ask(listener.getsockname(), b"a"))
            with pytest.raises(TimeoutError):
                listener.accept()

    verify(test)


# What waits for ever


def test_who_waits_for_data_that_never_come_is_in_a_deadlock() -> None:
    def test() -> None:
        _, other = socket.socketpair()
        beside(lambda: other.recv(1))

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "deadlock"
    assert "data from socket 2 of main" in str(failure)
    assert treadle.replay(test, failure.token).kind == "deadlock"


def test_both_wait_for_the_other_to_begin() -> None:
    def test() -> None:
        one, other = socket.socketpair()

        def talk(end: socket.socket) -> None:
            end.recv(1)
            end.sendall(b"x")

        beside(lambda: talk(one), lambda: talk(other))

    assert [failure.kind for failure in treadle.explore(test).failures] == ["deadlock"]


def test_a_full_pipe_waits_for_who_reads() -> None:
    data = b"x" * (CAPACITY + 1)

    def test() -> None:
        reader, writer = os.pipe()
        beside(lambda: os.write(writer, data), lambda: os.read(reader, 1))

    def stuck() -> None:
        _, writer = os.pipe()
        beside(lambda: os.write(writer, data))

    verify(test)
    (failure,) = treadle.explore(stuck).failures
    assert "waits for room for data of pipe 2 of main" in str(failure)


def test_closing_a_socket_wakes_nobody_up_and_shutting_it_down_does() -> None:
    def stopping(stop: Callable[[socket.socket], object]) -> Callable[[], None]:
        def test() -> None:
            one, other = socket.socketpair()
            beside(lambda: failure_of(lambda: other.recv(1)), lambda: stop(other))
            one.close()

        return test

    (failure,) = treadle.explore(stopping(lambda end: end.close())).failures
    assert failure.kind == "deadlock"
    verify(stopping(lambda end: end.shutdown(socket.SHUT_RDWR)))


def test_a_listener_that_is_shut_down_lets_nobody_in() -> None:
    def test() -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        said: list[object] = []
        beside(
            lambda: said.append(failure_of(listener.accept)),
            lambda: listener.shutdown(socket.SHUT_RDWR),
        )
        return str(said[0])

    assert outcomes(test) == {"OSError EINVAL"}


def test_a_line_that_is_full_is_waited_for() -> None:
    def test() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            address = listener.getsockname()
            beside(
                lambda: [socket.create_connection(address).close() for _ in range(3)],
                lambda: [listener.accept() for _ in range(2)],
            )

    def stuck() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            beside(*[lambda: socket.create_connection(listener.getsockname())] * 2)

    verify(test)
    (failure,) = treadle.explore(stuck).failures
    assert "to accept" in str(failure)


# As CPython and Linux do it

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernels differ in when they tell")
DOINGS: dict[str, Callable[[socket.socket], object]] = {
    "send": lambda end: end.send(b"xyz"),
    "send nothing": lambda end: end.send(b""),
    "recv": lambda end: end.recv(2),
    "recv nothing": lambda end: end.recv(0),
    "peek": lambda end: end.recv(4, socket.MSG_PEEK),
    "into": lambda end: end.recv_into(bytearray(3)),
    "from": lambda end: end.recvfrom(1)[0],
    "close": lambda end: end.close(),
    "shut reading": lambda end: end.shutdown(socket.SHUT_RD),
    "shut writing": lambda end: end.shutdown(socket.SHUT_WR),
    "shut": lambda end: end.shutdown(socket.SHUT_RDWR),
    "number": lambda end: end.fileno() < 0,
    "name": lambda end: end.getsockname(),
    "peer": lambda end: end.getpeername(),
    "kind": lambda end: (end.family, end.type, end.proto, end.timeout, end.gettimeout()),
    "error": lambda end: end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
    "accept": lambda end: end.accept(),
    "select": lambda end: select.select([end], [], [], 0)[0] == [end],
    "selected": lambda end: select.select([], [end], [], 0)[1] == [end],
}


def talked(seed: int) -> tuple[object, ...]:
    """Return what a random conversation with oneself shows."""
    chance = random.Random(seed)
    ends = socket.socketpair()
    for end in ends:
        end.setblocking(False)
    shown = []
    for _ in range(25):
        side, what = chance.randrange(2), chance.choice(list(DOINGS))
        if ends[side].fileno() < 0 and what.startswith("select"):
            continue
        shown.append((side, what, failure_of(lambda: DOINGS[what](ends[side]))))  # noqa: B023
    for end in ends:
        end.close()
    return tuple(shown)


@linux
def test_random_conversations_are_those_of_real_sockets() -> None:
    for seed in range(300):
        assert outcomes(lambda: talked(seed)) == {talked(seed)}, seed  # noqa: B023


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        return client, listener.accept()[0]


CONVERSATIONS: dict[str, tuple[str, list[object]]] = {
    "who writes in vain is told late": (
        "b.close a.send a.send a.recv a.send",
        [None, 3, "BrokenPipeError EPIPE", b"", "BrokenPipeError EPIPE"],
    ),
    "what was not read resets": (
        "a.send b.send b.close a.recv a.recv a.recv a.recv a.send",
        [3, 3, None, b"xy", b"z", "ConnectionResetError ECONNRESET", b"", "BrokenPipeError EPIPE"],
    ),
    "who writes is told of the reset": (
        "a.send b.close a.send a.send a.recv a.shut",
        [3, None, "ConnectionResetError ECONNRESET", "BrokenPipeError EPIPE", b"",
         "OSError ENOTCONN"],
    ),
    "the other side does not know that nobody reads": (
        "b.shut_reading a.send b.recv b.recv b.recv",
        [None, 3, b"xy", b"z", b""],
    ),
    "half of it may be closed": (
        "a.shut_writing a.send b.recv b.send a.recv a.shut_writing b.shut_writing a.shut_writing",
        [None, "BrokenPipeError EPIPE", b"", 3, b"xy", None, None, "OSError ENOTCONN"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_connections_are_those_of_linux(name: str) -> None:
    steps, expected = CONVERSATIONS[name]

    def test() -> tuple[object, ...]:
        ends = dict(zip("ab", connected(), strict=True))
        shown = []
        for step in steps.split():
            side, _, what = step.partition(".")
            shown.append(failure_of(lambda: DOINGS[what.replace("_", " ")](ends[side])))  # noqa: B023
        return tuple(shown)

    assert outcomes(test) == {tuple(expected)}


UNCONNECTED: dict[str, Callable[[], object]] = {
    "recv": lambda: socket.socket().recv(1),
    "send": lambda: socket.socket().send(b"x"),
    "peer": lambda: socket.socket().getpeername(),
    "name": lambda: socket.socket().getsockname(),
    "accept": lambda: socket.socket().accept(),
    "shutdown": lambda: socket.socket().shutdown(1),
    "nobody": lambda: socket.socket().connect(("127.0.0.1", 1)),
    "bound twice": lambda: [bound := socket.create_server(("127.0.0.1", 0)), bound.bind(("", 0))],
    "in use": lambda: [
        bound := socket.create_server(("127.0.0.1", 0)),
        socket.socket().bind(bound.getsockname()),
    ],
    "no name": lambda: socket.create_server(("127.0.0.1", 0)).recv(1),
    "connected twice": lambda: (ends := connected())[0].connect(ends[1].getsockname()),
    "listening client": lambda: connected()[0].listen(),
    "no pair": lambda: os.read(os.pipe()[1], 1),
    "no writer": lambda: os.write(os.pipe()[0], b"x"),
    "no descriptor": lambda: [os.close(one := os.pipe()[0]), os.read(one, 1)],
    "blocking": lambda: [a.gettimeout() for a in connected()],
}


@linux
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", UNCONNECTED)
def test_errors_are_those_of_linux(name: str) -> None:
    def test() -> str:
        return str(failure_of(UNCONNECTED[name]))

    assert outcomes(test) == {test()}


@pytest.mark.parametrize("value", [-1, "x"])
def test_a_time_out_that_is_none_is_refused_as_ever(value: Any) -> None:
    def test() -> str:
        with socket.socket() as one, pytest.raises((ValueError, TypeError)) as caught:
            one.settimeout(value)
        return type(caught.value).__name__

    assert outcomes(test) == {test()}


# Files, selectors and what is built on them


def test_files_on_sockets_and_pipes() -> None:
    def test() -> tuple[str, str]:
        one, other = socket.socketpair()
        reader, writer = os.pipe()
        got: list[str] = []

        def write() -> None:
            with one, one.makefile("w", encoding="utf-8") as file:
                file.write("hello\nworld\n")
            with os.fdopen(writer, "w", encoding="utf-8") as file:
                file.write("bye\n")

        def read() -> None:
            with other, other.makefile("r", encoding="utf-8") as file:
                got.append(file.read())
            with os.fdopen(reader, "rb", buffering=0) as raw:
                assert isinstance(raw, io.RawIOBase)
                got.append(raw.readall().decode())

        beside(write, read)
        return got[0], got[1]

    assert outcomes(test) == {("hello\nworld\n", "bye\n")} == {test()}


@pytest.mark.parametrize("kind", ["DefaultSelector", "SelectSelector", "PollSelector"])
def test_selectors(kind: str) -> None:
    def test() -> tuple[bytes, ...]:
        pairs = [socket.socketpair() for _ in range(2)]
        got: list[bytes] = []

        def read() -> None:
            with getattr(selectors, kind)() as selector:
                for _, other in pairs:
                    selector.register(other, selectors.EVENT_READ)
                while len(got) < 2:
                    got.extend(key.fileobj.recv(1) for key, _ in selector.select())

        beside(read, lambda: pairs[0][0].send(b"a"), lambda: pairs[1][0].send(b"b"))
        return tuple(got)

    assert outcomes(test) == {(b"a", b"b"), (b"b", b"a")}


def test_connections_of_multiprocessing_between_threads() -> None:
    def test() -> object:
        one, other = multiprocessing.Pipe()
        reader, writer = multiprocessing.Pipe(duplex=False)
        got: list[object] = []

        def answer() -> None:
            got.append(other.recv())
            writer.send({"got": got[0]})

        beside(answer, lambda: one.send([1, 2]))
        found = reader.recv()
        assert not reader.poll(0.1)
        for end in (one, other, reader, writer):
            end.close()
        return str(found)

    assert outcomes(test) == {"{'got': [1, 2]}"} == {test()}


class Upper(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(self.rfile.readline().upper())


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


def page_of(address: Any) -> bytes:
    connection = http.client.HTTPConnection(*address)
    connection.request("GET", "/")
    try:
        return connection.getresponse().read()
    finally:
        connection.close()


def line_of(address: Any) -> bytes:
    with socket.create_connection(address) as connection:
        connection.sendall(b"hi\n")
        with connection.makefile("rb") as file:
            return file.readline()


@pytest.mark.parametrize(
    ("server", "handler", "client", "expected"),
    [
        (socketserver.TCPServer, Upper, line_of, b"HI\n"),
        (socketserver.ThreadingTCPServer, Upper, line_of, b"HI\n"),
        (http.server.HTTPServer, Page, page_of, b"ok"),
    ],
)
def test_servers_of_the_library(server: Any, handler: Any, client: Any, expected: bytes) -> None:
    def test() -> None:
        with server(("127.0.0.1", 0), handler) as running:
            thread = threading.Thread(target=running.serve_forever)
            thread.start()
            assert client(running.server_address) == expected
            running.shutdown()
            thread.join()

    result = treadle.explore(test, max_executions=10)
    assert result.failures == []
    assert result.executions == 10


# What is refused, at once

WRAPPED = "ssl.wrap_socket()" if hasattr(ssl, "wrap_socket") else "ssl.SSLContext.wrap_socket()"
REFUSED: dict[str, Callable[[], object]] = {
    "socket.socket()": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "socket.socketpair()": lambda: socket.socketpair(type=socket.SOCK_DGRAM),
    "socket.create_connection()": lambda: socket.create_connection(("192.0.2.1", 80)),
    "socket.bind()": lambda: socket.socket().bind(("192.0.2.1", 80)),
    "socket.sendmsg()": lambda: socket.socketpair()[0].sendmsg([b"x"]),
    "select.poll()": lambda: select.poll(),
    WRAPPED: lambda: ssl.create_default_context().wrap_socket(socket.socket()),
    "os.dup()": lambda: os.dup(os.pipe()[0]),
    "select.select()": lambda: select.select([0], [], []),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused_in_words_with_its_line(name: str) -> None:
    def test() -> None:
        with contextlib.suppress(Exception):  # whoever catches it
            REFUSED[name]()

    with pytest.raises(CannotBeExplored) as caught:
        treadle.explore(test)
    said = str(caught.value)
    assert said.startswith(f"test cannot be explored: it calls {name} at ")
    assert f"{Path(__file__).name}:" in said
    assert "both ends are in the test" in str(caught.value)


def test_a_server_outside_of_the_test_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as real:
        port = real.getsockname()[1]

        def test() -> None:
            socket.create_connection(("127.0.0.1", port))

        with pytest.raises(CannotBeExplored, match=f"a server outside of the test .port {port}."):
            treadle.explore(test)


def test_a_socket_from_before_stays_real_and_is_named() -> None:
    one, other = socket.socketpair()
    with one, other:

        def test() -> None:
            beside(lambda: one.send(b"x"))

        result = treadle.explore(test)
    assert result.ok
    assert [sentence.partition(" at ")[0] for sentence in result.escapes] == ["socket.send()"]


def test_sockets_are_real_again_afterwards() -> None:
    verify(lambda: through_a_pair() and None)
    one, other = socket.socketpair()
    with one, other:
        assert one.fileno() < 1_000_000
        one.sendall(b"x")
        assert other.recv(1) == b"x"

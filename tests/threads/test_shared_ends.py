"""One end of a socket or a pipe in several threads: what it is now is looked at in a step."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable

import pytest
from together import Look, looking, outcomes, together


def error_of(call: Callable[[], object]) -> object:
    """Return what a call returns, or the name of the error that it raises."""
    try:
        return call()
    except TimeoutError:
        return "timeout"
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def close_beside_write() -> Look:
    _reader, writer = os.pipe()
    return lambda: os.close(writer), lambda: error_of(lambda: os.write(writer, b"x"))


def close_beside_send() -> Look:
    one, other = socket.socketpair()
    return one.close, lambda: error_of(lambda: [one.send(b"x"), other][0])


def close_beside_number() -> Look:
    one, _other = socket.socketpair()
    return one.close, lambda: one.fileno() == -1


def option_beside_look() -> Look:
    one, _other = socket.socketpair()
    level, name = socket.SOL_SOCKET, socket.SO_KEEPALIVE
    return lambda: one.setsockopt(level, name, 1), lambda: one.getsockopt(level, name)


def timeout_beside_look() -> Look:
    one, _other = socket.socketpair()
    return lambda: one.settimeout(3), one.gettimeout


def connecting_beside_name() -> Look:
    server, client = socket.create_server(("127.0.0.1", 0)), socket.socket()
    return lambda: client.connect(server.getsockname()), lambda: isinstance(
        error_of(client.getpeername), tuple
    )


def end_beside_name() -> Look:
    """Who is reset because of what was not read has no peer any more."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    accepted, _ = server.accept()
    client.send(b"not read")
    return accepted.close, lambda: isinstance(error_of(client.getpeername), tuple)


def listener_beside_send() -> Look:
    """Connections that nobody accepted are reset."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    return server.close, lambda: error_of(lambda: client.send(b"x"))


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (close_beside_write, {1, "EBADF"}),
        (close_beside_send, {1, "EBADF"}),
        (close_beside_number, {False, True}),
        (option_beside_look, {0, 1}),
        (timeout_beside_look, {None, 3.0}),
        (connecting_beside_name, {False, True}),
        (end_beside_name, {False, True}),
        (listener_beside_send, {1, "ECONNRESET"}),
    ],
)
def test_both_orders_are_explored(make: Callable[[], Look], seen: set[object]) -> None:
    assert looking(make) == set(map(repr, seen))


def test_only_one_closes_a_descriptor() -> None:
    def program() -> list[object]:
        _reader, writer = os.pipe()
        found: list[object] = [None, None]

        def close(at: int) -> None:
            found[at] = error_of(lambda: os.close(writer))

        together(lambda: close(0), lambda: close(1))
        return found

    assert outcomes(program) == {"[None, 'EBADF']", "['EBADF', None]"}


def test_an_error_is_told_once_to_whoever_comes_first() -> None:
    def program() -> list[object]:
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        client.send(b"not read")
        accepted.close()
        found: dict[str, object] = {}

        def receive() -> None:
            found["recv"] = error_of(lambda: client.recv(1))

        def send() -> None:
            found["send"] = error_of(lambda: client.send(b"x"))

        together(receive, send)
        return [found["recv"], found["send"]]

    assert outcomes(program) == {"['ECONNRESET', 'EPIPE']", "[b'', 'ECONNRESET']"}

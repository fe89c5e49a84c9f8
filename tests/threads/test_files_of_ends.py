"""Sockets and pipes: files that threads share, ends that nobody has any more, many ports, flags."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import socket
from collections.abc import Callable
from typing import Any

import pytest
from together import outcomes, together

import treadle
from treadle.core.errors import CannotBeExplored


def files_of_socket(mode: str) -> tuple[Any, socket.socket]:
    one, other = socket.socketpair()
    file = one.makefile(mode)
    one.close()
    return file, other


def files_of_pipe(mode: str) -> tuple[Any, Any]:
    reader, writer = os.pipe()
    file = os.fdopen(reader if "r" in mode else writer, mode)
    return file, os.fdopen(writer if "r" in mode else reader, "wb" if "r" in mode else "rb")


def lines_of_two_threads() -> list[bytes]:
    file, other = files_of_socket("rb")
    lines: list[bytes] = [b"", b""]

    def read(index: int) -> None:
        lines[index] = file.readline()

    def write() -> None:
        other.sendall(b"a\n")
        other.sendall(b"b\n")

    together(lambda: read(0), lambda: read(1), write)
    return lines


def test_who_reads_a_file_waits_until_another_thread_has_read_its_line() -> None:
    assert outcomes(lines_of_two_threads) == {"[b'a\\n', b'b\\n']", "[b'b\\n', b'a\\n']"}


def text_of_two_threads() -> bytes:
    file, other = files_of_pipe("wb")
    together(lambda: file.write(b"a"), lambda: file.write(b"b"))
    file.close()
    with other:
        return bytes(other.read())


def test_two_threads_write_into_one_file_in_any_order() -> None:
    assert outcomes(text_of_two_threads) == {"b'ab'", "b'ba'"}


def test_a_file_in_both_directions_is_read_while_it_is_written() -> None:
    def program() -> None:
        file, other = files_of_socket("rwb")

        def write() -> None:
            file.write(b"x\n")
            file.flush()
            other.sendall(b"y\n")

        lines: list[bytes] = []
        together(lambda: lines.append(file.readline()), write)
        assert lines == [b"y\n"]
        assert other.recv(10) == b"x\n"

    assert treadle.explore(program).ok


def drop_pair() -> Callable[[], object]:
    _, other = socket.socketpair()
    return lambda: other.recv(1)


def drop_client() -> Callable[[], object]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        client.sendall(b"x")
        accepted, _ = listener.accept()
    accepted.recv(1)
    return lambda: accepted.recv(1)


def drop_connection() -> Callable[[], object]:
    _, other = multiprocessing.Pipe()

    def receive() -> bytes:
        try:
            return bytes(other.recv_bytes())
        except EOFError:
            return b""

    return receive


@pytest.mark.parametrize("drop", [drop_pair, drop_client, drop_connection])
def test_who_reads_finds_the_end_once_nobody_has_the_other_end(
    drop: Callable[[], Callable[[], object]],
) -> None:
    def program() -> None:
        receive = drop()
        found: list[object] = []
        together(lambda: found.append(receive()))
        assert found == [b""]

    assert treadle.explore(program).ok


def test_ports_are_taken_again_when_their_sockets_are_closed() -> None:
    def program() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            for _ in range(120):
                with socket.create_connection(listener.getsockname()) as client:
                    assert client.getsockname() != listener.getsockname()
                    listener.accept()[0].close()

    assert treadle.explore(program).ok


def open_many() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        clients = [socket.create_connection(listener.getsockname()) for _ in range(120)]
        assert len(clients) == 120


def send_urgently() -> None:
    one, _other = socket.socketpair()
    one.send(b"x", socket.MSG_OOB)


def connect_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        clients = [socket.socket(), socket.socket()]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(listener.getsockname())


def lock_a_pipe() -> None:
    reader, _ = os.pipe()
    fcntl.flock(reader, fcntl.LOCK_EX)


@pytest.mark.parametrize("program", [open_many, send_urgently, connect_at_once, lock_a_pipe])
def test_what_is_not_modelled_is_refused_in_words(program: Callable[[], None]) -> None:
    with pytest.raises(CannotBeExplored, match="is not modelled"):
        treadle.explore(program)


def test_the_flag_of_a_descriptor_says_whether_it_blocks() -> None:
    def program() -> None:
        reader, writer = os.pipe()
        flags = fcntl.fcntl(reader, fcntl.F_GETFL)
        assert flags == os.O_RDONLY
        assert fcntl.fcntl(writer, fcntl.F_GETFL) == os.O_WRONLY
        fcntl.fcntl(reader, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        assert not os.get_blocking(reader)
        assert fcntl.fcntl(reader, fcntl.F_GETFL) == flags | os.O_NONBLOCK
        with pytest.raises(BlockingIOError):
            os.read(reader, 1)

    assert treadle.explore(program).ok

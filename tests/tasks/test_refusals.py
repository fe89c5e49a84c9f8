"""What is not explored is refused in one sentence: the call, its line, and what to do instead."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.core.errors import TreadleError

loop = asyncio.get_running_loop
SOCKET: Any = object()
NOTHING: Any = object()
"""What is refused is not looked at."""


async def nothing() -> None:
    """Await nothing."""


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "add_reader": (lambda: loop().add_reader(0, print), "real sockets are not explored: use"),
    "sock_recv": (lambda: loop().sock_recv(SOCKET, 1), "real sockets are not explored"),
    "create_datagram_endpoint": (
        lambda: loop().create_datagram_endpoint(asyncio.DatagramProtocol, ("localhost", 1)),
        "datagrams are not explored: test the protocol's methods",
    ),
    "sock_connect(sock=...)": (
        lambda: loop().sock_connect(SOCKET, ("", 1)),
        "give a host and a port instead of a real socket",
    ),
    "create_connection(sock=...)": (
        lambda: loop().create_connection(asyncio.Protocol, sock=SOCKET),
        "give a host and a port instead of a real socket",
    ),
    "subprocess_exec": (
        lambda: asyncio.create_subprocess_exec("true"),
        "other processes are not explored: give the test a coroutine",
    ),
    "subprocess_shell": (lambda: asyncio.create_subprocess_shell("true"), "other processes are"),
    "add_signal_handler": (
        lambda: loop().add_signal_handler(2, print),
        "signals are not explored: call the handler from a task",
    ),
    "run_until_complete": (
        lambda: loop().run_until_complete(NOTHING),
        "the test runs on a loop of Treadle's own: await the coroutine",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_call_of_a_loop(name: str) -> None:
    call, advice = CALLS[name]

    async def test() -> None:
        found = call()
        if asyncio.iscoroutine(found):
            await found

    line = call.__code__.co_firstlineno
    with pytest.raises(TreadleError) as refused:
        treadle.explore(test)
    where = r"test_refusals\.py:(\d+)"
    found = re.match(rf"loop\.{re.escape(name)} at \S*{where}: (.*)", str(refused.value))
    assert found is not None, str(refused.value)
    assert int(found[1]) in (line, line + 1, test.__code__.co_firstlineno + 3)
    assert found[2].startswith(advice) or advice in found[2]
    assert "\n" not in str(refused.value)


def test_refusal_that_is_caught_is_one_nevertheless() -> None:
    async def test() -> None:
        try:
            await asyncio.create_subprocess_exec("true")
        except Exception:
            await treadle.pause()

    with pytest.raises(TreadleError, match=r"loop\.subprocess_exec at"):
        treadle.explore(test)


def test_exploring_inside_of_a_running_loop() -> None:
    async def outer() -> None:
        treadle.explore(nothing)

    words = r"is running here already at \S*test_refusals\.py:\d+: call"
    with pytest.raises(TreadleError, match=words):
        asyncio.run(outer())


def refused_by(test: Callable[[], Awaitable[Any]]) -> str:
    """Return the sentence with which a test is refused."""
    with pytest.raises(TreadleError) as refused:
        treadle.explore(test)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


def test_loop_inside_of_the_loop() -> None:
    async def runs() -> None:
        coroutine = nothing()
        try:
            asyncio.run(coroutine)
        finally:
            coroutine.close()

    async def makes() -> None:
        asyncio.new_event_loop()

    async def runner() -> None:
        with asyncio.Runner():
            pass

    for test, call in (
        (runs, "asyncio.run"),
        (makes, "new_event_loop"),
        (runner, "asyncio.Runner"),
    ):
        sentence = refused_by(test)
        assert re.search(rf"{call}\S* at \S*test_refusals\.py:\d+: .*await the coroutine", sentence)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="policies are deprecated there")
def test_own_policy() -> None:
    class Own(asyncio.DefaultEventLoopPolicy):
        """A policy of the test's own."""

    async def sets() -> None:
        asyncio.set_event_loop_policy(Own())

    assert re.search(
        r"asyncio.set_event_loop_policy at \S*test_refusals\.py:\d+: .* loop of Treadle's own",
        refused_by(sets),
    )
    asyncio.set_event_loop_policy(Own())
    try:
        sentence = refused_by(nothing)
    finally:
        asyncio.set_event_loop_policy(None)
    assert sentence.startswith("the event loop policy is ")
    assert "Own" in sentence


def test_nest_asyncio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the library: it puts its own functions into asyncio."""
    (tmp_path / "nest_asyncio.py").write_text(
        "import asyncio\n"
        "def apply(loop=None):\n"
        "    asyncio._nest_patched = True\n"
        "    def run(main, *, debug=False):\n"
        "        return asyncio.get_event_loop().run_until_complete(main)\n"
        "    asyncio.run = run\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(asyncio, "run", asyncio.run)
    monkeypatch.setattr(asyncio, "_nest_patched", False, raising=False)
    import nest_asyncio  # type: ignore[import-not-found]

    async def applies() -> None:
        nest_asyncio.apply()

    assert re.search(
        r"nest_asyncio.apply at \S*test_refusals\.py:\d+: .* await the coroutine",
        refused_by(applies),
    )
    nest_asyncio.apply()
    assert "nest_asyncio" in refused_by(nothing)


def test_outside_of_asyncio() -> None:
    async def connects() -> None:
        with socket.socket() as real:
            real.connect(("127.0.0.1", 9))

    async def handles() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    async def starts() -> None:
        subprocess.run(["true"], check=True)

    for test, words in (
        (connects, r"socket\.connect at \S*test_refusals\.py:\d+: real sockets are not explored"),
        (handles, r"signal\.signal at \S*test_refusals\.py:\d+: signals are not explored"),
        (
            starts,
            r"the test calls subprocess\.run\(\) at \S*test_refusals\.py:\d+: other processes",
        ),
    ):
        assert re.match(words, refused_by(test))

"""What only a real loop can do, each refused in one sentence: the call, its line, what to do."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.frames import is_of_the_user, place_of_frame
from treadle.core.words import place_in_words
from treadle.python.runtime import control
from treadle.threads.primitives.patches import Patches

_STREAMS = (
    "real sockets are not explored: use `asyncio.open_connection`, `start_server` or "
    "`create_connection`, which are in memory, or a stand-in whose delays are "
    "`await treadle.pause()`"
)
_DATAGRAMS = (
    "datagrams are not explored: test the protocol's methods, with `await treadle.pause()` between "
    "what is sent and what arrives"
)
_PROCESSES = (
    "other processes are not explored: give the test a coroutine in place of the process, whose "
    "delays are `await treadle.pause()`"
)
_SIGNALS = "signals are not explored: call the handler from a task, after `await treadle.pause()`"
_LOOPS = "the test runs on a loop of Treadle's own: await the coroutine, or make a task of it"
_EXECUTORS = (
    "functions given to an executor run as one step: leave the executor as it is, and explore "
    "its threads in a test that is no coroutine"
)

_ADVICE: dict[str, str] = {
    **dict.fromkeys(
        (
            "add_reader", "remove_reader", "add_writer", "remove_writer", "sock_recv",
            "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into", "sock_sendall", "sock_sendto",
            "sock_sendfile", "sock_accept", "sendfile", "connect_accepted_socket",
            "getnameinfo",
        ),
        _STREAMS,
    ),
    "create_datagram_endpoint": _DATAGRAMS,
    **dict.fromkeys(
        ("subprocess_exec", "subprocess_shell", "connect_read_pipe", "connect_write_pipe"),
        _PROCESSES,
    ),
    **dict.fromkeys(("add_signal_handler", "remove_signal_handler"), _SIGNALS),
    **dict.fromkeys(("run_forever", "run_until_complete", "stop", "close"), _LOOPS),
    "set_default_executor": _EXECUTORS,
}  # fmt: skip
"""Methods of loops, and what to do instead of calling them."""


_METHODS_OF_SOCKETS = (
    "accept", "bind", "connect", "connect_ex", "listen", "recv", "recv_into", "recvfrom", "send",
    "recvfrom_into", "recvmsg", "recvmsg_into", "sendall", "sendfile", "sendmsg", "sendto",
)  # fmt: skip
_MAKERS_OF_LOOPS = ("run", "Runner", "new_event_loop", "set_event_loop_policy")


def refuse(call: str, advice: str) -> NoReturn:
    """Refuse a call: say where it is, and what to do instead."""
    error = TreadleError(f"{call}{_where()}: {advice}")
    loop: Any = asyncio._get_running_loop()
    if hasattr(loop, "fatal"):  # noted, so that it is raised even if the test catches it
        loop.fatal = error
    raise error


def _where() -> str:
    """Return the line of the user's that is being run, to be read behind a call."""
    place = place_of_frame(sys._getframe(2), lambda file: not is_of_the_user(file))
    return f" at {place_in_words(place)}" if place is not None else ""


def _refusal(name: str) -> Callable[..., NoReturn]:
    """Return a method that refuses to do what a real loop does."""

    def refuse_it(*_: Any, **__: Any) -> NoReturn:
        refuse(f"loop.{name}", _ADVICE[name])

    return refuse_it


def _refusing(name: str) -> Callable[..., NoReturn]:
    """Return a function that refuses to make another loop, or to change which loops are made."""

    def refuse_it(*_: Any, **__: Any) -> NoReturn:
        refuse(name, _LOOPS)

    return refuse_it


def _refused_in_tests(original: Any, name: str, advice: str) -> Callable[..., Any]:
    """Return a version of something of the operating system's that tests cannot call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if control.current() is not None:
            refuse(name, advice)
        return original(*args, **kwargs)

    return call


def outside_calls() -> Patches:
    """Return what refuses to use real sockets and signals in a step."""
    methods = [
        (
            socket.socket,
            name,
            _refused_in_tests(getattr(socket.socket, name), f"socket.{name}", _STREAMS),
        )
        for name in _METHODS_OF_SOCKETS
    ]
    handler = _refused_in_tests(signal.signal, "signal.signal", _SIGNALS)
    return Patches(attributes=methods, references=[(signal.signal, handler)])


def other_loops() -> list[tuple[Any, Any]]:
    """Return what makes loops, or changes how they are made, and what refuses to do so."""
    found = [(getattr(asyncio, name), f"asyncio.{name}") for name in _MAKERS_OF_LOOPS]
    nest_asyncio = sys.modules.get("nest_asyncio")
    if nest_asyncio is not None:
        found.append((nest_asyncio.apply, "nest_asyncio.apply"))
    return [(original, _refusing(name)) for original, name in found]


def refuse_surroundings() -> None:
    """Refuse to explore while asyncio is not what it is."""
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return
    if asyncio._get_running_loop() is not None:
        raise TreadleError(
            f"an event loop is running here already{_where()}: call `explore` from a function that "
            f"is no coroutine"
        )
    if getattr(asyncio, "_nest_patched", False):
        raise TreadleError(
            "nest_asyncio was applied: it lets loops run inside of loops, which is not explored; "
            "do not apply it where tests are explored"
        )
    policy = getattr(asyncio.events, "_event_loop_policy", None)
    if policy is not None and type(policy).__module__.partition(".")[0] != "asyncio":
        raise TreadleError(
            f"the event loop policy is {type(policy).__module__}.{type(policy).__qualname__}, and "
            f"tests are explored on a loop of Treadle's own: call "
            f"`asyncio.set_event_loop_policy(None)` before"
        )


class Refusing(asyncio.AbstractEventLoop):
    """A loop that does nothing that needs the operating system."""

    for _name in _ADVICE:
        locals()[_name] = _refusal(_name)

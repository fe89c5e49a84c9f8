"""asyncio's event loop as a controlled thread: what `asyncio.run` runs on in a test with threads.

A guided tour. The loop is asyncio's own, `BaseEventLoop`, and so are its tasks and futures: only
the loop's thread touches them. What other threads give it (`call_soon_threadsafe`) goes into a
queue under control, whose operations are steps. The loop looks into it whenever it polls, and
before it schedules something itself: so what a thread puts may come between any two of the loop's
own. It waits for the queue when it has nothing to do, as long as the next timer allows. A pause of
the test is a thread that puts once. A task is not atomic here: another thread may come between any
two of its accesses.
"""

from __future__ import annotations

import asyncio
import asyncio.base_events
import asyncio.events
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.frames import awaiting_frames, is_of_the_user, place_of_frame
from treadle.core.program import Crash
from treadle.core.words import place_in_words
from treadle.python.accesses.foreign_code import goes_on
from treadle.python.accesses.outside_modules import NOT_SEEN
from treadle.python.runtime import control
from treadle.python.runtime.escapes import escapes
from treadle.threads.primitives.coroutines import close_coroutine
from treadle.threads.primitives.loop_state import (
    GETTERS,
    OPEN,
    RUNNING,
    SETTERS,
    SETTINGS,
    LoopState,
    changing,
    has_threads,
    is_asked_by_asyncio,
    looking,
)
from treadle.threads.primitives.patches import Patches
from treadle.threads.primitives.queues import SimpleQueue
from treadle.threads.primitives.running_loops import running_loops

_Base: Any = asyncio.base_events.BaseEventLoop
_NETWORK = (
    "create_connection", "create_server", "create_datagram_endpoint", "create_unix_connection",
    "create_unix_server", "sock_connect", "sock_accept", "sock_recv", "sock_sendall", "add_reader",
    "add_writer", "add_signal_handler", "subprocess_exec", "subprocess_shell", "getaddrinfo",
    "start_tls",
)  # fmt: skip


def _refusal(name: str) -> Callable[..., NoReturn]:
    """Return a method that refuses what is not explored beside threads."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        place = place_of_frame(sys._getframe(1), lambda file: not is_of_the_user(file))
        scheduler = control.the_program().scheduler
        scheduler.fatal = TreadleError(
            f"loop.{name} at {place_in_words(place)}: beside threads, event loops have no network, "
            f"processes or signals: use a stand-in whose delays are `await treadle.pause()`"
        )
        raise scheduler.fatal

    return refuse


class _Selector:
    """What a loop waits with: it takes what other threads have given."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        """Wait until something was given, or for so many seconds."""
        self._loop.take(timeout)
        return []


class _Given(asyncio.Handle):
    """What is given to a loop; to put it into words looks at nothing that is shared."""

    __slots__ = ()
    _callback: Any

    def __repr__(self) -> str:
        return f"{getattr(self._callback, '__qualname__', 'callback')}()"


class _Scheduled(asyncio.Handle):
    """What a loop calls: a task, above all, whose coroutine may be a library's."""

    __slots__ = ()
    _callback: Any

    def _run(self) -> None:
        task = getattr(self._callback, "__self__", None)
        coroutine = task.get_coro() if isinstance(task, asyncio.Task) else None
        goes_on(awaiting_frames(coroutine))
        super()._run()
        goes_on(awaiting_frames(coroutine))


class Loop(_Base):  # type: ignore[misc]
    """An event loop that runs in a controlled thread."""

    for _name in _NETWORK:
        locals()[_name] = _refusal(_name)
    for _name in SETTERS:
        locals()[_name] = changing(getattr(_Base, _name), SETTINGS)
    for _name in GETTERS:
        locals()[_name] = looking(getattr(_Base, _name), SETTINGS)
    is_closed = looking(_Base.is_closed, OPEN)
    close = changing(_Base.close, OPEN)

    def __init__(self) -> None:
        self.state = LoopState()
        self._maker = control.current()
        self._runs = False
        """Whether others see it run."""
        super().__init__()
        self._selector = _Selector(self)
        self._given = SimpleQueue()
        self._given_unsafely = SimpleQueue()
        """What another thread scheduled by `call_soon`, which wakes nobody."""
        for given in (self._given, self._given_unsafely):
            control.publish(given, "ready queue")
        running_loops.watch(self)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; that the test sets one while another thread may look is named."""
        is_own = name.startswith("_") or name == "state"
        is_inside = is_own or asyncio._get_running_loop() is self
        if not is_inside and has_threads() and not is_asked_by_asyncio():
            escapes.add(NOT_SEEN.format("an event loop"), "loop.__setattr__")
        super().__setattr__(name, value)

    # What other threads give

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Any:
        """Give the loop something to call."""
        if asyncio._get_running_loop() is not self:
            self.state.look(OPEN)
        return self._give(self._given, callback, args, context)

    def _give(self, to: SimpleQueue, callback: Any, args: Any, context: Any) -> Any:
        self._check_closed()
        for value in (callback, *args):
            control.publish(value, "callback")
        handle = _Given(callback, args, self, context)
        to.put(handle)
        return handle

    def arrival(self, callback: Callable[..., object], *args: Any) -> Any:
        """Let a callback come from outside, some time from now on; return who brings it."""
        thread = threading.Thread(target=self._arrive, args=(callback, *args), daemon=True)
        thread.start()
        return thread

    def _arrive(self, callback: Callable[..., object], *args: Any) -> None:
        if not self._closed:
            self._give(self._given, callback, args, None)

    # What the loop takes

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        """Schedule something behind all that was given before."""
        if asyncio._get_running_loop() is not self and self._thread_id is not None:
            return self._give(self._given_unsafely, callback, args, context)
        self.take(0)
        return super().call_soon(callback, *args, context=context)

    def _call_soon(self, callback: Any, args: Any, context: Any) -> Any:
        handle = _Scheduled(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def take(self, timeout: float | None) -> None:
        """Take all that was given; wait for the first of it if told to."""
        if self._drain(self._given_unsafely):
            timeout = 0
        if timeout is None or timeout > 0:
            try:
                self._ready.append(self._given.get(timeout=timeout))
            except queue.Empty:
                return
        self._drain(self._given)

    def _drain(self, given: SimpleQueue) -> bool:
        """Take all that is there; tell whether there was anything."""
        before = len(self._ready)
        try:
            while True:
                self._ready.append(given.get_nowait())
        except queue.Empty:
            return len(self._ready) > before

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing: what was given is in the queue already."""

    def _write_to_self(self) -> None:
        """Do nothing: whoever gives something wakes the loop by that."""

    # The beginning and the end

    def is_running(self) -> bool:
        """Tell whether it runs; asyncio itself is told what it has noted."""
        if is_asked_by_asyncio():
            return bool(super().is_running())
        self.state.look(RUNNING)
        return self._runs

    def run_forever(self) -> None:
        """Run until somebody stops it."""
        if control.current() is not self._maker:  # who may have closed it
            self.state.look(OPEN)
        self.state.change(RUNNING)
        self._runs = True
        try:
            super().run_forever()
        finally:
            self.state.change(RUNNING)
            self._runs = False

    def run_until_complete(self, future: Any) -> Any:
        """Run until something is done; what an execution that is unwound leaves is closed."""
        try:
            return super().run_until_complete(future)
        finally:
            if control.the_program().scheduler.aborting and asyncio.iscoroutine(future):
                close_coroutine(future)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait in a thread until the functions given to the executor have ended."""
        del timeout
        self._executor_shutdown_called = True
        executor = self._default_executor
        if executor is not None:
            done = self.create_future()

            def shut_down() -> None:
                executor.shutdown(wait=True)
                self._arrive(done.set_result, None)

            threading.Thread(target=shut_down, daemon=True).start()
            await done

    def let_go(self) -> None:
        """Close what an execution has left: coroutines, and the loop if it was cut short there."""
        for task in asyncio.all_tasks(self):
            close_coroutine(task.get_coro())
        self._thread_id = None
        _Base.close(self)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Make an exception that a loop only logs a finding, whoever is told of it."""
        me, error = control.current(), context.get("exception")
        if me is None or error is None:
            return
        scheduler = control.the_program().scheduler
        if not scheduler.aborting:
            if self._exception_handler is not None:
                super().call_exception_handler(context)
            error.add_note(str(context.get("message")))
            scheduler.crashes.append(Crash.of(me.number, scheduler.steps, error))


def _new_event_loop(self: Any) -> Any:
    """Return a loop that is under control, if a controlled thread asks for one."""
    if control.current() is None:
        return _original(self)
    return Loop()


_events: Any = asyncio.events
_Policy: Any = getattr(_events, "BaseDefaultEventLoopPolicy", None) or getattr(
    _events, "_BaseDefaultEventLoopPolicy", None
)
_original = _Policy.new_event_loop
PATCHES = Patches(attributes=[(_Policy, "new_event_loop", _new_event_loop)])

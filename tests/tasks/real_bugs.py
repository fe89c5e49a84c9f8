"""Defects that released asyncio libraries had, each rebuilt as a small program, with its repair.

Each row is a pair of coroutine functions: the test with the defect, and the same test with the
repair. What a library does over a network is a pause.
"""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, create_task, gather
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from treadle import pause

Test = Callable[[], Awaitable[Any]]
Pair = tuple[Test, Test]


def pair(test: Callable[[Any], Awaitable[Any]], broken: Any, mended: Any) -> Pair:
    """Return the test with the defect, and with the repair."""

    async def with_defect() -> Any:
        return await test(broken)

    async def with_repair() -> Any:
        return await test(mended)

    return with_defect, with_repair


async def settle(task: asyncio.Task[Any]) -> None:
    """Wait until a task is done, however it ends."""
    await asyncio.wait({task})


async def cancel_some_time(task: asyncio.Task[Any]) -> bool:
    """Cancel a task after a delay; tell whether it was asked in time."""
    await pause()
    return task.cancel()


async def acquire_anyway(lock: Any) -> None:
    """Acquire a lock, cancelled or not."""
    while True:
        try:
            await lock.acquire()
            return
        except CancelledError:
            continue


# A condition's notification against a cancellation


class Condition(asyncio.Condition):
    """A condition whose waiter, notified and cancelled at once, keeps the notification."""

    passes_on = False

    async def wait(self) -> bool:  # type: ignore[override]
        self.release()
        future = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        try:
            try:
                await future
            finally:
                self._waiters.remove(future)
        except CancelledError:
            await acquire_anyway(self)
            if self.passes_on and future.done() and not future.cancelled():
                self.notify()
            raise
        await acquire_anyway(self)
        return True


class MendedCondition(Condition):
    """A condition that passes a notification on if its waiter cannot use it."""

    passes_on = True


async def notified_and_cancelled(kind: type[Condition]) -> Any:
    condition = kind()
    items: list[str] = []

    async def take() -> Any:
        async with condition:
            await condition.wait_for(lambda: bool(items))
            return items.pop()

    async def put() -> None:
        await pause()
        async with condition:
            items.append("item")
            condition.notify()

    first, second = create_task(take()), create_task(take())
    await gather(put(), cancel_some_time(first))
    await settle(first)
    if first.cancelled():
        return await second
    second.cancel()
    await settle(second)
    return first.result()


# The same in another library's condition


class EventCondition:
    """A condition of one event per waiter: a cancelled waiter forgets that it was notified."""

    passes_on = False

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiters: deque[asyncio.Event] = deque()

    async def wait(self) -> None:
        event = asyncio.Event()
        self.waiters.append(event)
        self.lock.release()
        try:
            await event.wait()
        except BaseException:
            if not event.is_set():
                self.waiters.remove(event)
            elif self.passes_on:
                self.notify()
            raise
        finally:
            await acquire_anyway(self.lock)

    def notify(self) -> None:
        if self.waiters:
            self.waiters.popleft().set()


class MendedEventCondition(EventCondition):
    """One that passes the notification on."""

    passes_on = True


async def event_condition(kind: type[EventCondition]) -> Any:
    condition = kind()
    tokens = 0

    async def take() -> str:
        nonlocal tokens
        async with condition.lock:
            while not tokens:
                await condition.wait()
            tokens -= 1
        return "taken"

    async def give() -> None:
        nonlocal tokens
        await pause()
        async with condition.lock:
            await pause()
            tokens += 1
            condition.notify()

    first, second = create_task(take()), create_task(take())
    await gather(give(), cancel_some_time(first))
    await settle(first)
    if first.cancelled():
        return await second
    second.cancel()
    await settle(second)
    return first.result()


# A wait with a timeout swallows a cancellation


async def swallowing_wait_for(coroutine: Any, seconds: float) -> Any:
    """Wait with a timeout; a cancellation is lost if the result has just come."""
    loop = asyncio.get_running_loop()
    waiter, inner = loop.create_future(), create_task(coroutine)
    timer = loop.call_later(seconds, _release, waiter)
    inner.add_done_callback(lambda _: _release(waiter))
    try:
        try:
            await waiter
        except CancelledError:
            if inner.done():
                return inner.result()
            inner.cancel()
            raise
        if inner.done():
            return inner.result()
        inner.cancel()
        await settle(inner)
        raise TimeoutError
    finally:
        timer.cancel()


def _release(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def mended_wait_for(coroutine: Any, seconds: float) -> Any:
    """Wait with a timeout."""
    async with asyncio.timeout(seconds):
        return await coroutine


async def timeout_and_cancellation(wait_for: Any) -> Any:
    async def answer() -> int:
        await pause()
        return 42

    async def client() -> str:
        await wait_for(answer(), 100)
        await pause()
        return "went on"

    task = create_task(client())
    was_asked = await cancel_some_time(task)
    await settle(task)
    assert task.cancelled() or not was_asked, "a cancellation was swallowed"


# The same in a connection pool


class SwallowingPool:
    """A pool that gives a cancelled task its connection."""

    def __init__(self) -> None:
        self.free: asyncio.Queue[str] = asyncio.Queue()

    async def get(self) -> str:
        getting = create_task(self.free.get())
        try:
            await asyncio.wait({getting})
        except CancelledError:
            if getting.done():
                return getting.result()
            getting.cancel()
            raise
        return getting.result()


class MendedPool(SwallowingPool):
    """A pool that takes the connection back instead."""

    async def get(self) -> str:
        getting = create_task(self.free.get())
        try:
            await asyncio.wait({getting})
        except CancelledError:
            if getting.done():
                self.free.put_nowait(getting.result())
            getting.cancel()
            raise
        return getting.result()


async def pool_and_cancellation(kind: type[SwallowingPool]) -> Any:
    pool = kind()

    async def client() -> None:
        connection = await pool.get()
        await asyncio.Event().wait()  # a stream that ends when the client does
        pool.free.put_nowait(connection)

    async def give_back() -> None:
        await pause()
        pool.free.put_nowait("connection")

    task = create_task(client())
    await gather(give_back(), cancel_some_time(task))
    async with asyncio.timeout(1000):
        await settle(task)


# A semaphore that a cancelled waiter leaves locked


class Semaphore:
    """A semaphore that remembers that somebody was woken, and forgets it if they run."""

    def __init__(self) -> None:
        self.value = 1
        self.waiters: deque[asyncio.Future[None]] = deque()
        self.woken = False

    def wake(self) -> None:
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self.woken = True
                return

    async def acquire(self) -> None:
        while self.woken or self.value <= 0:
            waiter = asyncio.get_running_loop().create_future()
            self.waiters.append(waiter)
            try:
                await waiter
                self.woken = False
            except CancelledError:
                self.cancelled(waiter)
                raise
        self.value -= 1

    def cancelled(self, waiter: asyncio.Future[None]) -> None:
        del waiter
        self.wake()

    def release(self) -> None:
        self.value += 1
        self.wake()


class MendedSemaphore(Semaphore):
    """One whose cancelled waiter hands on that it was woken."""

    def cancelled(self, waiter: asyncio.Future[None]) -> None:
        if waiter in self.waiters:
            self.waiters.remove(waiter)
        elif not waiter.cancelled():
            self.woken = False
            if self.value > 0:
                self.wake()


async def semaphore(kind: type[Semaphore]) -> Any:
    units = kind()

    async def use() -> None:
        await units.acquire()
        try:
            await pause()
        finally:
            units.release()

    first, second = create_task(use()), create_task(use())
    await cancel_some_time(second)
    await settle(first)
    await settle(second)
    await units.acquire()


# A limiter loses a token with a cancelled waiter


class Limiter:
    """A limiter that hands a token to a waiter when another one gives it back."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        if self.tokens and not self.waiters:
            self.tokens -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        try:
            await waiter
        except CancelledError:
            self.cancelled(waiter)
            raise

    def cancelled(self, waiter: asyncio.Future[None]) -> None:
        if waiter in self.waiters:
            self.waiters.remove(waiter)

    def release(self) -> None:
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.tokens += 1


class MendedLimiter(Limiter):
    """One whose cancelled waiter gives back the token that it got."""

    def cancelled(self, waiter: asyncio.Future[None]) -> None:
        super().cancelled(waiter)
        if not waiter.cancelled():
            self.release()


async def limiter(kind: type[Limiter]) -> Any:
    tokens = kind(1)

    async def use() -> None:
        await tokens.acquire()
        try:
            await pause()
        finally:
            tokens.release()

    first, second = create_task(use()), create_task(use())
    await cancel_some_time(second)
    await settle(first)
    await settle(second)
    assert tokens.tokens == 1, "a token is lost"


# A lock strands a waiter behind a cancelled one


class Lock:
    """A lock whose cancelled waiter wakes the first of the queue: itself."""

    def __init__(self) -> None:
        self.is_held = False
        self.waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        if not self.is_held and all(waiter.cancelled() for waiter in self.waiters):
            self.is_held = True
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        await self.wait(waiter)
        self.is_held = True

    async def wait(self, waiter: asyncio.Future[None]) -> None:
        try:
            await waiter
        except CancelledError:
            if not self.is_held:
                self.wake()
            raise
        finally:
            self.waiters.remove(waiter)

    def release(self) -> None:
        self.is_held = False
        self.wake()

    def wake(self) -> None:
        if self.waiters and not self.waiters[0].done():
            self.waiters[0].set_result(None)


class MendedLock(Lock):
    """One that leaves the queue before it wakes the first."""

    async def wait(self, waiter: asyncio.Future[None]) -> None:
        try:
            try:
                await waiter
            finally:
                self.waiters.remove(waiter)
        except CancelledError:
            if not self.is_held:
                self.wake()
            raise


async def lock(kind: type[Lock]) -> Any:
    held, order = kind(), []

    async def use(name: str) -> None:
        await held.acquire()
        try:
            order.append(name)
            await pause()
        finally:
            held.release()

    tasks = [create_task(use(name)) for name in "abc"]
    await cancel_some_time(tasks[1])
    for task in tasks:
        await settle(task)
    assert order[-1] == "c"


# A limiter grants a token twice


class GenerousLimiter:
    """A limiter that counts a token as taken only when whoever was woken runs."""

    def __init__(self) -> None:
        self.free = 1
        self.promised = 0
        self.waiters: deque[asyncio.Future[None]] = deque()

    def available(self) -> int:
        return self.free

    async def acquire(self) -> None:
        if self.available() > 0:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        await waiter
        self.promised -= 1
        self.free -= 1

    def release(self) -> None:
        self.free += 1
        if self.waiters:
            self.promised += 1
            self.waiters.popleft().set_result(None)


class MendedGenerousLimiter(GenerousLimiter):
    """One that counts what it has promised."""

    def available(self) -> int:
        return self.free - self.promised


async def granted_twice(kind: type[GenerousLimiter]) -> Any:
    tokens, inside = kind(), 0

    async def use() -> None:
        nonlocal inside
        await tokens.acquire()
        inside += 1
        assert inside == 1, "two hold the only token"
        await pause()
        inside -= 1
        tokens.release()

    async def late() -> None:
        await pause()
        await use()

    await gather(use(), use(), late())


# A connection pool loses a wakeup


class Pool:
    """A pool that wakes a waiter when a connection is given back."""

    def __init__(self) -> None:
        self.free = ["connection"]
        self.waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> str:
        while not self.free:
            waiter = asyncio.get_running_loop().create_future()
            self.waiters.append(waiter)
            try:
                await waiter
            except CancelledError:
                self.cancelled(waiter)
                raise
        return self.free.pop()

    def cancelled(self, waiter: asyncio.Future[None]) -> None:
        if waiter in self.waiters:
            self.waiters.remove(waiter)

    def release(self, connection: str) -> None:
        self.free.append(connection)
        self.wake()

    def wake(self) -> None:
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


class WakingPool(Pool):
    """One whose cancelled waiter wakes another one."""

    def cancelled(self, waiter: asyncio.Future[None]) -> None:
        super().cancelled(waiter)
        if self.free:
            self.wake()


async def lost_wakeup(kind: type[Pool]) -> Any:
    pool = kind()

    async def use() -> None:
        connection = await pool.acquire()
        try:
            await pause()
        finally:
            pool.release(connection)

    tasks = [create_task(use()) for _ in range(3)]
    await cancel_some_time(tasks[1])
    for task in tasks:
        await settle(task)


# The same pool strands a waiter


class ConnectingPool(WakingPool):
    """A pool that opens connections: one that cannot be opened wakes nobody."""

    wakes = False

    def __init__(self) -> None:
        super().__init__()
        self.free = []
        self.room = 1

    async def acquire(self) -> str:
        if self.free or not self.room:
            return await super().acquire()
        self.room -= 1
        try:
            await pause()
        except CancelledError:
            self.room += 1
            if self.wakes:
                self.wake()
            raise
        return "connection"


class MendedConnectingPool(ConnectingPool):
    """One that lets a waiter try if there is room again."""

    wakes = True

    async def acquire(self) -> str:
        while True:
            if self.free or self.room:
                return await super().acquire()
            waiter = asyncio.get_running_loop().create_future()
            self.waiters.append(waiter)
            try:
                await waiter
            except CancelledError:
                self.cancelled(waiter)
                raise


async def stranded(kind: type[ConnectingPool]) -> Any:
    pool = kind()

    async def use() -> None:
        pool.release(await pool.acquire())

    first, second = create_task(use()), create_task(use())
    await cancel_some_time(first)
    await settle(first)
    await second


# A queue's join spins


class JoinedQueue:
    """A queue whose `join` waits for an event that nobody clears."""

    clears = False

    def __init__(self) -> None:
        self.unfinished = 0
        self.finished = asyncio.Event()
        self.finished.set()

    def put(self) -> None:
        self.unfinished += 1
        if self.clears:
            self.finished.clear()

    def done(self) -> None:
        self.unfinished -= 1
        if not self.unfinished:
            self.finished.set()

    async def join(self) -> None:
        while self.unfinished:
            await self.finished.wait()


class MendedJoinedQueue(JoinedQueue):
    """One that clears it."""

    clears = True


async def join_spins(kind: type[JoinedQueue]) -> Any:
    queue = kind()

    async def work() -> None:
        await asyncio.to_thread(len, "work")
        queue.done()

    queue.put()
    worker = create_task(work())
    await queue.join()
    await worker


# A done callback raises, its caller waits for ever


def forward(source: asyncio.Future[Any], to: asyncio.Future[Any]) -> None:
    """Hand a result on; raises if the source was cancelled or has failed."""
    to.set_result(source.result())


def mended_forward(source: asyncio.Future[Any], to: asyncio.Future[Any]) -> None:
    """Hand a result on, or that there is none."""
    if to.done():
        return
    if source.cancelled():
        to.cancel()
    else:
        to.set_result(source.result())


async def callback_raises(hand_on: Any) -> Any:
    async def fetch() -> str:
        await pause()
        return "page"

    answer = asyncio.get_running_loop().create_future()
    fetching = create_task(fetch())
    fetching.add_done_callback(lambda source: hand_on(source, answer))
    await cancel_some_time(fetching)
    await settle(answer)  # type: ignore[arg-type]


# A cancelled command leaves its reply to the next


class Connection:
    """A connection on which replies come in the order of the commands."""

    def __init__(self) -> None:
        self.replies: asyncio.Queue[str] = asyncio.Queue()
        self.server: set[asyncio.Task[None]] = set()

    async def serve(self, command: str) -> None:
        await pause()
        self.replies.put_nowait(f"reply to {command}")

    async def execute(self, command: str) -> str:
        self.server.add(create_task(self.serve(command)))
        return await self.replies.get()


class MendedConnection(Connection):
    """One that reads what a cancelled command left behind before it is used again."""

    left = 0

    async def execute(self, command: str) -> str:
        while self.left:
            await self.replies.get()
            self.left -= 1
        self.server.add(create_task(self.serve(command)))
        self.left += 1
        reply = await self.replies.get()
        self.left -= 1
        return reply


async def reply_to_the_next(kind: type[Connection]) -> Any:
    connection = kind()
    first = create_task(connection.execute("first"))
    await cancel_some_time(first)
    await settle(first)
    assert await connection.execute("second") == "reply to second"


# A cut-off computed outside of the lock


class Log:
    """A log that is cut to its last two entries, behind a lock."""

    def __init__(self) -> None:
        self.entries = [0, 1, 2, 3]
        self.lock = asyncio.Lock()

    async def trim(self) -> None:
        excess = len(self.entries) - 2
        async with self.lock:
            await pause()
            del self.entries[:excess]


class MendedLog(Log):
    """One that looks at its length inside of the lock."""

    async def trim(self) -> None:
        async with self.lock:
            await pause()
            del self.entries[: max(0, len(self.entries) - 2)]


async def cut_off(kind: type[Log]) -> Any:
    log = kind()

    async def write(entry: int) -> None:
        await pause()
        log.entries.append(entry)
        await log.trim()

    await gather(write(4), write(5))
    assert len(log.entries) == 2, log.entries


ROWS: dict[str, Pair] = {
    "a condition's notification against a cancellation": pair(
        notified_and_cancelled, Condition, MendedCondition
    ),
    "the same in another library's condition": pair(
        event_condition, EventCondition, MendedEventCondition
    ),
    "a wait with a timeout swallows a cancellation": pair(
        timeout_and_cancellation, swallowing_wait_for, mended_wait_for
    ),
    "the same in a connection pool": pair(pool_and_cancellation, SwallowingPool, MendedPool),
    "a semaphore that a cancelled waiter leaves locked": pair(
        semaphore, Semaphore, MendedSemaphore
    ),
    "a limiter loses a token with a cancelled waiter": pair(limiter, Limiter, MendedLimiter),
    "a lock strands a waiter behind a cancelled one": pair(lock, Lock, MendedLock),
    "a limiter grants a token twice": pair(granted_twice, GenerousLimiter, MendedGenerousLimiter),
    "a connection pool loses a wakeup": pair(lost_wakeup, Pool, WakingPool),
    "the same pool strands a waiter": pair(stranded, ConnectingPool, MendedConnectingPool),
    "a queue's join spins": pair(join_spins, JoinedQueue, MendedJoinedQueue),
    "a done callback raises, its caller waits for ever": pair(
        callback_raises, forward, mended_forward
    ),
    "a cancelled command leaves its reply to the next": pair(
        reply_to_the_next, Connection, MendedConnection
    ),
    "a cut-off computed outside of the lock": pair(cut_off, Log, MendedLog),
}

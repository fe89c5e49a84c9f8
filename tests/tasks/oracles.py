"""Small asyncio programs of which it is known how many classes and final states they have.

Each is a coroutine function without parameters; `gap` is a pause where the queue is FIFO, and one
turn of the loop where any ready task may be next.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import create_task, gather, sleep
from collections.abc import Awaitable, Callable
from typing import Any

import treadle

Test = Callable[[], Awaitable[Any]]


class S:
    """Something shared."""

    x: Any = 0


def programs(order: str) -> dict[str, Test]:
    """Return the programs by name."""

    def gap() -> Any:
        return treadle.pause() if order == "fifo" else sleep(0)

    def rw(n: int, before: int = 0) -> Test:
        async def test() -> Any:
            s = S()
            s.x = 0

            async def inc() -> None:
                for _ in range(before):
                    await gap()
                t = s.x
                await gap()
                s.x = t + 1

            await gather(*[inc() for _ in range(n)])
            return s.x

        return test

    def readers(n: int) -> Test:
        async def test() -> Any:
            s = S()
            s.x = 0

            async def w() -> None:
                await gap()
                s.x = 1

            async def r() -> Any:
                await gap()
                return s.x

            return (await gather(w(), *[r() for _ in range(n)]))[1:]

        return test

    def independent(n: int, k: int) -> Test:
        async def test() -> Any:
            async def one() -> None:
                for _ in range(k):
                    await gap()

            await gather(*[one() for _ in range(n)])

        return test

    def locked(n: int, units: int = 0) -> Test:
        async def test() -> Any:
            lock: Any = asyncio.Semaphore(units) if units else asyncio.Lock()
            order: list[int] = []

            async def inc(i: int) -> None:
                await gap()
                async with lock:
                    order.append(i)
                    await gap()

            await gather(*[inc(i) for i in range(n)])
            return order

        return test

    def philosophers(n: int) -> Test:
        async def test() -> Any:
            forks = [asyncio.Lock() for _ in range(n)]
            order: list[int] = []

            async def phil(i: int) -> None:
                await gap()
                async with forks[i]:
                    await gap()
                    async with forks[(i + 1) % n]:
                        order.append(i)

            await gather(*[phil(i) for i in range(n)])
            return len(order)

        return test

    def lastzero(n: int) -> Test:
        async def test() -> Any:
            a = [0] * (n + 1)

            async def zero() -> int:
                i = n
                await gap()
                while a[i] != 0:
                    i -= 1
                    await gap()
                return i

            async def w(j: int) -> None:
                await gap()
                a[j] = a[j - 1] + 1

            return (await gather(zero(), *[w(j) for j in range(1, n + 1)]))[0], a

        return test

    def queue(p: int, c: int, size: int = 0) -> Test:
        async def test() -> Any:
            q: asyncio.Queue[int] = asyncio.Queue(size)
            got: list[int] = []

            async def prod(i: int) -> None:
                await gap()
                await q.put(i)

            async def cons() -> None:
                for _ in range(p // c):
                    await gap()
                    got.append(await q.get())

            await gather(*[prod(i) for i in range(p)], *[cons() for _ in range(c)])
            return got

        return test

    async def event() -> Any:
        e = asyncio.Event()

        async def on() -> None:
            await gap()
            e.set()

        async def off() -> None:
            await gap()
            e.clear()

        async def w() -> bool:
            await e.wait()
            return e.is_set()

        t = create_task(w())
        await gather(on(), off())
        return await t

    async def condition() -> Any:
        c = asyncio.Condition()
        items: list[int] = []

        async def get() -> int:
            async with c:
                await c.wait_for(lambda: items)
                return items.pop()

        async def put(i: int) -> None:
            await gap()
            async with c:
                items.append(i)
                c.notify()

        return (await gather(get(), get(), put(1), put(2)))[:2]

    async def barrier() -> Any:
        b = asyncio.Barrier(2)

        async def one() -> int:
            await gap()
            return await b.wait()

        return await gather(one(), one())

    async def cancel() -> Any:
        q: asyncio.Queue[int] = asyncio.Queue()
        t = create_task(q.get())

        async def put() -> None:
            await gap()
            q.put_nowait(1)

        async def stop() -> None:
            await gap()
            t.cancel()

        await gather(put(), stop())
        await asyncio.wait({t})
        return t.cancelled(), q.qsize()

    async def early() -> Any:
        log: list[str] = []

        async def w() -> None:
            log.append("started")
            try:
                await sleep(9)
            finally:
                log.append("ended")

        t = create_task(w())
        await sleep(0)
        t.cancel()
        await asyncio.wait({t})
        return log

    async def timeout() -> Any:
        async def op() -> str:
            await gap()
            return "answer"

        try:
            return await asyncio.wait_for(op(), 5)
        except TimeoutError:
            return "timeout"

    async def day() -> Any:
        async with asyncio.timeout(86400):
            await gap()

    def sleeps(*delays: int) -> Test:
        async def test() -> Any:
            log: list[int] = []

            async def one(i: int, d: int) -> None:
                await sleep(d)
                log.append(i)

            await gather(*[one(i, d) for i, d in enumerate(delays)])
            return log

        return test

    async def after() -> Any:
        log: list[str] = []

        async def a() -> None:
            await gap()
            await sleep(1)
            log.append("a")

        async def b() -> None:
            await sleep(3)
            log.append("b")

        await gather(a(), b())
        return log

    async def group() -> Any:
        log: list[str] = []

        async def bad() -> None:
            await gap()
            raise ValueError

        async def other() -> None:
            try:
                await gap()
                log.append("done")
            except asyncio.CancelledError:
                log.append("cancelled")
                raise

        try:
            async with asyncio.TaskGroup() as g:
                g.create_task(bad())
                g.create_task(other())
        except* ValueError:
            pass
        return log

    async def first() -> Any:
        async def r(i: int) -> int:
            await gap()
            return i

        tasks = [create_task(r(0)), create_task(r(1))]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        result = [t in done for t in tasks]
        if pending:
            await asyncio.wait(pending)
        return result

    async def completed() -> Any:
        async def r(i: int) -> int:
            await gap()
            return i

        return [await f for f in asyncio.as_completed([r(0), r(1)])]

    async def shield() -> Any:
        log: list[str] = []

        async def inner() -> None:
            await gap()
            log.append("inner")

        i = create_task(inner())

        async def outer() -> None:
            await asyncio.shield(i)

        o = create_task(outer())

        async def stop() -> None:
            await gap()
            o.cancel()

        await gather(stop(), asyncio.wait({o}))
        await i
        return o.cancelled(), log

    async def fails() -> Any:
        async def bad(i: int) -> None:
            await gap()
            raise ValueError(i)

        try:
            await gather(bad(0), bad(1))
        except ValueError as error:
            return error.args

    async def soon() -> Any:
        log: list[int] = []
        loop = asyncio.get_running_loop()
        for i in range(3):
            loop.call_soon(log.append, i)
        await sleep(0)
        await sleep(0)
        return log

    async def hops() -> Any:
        log: list[str] = []

        async def a() -> None:
            await gap()
            log.append("a")

        async def b() -> None:
            await gap()
            await sleep(0)
            log.append("b")

        await gather(a(), b())
        return log

    async def agen() -> Any:
        async def g() -> Any:
            for i in range(2):
                await gap()
                yield i

        it = g()

        async def one() -> Any:
            try:
                return await anext(it)
            except RuntimeError:
                return "busy"

        return await gather(one(), one())

    async def executor() -> Any:
        s = S()
        s.x = 0

        async def one(i: int) -> None:
            v = await asyncio.get_running_loop().run_in_executor(None, lambda: i)
            s.x = s.x * 10 + v

        await gather(one(1), one(2))
        return s.x

    return {
        "rw(2)": rw(2),
        "rw(3)": rw(3),
        "grw(2)": rw(2, 1),
        "readers(1)": readers(1),
        "readers(2)": readers(2),
        "readers(3)": readers(3),
        "readers(4)": readers(4),
        "independent(3,1)": independent(3, 1),
        "independent(2,2)": independent(2, 2),
        "locked(2)": locked(2),
        "locked(3)": locked(3),
        "philosophers(2)": philosophers(2),
        "philosophers(3)": philosophers(3),
        "lastzero(2)": lastzero(2),
        "lastzero(3)": lastzero(3),
        "queue(2,1)": queue(2, 1),
        "queue(2,2)": queue(2, 2),
        "queue(2,1,1)": queue(2, 1, 1),
        "event": event,
        "semaphore": locked(3, 2),
        "condition": condition,
        "barrier": barrier,
        "cancel": cancel,
        "early": early,
        "timeout": timeout,
        "day": day,
        "sleeps(1,2)": sleeps(1, 2),
        "sleeps(1,1)": sleeps(1, 1),
        "sleeps(1,1,2)": sleeps(1, 1, 2),
        "after": after,
        "group": group,
        "first": first,
        "completed": completed,
        "shield": shield,
        "fails": fails,
        "soon": soon,
        "hops": hops,
        "agen": agen,
        "executor": executor,
    }


# program: (classes in fifo, final states), (classes in any, final states)
EXPECTED: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "rw(2)": ((2, 1), (4, 2)),
    "rw(3)": ((6, 1), (36, 3)),
    "grw(2)": ((4, 2), (4, 2)),
    "readers(1)": ((2, 2), (2, 2)),
    "readers(2)": ((4, 4), (4, 4)),
    "readers(3)": ((8, 8), (8, 8)),
    "readers(4)": ((16, 16), (16, 16)),
    "independent(3,1)": ((1, 1), (1, 1)),
    "independent(2,2)": ((1, 1), (1, 1)),
    "locked(2)": ((4, 2), (4, 2)),
    "locked(3)": ((36, 6), (36, 6)),
    "philosophers(2)": ((3, 2), (3, 2)),
    "philosophers(3)": ((13, 2), (16, 2)),
    "lastzero(2)": ((5, 5), (5, 5)),
    "lastzero(3)": ((12, 12), (12, 12)),
    "queue(2,1)": ((12, 2), (12, 2)),
    "queue(2,2)": ((44, 2), (48, 2)),
    "queue(2,1,1)": ((12, 2), (16, 2)),
    "event": ((3, 2), (11, 3)),
    "semaphore": ((90, 6), (90, 6)),
    "condition": ((4, 2), (48, 2)),
    "barrier": ((2, 2), (2, 2)),
    "cancel": ((4, 2), (9, 2)),
    "early": ((1, 1), (2, 2)),
    "timeout": ((6, 2), (1, 1)),
    "day": ((1, 1), (1, 1)),
    "sleeps(1,2)": ((1, 1), (1, 1)),
    "sleeps(1,1)": ((2, 2), (2, 2)),
    "sleeps(1,1,2)": ((2, 2), (2, 2)),
    "after": ((2, 2), (1, 1)),
    "group": ((4, 2), (7, 3)),
    "first": ((4, 3), (5, 3)),
    "completed": ((5, 2), (5, 2)),
    "shield": ((5, 2), (34, 2)),
    "fails": ((4, 2), (5, 2)),
    "soon": ((1, 1), (6, 6)),
    "hops": ((2, 2), (2, 2)),
    "agen": ((1, 1), (4, 4)),
    "executor": ((2, 2), (2, 2)),
}

RAW: dict[str, tuple[int, int | None]] = {
    "rw(2)": (8, 20),
    "rw(3)": (96, 1680),
    "grw(2)": (74, 70),
    "readers(1)": (8, 20),
    "readers(2)": (96, 1680),
    "readers(3)": (1536, None),
    "readers(4)": (30720, None),
    "independent(3,1)": (96, 1680),
    "independent(2,2)": (74, 70),
    "locked(2)": (22, 58),
    "locked(3)": (888, 24966),
    "philosophers(2)": (56, 46),
    "philosophers(3)": (8637, 29520),
    "lastzero(2)": (153, 2922),
    "lastzero(3)": (4077, None),
    "queue(2,1)": (228, 4688),
    "queue(2,2)": (1356, None),
    "queue(2,1,1)": (278, 5964),
    "event": (8, 384),
    "semaphore": (8580, 37350),
    "condition": (10, None),
    "barrier": (6, 18),
    "cancel": (8, 384),
    "early": (1, 2),
    "timeout": (11 if sys.version_info < (3, 12) else 6, 1),
    "day": (1, 1),
    "sleeps(1,2)": (1, 2),
    "sleeps(1,1)": (8, 40),
    "sleeps(1,1,2)": (8, 120),
    "after": (18, 3),
    "group": (11, 34),
    "first": (10, 50),
    "completed": (10, 50),
    "shield": (16, None),
    "fails": (10, 50),
    "soon": (1, 60),
    "hops": (9, 35),
    "agen": (2, 14),
    "executor": (8, 70),
}
"""Schedules of each program, in fifo and in any; None: nobody has counted them."""

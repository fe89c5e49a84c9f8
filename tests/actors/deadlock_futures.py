"""Futures that were waited for on some paths only, and conditions: what runs in parallel."""

from __future__ import annotations

from dataclasses import dataclass

from deadlock_fields import Answering, Asking

from treadle.actors import Actor, pause, program, until


class M1(Asking):
    async def go(self, o):
        f = o.nop.send()
        await f
        f = o.reply.send(self)
        f.get()


@program
def m_reassign():
    M1().go.send(Answering())


class M2(Asking):
    async def go(self, o):
        f = o.reply.send(self)
        try:
            await o.boom.send()
            await f
        except KeyError:
            pass
        f.get()


@program
def m_exc_skips():
    M2().go.send(Answering())


class M3(Asking):
    async def go(self, o, c):
        f = o.reply.send(self)
        if c:
            await f
        f.get()


@program
def m_branch_t():
    M3().go.send(Answering(), True)


@program
def m_branch_f():
    M3().go.send(Answering(), False)


class M4(Asking):
    async def go(self, o):
        fs = []
        for _ in range(2):
            f = o.reply.send(self)
            fs.append(f)
        await f
        for g in fs:
            g.get()


@program
def m_loop_last():
    M4().go.send(Answering())


class M5(Asking):
    async def go(self, o):
        f = o.reply.send(self)
        g = f
        await g
        f.get()


@program
def m_alias_ok():
    M5().go.send(Answering())


class M6(Asking):
    async def go(self, o):
        f = o.fwd.send(self).get()
        f.get()


@program
def m_future_of_future():
    M6().go.send(Answering())


class M7(Asking):
    async def go(self, o):
        await self.inner(o)

    async def inner(self, o):
        f = o.reply.send(self)
        await pause()
        return f.get()


@program
def m_sync_inner():
    M7().go.send(Answering())


class M8(Asking):
    async def go(self, o):
        f = self.other.send(o)
        await o.nop.send()
        f.get()

    async def other(self, o):
        pass


@program
def m_pending_released():
    M8().go.send(Answering())


class M9(Asking):
    async def go(self, o):
        f = o.reply.send(self)
        await f.done()
        f.get()


@program
def m_done_ok():
    M9().go.send(Answering())


class M10(Asking):
    async def go(self, o):
        f = o.reply.send(self)
        if await o.yes.send():
            f = o.late.send(self)
        else:
            await f
        f.get()


@program
def m_mix():
    M10().go.send(Answering())


class M11(Asking):
    async def go(self, o, n):
        if n == 0:
            return
        f = self.go.send(o, n - 1)
        await f
        f.get()
        o.nop.send().get()


@program
def m_rec_ok():
    M11().go.send(Answering(), 2)


class M12(Asking):
    async def go(self, o):
        i = 0
        f = None
        while i < 2:
            if f is not None:
                f.get()
            f = o.reply.send(self)
            await o.nop.send()
            i += 1


@program
def m_loop_carried():
    M12().go.send(Answering())


class M13(Asking):
    async def go(self, o):
        self.fs["x"] = o.reply.send(self)
        await self.fs["x"]
        self.fs["x"].get()

    async def two(self, o):
        self.fs["x"] = o.reply.send(self)


@program
def m_field_replaced():
    m, o = M13(), Answering()
    m.go.send(o)
    m.two.send(o)


@dataclass(frozen=True)
class Box:
    actor: object
    fut: object = None


class M14(Asking):
    async def go(self, box):
        box.actor.reply.send(self).get()

    async def gof(self, o):
        b = Box(o, o.reply.send(self))
        b.fut.get()


@program
def m_box():
    M14().go.send(Box(Answering()))


@program
def m_boxf():
    M14().gof.send(Answering())


# condition cycle, direct
class CD(Actor):
    def __init__(self):
        self.up = False

    async def wait(self):
        await until(lambda: self.up)

    async def raise_(self, boss):
        boss.hey.send().get()
        self.up = True


class CB(Asking):
    async def go(self, c):
        c.raise_.send(self)
        c.wait.send().get()

    async def soft(self, c):
        c.raise_.send(self)
        await c.wait.send()


@program
def c_direct():
    CB().go.send(CD())


@program
def c_soft():
    CB().soft.send(CD())


class CD2(CD):
    async def raise_(self, boss):
        await boss.hey.send()
        self.up = True


@program
def c_direct_await():
    CB().go.send(CD2())


# main async with get and self-sends in initialisers
class Init(Asking):
    def __init__(self, o):
        super().__init__()
        self.f = o.reply.send(self)

    async def go(self):
        self.f.get()


@program
def i_send():
    Init(Answering()).go.send()

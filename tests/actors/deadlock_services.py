"""Programs that wait for conditions, for themselves, in helpers and in `run`."""

from __future__ import annotations

from treadle.actors import Actor, pause, program, until


# conditions: holder waits for task that waits for condition set by a task that needs holder
class Flag(Actor):
    def __init__(self):
        self.up = False

    async def wait(self):
        await until(lambda: self.up)

    async def raise_(self):
        self.up = True


class Boss(Actor):
    async def go(self, flag, helper):
        helper.help.send(self, flag).get()

    async def go2(self, flag, helper):
        f = flag.wait.send()
        helper.help.send(self, flag)
        f.get()

    async def ok(self):
        pass


class Helper(Actor):
    async def help(self, boss, flag):
        boss.ok.send().get()
        flag.raise_.send()


@program
def cond_cycle():
    f, h, b = Flag(), Helper(), Boss()
    b.go2.send(f, h)


@program
def cond_direct():
    f, h, b = Flag(), Helper(), Boss()
    b.go.send(f, h)


class SoftBoss(Boss):
    async def go2(self, flag, helper):
        f = flag.wait.send()
        helper.help.send(self, flag)
        await f


@program
def cond_soft():
    SoftBoss().go2.send(Flag(), Helper())


# bounded buffer where the consumer is called back
class Buf(Actor):
    def __init__(self, n):
        self.n, self.xs = n, ()

    async def put(self, x):
        await until(lambda: len(self.xs) < self.n)
        self.xs += (x,)

    async def take(self):
        await until(lambda: len(self.xs) > 0)
        x, self.xs = self.xs[0], self.xs[1:]
        return x


class Prod(Actor):
    async def go(self, b, k):
        for i in range(k):
            b.put.send(i).get()


class Cons(Actor):
    def __init__(self):
        self.got = ()

    async def go(self, b, k):
        for _ in range(k):
            self.got += (b.take.send().get(),)


@program
def buf(n, p, c):
    b = Buf(n)
    Prod().go.send(b, p)
    Cons().go.send(b, c)


# bounded buffer that acknowledges
class AckBuf(Buf):
    async def put(self, x, who):
        await until(lambda: len(self.xs) < self.n)
        self.xs += (x,)
        who.ack.send().get()


class AckProd(Actor):
    def __init__(self):
        self.acks = 0

    async def go(self, b):
        b.put.send(1, self).get()

    async def ack(self):
        self.acks += 1


@program
def ackbuf():
    AckProd().go.send(AckBuf(1))


class AckProdSoft(AckProd):
    async def go(self, b):
        await b.put.send(1, self)


@program
def ackbuf_soft():
    AckProdSoft().go.send(AckBuf(1))


# boolean await with a future in condition
class Lazy(Actor):
    def __init__(self):
        self.done = False

    async def both(self, o):
        f = o.slow.send(self)
        await until(lambda: self.done)
        f.get()

    async def mark(self):
        self.done = True


class Slow(Actor):
    async def slow(self, lazy):
        lazy.mark.send().get()

    async def slow_twice(self, lazy):
        lazy.mark.send().get()
        lazy.mark.send().get()


@program
def lazy_ok():
    Lazy().both.send(Slow())


class Lazy2(Lazy):
    async def both(self, o):
        f = o.slow_twice.send(self)
        await until(lambda: self.done)
        f.get()


@program
def lazy_bad():
    Lazy2().both.send(Slow())


# self wait direct, await variant
class S(Actor):
    async def b(self):
        self.c.send().get()

    async def b2(self):
        await self.c.send()

    async def c(self):
        return 0

    async def rec(self, n):
        if n > 0:
            await self.rec.send(n - 1)

    async def rec_get(self, n):
        if n > 0:
            self.rec_get.send(n - 1).get()


@program
def self_get():
    S().b.send()


@program
def self_await():
    S().b2.send()


@program
def self_rec(n):
    S().rec.send(n)


@program
def self_rec_get(n):
    S().rec_get.send(n)


# a task waiting for itself through a future in a field
class Own(Actor):
    def __init__(self):
        self.f = None

    async def a(self, me):
        self.f = self.b.send()

    async def b(self):
        if self.f:
            await self.f


@program
def own_future():
    Own().a.send(0)


# two awaits that await each other (await only deadlock)
class AwaitEach(Actor):
    def __init__(self):
        self.f = None

    async def setf(self, f):
        self.f = f

    async def wait(self):
        await until(lambda: self.f is not None)
        await self.f


@program
def await_each():
    a, b = AwaitEach(), AwaitEach()
    fa, fb = a.wait.send(), b.wait.send()
    a.setf.send(fb)
    b.setf.send(fa)


@program
def await_one():
    a, b = AwaitEach(), AwaitEach()
    a.wait.send()
    fb = b.setf.send(None)
    a.setf.send(fb)


# registry with callbacks and lookups
class Reg(Actor):
    def __init__(self):
        self.names = {}

    async def bind(self, name, who):
        self.names[name] = who
        who.bound.send(name).get()

    async def bind_soft(self, name, who):
        self.names[name] = who
        await who.bound.send(name)

    async def lookup(self, name):
        return self.names.get(name)


class Svc(Actor):
    def __init__(self):
        self.as_ = None

    async def start(self, r):
        r.bind.send("x", self).get()

    async def start_soft(self, r):
        r.bind_soft.send("x", self)

    async def bound(self, n):
        self.as_ = n


class Cli(Actor):
    async def use(self, r):
        s = r.lookup.send("x").get()
        if s is not None:
            s.bound.send("y").get()


@program
def reg_bad():
    r = Reg()
    Svc().start.send(r)
    Cli().use.send(r)


@program
def reg_ok():
    r = Reg()
    Svc().start_soft.send(r)
    Cli().use.send(r)


# helper def (non async) that gets
class H(Actor):
    def __init__(self, o):
        self.o = o

    def ask(self):
        return self.o.reply.send(self).get()

    async def go(self):
        return self.ask()

    async def hey(self):
        return 1


class HO(Actor):
    async def reply(self, h):
        return h.hey.send().get()


@program
def helper_def():
    H(HO()).go.send()


def fetch(x, me):
    return x.reply.send(me).get()


class HF(Actor):
    async def go(self, o):
        return fetch(o, self)

    async def hey(self):
        return 1


@program
def helper_function():
    HF().go.send(HO())


# run methods
class Runner(Actor):
    def __init__(self, o):
        self.o = o

    async def run(self):
        self.o.reply.send(self).get()

    async def hey(self):
        return 1


@program
def runner():
    Runner(HO())


# pause / release
class P(Actor):
    async def a(self, o):
        f = o.reply.send(self)
        await pause()
        f.get()

    async def hey(self):
        return 1


@program
def pausing():
    P().a.send(HO())

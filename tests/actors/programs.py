"""The programs of the thesis and its papers, as actors in Python: the oracles of the counts."""

from __future__ import annotations

from typing import Any

from treadle.actors import Actor, program, until
from treadle.papers.thesis_actors import (
    Worker,
    barber,
    birds,
    free_pairing,
    pairing,
    pipesort,
    protocol,
)


class Fork(Actor):
    async def grab(self, second):
        second.also.send().get()

    async def also(self):
        pass


class Philosopher(Actor):
    async def eat(self, one, two):
        one.grab.send(two).get()


@program
def philosophers(n, fixed=False):
    forks = [Fork() for _ in range(n)]
    for i in range(n):
        a, b = forks[i], forks[(i + 1) % n]
        if fixed and i == n - 1:
            a, b = b, a
        Philosopher().eat.send(a, b)


# P6, figure 1; database(0) is the modified one


class Store(Actor):
    def __init__(self, start=5):
        self.data, self.client, self.connected, self.start = 7, None, 1, start

    async def connect(self):
        self.connected = 3
        return self.connected

    async def register(self, w):
        self.connected = self.start
        await self.get_data.send(w)
        if self.connected > 0:
            self.connected -= 1
            if w.ping.send(5).get() == 5:
                self.client = w

    async def get_data(self, w):
        return self.data if self.client is w else None


@program
def database(start=5):
    db, w = Store(start), Worker()
    db.register.send(w)
    w.work.send(db)


class Master(Actor):
    def __init__(self, workers):
        self.workers, self.answers, self.sum = workers, 0, 0

    async def boot(self):
        for w in self.workers:
            w.part.send(self)

    async def add(self, x):
        self.answers += 1
        self.sum += x
        if self.answers == len(self.workers):
            for w in self.workers:
                w.stop.send()


class PiWorker(Actor):
    async def part(self, master):
        master.add.send(1)

    async def stop(self):
        pass


@program
def pi(n):
    Master(tuple(PiWorker() for _ in range(n))).boot.send()


class Registry(Actor):
    def __init__(self):
        self.others, self.workers = (), ()

    async def other(self, i):
        self.others += (i,)

    async def worker(self, i):
        self.workers += (i,)


class Clerk(Actor):
    async def go(self, registry, i):
        registry.worker.send(i)


@program
def registry(n):
    r = Registry()
    r.other.send(0)
    for i in range(n):
        Clerk().go.send(r, i)


class Buffer(Actor):
    def __init__(self, size):
        self.size, self.items = size, ()

    async def put(self, x):
        await until(lambda: len(self.items) < self.size)
        self.items += (x,)

    async def take(self):
        await until(lambda: self.items)
        x, self.items = self.items[0], self.items[1:]
        return x


@program
def buffer(size, puts, takes):
    b = Buffer(size)
    for i in range(puts):
        b.put.send(i)
    for _ in range(takes):
        b.take.send()


class Self(Actor):
    async def b(self):
        self.c.send().get()

    async def c(self):
        return 0


@program
def waits_for_itself():
    Self().b.send()


class Late(Actor):
    def __init__(self):
        self.n = 0

    async def go(self, o):
        f = o.x.send()
        o.y.send().get()
        self.n = 1
        await f
        self.n += 1

    async def note(self):
        self.n *= 10


class Other(Actor):
    async def x(self):
        pass

    async def y(self):
        pass


@program
def late():
    a, o = Late(), Other()
    a.go.send(o)
    a.note.send()


class Gate(Actor):
    def __init__(self):
        self.open, self.n = False, 0

    async def enter(self):
        await until(lambda: self.open)
        self.n += 1

    async def lift(self):
        self.open = True

    async def shut(self):
        self.open = False


@program
def gate():
    g = Gate()
    g.enter.send()
    g.lift.send()
    g.shut.send()


class Memory(Actor):
    def __init__(self):
        self.value = 0

    async def set(self, value):
        self.value = value


@program
def three_sends():
    cell = Memory()
    for i in range(3):
        cell.set.send(i)


ORACLES: dict[Any, tuple[tuple[int, int, int] | None, tuple[int, int], tuple[int, int]]] = {
    # interleavings (with waiting tasks; states), executions of `optimal` at actor and field level
    protocol: ((6, 2, 23), (3, 1), (3, 1)),
    barber(1): ((42, 6, 181), (7, 2), (3, 1)),
    barber(2): (None, (628, 124), (28, 10)),
    birds(2, 1): ((70, 10, 271), (6, 2), (4, 2)),
    birds(3, 2): ((34650, 1890, 114031), (90, 18), (36, 12)),
    birds(3, 1): ((44400, 20460, 155731), (90, 54), (36, 30)),
    birds(4, 2): (None, (2520, 1080), (576, 384)),
    pairing(2): ((14, 14, 57), (2, 2), (2, 2)),
    pairing(3): ((294, 294, 898), (6, 6), (6, 6)),
    pairing(4): (None, (12, 12), (12, 12)),
    free_pairing(2): ((14, 0, 99), (2, 0), (2, 0)),
    free_pairing(3): ((7350, 0, 30298), (6, 0), (6, 0)),
    free_pairing(4): (None, (24, 0), (24, 0)),
    philosophers(2): ((90, 6, 363), (3, 1), (3, 1)),
    philosophers(3): (None, (7, 1), (7, 1)),
    philosophers(4): (None, (15, 1), (15, 1)),
    philosophers(3, fixed=True): (None, (6, 0), (4, 0)),
    philosophers(4, fixed=True): (None, (14, 0), (8, 0)),
    database(5): ((22, 4, 102), (5, 1), (3, 1)),
    database(0): ((20, 0, 69), (4, 0), (2, 0)),
    pi(3): ((540, 0, 1622), (6, 0), (6, 0)),
    pi(5): (None, (120, 0), (120, 0)),
    pi(6): (None, (720, 0), (720, 0)),
    pipesort((3, 1, 2)): ((291, 0, 1083), (12, 0), (12, 0)),
    pipesort((2, 4, 1, 3)): (None, (288, 0), (288, 0)),
    registry(2): ((30, 0, 0), (6, 0), (2, 0)),
    registry(3): ((630, 0, 0), (24, 0), (6, 0)),
    registry(4): ((22680, 0, 0), (120, 0), (24, 0)),
    buffer(1, 2, 2): ((56, 0, 0), (56, 0), (56, 0)),
    buffer(1, 3, 3): ((9324, 0, 0), (9324, 0), (9324, 0)),
    buffer(2, 3, 2): ((408, 0, 0), (408, 0), (408, 0)),
    buffer(1, 2, 1): ((8, 0, 0), (8, 0), (8, 0)),
    waits_for_itself: ((1, 1, 2), (1, 1), (1, 1)),
    late: ((8, 0, 30), (7, 0), (5, 0)),
    gate: ((7, 2, 20), (7, 2), (7, 2)),
    three_sends: ((6, 0, 0), (6, 0), (6, 0)),
}

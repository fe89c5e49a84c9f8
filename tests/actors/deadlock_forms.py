"""Programs that keep and pass futures, share groups, inherit, loop and catch exceptions."""

from __future__ import annotations

from treadle.actors import Actor, program


# shops: a barber shop with a waiting list and future kept in a list
class Door(Actor):
    def __init__(self):
        self.waiting = []

    async def enter(self, guest):
        self.waiting.append(guest.seat.send())

    async def close(self):
        for f in self.waiting:
            f.get()


class Guest(Actor):
    async def go(self, door):
        door.enter.send(self).get()
        door.close.send().get()

    async def seat(self):
        pass


@program
def door_list():
    d = Door()
    Guest().go.send(d)


@program
def door_list_two():
    d = Door()
    Guest().go.send(d)
    Guest().go.send(d)


class GentleDoor(Door):
    async def close(self):
        for f in self.waiting:
            await f


class GentleGuest(Guest):
    async def go(self, door):
        await door.enter.send(self)
        await door.close.send()


@program
def door_gentle():
    d = GentleDoor()
    GentleGuest().go.send(d)


# future passed as parameter
class Holder(Actor):
    async def begin(self, other):
        f = self.later.send()
        other.finish.send(f).get()

    async def later(self):
        return 1


class Finisher(Actor):
    async def finish(self, f):
        return f.get()


@program
def future_param():
    Holder().begin.send(Finisher())


class Holder2(Actor):
    async def begin(self, other):
        f = self.later.send()
        await other.finish.send(f)

    async def later(self):
        return 1


@program
def future_param_ok():
    Holder2().begin.send(Finisher())


# future in a field waited for by another method
class Keeper(Actor):
    def __init__(self):
        self.f = None

    async def start(self, o):
        self.f = o.work.send(self)

    async def wait(self):
        if self.f is not None:
            self.f.get()

    async def nudge(self):
        pass


class Labour(Actor):
    async def work(self, k):
        k.nudge.send().get()


@program
def future_field():
    k = Keeper()
    k.start.send(Labour())
    k.wait.send()


# local actors: same group, calls
class Part(Actor):
    def __init__(self, owner):
        self.owner = owner

    async def ask(self):
        return self.owner.answer.send().get()

    async def plain(self):
        return 3


class Whole(Actor):
    def __init__(self):
        self.part = Part.local(self)

    async def go(self):
        await self.part.ask()

    async def answer(self):
        return 2

    async def send(self):
        return self.part.plain.send().get()

    async def soft(self):
        return await self.part.plain.send()


@program
def local_self_wait():
    Whole().go.send()


@program
def local_send_get():
    Whole().send.send()


@program
def local_send_await():
    Whole().soft.send()


# two locals of main
class Toy(Actor):
    async def ping(self, o):
        o.pong.send().get()

    async def pong(self):
        pass


@program
def main_locals():
    a, b = Toy.local(), Toy.local()
    a.ping.send(b)


@program
def main_mixed():
    a, b = Toy(), Toy()
    a.ping.send(b)
    b.ping.send(a)


@program
def main_one_way():
    a, b = Toy(), Toy()
    a.ping.send(b)
    a.ping.send(b)


# main waits
@program
async def main_gets():
    a, b = Toy(), Toy()
    a.ping.send(b).get()
    b.ping.send(a).get()


@program
async def main_gets_late():
    a, b = Toy(), Toy()
    f = a.ping.send(b)
    b.ping.send(a).get()
    f.get()


# inheritance: override turns a get into another
class Base(Actor):
    async def step(self, o):
        await o.other.send(self)

    async def other(self, o):
        pass


class Mid(Base):
    async def other(self, o):
        o.quick.send().get()

    async def quick(self):
        pass


class Leaf(Mid):
    async def step(self, o):
        await super().step(o)


@program
def inherit_ok():
    a, b = Leaf(), Leaf()
    a.step.send(b)


class HardLeaf(Mid):
    async def step(self, o):
        o.other.send(self).get()


@program
def inherit_bad():
    a, b = HardLeaf(), HardLeaf()
    a.step.send(b)


# loops that send, wait for all at the end
class Hub(Actor):
    def __init__(self):
        self.n = 0

    async def all(self, workers):
        fs = []
        for w in workers:
            fs.append(w.job.send(self))
        for f in fs:
            f.get()

    async def all_soft(self, workers):
        fs = [w.job.send(self) for w in workers]
        for f in fs:
            await f

    async def note(self):
        self.n += 1


class JobWorker(Actor):
    async def job(self, hub):
        hub.note.send().get()


class FireWorker(Actor):
    async def job(self, hub):
        hub.note.send()


@program
def loop_hard():
    Hub().all.send([JobWorker(), JobWorker()])


@program
def loop_soft():
    Hub().all_soft.send([JobWorker(), JobWorker()])


@program
def loop_fire():
    Hub().all.send([FireWorker(), FireWorker()])


# exceptions: the deadlock only in the handler
class Risky(Actor):
    async def fail(self):
        raise ValueError("no")

    async def back(self, o):
        o.note.send().get()


class Catcher(Actor):
    def __init__(self):
        self.k = 0

    async def go(self, r):
        try:
            r.fail.send().get()
        except ValueError:
            r.back.send(self).get()

    async def fin(self, r):
        try:
            r.fail.send().get()
        finally:
            r.back.send(self).get()

    async def els(self, r):
        try:
            x = r.fail.send()
        except ValueError:
            r.back.send(self).get()
        else:
            await x.done()

    async def note(self):
        self.k = 1


@program
def handler():
    Catcher().go.send(Risky())


@program
def finals():
    Catcher().fin.send(Risky())


@program
def no_handler():
    Catcher().els.send(Risky())


# higher-order: class passed to actor
class Maker(Actor):
    async def make(self, cls):
        x = cls()
        x.react.send(self).get()

    async def hello(self):
        pass


class Calm(Actor):
    async def react(self, m):
        pass


class Angry(Actor):
    async def react(self, m):
        m.hello.send().get()


@program
def higher_calm():
    Maker().make.send(Calm)


@program
def higher_angry():
    Maker().make.send(Angry)

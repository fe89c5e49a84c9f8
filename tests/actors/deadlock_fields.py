"""Branches that depend on fields which are written in odd ways, and code in odd places."""

from __future__ import annotations

import enum

from treadle.actors import Actor, program, until


class Answering(Actor):
    async def reply(self, h):
        return h.hey.send().get()

    async def nop(self):
        return None

    async def fwd(self, h):
        return self.late.send(h)

    async def late(self, h):
        return h.hey.send().get()

    async def yes(self):
        return True

    async def num(self):
        return 3

    async def boom(self):
        raise KeyError(1)


class Asking(Actor):
    MODE = 0

    def __init__(self):
        self.mode, self.k, self.o, self.fs = 0, 0, None, {}

    async def hey(self):
        return 1

    def bad(self, o):
        o.reply.send(self).get()


# fields decided by literals, written in odd ways
class Inner(Asking):
    def __init__(self, o):
        super().__init__()
        self.o = o

    async def try_(self):
        if self.mode == 1:
            self.bad(self.o)


class Outer(Actor):
    def __init__(self, o):
        self.inner = Inner.local(o)

    async def go(self):
        self.inner.mode = 1
        await self.inner.try_()


@program
def w_other_object():
    Outer(Answering()).go.send()


@program
def w_main_writes():
    i = Inner.local(Answering())
    i.mode = 1
    i.try_.send()


class T1(Asking):
    async def go(self, o):
        for self.mode in range(2):
            pass
        if self.mode == 1:
            self.bad(o)


@program
def w_for_target():
    T1().go.send(Answering())


class T2(Asking):
    async def go(self, o):
        self.k, self.mode = 0, 1
        if self.mode == 1:
            self.bad(o)


@program
def w_tuple():
    T2().go.send(Answering())


class T3(Asking):
    async def go(self, o):
        self.mode += 1
        if self.mode == 1:
            self.bad(o)


@program
def w_aug():
    T3().go.send(Answering())


class T4(Asking):
    async def go(self, o):
        self.__dict__["mode"] = 1
        if self.mode == 1:
            self.bad(o)


@program
def w_dict():
    T4().go.send(Answering())


class T5(Asking):
    async def go(self, o):
        vars(self).update(mode=1)
        if self.mode == 1:
            self.bad(o)


@program
def w_vars():
    T5().go.send(Answering())


class T6(Asking):
    async def go(self, o):
        setattr(self, "mode", 1)  # noqa: B010
        if self.mode == 1:
            self.bad(o)


@program
def w_setattr():
    T6().go.send(Answering())


class T7(Asking):
    async def go(self, o):
        if self.MODE == 0:
            self.bad(o)


@program
def w_classattr():
    T7().go.send(Answering())


class T8(Asking):
    async def go(self, o):
        del self.mode
        if not hasattr(self, "mode"):
            self.bad(o)


@program
def w_del():
    T8().go.send(Answering())


class T9(Asking):
    async def go(self, o):
        self.mode = o.num.send().get()
        if self.mode == 3:
            self.bad(o)


@program
def w_got():
    T9().go.send(Answering())


class T10(Asking):
    async def go(self, o):
        x = True
        if self.mode == x - 1:
            self.bad(o)


@program
def w_expr():
    T10().go.send(Answering())


class T11(Asking):
    async def go(self, o):
        if self.mode == False:  # noqa: E712
            self.bad(o)


@program
def w_false():
    T11().go.send(Answering())


class T12(Asking):
    async def go(self, o):
        if self.mode is not None and self.mode < 1:
            self.bad(o)


@program
def w_lt():
    T12().go.send(Answering())


class T13(Asking):
    async def go(self, o):
        if self.mode == 0.0:
            self.bad(o)


@program
def w_float():
    T13().go.send(Answering())


class T14(Asking):
    async def go(self, o):
        if self.mode in (0, 2):
            self.bad(o)


@program
def w_in():
    T14().go.send(Answering())


class T15(Asking):
    async def go(self, o):
        if not self.fs:
            self.bad(o)


@program
def w_empty():
    T15().go.send(Answering())


class T16(Asking):
    async def go(self, o):
        self.fs["a"] = 1
        if self.fs:
            self.bad(o)


@program
def w_nonempty():
    T16().go.send(Answering())


class T17(Asking):
    async def set(self, x):
        self.o = x

    async def go(self):
        await until(lambda: self.o)
        self.bad(self.o)


@program
def w_until_none():
    t = T17()
    t.go.send()
    t.set.send(Answering())


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class T18(Asking):
    async def go(self, o):
        self.mode = Colour.RED
        if self.mode is Colour.RED:
            self.bad(o)


@program
def w_enum():
    T18().go.send(Answering())


class T19(Asking):
    async def go(self, o, mode="a"):
        self.mode = "ab"[0]
        if self.mode == mode:
            self.bad(o)


@program
def w_str():
    T19().go.send(Answering())


class T20(Asking):
    async def go(self, o):
        n = 0
        while True:
            n += 1
            if n == 2:
                break
        if n == 2:
            self.bad(o)


@program
def w_count():
    T20().go.send(Answering())


class T21(Asking):
    async def go(self, o):
        x = None
        for _ in range(2):
            if x is not None:
                self.bad(x)
            x = o


@program
def w_loop_none():
    T21().go.send(Answering())


class Evil(Asking):
    async def hook(self, o):
        self.bad(o)


class D3(Asking):
    async def go(self, o):
        self.__class__ = Evil
        await self.hook(o)

    async def hook(self, o):
        pass


@program
def d_class():
    D3().go.send(Answering())


class D5(Asking):
    async def go(self, o):
        d = self.__dict__
        d["mode"] = 1
        if self.mode == 1:
            self.bad(o)


@program
def d_dict_alias():
    D5().go.send(Answering())


class D6(Asking):
    async def go(self, o):
        self.__dict__.update(mode=1)
        if self.mode == 1:
            self.bad(o)


@program
def d_dict_update():
    D6().go.send(Answering())


class D11(Asking):
    async def go(self, o):
        fs = [o.reply.send(self)]
        (g,) = fs
        assert g.get() == 1


@program
def d_assert_get():
    D11().go.send(Answering())


class D12(Asking):
    async def go(self, o):
        print(f"{o.reply.send(self).get()}")


@program
def d_fstring():
    D12().go.send(Answering())


class D14(Asking):
    async def go(self, o):
        return [f.get() for f in [o.reply.send(self)] if f]


@program
def d_compif():
    D14().go.send(Answering())


class D16(Asking):
    async def go(self, o):
        raise ValueError(o.reply.send(self).get())


@program
def d_raise():
    D16().go.send(Answering())


class D17(Asking):
    async def go(self, o):
        self.k = o.reply.send(self)
        self.k = self.k.get() + 1


@program
def d_field_over():
    D17().go.send(Answering())


class D19(Asking):
    async def go(self, o):
        while o.reply.send(self).get() < 0:
            pass


@program
def d_while_test():
    D19().go.send(Answering())


class D21(Asking):
    async def go(self, o):
        try:
            try:
                raise KeyError
            finally:
                await o.nop.send()
        except (KeyError, ValueError):
            self.bad(o)


@program
def d_nested_try():
    D21().go.send(Answering())


class D22(Asking):
    async def go(self, o):
        for i in [1, 2]:
            if i == 3:
                break
        else:
            self.bad(o)


@program
def d_forelse():
    D22().go.send(Answering())


class D24(Asking):
    async def go(self, o):
        for i in range(2):
            try:
                if i == 0:
                    continue
                break
            finally:
                if i == 1:
                    self.bad(o)


@program
def d_break_finally():
    D24().go.send(Answering())


class D28(Asking):
    async def go(self, o):
        try:
            {}["x"]
        except KeyError:
            self.bad(o)


@program
def d_key_raises():
    D28().go.send(Answering())

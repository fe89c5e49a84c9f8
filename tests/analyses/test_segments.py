"""Segments: what a step may access, from the start of a task and from where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from actor_code import Actor, Future, pause, segments, standing, until
from treadle.analyses.segments import Frame, Segment


class Store(Actor):
    """P6's database."""

    def __init__(self, start: int = 5) -> None:
        self.data, self.client, self.connected, self.start = 7, None, 1, start

    async def connect(self) -> Any:
        self.connected = 3
        return self.connected

    async def register(self, w: Any) -> Any:
        self.connected = self.start
        await self.get_data.send(w)
        if self.connected > 0:
            self.connected -= 1
            if w.ping.send(5).get() == 5:
                self.client = w

    async def get_data(self, w: Any) -> Any:
        return self.data if self.client is w else None


class Worker(Actor):
    def __init__(self) -> None:
        self.data = None

    async def work(self, db: Any) -> Any:
        self.data = db.get_data.send(self).get()

    async def ping(self, n: int) -> Any:
        return n


def of(cls: type, *names: str) -> frozenset[tuple[str, str]]:
    return frozenset((cls.__qualname__, name) for name in names)


def test_a_segment_ends_at_a_certain_stop() -> None:
    known = segments(Store, Worker)
    assert known.at_start(Store, "connect") == Segment(
        of(Store, "connected"), of(Store, "connected")
    )
    assert known.at_start(Store, "register") == Segment(
        of(Store, "start"), of(Store, "connected"), older=True
    )
    assert known.at_start(Store, "get_data") == Segment(of(Store, "client", "data"))
    assert known.at_start(Worker, "ping") == Segment()
    assert known.at_start(Worker, "work") == Segment(may_block=True)


def test_a_suspended_task_does_the_rest() -> None:
    known = segments(Store, Worker)
    db, w = Store(), Worker()
    rest = known.after(standing(db, "register", w))
    assert rest == Segment(of(Store, "connected"), of(Store, "connected"), may_block=True)
    assert known.after(standing(w, "work", db)) == Segment(writes=of(Worker, "data"))


class Waiter(Actor):
    """Waits of all kinds; each method begins with the one that it is about."""

    def __init__(self) -> None:
        self.a = self.b = self.c = 0
        self.kept: Any = Future()

    async def condition(self, k: int) -> None:
        await until(lambda: self.a > k and self.b)
        self.c = 1

    async def pauses(self) -> None:
        self.a = 1
        await pause()
        self.b = 1

    async def given(self, f: Any) -> None:
        self.a = 1
        f.get()
        self.b = 1

    async def twice(self, f: Any) -> None:
        await f
        f.get()
        self.b = 1

    async def older(self, o: Any) -> None:
        f = o.ping.send(1)
        o.ping.send(2).get()
        self.a = 1
        await f
        self.b += 1

    async def in_a_list(self, fs: Any) -> None:
        for f in fs:
            await f
        for f in fs:
            f.get()
        self.a = 1

    async def kept_in_a_field(self) -> None:
        await self.kept
        self.kept.get()
        self.a = 1

    async def two_names(self, o: Any) -> None:
        f = o.ping.send(1)
        g = f
        f.get()
        g.get()
        self.a = 1

    async def in_a_loop(self, o: Any) -> None:
        while self.a:
            f = o.ping.send(1)
            f.get()
            self.b = 1

    async def either(self, o: Any) -> None:
        f = o.ping.send(1)
        if self.a:
            await f
        f.get()
        self.b = 1

    async def not_both(self, f: Any, g: Any) -> None:
        f.get()
        g.get()
        self.a = 1


def fields(segment: Segment) -> tuple[str, str]:
    reads, writes = (sorted(name for _, name in each) for each in (segment.reads, segment.writes))
    return " ".join(reads), " ".join(writes)


@pytest.mark.parametrize(
    ("method", "arguments", "at_start", "rest"),
    [
        ("condition", (1,), ("a b", "c"), ("", "c")),
        ("pauses", (), ("", "a"), ("", "b")),
        ("given", (Future(),), ("", "a"), ("", "b")),
        ("twice", (Future(),), ("", "b"), ("", "b")),
        ("older", (Worker(),), ("", ""), ("b", "a b")),
        ("in_a_list", ([Future()],), ("", "a"), ("", "a")),
        ("kept_in_a_field", (), ("kept", "a"), ("kept", "a")),
        ("two_names", (Worker(),), ("", ""), ("", "a")),
        ("either", (Worker(),), ("a", "b"), ("", "b")),
        ("not_both", (Future(), Future()), ("", ""), ("", "a")),
    ],
)
def test_which_waits_are_passed(
    method: str, arguments: Any, at_start: tuple[str, str], rest: tuple[str, str]
) -> None:
    known = segments(Waiter, Worker)
    assert fields(known.at_start(Waiter, method)) == at_start
    assert fields(known.after(standing(Waiter(), method, *arguments))) == rest


def test_a_joined_future_does_not_block() -> None:
    known = segments(Waiter, Worker)
    assert not known.at_start(Waiter, "twice").may_block
    assert known.at_start(Waiter, "given").may_block
    assert known.at_start(Waiter, "in_a_list").may_block
    assert known.at_start(Waiter, "older").may_block
    assert not known.after(standing(Waiter(), "two_names", Worker())).may_block


def test_older_futures_are_told() -> None:
    known = segments(Waiter, Worker)
    assert not known.at_start(Waiter, "older").older, "the step ends before"
    assert known.after(standing(Waiter(), "older", Worker())).older
    assert known.at_start(Waiter, "twice").older
    assert not known.after(standing(Waiter(), "twice", Future())).older
    assert not known.at_start(Waiter, "condition").older


def test_a_loop_sends_anew() -> None:
    waiter = Waiter()
    waiter.a = 1
    known = segments(Waiter, Worker)
    assert fields(known.at_start(Waiter, "in_a_loop")) == ("a", "")
    rest = known.after(standing(waiter, "in_a_loop", Worker()))
    assert fields(rest) == ("a", "b")
    assert rest.may_block


def test_the_condition_where_a_task_stands() -> None:
    known = segments(Waiter, Worker)
    assert known.after(standing(Waiter(), "condition", 1)).awaits == of(Waiter, "a", "b")
    assert known.after(standing(Waiter(), "pauses")).awaits == frozenset()


# Calls


class Base(Actor):
    def __init__(self, n: int) -> None:
        self.n = n

    async def step(self, f: Any) -> Any:
        await self.inner(f)
        self.after = 1

    async def inner(self, f: Any) -> Any:
        self.before = 1
        await f
        self.n += 1

    async def helped(self, f: Any) -> Any:
        wait_for(f)
        self.n = 2

    async def creates(self) -> Any:
        Part.local(self.n)

    async def creates_elsewhere(self) -> Any:
        Part(1)

    async def asks(self, part: Any) -> Any:
        part.look()

    async def recurses(self) -> Any:
        self.n -= 1
        if self.n:
            await self.recurses()


class Derived(Base):
    async def inner(self, f: Any) -> Any:
        self.other = f.get()


class Part(Actor):
    def __init__(self, n: int) -> None:
        self.size = n

    def look(self) -> Any:
        return self.size


def wait_for(f: Any) -> Any:
    return f.get()


def test_a_callee_counts_from_its_start_and_callers_for_their_rest() -> None:
    known = segments(Base, Derived)
    assert fields(known.at_start(Base, "step")) == ("n", "after before n")
    rest = known.after(standing(Base(1), "step", Future()))
    assert fields(rest) == ("n", "after n")
    assert not rest.may_block


def test_methods_are_those_of_the_object_and_fields_of_its_class() -> None:
    known = segments(Base, Derived)
    segment = known.at_start(Derived, "step")
    assert segment.writes == of(Derived, "other", "after")
    assert segment.may_block
    derived = Derived(1)
    frames = standing_in(derived, Base, "step", Future())
    assert known.after(frames) == Segment(writes=of(Derived, "other", "after"))


def standing_in(actor: Any, cls: type, method: str, *arguments: Any) -> tuple[Frame, ...]:
    """Run a method that a class has inherited."""
    setattr(type(actor), method, vars(cls)[method])
    try:
        return standing(actor, method, *arguments)
    finally:
        delattr(type(actor), method)


def test_a_function_of_the_module_is_followed() -> None:
    known = segments(Base)
    start = known.at_start(Base, "helped")
    assert (fields(start), start.may_block) == (("", "n"), True)
    rest = known.after(standing(Base(1), "helped", Future()))
    assert (fields(rest), rest.unknown) == (("", "n"), "")


def test_a_local_object_is_of_the_same_group_and_a_new_one_is_not() -> None:
    known = segments(Base, Part)
    assert known.at_start(Base, "creates") == Segment(of(Base, "n"), of(Part, "size"))
    assert known.at_start(Base, "creates_elsewhere") == Segment()
    assert known.at_start(Base, "asks").reads == of(Part, "size")


def test_recursion_ends() -> None:
    assert fields(segments(Base).at_start(Base, "recurses")) == ("n", "n")


def test_a_class_met_later_may_change_what_was_said() -> None:
    known = segments(Base)
    assert "look" in known.at_start(Base, "asks").unknown
    assert known.add(Part)
    assert known.at_start(Base, "asks").reads == of(Part, "size")
    assert not known.add(Worker)
    assert not known.add(Worker)


# What is not known


class Odd(Actor):
    def __init__(self) -> None:
        self.n = 0

    async def unknown(self, f: Any) -> Any:
        f.get()
        with f as value:
            self.n = value

    async def method_as_value(self) -> Any:
        return self.unknown

    @property
    def twice(self) -> int:
        return 2 * self.n

    async def reads_property(self) -> Any:
        return self.twice

    async def by_another_name(self) -> Any:
        me = self
        me.n = 1
        return look_into(self)

    async def generates(self, fs: Any) -> Any:
        self.n = sum(f.get() for f in fs)

    async def no_such_method(self) -> Any:
        self.nothing()


def look_into(actor: Any) -> Any:
    return actor.n


def test_unknown_code_is_unknown_only_where_it_can_be_reached() -> None:
    known = segments(Odd)
    assert known.at_start(Odd, "unknown") == Segment(may_block=True)
    rest = known.after(standing(Odd(), "unknown", Future()))
    line = vars(Odd)["unknown"].function.__code__.co_firstlineno + 2
    assert rest.unknown == f"{__file__}:{line}: a with statement is not known"


@pytest.mark.parametrize("method", ["method_as_value", "reads_property"])
def test_methods_and_properties_are_no_fields(method: str) -> None:
    assert "is a method or a property" in segments(Odd).at_start(Odd, method).unknown


def test_an_actor_by_another_name_has_its_fields() -> None:
    segment = segments(Odd).at_start(Odd, "by_another_name")
    assert segment == Segment(of(Odd, "n"), of(Odd, "n"))


def test_a_task_may_stand_in_a_generator_of_its_method() -> None:
    known = segments(Odd)
    assert known.at_start(Odd, "generates").may_block
    rest = known.after(standing(Odd(), "generates", [Future()]))
    assert (fields(rest), rest.unknown) == (("", "n"), "")


def test_what_is_not_there_is_unknown() -> None:
    known = segments(Odd)
    assert known.at_start(Odd, "no_such_method").unknown.endswith("no method nothing is known")
    assert known.at_start(Odd, "nothing").unknown == "Odd has no method nothing"


def test_code_of_others_on_the_stack_is_unknown() -> None:
    frames = standing(Waiter(), "pauses")
    assert segments(Odd).after(frames).unknown.endswith("pauses is not code of actors")


def test_a_main_function() -> None:
    def main() -> None:
        part = Part(1)
        part.look.send().get()
        part.look.send()

    assert segments(Part).main(main) == Segment(may_block=True)

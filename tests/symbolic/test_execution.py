"""Symbolic execution, instruction by instruction: which paths there are, and for which values.

Every path is run for real, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from executing import Execution, context_of

from treadle.actors import Actor, pause, until


@dataclass(frozen=True)
class Point:
    x: int
    y: int


def helper(n):
    return n + 1


def recursive(n):
    return 0 if n <= 0 else 1 + recursive(n - 1)


class Numbers(Actor):
    def __init__(self):
        self.x, self.flag, self.name = 0, False, ""

    async def sign(self, n):
        if n > 0:
            self.x = 1
        elif n < 0:
            self.x = -1
        else:
            self.x = 0

    async def impossible(self, n):
        if n > 3:
            assert n >= 2

    async def divides(self, n):
        self.x = 10 // n

    async def remainder(self, n):
        self.x = n % 3
        assert self.x >= 0

    async def power(self, n):
        assert n**2 >= 0

    async def flags(self):
        if self.flag:
            self.x = 1

    async def numbers_are_true(self, n):
        self.x = 1 if n + 0 else 0

    async def texts(self):
        self.x = 1 if self.name == "a" else 2 if self.name == "b" else 3

    async def extremes(self, n, m):
        assert max(n, m) >= min(n, m)

    async def distance(self, n):
        assert abs(n) >= 0

    async def calls(self, n):
        self.x = helper(n + 0)
        if self.x == 7:
            await self.called(self.x)

    async def called(self, n):
        self.x = n * 2

    async def recursion(self, n):
        self.x = recursive(n + 0)

    async def endless(self):
        while True:
            self.x = 1

    async def loop(self, n):
        k = 0
        while k < n:
            k += 1
        self.x = k

    async def either(self, n):
        if n > 5 or n < -5:
            self.x = 1

    async def both(self, n):
        if -5 < n < 5 and n != 0:
            self.x = 1

    async def fails(self):
        raise ValueError("no")

    async def unknown(self):
        with Path("x").open() as file:
            file.read()

    async def opaque(self, n):
        if f"{n + 0}" == "5":
            self.x = 1


def run(cls: type, *methods: str, classes: tuple[type, ...] = (), **limits: object) -> Execution:
    execution = Execution(context_of((cls, methods)), classes, **limits)
    execution.check_for_real()
    return execution


@pytest.mark.parametrize(
    ("method", "ends"),
    [
        ("sign", ["end"] * 3),
        ("impossible", ["end"] * 2),
        ("divides", ["end", "end", "exception"]),
        ("remainder", ["end"]),
        ("power", ["end"]),
        ("flags", ["end"] * 2),
        ("numbers_are_true", ["end"] * 2),
        ("texts", ["end"] * 3),
        ("extremes", ["end"]),
        ("distance", ["end"]),
        ("calls", ["end"] * 2),
        ("either", ["end"] * 3),
        ("both", ["end"] * 4),
        ("fails", ["exception"]),
    ],
)
def test_paths_of_a_method(method: str, ends: list[str]):
    execution = run(Numbers, method)
    assert execution.ends == ends
    assert execution.search.limits == set()


def test_values_on_each_path():
    found = sorted(fields["x"] for fields in run(Numbers, "sign").fields("Numbers1"))
    assert found == [-1, 0, 1]
    assert sorted(fields["x"] for fields in run(Numbers, "texts").fields("Numbers1")) == [1, 2, 3]
    assert 14 in [fields["x"] for fields in run(Numbers, "calls").fields("Numbers1")]


def test_constraints_in_words():
    found = run(Numbers, "flags").constraints
    assert found == {frozenset({"Numbers1.flag"}), frozenset({"Not(Numbers1.flag)"})}


@pytest.mark.parametrize(
    ("method", "limit"),
    [
        ("loop", "2 iterations of a loop"),
        ("recursion", "a recursion"),
        ("endless", "10000 instructions of a macro-step"),
        ("unknown", "unknown, L"),
        ("opaque", "a decision that depends on what the engine does not follow"),
    ],
)
def test_limits_are_told(method: str, limit: str):
    deep = {"instructions": 1000} if method == "recursion" else {}
    execution = run(Numbers, method, steps=5, **deep)
    assert [one for one in execution.search.limits if limit in one], execution.search.limits


def test_a_loop_goes_as_far_as_it_may():
    for iterations in (1, 2, 4):
        found = run(Numbers, "loop", iterations=iterations).fields("Numbers1")
        assert sorted(fields["x"] for fields in found) == list(range(iterations))


class Peer(Actor):
    def __init__(self):
        self.n = 0

    async def hello(self):
        self.n += 1
        return self.n

    async def fail(self):
        raise KeyError("x")


class Sender(Actor):
    def __init__(self):
        self.peer, self.seen, self.made = None, 0, None

    async def one(self, a):
        self.seen = a.hello.send().get()

    async def two(self, a, b):
        a.hello.send()
        b.hello.send()
        if a is b:
            self.seen = 1

    async def field(self):
        if self.peer is None:
            self.seen = 1
        else:
            self.seen = await self.peer.hello.send()

    async def same(self, a):
        if self.peer is a:
            self.seen = 2

    async def true(self):
        if self.peer:
            self.seen = 3

    async def makes(self):
        self.made = Peer()
        self.seen = self.made.hello.send().get()

    async def caught(self, a):
        try:
            a.fail.send().get()
        except KeyError:
            self.seen = 1

    async def retrieves(self, a):
        a.fail.send().get()

    async def ignores(self, a):
        await a.fail.send().done()
        self.seen = 5

    async def itself(self):
        self.one.send(self.made)
        await pause()
        self.seen = 9


def test_a_reference_is_each_actor_or_a_new_one():
    """Alone, a parameter can only be one more actor; with two peers, one of those, too."""
    alone = Execution(context_of((Sender, ["one"])), [Peer])
    assert len(alone.paths) == alone.check_for_real() == 1
    three = Execution(context_of((Sender, ["one"]), (Peer, ["hello"]), (Peer, ["hello"])))
    targets = {three.case(path).program.split("one.send(")[1].split(")")[0] for path in three.paths}
    assert targets == {"peer1", "peer2", "peer3"}
    assert three.check_for_real() == len(three.paths)


def test_two_references_may_be_one_actor():
    execution = run(Sender, "two", classes=(Peer,))
    assert sorted({fields.get("seen", 0) for fields in execution.fields("Sender1")}) == [0, 1]


def test_fresh_actors_are_limited():
    execution = Execution(context_of((Sender, ["two"])), [Peer], fresh=1)
    assert execution.search.limits == {"1 actors beside those of the context"}
    assert {fields["seen"] for fields in execution.fields("Sender1")} == {1}
    none = Execution(context_of((Sender, ["two"])), [Peer], fresh=0)
    assert none.paths == []
    assert "no actor is left that this could be" in none.search.limits


def test_none_is_tried_where_it_is_asked_for():
    found = run(Sender, "field", classes=(Peer,))
    assert found.ends == ["end", "end"]
    assert run(Sender, "true", classes=(Peer,)).ends == ["end", "end"]
    assert run(Sender, "same", classes=(Peer,)).ends.count("end") >= 3


def test_none_is_an_error_path_only_if_asked():
    assert run(Sender, "one", classes=(Peer,), nulls=False).ends == ["end"]


@pytest.mark.parametrize(
    ("method", "end"),
    [("makes", "end"), ("retrieves", "exception"), ("ignores", "exception")],
)
def test_tasks_and_actors_that_are_made(method: str, end: str):
    execution = run(Sender, method, classes=(Peer,))
    assert set(execution.ends) == {end}


def test_exceptions_that_are_caught_are_not_followed():
    execution = run(Sender, "caught", classes=(Peer,))
    assert "an exception that is caught is not followed" in execution.search.limits


class Lists(Actor):
    def __init__(self):
        self.items, self.pair, self.table, self.n = [], (), {}, 0
        self.members = set()

    async def length(self):
        self.n = len(self.items)

    async def total(self):
        self.n = sum(self.items)
        if self.n > 3:
            self.n = 3

    async def adds(self, x):
        self.items.append(x)
        self.items.append(1)
        self.n = self.items[0] + self.items.pop()

    async def each(self):
        for item in self.items:
            if item > 0:
                self.n += 1

    async def found(self, x):
        self.n = 1 if x in self.items else 0

    async def slices(self):
        self.pair = (*self.pair, 1)
        self.n = len(self.pair[1:])

    async def entries(self, x):
        self.table[1] = x
        self.table[2] = 5
        self.n = self.table.get(1, 0) + self.table[2] + len(self.table)
        del self.table[2]

    async def missing(self):
        self.n = self.table[7]

    async def sets(self):
        self.members.add(1)
        self.members.add(1)
        self.members.discard(3)
        self.n = len(self.members)

    async def comprehension(self):
        self.n = sum(x * 2 for x in self.items if x > 1)

    async def squares(self):
        self.table = {x: x * x for x in range(3)}
        self.members = {x % 2 for x in range(4)}
        self.n = self.table[2] + len(self.members)

    async def built_in(self):
        self.items = sorted([3, 1, 2])
        self.pair = tuple(reversed(self.items))
        pairs = list(zip(self.items, self.pair, strict=True))
        self.n = max(self.items) + len(pairs) + min(2, 1) + any(self.items) + all(self.items)
        for at, item in enumerate(self.items):
            self.n += at * item

    async def changes(self):
        self.items = [1, 2, 3]
        alias = self.items
        alias.insert(0, 9)
        alias.remove(2)
        alias.reverse()
        alias[0] = 5
        alias.extend((4, 4))
        del alias[1]
        self.items += [6]
        self.n = self.items.index(4) * 100 + self.items.count(4) * 10 + len(alias)

    async def point(self, x):
        point = Point(x + 0, 2)
        self.n = point.x + point.y
        self.pair = (point,)
        if point == Point(1, 2):
            self.n = 100

    async def by_index(self, i):
        self.n = [5, 6, 7][i]

    async def out_of_reach(self):
        self.n = [1][3]

    async def pops(self):
        self.items.pop()

    async def kinds(self, x):
        self.n = isinstance(x + 0, int) + isinstance(self.items, list) + isinstance("a", int)

    async def texts(self):
        self.n = len("ab".upper().split("B"))

    async def walrus(self, x):
        if (y := x + 1) > 3:
            self.n = y


@pytest.mark.parametrize(
    ("method", "paths", "values"),
    [
        ("length", 3, {0, 1, 2}),
        ("adds", None, None),
        ("found", None, {0, 1}),
        ("slices", 3, {0, 1, 2}),
        ("entries", 1, None),
        ("sets", 1, {1}),
        ("squares", 1, {6}),
        ("built_in", 1, {17}),
        ("changes", 1, {225}),
        ("point", 2, None),
        ("kinds", 3, {2}),
        ("texts", 1, {2}),
        ("walrus", 2, None),
    ],
)
def test_lists_and_their_kin(method: str, paths: int | None, values: set[int] | None):
    execution = run(Lists, method)
    assert paths is None or len(execution.paths) == paths
    if values is not None:
        assert {fields.get("n") for fields in execution.fields("Lists1")} == values


@pytest.mark.parametrize("method", ["total", "each", "comprehension", "by_index"])
def test_items_may_be_anything(method: str):
    execution = run(Lists, method)
    assert len(execution.paths) > 3


@pytest.mark.parametrize(
    ("method", "ends"),
    [
        ("missing", {"exception"}),
        ("out_of_reach", {"exception"}),
        ("pops", {"exception", "end"}),
        ("by_index", {"exception", "end"}),
    ],
)
def test_what_python_raises_is_raised(method: str, ends: set[str]):
    assert set(run(Lists, method).ends) == ends


def test_lists_are_as_long_as_asked():
    found = run(Lists, "length", length=4)
    assert {fields["n"] for fields in found.fields("Lists1")} == {0, 1, 2, 3, 4}
    assert found.search.limits == {"lists with more than 4 items"}


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

    async def waits(self):
        self.lift.send()
        await pause()
        self.n = 2


def test_conditions_hold_or_wait_for_ever():
    assert run(Gate, "enter").ends == ["end", "stuck"]
    assert run(Gate, "enter", "lift").ends.count("stuck") == 0
    assert set(run(Gate, "enter", "shut").ends) == {"end", "stuck"}


def test_a_pause_lets_others_in():
    found = run(Gate, "waits", "shut").fields("Gate1")
    assert {fields["open"] for fields in found} == {True, False}


class Self(Actor):
    async def b(self):
        self.c.send().get()

    async def c(self):
        return 0


def test_a_deadlock_is_seen_at_once():
    execution = run(Self, "b", "c")
    assert "deadlock" in execution.ends
    assert all(len(path.schedule) <= 3 for path in execution.paths)


def test_steps_of_different_actors_commute():
    """Two actors that do not know each other have one order; two tasks of one have two."""
    apart = Execution(context_of((Gate, ["lift"]), (Gate, ["shut"])))
    assert len(apart.paths) == apart.check_for_real() == 1
    together = Execution(context_of((Gate, ["lift", "shut"])))
    assert len(together.paths) == together.check_for_real() == 2


def test_limits_of_steps_and_switches():
    assert "2 macro-steps" in run(Gate, "lift", "shut", "lift", steps=2).search.limits
    switches = run(Gate, "lift", "shut", "lift", switches=2).search.limits
    assert "2 task switches in an actor" in switches

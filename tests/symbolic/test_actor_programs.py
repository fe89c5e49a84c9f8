"""Small programs of actors: exactly which paths their contexts have, and with which conditions.

Every path is run for real, too: it ends as said, with the same waits and the same fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from executing import Execution, context_of

from treadle.actors import Actor, pause, until
from treadle.symbolic.search import End


class Peer(Actor):
    def __init__(self):
        self.n = 0

    async def hello(self):
        self.n += 1
        return self.n

    async def echo(self, x):
        return x

    async def fail(self):
        raise KeyError("x")

    async def doubt(self):
        raise AssertionError("no")

    async def store(self, xs):
        xs.append(1)
        return xs


class Keeps(Actor):
    """It is made with a list, and changes it."""

    def __init__(self, xs, first=0):
        self.xs, self.first = xs, first
        self.xs.append(9)

    async def size(self):
        return len(self.xs)


class Local(Actor):
    def __init__(self, n):
        self.n = n

    async def bump(self):
        self.n += 1
        return self.n


class Asks(Actor):
    def __init__(self):
        self.peer, self.out, self.items, self.mine = None, 0, [], None

    async def twice(self, a):
        self.out = a.hello.send().get() + a.hello.send().get()

    async def passes(self, a):
        self.out = a.echo.send(7).get()

    async def one_of_two(self, a, b):
        a.hello.send()
        self.out = 1 if a is b else 2
        b.hello.send()

    async def three(self, a, b, c):
        a.hello.send()
        b.hello.send()
        c.hello.send()
        self.out = (a is b) + (b is c) + (a is c)

    async def compares_with_field(self, a):
        self.peer.hello.send()
        a.hello.send()
        self.out = 1 if self.peer is a else 2

    async def may_be_none(self):
        self.peer.hello.send()
        if self.peer is None:
            self.out = 1

    async def compares_none(self):
        self.out = 1 if self.peer is None else 2

    async def awaits(self, a):
        future = a.hello.send()
        await future
        self.out = future.get()

    async def later(self, a):
        one, other = a.hello.send(), a.hello.send()
        self.out = other.get() * 10 + one.get()

    async def whether_done(self, a):
        await a.fail.send().done()
        self.out = 3

    async def raises_through(self, a):
        a.fail.send().get()
        self.out = 4

    async def doubts(self, a):
        a.doubt.send()

    async def doubts_and_asks(self, a):
        a.doubt.send().get()

    async def messages_are_copies(self, a):
        xs = [5]
        got = a.store.send(xs).get()
        self.out = len(xs) * 10 + len(got)

    async def makes(self):
        xs = [5]
        kept = Keeps(xs)
        self.out = len(xs) * 10 + kept.size.send().get()

    async def makes_by_name(self):
        xs = [5]
        kept = Keeps(first=2, xs=xs)
        self.out = len(xs) * 10 + kept.size.send().get()

    async def makes_wrongly(self):
        Keeps()

    async def sends_wrongly(self, a):
        a.hello.send(1)

    async def sends_what_is_not_there(self):
        self.nothing.send()

    async def makes_local(self):
        mine = Local.local(4)
        self.out = await mine.bump() + await mine.bump()

    async def sends_to_local(self):
        mine = Local.local(4)
        self.out = await mine.bump.send()

    async def waits_for_local(self):
        mine = Local.local(4)
        self.out = mine.bump.send().get()

    async def to_each(self):
        for peer in self.items:
            peer.hello.send()

    async def to_each_and_waits(self):
        for peer in self.items:
            self.out += peer.hello.send().get()

    async def keywords(self, a):
        self.out = a.echo.send(x=6).get()

    async def defaults(self, k=5):
        self.out = k + 1

    async def uses_defaults(self):
        self.defaults.send()

    async def futures_in_a_list(self, a):
        futures = [a.hello.send() for _ in range(2)]
        self.out = sum([future.get() for future in futures])

    async def to_itself(self):
        await self.uses_defaults.send()


def run(*locations: tuple[type, Sequence[str]], **limits: object) -> Execution:
    """Execute a context; each path is run for real."""
    execution = Execution(context_of(*locations), [Peer, Keeps, Local], **limits)
    execution.check_for_real()
    return execution


@pytest.mark.parametrize(
    ("method", "ends", "outs"),
    [
        ("twice", {"end": 1}, None),
        ("passes", {"end": 1}, {7}),
        ("one_of_two", {"end": 2}, {1, 2}),
        ("compares_none", {"end": 2}, {1, 2}),
        ("may_be_none", {"end": 1}, None),
        ("compares_with_field", {"end": 2}, {1, 2}),
        ("messages_are_copies", {"end": 1}, {12}),
        ("makes", {"end": 1}, {12}),
        ("makes_by_name", {"end": 1}, {12}),
        ("makes_wrongly", {"exception": 1}, None),
        ("sends_wrongly", {"exception": 1}, None),
        ("sends_what_is_not_there", {"exception": 1}, None),
        ("makes_local", {"end": 1}, {11}),
        ("sends_to_local", {"end": 1}, {5}),
        ("waits_for_local", {"deadlock": 1}, None),
        ("whether_done", {"exception": 1}, {3}),
        ("raises_through", {"exception": 1}, None),
        ("doubts", {"assertion": 1}, None),
        ("doubts_and_asks", {"assertion": 1}, None),
        ("keywords", {"end": 1}, {6}),
        ("uses_defaults", {"end": 1}, {6}),
        ("to_itself", {"end": 1}, {6}),
    ],
)
def test_paths_of_one_task(method: str, ends: dict[str, int], outs: set[int] | None):
    execution = run((Asks, [method]))
    assert Counter(execution.ends) == ends
    assert execution.search.limits == set()
    if outs is not None:
        assert {fields["out"] for fields in execution.fields("Asks1")} == outs


@pytest.mark.parametrize(
    ("method", "difference"),
    [("awaits", 1), ("twice", None), ("later", None), ("futures_in_a_list", None)],
)
def test_what_tasks_return_is_computed_with(method: str, difference: int | None):
    """The peer counts its greetings from whatever it has counted before."""
    execution = run((Asks, [method]))
    assert set(execution.ends) == {"end"}
    assert execution.search.limits == set()
    for path in execution.paths:
        peer = next(actor for actor in path.state.actors.values() if actor.cls is Peer)
        assert str(peer.fields["n"]) != "0", "it depends on the symbol"
    if difference is not None:
        assert len(execution.paths) == difference


BELL = {1: 1, 2: 2, 3: 5}


@pytest.mark.parametrize("fresh", [1, 2, 3])
def test_three_references_are_partitions(fresh: int):
    """Three parameters are one to three peers: the partitions of three with at most so many."""
    execution = run((Asks, ["three"]), fresh=fresh)
    found = {frozenset(execution.case(path).constraints) for path in execution.paths}
    assert len(found) == {1: 1, 2: 4, 3: 5}[fresh]
    is_limited = "{} actors beside those of the context".format(fresh) in execution.search.limits
    assert is_limited, "a fourth could have been asked for, or more than are allowed were"


@pytest.mark.parametrize(("peers", "paths"), [(0, 2), (1, 5), (2, 10)])
def test_two_references_and_some_peers_that_are_there(peers: int, paths: int):
    """(p + 1)² choices, less those in which the second is a new one while the first is, twice."""
    there = [(Peer, ["hello"])] * peers
    execution = run((Asks, ["one_of_two"]), *there, fresh=4)
    chosen = {
        frozenset(one for one in execution.case(path).constraints if " is Peer" in one)
        for path in execution.paths
    }
    assert len(chosen) == paths

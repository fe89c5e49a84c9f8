"""Small programs of actors: exactly which paths their contexts have, and with which conditions.

Every path is run for real, too: it ends as said, with the same waits and the same fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

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
        ("one_of_two", {"end": 3}, {1, 2}),
        ("compares_none", {"end": 2}, {1, 2}),
        ("may_be_none", {"end": 1}, None),
        ("compares_with_field", {"end": 3}, {1, 2}),
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
    ("method", "orders", "expected"),
    [
        ("awaits", 1, lambda n: {n + 1}),
        ("twice", 1, lambda n: {2 * n + 3}),
        ("later", 2, lambda n: {(n + 1) * 10 + n + 2, (n + 2) * 10 + n + 1}),
        ("futures_in_a_list", 2, lambda n: {2 * n + 3}),
    ],
)
def test_what_tasks_return_is_computed_with(
    method: str, orders: int, expected: Callable[[int], set[int]]
):
    """The peer counts its greetings from whatever it has counted before: here, 0."""
    execution = run((Asks, [method]))
    assert execution.ends == ["end"] * orders
    assert execution.search.limits == set()
    assert {fields["out"] for fields in execution.fields("Asks1")} == expected(0)


@pytest.mark.parametrize(
    ("fresh", "choices", "paths"),
    [(1, 1, 6), (2, 4, 12), (3, 5, 13), (4, 5, 13)],
)
def test_three_references_are_partitions(fresh: int, choices: int, paths: int):
    """Three parameters are one to three peers: the partitions of three with at most so many.

    Greetings to one peer come in any order, so a block of k has k! paths.
    """
    execution = run((Asks, ["three"]), fresh=fresh)
    found = {frozenset(execution.case(path).constraints) for path in execution.paths}
    assert (len(found), len(execution.paths)) == (choices, paths)
    limit = {f"{fresh} actors beside those of the context"}
    assert execution.search.limits == (limit if fresh < 3 else set())


@pytest.mark.parametrize("peers", [0, 1, 2])
def test_two_references_and_some_peers_that_are_there(peers: int):
    """The first is one of p or new; the second is one of those, or new in its turn."""
    there = [(Peer, ["hello"])] * peers
    execution = run((Asks, ["one_of_two"]), *there, fresh=4)
    chosen = {
        frozenset(one for one in execution.case(path).constraints if " is Peer" in one)
        for path in execution.paths
    }
    assert len(chosen) == peers * (peers + 1) + (peers + 2)
    for path in execution.paths:
        out = path.state.actors["Asks1"].fields["out"]
        one, other = (path.state.resolved[f"main.1:one_of_two.{name}"] for name in ("a", "b"))
        assert out == (1 if one == other else 2)


@pytest.mark.parametrize(("length", "paths"), [(0, 1), (1, 2), (2, 5)])
def test_greetings_to_the_items_of_a_list(length: int, paths: int):
    """No peer; one; two that are one (in both orders) or two."""
    execution = run((Asks, ["to_each"]), length=length)
    assert execution.ends == ["end"] * paths
    assert execution.search.limits == {f"lists with more than {length} items"}


def test_greetings_one_after_the_other():
    execution = run((Asks, ["to_each_and_waits"]))
    sizes = Counter(len(path.schedule) for path in execution.paths)
    assert sizes == {1: 1, 3: 1, 5: 2}, "nobody, one, and two that may be the same"


# None


@pytest.mark.parametrize(
    ("method", "without", "with_nulls"),
    [
        ("may_be_none", {"end": 1}, {"end": 1, "exception": 1}),
        ("compares_with_field", {"end": 3}, {"end": 3, "exception": 2}),
        ("compares_none", {"end": 2}, {"end": 2}),
        ("passes", {"end": 1}, {"end": 1}),
    ],
)
def test_nulls(method: str, without: dict[str, int], with_nulls: dict[str, int]):
    """With the limit `nulls`, what is sent to is tried as None, too, where it may be."""
    assert Counter(run((Asks, [method])).ends) == without
    assert Counter(run((Asks, [method]), nulls=True).ends) == with_nulls


def test_the_condition_of_a_null_says_so():
    execution = run((Asks, ["may_be_none"]), nulls=True)
    failing = next(path for path in execution.paths if path.end is End.ERROR)
    assert execution.case(failing).constraints == ("Asks1.peer is None",)
    assert "peer=None" in execution.case(failing).program


# Conditions and pauses


class Gate(Actor):
    def __init__(self):
        self.level, self.passed, self.open = 0, 0, False

    async def enter(self):
        await until(lambda: self.open)
        self.passed += 1

    async def above(self, n):
        await until(lambda: self.level > n)
        self.passed = 1

    async def between(self):
        await until(lambda: 2 < self.level < 4)
        self.passed = self.level

    async def never(self):
        await until(lambda: self.level > self.level)

    async def always(self):
        await until(lambda: self.level == self.level)
        self.passed = 2

    async def raise_level(self):
        self.level += 1

    async def reset(self):
        self.level = 0

    async def lift(self):
        self.open = True

    async def shut(self):
        self.open = False

    async def pauses(self):
        self.passed = 0
        await pause()
        self.passed += 1

    async def pauses_twice(self):
        await pause()
        await pause()

    async def fails_in_the_condition(self):
        await until(lambda: 1 // self.level > 0)


@pytest.mark.parametrize(
    ("tasks", "ends"),
    [
        (("enter",), {"end": 1, "stuck": 1}),
        (("enter", "lift"), {"end": 3}),
        (("enter", "shut"), {"end": 1, "stuck": 2}),
        (("above",), {"end": 1, "stuck": 1}),
        (("between",), {"end": 1, "stuck": 2}),
        (("never",), {"stuck": 1}),
        (("always",), {"end": 1}),
        (("between", "reset"), {"end": 1, "stuck": 3}),
        (("pauses",), {"end": 1}),
        (("pauses", "lift"), {"end": 1}),
        (("pauses_twice", "lift"), {"end": 1}),
        (("lift", "shut"), {"end": 2}),
        (("fails_in_the_condition",), {"end": 1, "stuck": 2, "exception": 1}),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else "",
)
def test_conditions_and_pauses(tasks: tuple[str, ...], ends: dict[str, int]):
    """Orders that lead to the same states are one path."""
    execution = run((Gate, tasks))
    assert Counter(execution.ends) == ends
    assert execution.search.limits == set()


def test_what_a_condition_needs_is_solved_for():
    execution = run((Gate, ["between"]))
    passed = next(path for path in execution.paths if path.end is End.RETURN)
    assert "restore(Gate, level=3, passed=ANY, open=ANY)" in execution.case(passed).program
    assert passed.state.actors["Gate1"].fields["passed"] is not None


def test_conditions_of_two_tasks_are_given_up_together():
    """Both wait for ever if the level is at most the smaller of what they ask for."""
    execution = run((Gate, ["above", "above"]))
    assert {path.end for path in execution.paths} == {End.RETURN, End.STUCK}
    waiting = {len(list(path.state.alive())) for path in execution.paths}
    assert waiting == {0, 1, 2}


class Doubtful(Actor):
    """Whether its condition holds, the engine cannot tell as soon as the number is a symbol."""

    def __init__(self):
        self.x = 0

    async def go(self):
        self.x = 0
        await until(lambda: self.x > 0 and self.x / 2 > 1)
        self.end.send().get()

    async def set(self, n):
        self.x = n + 0

    async def end(self):
        pass


def test_a_condition_that_becomes_undecidable_is_told():
    execution = run((Doubtful, ["go", "set"]))
    assert execution.search.limits == {"a decision that depends on what the engine does not follow"}


# Deadlocks


class Ring(Actor):
    def __init__(self):
        self.next = None

    async def ask(self):
        self.next.answer.send().get()

    async def answer(self):
        return 1

    async def asks_gently(self):
        await self.next.answer.send()

    async def asks_itself(self):
        await self.waits_for_me.send(self)

    async def waits_for_me(self, other):
        other.answer.send().get()

    async def given(self, other):
        other.answer.send().get()


@pytest.mark.parametrize(
    ("locations", "deadlocks"),
    [
        ([["ask"]], True),
        ([["asks_gently"]], False),
        ([["answer", "answer"]], False),
        ([["given"]], True),
        ([["ask"], ["ask"]], True),
        ([["asks_gently"], ["ask"]], True),
        ([["asks_gently"], ["asks_gently"]], False),
        ([["asks_itself"]], True),
    ],
)
def test_whether_there_is_a_deadlock(locations: list[list[str]], deadlocks: bool):
    execution = run(*((Ring, tasks) for tasks in locations))
    assert (End.DEADLOCK in {path.end for path in execution.paths}) == deadlocks


def rings(number: int) -> Counter[int]:
    """How many waits the deadlocks have of so many that ask."""
    execution = run(*[(Ring, ["ask"])] * number, fresh=0)
    return Counter(
        len({arrow.source for arrow in path.chain if not arrow.is_held})
        for path in execution.paths
        if path.end is End.DEADLOCK
    )


def test_rings_of_deadlocks():
    """One waits for itself; two for each other; three in a circle."""
    assert set(rings(1)) == {1}
    assert set(rings(2)) == {1, 2}
    assert set(rings(3)) == {1, 2, 3}


def test_only_waits_for_oneself_and_each_other_are_chains():
    execution = run((Ring, ["ask"]), (Ring, ["ask"]), fresh=0)
    conditions = {
        frozenset(execution.case(path).constraints): path.end.value for path in execution.paths
    }
    assert conditions[frozenset({"Ring1.next is Ring2", "Ring2.next is Ring1"})] == "deadlock"
    assert all(
        end == "deadlock"
        for constraints, end in conditions.items()
        if {"Ring1.next is Ring1"} & constraints or {"Ring2.next is Ring2"} & constraints
    )

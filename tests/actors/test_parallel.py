"""May happen in parallel: which points of which tasks can be reached at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import dedent

import pytest
from random_actors import main_of

from treadle.actors.classes import classes_in
from treadle.actors.deadlocks import KNOWN
from treadle.analyses.abstract import ENTRY, EXIT, Point, Routine
from treadle.analyses.deadlock_cycles import analyse
from treadle.analyses.dependency_graph import DependencyGraph, Reason
from treadle.analyses.ir import Get
from treadle.analyses.may_happen_in_parallel import LocalPhase, Parallelism, Status
from treadle.analyses.points_to import PointsTo
from treadle.analyses.raising import Raising

HEAD = """\
from treadle.actors import Actor, pause, until


class Cell(Actor):
    def __init__(self):
        self.n = 0
    async def one(self):
        return 0
    async def other(self):
        return 0
    async def third(self):
        return 0


"""


class Analysed:
    """A program after the local phase."""

    def __init__(self, text: str) -> None:
        main = main_of(HEAD + dedent(text))
        self.points_to = PointsTo(KNOWN, classes_in(main, ())).from_main(main)
        self.local = LocalPhase(self.points_to)

    def routine(self, name: str) -> Routine:
        return next(one for one in self.points_to.routines if one.name == name)

    def atoms(self, name: str, at: int = EXIT) -> set[tuple[str, str, bool]]:
        """Return the tasks at a position that a routine sent: name, status, whether many."""
        found = self.local.atoms[self.routine(name)][at]
        return {(a.task.name, a.status.value, many) for a, many in found.items() if a.is_own}

    def may(self, *points: tuple[str, int]) -> bool:
        first, second = (Point(self.routine(name), at) for name, at in points)
        return Parallelism(self.points_to, self.local, self.all_points()).may(first, second)

    def all_points(self) -> Iterable[Point]:
        for routine in self.points_to.routines:
            yield from (Point(routine, at) for at in (ENTRY, EXIT, *self.local.atoms[routine]))


def at_exit(*lines: str) -> set[tuple[str, str, bool]]:
    body = "\n            ".join(lines)
    return Analysed(f"""
        def main(p=0):
            c = Cell()
            {body}
    """).atoms("main")


# The local phase


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["c.one.send()"], {("one", "active", False)}),
        (["c.one.send().get()"], {("one", "finished", False)}),
        (["f = c.one.send()", "g = f", "g.get()"], {("one", "finished", False)}),
        (["f = c.one.send()", "f = None"], {("one", "active", False)}),
        (["f = c.one.send()", "f = c.other.send()", "f.get()"],
         {("one", "active", False), ("other", "finished", False)}),
        (["for _ in range(2): c.one.send()"], {("one", "active", True), ("one", "active", False)}),
        (["for _ in range(2): c.one.send().get()"],
         {("one", "finished", True), ("one", "finished", False)}),
        (["c.one.send()", "c.one.send()"], {("one", "active", True)}),
        (["if p: f = c.one.send()", "else: f = c.other.send()", "f.get()"],
         {("one", "finished", False), ("other", "finished", False)}),
        (["f = c.one.send()", "if p: f.get()"],
         {("one", "finished", False), ("one", "active", False)}),
        (["fs = [c.one.send()]", "fs[0].get()"], {("one", "active", False)}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)  # fmt: skip
def test_tasks_at_the_end_of_main(lines: list[str], expected: set[tuple[str, str, bool]]) -> None:
    found = at_exit(*lines)
    assert found <= expected
    assert {(name, status) for name, status, _ in found} == {(n, s) for n, s, _ in expected}


SELF = """
    class Self(Actor):
        async def go(self):
            f = self.work.send()
            {then}
        async def work(self):
            return 0


    def main():
        Self().go.send()
"""


def test_what_is_sent_to_oneself_is_pending() -> None:
    found = Analysed(SELF.format(then="f.get()"))
    go = found.routine("go")
    (wait,) = (at for at, one in enumerate(go.method.instructions) if isinstance(one, Get))
    assert found.atoms("go", wait) == {("work", "pending", False)}
    assert found.may(("go", wait), ("work", ENTRY))
    assert not found.may(("go", wait), ("work", 0))


@pytest.mark.parametrize("then", ["await pause()", "await until(lambda: True)", "await f"])
def test_who_releases_lets_them_in(then: str) -> None:
    found = Analysed(SELF.format(then=then))
    go = found.routine("go")
    waits = [at for at in found.local.atoms[go] if at >= 0 and found.local.lets_in(go, at)]
    assert len(waits) == 1
    assert found.may(("go", waits[0]), ("work", 0))
    (status,) = {atom.status for atom in found.local.during(go, waits[0])}
    assert status is Status.ACTIVE


def test_calls_leave_their_tasks_behind() -> None:
    found = Analysed("""
        class Self(Actor):
            async def go(self, c):
                await self.start(c)
                self.wait(c)
            async def start(self, c):
                c.one.send()
            def wait(self, c):
                c.other.send().get()


        def main():
            Self().go.send(Cell())
    """)
    assert found.atoms("go") == {("one", "active", False), ("other", "finished", False)}
    assert found.local.releasing == set()
    assert found.may(("wait", 1), ("one", 0))
    assert found.may(("wait", 1), ("go", 1))  # who calls is there meanwhile
    assert not found.may(("wait", 1), ("go", 0))


def test_who_calls_somebody_that_releases_releases() -> None:
    found = Analysed("""
        async def breathe():
            await pause()


        class Self(Actor):
            async def go(self):
                self.work.send()
                await breathe()
            async def work(self):
                return 0


        def main():
            Self().go.send()
    """)
    assert {routine.name for routine in found.local.releasing} == {"breathe", "go"}
    assert found.may(("breathe", 0), ("work", 0))


# The global phase


def test_siblings_and_descendants() -> None:
    found = Analysed("""
        class Parent(Actor):
            async def go(self, c):
                c.one.send()
                await c.other.send()
                c.third.send()


        def main():
            Parent().go.send(Cell())
    """)
    assert found.may(("one", 0), ("other", 0))
    assert found.may(("one", 0), ("third", 0))
    assert not found.may(("other", 0), ("third", 0))  # it has ended before
    assert not found.may(("one", 0), ("one", 0))
    assert found.may(("go", 0), ("one", 0)) is found.may(("one", 0), ("go", 0))


def test_many_of_a_task_are_parallel_to_each_other() -> None:
    found = Analysed("""
        def main():
            for _ in range(3):
                Cell().one.send()
    """)
    assert found.may(("one", 0), ("one", 0))
    once = Analysed("""
        def main():
            Cell().one.send()
    """)
    assert not once.may(("one", 0), ("one", 0))


def test_what_a_finished_task_has_sent_goes_on() -> None:
    found = Analysed("""
        class Parent(Actor):
            async def go(self, c):
                await self.start.send(c)
                c.other.send().get()
            async def start(self, c):
                c.one.send()


        def main():
            Parent().go.send(Cell())
    """)
    assert found.may(("one", 0), ("other", 0))
    assert not found.may(("start", 0), ("other", 0))


# Exceptions


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("raise ValueError", True),
        ("assert self.n", True),
        ("self.n = 1 // self.n", True),
        ("self.n = [1][self.n]", True),
        ("self.n = int('1')", True),
        ("self.n += 1", False),
        ("self.n = len([1])", False),
        ("await c.one.send()", False),
        ("await c.fails.send()", True),
        ("c.fails.send().get()", True),
        ("await c.fails.send().done()", False),
        ("self.fails()", True),
        ("try: raise ValueError\n                except ValueError: pass", True),
    ],
)
def test_who_may_raise(line: str, expected: bool) -> None:
    found = Analysed(f"""
        class Failing(Cell):
            def fails(self):
                raise ValueError
            async def go(self, c):
                {line}


        def main():
            Failing().go.send(Failing())
    """)
    raising = Raising(found.points_to)
    go = found.routine("go")
    leaves = [at for at in found.local.atoms[go] if at >= 0 and raising.may_leave(go, at)]
    returns = [at for at in leaves if at == len(go.method.instructions) - 1]
    assert bool(set(leaves) - set(returns)) is expected


# The dependency graph


def edges(text: str) -> set[tuple[str, str, str]]:
    found = Analysed(text)
    graph = DependencyGraph(found.points_to, found.local)
    return {(str(e.source), str(e.target), e.reason.value) for e in graph.edges}


def test_arrows_of_a_get_and_an_await() -> None:
    text = """
        class User(Actor):
            async def use(self, c):
                {wait}


        def main():
            User().use.send(Cell())
    """
    turn = Reason.TURN.value
    blocking = edges(text.format(wait="c.one.send().get()"))
    assert {(s, t, r) for s, t, r in blocking if r != turn} == {
        ("User.use", "Cell.one", "get"),
        ("User of L22", "Cell.one", "get"),
    }
    releasing = edges(text.format(wait="await c.one.send()"))
    assert {(s, t, r) for s, t, r in releasing if r != turn} == {("User.use", "Cell.one", "await")}
    assert {(s, t) for s, t, r in releasing if r == turn} == {
        ("User.use", "User of L22"),
        ("Cell.one", "Cell of L22"),
    }


def test_arrows_of_a_condition_lead_to_who_may_write_its_fields() -> None:
    found = edges("""
        class Gate(Actor):
            def __init__(self):
                self.open, self.items, self.other = False, [], 0
            async def enter(self):
                await until(lambda: self.open and self.items)
            async def lift(self):
                self.open = True
            async def put(self):
                self.items.append(1)
            async def more(self):
                self.other += 1


        def main():
            g = Gate()
            for message in (g.enter, g.lift):
                pass
            g.enter.send(); g.lift.send(); g.put.send(); g.more.send()
    """)
    waits = {(s, t) for s, t, r in found if r == "until"}
    assert waits == {("Gate.enter", "Gate.lift"), ("Gate.enter", "Gate.put")}


def test_waiting_for_nobody_is_no_arrow() -> None:
    found = edges("""
        class User(Actor):
            async def use(self):
                h = None
                if h:
                    await h


        def main():
            User().use.send()
    """)
    assert {r for _, _, r in found} == {"turn"}
    assert len(found) == 1


def test_an_edge_says_whether_an_actor_is_held_and_who_sent_what_is_awaited() -> None:
    found = Analysed("""
        class User(Actor):
            async def use(self, c, given):
                c.one.send().get()
                await given


        def main():
            c = Cell()
            User().use.send(c, c.other.send())
    """)
    graph = DependencyGraph(found.points_to, found.local)
    waits = [edge for edge in graph.edges if edge.enters_task]
    assert {(edge.reason.value, edge.leaves_group, edge.is_child) for edge in waits} == {
        ("get", False, True),
        ("get", True, True),
        ("await", False, False),
    }
    assert all(edge.task.name == "use" for edge in waits)
    assert {str(edge.point) for edge in waits} == {"L18", "L19"}
    assert graph.conditions == []


def test_recursion_that_awaits_its_own_tasks_is_no_cycle() -> None:
    """Nobody is its own descendant; but who is given a future may wait for an ancestor."""
    text = """
        class Fib(Actor):
            async def fib(self, n):
                if n < 2:
                    return n
                f = Fib().fib.send(n - 1)
                {wait}


        def main(n=3):
            Fib().fib.send(n)
    """
    patient = Analysed(text.format(wait="return n + await f"))
    graph = DependencyGraph(patient.points_to, patient.local)
    own = [edge for edge in graph.edges if edge.enters_task and edge.reason is Reason.AWAIT]
    assert own
    assert all(edge.is_child for edge in own)
    main = next(routine.function for routine in patient.points_to.tasks)
    assert analyse(KNOWN, classes_in(main, ()), main).is_free

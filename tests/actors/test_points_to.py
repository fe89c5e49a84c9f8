"""Points-to: a deadlock is found by whatever way the actors and futures in it travel.

Each program below has one, which exploring it shows; most have a twin that is free of deadlocks in
which the value takes the same way and the wait releases the actor.
"""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from random_actors import main_of, program_of

import treadle
from treadle.actors import Program
from treadle.actors.classes import classes_in
from treadle.actors.deadlocks import KNOWN, analysis_of, candidates_of
from treadle.analyses.abstract import AbstractObject, Routine, objects_in, tasks_in
from treadle.analyses.deadlock_cycles import analyse
from treadle.analyses.points_to import PointsTo
from treadle.core.deadlocks import SENSITIVITY, Candidates
from treadle.papers.thesis_actors import DB, Worker

HEAD = """\
import dataclasses
import enum
from treadle.actors import Actor, pause, program, until


@dataclasses.dataclass
class Box:
    content: object
    others: list = dataclasses.field(default_factory=list)


def same(x):
    return x


def first_of(xs):
    for x in xs:
        return x


async def later(x):
    await pause()
    return x


class Base(Actor):
    shared = []
    def __init__(self, peer=None):
        self.peer, self.kept, self.n = peer, None, 0
    async def touch(self):
        return 0
    async def me(self):
        return self
    async def keep(self, x):
        self.kept = x
    async def go(self):
        pass


"""


def program(text: str) -> Program:
    return program_of(HEAD + dedent(text))


def analysed(target: Program) -> Candidates:
    found = candidates_of(target, SENSITIVITY)
    assert found.unknown == []
    return found


def has_deadlock(target: Program) -> bool:
    result = treadle.explore(target, stop_on_failure=False)
    return "deadlock" in result.failure_kinds


# Ways by which an actor comes to wait for itself: `x` is the actor in the end

WAYS = {
    "a name": "x = self",
    "another name": "y = self; x = y",
    "a tuple": "x = (1, self)[1]",
    "unpacked": "_, x = 1, self",
    "unpacked from a name": "t = (1, self); _, x = t",
    "starred": "_, *rest = (1, self); x = rest[0]",
    "a list": "x = [self][0]",
    "appended": "xs = []; xs.append(self); x = xs[0]",
    "appended under another name": "xs = []; ys = xs; ys.append(self); x = xs[0]",
    "extended": "xs = []; xs.extend([self]); x = xs[0]",
    "inserted": "xs = []; xs.insert(0, self); x = xs[0]",
    "added in place": "xs = []; ys = xs; xs += [self]; x = ys[0]",
    "concatenated": "x = ([1] + [self])[1]",
    "sliced": "x = [1, self][1:][0]",
    "an item that is set": "xs = [None]; xs[0] = self; x = xs[0]",
    "a dictionary": "x = {1: self}[1]",
    "a key": "x = list({self: 1})[0]",
    "a dictionary that is written": "d = {}; d[1] = self; x = d.get(1)",
    "a default of a dictionary": "x = {}.get(1, self)",
    "set by default": "d = {}; d.setdefault(1, []).append(self); x = d[1][0]",
    "values": "x = list({1: self}.values())[0]",
    "items": "(_, x), = {1: self}.items()",
    "a set": "x = {self}.pop()",
    "nested": "x = [[(self,)]][0][0][0]",
    "sorted": "x = sorted([self], key=lambda one: 0)[0]",
    "the smallest": "x = min([self], key=lambda one: 0)",
    "zipped": "((_, x),) = tuple(zip([1], [self]))",
    "counted": "x = list(enumerate([self]))[0][1]",
    "reversed": "x = list(reversed([self]))[0]",
    "a comprehension": "x = [y for y in [self]][0]",
    "a comprehension with a test": "x = [y for y in [self] if y is not None][0]",
    "a dictionary comprehension": "x = {1: y for y in [self]}[1]",
    "a loop": "for y in [self]: x = y",
    "a walrus": "x = (y := self)",
    "either": "x = None or self",
    "a choice": "x = self if self.n == 0 else None",
    "a box": "x = Box(self).content",
    "a box that is filled": "b = Box(None); b.content = self; x = b.content",
    "a box within": "b = Box(None); b.others.append(self); x = b.others[0]",
    "a field": "self.kept = self; x = self.kept",
    "a field that is written before": "self.kept = [self]; x = self.kept[0]",
    "a class attribute": "self.shared.append(self); x = self.shared[0]; self.shared.clear()",
    "a function": "x = same(self)",
    "a function that loops": "x = first_of([1, self][1:])",
    "a function that waits": "x = await later(self)",
    "a function by keyword": "x = same(x=self)",
    "a call": "x = await self.me()",
    "a result": "x = await self.me.send()",
    "a caught exception": "try:\n    raise ValueError\nexcept ValueError:\n    x = self",
    "a finally": "try:\n    x = None\nfinally:\n    x = self",
    "a match": "match (1, self):\n    case (_, y):\n        x = y",
    "a while": "x = None\nwhile x is None:\n    x = self",
}

WAITING = """
class Waiting(Base):
    async def go(self):
{way}
        {wait}


def main():
    Waiting().go.send()
"""


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_actor_that_waits_for_itself(way: str) -> None:
    lines = indent(way, " " * 8)
    blocking = program(WAITING.format(way=lines, wait="x.touch.send().get()"))
    if "exception" not in way:
        assert has_deadlock(blocking)
    assert len(candidates_of(blocking, SENSITIVITY).cycles) >= 1
    patient = program(WAITING.format(way=lines, wait="await x.touch.send()"))
    assert not has_deadlock(patient)
    assert candidates_of(patient, SENSITIVITY).cycles == []


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_all_of_these_ways_are_understood(way: str) -> None:
    made = program(WAITING.format(way=indent(way, " " * 8), wait="x.touch.send().get()"))
    assert candidates_of(made, SENSITIVITY).unknown == []


# Ways from one actor to another

JOURNEYS = {
    "an argument": ("peer.go.send(self)", "async def go(self, other):", "other"),
    "by keyword": ("peer.go.send(other=self)", "async def go(self, other):", "other"),
    "a default": ("peer.go.send(x=self)", "async def go(self, other=None, x=None):", "x"),
    "the second": ("peer.go.send(1, self)", "async def go(self, n, other):", "other"),
    "in a list": ("peer.go.send([self])", "async def go(self, others):", "others[0]"),
    "in a dictionary": ("peer.go.send({1: self})", "async def go(self, d):", "d[1]"),
    "in a box": ("peer.go.send(Box(self))", "async def go(self, box):", "box.content"),
    "only by name": ("peer.go.send(other=self)", "async def go(self, *, other):", "other"),
    "a plain method": ("peer.go.send(self)", "def go(self, other):", "other"),
}

TWO = """
class Answering(Base):
    {signature}
        {other}.touch.send().get()


class Asking(Base):
    async def ask(self, peer):
        f = {message}
        {wait}


def main():
    Asking().ask.send(Answering())
"""


@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
def test_an_actor_that_is_sent_to_another(journey: tuple[str, str, str]) -> None:
    message, signature, other = journey
    text = TWO.format(message=message, signature=signature, other=other, wait="f.get()")
    assert has_deadlock(program(text))
    assert len(analysed(program(text)).cycles) >= 1
    patient = TWO.format(message=message, signature=signature, other=other, wait="await f")
    assert not has_deadlock(program(patient))
    assert analysed(program(patient)).cycles == []


# Ways of futures

FUTURES = {
    "a name": "f = self.touch.send()\nf.get()",
    "two names": "f = self.touch.send(); g = f\ng.get()",
    "a field": "self.kept = self.touch.send()\nself.kept.get()",
    "a list": "fs = [self.touch.send()]\nfs[0].get()",
    "a loop": "for f in [self.touch.send() for _ in range(2)]:\n    f.get()",
    "a function": "f = same(self.touch.send())\nf.get()",
    "a result": "f = await self.make.send()\nf.get()",
    "a result that is called": "f = await self.make()\nf.get()",
    "an argument": "await self.wait(self.touch.send())",
    "a branch": "f = None\nif self.n == 0:\n    f = self.touch.send()\nif f:\n    f.get()",
    "another one before": "f = self.touch.send()\nawait f\nf = self.touch.send()\nf.get()",
    "one of two": "f, g = self.touch.send(), self.touch.send()\nawait f\ng.get()",
}

FUTURE = """
class Waiting(Base):
    async def make(self):
        return self.touch.send()
    async def wait(self, f):
        f.get()
    async def go(self):
{way}


def main():
    Waiting().go.send()
"""


@pytest.mark.parametrize("way", FUTURES.values(), ids=FUTURES)
def test_a_future_that_is_waited_for(way: str) -> None:
    target = program(FUTURE.format(way=indent(way, " " * 8)))
    found = analysed(target)
    assert found.cycles
    if "result" not in way and "make" not in way:
        assert has_deadlock(target)


JOINED = {
    "await, then get": "f = self.touch.send()\nawait f\nf.get()",
    "done, then get": "f = self.touch.send()\nawait f.done()\nf.get()",
    "by another name": "f = self.touch.send(); g = f\nawait g\nf.get()",
    "twice": "f = self.touch.send()\nawait f\nf.get()\nf.get()",
    "in both branches": (
        "if self.n:\n    f = self.touch.send()\nelse:\n    f = self.me.send()\nawait f\nf.get()"
    ),
    "a parameter": "await self.wait(self.touch.send())",
    "in a loop": "for _ in range(2):\n    f = self.touch.send()\n    await f\n    f.get()",
    "named again": "f = self.touch.send()\nawait f\nf.get()\nf = self.me.send()\nawait f\nf.get()",
}


@pytest.mark.parametrize("way", JOINED.values(), ids=JOINED)
def test_a_future_that_was_waited_for_before(way: str) -> None:
    text = FUTURE.format(way=indent(way, " " * 8)).replace("        f.get()\n    async def go", (
        "        await f\n        f.get()\n    async def go"
    ))  # fmt: skip
    target = program(text)
    assert not has_deadlock(target)
    assert analysed(target).cycles == []


def test_a_parameter_that_may_be_another_future_counts() -> None:
    """On one way `f` and `g` are the same future; on the other `f` was not waited for."""
    target = program("""
        class Waiting(Base):
            async def go(self, f, g, fresh):
                if fresh:
                    f = self.touch.send()
                    g = f
                await g
                f.get()
            async def start(self):
                self.go.send(self.touch.send(), self.me.send(), False)
            async def touch(self):
                await until(lambda: self.n > 0)


        def main():
            Waiting().start.send()
    """)
    assert analysed(target).cycles


# Groups


LOCAL = """
class Part(Base):
    async def ask(self, whole):
        whole.touch.send().get()


class Whole(Base):
    async def go(self):
        part = {make}
        {how}


def main():
    Whole().go.send()
"""


@pytest.mark.parametrize(
    ("make", "how", "expected"),
    [
        ("Part.local()", "part.ask.send(self).get()", True),
        ("Part.local()", "await part.ask(self)", True),
        ("Part.local()", "await part.ask.send(self)", True),
        ("Part.local()", "part.touch.send().get()", True),
        ("Part.local()", "await part.touch.send()", False),
        ("Part()", "await part.ask.send(self)", False),
        ("Part()", "part.ask.send(self).get()", True),
        ("Part()", "part.touch.send().get()", False),
    ],
)
def test_local_actors_share_a_lock(make: str, how: str, expected: bool) -> None:
    target = program(LOCAL.format(make=make, how=how))
    assert has_deadlock(target) is expected
    assert bool(analysed(target).cycles) is expected


def test_an_initialiser_may_send_to_the_actor_that_is_made() -> None:
    """It does not hold that actor: what it sends may run before the maker lets go of its own."""
    target = program("""
        class Made(Base):
            def __init__(self, maker):
                self.ask.send(maker)
            async def ask(self, maker):
                maker.touch.send().get()


        class Maker(Base):
            async def go(self):
                made = Made(self)
                made.touch.send().get()


        def main():
            Maker().go.send()
    """)
    assert has_deadlock(target)
    assert analysed(target).cycles


def test_run_is_sent_to_new_actors() -> None:
    target = program("""
        class Running(Base):
            async def run(self):
                self.touch.send().get()


        def main():
            Running()
    """)
    assert has_deadlock(target)
    (cycle,) = analysed(target).cycles
    assert cycle.chain[0].method == "Running.run"


def test_inherited_methods_and_super() -> None:
    text = """
        class Upper(Base):
            async def wait(self):
                {wait}


        class Lower(Upper):
            async def wait(self):
                await super().wait()


        def main():
            Lower().wait.send()
    """
    target = program(text.format(wait="self.touch.send().get()"))
    assert has_deadlock(target)
    assert analysed(target).cycles
    patient = program(text.format(wait="await self.touch.send()"))
    assert not has_deadlock(patient)
    assert analysed(patient).cycles == []


# Exceptions: tasks that were sent are still there when their sender has failed


def test_a_task_that_outlives_its_sender() -> None:
    """`start` fails before it has waited for `ask`: who waited for it goes on beside `ask`."""
    target = program("""
        class Second(Base):
            async def ask(self, first):
                first.touch.send().get()
            async def start(self, first):
                f = self.ask.send(first)
                if self.n == 0:
                    raise ValueError
                await f


        class First(Base):
            async def go(self, second):
                try:
                    await second.start.send(self)
                except ValueError:
                    pass
                second.touch.send().get()


        def main():
            First().go.send(Second())
    """)
    assert has_deadlock(target)
    assert analysed(target).cycles


# What is not understood


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("getattr(x, 'touch').send().get()", "getattr"),
        ("setattr(x, 'n', 1)", "setattr"),
        ("with open(str(x)) as f: pass", "with"),
        ("c = self.touch(); x.touch.send(); await c", "runs when somebody awaits it"),
        ("m = self.touch; same(m)", "read as a value"),
        ("(lambda: x)().touch.send()", "not known"),
        ("exec('1')", "exec"),
        ("Box(x).touch()", "touch"),
        ("self.callback(x)", "callback"),
    ],
)
def test_code_that_is_not_understood_proves_nothing(line: str, why: str) -> None:
    target = program(f"""
        class Strange(Base):
            async def go(self, x):
                {line}


        def main():
            Strange().go.send(Strange())
    """)
    found = candidates_of(target, SENSITIVITY)
    assert len(found.unknown) == 1
    assert why in found.unknown[0]
    assert not analysis_of(target, SENSITIVITY).is_free


def test_code_that_nobody_reaches_does_no_harm() -> None:
    target = program("""
        class Strange(Base):
            async def go(self):
                pass
            async def never(self, x):
                exec("1")


        def main():
            Strange().go.send()
    """)
    assert analysed(target).cycles == []


# What stands for what


def points_to(text: str, k: int = SENSITIVITY) -> PointsTo:
    main = main_of(HEAD + dedent(text))
    target = Program(main)
    return PointsTo(KNOWN, classes_in(target.main, ()), k).from_main(main)


NESTED = """
    class Inner(Base):
        pass


    class Outer(Base):
        async def go(self):
            Inner().touch.send()


    def main():
        Outer().go.send()
        Outer().go.send()
"""


@pytest.mark.parametrize(("k", "inner"), [(1, 1), (2, 2), (3, 2)])
def test_objects_are_told_apart_by_their_makers(k: int, inner: int) -> None:
    found = points_to(NESTED, k)
    objects = {routine.object for routine in found.routines}
    named = [one for one in objects if one.cls is not None and one.cls.__name__ == "Inner"]
    assert len(named) == inner
    assert all(len(one.sites) == min(k, 2) for one in named)


def test_sites_are_instructions_not_lines() -> None:
    found = points_to("""
        def main():
            a, b = Base(), Base()
            a.touch.send(); b.go.send()
    """)
    tasks = sorted(routine.name for routine in found.tasks)
    assert tasks == ["go", "main", "touch"]
    touched = {task.name: task.object for task in found.tasks}
    assert touched["touch"] != touched["go"]


def test_what_main_makes_once_is_one() -> None:
    found = points_to("""
        def main():
            one = Base()
            one.touch.send()
            for _ in range(2):
                Base().go.send()
    """)
    by_name = {task.name: task for task in found.tasks}
    main = by_name["main"]
    assert found.is_unique(by_name["touch"].object, main)
    assert not found.is_unique(by_name["go"].object, main)
    assert found.is_unique(main.object, main)


def test_groups_of_local_objects() -> None:
    found = points_to("""
        class Whole(Base):
            def __init__(self):
                self.part = Base.local()
            async def go(self):
                self.part.touch.send()


        def main():
            Whole().go.send()
    """)
    by_name = {task.name: task for task in found.tasks}
    assert by_name["touch"].object.group == by_name["go"].object
    assert by_name["touch"].object != by_name["go"].object
    assert by_name["go"].object.group == by_name["go"].object
    assert str(by_name["main"].object) == "main"


def test_values_in_a_fixed_order() -> None:
    found = points_to(NESTED)
    tasks: list[Routine] = list(found.tasks)
    assert tasks_in(frozenset(tasks)) == tasks_in(frozenset(reversed(tasks)))
    objects: list[AbstractObject] = [task.object for task in tasks]
    assert objects_in(frozenset(objects)) == objects_in(frozenset(reversed(objects)))


def test_classes_without_a_main_function() -> None:
    """All methods may be sent, on any objects, with any actors: what contexts begin with."""
    main = main_of(HEAD + dedent(WAITING.format(way="        x = self", wait="await pause()")))
    classes = [main.__globals__["Waiting"], main.__globals__["Base"]]
    found = PointsTo(KNOWN, classes, SENSITIVITY).from_all_methods()
    assert {routine.name for routine in found.tasks} == {"go", "touch", "me", "keep"}


def test_cycles_of_classes_without_a_main_function() -> None:
    """The database protocol, with any actors in the place of any parameter."""
    found = analyse(KNOWN, [DB, Worker], None)
    chains = [[str(edge.task) for edge in cycle.waits] for cycle in found.cycles]
    assert sorted(["DB.register", "Worker.work"]) in [sorted(chain) for chain in chains]
    assert found.unknown == {}
    calm = analyse(KNOWN, [Worker], None)
    assert calm.is_free  # it has nobody to ask


def test_a_recursive_program_has_finitely_many_objects() -> None:
    found = points_to("""
        class Chain(Base):
            async def go(self, n):
                if n:
                    Chain().go.send(n - 1)


        def main(n=5):
            Chain().go.send(n)
    """)
    objects = {routine.object for routine in found.tasks if routine.name == "go"}
    assert len(objects) == 3  # made by main, by one that main made, by any other
    assert all(len(one.sites) <= SENSITIVITY for one in objects)


def test_defaults_count_only_where_nothing_is_given() -> None:
    text = """
        class Asking(Base):
            async def ask(self, other=None):
                x = self if other is None else other
                x.touch.send().get()


        def main():
            Asking().ask.send({given})
    """
    assert analysed(program(text.format(given="Base()"))).cycles == []
    assert len(analysed(program(text.format(given=""))).cycles) == 1
    assert len(analysed(program(text.format(given="None"))).cycles) == 1


def test_any_number_of_arguments() -> None:
    target = program("""
        class Asking(Base):
            async def ask(self, n, other):
                other.touch.send().get()
            async def go(self):
                given = (1, self)
                self.ask.send(*given)


        def main():
            Asking().go.send()
    """)
    assert has_deadlock(target)
    assert analysed(target).cycles

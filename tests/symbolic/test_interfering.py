"""Interfering tasks: the paper's worked example, and what else can change a field on the way."""

from __future__ import annotations

from executing import code_of

from treadle.actors import Actor, pause, until
from treadle.actors.deadlocks import KNOWN
from treadle.analyses.deadlock_cycles import analyse
from treadle.analyses.ir import SetField
from treadle.papers.lopstr17_programs import Database
from treadle.papers.thesis_actors import Barber, Chair, Client, Factory, Node, Worker
from treadle.symbolic.interfering import (
    interfering_instructions,
    interfering_tasks,
    stops_of,
)


def tasks_of(*classes: type) -> list[set[str]]:
    """The interfering tasks of each cycle."""
    analysis = analyse(KNOWN, classes, None)
    code = code_of(*classes)
    return [
        {task.name for task in interfering_tasks(code, stops_of(code, cycle), 1)}
        for cycle in analysis.cycles
    ]


def test_example_7():
    """Both gets, and the three assignments to `connected`."""
    analysis = analyse(KNOWN, [Database, Worker], None)
    code = code_of(Database, Worker)
    (cycle,) = analysis.cycles
    found = interfering_instructions(code, stops_of(code, cycle))
    kinds = [
        (at.method, type(code.method(*at.task).instructions[at.position]).__name__) for at in found
    ]
    assert sorted(kinds) == [
        ("connect", "SetField"),
        ("register", "Get"),
        ("register", "SetField"),
        ("register", "SetField"),
        ("work", "Get"),
    ]
    written = {
        instruction.field
        for at in found
        if isinstance(instruction := code.method(*at.task).instructions[at.position], SetField)
    }
    assert written == {"connected"}
    assert tasks_of(Database, Worker) == [{"Database.connect", "Database.register", "Worker.work"}]


def test_limits_are_from_one_to_the_most():
    analysis = analyse(KNOWN, [Database, Worker], None)
    code = code_of(Database, Worker)
    found = interfering_tasks(code, stops_of(code, analysis.cycles[0]), 3)
    assert {(task.least, task.most) for task in found} == {(1, 3)}


def test_tasks_that_only_wait_are_not_needed():
    assert tasks_of(Barber, Chair, Client) == [{"Barber.sleeps", "Client.wakeup"}]


def test_pairing_has_two_cycles():
    found = sorted(tasks_of(Node, Factory), key=len)
    assert found == [{"Node.make"}, {"Node.make", "Factory.pairs"}]


class Plain(Actor):
    """No release before the wait: whatever changes the field need not be there."""

    def __init__(self):
        self.n = 0

    async def go(self):
        if self.n > 0:
            self.end.send().get()

    async def end(self):
        pass

    async def change(self):
        self.n = 1


def test_without_a_release_fields_may_be_anything_anyway():
    assert tasks_of(Plain) == [{"Plain.go"}]


class Paused(Actor):
    def __init__(self):
        self.n, self.m, self.other = 0, 0, 0

    async def go(self):
        await pause()
        if self.n > 0:
            self.end.send().get()

    async def end(self):
        pass

    async def change(self):
        self.n = self.m

    async def prepare(self):
        self.m = 1

    async def unrelated(self):
        self.other = 1


def test_a_pause_is_a_release():
    assert tasks_of(Paused) == [{"Paused.go", "Paused.change"}]


class Twice(Actor):
    """What changes the field depends on another field after a release of its own."""

    def __init__(self):
        self.n, self.m = 0, 0

    async def go(self):
        await until(lambda: self.n > 0)
        self.end.send().get()

    async def end(self):
        pass

    async def change(self):
        await pause()
        if self.m > 0:
            self.n = 1

    async def prepare(self):
        self.m = 1


def test_modifiers_have_modifiers():
    assert {"Twice.go", "Twice.change", "Twice.prepare"} in tasks_of(Twice)


class Listed(Actor):
    def __init__(self):
        self.items, self.alias = [], []

    async def go(self):
        await pause()
        if self.items:
            self.end.send().get()

    async def end(self):
        pass

    async def add(self, x):
        self.items.append(x)

    async def add_by_another_name(self, x):
        items = self.items
        items.append(x)

    async def set_item(self, x):
        self.items[0] = x

    async def look(self):
        return len(self.items)


def test_changes_of_what_a_field_holds_count():
    assert tasks_of(Listed) == [
        {"Listed.go", "Listed.add", "Listed.add_by_another_name", "Listed.set_item"}
    ]


class Helped(Actor):
    """The wait is in a method that the task calls."""

    def __init__(self):
        self.n = 0

    async def go(self):
        await pause()
        if self.n:
            await self.helper()

    async def helper(self):
        self.end.send().get()

    async def end(self):
        pass

    async def change(self):
        self.n = 1


def test_a_wait_in_what_a_task_calls():
    found = tasks_of(Helped)
    assert {"Helped.go", "Helped.change"} in found


class Looping(Actor):
    def __init__(self):
        self.n = 0

    async def go(self):
        while self.n < 3:
            self.end.send().get()
            await pause()

    async def end(self):
        pass

    async def change(self):
        self.n += 1


def test_a_release_later_in_a_loop_comes_before():
    assert tasks_of(Looping) == [{"Looping.go", "Looping.change"}]

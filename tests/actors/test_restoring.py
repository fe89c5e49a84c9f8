"""Actors restored in any state, and schedules that are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

import treadle
from treadle.actors import ANY, Actor, follow, load, pause, program, restore, until
from treadle.core.errors import ScheduleMismatch, TreadleError


class Cell(Actor):
    def __init__(self):
        self.value, self.items, self.peer = 0, [], None

    async def set(self, value):
        self.value = value

    async def ask(self):
        self.value = await self.peer.answer.send()

    async def block(self):
        self.value = self.peer.answer.send().get()

    async def answer(self):
        return self.value

    async def wait(self):
        await until(lambda: self.value > 3)
        self.items.append(self.value)

    async def rest(self):
        await pause()
        self.value = -1

    async def fail(self):
        raise ValueError("broken")

    async def check(self):
        assert self.value == 1


class Runs(Actor):
    def __init__(self):
        raise AssertionError("the initialiser does not run")

    async def run(self):
        raise AssertionError("run is not sent")

    async def go(self):
        self.n = 1


@program
def restored():
    a = restore(Cell, value=5, items=[1])
    b = restore(Cell, value=7, peer=a)
    restore(a, peer=b)
    a.ask.send()
    b.set.send(8)


def test_fields_are_as_given():
    found = follow(restored, "main main.1:ask main.1:ask.1:answer main.1:ask main.2:set")
    assert (found.kind, found.message, found.waiting) == ("end", "", {})
    assert found.fields["Cell1"]["value"] == 7
    assert found.fields["Cell2"]["value"] == 8
    assert found.fields["Cell1"]["items"] == [1]
    assert repr(found.fields["Cell1"]["peer"]) == "Cell2"


def test_another_order_another_end():
    found = follow(restored, ["main", "main.2:set", "main.1:ask", "main.1:ask.1:answer"])
    assert found.kind == "open"
    assert found.waiting == {"main.1:ask": "await"}


def test_the_initialiser_and_run_are_left_out():
    @program
    def main():
        restore(Runs).go.send()

    assert follow(main, "main main.1:go").fields == {"Runs1": {"n": 1}}


@pytest.mark.parametrize(
    ("method", "schedule", "kind"),
    [
        ("fail", "main main.1:fail", "exception"),
        ("check", "main main.1:check", "assertion"),
        ("wait", "main main.1:wait", "stuck"),
        ("rest", "main main.1:rest", "open"),
        ("rest", "main main.1:rest*2", "end"),
    ],
)
def test_how_executions_end(method: str, schedule: str, kind: str):
    @program
    def main():
        getattr(restore(Cell, value=0, items=[]), method).send()

    assert follow(main, schedule).kind == kind


def test_a_deadlock():
    @program
    def main():
        cell = restore(Cell, value=0)
        restore(cell, peer=cell)
        cell.block.send()

    found = follow(main, "main main.1:block")
    assert found.kind == "deadlock"
    assert "block of Cell1 waits" in found.message
    assert found.waiting == {"main.1:block": "get", "main.1:block.1:answer": "new"}
    assert [failure.kind for failure in treadle.explore(main).failures] == ["deadlock"]


def test_what_is_given_is_copied():
    shared = [1]

    @program
    def main():
        restore(Cell, value=4, items=shared).wait.send()
        restore(Cell, value=4, items=shared).wait.send()

    found = follow(main, "main main.1:wait main.2:wait")
    assert [fields["items"] for fields in found.fields.values()] == [[1, 4], [1, 4]]
    assert shared == [1]


@pytest.mark.parametrize("dependency", ["actor", "field", "access", "entry"])
def test_restored_actors_at_every_level(dependency: str):
    result = treadle.explore(restored.with_options({"dependency": dependency}))
    assert result.complete
    assert not result.failures


def test_any_is_handed_over_as_it_is():
    @program
    def main():
        restore(Cell, value=ANY, items=ANY).set.send(ANY)

    found = follow(main, "main main.1:set")
    assert found.fields["Cell1"]["value"] is ANY
    assert repr(ANY) == "ANY"


def test_schedules_that_cannot_be_followed():
    with pytest.raises(ScheduleMismatch, match=r"step 2: there is no task 'main.9:x'"):
        follow(restored, "main main.9:x")
    with pytest.raises(ScheduleMismatch, match=r"step 3: ask of Cell1 .* cannot go on here"):
        follow(restored, "main main.1:ask main.1:ask")


def test_restoring_is_for_tasks():
    with pytest.raises(TreadleError, match="an actor is restored"):
        restore(Cell, value=1)


def test_loading_code(tmp_path: Path):
    (tmp_path / "neighbour.py").write_text("ANSWER = 42\n", encoding="utf-8")
    code = tmp_path / "code.py"
    code.write_text("from neighbour import ANSWER\n", encoding="utf-8")
    assert load(code).ANSWER == 42
    with pytest.raises(TreadleError, match="there is no file"):
        load(tmp_path / "missing.py")
    other = tmp_path / "code.txt"
    other.write_text("", encoding="utf-8")
    with pytest.raises(TreadleError, match="neither Python nor ABS"):
        load(other)


def test_loading_abs(tmp_path: Path):
    model = tmp_path / "model.abs"
    model.write_text(
        "module M; class Cell(Int value) { Unit set(Int n) { this.value = n; } }", encoding="utf-8"
    )
    cell = load(model).Cell

    @program
    def main():
        restore(cell, value=1).set.send(2)

    assert follow(main, "main main.1:set").fields == {"Cell1": {"value": 2}}

"""The static deadlock analysis on the programs of the thesis, row by row, and on mended ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from programs import (
    ORACLES,
    Fork,
    Philosopher,
    barber,
    birds,
    buffer,
    database,
    free_pairing,
    gate,
    late,
    pairing,
    philosophers,
    pi,
    pipesort,
    protocol,
    registry,
    three_sends,
    waits_for_itself,
)

from abs_code import program as abs_program
from treadle.actors import Actor, Program, pause, program, until
from treadle.actors.abs.loading import load
from treadle.actors.deadlocks import analysis_of, candidates_of
from treadle.actors.programs import Program as ActorProgram
from treadle.cli.loading import find
from treadle.core.deadlocks import SENSITIVITIES, SENSITIVITY, Candidates
from treadle.papers.thesis_actors import DB, Barber, Chair

EXAMPLES = Path(__file__).parents[2] / "examples" / "actors"


def analysed(target: Program, k: int = SENSITIVITY) -> Candidates:
    """Analyse a program whose code is understood."""
    found = candidates_of(target, k)
    assert found.unknown == []
    return found


def cycles(target: Program, k: int = SENSITIVITY) -> set[str]:
    """Return the chains of a program's deadlock cycles in short: who waits for whom, [] if held."""
    return {
        " ".join(
            f"{link.method}>{link.awaited}{f'[{link.holder}]' if link.held else ''}"
            for link in cycle.chain
        )
        for cycle in analysed(target, k).cycles
    }


def count(target: Program) -> int:
    return len(analysed(target).cycles)


# Section 7.4 of the design, row by row


ROWS: list[tuple[Any, int]] = [
    (barber(1), 1),
    (barber(3), 1),
    (protocol, 1),
    (pairing(2), 2),
    (philosophers(3), 1),
    (waits_for_itself, 1),
    (database(5), 1),
    (database(0), 1),
    (birds(3, 2), 4),
    (free_pairing(3), 2),
    (pi(3), 0),
    (pipesort((3, 1, 2)), 0),
    (registry(2), 0),
    (buffer(1, 2, 2), 0),
    (late, 0),
    (gate, 0),
    (three_sends, 0),
]


@pytest.mark.parametrize(("target", "expected"), ROWS, ids=lambda value: getattr(value, "name", ""))
def test_cycles_of_the_thesis_programs(target: Program, expected: int) -> None:
    assert count(target) == expected
    assert [cycle.kind for cycle in analysed(target).cycles] == ["deadlock"] * expected


@pytest.mark.parametrize("k", SENSITIVITIES)
@pytest.mark.parametrize(("target", "expected"), ROWS, ids=lambda value: getattr(value, "name", ""))
def test_the_sensitivity_makes_no_difference_to_them(
    target: Program, expected: int, k: int
) -> None:
    assert len(analysed(target, k).cycles) == expected


@pytest.mark.parametrize("target", ORACLES, ids=lambda target: f"{target.name}{target.args}")
def test_no_deadlock_of_an_oracle_is_missed(target: ActorProgram) -> None:
    _, (_, waiting), _ = ORACLES[target]
    found = analysed(target)
    if waiting:
        assert found.cycles or found.conditions


def test_the_barber_s_cycle() -> None:
    assert cycles(barber(1)) == {
        "Client.wakeup>Barber.cuts[Barber.sleeps] Barber.sleeps>Chair.taken "
        "Chair.taken>Client.sits[Client.wakeup]"
    }
    (cycle,) = analysed(barber(1)).cycles
    assert [link.wait for link in cycle.chain] == ["get", "get", "await"]
    assert cycle.verdict == "undecided"
    assert cycle.tests == []


def test_the_protocol_s_cycle() -> None:
    assert cycles(protocol) == {
        "DB.register>Worker.ping[Worker.work] Worker.work>DB.get_data[DB.register]"
    }
    assert cycles(database(5)) == {
        "Store.register>Worker.ping[Worker.work] Worker.work>Store.get_data[Store.register]"
    }


def test_the_pairing_s_cycles() -> None:
    assert cycles(pairing(2)) == {
        "Node.make>Factory.pairs[Factory.pairs] Factory.pairs>Node.receive[Node.make]",
        "Node.make>Factory.pairs Factory.pairs>Node.receive[Node.make]",
    }


def test_the_birds_cycles() -> None:
    eat, feed = "Bird.eat>Parent.feed", "Parent.feed>Bird.eat"
    assert {"".join(sorted(one.split())) for one in cycles(birds(3, 2))} == {
        f"{eat}{feed}",
        f"{eat}{feed}[Bird.eat]",
        f"{eat}[Parent.feed]{feed}",
        f"{eat}[Parent.feed]{feed}[Bird.eat]",
    }


def test_lines_are_those_of_the_waits() -> None:
    (cycle,) = analysed(waits_for_itself).cycles
    (link,) = cycle.chain
    source = Path(link.file).read_text(encoding="utf-8").splitlines()
    assert source[link.line - 1].strip() == "self.c.send().get()"
    assert link.held.startswith("Self of L")


# Mended versions


class PatientWorker(Actor):
    def __init__(self):
        self.data = None

    async def work(self, db):
        self.data = await db.get_data.send(self)

    async def ping(self, n):
        return n


class PatientClient(Actor):
    async def wakeup(self, barber, chair):
        cut = barber.cuts.send()
        chair.is_clean.send()
        await cut

    async def sits(self):
        pass


@program
def mended_protocol():
    db, w = DB(7), PatientWorker()
    db.register.send(w)
    w.work.send(db)


@program
def mended_barber():
    ba, ch, cl = Barber(), Chair(), PatientClient()
    cl.wakeup.send(ba, ch)
    ba.sleeps.send(cl, ch)


@program
def mended_philosophers():
    a, b, c = Fork(), Fork(), Fork()
    Philosopher().eat.send(a, b)
    Philosopher().eat.send(b, c)
    Philosopher().eat.send(a, c)


@program
def named_philosophers():
    a, b, c = Fork(), Fork(), Fork()
    Philosopher().eat.send(a, b)
    Philosopher().eat.send(b, c)
    Philosopher().eat.send(c, a)


class PatientSelf(Actor):
    async def b(self):
        await self.c.send()

    async def c(self):
        return 0


@program
def waits_patiently_for_itself():
    PatientSelf().b.send()


@pytest.mark.parametrize(
    "target",
    [mended_protocol, mended_barber, mended_philosophers, waits_patiently_for_itself],
    ids=lambda target: target.name,
)
def test_mended_versions_are_proved_free(target: Program) -> None:
    assert count(target) == 0
    assert analysis_of(target, SENSITIVITY).is_free


def test_forks_by_name_are_told_apart() -> None:
    assert count(named_philosophers) == 1
    # From a comprehension they are one allocation site: the answer is that of the unfixed one.
    assert count(philosophers(3, fixed=True)) == 1


# ABS gives the same cycles


@pytest.mark.parametrize(
    "name",
    [
        "bank",
        "barber",
        "birds",
        "buffer",
        "database",
        "dining",
        "pi",
        "pipesort",
        "protocol",
        "registry",
    ],
)
def test_both_languages_have_the_same_cycles(name: str) -> None:
    native: Any = find(str(EXAMPLES / f"{name}.py")).test
    _, translated = load(EXAMPLES / f"{name}.abs", "")
    ours, theirs = analysed(native), analysed(translated)
    assert [cycle.kind for cycle in ours.cycles] == [cycle.kind for cycle in theirs.cycles]
    assert len(ours.conditions) == len(theirs.conditions)
    waits = [sorted(link.wait for cycle in one.cycles for link in cycle.chain)
             for one in (ours, theirs)]  # fmt: skip
    assert waits[0] == waits[1]


def test_lines_of_abs(tmp_path: Path) -> None:
    target = abs_program(
        tmp_path,
        """
        module Self;
        class Self {
          Unit b() {
            Fut<Unit> f = this!c();
            f.get;
          }
          Unit c() { skip; }
        }
        { Self s = new Self(); s!b(); }
        """,
    )
    (cycle,) = analysed(target).cycles
    (link,) = cycle.chain
    assert (link.method, link.line, link.wait, link.awaited) == ("Self.b", 6, "get", "Self.c")


def test_await_then_get_of_abs_is_no_second_wait(tmp_path: Path) -> None:
    """Without this rule half of all ABS programs would raise false alarms."""
    target = abs_program(
        tmp_path,
        """
        module Idiom;
        class Cell(Int v) { Int get() { return v; } }
        class User(Cell cell) {
          Int use() {
            Fut<Int> f = cell!get();
            await f?;
            Int x = f.get;
            return x;
          }
          Int other() { return 1; }
        }
        { Cell c = new Cell(1); User u = new User(c); u!use(); u!other(); }
        """,
    )
    assert count(target) == 0


def test_a_synchronous_call_across_groups_is_a_get(tmp_path: Path) -> None:
    text = """
        module Across;
        class A(A other) {
          Unit go(A peer) { peer.touch(); }
          Unit touch() { skip; }
        }
        {
          A a = new A(null);
          A b = new A(a);
          a!go(b);
          %s!go(%s);
        }
        """
    crossed = abs_program(tmp_path, text % ("b", "a"))
    assert count(crossed) == 1
    (link, _) = analysed(crossed).cycles[0].chain
    assert link.wait == "get"
    ordered = abs_program(tmp_path, text % ("a", "b"))
    assert count(ordered) == 0


# Conditions


class Valve(Actor):
    def __init__(self):
        self.open = False

    async def enter(self):
        await until(lambda: self.open)

    async def lift(self, helper):
        helper.help.send(self).get()
        self.open = True


class Helper(Actor):
    async def help(self, valve):
        await valve.enter.send()


@program
def through_a_condition():
    valve, helper = Valve(), Helper()
    valve.lift.send(helper)


def test_a_cycle_through_a_condition() -> None:
    """A holder waits for a task that waits until a field is set by the holder's task."""
    found = analysed(through_a_condition)
    assert {cycle.kind for cycle in found.cycles} == {"deadlock", "condition"}
    (condition,) = found.conditions
    assert condition.method == "Valve.enter"
    assert condition.condition == "await until(lambda: self.open)"
    waits = {link.wait for cycle in found.cycles for link in cycle.chain}
    assert waits == {"get", "await", "until"}


def test_conditions_that_only_wait_for_each_other_are_no_cycle() -> None:
    found = analysed(buffer(1, 2, 2))
    assert found.cycles == []
    assert [one.method for one in found.conditions] == ["Buffer.take", "Buffer.put"] or [
        one.method for one in found.conditions
    ] == ["Buffer.put", "Buffer.take"]
    assert [one.method for one in analysed(gate).conditions] == ["Gate.enter"]


class Turn(Actor):
    async def wait_then_ask(self, other):
        await pause()
        other.ask.send(self).get()

    async def ask(self, other):
        await pause()


@program
def turns():
    one, other = Turn(), Turn()
    one.wait_then_ask.send(other)
    other.wait_then_ask.send(one)


def test_who_has_paused_needs_its_turn_again() -> None:
    found = cycles(turns)
    assert len(analysed(turns).cycles) == 4  # `ask` may not have begun, or may have paused, twice
    ask = ["Turn.wait_then_ask>Turn.ask[Turn.wait_then_ask]"] * 2
    assert found == {" ".join(ask)}

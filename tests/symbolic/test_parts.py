"""The parts of symbolic execution by themselves: choices, terms, chains, diagrams, limits."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from executing import Execution, code_of, context_of

from treadle.actors import Actor
from treadle.core.errors import TreadleError
from treadle.papers.lopstr17_programs import Database
from treadle.papers.thesis_actors import Barber, Chair, Client, Worker
from treadle.symbolic.chains import arrows_of, chain_in_words, chain_through
from treadle.symbolic.code import Code
from treadle.symbolic.decisions import Choices
from treadle.symbolic.interleaving import diagram
from treadle.symbolic.kinds import Kind
from treadle.symbolic.limits import Limits, limits_of
from treadle.symbolic.search import End, state_of
from treadle.symbolic.solver import Solver
from treadle.symbolic.state import State, Waiting
from treadle.symbolic.step import Machine
from treadle.symbolic.values import (
    ANY,
    WHATEVER,
    Box,
    Data,
    Future,
    Reference,
    Term,
    Unknown,
    inside,
    is_plain,
    text_of,
)
from treadle.symbolic.values import (
    code_of as code_of_text,
)

# Choices


def all_choices(*possibilities: int) -> list[list[int]]:
    """Take each of several decisions in every way."""
    found: list[list[int]] = []
    choices: list[int] | None = []
    while choices is not None:
        tried = Choices(choices)
        found.append([tried.pick(each) for each in possibilities])
        choices = tried.next()
    return found


def test_choices_are_taken_in_order():
    assert all_choices() == [[]]
    assert all_choices(1) == [[0]]
    assert all_choices(2, 2) == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert len(all_choices(2, 3, 4)) == 24


def test_choices_that_depend_on_choices():
    found = []
    choices: list[int] | None = []
    while choices is not None:
        tried = Choices(choices)
        first = tried.pick(2)
        found.append((first, tried.pick(3) if first else None))
        choices = tried.next()
    assert found == [(0, None), (1, 0), (1, 1), (1, 2)]


# Terms


@pytest.fixture
def solver() -> Solver:
    return Solver()


def test_terms_are_compared_by_what_they_are(solver: Solver):
    n, m = solver.number("n"), solver.number("m")
    assert n == solver.number("n")
    assert n != m
    assert len({n, solver.number("n"), m}) == 2
    with pytest.raises(TypeError, match="taken for a boolean"):
        bool(n)
    assert repr(n) == "n"


def test_terms_without_symbols_are_values(solver: Solver):
    one = solver.expression(1)
    assert solver.made(one + one) == 2
    assert solver.made(one == one) is True
    assert solver.made(one > one) is False
    assert isinstance(solver.made(solver.expression(solver.number("n")) + 1), Term)


def test_questions(solver: Solver):
    n = solver.expression(solver.number("n"))
    small, large = solver.made(n < 3), solver.made(n > 5)
    assert isinstance(small, Term)
    assert isinstance(large, Term)
    assert solver.is_possible(())
    assert solver.is_possible((small,))
    assert not solver.is_possible((small, large))
    assert solver.is_possible((small, solver.negated(large)))
    assert solver.values((small, large)) is None
    values = solver.values((large,))
    assert values is not None
    assert values["n"] > 5
    assert solver.values((large,)) is values, "the same whenever it is asked"


def test_booleans_are_numbers(solver: Solver):
    flag = solver.boolean("flag")
    assert flag.is_boolean
    equal = solver.made(solver.expression(flag) == 1)
    assert isinstance(equal, Term)
    assert solver.values((equal,)) == {"flag": True}
    chosen = solver.choice(flag, 4, 5)
    assert isinstance(chosen, Term)
    assert solver.made(solver.expression(True)) == 1


def test_texts_have_numbers():
    assert text_of(code_of_text("")) == ""
    assert code_of_text("") == 0
    assert code_of_text("a") == code_of_text("a") != code_of_text("b")
    assert text_of(code_of_text("a")) == "a"
    assert text_of(77) == "text 77"


# Values


@dataclass(frozen=True)
class Pair:
    x: object
    y: object


def test_plain_values():
    unknown = Unknown("u", Kind("int"))
    for value in (1, "a", None, (1, (2,)), Pair(1, 2), Reference("A1"), Future("t"), int):
        assert is_plain(value), value
    for value in (unknown, WHATEVER, Box("b", "list"), (1, unknown), Pair(1, unknown)):
        assert not is_plain(value), value
    assert list(inside(Pair(1, 2))) == [1, 2]
    assert list(inside(3)) == []


def test_how_values_read():
    assert str(Reference("A1")) == "A1"
    assert str(Future("main.1:m")) == "the future of main.1:m"
    assert str(Unknown("u", Kind("int"))) == "u"
    assert (repr(ANY), repr(WHATEVER)) == ("ANY", "?")
    assert Data(Pair, ("x", "y"), (1, 2)).part("y") == 2


def test_how_kinds_read():
    assert str(Kind("int")) == "int"
    assert str(Kind("list", (), Kind("actor", (Barber, Chair)))) == "list of Barber or Chair"
    assert str(Kind("str", is_nullable=True)) == "str or None"


# Code


class Base(Actor):
    def __init__(self):
        self.inherited = 1

    async def shared(self):
        return self.inherited


class Derived(Base):
    LIMIT = 3

    def __init__(self):
        super().__init__()
        self.own = self.LIMIT

    async def go(self):
        self.late = self.own


def test_fields_and_methods_of_classes():
    code = code_of(Derived, Base)
    assert code.methods(Derived) == ["shared", "go"]
    assert code.assigned(Derived) == {"inherited", "own", "late"}
    assert set(code.fields(Derived)) == {"inherited", "own", "late", "LIMIT"}
    assert code.owners("shared") == (Derived, Base)
    assert code.owners("go") == (Derived,)
    body = code.method(Derived, "go")
    assert code.source_of(body).__name__ == "go"


def test_inherited_fields_are_symbols():
    execution = Execution(context_of((Derived, ["go", "shared"])))
    assert execution.ends == ["end", "end"] or execution.ends == ["end"]
    assert execution.check_for_real() == len(execution.paths)


# States


def machine_of(*classes: type) -> Machine:
    return Machine(code_of(*classes), Limits())


def test_the_state_of_a_context():
    machine = machine_of(Database, Worker)
    state = state_of(
        machine,
        context_of(
            (Database, ["register", "connect"]), (Database, ["connect"]), (Worker, ["work"])
        ),
    )
    assert list(state.actors) == ["Database1", "Database2", "Worker1"]
    assert list(state.tasks) == [
        "main.1:register",
        "main.2:connect",
        "main.3:connect",
        "main.4:work",
    ]
    assert all(task.waiting is Waiting.NEW for task in state.alive())
    assert {str(value) for value in state.tasks["main.1:register"].frames[0].names.values()} == {
        "main.1:register.w"
    }


def test_copies_are_independent():
    machine = machine_of(Database, Worker)
    state = state_of(machine, context_of((Database, ["connect"])))
    before = state.key()
    outcomes = list(machine.successors(state, "main.1:connect"))
    assert state.key() == before
    (outcome,) = outcomes
    assert outcome.state.actors["Database1"].fields == {"connected": 3}
    assert outcome.state.tasks["main.1:connect"].has_ended
    assert outcome.state.key() != before
    assert [taken.status for taken in outcome.state.table] == ["return"]


def test_equal_states_have_equal_keys():
    """Two steps of different actors lead to the same state in both orders."""
    machine = machine_of(Database)
    start = state_of(machine, context_of((Database, ["connect"]), (Database, ["leave"])))
    ends = []
    for order in (("main.1:connect", "main.2:leave"), ("main.2:leave", "main.1:connect")):
        state = start
        for name in order:
            (outcome,) = machine.successors(state, name)
            state = outcome.state
        ends.append(state.key())
    assert ends[0] == ends[1]


# Chains and diagrams


def deadlocked() -> tuple[State, str]:
    execution = Execution(
        context_of((Barber, ["sleeps"]), (Client, ["wakeup"])), [Barber, Chair, Client]
    )
    path = next(path for path in execution.paths if path.end is End.DEADLOCK)
    return path.state, chain_in_words(path.state, path.chain)


def test_the_chain_of_the_barber():
    state, words = deadlocked()
    assert words.count("waits at L") == 3
    assert words.count("its actor is held by") == 2
    holders = {state.tasks[name].method for name in state.holders.values()}
    assert holders == {"sleeps", "wakeup"}
    for name in state.holders.values():
        assert chain_through(state, name)
        assert arrows_of(state, state.tasks[name])


def test_no_chain_where_somebody_can_go_on():
    machine = machine_of(Barber, Chair, Client)
    state = state_of(machine, context_of((Client, ["wakeup"])))
    outcome = next(iter(machine.successors(state, "main.1:wakeup")))
    assert chain_through(outcome.state, "main.1:wakeup") == ()


def test_the_diagram_has_a_column_for_each_actor():
    state, _ = deadlocked()
    head, *rows = diagram(state, {})
    assert len(rows) == len(state.table)
    assert len(head.split()) == len({taken.actor for taken in state.table})
    assert all(row.split()[0] == str(number) for number, row in enumerate(rows, 1))
    assert any("blocks at L" in row for row in rows)
    assert any("releases at L" in row for row in rows)


# Limits


def test_limits_by_name():
    assert limits_of({}) == Limits()
    assert limits_of({"seconds": 2.5, "steps": 7.0}) == Limits(seconds=2.5, steps=7)
    assert limits_of({"fresh": 0, "length": 0}) == Limits(fresh=0, length=0)
    assert limits_of({"nulls": 1}).nulls is True


@pytest.mark.parametrize("name", ["seconds", "steps", "iterations", "switches", "instructions"])
def test_limits_that_leave_nothing(name: str):
    with pytest.raises(TreadleError, match=f"the limit {name} cannot be 0"):
        limits_of({name: 0})


def test_unknown_limits():
    with pytest.raises(TreadleError, match="choose one of iterations, steps"):
        limits_of({"depth": 3})


def test_code_of_no_classes():
    from treadle.actors.deadlocks import KNOWN

    assert Code(KNOWN, []).classes == ()

"""Deadlock-guided testing: the paper's counts, the criteria, verdicts, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from programs import (
    barber,
    birds,
    database,
    free_pairing,
    gate,
    pairing,
    philosophers,
    pi,
    protocol,
    waits_for_itself,
)

import treadle
from treadle import model
from treadle.actors import Actor, Program, program, until
from treadle.actors.deadlocks import CycleOfActors, candidates_of
from treadle.actors.guidance import Constraint, Guide
from treadle.actors.task import Waiting
from treadle.core.deadlocks import CRITERIA, SENSITIVITY, DeadlockCycle, Deadlocks
from treadle.core.errors import TreadleError
from treadle.explore.guided.guided import GUIDED
from treadle.explore.registry import ALGORITHMS
from treadle.session.deadlocks import Wish


def cycles_of(target: Program) -> list[DeadlockCycle]:
    return candidates_of(target, SENSITIVITY).cycles


def guided(target: Program, cycle: DeadlockCycle, **options: Any) -> treadle.Result:
    options = {"algorithm": "exhaustive", "stop_on_failure": False, **options}
    return treadle.explore(target, guided=cycle, **options)


# The counts of the paper and of the design, section 12


def test_the_barber_s_nineteen_states() -> None:
    (cycle,) = cycles_of(barber(1))
    result = guided(barber(1), cycle)
    assert (result.states, result.cut, result.executions, result.failing) == (19, 3, 6, 6)
    assert result.complete
    unguided = treadle.explore(barber(1), "exhaustive", stop_on_failure=False, early_stop=True)
    assert unguided.states == 178
    assert unguided.failing == 6


def test_three_clients_first_deadlock_newest_first() -> None:
    (cycle,) = cycles_of(barber(3))
    result = guided(barber(3), cycle, schedule="newest", stop_on_failure=True)
    assert (result.states, result.cut) == (23, 1)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_pairing_takes_six_states_per_cycle(n: int) -> None:
    for cycle in cycles_of(pairing(n)):
        result = guided(pairing(n), cycle, schedule="newest", stop_on_failure=True)
        assert (result.states, result.cut) == (6, 0)


def test_free_pairing_is_explored_to_the_end() -> None:
    for cycle in cycles_of(free_pairing(3)):
        result = guided(free_pairing(3), cycle)
        assert (result.states, result.cut, result.executions) == (6526, 2184, 0)
        assert result.states is not None
        assert result.states - result.cut == 4342
        assert result.complete
        assert result.stopped_by == ""


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(0, marks=pytest.mark.slow),
        *(pytest.param(n, marks=[pytest.mark.slow, pytest.mark.minutes]) for n in (1, 2, 3)),
    ],
)
def test_hungry_birds_are_explored_to_the_end(at: int) -> None:
    cycle = cycles_of(birds(3, 2))[at]
    result = guided(birds(3, 2), cycle)
    assert (result.states, result.cut, result.failing) == (51031, 16800, 1890)


@pytest.mark.parametrize(
    ("target", "states", "cut"),
    [(barber(1), 11, 2), (birds(3, 2), 536, 24), (free_pairing(3), 140, 18), (pairing(3), 56, 0)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_sleep_sets_leave_out_what_is_equivalent(target: Program, states: int, cut: int) -> None:
    for cycle in cycles_of(target):
        result = guided(target, cycle, algorithm="sleep")
        assert (result.states, result.cut) == (states, cut)
        assert result.complete


def test_guidance_stops_as_soon_as_a_task_has_ended_that_had_to_wait() -> None:
    """The thesis's node 5: main, wakeup, cuts."""
    (cycle,) = cycles_of(barber(1))
    assert cycle.aim is not None
    made: Any = cycle.aim.guided(barber(1))
    with made.controlled():
        run = made.start()
        names = made.vocabulary.process
        for name in ("main", "main.1:wakeup"):
            run.step(names(name))
            assert run.enabled()
        run.step(names("main.1:wakeup.1:cuts"))
        assert run.enabled() == []
        assert run.ending().is_cut
        run.drop()


# Constraints


def test_constraints_of_the_barber_s_cycle() -> None:
    (cycle,) = cycles_of(barber(1))
    assert isinstance(cycle.aim, CycleOfActors)
    named = [(_name(one.method), _name(one.awaited), one.is_pending) for one in _constraints(cycle)]
    assert named == [
        ("wakeup", "cuts", True),
        ("sleeps", "taken", False),
        ("taken", "sits", True),
    ]
    assert not any(one.is_condition for one in _constraints(cycle))
    for one in _constraints(cycle):
        assert one.place[0] is one.method


def _constraints(cycle: DeadlockCycle) -> tuple[Constraint, ...]:
    assert isinstance(cycle.aim, CycleOfActors)
    return cycle.aim.guide.constraints


def _name(function: Any) -> str:
    return str(function.__name__)


class Caller(Actor):
    """Waits in what it calls, not in the method that was sent."""

    async def go(self, other):
        self.wait_for(other.back.send(self))

    def wait_for(self, future):
        return future.get()

    async def back(self, other):
        await helped(other)

    async def poke(self):
        pass


async def helped(other):
    other.poke.send().get()


@program
def in_callees():
    one, other = Caller(), Caller()
    one.go.send(other)


def test_waits_in_callees_belong_to_the_task() -> None:
    found = treadle.deadlocks(in_callees)
    assert "confirmed" in {cycle.verdict for cycle in found.cycles}
    methods = {link.method for cycle in found.confirmed for link in cycle.chain}
    assert methods == {"Caller.go", "Caller.back"}
    places = {_name(one.place[0]) for cycle in found.confirmed for one in _constraints(cycle)}
    assert places == {"wait_for", "helped"}


# Verdicts and criteria


def verdicts(found: Deadlocks) -> list[str]:
    return [cycle.verdict for cycle in found.cycles]


@pytest.mark.parametrize("algorithm", GUIDED)
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (protocol, ["confirmed"]),
        (barber(1), ["confirmed"]),
        (pairing(2), ["confirmed", "confirmed"]),
        (free_pairing(2), ["unfeasible", "unfeasible"]),
        (philosophers(3), ["confirmed"]),
        (philosophers(3, fixed=True), ["unfeasible"]),
        (database(5), ["confirmed"]),
        (database(0), ["unfeasible"]),
        (waits_for_itself, ["confirmed"]),
        (pi(3), []),
    ],
    ids=lambda value: f"{value.name}{value.args}" if isinstance(value, Program) else "",
)
def test_a_verdict_for_each_cycle(target: Program, expected: list[str], algorithm: str) -> None:
    if algorithm == "exhaustive" and target.name == "philosophers":
        pytest.skip("too many interleavings")
    found = treadle.deadlocks(target, algorithm=algorithm)
    assert verdicts(found) == expected
    assert found.free is ("confirmed" not in expected)
    for cycle in found.confirmed:
        assert [failure.kind for failure in cycle.failures[:1]] == ["deadlock"]
        assert cycle.aim is not None
        assert treadle.replay(target, cycle.failures[0].token).kind == "deadlock"  # type: ignore[union-attr]


def test_hungry_birds_have_two_cycles_that_can_happen() -> None:
    found = treadle.deadlocks(birds(3, 2))
    assert sorted(verdicts(found)) == ["confirmed", "confirmed", "unfeasible", "unfeasible"]
    assert not found.free
    assert found.notes == []


def test_all_cycles_unfeasible_is_a_proof_for_this_program() -> None:
    found = treadle.deadlocks(free_pairing(3))
    assert found.free
    assert found.is_decided
    (note,) = found.notes
    assert "for this program only" in note
    assert "VERIFIED" in str(found)
    assert "leaving out" not in str(found)


def test_the_first_deadlock_ends_the_search() -> None:
    found = treadle.deadlocks(birds(3, 2), "first")
    assert found.confirmed
    assert len(found.confirmed) == 2  # one deadlock may be in several cycles
    left = [cycle for cycle in found.cycles if cycle.verdict == "undecided"]
    assert {cycle.reason for cycle in left} == {"another deadlock was found first"}
    assert not found.is_decided


def test_all_deadlocks_are_found_if_asked_for() -> None:
    everything = treadle.explore(pairing(3), "exhaustive", stop_on_failure=False)
    expected = {failure.message for failure in everything.failures}
    found = treadle.deadlocks(pairing(3), criterion="all", algorithm="exhaustive")
    messages = {failure.message for cycle in found.cycles for failure in cycle.failures}
    assert messages == expected
    assert len(expected) == 3  # who comes second is the one that waits
    one_each = treadle.deadlocks(pairing(3), criterion="cycle")
    assert [len(cycle.failures) for cycle in one_each.cycles] == [1, 1]


def test_the_first_failure_of_a_confirmed_cycle_is_of_that_cycle() -> None:
    for criterion in CRITERIA:
        for cycle in treadle.deadlocks(birds(3, 2), criterion).confirmed:
            assert cycle.aim is not None
            assert isinstance(cycle.aim, CycleOfActors)
            early = birds(3, 2).with_options({"early_stop": True})
            with early.controlled():
                run = early.start()
                for name in cycle.failures[0].schedule:
                    run.step(early.vocabulary.process(name))
                assert cycle.aim.is_met_by(run)
                assert cycle.aim.is_deadlock(run)
                run.drop()


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_cycles_side_by_side_give_the_same_verdicts(workers: int) -> None:
    one = treadle.deadlocks(birds(2, 1), workers=1)
    several = treadle.deadlocks(birds(2, 1), workers=workers)
    assert verdicts(several) == verdicts(one)
    for cycle, other in zip(one.cycles, several.cycles, strict=True):
        assert (cycle.states, cycle.pruned) == (other.states, other.pruned)
        assert [f.message for f in cycle.failures] == [f.message for f in other.failures]


def test_a_budget_leaves_cycles_undecided() -> None:
    found = treadle.deadlocks(free_pairing(4), algorithm="exhaustive", max_executions=5)
    assert verdicts(found) == ["undecided", "undecided"]
    assert {cycle.reason for cycle in found.cycles} == {"max_executions = 5"}
    assert not found.free
    assert not found.is_decided
    assert "not decided" in str(found)


def test_the_analysis_is_fresh_each_time() -> None:
    first = treadle.deadlocks(protocol)
    second = treadle.deadlocks(protocol)
    assert verdicts(first) == verdicts(second) == ["confirmed"]
    assert first.cycles[0] is not second.cycles[0]


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
    Valve().lift.send(Helper())


def test_a_cycle_through_a_condition_is_looked_for_too() -> None:
    found = treadle.deadlocks(through_a_condition)
    by_kind = {cycle.kind: cycle for cycle in found.cycles}
    # `enter` cannot even begin: `lift` holds the valve.
    assert by_kind["deadlock"].verdict == "confirmed"
    assert by_kind["condition"].verdict == "unfeasible"
    assert [one.method for one in found.conditions] == ["Valve.enter"]


class Slow(Actor):
    def __init__(self):
        self.ready = False

    async def start(self, other):
        waiting = self.wait.send()
        await other.work.send(waiting)
        self.ready = True

    async def wait(self):
        await until(lambda: self.ready)


class Other(Actor):
    async def work(self, waiting):
        waiting.get()


@program
def stuck_in_a_condition():
    Slow().start.send(Other())


def test_a_program_that_is_stuck_in_a_condition_cycle() -> None:
    found = treadle.deadlocks(stuck_in_a_condition)
    confirmed = [cycle for cycle in found.cycles if cycle.verdict == "confirmed"]
    assert [cycle.kind for cycle in confirmed] == ["condition"]
    assert [failure.kind for failure in confirmed[0].failures] == ["stuck"]
    assert treadle.explore(stuck_in_a_condition).failures[0].kind == "stuck"


def test_conditions_without_a_cycle_leave_a_program_free() -> None:
    found = treadle.deadlocks(gate)
    assert found.free
    assert [one.condition for one in found.conditions] == ["await until(lambda: self.open)"]


# What is refused


@pytest.mark.parametrize(
    "algorithm", [name for name in ALGORITHMS if name not in ("exhaustive", "sleep")]
)
def test_other_algorithms_are_refused_with_a_reason(algorithm: str) -> None:
    (cycle,) = cycles_of(protocol)
    with pytest.raises(TreadleError, match=r"guided is for exhaustive or sleep.*would lose"):
        treadle.explore(protocol, algorithm, guided=cycle)


def test_sleep_is_the_algorithm_unless_another_one_is_asked_for() -> None:
    (cycle,) = cycles_of(protocol)
    assert treadle.explore(protocol, guided=cycle).algorithm == "sleep"
    assert treadle.explore(protocol, "exhaustive", guided=cycle).algorithm == "exhaustive"


def test_only_programs_and_their_cycles_can_be_guided() -> None:
    (cycle,) = cycles_of(protocol)
    with pytest.raises(TreadleError, match="guided takes a cycle"):
        treadle.explore(lambda: None, guided=cycle)
    with pytest.raises(TreadleError, match="guided takes a cycle"):
        treadle.explore(protocol, guided=dataclasses.replace(cycle, aim=None))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"criterion": "some"}, "unknown criterion 'some'"),
        ({"sensitivity": 0}, "sensitivity must be between 1 and 4"),
        ({"sensitivity": 5}, "sensitivity must be between 1 and 4"),
        ({"workers": 0}, "workers must be"),
        ({"algorithm": "optimal"}, "guided is for exhaustive or sleep"),
        ({"timeout": -1}, "timeout must be"),
    ],
)
def test_misuse(options: dict[str, Any], why: str) -> None:
    with pytest.raises(TreadleError, match=why):
        treadle.deadlocks(protocol, **options)


def test_programs_of_other_front_ends_are_refused_honestly() -> None:
    with pytest.raises(TreadleError, match=r"model\.Program are not looked for yet"):
        treadle.deadlocks(model.Program(x=0))
    with pytest.raises(TreadleError, match="are not looked for yet"):
        treadle.deadlocks(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(TreadleError, match="cannot explore"):
        treadle.deadlocks(7)  # type: ignore[arg-type]


def test_guided_algorithms_are_what_they_are_without_cuts() -> None:
    for name, guided_one in GUIDED.items():
        assert issubclass(guided_one, ALGORITHMS[name])
        assert guided_one.is_guided
        assert not ALGORITHMS[name].is_guided
        assert guided_one.survives_cuts


def test_wishes_are_checked_when_they_are_made() -> None:
    assert Wish().criterion == "cycle"
    with pytest.raises(TreadleError):
        Wish("cycles")


# What exploring finds on the way


class Breaking(Actor):
    async def b(self):
        self.c.send().get()

    async def c(self):
        return 0

    async def fails(self):
        raise ValueError("broken")


@program
def breaking():
    one = Breaking()
    one.fails.send()
    one.b.send()


def test_other_failures_do_not_end_the_search_for_a_cycle() -> None:
    found = treadle.deadlocks(breaking)
    assert verdicts(found) == ["confirmed"]
    (failure,) = found.cycles[0].failures
    assert failure.kind == "deadlock"


class Unknown(Actor):
    async def go(self, other):
        print(getattr(other, "go"))  # noqa: B009 - that it is not understood is the point
        self.wait.send().get()

    async def wait(self):
        pass


@program
def not_understood():
    Unknown().go.send(Unknown())


def test_code_that_is_not_understood_is_named() -> None:
    found = treadle.deadlocks(not_understood)
    assert not found.free
    (note,) = found.notes
    assert note.startswith("nothing is proved, ")
    assert "getattr" in note
    assert "test_guided.py:" in note
    assert verdicts(found) == ["confirmed"]


def test_a_guide_knows_where_tasks_stand() -> None:
    (cycle,) = cycles_of(waits_for_itself)
    assert isinstance(cycle.aim, CycleOfActors)
    guide: Guide = cycle.aim.guide
    early = waits_for_itself.with_options({"early_stop": True})
    with early.controlled():
        run = early.start()
        run.step(early.vocabulary.process("main"))
        (new,) = run.alive.values()
        assert guide.before_new(new.function) == 1
        run.step(new.number)
        assert new.waiting is Waiting.GET
        assert guide.standing(new).before == 0  # who stands at it does not come to it again
        assert guide.reasons(new) == [0]
        assert guide.is_represented_by(run.chain)
        assert not guide.is_represented_by(())
        run.drop()

"""From classes without a main program to test cases, or to "no deadlock up to M"."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from random_actors import main_of, sources

import treadle
from treadle.actors import Actor, program
from treadle.actors.contexts import classes_of, run_concretely
from treadle.actors.deadlocks import KNOWN
from treadle.core.deadlocks import OUTPUTS
from treadle.core.errors import TreadleError
from treadle.papers import thesis_actors
from treadle.papers.lopstr17_programs import Database
from treadle.papers.thesis_actors import Barber, Chair, Client, Factory, FreeFactory, Node, Worker
from treadle.session.contexts import ContextWish, look_in_contexts
from treadle.symbolic.framework import Framework, origin_of
from treadle.symbolic.limits import Limits, limits_of
from treadle.symbolic.search import End, Search, state_of
from treadle.symbolic.test_case import variable_of

PATIENT = {"seconds": 1e6}


def test_the_database_deadlocks_only_with_connect_on_it():
    """Section 4.2: of two contexts, only the one with register and connect on one database."""
    framework = Framework(KNOWN, [Database, Worker], Limits(seconds=1e6))
    (cycle,) = framework.cycles
    found = {
        str(context): framework.examine(0, context, "x", any_deadlock=True)
        for context in framework.contexts(cycle, 1)
    }
    assert {context: one.test is not None for context, one in found.items()} == {
        "Database[register, connect], Worker[work]": True,
        "Database[register], Database[connect], Worker[work]": False,
    }
    assert all(one.limits == () for one in found.values())
    assert all(one.met == ((0,) if one.test else ()) for one in found.values())


def test_verdict_trace_and_test_of_the_database():
    found = treadle.deadlocks([Database, Worker], contexts=1, limits=PATIENT)
    (cycle,) = found.cycles
    assert (cycle.verdict, found.free, len(cycle.tests)) == ("confirmed", False, 1)
    (case,) = cycle.cases
    assert case.schedule == (
        "main", "main.3:work", "main.1:register", "main.1:register.1:get_data", "main.2:connect",
        "main.1:register",
    )  # fmt: skip
    assert case.words == (
        "register of Database1 waits at L38 for ping of Worker1; its actor is held by work of "
        "Worker1; work of Worker1 waits at L43 for get_data of Database1; its actor is held by "
        "register of Database1"
    )
    assert [row.split()[:3] for row in case.table[1:]] == [
        ["1", "work", "blocks"],
        ["2", "·", "register"],
        ["3", "·", "get_data"],
        ["4", "·", "connect"],
        ["5", "·", "register"],
    ]
    assert set(case.constraints) == {
        "main.3:work.db is Database1",
        "main.1:register.w is Worker1",
        "Database1.client is None",
    }
    assert "restore(Database, data=ANY, client=None, connected=ANY)" in case.program
    assert run_concretely(case, [Database, Worker]).kind == "deadlock"


def test_the_test_case_is_a_file_for_pytest(tmp_path: Path):
    found = treadle.deadlocks([Database, Worker], contexts=1, limits=PATIENT)
    (case,) = found.cycles[0].cases
    path = tmp_path / "test_case.py"
    path.write_text(case.shown("both", tmp_path), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("generated_case", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.test_deadlock_1_1()
    result = treadle.explore(module.deadlock_1_1, stop_on_failure=False)
    assert any(failure.kind == "deadlock" for failure in result.failures)
    assert "# The path is taken if\n#   " in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_is_given_of_a_path(output: str):
    found = treadle.deadlocks([Barber, Chair, Client], contexts=1, output=output, limits=PATIENT)
    (text,) = found.cycles[0].tests
    assert ("def test_" in text) == (output != "constraints")
    assert ("client is Client1" in text) == (output != "tests")


def test_barber_and_pairing_are_confirmed():
    barber = treadle.deadlocks([Barber, Chair, Client], contexts=2, criterion="all", limits=PATIENT)
    assert barber.contexts is not None
    assert (barber.contexts.generated, barber.contexts.deadlocking) == (9, 9)
    assert len(barber.cycles[0].tests) == 9
    pairing = treadle.deadlocks([Node, Factory], contexts=2, criterion="all", limits=PATIENT)
    assert pairing.contexts is not None
    assert (pairing.contexts.generated, pairing.contexts.deadlocking) == (12, 12)
    assert [cycle.verdict for cycle in pairing.cycles] == ["confirmed", "confirmed"]


def test_criteria():
    classes = [Node, Factory]
    first = treadle.deadlocks(classes, "first", 2, limits=PATIENT)
    assert first.contexts is not None
    assert (first.contexts.generated, first.contexts.deadlocking) == (1, 1)
    each = treadle.deadlocks(classes, "cycle", 2, limits=PATIENT)
    assert each.contexts is not None
    assert each.contexts.generated == 2


def test_free_pairing_is_not_free_in_any_context():
    """A factory that has a node as its first already may be given it again."""
    found = treadle.deadlocks([Node, FreeFactory], contexts=1, limits=PATIENT)
    assert len(found.cycles) == 2
    assert found.confirmed


class Safe(Actor):
    """Its cycle cannot happen: the wait is never reached."""

    def __init__(self):
        self.n = 0

    async def go(self):
        self.n = 1
        if self.n > 3:
            self.end.send().get()

    async def end(self):
        pass


def test_no_deadlock_up_to_m():
    found = treadle.deadlocks([Safe], contexts=3, limits=PATIENT)
    assert [cycle.verdict for cycle in found.cycles] == ["unfeasible"]
    assert (found.free, found.is_settled) == (False, True)
    assert found.notes == ["no deadlock up to 3 tasks of each method"]
    assert str(found).startswith("VERIFIED: Safe, no deadlock up to 3 tasks of each method")


class Waits(Actor):
    def __init__(self):
        self.n = 0

    async def go(self, n):
        k = 0
        while k < n:
            k += 1
        if k > 5:
            self.end.send().get()

    async def end(self):
        pass


def test_a_limit_leaves_it_open():
    found = treadle.deadlocks([Waits], contexts=1, limits={**PATIENT, "iterations": 3})
    (cycle,) = found.cycles
    assert cycle.verdict == "undecided"
    assert cycle.reason == "none up to 1 task of a method, within limits"
    assert not found.is_settled
    assert found.notes == [
        "no deadlock up to 1 task of each method, within the limits",
        "1 of 1 contexts met a limit: 3 iterations of a loop",
    ]
    more = treadle.deadlocks([Waits], contexts=1, limits={**PATIENT, "iterations": 8})
    assert more.cycles[0].verdict == "confirmed"
    assert re.search(r"go.send\([678]\)", more.cycles[0].tests[0])


class Calm(Actor):
    async def go(self):
        await self.end.send()

    async def end(self):
        pass


def test_no_cycle_is_a_proof():
    found = treadle.deadlocks([Calm], contexts=2)
    assert (found.free, found.cycles, found.notes) == (True, [], [])


def test_workers_find_the_same():
    alone = treadle.deadlocks([Node, Factory], "all", 2, limits=PATIENT)
    together = treadle.deadlocks([Node, Factory], "all", 2, limits=PATIENT, workers=2)
    assert alone.contexts == together.contexts
    assert [c.tests for c in alone.cycles] == [c.tests for c in together.cycles]


def test_progress_is_told():
    told: list[str] = []
    wish = ContextWish(1, "all", limits=limits_of(PATIENT))
    look_in_contexts([Node, Factory], wish, progress=told.append)
    assert told[0] == "cycle 1 of 2: context 1 of 1, 0 with a deadlock, 0 met a limit"
    assert len(told) == 2


# What contexts are made of


def test_classes_of_programs_modules_and_classes():
    assert classes_of(thesis_actors.barber(1)) == [Barber, Chair, Client]
    assert classes_of([Factory, Node]) == [Node, Factory]
    assert classes_of(Node) == [Node]
    assert Database not in classes_of(thesis_actors)
    assert set(classes_of(thesis_actors)) > {Barber, Node, Worker}


@pytest.mark.parametrize("target", [[int], [Node, 3], 3, re, [], Actor])
def test_what_has_no_contexts(target: object):
    with pytest.raises(TreadleError, match="class"):
        treadle.deadlocks(target, contexts=1)  # type: ignore[arg-type]


def test_without_a_main_program_contexts_are_needed():
    with pytest.raises(TreadleError, match="contexts=2"):
        treadle.deadlocks([Node])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contexts": -1}, "contexts must be"),
        ({"criterion": "some"}, "unknown criterion 'some'"),
        ({"output": "pdf"}, "unknown output 'pdf'"),
        ({"sensitivity": 9}, "between 1 and 4"),
        ({"workers": 0}, "workers"),
        ({"limits": {"patience": 3}}, "unknown limit 'patience'"),
        ({"limits": {"steps": 0}}, "the limit steps cannot be 0"),
    ],
)
def test_misuse(options: dict[str, object], words: str):
    with pytest.raises(TreadleError, match=words):
        treadle.deadlocks([Node, Factory], **{"contexts": 1, **options})  # type: ignore[arg-type]


def test_z3_is_an_extra(monkeypatch: pytest.MonkeyPatch):
    from treadle.symbolic import solver

    solver.z3.cache_clear()
    monkeypatch.setitem(sys.modules, "z3", None)
    try:
        with pytest.raises(TreadleError, match=r"pip install 'treadle\[smt\]'"):
            treadle.deadlocks([Node, Factory], contexts=1)
        assert treadle.deadlocks([Calm], contexts=1).free, "nothing is executed"
    finally:
        solver.z3.cache_clear()


def test_origins():
    assert origin_of(Node).path == "Node"
    assert Path(origin_of(Node).file).name == "thesis_actors.py"

    class Inner(Actor):
        async def go(self):
            self.go.send().get()

    assert origin_of(Inner).path == ""
    found = treadle.deadlocks([Inner], contexts=1, limits=PATIENT)
    assert "made inside of a function" in found.cycles[0].tests[0]


def test_names_of_variables():
    assert [variable_of(label) for label in ("Worker1", "DBServer2", "A3")] == [
        "worker1",
        "db_server2",
        "a3",
    ]


# Guidance


def _deadlocking(framework: Framework, at: int, *, guided: bool) -> dict[str, bool]:
    """In which contexts of a cycle one of its deadlocks is met."""
    found = {}
    guide = framework.guide(at)
    for context in framework.contexts(framework.cycles[at], 1):
        search = Search(framework.machine, guide.allows if guided else None)
        start = state_of(framework.machine, context)
        found[str(context)] = any(
            path.end is End.DEADLOCK and guide.is_met_by(path) for path in search.paths(start)
        )
    return found


@given(source=sources(conditions=False))
@settings(max_examples=8, deadline=None)
def test_guidance_loses_no_deadlock(source: str):
    names = main_of(source).__globals__
    limits = Limits(seconds=1e6, steps=7, fresh=1, switches=6)
    framework = Framework(KNOWN, [names["One"], names["Two"]], limits)
    for at in range(min(len(framework.cycles), 1)):
        if framework.number_of(framework.cycles[at], 1) <= 2:
            unguided = _deadlocking(framework, at, guided=False)
            assert _deadlocking(framework, at, guided=True) == unguided


def test_guidance_visits_fewer_states():
    framework = Framework(KNOWN, [Database, Worker], Limits(seconds=1e6))
    (context, _) = framework.contexts(framework.cycles[0], 1)
    states = []
    for allows in (framework.guide(0).allows, None):
        search = Search(framework.machine, allows)
        assert any(
            path.end is End.DEADLOCK for path in search.paths(state_of(framework.machine, context))
        )
        states.append((search.states, search.cut))
    (guided, cut), (unguided, _) = states
    assert guided < unguided
    assert cut > 0


@program
def with_a_main():
    Safe().go.send()


def test_a_program_with_a_main_is_tried_without_it():
    found = treadle.deadlocks(with_a_main, contexts=1, limits=PATIENT)
    assert [cycle.verdict for cycle in found.cycles] == ["unfeasible"]

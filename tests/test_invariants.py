"""What watches over algorithms: invariants, and tests that take their lists from the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import treadle
from algorithms import covering
from brute import brute_force, explored
from test_algorithms import store_buffering, write_and_reads
from test_properties import differences
from treadle.core.errors import TreadleBug
from treadle.core.events import Codes, Footprint, Mode, code
from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.core.steps import Steps
from treadle.explore.budget import Budget
from treadle.explore.choosers import stay
from treadle.explore.context.dontdo import DontDoSets, inherited
from treadle.explore.context.optimal_context import OptimalContext
from treadle.explore.invariants import is_weak_initial, wrong_lengths
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.explore.source_sets.optimal import Optimal
from treadle.explore.source_sets.planned import Planned
from treadle.explore.source_sets.source import Source
from treadle.explore.source_sets.valid_tree import size, wrong_tree
from treadle.explore.source_sets.wakeup_tree import Branch, Tree, WakeupTrees
from treadle.explore.strategy import Algorithm
from treadle.model import Program
from treadle.papers import jacm17

X, Y = 0, 1


def step(*accesses: tuple[int, Mode]) -> Footprint:
    codes: Codes = tuple(code(location, mode) for location, mode in accesses)
    return Footprint(codes)


WRITE_X, READ_X, READ_Y = (
    step((X, Mode.WRITE)),
    step((X, Mode.READ)),
    step((Y, Mode.READ)),
)


def branch(*steps: tuple[int, Footprint], children: Tree | None = None) -> Branch:
    return Branch(
        tuple(process for process, _ in steps), tuple(made for _, made in steps), children or []
    )


# Wakeup trees by their definition


def test_a_process_begins_what_it_is_independent_of_and_where_it_is_an_initial() -> None:
    assert is_weak_initial(1, READ_Y, [(2, WRITE_X)])
    assert is_weak_initial(1, READ_X, [(2, READ_Y), (1, READ_X)])
    assert not is_weak_initial(1, READ_X, [(2, WRITE_X)])
    assert not is_weak_initial(1, READ_X, [(2, WRITE_X), (1, READ_X)])


def test_a_process_does_not_begin_what_creates_or_ends_it() -> None:
    spawn, join = step((1, Mode.SPAWN)), step((2, Mode.JOIN))
    assert not is_weak_initial(1, READ_Y, [(0, spawn), (1, READ_Y)])
    assert not is_weak_initial(1, join, [(2, READ_Y), (1, join)])


def test_a_wakeup_tree_is_one() -> None:
    tree = [branch((1, WRITE_X)), branch((2, READ_X), (1, WRITE_X))]
    assert list(wrong_tree(tree, {3: READ_X})) == []
    assert size(tree) == 3


BROKEN: dict[str, tuple[Tree, dict[int, Footprint]]] = {
    "a leaf that a sleeping process begins": ([branch((1, WRITE_X))], {3: READ_Y}),
    "a leaf that an earlier sibling begins": (
        [branch((1, READ_Y)), branch((2, WRITE_X))],
        {},
    ),
    "the same deeper down": (
        [branch((3, READ_Y), children=[branch((1, READ_X)), branch((2, READ_X))])],
        {},
    ),
    "an empty branch": ([branch()], {}),
    "two branches for one process": ([branch((1, WRITE_X)), branch((1, WRITE_X), (2, READ_X))], {}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_tree_is_noticed(name: str) -> None:
    assert list(wrong_tree(*BROKEN[name]))


def test_lists_of_the_wrong_length_are_noticed() -> None:
    trace = Trace(Program().vocabulary)
    assert list(wrong_lengths(trace, sleep=[])) == []
    assert list(wrong_lengths(trace, sleep=[None])) == [
        "sleep has 1 entries for an execution of 0 steps"
    ]


def test_an_empty_dont_do_sequence_is_noticed() -> None:
    dnd = DontDoSets(inherited)
    dnd.pass_on(1)
    dnd.forbid(0, ((1, READ_X),))
    assert list(dnd.violations_after(0)) == []
    dnd.forbid(0, ())
    assert list(dnd.violations_after(0)) == ["an empty don't-do sequence after 0 steps"]


# Algorithms that break them


class InsertsWhatIsDone(Optimal):
    """Does not look at sleep sets."""

    def _try_at_once(self, e: int, last: int) -> bool:
        return False

    def _reverse(self, e: int, v: int, last: int) -> int:
        trace = self.search.trace
        planned = Planned(trace, v, trace.before[last] & v, last)
        self.wut.insert(e, planned)
        return planned.keep | planned.rests_on


class KeepsTooLittle(Optimal):
    """Plans the second event and nothing else: not what tells it from what sleeps."""

    def _try_at_once(self, e: int, last: int) -> bool:
        return False

    def _reverse(self, e: int, v: int, last: int) -> int:
        planned = Planned(self.search.trace, v, 1 << last, last)
        if not planned.begins_with_any(self.sleep[e] or {}):
            planned.keep = 1 << last
            self.wut.insert(e, planned)
        return planned.keep | planned.rests_on


class LosesCount(Optimal):
    """Takes note of a step too many."""

    def left_alone(self, steps: int) -> None:
        super().left_alone(steps)
        self.sleep.append(None)


class SleepsTooLong(Optimal):
    """Lets nobody wake up."""

    def foretell(self) -> bool:
        sleep = self._next_sleep
        is_free = super().foretell()
        self.sleep[-1:] = [sleep]
        return is_free


class Meddling(WakeupTrees):
    """Adds an empty branch wherever something is inserted."""

    def insert(self, depth: int, w: Planned) -> None:
        super().insert(depth, w)
        tree = self.trees[depth]
        assert tree is not None
        tree.append(branch())

    def mend(self) -> None:
        for tree in self.trees:
            for broken in [one for one in tree or [] if not one.processes]:
                tree.remove(broken)  # type: ignore[union-attr]


class BreaksTreesForAMoment(Optimal):
    """Leaves wakeup trees as they should be when its analysis ends, but not before."""

    def prepare(self) -> None:
        super().prepare()
        self.wut = self.meddling = Meddling()

    def analyse(self, run: Run, outcome: int) -> None:
        super().analyse(run, outcome)
        self.meddling.mend()


class BreaksPlansForAMoment(OptimalContext):
    """The same with done sets and don't-do sets."""

    def prepare(self) -> None:
        super().prepare()
        self.wut = self.meddling = Meddling()

    def analyse(self, run: Run, outcome: int) -> None:
        super().analyse(run, outcome)
        self.meddling.mend()


class ForbidsNothingForAMoment(OptimalContext):
    """Forbids the empty sequence, and takes it back when its analysis ends."""

    def forbid(self, e: int, sequence: Steps) -> None:
        super().forbid(e, ())

    def analyse(self, run: Run, outcome: int) -> None:
        super().analyse(run, outcome)
        for dnd in self.dnd.sets:
            if dnd:
                dnd.clear()


class SleepsAndRuns(Source):
    """Puts a process to sleep that it is about to run."""

    def executed(self, process: int, footprint: Footprint) -> None:
        super().executed(process, footprint)
        self.sleep[-1] = {**self.sleep[-1], process: footprint}


@contextmanager
def registered(algorithm: type[Algorithm]) -> Iterator[str]:
    """Add an algorithm to the registry for a while."""
    ALGORITHMS.add("broken", algorithm)
    try:
        yield "broken"
    finally:
        ALGORITHMS.remove("broken")


@pytest.mark.parametrize(
    "algorithm",
    [
        InsertsWhatIsDone,
        KeepsTooLittle,
        LosesCount,
        SleepsTooLong,
        BreaksTreesForAMoment,
        BreaksPlansForAMoment,
        ForbidsNothingForAMoment,
        SleepsAndRuns,
    ],
)
def test_validation_stops_an_algorithm_that_breaks_an_invariant(
    algorithm: type[Algorithm],
) -> None:
    with registered(algorithm) as name, pytest.raises(TreadleBug):
        assert [explored(program, name) for program in (jacm17.lastzero(4), jacm17.readers(3))]


def test_nothing_is_validated_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def violations(_: Any) -> Iterator[str]:
        raise AssertionError("asked")

    monkeypatch.setattr(Optimal, "violations", violations)
    assert treadle.explore(jacm17.lastzero(3)).ok


# Tests over all algorithms


class NeverReverses(Optimal):
    """Explores one execution, and takes it for all of them."""

    def analyse(self, run: Run, outcome: int) -> None:
        self.search.trace.extend()


@pytest.mark.parametrize("make", [store_buffering, write_and_reads])
def test_brute_force_catches_an_algorithm_that_never_reverses_a_race(
    make: Callable[[], Program],
) -> None:
    with registered(NeverReverses) as name:
        assert name in covering()
        expected = brute_force(make(), 1000)
        wrong = {
            algorithm: differences(algorithm, explored(make(), algorithm), expected)
            for algorithm in covering()
        }
    assert "classes" in wrong.pop(name)
    assert not any(wrong.values())


def test_what_is_left_out_can_be_watched() -> None:
    seen = []
    for name in ("source", "optimal"):
        search = Search(jacm17.lastzero(3), ALGORITHMS[name], name, budget=Budget(), choose=stay)
        search.on_left_out = lambda depth, process, why: seen.append((depth, process, why))
        search.explore()
        assert {why for _, _, why in seen} == {"asleep"}, name
        seen.clear()

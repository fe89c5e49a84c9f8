"""Observed searches: the tree has every execution, and counts agree with the result's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import treadle
from algorithms import covering
from constrained_models import two_writers
from drawn import Drawn
from racy_model import racy
from random_programs import build, draw_program
from treadle.core.errors import TreadleError
from treadle.core.exploration import Branch, Counts, Exploration
from treadle.core.happens_before import Trace
from treadle.core.program import Restart
from treadle.core.result import Result
from treadle.explore import observing
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.observing import Observer, Places
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.findings import observed
from treadle.findings.observed import exploration_of
from treadle.model import Program
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings

WAYS = tuple[tuple[str, ...], ...]
OBSERVED = sorted({*covering()} - {"eager-adaptive"})
KINDS = ("write", "read", "increment", "locked", "check", "spawn", "send", "receive")


class Watched:
    """A search with an observer, and a record of its own of every execution."""

    def __init__(self, program: Program, algorithm: str, **options: Any) -> None:
        while True:
            self.ways: list[tuple[tuple[str, ...], int]] = []
            self.search = Search(
                program,
                ALGORITHMS[algorithm],
                algorithm,
                budget=options.get("budget", Budget()),
                choose=SCHEDULES["stay"],
                stop_on_failure=False,
            )
            self.observer = Observer(self.search)
            self.search.on_end = self._note
            try:
                self.result = self.search.explore()
            except Restart:
                continue
            break
        self.exploration = self.observer.exploration()

    def _note(self, _run: object, outcome: int) -> None:
        names = self.search.program.vocabulary.process_names
        self.ways.append((tuple(names[p] for p in self.search.trace.processes), outcome))


def ways_in(tree: Branch) -> dict[tuple[str, ...], str]:
    """Return the processes on each way from the root to an end, and how it ends."""
    found: dict[tuple[str, ...], str] = {}
    ahead = [(tree, ())]
    while ahead:
        branch, before = ahead.pop()
        way = (*before, *(step.process for step in branch.steps))
        if branch.ending:
            assert way not in found
            found[way] = branch.ending
        ahead += [(child, way) for child in branch.children]
    return found


def assert_sums(tree: Branch) -> None:
    """Check that every branch counts what is below it, and itself."""
    for branch in tree.walk():
        expected = Counts()
        for child in branch.children:
            expected.add(child.counts)
        expected.left_out += len(branch.left_out)
        own = branch.ending in ("ended", "failed")
        assert branch.counts.executions - expected.executions in (own, own + branch.undrawn)
        assert branch.counts.left_out == expected.left_out
        assert branch.counts.failing >= expected.failing


# Whole trees


def two_increments() -> Program:
    program = treadle.model.Program(x=0)
    for name in "pq":

        @program.process(name=name)
        def increments(s: Any) -> Iterator[None]:
            yield
            value = s.x
            yield
            s.x = value + 1

    @program.finally_
    def both(s: Any) -> None:
        assert s.x == 2

    return program


def test_the_tree_of_a_lost_update() -> None:
    result = treadle.explore(two_increments(), observe=True, stop_on_failure=False)
    explored = result.exploration
    assert explored is not None
    assert explored.processes == ["p", "q"]
    assert explored.locations == ["x"]
    assert explored.longest == 4
    assert ways_in(explored.tree) == {
        ("p", "p", "q", "q"): "ended",
        ("p", "q", "p", "q"): "failed",
        ("p", "q", "q", "p"): "failed",
        ("q", "q", "p", "p"): "ended",
    }
    assert explored.tree.counts.executions == result.executions == 4
    assert_sums(explored.tree)


@pytest.mark.parametrize("algorithm", OBSERVED)
def test_every_execution_is_in_the_tree(algorithm: str) -> None:
    watched = Watched(jacm17.lastzero(3), algorithm)
    ended = {way for way, outcome in watched.ways if outcome == -1}
    found = ways_in(watched.exploration.tree)
    assert {way for way, end in found.items() if end in ("ended", "failed")} == ended
    counts, result = watched.exploration.tree.counts, watched.result
    assert counts.executions == result.executions
    blocked = [way for way, outcome in watched.ways if outcome == -2]
    assert counts.blocked == len(blocked)
    assert_sums(watched.exploration.tree)


@given(st.data())
@settings(max_examples=25)
@seed(7)
def test_random_programs(data: st.DataObject) -> None:
    lengths = data.draw(st.sampled_from([(1, 1), (2, 1), (2, 2), (1, 1, 1)]))
    program = build(draw_program(Drawn(data.draw), KINDS, lengths))
    algorithm = data.draw(st.sampled_from(OBSERVED))
    watched = Watched(program, algorithm, budget=Budget(max_executions=300))
    tree = watched.exploration.tree
    ended = {way for way, outcome in watched.ways if outcome == -1}
    found = ways_in(tree)
    endings = {way for way, end in found.items() if end in ("ended", "failed")}
    assert endings <= {way for way, _ in watched.ways}
    assert ended <= set(found)
    assert tree.counts.failing == sum(branch.ending == "failed" for branch in tree.walk())
    assert (tree.counts.failing > 0) == bool(watched.result.failures)
    assert_sums(tree)
    reversed_in_all = sum(pair.times for pair in watched.exploration.reversals)
    assert reversed_in_all + watched.exploration.uncounted >= 0


def test_samples_that_begin_alike_share_a_way() -> None:
    watched = Watched(two_increments(), "random", budget=Budget(max_executions=200))
    tree = watched.exploration.tree
    assert tree.counts.executions == 200
    assert len(ways_in(tree)) == len({way for way, _ in watched.ways}) == 6


def test_an_observer_changes_nothing() -> None:
    plain = treadle.explore(jacm17.lastzero(4), stop_on_failure=False)
    seen = treadle.explore(jacm17.lastzero(4), stop_on_failure=False, observe=True)
    assert plain.exploration is None
    seen.exploration, seen.seconds = None, plain.seconds
    assert seen == plain


# What is left out, and why


def reasons(exploration: Exploration) -> Counter[str]:
    return Counter(one.why for branch in exploration.tree.walk() for one in branch.left_out)


@pytest.mark.parametrize("algorithm", ["sleep", "source", "optimal"])
def test_what_sleeps_is_left_out(algorithm: str) -> None:
    watched = Watched(jacm17.lastzero(3), algorithm)
    found = reasons(watched.exploration)
    assert set(found) == {"asleep"}
    assert watched.exploration.tree.counts.left_out == found.total()


def test_what_a_dont_do_set_forbids_is_left_out() -> None:
    """Additions: all orders of them lead to the same states."""
    program = treadle.model.Program(x=0, y=0)
    for name in "pqr":

        @program.process(name=name)
        def adds(s: Any) -> Iterator[None]:
            yield
            s.x = s.x + 1
            yield
            s.y = s.y + 1

    watched = Watched(program, "optimal-context")
    found = reasons(watched.exploration)
    assert "forbidden" in found
    assert set(found) <= {"asleep", "forbidden"}


def test_what_a_constraint_makes_commute_is_left_out() -> None:
    seen = [reasons(Watched(two_writers(1, 1), name).exploration) for name in ("constrained",)]
    without = reasons(Watched(two_writers(1, 1), "source").exploration)
    assert all("constraint" in one for one in seen)
    assert "constraint" not in without


def test_budgets_and_cuts_are_endings() -> None:
    program = treadle.model.Program(x=0)

    @program.process
    def endless(s: Any) -> Iterator[None]:
        while True:
            yield
            s.x += 1

    result = treadle.explore(program, max_steps=10, observe=True)
    assert result.exploration is not None
    assert set(ways_in(result.exploration.tree).values()) == {"failed"}, "it fails by its budget"

    def cuts() -> None:
        treadle.assume(False)

    result = treadle.explore(cuts, observe=True)
    assert result.exploration is not None
    assert result.exploration.tree.counts.cut == 1
    assert set(ways_in(result.exploration.tree).values()) <= {"cut"}


class Guided(ALGORITHMS["source"]):  # type: ignore[misc]
    """Cuts executions on purpose, as guided testing does."""

    is_guided = True


def test_what_guidance_cuts_says_so() -> None:
    def cuts() -> None:
        treadle.assume(False)

    with opened(cuts, Settings()) as session:
        search = session._search(Guided, "guided", None)
        observer = Observer(search)
        result = search.explore()
    tree = observer.exploration().tree
    assert result.cut == tree.counts.cut == 1
    assert set(ways_in(tree).values()) == {"guidance"}


# What is too large


def test_of_a_large_tree_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "MOST_NODES", 12)
    watched = Watched(jacm17.lastzero(4), "optimal")
    tree = watched.exploration.tree
    assert sum(len(branch.steps) for branch in tree.walk()) <= 12
    assert tree.counts.executions == watched.result.executions
    assert sum(branch.undrawn for branch in tree.walk()) > 0


def test_pairs_beyond_some_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Watched(jacm17.lastzero(4), "optimal").exploration
    monkeypatch.setattr(observing, "MOST_PAIRS", 2)
    bounded = Watched(jacm17.lastzero(4), "optimal").exploration
    assert len(bounded.reversals) == 2
    assert bounded.uncounted > 0

    def total(one: Exploration) -> int:
        return sum(pair.times for pair in one.reversals) + one.uncounted

    assert total(bounded) == total(whole)


# Reversals


def test_what_is_reversed_has_its_lines() -> None:
    result = treadle.explore(racy(), observe=True, stop_on_failure=False)
    assert result.exploration is not None
    pairs = result.exploration.reversals
    assert pairs
    assert [pair.times for pair in pairs] == sorted((p.times for p in pairs), reverse=True)
    for pair in pairs:
        assert {pair.first.process, pair.second.process} == {"p", "q"}
        for step in (pair.first, pair.second):
            assert "racy_model.py:" in step.where
            assert step.words in ("read x", "write x")
        assert "write x" in (pair.first.words, pair.second.words)


def test_locks_that_change_hands_are_reversals() -> None:
    program = treadle.model.Program(lock=treadle.model.Lock())
    for name in "pq":

        @program.process(name=name)
        def takes(s: Any) -> Iterator[Any]:
            yield s.lock.acquire()
            yield s.lock.release()

    result = treadle.explore(program, observe=True)
    assert result.exploration is not None
    words = {(p.first.words, p.second.words) for p in result.exploration.reversals}
    assert {tuple(word[:12] for word in pair) for pair in words} == {("acquire lock",) * 2}


def test_exhaustive_search_reverses_nothing() -> None:
    assert Watched(racy(), "exhaustive").exploration.reversals == []


def test_places_are_exact_or_where_the_same_was_done() -> None:
    places = Places()
    places.add((0, 0, (1,)), "a.py:1")
    places.add((0, 1, (1,)), "a.py:2")
    places.add((0, 1, (1,)), "a.py:3")
    assert places.of((0, 0, (1,))) == "a.py:1"
    assert places.of((0, 1, (1,))) == "a.py:2", "what was seen first"
    assert places.of((0, 9, (1,))) == "a.py:1", "where it did the same before"
    assert places.of((1, 0, (1,))) == ""
    assert places.knows((0, 1, (1,)))
    assert not places.knows((0, 9, (1,)))


def test_few_executions_are_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(jacm17.lastzero(4), "optimal")
    runs = []
    original = observed.follow

    def counting(*args: Any, **more: Any) -> Any:
        runs.append(more["trace"])
        return original(*args, **more)

    monkeypatch.setattr(observed, "follow", counting)
    monkeypatch.setattr(observed, "MOST_RUNS", 2)
    explored = exploration_of(watched.search.program, watched.observer)
    assert 0 < len(runs) <= 2
    assert all(isinstance(trace, Trace) for trace in runs)
    assert any(pair.first.where for pair in explored.reversals)


def test_a_program_that_does_not_repeat_leaves_lines_open(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(racy(), "optimal")

    def refuse(*_: Any, **__: Any) -> Any:
        raise TreadleError("not deterministic")

    monkeypatch.setattr(observed, "follow", refuse)
    explored = exploration_of(watched.search.program, watched.observer)
    assert explored.reversals
    assert {pair.first.where for pair in explored.reversals} == {""}


def test_front_ends_of_all_kinds_can_be_observed() -> None:
    from looked_at import EVERYTHING, explored

    for target in EVERYTHING:
        result: Result = explored(target)
        assert result.exploration is not None
        assert result.exploration.tree.counts.executions == result.executions
        assert result.exploration.longest >= 2
        assert_sums(result.exploration.tree)

"""Eager POR (ATVA 2016): constraint systems, sections, and the paper's examples and counts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from algorithms import planning
from brute import brute_force, explored
from test_properties import differences
from test_rigid import program_of
from treadle.core.program import Run
from treadle.core.result import Result
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.eager import eager
from treadle.explore.eager import plan as plans
from treadle.explore.eager.constraint_systems import Pair, Traces
from treadle.explore.eager.eager import Eager, EagerAdaptive, EagerShort
from treadle.explore.eager.normal_forms import NormalForms
from treadle.explore.eager.plan import Plan
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.model import Counter, Lock, Program, Semaphore
from treadle.papers import atva16
from treadle.papers.jacm17 import indexer

Process = Iterator[Any]
under_each = pytest.mark.parametrize("algorithm", planning())


# Trace constraint systems


def solved(
    previous: list[int], constraints: list[Pair], *, learn: bool
) -> tuple[list[list[int]], int]:
    """Return all solutions, sorted, and the number of unsatisfiable systems."""
    traces = Traces(previous, constraints, learn=learn)
    return sorted(map(list, traces.solutions())), traces.unsatisfiable


def ring_of(n: int, times: int) -> tuple[list[int], list[Pair]]:
    """Return program order and constraints of `ring` (once) and `ring_extended` (twice)."""
    events = range(n * times)
    constraints = [(i, j) for i in events for j in events if i < j and (i - j) % n in (1, n - 1)]
    return [event - n if event >= n else -1 for event in events], constraints


def masks_of(length: int, constraints: list[Pair]) -> list[int]:
    masks = [0] * length
    for i, j in constraints:
        masks[i] |= 1 << j
        masks[j] |= 1 << i
    return masks


def test_figure_1_has_four_partial_orders() -> None:
    assert solved([-1, -1, -1], [(0, 1), (0, 2)], learn=False) == (
        [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 0, 1]],
        0,
    )


def test_the_section_of_figure_2_has_two_traces() -> None:
    """t00 and t01 in program order, and t10, which is in a race with t01."""
    assert solved([-1, 0, -1], [(1, 2)], learn=False) == ([[0, 1, 2], [0, 2, 1]], 0)


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("n", [3, 5, 8])
def test_two_systems_of_a_ring_have_no_solution(n: int, learn: bool) -> None:
    solutions, unsatisfiable = solved(*ring_of(n, 1), learn=learn)
    assert (len(solutions), unsatisfiable) == (2**n - 2, 2)


@pytest.mark.parametrize(
    ("n", "traces", "all_cycles", "learned"),
    [(2, 6, 10, 4), (3, 90, 4006, 28), (4, 786, 64750, 48)],
)
def test_learning_spares_cycles(n: int, traces: int, all_cycles: int, learned: int) -> None:
    """The paper's numbers of unsatisfiable systems of Ring Extended, and what is left of them."""
    as_printed, unsatisfiable = solved(*ring_of(n, 2), learn=False)
    assert (len(as_printed), unsatisfiable) == (traces, all_cycles)
    assert solved(*ring_of(n, 2), learn=True) == (as_printed, learned)


def random_section(rng: random.Random) -> tuple[list[int], list[Pair]]:
    processes = [rng.randrange(4) for _ in range(rng.randint(1, 7))]
    previous, latest = [], dict.fromkeys(range(4), -1)
    for event, process in enumerate(processes):
        previous.append(latest[process])
        latest[process] = event
    pairs = [
        (i, j) for j in range(len(processes)) for i in range(j) if processes[i] != processes[j]
    ]
    return previous, sorted(pair for pair in pairs if rng.random() < 0.45)


def test_lists_and_trees_of_solutions_are_the_same() -> None:
    rng = random.Random(6)
    for _ in range(400):
        previous, constraints = random_section(rng)
        expected, _ = solved(previous, constraints, learn=False)
        assert solved(previous, constraints, learn=True)[0] == expected
        tree = NormalForms(previous, masks_of(len(previous), constraints))
        assert list(map(list, tree.solutions())) == expected
        assert expected[0] == list(range(len(previous)))


def plan_of(n: int, times: int = 1, **options: Any) -> Plan:
    """Return the plan of a section that is a ring."""
    previous, constraints = ring_of(n, times)
    dependent = masks_of(n * times, constraints)
    return Plan(previous, dependent, **{"learn": True, "room": 1 << 18, **options})


def test_a_plan_without_a_list_schedules_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = list(taken(plan_of(4)))
    assert len(listed) == plan_of(4).listed == 2**4 - 2
    assert plan_of(4, room=2**4 - 2).listed == 2**4 - 2
    for room in (-3, 0, 2**4 - 3):
        assert plan_of(4, room=room).listed == 0
        assert list(taken(plan_of(4, room=room))) == listed
    monkeypatch.setattr(plans, "FEW", 0)
    assert plan_of(4).listed == 0
    assert list(taken(plan_of(4))) == listed


def test_a_plan_is_not_listed_when_time_is_up() -> None:
    """Ring Extended(5) has 2**20 systems, of which 5730 have a solution."""
    asked = []

    def is_over() -> bool:
        asked.append(True)
        return len(asked) == 3

    plan = plan_of(5, 2, learn=False, is_over=is_over)
    assert (len(asked), plan.listed) == (3, 0)
    assert plan.unsatisfiable == 0
    assert sum(1 for _ in taken(plan)) == 5730


def two_rings() -> Program:
    """Ring(3) twice: when it is over, it begins again."""
    program = Program(x=[0] * 3)

    def copy(s: Any, pid: int) -> Process:
        yield
        s.x[(pid + 1) % 3] = s.x[pid]

    @program.process
    def main(s: Any) -> Process:
        for _ in range(2):
            yield
            children = [s.spawn(copy, pid) for pid in range(3)]
            for child in children:
                yield s.join(child)

    return program


@under_each
@pytest.mark.parametrize(("room", "kept"), [(1 << 18, 6 + 6), (8, 6), (5, 0)])
def test_all_sections_together_list_no_more_than_there_is_room_for(
    room: int, kept: int, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = [0]

    class Watched(ALGORITHMS[algorithm]):  # type: ignore[misc]
        def backtrack(self) -> int:
            plans = [section.plan for section in self.sections if section.constraints]
            peaks.append(sum(plan.listed for plan in plans if plan is not None))
            return int(super().backtrack())

    monkeypatch.setattr(eager, "LISTED", room)
    search = Search(two_rings(), Watched, "eager", budget=Budget(), choose=SCHEDULES["stay"])
    result = search.explore()
    assert (result.executions, result.complete, max(peaks)) == (36, True, kept)


def taken(plan: Plan) -> Iterator[tuple[bytes, int, list[list[int]]]]:
    """Yield each solution with what it shares with the next and what is scheduled on its way."""
    while True:
        scheduled = [plan.scheduled(depth) for depth in range(len(plan.solution))]
        yield plan.solution, plan.shared, scheduled
        if plan.shared < 0:
            return
        plan.advance()


# Sections


def sections_of(program: Program, algorithm: type[Eager] = Eager) -> list[list[str]]:
    """Return the processes of the sections of the first execution."""
    seen: list[list[list[str]]] = []
    names = program.vocabulary.process_names

    class Watched(algorithm):  # type: ignore[misc, valid-type]
        def analyse(self, run: Run, outcome: int) -> None:
            seen.append([[names[p] for p in section.processes] for section in self.sections])
            super().analyse(run, outcome)

    Search(
        program, Watched, "eager", budget=Budget(max_executions=1), choose=SCHEDULES["stay"]
    ).explore()
    return seen[0]


def test_the_section_of_figure_2() -> None:
    """Exactly t00, t01 and t10: t11 is behind a branch, t20 hides a dependency."""
    first, second, *_ = sections_of(atva16.figure2())
    assert first == ["process0", "process0", "process1"]
    assert second[0] in ("process1", "process2")


@under_each
def test_figure_2(algorithm: str) -> None:
    expected = brute_force(atva16.figure2(), 100)
    assert not differences(algorithm, explored(atva16.figure2(), algorithm), expected)


def test_section_2_counts_race_checks() -> None:
    """Three instead of twelve for one writer and two readers."""
    eager = treadle.explore(atva16.readers_writers(3), "eager")
    source = treadle.explore(atva16.readers_writers(3), "source")
    assert (eager.executions, eager.race_checks, source.race_checks) == (4, 3, 12)
    assert eager.dependency_checks < source.dependency_checks


def test_short_sections_have_one_dependent_step_of_each_process() -> None:
    ring = [f"copy({pid})" for pid in range(3)]
    assert [sorted(section) for section in sections_of(atva16.ring_extended(3), EagerShort)] == [
        ring,
        ring,
    ]
    assert [sorted(section) for section in sections_of(atva16.ring_extended(3))] == [
        sorted(ring * 2)
    ]


def test_adaptive_sections_are_long_where_constraints_are_few() -> None:
    assert [len(section) for section in sections_of(atva16.ring_extended(3), EagerAdaptive)] == [6]
    assert [len(section) for section in sections_of(atva16.ring_extended(12), EagerAdaptive)] != [
        24
    ]


SECTIONS: dict[str, tuple[tuple[str, str], str]] = {
    "values that decide nothing": (("yield; v = s.x; yield; s.y = v", "yield; s.x = 1"), "001"),
    "a branch on a racy value": (
        ("yield; v = s.x; yield\nif v: s.y = 1", "yield; s.x = 1"),
        "01 0",
    ),
    "a branch on a value of its own": (
        ("yield; v = s.y; yield\nif v: s.y = 1", "yield; s.x = 1"),
        "010",
    ),
    "an address from a racy value": (
        ("yield; v = s.x; yield; s.a[v] = 1", "yield; s.x = 1"),
        "01 0",
    ),
    "an address through shared memory": (
        ("yield; v = s.x; yield; s.y = v; yield; s.a[s.y] = 1", "yield; s.x = 1"),
        "000 1",
    ),
    "arithmetic is trusted": (("yield; v = s.x; yield; s.y = v + 1", "yield; s.x = 1"), "001"),
    "so is equality": (("yield; v = s.x; yield; s.y = v == 1", "yield; s.x = 1"), "001"),
    "division is not": (("yield; v = s.x; yield; s.y = 1 // v", "yield; s.x = 1"), "01 0"),
    "a lock that another wants": (
        ("yield s.lock.acquire(); s.lock.release()", "yield s.lock.acquire(); s.lock.release()"),
        "0 1",
    ),
    "locks of their own": (
        (
            "yield s.locks[0].acquire(); s.locks[0].release()",
            "yield s.locks[1].acquire(); s.locks[1].release()",
        ),
        "01",
    ),
    "a condition that another decides": (("yield; s.x = 1", "yield s.until(lambda: s.x)"), "0 1"),
    "an address announced": (
        ("yield; v = s.x; yield s.locks[v].acquire()", "yield; s.x = 1"),
        "01 0",
    ),
    "an address announced earlier": (
        ("yield; v = s.x; op = s.locks[v].acquire(); yield op", "yield; s.x = 1"),
        "01 0",
    ),
    "a condition announced earlier": (
        ("yield; v = s.x; op = s.until(lambda: v < 2); yield op", "yield; s.x = 1"),
        "01 0",
    ),
    "the end of another": (("yield; s.x = 1", "yield s.join('p0')"), "0 1"),
    "a condition on a racy value": (
        ("yield; v = s.x; yield s.until(lambda: v == v)", "yield; s.x = 1"),
        "01 0",
    ),
}


@pytest.mark.parametrize("what", SECTIONS)
def test_what_belongs_to_a_section(what: str) -> None:
    sources, expected = SECTIONS[what]
    program = program_of(*(source.replace("; ", "\n") for source in sources))
    sections = ["".join(name[1] for name in section) for section in sections_of(program)]
    assert " ".join(sections) == expected
    everything = brute_force(program, 1000)
    for algorithm in planning():
        assert not differences(algorithm, explored(program, algorithm), everything), algorithm


def test_a_spawned_process_joins_no_section_of_its_creation() -> None:
    program = Program(x=0)

    def child(s: Any) -> Process:
        yield
        s.x = 2

    @program.process
    def parent(s: Any) -> Process:
        yield
        s.spawn(child)
        yield
        s.x = 1

    assert sections_of(program) == [["parent", "parent"], ["parent.1"]]


def opaque(s: Any, index: int) -> Process:
    """Access an element behind a helper, so that nothing is foreseen."""
    yield from (None for _ in range(1))
    s.a[index] = s.a[index]
    yield
    s.a[index] = s.a[index]


def test_without_foresight_a_process_that_is_not_disturbed_goes_on() -> None:
    alone, together = Program(a=[0, 0]), Program(a=[0, 0])
    for index in range(2):
        alone.process(opaque, index)
        together.process(opaque, 0, name=f"p{index}")
    assert sections_of(alone) == [["opaque(0)", "opaque(1)", "opaque(1)", "opaque(0)"]]
    assert sections_of(together) == [["p0"], ["p1"], ["p0"], ["p1"]]


# What happens when a guess was wrong, or a program fails


def late_text() -> Program:
    """The sum in p raises if q was first: that is no arithmetic that can be trusted."""
    program = Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Process:
        yield
        value = s.x
        yield
        s.y = value + 1

    @program.process
    def q(s: Any) -> Process:
        yield
        s.x = "text"
        yield
        s.y = 2

    return program


@under_each
def test_arithmetic_that_raises_is_found_out(algorithm: str) -> None:
    found = explored(late_text(), algorithm)
    assert not differences(algorithm, found, brute_force(late_text(), 100))
    assert {failure.kind for failure in found.result.failures} == {"exception"}
    assert treadle.explore(late_text(), algorithm).failures[0].process == "p"


class Picky:
    """No atom: neither its truth, nor its text, nor a comparison with zero can be had."""

    def __bool__(self) -> bool:
        raise ValueError("truth")

    def __str__(self) -> str:
        raise ValueError("text")

    def __eq__(self, other: object) -> bool:
        if other == 0:
            raise ValueError("comparison with zero")
        return NotImplemented

    __hash__ = object.__hash__

    def fingerprint_of(self) -> object:
        """One is like the other."""
        return ()


# What p does with the value that it read one step earlier, and what q writes. x is 0 before.
UNFORESEEN = {
    "a sum that raises unless q was first": ("s.y = v + 'b'", "'a'"),
    "a comparison that raises": ("w = v == 0; s.y = 1", "picky"),
    "a comparison that raises unless q was first": ("w = v != picky; s.y = 1", "1"),
    "a truth that raises": ("w = not v; s.y = 1", "picky"),
    "a text that raises": ("w = f'{v}'; s.y = 1", "picky"),
    "a list that has another name": ("l += [v]; s.y = 1; yield; s.a[m[0]] = 5", "1"),
    "a shared list that has another name": (
        "s.y = l; yield; s.y += [v]; yield; s.a[l[0]] = 5",
        "1",
    ),
    "an element that has another name": (
        "s.a[2] = l; yield; s.a[2] += [v]; yield; s.a[m[0]] = 5",
        "1",
    ),
}


@under_each
@pytest.mark.parametrize("youngest", ["p", "q"])
@pytest.mark.parametrize("what", UNFORESEEN)
def test_a_wrong_guess_is_found_out(what: str, youngest: str, algorithm: str) -> None:
    use, written = UNFORESEEN[what]
    bodies = [f"l = []; m = l; yield; v = s.x; yield; {use}", f"yield; s.x = {written}"]
    if youngest == "p":
        bodies.reverse()

    def make() -> Program:
        sources = [body.replace("; ", "\n") for body in bodies]
        return program_of(*sources, picky=Picky())

    everything = treadle.explore(make(), "exhaustive", stop_on_failure=False)
    found = treadle.explore(make(), algorithm, stop_on_failure=False)
    assert found.complete
    assert {(f.kind, f.process, f.message) for f in found.failures} == {
        (f.kind, f.process, f.message) for f in everything.failures
    }
    assert not differences(algorithm, explored(make(), algorithm), brute_force(make(), 1000))


def opposite_locks() -> Program:
    program = Program(a=Lock(), b=Lock(), x=0)

    @program.process
    def p(s: Any) -> Process:
        s.x = 1
        yield s.a.acquire()
        yield s.b.acquire()

    @program.process
    def q(s: Any) -> Process:
        s.x = 2
        yield s.b.acquire()
        yield s.a.acquire()

    return program


def last_unit() -> Program:
    program = Program(units=Semaphore(1), hits=Counter(), x=0)

    def take(s: Any, i: int) -> Process:
        s.hits.add(i)
        yield
        _ = s.x
        yield s.units.acquire()
        yield
        s.x = i

    for i in range(3):
        program.process(take, i, daemon=True)
    return program


@under_each
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("make", [opposite_locks, last_unit])
def test_steps_that_disable_each_other(
    make: Callable[[], Program], schedule: str, algorithm: str
) -> None:
    expected = brute_force(make(), 10_000)
    found = explored(make(), algorithm, schedule)
    assert not differences(algorithm, found, expected)
    assert {kind for kind, _ in found.failures} == (
        {"deadlock"} if make is opposite_locks else set()
    )


@under_each
def test_a_budget_ends_a_large_section_at_once(algorithm: str) -> None:
    """Twenty writers have 20! traces in one section."""
    program = Program(x=0)

    def write(s: Any, i: int) -> Process:
        yield
        s.x = i

    for i in range(20):
        program.process(write, i)
    result = treadle.explore(program, algorithm, max_executions=30)
    assert (result.executions, result.complete) == (30, False)
    assert result.stopped_by == "max_executions = 30"
    assert result.estimate is not None
    assert result.estimate > 10**6


# The paper's counts


def completed(program: Program, algorithm: str, **options: Any) -> Result:
    result = treadle.explore(program, algorithm, **options)
    assert result.complete
    assert not result.failures
    return result


COUNTS: list[tuple[Callable[[int], Program], list[tuple[int, int]]]] = [
    (atva16.readers_writers, [(2, 2), (5, 16), (9, 256)]),
    (indexer, [(11, 1), (12, 8)]),
    (atva16.last_zero, [(2, 2), (3, 6), (4, 16), (5, 40), (6, 96)]),
    (atva16.shared_pointer, [(10, 21), (20, 41)]),
    (atva16.ring, [(2, 2), (3, 6), (8, 254)]),
    (atva16.branching, [(2, 11), (3, 28), (4, 103), (5, 311)]),
    (atva16.ring_extended, [(2, 6), (3, 90), (4, 786)]),
]


@pytest.mark.parametrize("algorithm", ["source", *planning()])
@pytest.mark.parametrize(("make", "counts"), COUNTS)
def test_traces_are_the_papers(
    make: Callable[[int], Program], counts: list[tuple[int, int]], algorithm: str
) -> None:
    assert [completed(make(n), algorithm).executions for n, _ in counts] == [
        traces for _, traces in counts
    ]


def test_rows_of_the_paper_agree_with_the_closed_forms() -> None:
    rows = [row for table in atva16.PAPER.tables for row in table.rows]
    assert len(rows) == 8 + 4 + 2 + 19 + 6 + 15 + 10 + 20 + 10 + 7
    for row in rows:
        source = row.printed["source"].explored
        assert source in (None, row.benchmark.classes(row.n)), row.name


@pytest.mark.parametrize(("algorithm", "n"), [(name, n) for name in planning() for n in (3, 6)])
def test_two_unsatisfiable_systems_for_ring(algorithm: str, n: int) -> None:
    result = completed(atva16.ring(n), algorithm)
    assert (result.unsatisfiable, result.race_checks) == (2, n * (n - 1) // 2)


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_unsatisfiable_systems_of_ring_extended_in_short_sections(n: int, learn: bool) -> None:
    result = completed(atva16.ring_extended(n), "eager-short", learn=learn)
    assert result.unsatisfiable == 2 ** (n + 1) - 2


@pytest.mark.parametrize(
    ("n", "learn", "expected"), [(3, False, 4006), (3, True, 28), (4, True, 48)]
)
def test_unsatisfiable_systems_of_ring_extended(n: int, learn: bool, expected: int) -> None:
    assert completed(atva16.ring_extended(n), "eager", learn=learn).unsatisfiable == expected


@pytest.mark.parametrize(
    ("make", "n"), [(atva16.readers_writers, 8), (atva16.ring, 8), (atva16.last_zero, 7)]
)
@under_each
def test_fewer_dependency_checks_than_source(
    make: Callable[[int], Program], n: int, algorithm: str
) -> None:
    eager, source = completed(make(n), algorithm), completed(make(n), "source")
    assert eager.dependency_checks < source.dependency_checks
    assert eager.executions == source.executions


@pytest.mark.parametrize(
    ("make", "n", "source", "eager"),
    [
        (atva16.readers_writers, 9, 8193, 36),
        (atva16.ring, 4, 80, 6),
        (atva16.ring_extended, 4, 14734, 28),
        (indexer, 11, 946, 946),
    ],
)
def test_race_checks_are_the_papers(
    make: Callable[[int], Program], n: int, source: int, eager: int
) -> None:
    assert completed(make(n), "source").race_checks == source
    assert completed(make(n), "eager").race_checks == eager


@under_each
def test_a_failure_behind_a_shared_prefix_names_its_step(algorithm: str) -> None:
    program = Program(x=0, y=0)

    def local(s: Any) -> Process:
        yield
        s.y = 1

    def look(s: Any) -> Process:
        yield
        assert s.x == 0, "too late"

    def write(s: Any) -> Process:
        yield
        s.x = 1

    for process in (local, look, write):
        program.process(process)
    (failure,) = treadle.explore(program, algorithm, stop_on_failure=False).failures
    assert (failure.kind, failure.process) == ("assertion", "look")
    assert failure.schedule[failure.step] == "look"
    assert failure.trace[failure.step].error

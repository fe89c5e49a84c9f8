"""Cubes: parts of a space add up to the whole, class by class and to the last execution."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import treadle
from algorithms import covering
from brute import Explored, explored
from random_programs import Body, build_from_source
from test_litmus import litmus_program, needs_oracle, oracle
from test_properties import FAMILIES, everything_of, programs
from treadle.core.program import AS_RECORDED, Program
from treadle.explore.budget import MAX_STEPS
from treadle.explore.cubes.narrowed import Narrowed, NarrowedRun
from treadle.explore.cubes.order import EVERYTHING, Cube, Order, Step, has_cycle, split
from treadle.explore.cubes.splitting import Walk, coarse_parts_of, parts_of, walks_in
from treadle.explore.registry import ALGORITHMS
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings

DIVIDING = [name for name in covering() if ALGORITHMS[name].divides]


def explored_in(program: Program, cubes: list[Cube], algorithm: str = "optimal") -> list[Explored]:
    """Explore cubes one after the other; leave out what belongs elsewhere."""
    by_interleaving = ALGORITHMS[algorithm].repeats_classes
    return [
        explored(Narrowed(program, cube, by_interleaving=by_interleaving), algorithm)
        for cube in cubes
    ]


def sums(parts: list[Explored]) -> tuple[int, set[Any]]:
    """Return executions and failures of all parts."""
    failures = {
        (failure.kind, failure.process, failure.message)
        for part in parts
        for failure in part.result.failures
    }
    assert all(part.result.complete for part in parts)
    return sum(part.result.executions for part in parts), failures


def classes_of(parts: list[Explored]) -> Counter[Any]:
    """Return each class with how often it was explored."""
    return Counter(one for part in parts for one in part.classes)


def random_parts(program: Program, choices: random.Random, splits: int) -> list[Cube]:
    """Split everything on pairs of steps that are drawn, to provoke executions in vain."""
    walks: list[Walk] = list(walks_in(program, EVERYTHING, MAX_STEPS))
    steps = sorted({step for walk in walks for step in walk.steps})
    parts: list[Cube] = [EVERYTHING]
    for _ in range(splits):
        a, b = choices.choice(steps), choices.choice(steps)
        if a.process != b.process:
            whole = parts.pop(choices.randrange(len(parts)))
            parts += split(whole, a, b)
    return parts


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("algorithm", DIVIDING)
@pytest.mark.parametrize(
    "programs_of_each",
    [
        pytest.param(6, id="some"),
        pytest.param(40, id="many", marks=[pytest.mark.slow, pytest.mark.minutes]),
    ],
)
def test_parts_of_random_programs_add_up(
    family: str, algorithm: str, programs_of_each: int
) -> None:
    @seed(programs_of_each)
    @settings(max_examples=programs_of_each, deadline=None, database=None)
    @given(bodies=programs(family), number=st.integers(0, 2**16))
    def check(bodies: list[Body], number: int) -> None:
        program = build_from_source(bodies)
        everything_of(program, 100)
        whole = [explored(program, algorithm)]
        choices = random.Random(number)
        chosen = list(parts_of(program, EVERYTHING, 3, MAX_STEPS))
        for cubes in (chosen, random_parts(program, choices, 3)):
            parts = explored_in(program, cubes, algorithm)
            assert sums(parts) == sums(whole), cubes
            if algorithm == "optimal":
                assert classes_of(parts) == classes_of(whole), cubes

    check()


@pytest.mark.parametrize(
    ("program", "executions"),
    [
        (jacm17.readers(3), 8),
        (jacm17.readers(8), 256),
        (jacm17.lastzero(7), 320),
        (jacm17.indexer(12), 8),
        (jacm17.wakeup_stress(4), 48),
        (jacm17.chain(6), None),
        (jacm17.writers(5), 120),
    ],
    ids=str,
)
def test_the_papers_programs_in_cubes(program: Program, executions: int | None) -> None:
    """The first is the counterexample to handing out subtrees, which lose one of the 8."""
    if executions is None:
        executions = explored(program, "optimal").result.executions
    cubes = list(parts_of(program, EVERYTHING, 4, MAX_STEPS))
    parts = explored_in(program, cubes)
    assert sums(parts)[0] == executions
    assert not any(part.result.blocked for part in parts)


def test_what_two_cubes_could_claim_needs_the_edges_of_earlier_splits() -> None:
    program = treadle.model.Program(x=0, y=0, u=0, v=0)

    @program.process
    def p(s: Any) -> Any:
        s.x = 1
        yield
        s.y = 1

    @program.process
    def q(s: Any) -> Any:
        s.u = 1
        yield
        s.v = 1

    first, second = split(EVERYTHING, Step("p", 1), Step("q", 0))
    (inner,) = split(first, Step("q", 1), Step("p", 0))  # the other half contradicts itself
    counts = [part.result.executions for part in explored_in(program, [inner, second])]
    assert counts == [1, 0]
    assert [part.result.elsewhere for part in explored_in(program, [second])] == [1]


def test_only_where_an_order_disables_somebody_steps_are_taken_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = treadle.model.Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Any:
        for _ in range(4):
            s.x = 1
            yield

    @program.process
    def q(s: Any) -> Any:
        for _ in range(6):
            s.y = 1
            yield

    alone: list[int] = []
    step = NarrowedRun.step

    def note(run: NarrowedRun, process: int) -> Any:
        alone.append(process)
        return step(run, process)

    monkeypatch.setattr(NarrowedRun, "step", note)
    narrowed = Narrowed(program, (Order(Step("q", 2), Step("p", 2)),))
    run = narrowed.start()
    processes: list[int] = []
    codes: list[Any] = []
    assert run.finish(-1, MAX_STEPS, processes, codes)
    number = program.vocabulary.process
    held = [number("q")] * 3
    assert alone == held
    assert processes[:5] == [number("p")] * 2 + held
    assert Counter(processes) == {number("p"): 5, number("q"): 7}
    run.close()
    recorded = processes[:6]
    again = narrowed.start()
    assert again.execute(recorded, codes[:6], MAX_STEPS) == AS_RECORDED
    assert alone == held  # no order was open any more
    assert Counter(recorded) == Counter(processes)
    again.close()


def test_shares_of_parts_add_up() -> None:
    parts = parts_of(jacm17.readers(6), EVERYTHING, 4, MAX_STEPS)
    assert sum(parts.values()) == pytest.approx(1)
    assert len(parts) == 16
    whole = explored(jacm17.readers(6), "optimal").result.executions
    for cube, share in parts.items():
        counted = explored_in(jacm17.readers(6), [cube])[0].result.executions
        assert 1 / 8 <= share * whole / counted <= 8


def test_parts_of_the_natural_execution_alone_are_exact() -> None:
    program = jacm17.lastzero(6)
    cubes = coarse_parts_of(program, EVERYTHING, 3, MAX_STEPS)
    assert len(cubes) > 2
    assert sums(explored_in(program, cubes))[0] == 144


@needs_oracle
def test_a_sample_of_litmus_tests_in_cubes() -> None:
    """Against the class counts that another tool printed."""
    for test in oracle()[::40]:
        program = litmus_program(test["threads"], test["final_reads"], test["name"])
        cubes = list(parts_of(program, EVERYTHING, 2, MAX_STEPS))
        counted = sum(treadle.explore(Narrowed(program, cube)).executions for cube in cubes)
        assert counted == test["mazurkiewicz"], test["name"]


def two_by_two() -> None:
    import threading

    box = {"n": 0}

    def add() -> None:
        for _ in range(2):
            box["n"] += 1

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def locked() -> None:
    import threading

    lock, box = threading.Lock(), {"n": 0}

    def add() -> None:
        for _ in range(2):
            with lock:
                box["n"] += 1

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box["n"] == 6


@pytest.mark.parametrize("test", [two_by_two, locked])
@pytest.mark.parametrize("algorithm", ["optimal", "source"])
def test_threads_in_cubes(test: Any, algorithm: str) -> None:
    with opened(test, Settings()) as session:
        program = session.program
        whole = sums([explored(program, algorithm)])
        cubes = list(parts_of(program, EVERYTHING, 3, MAX_STEPS))
        assert len(cubes) > 1
        assert sums(explored_in(program, cubes, algorithm)) == whole


def test_the_algorithms_whose_classes_can_be_divided() -> None:
    assert DIVIDING == ["exhaustive", "sleep", "classic", "source", "optimal"]


def test_contradictions_make_no_cube() -> None:
    p, q = Step("p", 1), Step("q", 1)
    (cube, _) = split(EVERYTHING, p, q)
    first, last = Step("p", 0), Step("q", 2)
    assert split(cube, last, first) == [(*cube, Order(first, last, is_claim=True))]
    assert not has_cycle(cube)

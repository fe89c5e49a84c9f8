"""The kit's `Rules`: what commutes, what a look-up depends on, against a plain dictionary."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from treadle.model import Program, Rules

Step = tuple[Any, ...]


def program_of(steps: list[Step], rules: Rules) -> tuple[Program, set[Any]]:
    """Return a program with a process for each step, and the outcomes that its runs will have."""
    outcomes: set[Any] = set()
    program = Program("rules", table=rules, seen=[() for _ in steps], done=0)

    def process(s: Any, at: int, what: str, *args: Any) -> Iterator[Any]:
        yield
        if what == "look":
            s.seen[at] = tuple(sorted(s.table.look(*args)))
        elif what == "all":
            s.seen[at] = tuple(s.table.look_at_all())
        else:
            getattr(s.table, what)(*args)

    def last(s: Any) -> Iterator[Any]:
        for at in range(len(steps)):
            yield s.join(f"p{at}")
        outcomes.add((tuple(s.table.entries()), tuple(s.seen)))

    for at, step in enumerate(steps):
        program.process(process, at, *step, name=f"p{at}")
    program.process(last)
    return program, outcomes


def classes(*steps: Step, rules: Rules | None = None) -> int:
    program, _ = program_of(list(steps), rules or Rules())
    result = treadle.explore(program)
    assert result.ok
    assert result.blocked == 0
    return result.executions


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("put", "a", 1), ("put", "b", 1)], 1),
        ([("put", "a", 1), ("put", "a", 1)], 1),
        ([("put", "a", 1), ("put", "a", 2)], 2),
        ([("put", "a", 1), ("delete", "a")], 2),
        ([("delete", "a"), ("delete", "a")], 1),
        ([("put", "a", 1), ("look", "a")], 2),
        ([("put", "a", 1), ("look", "b")], 1),
        ([("look", "a"), ("look", "a")], 1),
        ([("put", "a", 1), ("all",)], 2),
        ([("put", "a", 1), ("put", "b", 1), ("all",)], 4),
        ([("put", "a", 1), ("put", "a", 1), ("look", "a")], 4),
        ([("put", "a", 1), ("put", "a", 2), ("look", "b")], 2),
    ],
)
def test_what_commutes(steps: list[Step], expected: int) -> None:
    assert classes(*steps) == expected


def starts(key: Any, question: Any) -> bool:
    return bool(str(question).startswith(str(key)))


def test_a_look_up_depends_on_what_covers_it() -> None:
    rules = Rules(covers=starts)
    assert classes(("put", "a", 1), ("look", "ab"), rules=rules) == 2
    assert classes(("put", "ab", 1), ("look", "a"), rules=rules) == 1
    assert classes(("put", "", 1), ("put", "b", 1), ("look", "ab"), rules=rules) == 2


def test_as_one_location() -> None:
    whole = Rules(whole=True)
    assert classes(("put", "a", 1), ("put", "b", 1), rules=whole) == 2
    assert classes(("put", "a", 1), ("look", "b"), rules=whole) == 2
    assert classes(("look", "a"), ("look", "b"), rules=whole) == 1


def test_initial_entries() -> None:
    program = Program("initial", table=Rules({"a": 1}))

    @program.process
    def p(s: Any) -> Iterator[Any]:
        yield
        assert s.table.look("a") == [("a", 1)]
        s.table.delete("a")
        assert s.table.look("a") == []
        assert repr(s.table) == "<rules table>"

    assert treadle.explore(program).ok
    assert treadle.explore(program).ok, "each run begins with them"


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("ab"), st.sampled_from([1, 2])),
        st.tuples(st.just("delete"), st.sampled_from("ab")),
        st.tuples(st.just("look"), st.sampled_from("ab")),
        st.tuples(st.just("all")),
    ),
    min_size=2,
    max_size=4,
)


@settings(max_examples=60)
@given(steps=STEPS)
def test_against_brute_force(steps: list[Step]) -> None:
    program, outcomes = program_of(steps, Rules())
    result = treadle.explore(program)
    assert (result.ok, result.blocked) == (True, 0)
    program, expected = program_of(steps, Rules())
    everything = treadle.explore(program, "exhaustive")
    assert outcomes == expected
    assert result.executions <= everything.executions


@settings(max_examples=30)
@given(steps=STEPS, algorithm=st.sampled_from(["source", "classic", "sleep", "optimal-context"]))
def test_every_algorithm_sees_the_same(steps: list[Step], algorithm: str) -> None:
    program, outcomes = program_of(steps, Rules())
    assert treadle.explore(program, algorithm).complete
    program, expected = program_of(steps, Rules())
    treadle.explore(program, "exhaustive")
    if algorithm == "optimal-context":
        assert outcomes <= expected
        assert {final for final, _ in outcomes} == {final for final, _ in expected}
    else:
        assert outcomes == expected


def test_the_final_entries_do_not_depend_on_the_order_of_equal_states() -> None:
    draw = random.Random(0)
    entries = [(key, draw.choice([1, 2])) for key in "abcd"]
    program, outcomes = program_of([("put", *entry) for entry in entries], Rules())
    assert treadle.explore(program).executions == 1
    assert len(outcomes) == 1

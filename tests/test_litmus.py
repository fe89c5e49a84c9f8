"""Litmus tests: exactly one execution per happens-before class, none blocked.

The large collection is data of the shared folder beside the repository (`oracle/README.md` there);
a clone without it checks the tests written out here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.model import Program

ORACLE = Path(__file__).parents[2] / "shared" / "oracle" / "litmus.jsonl"
SAMPLE_STEP = 40
LARGEST = 2
CHUNKS = 20

needs_oracle = pytest.mark.skipif(
    not ORACLE.exists(), reason="../shared/oracle/litmus.jsonl is not there"
)

Access = tuple[Any, ...]
Litmus = tuple[list[list[Access]], int]
"""What each thread does, and the number of classes."""


def litmus_program(threads: list[list[Access]], final_reads: list[Any], name: str = "") -> Program:
    """One process for each thread, and one that joins them and reads."""
    names = dict.fromkeys(access[1] for thread in threads for access in thread)
    index = {name: i for i, name in enumerate(dict.fromkeys([*names, *final_reads]))}
    program = Program(name or "litmus", v=[0] * len(index))

    def thread(s: Any, *accesses: tuple[str, int, object]) -> Iterator[Any]:
        for kind, location, value in accesses:
            yield
            if kind == "r":
                s.v[location]
            else:
                s.v[location] = value

    def main(s: Any) -> Iterator[Any]:
        for number in range(len(threads)):
            yield s.join(f"thread{number}")
        yield
        for location in final:
            s.v[location]

    final = [index[location] for location in final_reads]
    for number, accesses in enumerate(threads):
        numbered = [(access[0], index[access[1]], (*access, None)[2]) for access in accesses]
        program.process(thread, *numbered, name=f"thread{number}")
    program.process(main)
    return program


def counts(program: Program) -> tuple[int, int, int]:
    """Return what `optimal` executes and blocks, and what `source` completes."""
    optimal = treadle.explore(program, "optimal")
    source = treadle.explore(program, "source")
    assert optimal.complete
    assert source.complete
    return optimal.executions, optimal.blocked, source.executions


def oracle() -> list[dict[str, Any]]:
    with ORACLE.open() as lines:
        return [json.loads(line) for line in lines]


def mismatches(tests: list[dict[str, Any]]) -> list[str]:
    """Return the names of the tests with another number of classes than the oracle's."""
    return [
        test["name"]
        for test in tests
        if counts(litmus_program(test["threads"], test["final_reads"], test["name"]))
        != (test["mazurkiewicz"], 0, test["mazurkiewicz"])
    ]


def w(location: str, value: int = 1) -> Access:
    return ("w", location, value)


def r(location: str) -> Access:
    return ("r", location)


BY_HAND: dict[str, Litmus] = {
    "independent": ([[w("x")], [w("y")]], 1),
    # One location: as many classes as there are places for the writes among the reads.
    "readers": ([[r("x")], [r("x")], [r("x")]], 1),
    "one write, one read": ([[w("x")], [r("x")]], 2),
    "write against two reads": ([[w("x")], [r("x")], [r("x")]], 4),
    "coherence of reads": ([[w("x")], [r("x"), r("x")]], 3),
    "coherence of writes": ([[w("x", 1), w("x", 2)], [r("x")]], 3),
    # Two accesses to each of two locations: 4 outcomes, less the cyclic one.
    "store buffering": ([[w("x"), r("y")], [w("y"), r("x")]], 3),
    "load buffering": ([[r("x"), w("y")], [r("y"), w("x")]], 3),
    "message passing": ([[w("x"), w("y")], [r("y"), r("x")]], 3),
    "2+2W": ([[w("x", 1), w("y", 2)], [w("y", 1), w("x", 2)]], 3),
    "S": ([[w("x", 2), w("y")], [r("y"), w("x", 1)]], 3),
    "R": ([[w("x"), w("y", 1)], [w("y", 2), r("x")]], 3),
    # 2 to the power of 4 outcomes, less the one that no order allows.
    "IRIW": ([[w("x")], [w("y")], [r("x"), r("y")], [r("y"), r("x")]], 15),
    # Three pairs of accesses in a ring: 8 outcomes less the cyclic one.
    "WRC": ([[w("x")], [r("x"), w("y")], [r("y"), r("x")]], 7),
    "3.SB": ([[w("x"), r("y")], [w("y"), r("z")], [w("z"), r("x")]], 7),
    "3.LB": ([[r("x"), w("y")], [r("y"), w("z")], [r("z"), w("x")]], 7),
    "three writers": ([[w("x", 1)], [w("x", 2)], [w("x", 3)]], 6),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_litmus_tests_written_by_hand(name: str) -> None:
    threads, classes = BY_HAND[name]
    assert counts(litmus_program(threads, ["x", "y"])) == (classes, 0, classes)


def test_steps_of_a_litmus_test_are_rigid() -> None:
    program = litmus_program([[w("x"), r("x")], [r("x")]], ["x"])
    for _, function, _ in program.declared:
        steps = program.open_steps(function)
        assert (steps.at_start, steps.after) == (False, frozenset())
    assert treadle.explore(program).probes == 0


@needs_oracle
def test_the_oracle_is_whole() -> None:
    tests = oracle()
    assert len(tests) == 8049
    assert sum(test["mazurkiewicz"] for test in tests) == 244332


@needs_oracle
def test_a_sample_of_the_oracle() -> None:
    assert mismatches(oracle()[::SAMPLE_STEP]) == []


@needs_oracle
@pytest.mark.slow
def test_the_largest_of_the_oracle() -> None:
    largest = sorted(oracle(), key=lambda test: -int(test["mazurkiewicz"]))[:LARGEST]
    assert mismatches(largest) == []


@needs_oracle
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_of_the_oracle(chunk: int) -> None:
    assert mismatches(oracle()[chunk::CHUNKS]) == []

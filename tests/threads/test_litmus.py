"""Litmus tests as Python threads: exactly one execution per happens-before class, none blocked.

Each one runs over attributes of an object, as source text with one statement per access, and over
items of a list, in a loop. The collection is data of the shared folder beside the repository; a
clone without it checks the tests written out in `tests/test_litmus.py` and here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from thread_programs import Module

import treadle

ORACLE = Path(__file__).parents[3] / "shared" / "oracle" / "litmus.jsonl"
SAMPLE_STEP = 40
CHUNKS = 20

needs_oracle = pytest.mark.skipif(
    not ORACLE.exists(), reason="../shared/oracle/litmus.jsonl is not there"
)

Access = tuple[Any, ...]
Test = Callable[[], None]


def over_items(threads: list[list[Access]], final_reads: list[Any]) -> Test:
    """Return a test whose threads access items of one list."""
    used = [access[1] for thread in threads for access in thread]
    index = {name: i for i, name in enumerate(dict.fromkeys([*used, *final_reads]))}

    def test() -> None:
        v: list[Any] = [0] * len(index)

        def run(accesses: list[Access]) -> None:
            for access in accesses:
                if access[0] == "r":
                    v[index[access[1]]]
                else:
                    v[index[access[1]]] = access[2]

        started = [threading.Thread(target=run, args=(accesses,)) for accesses in threads]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        for name in final_reads:
            v[index[name]]

    return test


SOURCE = """\
import threading

class Memory:
    pass

def test():
    memory = Memory()
    {begin}
{functions}
    threads = [threading.Thread(target=target) for target in ({targets},)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    {end}
"""


def over_attributes(threads: list[list[Access]], final_reads: list[Any]) -> Module:
    """Return a module whose test has one statement per access of an attribute."""
    used = [access[1] for thread in threads for access in thread]
    attribute = {
        name: f"memory.v{i}" for i, name in enumerate(dict.fromkeys([*used, *final_reads]))
    }
    functions = ""
    for number, accesses in enumerate(threads):
        functions += f"    def thread{number}():\n        pass\n"
        for kind, name, *value in accesses:
            written = f" = {value[0]!r}" if kind == "w" else ""
            functions += f"        {attribute[name]}{written}\n"
    return Module(
        SOURCE.format(
            begin="; ".join(f"{place} = 0" for place in attribute.values()) or "pass",
            functions=functions,
            targets=", ".join(f"thread{number}" for number in range(len(threads))),
            end="; ".join(attribute[name] for name in final_reads) or "pass",
        )
    )


def counts(test: Test) -> tuple[int, int]:
    """Return what `optimal` executes and blocks."""
    result = treadle.explore(test)
    assert result.complete
    assert result.ok
    return result.executions, result.blocked


def counts_over_attributes(threads: list[list[Access]], final_reads: list[Any]) -> tuple[int, int]:
    module = over_attributes(threads, final_reads)
    try:
        return counts(module.test)
    finally:
        module.close()


def oracle() -> list[dict[str, Any]]:
    with ORACLE.open() as lines:
        return [json.loads(line) for line in lines]


def mismatches(tests: list[dict[str, Any]]) -> list[str]:
    """Return the names of the tests with another number of classes than the oracle's."""
    wrong = []
    for test in tests:
        threads, final_reads = test["threads"], test["final_reads"]
        expected = (test["mazurkiewicz"], 0)
        if counts(over_items(threads, final_reads)) != expected:
            wrong.append(f"{test['name']} over items")
        if counts_over_attributes(threads, final_reads) != expected:
            wrong.append(f"{test['name']} over attributes")
    return wrong


def w(location: str, value: int = 1) -> Access:
    return ("w", location, value)


def r(location: str) -> Access:
    return ("r", location)


BY_HAND: dict[str, tuple[list[list[Access]], int]] = {
    "independent": ([[w("x")], [w("y")]], 1),
    "readers": ([[r("x")], [r("x")], [r("x")]], 1),
    "write against two reads": ([[w("x")], [r("x")], [r("x")]], 4),
    "store buffering": ([[w("x"), r("y")], [w("y"), r("x")]], 3),
    "message passing": ([[w("x"), w("y")], [r("y"), r("x")]], 3),
    "2+2W": ([[w("x", 1), w("y", 2)], [w("y", 1), w("x", 2)]], 3),
    "IRIW": ([[w("x")], [w("y")], [r("x"), r("y")], [r("y"), r("x")]], 15),
    "WRC": ([[w("x")], [r("x"), w("y")], [r("y"), r("x")]], 7),
    "three writers": ([[w("x", 1)], [w("x", 2)], [w("x", 3)]], 6),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_litmus_tests_written_by_hand(name: str) -> None:
    threads, classes = BY_HAND[name]
    assert counts(over_items(threads, ["x", "y"])) == (classes, 0)
    assert counts_over_attributes(threads, ["x", "y"]) == (classes, 0)


@needs_oracle
def test_a_sample_of_the_oracle() -> None:
    assert mismatches(oracle()[::SAMPLE_STEP]) == []


@needs_oracle
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_of_the_oracle(chunk: int) -> None:
    assert mismatches(oracle()[chunk::CHUNKS]) == []

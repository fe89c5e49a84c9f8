"""Litmus tests as Python threads: exactly one execution per happens-before class, none blocked.

Each one runs over attributes of an object, as source text with one statement per access, and over
items of a list, in a loop. The collection is data of the shared folder beside the repository; a
clone without it checks the tests written out in `tests/test_litmus.py` and here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from thread_programs import Module

import treadle
from treadle.threads.program import ThreadProgram

ORACLE = Path(__file__).parents[3] / "shared" / "oracle" / "litmus.jsonl"
SAMPLE_STEP = 80
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


HEADER = """\
import threading

class Memory:
    pass

def run_together(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def over_attributes(name: str, threads: list[list[Access]], final_reads: list[Any]) -> str:
    """Return the source of a test that has one statement per access of an attribute."""
    used = [access[1] for thread in threads for access in thread]
    attribute = {
        name: f"memory.v{i}" for i, name in enumerate(dict.fromkeys([*used, *final_reads]))
    }
    lines = [f"def {name}():", "    memory = Memory()"]
    lines += [f"    {place} = 0" for place in attribute.values()]
    for number, accesses in enumerate(threads):
        lines += [f"    def thread{number}():", "        pass"]
        for kind, location, *value in accesses:
            written = f" = {value[0]!r}" if kind == "w" else ""
            lines.append(f"        {attribute[location]}{written}")
    lines.append(f"    run_together({', '.join(f'thread{i}' for i in range(len(threads)))})")
    lines += [f"    {attribute[location]}" for location in final_reads]
    return "\n".join(lines)


def all_counts(tests: Sequence[Test]) -> list[tuple[int, int]]:
    """Return what `optimal` executes and blocks of each test; control is taken only once."""
    todo = list(reversed(tests))
    program = ThreadProgram(lambda: todo[-1](), "litmus")
    found = []
    with program.controlled():
        while todo:
            result = treadle.explore(program)
            assert result.complete
            assert result.ok
            found.append((result.executions, result.blocked))
            todo.pop()
    return found


def oracle() -> list[dict[str, Any]]:
    with ORACLE.open() as lines:
        return [json.loads(line) for line in lines]


def mismatches(tests: list[dict[str, Any]]) -> list[str]:
    """Return the names of the tests with another number of classes than the oracle's."""
    sources = [
        over_attributes(f"test{number}", test["threads"], test["final_reads"])
        for number, test in enumerate(tests)
    ]
    module = Module("\n".join([HEADER, *sources]))
    try:
        attributes = all_counts([module.space[f"test{number}"] for number in range(len(tests))])
    finally:
        module.close()
    items = all_counts([over_items(test["threads"], test["final_reads"]) for test in tests])
    return [
        test["name"]
        for test, *found in zip(tests, attributes, items, strict=True)
        if found != [(test["mazurkiewicz"], 0)] * 2
    ]


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


def test_litmus_tests_written_by_hand() -> None:
    by_hand = [
        {"name": name, "threads": threads, "final_reads": ["x", "y"], "mazurkiewicz": classes}
        for name, (threads, classes) in BY_HAND.items()
    ]
    assert mismatches(by_hand) == []


@needs_oracle
def test_a_sample_of_the_oracle() -> None:
    assert mismatches(oracle()[::SAMPLE_STEP]) == []


@needs_oracle
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_of_the_oracle(chunk: int) -> None:
    assert mismatches(oracle()[chunk::CHUNKS]) == []

"""Random tests with threads against brute force: every algorithm, every kind of shared place.

Two oracles: `thread_oracle` interprets the program without Treadle and knows all final
states, failures and deadlocks; `every_class` runs all interleavings of Treadle's own steps and so
knows the classes.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st
from thread_oracle import Everything, Failures, TooMany, oracle
from thread_programs import FAMILIES, Body, Module, draw_program, source_of

from algorithms import may_block, reducing, repeats_classes
from brute import Dependence, TraceClass, interleavings
from drawn import Drawn
from treadle.core.program import Restart, Run
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.explore.strategy import ENDED
from treadle.threads.program import ThreadProgram

LENGTHS = [(1, 1), (2, 2), (1, 1, 1), (3, 2), (2, 1, 1), (3, 3), (4, 2), (2, 2, 1)]
COVERING = reducing()


@st.composite
def programs(draw: Any, family: str) -> list[Body]:
    return draw_program(Drawn(draw), family, draw(st.sampled_from(LENGTHS)))


def failures_of(run: Run) -> Failures:
    """Return what an execution shows, in the oracle's words."""
    if run.crashes:
        return {
            (
                "assertion" if isinstance(crash.exception, AssertionError) else "exception",
                f"{type(crash.exception).__name__}: {crash.exception}",
            )
            for crash in run.crashes
        }
    stuck = sorted(wait.process for wait in run.ending().waits)
    return {("deadlock", " ".join(stuck))} if stuck else set()


class Explored:
    """What an exploration completed."""

    def __init__(
        self, module: Module, program: ThreadProgram, algorithm: str, schedule: str
    ) -> None:
        self.classes: list[TraceClass] = []
        self.final_states: set[object] = set()
        self.failures: Failures = set()
        names = program.vocabulary.process_names
        dependence = Dependence(program)  # type: ignore[arg-type]

        def watch(run: Run, outcome: int) -> None:
            if outcome == ENDED:
                trace = search.trace
                steps = zip((names[p] for p in trace.processes), trace.codes, strict=True)
                self.classes.append(dependence.class_of(list(steps)))
                self.final_states.add(module.final_state())
                self.failures.update(failures_of(run))

        while True:
            search = Search(
                program, ALGORITHMS[algorithm], algorithm, budget=Budget(),
                choose=SCHEDULES[schedule], stop_on_failure=False,
            )  # fmt: skip
            search.on_end = watch
            try:
                self.result = search.explore()
            except Restart:
                for seen in (self.classes, self.final_states, self.failures):
                    seen.clear()
                continue
            return


def every_class(program: ThreadProgram, limit: int) -> set[TraceClass]:
    """Run all interleavings of Treadle's steps."""
    dependence = Dependence(program)  # type: ignore[arg-type]
    while True:
        classes = set()
        try:
            for count, (_, steps) in enumerate(interleavings(program), 1):  # type: ignore[arg-type]
                if count > limit:
                    raise TooMany
                classes.add(dependence.class_of(steps))
        except Restart:
            continue
        return classes


def differences(
    algorithm: str, found: Explored, expected: Everything, classes: set[TraceClass]
) -> list[str]:
    """Say in what an exploration differs from what it has to find."""
    result = found.result
    reported = {(failure.kind, failure.message) for failure in result.failures}
    exceptions = {failure for failure in expected.failures if failure[0] != "deadlock"}
    checks = {
        "final states": found.final_states == expected.final_states,
        "failures": found.failures == expected.failures,
        "failures in the result": {f for f in reported if f[0] != "deadlock"} == exceptions,
        "classes": set(found.classes) == classes,
        "completeness": result.complete,
        "executions per class": repeats_classes(algorithm) or len(found.classes) == len(classes),
        "blocked executions": may_block(algorithm) or result.blocked == 0,
    }
    return [what for what, holds in checks.items() if not holds]


FEW = int(os.environ.get("TREADLE_EXAMPLES", "15"))
"""Random programs of each family in CI, where the other Pythons get fewer."""


def disagreements(bodies: list[Body], limit: int, schedule: str = "stay") -> list[str]:
    """Explore a program with every algorithm; say in what they differ from the oracles."""
    expected = oracle(bodies, limit)
    module = Module(source_of(bodies))
    try:
        program = module.program()
        program.kept = {}  # type: ignore[attr-defined] # what `brute` asks a model program for
        with program.controlled():
            found = {name: Explored(module, program, name, schedule) for name in COVERING}
            try:
                classes = every_class(program, 3 * limit)
            except TooMany:
                classes = set(found["sleep"].classes)
            else:
                found["exhaustive"] = Explored(module, program, "exhaustive", schedule)
            return [
                f"{algorithm}: {difference}"
                for algorithm, explored in found.items()
                for difference in differences(algorithm, explored, expected, classes)
            ]
    finally:
        module.close()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("examples", "limit"),
    [
        pytest.param(FEW, 80, id="few"),
        pytest.param(100, 150, id="many", marks=[pytest.mark.slow, pytest.mark.minutes]),
        pytest.param(2000, 500, id="more", marks=[pytest.mark.slow, pytest.mark.minutes]),
    ],
)
def test_every_algorithm_finds_what_brute_force_finds(
    family: str, examples: int, limit: int
) -> None:
    @seed(examples)
    @settings(max_examples=examples)
    @given(bodies=programs(family), schedule=st.sampled_from(list(SCHEDULES)))
    def agree(bodies: list[Body], schedule: str) -> None:
        try:
            differ = disagreements(bodies, limit, schedule)
        except TooMany:
            assume(False)
            raise
        assert not differ, source_of(bodies)

    agree()


@pytest.mark.parametrize("family", ["attributes", "classes", "items", "lists", "dictionaries"])
def test_real_threads_do_what_the_oracle_knows(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @settings(max_examples=30)
    @given(bodies=programs(family))
    def agree(bodies: list[Body]) -> None:
        try:
            expected = oracle(bodies, 80)
        except TooMany:
            assume(False)
            raise
        raised: set[str] = set()
        monkeypatch.setattr(
            threading,
            "excepthook",
            lambda hook: raised.add(f"{hook.exc_type.__name__}: {hook.exc_value}"),
        )
        module = Module(source_of(bodies))
        try:
            module.test()
        finally:
            module.close()
        assert module.final_state() in expected.final_states
        assert raised <= {message for _, message in expected.failures}

    agree()


WENT_WRONG: dict[str, list[Body]] = {
    "an iterator knows the size that it began with": [
        [("do", "keys['b'] = 1")],
        [("iterate", "keys", "loop")],
    ],
    "a key is new again after clear()": [
        [("iterate", "keys", "list")],
        [("do", "keys.clear()")],
        [("do", "keys['a'] = 1")],
    ],
    "popitem() depends on the order of insertions": [
        [("do", "acc = keys.popitem()[1]")],
        [("do", "keys['b'] = 1")],
        [("do", "keys[1] = 5")],
    ],
    "a list that has shrunk grows again": [
        [("do", "items[1] = 1"), ("do", "box.x = 1")],
        [("do", "items[:1] = []")],
        [("do", "items.extend((1, 2))")],
    ],
    "a thread may be seen alive after its last access": [
        [("spawn", [("do", "box.x = 1")]), ("timed join",)],
    ],
    "a thread that nobody joins is stuck": [[("down",)], [("spawn", [("down",)])]],
}


@pytest.mark.parametrize("name", WENT_WRONG)
def test_programs_that_went_wrong_once(name: str) -> None:
    assert disagreements(WENT_WRONG[name], 500) == []

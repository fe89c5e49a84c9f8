"""Small programs over locks and their kin, and how they are compared with brute force.

A plan says what each thread does, one word per operation: `"lock.acquire"`, `"event.wait 1"` (the
argument, if there is one, is the time-out or the number of units). What a thread saw, results and
exceptions, is its log; the logs are the final state of an execution.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from algorithms import reducing
from brute import Explored, TooMany, brute_force, explored
from treadle.core.program import Restart
from treadle.python.runtime.patience import Patience
from treadle.threads.program import ThreadProgram
from treadle.threads.run import ThreadRun

COVERING = reducing()

Plan = list[list[str]]
Shared = dict[str, Any]

# No module of its own, so not instrumented: only operations of primitives are events.
_INTERPRETER = """
def interpret(operations, shared, log):
    for operation in operations:
        try:
            log.append(perform(operation, shared))
        except Exception as error:
            log.append(f"{type(error).__name__}: {error}")

def perform(operation, shared):
    name, _, argument = operation.partition(" ")
    name, _, method = name.partition(".")
    primitive = shared[name]
    if method == "try":
        return primitive.acquire(False)
    if method == "timed":
        return primitive.acquire(timeout=float(argument or 1))
    if method in ("notify", "release") and argument:
        return getattr(primitive, method)(int(argument))
    if method in ("wait", "sleep") and argument:
        return getattr(primitive, method)(float(argument))
    if method == "get" and argument:
        return primitive.get(timeout=float(argument))
    if method == "put":
        return primitive.put(1, timeout=float(argument) if argument else None)
    if method == "monotonic":
        return round(primitive.monotonic(), 4)
    if method in ("broken", "n_waiting"):
        return getattr(primitive, method)
    return getattr(primitive, method)()
"""
_space: dict[str, Any] = {}
exec(_INTERPRETER, _space)
interpret = _space["interpret"]


class Planned(ThreadProgram):
    """A program whose threads work on the same primitives."""

    kept: ClassVar[dict[str, Any]] = {}  # what `brute` asks model programs for

    def __init__(
        self,
        make: Callable[[], Shared],
        *,
        instrument: tuple[str, ...] = (),
        patience: Patience | None = None,
    ) -> None:
        super().__init__(self._test, "planned", instrument=instrument, patience=patience)
        self._make = make
        self.plan: Plan = []

    def _test(self) -> None:
        shared = self._make()
        self.logs: list[list[Any]] = [[] for _ in self.plan]
        threads = [
            threading.Thread(target=interpret, args=(operations, shared, log))
            for operations, log in zip(self.plan, self.logs, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def start(self, *, detail: bool = False) -> ThreadRun:
        run = super().start(detail=detail)
        logs = self.logs
        run.fingerprint = lambda: repr(logs)  # type: ignore[method-assign]
        return run


LENGTHS = [(1, 1), (2, 2), (1, 1, 1), (3, 2), (2, 1, 1), (3, 3), (2, 2, 1)]


def random_plans(operations: list[str], count: int, *, seed: object = 0) -> list[Plan]:
    """Return plans, the same in every run.

    Not drawn by Hypothesis: it does not work while a program is under control, and taking control
    anew for each plan takes longer than the plan.
    """
    chance = random.Random(f"{operations} {seed}")
    return [
        [chance.choices(operations, k=length) for length in chance.choice(LENGTHS)]
        for _ in range(count)
    ]


def until_learned(action: Callable[[], Any]) -> Any:
    """Do something again and again until it shows nothing new that matters."""
    while True:
        try:
            return action()
        except Restart:
            continue


@dataclass
class Comparison:
    """What all interleavings do, and how many executions `optimal` needs."""

    interleavings: int
    executions: int
    states: set[object]
    failures: set[tuple[str, str]]


def compare(program: Planned, plan: Plan, limit: int = 3000) -> Comparison | None:
    """Compare every algorithm with all interleavings; None if there are too many."""
    program.plan = plan
    with program.controlled():
        try:
            everything = until_learned(lambda: brute_force(program, limit))
        except TooMany:
            return None
        for algorithm in COVERING:
            found: Explored = until_learned(lambda a=algorithm: explored(program, a))
            said = f"{algorithm}: {plan}"
            assert found.result.complete, said
            assert found.final_states == everything.final_states, said
            assert found.failures == everything.failures, said
            assert set(found.classes) == everything.classes, said
            if algorithm in ("sleep", "optimal"):
                assert len(found.classes) == len(everything.classes), said
        assert found.result.blocked == 0, plan
    return Comparison(
        everything.interleavings,
        found.result.executions,
        everything.final_states,
        everything.failures,
    )

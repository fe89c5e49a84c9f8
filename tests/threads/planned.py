"""Programs of threads that follow a plan, compared with brute force.

What the threads do besides calling the primitives under test is not instrumented, so only that is
an event.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

from algorithms import reducing
from brute import Everything, Explored, TooMany, brute_force, explored
from treadle.core.program import Restart
from treadle.threads.program import ThreadProgram
from treadle.threads.run import ThreadRun

COVERING = reducing()

Plan = list[list[str]]
"""The operations of each thread."""
Interpret = Callable[[list[str], Any, list[Any]], None]
"""Follows the plan of one thread: operations, what they work on, and a log that begins with the
number of the thread."""

_FOLLOW = """
def follow(operations, subject, log):
    mine = []
    for number, operation in enumerate(operations):
        try:
            log.append(perform(operation, subject, (log[0], number), mine))
        except Exception as error:
            log.append(type(error).__name__)
"""


def interpreter(perform: str) -> Interpret:
    """Compile `perform(operation, subject, name, mine)` apart from any module.

    `name` tells operations apart; `mine` is a list that belongs to the thread.
    """
    space: dict[str, Any] = {}
    exec(_FOLLOW + perform, space)
    follow: Interpret = space["follow"]
    return follow


class Planned(ThreadProgram):
    """A program whose threads work on one object; its state is what they saw, and what is left."""

    kept: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        make: Callable[[], Any],
        follow: Interpret,
        plan: Plan,
        left: Callable[[Any], object] = lambda _subject: None,
    ) -> None:
        super().__init__(self._test, "planned")
        self._make = make
        self._follow = follow
        self._plan = plan
        self._left = left

    def _test(self) -> None:
        subject = self._make()
        self._seen = ([[number] for number in range(len(self._plan))], subject)
        follow, logs = self._follow, self._seen[0]
        threads = [
            threading.Thread(target=follow, args=(operations, subject, log))
            for operations, log in zip(self._plan[1:], logs[1:], strict=True)
        ]
        for thread in threads:
            thread.start()
        follow(self._plan[0], subject, logs[0])
        for thread in threads:
            thread.join()

    def start(self, *, detail: bool = False) -> ThreadRun:
        """Begin an execution that tells its state."""
        run = super().start(detail=detail)
        logs, subject = self._seen
        run.fingerprint = lambda: repr((logs, self._left(subject)))  # type: ignore[method-assign]
        return run


def until_learned(action: Callable[[], Any]) -> Any:
    """Do something again until there is nothing to learn any more."""
    while True:
        try:
            return action()
        except Restart:
            continue


def check(program: Planned, limit: int) -> Everything | None:
    """Compare every algorithm with all interleavings; None if there are too many."""
    with program.controlled():
        try:
            everything: Everything = until_learned(lambda: brute_force(program, limit))
        except TooMany:
            return None
        crashes = [failure for failure in everything.failures if failure[0] != "deadlock"]
        assert not crashes, crashes  # threads catch what their operations raise
        for algorithm in COVERING:
            found: Explored = until_learned(lambda a=algorithm: explored(program, a))  # type: ignore[misc]
            assert found.result.complete, f"{algorithm} {found.result.failures}"
            assert found.final_states == everything.final_states, algorithm
            assert found.failures == everything.failures, algorithm
            assert set(found.classes) == everything.classes, algorithm
            if algorithm in ("optimal", "sleep"):
                assert len(found.classes) == len(everything.classes), algorithm
            if algorithm == "optimal":
                assert not found.result.blocked
    return everything

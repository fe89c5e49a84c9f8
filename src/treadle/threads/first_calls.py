"""An execution in which functions may be called for the first time, and so be rewritten.

Where that happens the execution is begun again and brought to where it was: what counts is what it
does now. So nobody who runs executions has to know, and what they find is what they would find if
all functions had been rewritten before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from treadle.core.events import Codes
from treadle.core.program import CannotStepError
from treadle.threads.run import ThreadRun

if TYPE_CHECKING:
    from treadle.threads.program import ThreadProgram

T = TypeVar("T")


class RunOfFirstCalls(ThreadRun):
    """A run that is begun again when functions were called for the first time."""

    def __init__(self, program: ThreadProgram, *, detail: bool) -> None:
        super().__init__(program)
        self._have_happened = program.first_calls.have_happened
        self._detail = detail
        self._processes: list[int] = []
        """The steps so far, all of which were taken with everything rewritten."""
        self._codes: list[Codes] = []

    def begin_again(self) -> None:
        """Begin the execution, and take the steps so far."""
        while True:
            self._have_happened()  # by finalizers between two executions, and the like
            self.program.begin_run(self, detail=self._detail)
            differing = self._repeat()
            if not self._have_happened():
                break
        if differing >= 0:
            self.program.end_run()  # a module that was imported may be under test from now on
            raise CannotStepError(self._processes[differing])

    def _repeat(self) -> int:
        if not self._processes:
            return -1
        return super().replay(self._processes, [*self._codes], len(self._processes))

    def _surely(self, act: Callable[[], T], put_back: Callable[[], None]) -> T:
        """Do something, again and again until no function is called for the first time."""
        while True:
            result = act()
            if not self._have_happened():
                return result
            put_back()
            self.begin_again()

    def step(self, process: int) -> Codes:
        """Let a task take one step and return what it accessed."""
        act = super().step
        codes = self._surely(lambda: act(process), lambda: None)
        self._processes.append(process)
        self._codes.append(codes)
        return codes

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1."""
        act, before = super().replay, codes[:]
        differing = self._surely(lambda: act(processes, codes, length), lambda: _put(codes, before))
        taken = length if differing < 0 else differing + 1
        self._processes += processes[:taken]
        self._codes += codes[:taken]
        return differing

    def execute(self, processes: list[int], codes: list[Codes], limit: int) -> int:
        """Take all recorded steps as `replay` does, and go on as `finish` does."""
        act = super().execute
        differing = self._going_on(lambda: act(processes, codes, limit), processes, codes, 0)
        if differing >= 0:
            del self._processes[differing + 1 :], self._codes[differing + 1 :]
        return differing

    def finish(self, last: int, limit: int, processes: list[int], codes: list[Codes]) -> bool:
        """Go on by the natural schedule to the end of the run, up to `limit` steps in all."""
        act, done = super().finish, len(processes)
        return self._going_on(lambda: act(last, limit, processes, codes), processes, codes, done)

    def _going_on(
        self, act: Callable[[], T], processes: list[int], codes: list[Codes], done: int
    ) -> T:
        """Do what adds steps to a record, some of which were done before."""
        before = processes[:], codes[:]

        def put_back() -> None:
            _put(processes, before[0])
            _put(codes, before[1])

        result = self._surely(act, put_back)
        self._processes += processes[done:]
        self._codes += codes[done:]
        return result


def _put(where: list[T], what: list[T]) -> None:
    where[:] = what

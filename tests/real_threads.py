"""Programs of `differential_programs` by real threads: with switches forced at chosen places.

One thread is traced, instruction by instruction. Before a chosen one it lets the other thread run,
to its end or up to a chosen instruction of its own, and then goes on. So what a run shows depends
on the choice and on nothing else.

An interpreter with a global lock does not switch before any instruction: only where a function
begins or a generator goes on, after a call, and where a loop begins anew. A run that switches only
there shows what such an interpreter can do (`is_place`).
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from differential_programs import Program

_PATIENCE = 20.0
"""Seconds after which a thread that handed over goes on: the other one waits for what it holds."""
_MOST = 400
"""Places that are tried in one thread."""


def _ask_for_instructions() -> None:
    """Let `settrace` bring instructions: on 3.12 only after some frame has asked for them."""
    sys._getframe().f_trace_opcodes = True


_ask_for_instructions()


@functools.cache
def _places(code: CodeType) -> frozenset[int]:
    """Return where in some code an interpreter with a global lock may switch."""
    found = set()
    before = ""
    for instruction in dis.get_instructions(code):
        if before.startswith("CALL") or before == "RESUME" or instruction.opname == "RESUME":
            found.add(instruction.offset)
        if "JUMP_BACKWARD" in instruction.opname and "NO_INTERRUPT" not in instruction.opname:
            assert isinstance(instruction.argval, int)
            found.add(instruction.argval)
        if instruction.opname != "CACHE":
            before = instruction.opname
    return frozenset(found)


class _Turns:
    """Two threads, of which one runs at a time."""

    def __init__(self, stops: list[tuple[int, int]], is_gil: bool) -> None:
        self._stops = stops
        """Thread and instruction before which it hands over, in this order."""
        self._is_gil = is_gil
        self._gates = [threading.Semaphore(0), threading.Semaphore(0)]
        self._ended = [False, False]
        self.count = [0, 0]

    def run(self, *functions: Callable[[], object]) -> None:
        """Run two functions, the one with the first stop first."""
        threads = [
            threading.Thread(target=self._work, args=(number, function))
            for number, function in enumerate(functions)
        ]
        for thread in threads:
            thread.start()
        self._gates[self._stops[0][0]].release()
        for thread in threads:
            thread.join()

    def _work(self, me: int, function: Callable[[], object]) -> None:
        self._gates[me].acquire()

        def trace(frame: FrameType, event: str, arg: object) -> Any:
            del arg
            if frame.f_code.co_filename == __file__:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode" and (not self._is_gil or frame.f_lasti in _places(frame.f_code)):
                self._pass(me)
            return trace

        sys.settrace(trace)
        try:
            function()
        finally:
            sys.settrace(None)
            self._ended[me] = True
            self._gates[1 - me].release()

    def _pass(self, me: int) -> None:
        """Hand over if this is where to; come back when the other does, or has ended."""
        number = self.count[me]
        self.count[me] += 1
        if self._stops and self._stops[0] == (me, number) and not self._ended[1 - me]:
            self._stops.pop(0)
            self._gates[1 - me].release()
            self._gates[me].acquire(timeout=_PATIENCE)


def outcome(
    program: Program, stops: list[tuple[int, int]], *, is_gil: bool
) -> tuple[str, list[int]]:
    """Return what a program returns with some hand-overs, and how many places each thread has."""
    namespace = program.module()
    turns = _Turns(list(stops), is_gil)
    namespace["run"] = turns.run
    found: str = namespace["program"]()
    return found, turns.count


def outcomes(program: Program, *, is_gil: bool, twice: int = 0) -> dict[str, list[tuple[int, int]]]:
    """Return what a program can return, and by which hand-overs, with one at every place.

    With `twice`, every so many-th place is also tried with a second hand-over, at each of the
    places of the other thread.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for first in (0, 1):
        place = 0
        while place < _MOST:
            got, count = outcome(program, [(first, place)], is_gil=is_gil)
            found.setdefault(got, [(first, place)])
            if twice and place % twice == 0:
                for second in range(0, min(count[1 - first], _MOST), twice):
                    stops = [(first, place), (1 - first, second)]
                    found.setdefault(outcome(program, stops, is_gil=is_gil)[0], stops)
            place += 1
            if place > count[first]:
                break
    return found


def by_luck(program: Program, runs: int) -> set[str]:
    """Return what a program returned when its threads switched as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        return {program.module()["program"]() for _ in range(runs)}
    finally:
        sys.setswitchinterval(before)

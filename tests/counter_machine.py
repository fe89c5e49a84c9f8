"""A front end of fifty lines: counter machines. Nothing else in Treadle knows of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from treadle.core.events import Codes, Mode, Vocabulary, code
from treadle.core.front_end import FrontEnd
from treadle.core.options import Number, Option, declared_in
from treadle.core.program import Crash, Ending, Program, Run
from treadle.core.records import Wait


@dataclass(frozen=True)
class Machine:
    """Counters, and processes that increment, decrement or pass (waiting for 1) and check them."""

    counters: str
    processes: Mapping[str, str]
    """Instructions such as `a+ b- c? a=2`."""


class MachineOptions(TypedDict, total=False):
    initial: Annotated[int, Option(Number(), 0, "What the counters are at the beginning.")]


class MachineProgram(Program):
    front_end = "machine"

    def __init__(self, machine: Machine, initial: int) -> None:
        self.name, self.machine, self.initial = "machine", machine, initial
        self.vocabulary = Vocabulary()
        self.numbers = [self.vocabulary.process(name) for name in machine.processes]
        self.places = {c: self.vocabulary.location(c, c) for c in machine.counters}

    @property
    def options(self) -> dict[str, object]:
        return {"initial": self.initial} if self.initial else {}

    def start(self, *, detail: bool = False) -> MachineRun:
        return MachineRun(self)


class MachineRun(Run):
    def __init__(self, program: MachineProgram) -> None:
        self.program, self.steps = program, 0
        self.crashes: list[Crash] = []
        self.counts = dict.fromkeys(program.machine.counters, program.initial)
        texts = program.machine.processes.values()
        self.left = {n: text.split() for n, text in zip(program.numbers, texts, strict=True)}

    def step(self, process: int) -> Codes:
        counter, what, *wanted = self.left[process].pop(0)
        self.steps += 1
        if what == "=":
            if self.counts[counter] != int("".join(wanted)):
                error = AssertionError(f"{counter} is {self.counts[counter]}")
                self.crashes.append(Crash(process, self.steps - 1, error))
                self.left[process].clear()
            return (code(self.program.places[counter], Mode.READ),)
        self.counts[counter] += {"+": 1, "-": -1, "?": 0}[what]
        take = Mode.SPARE if self.counts[counter] else Mode.TAKE
        return (
            code(self.program.places[counter], {"+": Mode.GIVE, "-": take, "?": Mode.PASS}[what]),
        )

    def is_enabled(self, process: int) -> bool:
        todo = self.left.get(process)
        return bool(todo) and not (todo[0][1] in "-?" and self.counts[todo[0][0]] < 1)

    def enabled(self) -> list[int]:
        return [process for process in self.left if self.is_enabled(process)]

    def blocked(self) -> list[tuple[int, Codes]]:
        return [
            (process, (code(self.program.places[todo[0][0]], Mode.TAKE),))
            for process, todo in self.left.items()
            if todo and not self.is_enabled(process)
        ]

    def ending(self) -> Ending:
        names = self.program.vocabulary.process_names
        waits = [Wait(names[p], self.left[p][0][0]) for p, _ in self.blocked()]
        return Ending(self.crashes, waits)

    def close(self) -> None: ...


class Machines(FrontEnd):
    name, targets = "machine", "a counter machine"
    options = declared_in(MachineOptions)
    kinds = ("stuck",)

    def recognises(self, target: object) -> bool:
        return isinstance(target, Machine | MachineProgram)

    def with_options(self, program: Program, given: Mapping[str, Any]) -> Program:
        assert isinstance(program, MachineProgram)
        return MachineProgram(program.machine, **given) if given else program

    @contextmanager
    def opened(self, target: Machine, options: Mapping[str, Any]) -> Iterator[MachineProgram]:
        yield MachineProgram(target, options["initial"])

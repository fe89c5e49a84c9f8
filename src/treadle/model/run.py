"""One execution of a model: which process can go on, and what each step accessed.

`step` and `replay` are the hot path of every exploration of a model. The bookkeeping that they
need is two lists indexed by process number: how to resume it, and the operation that it announced.
"""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.errors import TreadleBug, TreadleError
from treadle.events import OPEN, Codes, Mode, code, location_of, mode_of
from treadle.model.fingerprint import freeze
from treadle.model.operations import Join, Operation, Until
from treadle.model.rigid import OpenSteps
from treadle.model.state import Array, Dict, Handle
from treadle.program import Access, Crash, Ending, StepRecord, Wait

if TYPE_CHECKING:
    from treadle.model.program import Program
    from treadle.model.sync import Lock

Kept = TypeVar("Kept")

_WORDS = {
    Mode.READ: "read",
    Mode.WRITE: "write",
    Mode.ADD: "add to",
    Mode.TAKE: "acquire",
    Mode.SPARE: "acquire",
    Mode.GIVE: "release",
    Mode.NEED: "take",
    Mode.AWAIT: "await",
    Mode.SPAWN: "spawn",
    Mode.JOIN: "join",
}


class _DetailLog(list[int]):
    """A log that also notes, for each access, the value and the source line of the model."""

    def __init__(self, run: ModelRun) -> None:
        super().__init__()
        self.run = run
        self.words: list[Access] = []
        self.where: tuple[str, int] | None = None

    def append(self, access: int) -> None:
        """Record an access; the caller has already performed it."""
        super().append(access)
        mode = mode_of(access)
        if mode in (Mode.WATCH, Mode.OPEN):
            return
        self.words.append(self.run.access_in_words(mode, location_of(access)))
        if self.where is None:
            self.where = _place_of_model_code()


class ModelRun:
    """An execution of a `treadle.model.Program`; implements `treadle.program.Run`."""

    def __init__(self, program: Program, *, detail: bool = False) -> None:
        self.program = program
        self.vocabulary = program.vocabulary
        self.crashes: list[Crash] = []
        self.current = -1
        self._detail = detail
        self._log: list[int] = _DetailLog(self) if detail else []
        self.append = self._log.append
        self._records: list[StepRecord] = []
        self._values: dict[int, Callable[[], object]] = {}
        self._steps = 0
        self._alive: dict[int, types.GeneratorType[Any, Any, Any]] = {}
        self._resume: dict[int, Callable[[Any], Any]] = {}
        self._announced: dict[int, Operation | None] = {}
        self._ended: set[int] = set()
        self._children: dict[int, int] = {}
        self._daemons: set[int] = set()
        self._built_locks: dict[int, Lock] = {}
        self._open: dict[int, OpenSteps] = {}
        self._next_is_open: set[int] = set()
        self._state = program.build_state(self)
        for number, function, args in program.declared:
            self._create(number, function, args)
        self._daemons.update(program.daemons)
        self._log.clear()

    # Stepping

    def step(self, process: int) -> Codes:
        """Let a process take one step and return what it accessed."""
        log = self._log
        if log:
            raise TreadleError(TOUCHED_OUTSIDE)
        self.current = process
        operation = self._announced[process]
        if self._detail and operation is not None:
            assert isinstance(log, _DetailLog)
            log.where = self._place_of(process)  # what it announced, where it yielded
        try:
            if operation is None:
                announced = self._resume[process](None)
            else:
                value = operation.perform(process)
                if isinstance(value, Operation):
                    announced = value
                else:
                    announced = self._resume[process](value)
        except StopIteration:
            self._end(process)
        except TreadleError:
            raise
        except (Exception, SystemExit) as error:
            self.crashes.append(Crash(process, self._steps, error))
            self._end(process)
        else:
            if announced is not None:
                self._check_operation(process, announced)
            self._announced[process] = announced
        if process in self._open:
            self._mark_open(process)
        codes = tuple(log)
        if self._detail:
            self._record(process)
        log.clear()
        self._steps += 1
        return codes

    def _mark_open(self, process: int) -> None:
        """Say that the step just taken was open, if it was, and find out about the next one."""
        if process in self._next_is_open:
            list.append(self._log, OPEN)
        generator = self._alive.get(process)
        if generator is not None and generator.gi_frame is not None:
            steps = self._open[process]
            if steps.everywhere or generator.gi_frame.f_lasti in steps.after:
                self._next_is_open.add(process)
            else:
                self._next_is_open.discard(process)

    def replay(self, processes: Sequence[int], codes: Sequence[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1."""
        step, is_enabled = self.step, self.is_enabled
        for index in range(length):
            process = processes[index]
            if not is_enabled(process) or step(process) != codes[index]:
                return index
        return -1

    def enabled(self) -> list[int]:
        """Return the processes that can take a step, oldest first."""
        announced = self._announced
        return [
            process
            for process in self._alive
            if (operation := announced[process]) is None or operation.ready(process)
        ]

    def is_enabled(self, process: int) -> bool:
        """Tell whether a process can take a step."""
        if process not in self._alive:
            return False
        operation = self._announced[process]
        return operation is None or operation.ready(process)

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the processes that wait, with the accesses that their next step begins with."""
        return [
            (process, operation.pending(process))
            for process in self._alive
            if (operation := self._announced[process]) is not None and not operation.ready(process)
        ]

    def close(self) -> None:
        """End the run; frees what its processes hold."""
        for generator in self._alive.values():
            try:
                generator.close()
            except Exception:  # noqa: BLE001 - the process is over; its clean-up is nobody's step
                continue
        self._alive.clear()
        self.program.check_untouched(self._log)

    # Processes

    def spawn(
        self, function: Callable[..., Any], args: tuple[Any, ...], name: str, daemon: bool
    ) -> Handle:
        """Create a process as part of the current step."""
        parent = self.current
        if parent < 0:
            raise TreadleError(TOUCHED_OUTSIDE)
        index = self._children[parent] = self._children.get(parent, 0) + 1
        path = f"{self.name_of(parent)}.{index}"
        number = self.vocabulary.process(f"{path}:{name}" if name else path)
        self.program.check_generator(function)
        self._create(number, function, args)
        if daemon:
            self._daemons.add(number)
        self.append(code(number, Mode.SPAWN))
        return Handle(number, self.name_of(number))

    def _create(self, number: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        generator = function(self._state, *args)
        self._alive[number] = generator
        self._resume[number] = generator.send
        self._announced[number] = None
        steps = self.program.open_steps(function)
        if steps.at_start or steps.after:
            self._open[number] = steps
            if steps.at_start:
                self._next_is_open.add(number)
        if self.program.begins_with_yield(number, function, args):
            self._prime(number, generator)

    def _prime(self, number: int, generator: types.GeneratorType[Any, Any, Any]) -> None:
        """Run a process up to its first yield, which comes before any access."""
        caller, self.current = self.current, number
        announced = next(generator)
        self.current = caller
        if announced is not None:
            self._check_operation(number, announced)
        self._announced[number] = announced
        if number in self._open:
            self._next_is_open.discard(number)
            self._mark_open(number)

    def _end(self, process: int) -> None:
        del self._alive[process], self._resume[process], self._announced[process]
        self._ended.add(process)

    def _check_operation(self, process: int, announced: object) -> None:
        if not isinstance(announced, Operation):
            raise TreadleError(
                f"process {self.name_of(process)} yields {announced!r}: yield nothing, or an "
                f"operation such as s.lock.acquire(), s.box.receive() or s.until(...)"
            )

    def has_ended(self, process: int) -> bool:
        """Tell whether a process has ended, normally or not."""
        return process in self._ended

    def name_of(self, process: int) -> str:
        """Return the name of a process."""
        return self.vocabulary.process_names[process]

    @property
    def current_name(self) -> str:
        """The name of the process that is running."""
        return self.name_of(self.current)

    # What shared objects and operations need

    def locate(self, key: Hashable, name: str, value: Callable[[], object]) -> int:
        """Return the number of a location; `value` looks its present value up for reports."""
        location = self.vocabulary.location(key, name)
        if self._detail:
            self._values[location] = value
        return location

    def location_name(self, location: int) -> str:
        """Return a location's name for people."""
        return self.vocabulary.location_names[location]

    def keep(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return an object that lives as long as the exploration's vocabulary."""
        kept: Kept = self.program.kept.setdefault(key, make())
        return kept

    def shared_lock(self, declared: Lock, name: str) -> Lock:
        """Return the run's lock for a declared one, so that two names share one lock."""
        built = self._built_locks.get(id(declared))
        if built is None:
            built = self._built_locks[id(declared)] = declared.build(self, name)
        return built

    def observe(self, condition: Callable[[], object]) -> tuple[object, Codes]:
        """Evaluate a condition and return what it read, leaving no trace in the log."""
        log = self._log
        before = len(log)
        if self._detail:
            assert isinstance(log, _DetailLog)
            words, where = len(log.words), log.where
        result = condition()
        reads = tuple(log[before:])
        if any(mode_of(access) is not Mode.READ for access in reads):
            raise TreadleError("a condition given to s.until() must only read shared state")
        del log[before:]
        if self._detail:
            assert isinstance(log, _DetailLog)
            del log.words[words:]
            log.where = where
        return result, reads

    def watched_by(self, condition: Callable[[], object]) -> Codes:
        """Return what a condition might read, as codes."""
        return self.program.watched_by(condition)

    def join_operation(self, process: Handle | str) -> Join:
        """Return the operation that waits for a process's end."""
        if isinstance(process, Handle):
            return Join(self, process.number)
        number = self.vocabulary.process_number(process) if isinstance(process, str) else None
        if number is None or (number not in self._alive and number not in self._ended):
            raise TreadleError(
                f"cannot join {process!r}: give a handle that s.spawn() returned or the name of a "
                f"process ({', '.join(self.vocabulary.process_names)})"
            )
        return Join(self, number)

    def until_operation(self, condition: Callable[[], object]) -> Until:
        """Return the operation that waits for a condition."""
        if not callable(condition):
            raise TreadleError("s.until() needs a function: write s.until(lambda: s.x == 1)")
        return Until(self, condition)

    # Reports

    def ending(self) -> Ending:
        """Describe the final state of a run that has no enabled process."""
        waits = []
        for process, operation in self._announced.items():
            if process in self._daemons:
                continue
            if operation is None:
                raise TreadleBug(f"{self.name_of(process)} is enabled at the end of a run")
            holders = tuple(self.name_of(holder) for holder in operation.holders())
            waits.append(
                Wait(self.name_of(process), operation.describe(), holders, self.where(process))
            )
        return Ending(self.crashes, waits)

    def where(self, process: int) -> str:
        """Return `file:line` of where a process stands."""
        place = self._place_of(process)
        return "" if place is None else f"{_short(place[0])}:{place[1]}"

    def records(self) -> list[StepRecord]:
        """Return the steps in words; only of a run started with `detail`."""
        if not self._detail:
            raise TreadleBug("records() of a run that was started without detail")
        return self._records

    def access_in_words(self, mode: Mode, location: int) -> Access:
        """Return one access for a report, with the location's present value."""
        if mode in (Mode.SPAWN, Mode.JOIN):
            return Access(_WORDS[mode], self.name_of(location))
        look_up = self._values.get(location)
        value = "" if look_up is None or mode in (Mode.TAKE, Mode.GIVE) else _brief(look_up())
        return Access(_WORDS[mode], self.location_name(location), value)

    def _record(self, process: int) -> None:
        log = self._log
        assert isinstance(log, _DetailLog)
        place = log.where or self._place_of(process)
        error = ""
        if self.crashes and self.crashes[-1].step == self._steps:
            exception = self.crashes[-1].exception
            error = type(exception).__name__ + (f": {exception}" if str(exception) else "")
            place = _place_of_exception(exception) or place
        where, source = "", ""
        if place is not None:
            where = f"{_short(place[0])}:{place[1]}"
            source = linecache.getline(*place).strip()
        self._records.append(
            StepRecord(self.name_of(process), tuple(log.words), where, source, error)
        )
        log.words, log.where = [], None

    def _place_of(self, process: int) -> tuple[str, int] | None:
        """Return file and line of where a process stands, inside what it delegates to."""
        generator: object = self._alive.get(process)
        place = None
        while isinstance(generator, types.GeneratorType) and generator.gi_frame is not None:
            place = generator.gi_frame.f_code.co_filename, generator.gi_frame.f_lineno
            generator = generator.gi_yieldfrom
        return place

    def fingerprint(self) -> object:
        """Return a comparable value of the whole state: shared state and every continuation."""
        shared = self.program.shared_values(self._state)
        processes = {
            self.name_of(number): (freeze(generator), self._is_waiting_inside(number))
            for number, generator in self._alive.items()
        }
        crashed = {
            self.name_of(crash.process): repr(crash.exception) for crash in self.crashes
        }
        ended = frozenset(self.name_of(number) for number in self._ended)
        return (
            freeze(shared),
            tuple(sorted(processes.items(), key=lambda item: item[0])),
            tuple(sorted(crashed.items())),
            ended,
        )

    def _is_waiting_inside(self, number: int) -> str:
        """Tell apart the two halves of an operation that takes two steps."""
        return type(self._announced[number]).__name__

    def bind_array(self, name: str, first: int, values: list[Any]) -> Array:
        """Return a shared array over `values`."""
        if self._detail:
            for index in range(len(values)):
                self._values[first + index] = lambda i=index: values[i]  # type: ignore[misc]
        return Array(self.append, name, first, values)

    def bind_dict(self, name: str, keys: int, values: dict[Hashable, Any]) -> Dict:
        """Return a shared dictionary over `values`."""
        return Dict(self, name, keys, values)

    def bind_scalar(self, name: str, location: int) -> None:
        """Let reports look a scalar's value up."""
        if self._detail:
            self._values[location] = lambda: getattr(self._state, f"_v_{name}")


TOUCHED_OUTSIDE = (
    "the model touched its shared state outside a step: read and write it only inside the "
    "processes, between two yields"
)


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _short(filename: str) -> str:
    """Return a file name relative to the working directory, if it is below it."""
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except ValueError:
        return filename


_KIT = str(Path(__file__).parent)


def _place_of_model_code() -> tuple[str, int] | None:
    """Return file and line of the innermost frame outside the model kit."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith((_KIT, "<string>")):
            return filename, frame.f_lineno
        frame = frame.f_back
    return None


def _place_of_exception(error: BaseException) -> tuple[str, int] | None:
    """Return file and line of the innermost frame of the model in a traceback."""
    place = None
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if not filename.startswith((_KIT, "<string>")):
            place = (filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place

"""One execution of a model: which process can go on, and what each step accessed.

`step`, `replay` and `proceed` are the hot path of every exploration of a model. What they need is
how to resume each process, and the operation that it announced, if any.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from treadle.analyses.decisive_reads import Foresight, OpenSteps
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.events import OPEN, Codes, Mode, code, mode_of
from treadle.core.fingerprint import freeze
from treadle.core.program import CannotStepError, Crash, Ending, Foreseen, Incomparable
from treadle.core.records import Wait
from treadle.core.words import UNKNOWN
from treadle.model.alike import alike, alike_asked, alike_frames
from treadle.model.operations import Join, Labelled, Operation, Raised, Until
from treadle.model.processes import Processes
from treadle.model.state import Array, Dict, Elements, Handle

if TYPE_CHECKING:
    from treadle.model.program import Program
    from treadle.model.sync import Lock

Kept = TypeVar("Kept")
Offered = TypeVar("Offered", bound=Operation)

TOUCHED_OUTSIDE = (
    "the model touched its shared state outside a step: read and write it only inside the "
    "processes, between two yields"
)

NOBODY = -1
"""The process that runs when none does."""


class ModelRun(Processes):
    """An execution of a `treadle.model.Program`; implements `treadle.core.program.Run`."""

    steps_plainly: ClassVar[bool] = True
    """Whether `step` is what it is here, so that `finish` need not call it for plain steps."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.vocabulary)
        self.program = program
        self.crashes: list[Crash] = []
        self.offered: Operation | None = None
        """An operation that the current step made and has not yielded yet."""
        self._log = self.make_log()
        self.append = self._log.append
        self.extend = self._log.extend
        self._steps = 0
        self._announced: dict[int, Operation] = {}
        self._spawned: list[int] = []
        self._spawned_code: dict[int, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
        self._foresight: dict[int, Foresight | None] = {}
        self._children: dict[int, int] = {}
        self._daemons = program.daemons
        self._finals = program.finals
        self._built_locks: dict[int, Lock] = {}
        self._open: dict[int, OpenSteps] = {}
        """Processes that have open steps at all."""
        self._next_is_open: set[int] = set()
        self._state = state = program.build_state(self)
        processes = program.prepared()
        self.naming = program.naming if program.names_values else frozenset()
        """Processes that say which values they store."""
        for number, function, args, is_primed, steps, _ in processes:
            generator = function(state, *args)
            self._alive[number] = generator.send
            if steps is not None:
                self._begin(number, generator, is_primed, steps)
            elif is_primed:
                self._prime(number, generator)

    def make_log(self) -> list[int]:
        """Return the list that collects the accesses of a step."""
        return []

    # Stepping

    def step(self, process: int) -> Codes:
        """Let a process take one step and return what it accessed."""
        log = self._log
        if log:
            raise TreadleError(TOUCHED_OUTSIDE)
        self.current = process
        announced = self._announced
        operation = announced.pop(process, None) if announced else None
        try:
            if operation is None:
                following = self._alive[process](None)
            else:
                value = operation.perform(process)
                if value is not None and isinstance(value, Operation):
                    following = self.offer(value)
                else:
                    following = self._alive[process](value)
        except StopIteration:
            del self._alive[process]
            if self.offered is not None:
                self._note_yielded(process, None)
        except (Exception, SystemExit) as error:
            self._crash(process, error)
        else:
            if following is not None or self.offered is not None:
                self._note_yielded(process, following)
        if self._open:
            self._mark_open(process)
        codes = tuple(log)
        if self._finals and self._oldest() < 0:
            self._check_end(process)
        log.clear()
        self._steps += 1
        return codes

    def _crash(self, process: int, error: BaseException) -> None:
        """End a process because of an exception, unless that is Treadle's own."""
        if isinstance(error, TreadleError | CannotStepError):
            raise error
        self.crashes.append(Crash.of(process, self._steps, error))
        del self._alive[process]
        self._note_yielded(process, None)

    def _check_end(self, process: int) -> None:
        """Look at the final state, after a step of a process, with what was given to `finally_`."""
        for check in self._finals:
            self._log.clear()
            value = self.as_process(NOBODY, check, self._state)
            if any(mode_of(access) is not Mode.READ for access in self._log):
                raise TreadleError("a function given to @program.finally_ must only read")
            if isinstance(value, Raised):
                self.crashes.append(Crash(process, self._steps, value.error, is_final=True))

    def offer(self, operation: Offered) -> Offered:
        """Note an operation that was made to be yielded, so that a forgotten yield is noticed."""
        if self.offered is not None:
            self._refuse_forgotten(self.current, self.offered)
        self.offered = operation
        return operation

    def _note_yielded(self, process: int, operation: object) -> None:
        """Note what a process yielded."""
        offered, self.offered = self.offered, None
        if offered is not None:
            if operation is not offered:
                self._refuse_forgotten(process, offered)
            self._announced[process] = offered
            return
        if operation is None:
            return
        if not isinstance(operation, Operation):
            raise TreadleError(
                f"process {self.name_of(process)} yields {operation!r}: yield nothing, or an "
                f"operation such as s.lock.acquire(), s.box.receive() or s.until(...)"
            )
        self._announced[process] = operation

    def _refuse_forgotten(self, process: int, offered: Operation) -> NoReturn:
        raise TreadleError(
            f"process {self.name_of(process)} asks for {offered.describe()} but does not yield "
            f"it: write `yield s.lock.acquire()`, `yield s.until(...)` and so on"
        )

    def _mark_open(self, process: int) -> None:
        """Say that the step just taken was open, if it was, and find out about the next one."""
        steps = self._open.get(process)
        if steps is None:
            return
        if process in self._next_is_open:
            list.append(self._log, OPEN)
        self._note_next(process, steps)

    def _note_next(self, process: int, steps: OpenSteps) -> None:
        """Find out whether the next step of a process is open."""
        generator = self._generator(process)
        frame = generator and generator.gi_frame
        if not frame:
            return
        if steps.everywhere or frame.f_lasti in steps.after:
            self._next_is_open.add(process)
        else:
            self._next_is_open.discard(process)

    def execute(self, processes: list[int], codes: list[Codes], limit: int) -> int:
        """Take all recorded steps as `replay` does, and go on as `finish` does."""
        length = len(processes)
        differing = self.replay(processes, codes, length)
        if differing < 0:
            self.finish(processes[-1] if length else -1, limit, processes, codes)
        return differing

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1."""
        log, announced, alive, has_open = self._log, self._announced, self._alive, self._open
        checks = bool(self._finals)
        for index, process, recorded in zip(range(length), processes, codes, strict=False):
            if not (has_open or checks) and process not in announced and process in alive:
                # The same as `step`, for the case that is nearly always at hand.
                self.current = process
                try:
                    following = alive[process](None)
                except StopIteration:
                    del alive[process]
                    if self.offered is not None:
                        self._note_yielded(process, None)
                except (Exception, SystemExit) as error:
                    self._crash(process, error)
                else:
                    if following is not None or self.offered is not None:
                        self._note_yielded(process, following)
                taken = tuple(log)
                log.clear()
                self._steps += 1
            elif self.is_enabled(process):
                taken = self.step(process)
            else:
                return index
            if taken != recorded:
                codes[index] = taken
                return index
        return -1

    def finish(self, last: int, limit: int, processes: list[int], codes: list[Codes]) -> bool:
        """Go on by the schedule `stay` until no process is enabled, up to `limit` steps in all."""
        announced, alive = self._announced, self._alive
        quick = self.steps_plainly and not self._finals
        process = last if self.is_enabled(last) else self._oldest()
        while process >= 0:
            if len(codes) >= limit:
                return False
            if quick and process not in announced and process not in self._open:
                self._go_on_with(process, limit, processes, codes)
            else:
                codes.append(self.step(process))
                processes.append(process)
            if process not in alive or (
                process in announced and not announced[process].ready(process)
            ):
                process = self._oldest()
        return True

    def _go_on_with(
        self, process: int, limit: int, processes: list[int], codes: list[Codes]
    ) -> None:
        """Let a process take plain steps, one after the other, until it waits or has ended.

        With `step` for each, an exploration of 100 events takes 1.05 times as long.
        """
        resume, log = self._alive[process], self._log
        if log:
            raise TreadleError(TOUCHED_OUTSIDE)
        self.current = process
        goes_on = True
        while goes_on and len(codes) < limit:
            following = None
            try:
                following = resume(None)
            except StopIteration:
                del self._alive[process]
                goes_on = False
            except (Exception, SystemExit) as error:
                self._crash(process, error)
                goes_on = False
            if following is not None or self.offered is not None:
                self._note_yielded(process, following)
                goes_on = False
            codes.append(tuple(log))
            processes.append(process)
            log.clear()
            self._steps += 1

    def _oldest(self) -> int:
        """Return the enabled process that was created first, or -1."""
        announced = self._announced
        for process in self._alive:
            if process not in announced or announced[process].ready(process):
                return process
        return -1

    def enabled(self) -> list[int]:
        """Return the processes that can take a step, oldest first."""
        announced = self._announced
        if not announced:
            return list(self._alive)
        return [
            process
            for process in self._alive
            if process not in announced or announced[process].ready(process)
        ]

    def is_enabled(self, process: int) -> bool:
        """Tell whether a process can take a step."""
        if process not in self._alive:
            return False
        operation = self._announced.get(process)
        return operation is None or operation.ready(process)

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the processes that wait, with the accesses that their next step begins with."""
        return [
            (process, operation.pending(process))
            for process, operation in self._announced.items()
            if not operation.ready(process)
        ]

    def close(self) -> None:
        """End the run; frees what its processes hold.

        Its state goes at once, and does not wait for the garbage collector: it refers to the run.
        If it waits, an exploration of 10 events takes 1.03 times as long.
        """
        for process in self._alive:
            generator = self._generator(process)
            try:
                if generator is not None:
                    generator.close()
            except Exception:
                continue  # the process is over; what its clean-up does is nobody's step
        self._alive.clear()
        self._announced.clear()
        self._built_locks.clear()
        self.program.check_untouched(self._log)
        del self._state

    drop = close

    # Processes

    def spawn(
        self, function: Callable[..., Any], args: tuple[Any, ...], name: str, daemon: bool
    ) -> Handle:
        """Create a process as part of the current step."""
        parent = self.current
        if parent < 0:
            raise TreadleError(TOUCHED_OUTSIDE)
        index = self._children[parent] = self._children.get(parent, 0) + 1
        number = self.vocabulary.process(self.child_name(parent, index, name))
        if number in self._created():
            raise TreadleError(
                f"two processes are called {self.name_of(number)!r}, which is how the first ones "
                f"that {self.name_of(parent)!r} spawns are named: choose another name"
            )
        self.program.check_generator(function)
        generator = function(self._state, *args)
        self._alive[number] = generator.send
        *_, is_primed, steps, names_values = self.program.prepare(number, function, args)
        self._begin(number, generator, is_primed, steps)
        if names_values and self.program.names_values:
            self.naming |= {number}
        self._spawned.append(number)
        self._spawned_code[number] = function, args
        if daemon:
            self._daemons = self._daemons | {number}
        self.append(code(number, Mode.SPAWN))
        return Handle(number, self.name_of(number))

    def child_name(self, parent: int, index: int, name: str) -> str:
        """Return the name of a process that another one spawns: its path, and what it is called."""
        path = f"{self.name_of(parent)}.{index}"
        return f"{path}:{name}" if name else path

    def _begin(
        self,
        number: int,
        generator: types.GeneratorType[Any, Any, Any],
        is_primed: bool,
        steps: OpenSteps | None,
    ) -> None:
        """Set a process up; a primed one starts at its first yield, which precedes any access."""
        if is_primed:
            self._prime(number, generator)
        if steps is not None:
            self._open[number] = steps
            if is_primed:
                self._note_next(number, steps)
            elif steps.at_start:
                self._next_is_open.add(number)

    def _prime(self, number: int, generator: types.GeneratorType[Any, Any, Any]) -> None:
        """Run a process up to its first yield, which it reached without an access when tried."""
        caller, self.current = self.current, number
        before = len(self._log)
        try:
            announced = next(generator)
        except (TreadleError, CannotStepError):
            raise
        except (Exception, SystemExit) as error:
            raise CannotStepError(number) from error
        finally:
            self.current = caller
        if len(self._log) > before:
            raise CannotStepError(number)
        if announced is not None or self.offered is not None:
            self._note_yielded(number, announced)

    # What shared objects and operations need

    def log_call(
        self,
        codes: Iterable[int],
        verb: str,
        name: str,
        value: object = UNKNOWN,
        held: str = "",
    ) -> None:
        """Log the accesses of an operation that is more than these, for reports: in its words."""
        del verb, name, value, held
        list.extend(self._log, codes)

    def locate(self, key: Hashable, name: str, value: Callable[[], object]) -> int:
        """Return the number of a location; `value` looks its present value up for reports."""
        del value
        return self.vocabulary.location(key, name)

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

    def as_process(self, process: int, function: Callable[..., object], *args: Any) -> object:
        """Call a function of the model as if a process did; an exception is returned, wrapped."""
        caller, self.current = self.current, process
        try:
            return function(*args)
        except (TreadleError, CannotStepError):
            raise
        except Exception as error:
            return Raised(error)
        finally:
            self.current = caller

    def observe(self, process: int, condition: Callable[[], object]) -> tuple[object, Codes]:
        """Evaluate a process's condition and return what it read, leaving no trace in the log."""
        log = self._log
        before = len(log)
        result = self.as_process(process, condition)
        reads = tuple(log[before:])
        if any(mode_of(access) is not Mode.READ for access in reads):
            raise TreadleError("a condition given to s.until() must only read shared state")
        del log[before:]
        return result, reads

    def watched_by(self, condition: Callable[[], object]) -> Codes:
        """Return what a condition might read, as codes."""
        return self.program.watched_by(condition)

    def join_operation(self, process: Handle | str) -> Join:
        """Return the operation that waits for a process's end."""
        if isinstance(process, Handle):
            return self.offer(Join(self, process.number))
        number = self.vocabulary.process_number(process) if isinstance(process, str) else None
        if number is None or not (number in self._alive or number in self._created()):
            raise TreadleError(
                f"cannot join {process!r}: give a handle that s.spawn() returned or the name of a "
                f"process ({', '.join(self.vocabulary.process_names)})"
            )
        return self.offer(Join(self, number))

    def _created(self) -> list[int]:
        """Return the processes that exist in this run, ended or not."""
        return [number for number, *_ in self.program.declared] + self._spawned

    def label_operation(self, name: str) -> Labelled:
        """Return what names the block that follows."""
        return self.offer(Labelled(name))

    def until_operation(self, condition: Callable[[], object]) -> Until:
        """Return the operation that waits for a condition."""
        if not callable(condition):
            raise TreadleError("s.until() needs a function: write s.until(lambda: s.x == 1)")
        return self.offer(Until(self, condition))

    def bind_array(self, name: str, elements: Elements, values: list[Any]) -> Array:
        """Return a shared array over `values`."""
        return Array(self, name, elements, values)

    def bind_dict(self, name: str, keys: int, values: dict[Hashable, Any]) -> Dict:
        """Return a shared dictionary over `values`."""
        return Dict(self, name, keys, values)

    # Reports

    def ending(self) -> Ending:
        """Describe the final state of a run that has no enabled process."""
        waits = []
        for process in self._alive:
            operation = self._announced.get(process)
            if operation is None:
                raise TreadleBug(f"{self.name_of(process)} is enabled at the end of a run")
            if process not in self._daemons:
                waits.append(self._wait(process, operation))
        return Ending(self.crashes, waits)

    def _wait(self, process: int, operation: Operation) -> Wait:
        """Say what a process waits for."""
        return Wait(
            self.name_of(process),
            operation.describe(),
            tuple(self.name_of(holder) for holder in operation.holders()),
            self.where(process),
            kind=operation.kind,
            held=operation.held(),
        )

    def foresee(self, process: int) -> Foreseen | None:
        """Say what is known of an enabled process's next step; None: every step may decide it."""
        if process not in self._foresight:
            self._foresight[process] = self._foresight_of(process)
        foresight, generator = self._foresight[process], self._generator(process)
        if foresight is None or generator is None:
            return None
        frame = generator.gi_frame
        if frame is None or not generator.gi_suspended:
            return foresight.at_start
        foreseen = foresight.after.get(frame.f_lasti)
        if foreseen is None or self.program.trusts_operations:
            return foreseen
        doubtful = foresight.doubtful.get(foreseen.place, frozenset())
        return Foreseen(foreseen.place, foreseen.decisive | doubtful, foreseen.branches)

    def _foresight_of(self, process: int) -> Foresight | None:
        """Return what can be foreseen of a process; that of a declared one is the program's."""
        if process in self._spawned_code:
            return self.program.foresight(*self._spawned_code[process])
        return self.program.foresight_of_declared()[process]

    def fingerprint(self) -> object:
        """Return a comparable value of the whole state: shared state and every continuation."""
        processes = {self.name_of(number): self._continuation(number) for number in self._created()}
        # Not its text, in which an address may stand.
        crashed = {(self.name_of(crash.process), type(crash.exception)) for crash in self.crashes}
        return (
            freeze(self.program.shared_values(self._state)),
            frozenset(processes.items()),
            frozenset(crashed),
        )

    def _continuation(self, process: int) -> object:
        """Return a comparable value of where a process stands, and of what it will go on with."""
        generator = self._generator(process)
        operation = self._announced.get(process)
        # An operation that takes two steps has two halves at one position.
        announced = operation and (type(operation).__name__, freeze(operation.asked()))
        return generator and (freeze(generator), announced)

    def watched_step(self, process: int) -> tuple[Codes, object]:
        """Let a process take one step; what it saw and remembers is in its continuation."""
        return self.step(process), None

    def effect(self, processes: Sequence[int], locations: Sequence[int]) -> object:
        """Return a comparable value of continuations and of the values of locations."""
        crashes = [
            (crash.process, type(crash.exception), str(crash.exception))
            for crash in self.crashes
            if crash.process in processes
        ]
        return (
            tuple([self._alike_continuation(process) for process in processes]),
            tuple([alike(value) for value in self.program.values_at(self._state, locations)]),
            tuple(crashes),
        )

    def newborn(self, process: int) -> object:
        """Return a comparable value of a spawned process that has taken no step, but its name."""
        function, args = self._spawned_code[process]
        return alike(function), alike(args), process in self._daemons

    def values(self, locations: Sequence[int]) -> list[object]:
        """Return for each location a comparable value of what is there."""
        is_cell = self.program.cells.__contains__
        return [
            alike(*self.program.values_at(self._state, [location]))
            if is_cell(location)
            else Incomparable()
            for location in locations
        ]

    def _alike_continuation(self, process: int) -> object:
        """Return where a process stands, equal only if nothing can tell the difference."""
        generator = self._generator(process)
        operation = self._announced.get(process)
        announced = operation and (type(operation).__name__, alike_asked(operation.asked()))
        return generator and (alike_frames(generator), announced)

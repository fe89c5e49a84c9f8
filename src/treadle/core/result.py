"""What an exploration returns."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from treadle.core.errors import ScheduleMismatch
from treadle.core.happens_before import Trace
from treadle.core.program import Crash, Program, Run
from treadle.core.records import FrameRecord, StepRecord, Wait

if TYPE_CHECKING:
    from treadle.findings.cause import Cause

Kind = Literal["assertion", "exception", "deadlock", "livelock", "race", "budget", "nondeterminism"]

_SPECIAL = re.compile(r"[%*\s]")
"""What a process's name may contain but a written schedule uses for itself."""
_COUNT_DIGITS = 7


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def without_addresses(message: str) -> str:
    """Return a failure's message without the addresses of objects, which differ in each run."""
    return _ADDRESS.sub("", message)


class Schedule(tuple[str, ...]):
    """An interleaving: the name of the process of each step, in order.

    It can be written down as one line and read back:

    >>> schedule = Schedule(["p", "p", "q", "p"])
    >>> str(schedule)
    'p*2 q p'
    >>> Schedule.parse("p*2 q p") == schedule
    True
    >>> str(Schedule(["move(1, 2)"]))
    'move(1,%202)'

    `knowledge` is what the program had learned about itself, which decides what is a step.
    """

    knowledge: tuple[str, ...]

    def __new__(cls, processes: Iterable[str] = (), knowledge: Iterable[str] = ()) -> Schedule:
        """Make a schedule of the names of processes."""
        schedule = super().__new__(cls, processes)
        schedule.knowledge = tuple(knowledge)
        return schedule

    def upto(self, length: int) -> Schedule:
        """Return the first steps."""
        return Schedule(self[:length], self.knowledge)

    def __str__(self) -> str:
        runs: list[tuple[str, int]] = []
        for process in self:
            if runs and runs[-1][0] == process:
                runs[-1] = (process, runs[-1][1] + 1)
            else:
                runs.append((process, 1))
        words = [f"+{_quoted(known)}" for known in self.knowledge]
        words += [_quoted(process) + (f"*{count}" if count > 1 else "") for process, count in runs]
        return " ".join(words)

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule that `str` wrote."""
        processes: list[str] = []
        knowledge: list[str] = []
        for part in text.split():
            if part.startswith("+"):
                knowledge.append(unquote(part[1:]))
                continue
            name, star, count = part.rpartition("*")
            if not star:
                processes.append(unquote(part))
            elif name and count.isdecimal() and len(count) <= _COUNT_DIGITS:
                processes += [unquote(name)] * int(count)
            else:
                raise ScheduleMismatch(
                    f"cannot read {part!r} in the schedule: write `name`, or `name*3` for 3 steps"
                )
        return cls(processes, knowledge)

    @property
    def switches(self) -> int:
        """How often another process goes on than the one before."""
        return sum(a != b for a, b in itertools.pairwise(self))


def error_in_words(error: BaseException) -> str:
    """Return the class and the message of an exception, which may be unable to say it."""
    try:
        text = str(error)
    except Exception as broken:
        text = f"(its __str__ raises {type(broken).__name__})"
    return type(error).__name__ + (f": {text}" if text else "")


def _quoted(name: str) -> str:
    return _SPECIAL.sub(lambda found: quote(found[0], safe=""), name)


@dataclass(slots=True)
class Failure:
    """A finding about the program: what went wrong, and the schedule that shows it."""

    kind: Kind
    """What sort of finding it is, e.g. `assertion` or `deadlock`."""
    message: str
    """What went wrong, in one line."""
    schedule: Schedule
    """The interleaving that shows it, for `treadle.replay`."""
    step: int
    """Index of the failing step; the length of the schedule for a deadlock."""
    process: str = ""
    """The process or thread that failed; empty for a deadlock."""
    exception: BaseException | None = None
    """What was raised, with its traceback."""
    waits: tuple[Wait, ...] = ()
    """Who waits for what in a deadlock or livelock, and who holds it."""
    granularity: str = ""
    """How often threads had to be able to switch: `access` or `gil`; empty for models."""
    options: dict[str, object] = field(default_factory=dict)
    """Options that are needed to replay it, beyond the schedule."""
    pair: tuple[int, int] | None = None
    """The two events of a data race, by index."""
    _program: Program | None = field(default=None, repr=False, compare=False)
    _trace: list[StepRecord] | None = field(default=None, repr=False, compare=False)
    _events: Trace | None = field(default=None, repr=False, compare=False)
    """What `_trace` says in words."""
    _cause: Cause | Literal["unknown"] | None = field(default="unknown", repr=False, compare=False)

    @classmethod
    def of_crash(cls, program: Program, crash: Crash, schedule: Schedule) -> Failure:
        """Describe a process that ended with an exception."""
        error = crash.exception
        return cls(
            kind="assertion" if isinstance(error, AssertionError) else "exception",
            message=error_in_words(error),
            schedule=schedule,
            step=crash.step,
            process=program.vocabulary.process_names[crash.process],
            exception=error,
            _program=program,
        )

    @classmethod
    def of_deadlock(cls, program: Program, waits: list[Wait], schedule: Schedule) -> Failure:
        """Describe processes that wait for ever."""
        return cls(
            kind="livelock" if any(wait.spins for wait in waits) else "deadlock",
            message="; ".join(map(str, waits)),
            schedule=schedule,
            step=len(schedule),
            waits=tuple(waits),
            _program=program,
        )

    @classmethod
    def of_race(
        cls, program: Program, trace: Trace, pair: tuple[int, int], schedule: Schedule
    ) -> Failure:
        """Describe two accesses that no synchronisation orders."""
        names = program.vocabulary.process_names
        first, second = (names[trace.processes[event]] for event in pair)
        one, other = (trace.footprints[event] for event in pair)
        place = min(one.shared_with(other))
        return cls(
            kind="race",
            message=f"{first} and {second} access {program.vocabulary.location_names[place]}, "
            f"at least one of them writes it, and no synchronisation orders them",
            schedule=schedule,
            step=pair[1],
            process=second,
            pair=pair,
            _program=program,
        )

    @classmethod
    def of_budget(cls, program: Program, run: Run, trace: Trace, schedule: Schedule) -> Failure:
        """Describe an execution that was cut because it does not end."""
        names = program.vocabulary.process_names
        tail = trace.processes[-min(100, len(trace)) :]
        spinning = max(set(tail), key=tail.count)
        where = run.where(spinning)
        return cls(
            kind="budget",
            message=f"no end after {len(trace)} steps: {names[spinning]} spins"
            f"{' at ' + where if where else ''}; raise max_steps if it is meant to run longer",
            process=names[spinning],
            step=len(trace),
            schedule=schedule,
            _program=program,
        )

    @property
    def trace(self) -> list[StepRecord]:
        """The failing execution step by step, in words; recorded by replaying it."""
        if self._trace is None:
            from treadle.findings.replay import record

            self._trace = []
            if self._program is not None:
                self._events = Trace(self._program.vocabulary)
                self._trace = record(self._program, self.schedule, self._events)
        return self._trace

    @property
    def token(self) -> str:
        """The schedule and what else a replay needs as one short word, for `treadle.replay`."""
        from treadle.findings.tokens import token_of

        return token_of(self)

    @property
    def cause(self) -> Cause | None:
        """The two steps whose order made the difference, or may have; found by replaying it."""
        if self._cause == "unknown":
            from treadle.findings.cause import find_cause

            self._cause = find_cause(self._program, self) if self._program else None
        return self._cause

    def frames(self) -> list[FrameRecord]:
        """Return the functions that the processes were in, with their variables, by replaying."""
        from treadle.findings.replay import record_frames

        return (
            record_frames(self._program, self.schedule.upto(self.step + 1)) if self._program else []
        )

    def __str__(self) -> str:
        from treadle.report.text import failure_in_words

        return failure_in_words(self)


@dataclass(slots=True)
class Result:
    """What an exploration did and found; prints as a readable summary."""

    program: str
    """The name of the test or model."""
    algorithm: str
    """The name of the algorithm."""
    executions: int = 0
    """Complete executions."""
    blocked: int = 0
    """Executions begun and then found redundant."""
    cut: int = 0
    """Executions that the test itself cut with `treadle.assume`."""
    complete: bool = False
    """Whether the whole space was covered: with no failure, that is a proof."""
    failures: list[Failure] = field(default_factory=list)
    """The first failure of each kind and message."""
    failing: int = 0
    """Findings in all, the same one in another execution included."""
    events: int = 0
    """Steps executed in all."""
    replayed: int = 0
    """Those of them that came back to a branch, compared with the record."""
    probes: int = 0
    """Runs made only to learn whether a blocked step would be enabled in another order."""
    race_checks: int = 0
    """Pairs of events that were looked at for a race."""
    dependency_checks: int = 0
    """Pairs of steps of which it was asked whether they are dependent, sleep sets included."""
    unsatisfiable: int = 0
    """Trace constraint systems without a solution that the eager algorithms made."""
    peak_nodes: int = 0
    """Most steps that the wakeup trees held at once."""
    seconds: float = 0.0
    """Wall time of the search."""
    stopped_by: str = ""
    """Why the search ended early, if it did."""
    notes: list[str] = field(default_factory=list)
    """What else users should know, in words."""
    estimate: float | None = None
    """Estimated number of executions in all, of a search that ended early."""

    @property
    def ok(self) -> bool:
        """Whether the space was covered and nothing failed."""
        return self.complete and not self.failures

    @property
    def failure_kinds(self) -> Counter[str]:
        """How many different failures of each kind were found."""
        return Counter(failure.kind for failure in self.failures)

    def __str__(self) -> str:
        from treadle.report.text import result_in_words

        return result_in_words(self)

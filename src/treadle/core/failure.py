"""Findings about a program under test: what went wrong, and the interleaving that shows it.

A failure is data. The search makes one when it sees something go wrong (`of_crash`, `of_deadlock`,
...), with all that the failing run itself can tell. What it takes another run to know (the trace,
the cause, the frames, the token) is added once, by `treadle.findings.recording`, while the program
is under control anyway. Nothing here runs anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from treadle.core import formats
from treadle.core.happens_before import Race, Trace
from treadle.core.program import Crash, Ending, FindingError, Program, Run
from treadle.core.records import FrameRecord, Graph, Link, StepRecord, Wait
from treadle.core.schedule import Schedule

KINDS = ("assertion", "exception", "deadlock", "livelock", "race", "budget", "nondeterminism")
"""Kinds of failures that the search itself knows; front ends may declare more."""
_NOT_BY_SCHEDULE = frozenset({"budget", "nondeterminism"})

_REWRITTEN = "@pytest_ar"
"""What a module knows whose assertions were rewritten by pytest."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def is_shown_by_schedule(kind: str) -> bool:
    """Tell whether a schedule alone shows such a failure again, whatever the budgets are.

    Then the order of steps may be its cause.
    """
    return kind not in _NOT_BY_SCHEDULE


def without_addresses(message: str) -> str:
    """Return a failure's message without the addresses of objects, which differ in each run."""
    return _ADDRESS.sub("", message)


def error_in_words(error: BaseException) -> str:
    """Return the class and the message of an exception, which may be unable to say it.

    >>> error_in_words(ExceptionGroup("two", [ValueError("no"), KeyError("k")]))
    "ExceptionGroup: two (ValueError: no; KeyError: 'k')"
    """
    try:
        text = str(error)
        if issubclass(type(error), BaseExceptionGroup):
            group: BaseExceptionGroup[BaseException] = error  # type: ignore[assignment]
            text = f"{group.message} ({'; '.join(map(error_in_words, group.exceptions))})"
    except Exception as broken:
        text = f"(its __str__ raises {type(broken).__name__})"
    return type(error).__name__ + (f": {text}" if text else "")


def error_by_content(error: BaseException) -> tuple[object, ...]:
    """Return what tells an exception from those of other runs: its message, and kinds of values.

    What pytest adds to an `assert` are the values that it saw, and no part of the program.
    """
    message = without_addresses(error_in_words(error))
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if isinstance(error, AssertionError) and place and _REWRITTEN in place.tb_frame.f_globals:
        own, _, explanation = message.removeprefix("AssertionError: ").partition("\nassert ")
        is_said = explanation or not own.startswith("assert ")
        return "AssertionError", own if is_said else "", place.tb_lineno
    return message, *(type(given).__name__ for given in error.args)


@dataclass(frozen=True, slots=True)
class Cause:
    """Two steps that could have come in the other order."""

    indices: Race
    first: StepRecord
    second: StepRecord
    location: str
    """What both access."""
    decides: bool = False
    """Whether the execution passes the other way round."""
    other: tuple[StepRecord, ...] = ()
    """The execution the other way round, to its end, if that decides."""


@dataclass(slots=True)
class Failure:
    """A finding about the program: what went wrong, and the schedule that shows it."""

    kind: str
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
    """What a step was, if the program can be run with different ones: `access`, `gil` or
    `free-threaded`."""
    options: dict[str, object] = field(default_factory=dict)
    """Options that are needed to replay it, beyond the schedule."""
    pair: tuple[int, int] | None = None
    """The two events of a data race, by index."""
    trace: list[StepRecord] = field(default_factory=list, repr=False, compare=False)
    """The failing execution step by step, in words; empty if it could not be repeated."""
    cause: Cause | None = field(default=None, repr=False, compare=False)
    """The two steps whose order made the difference, or may have."""
    remarks: list[str] = field(default_factory=list, repr=False, compare=False)
    """What else the program's front end has to say about it."""
    frames: list[FrameRecord] = field(default_factory=list, repr=False, compare=False)
    """The functions that the processes were in when it failed, with their variables."""
    links: list[Link] = field(default_factory=list, repr=False, compare=False)
    """Which steps of the trace made which others possible, across processes."""
    graph: Graph | None = field(default=None, repr=False, compare=False)
    """What the processes run in, if the front end has a picture of it: a network."""
    token: str = field(default="", repr=False, compare=False)
    """The schedule and what else a replay needs as one short word, for `treadle.replay`."""
    test: object = field(default=None, repr=False, compare=False)
    """What was explored, as it was given: a function, or a program."""

    @classmethod
    def of_crash(cls, program: Program, crash: Crash, schedule: Schedule) -> Failure:
        """Describe a process that ended with an exception."""
        error = crash.exception
        return cls(
            kind=crash.kind or ("assertion" if isinstance(error, AssertionError) else "exception"),
            message=error_in_words(error),
            schedule=schedule,
            step=crash.step,
            process=program.vocabulary.process_names[crash.process],
            exception=error,
        )

    @classmethod
    def of_deadlock(cls, ending: Ending, schedule: Schedule) -> Failure:
        """Describe processes that wait for ever."""
        waits = ending.waits
        return cls(
            kind=ending.kind or ("livelock" if any(wait.spins for wait in waits) else "deadlock"),
            message=ending.message or "; ".join(map(str, waits)),
            schedule=schedule,
            step=len(schedule),
            waits=tuple(waits),
        )

    @classmethod
    def of_finding(cls, error: FindingError, schedule: Schedule) -> Failure:
        """Describe what the last step of a schedule shows is wrong with what was declared."""
        return cls(
            kind=error.kind,
            message=error.message,
            process=schedule[-1],
            step=len(schedule) - 1,
            schedule=schedule,
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
        )

    @classmethod
    def of_budget(cls, program: Program, run: Run, trace: Trace, schedule: Schedule) -> Failure:
        """Describe an execution that was cut because it does not end."""
        names = program.vocabulary.process_names
        tail = trace.processes[-min(100, len(trace)) :]
        spinning = min(set(tail), key=lambda process: (-tail.count(process), names[process]))
        who = run.family(tail) or f"{names[spinning]} spins"
        where = run.where(spinning)
        return cls(
            kind="budget",
            message=f"no end after {len(trace)} steps: {who}"
            f"{' at ' + where if where else ''}; raise max_steps if it is meant to run longer",
            process=names[spinning],
            step=len(trace),
            schedule=schedule,
        )

    def run_with(self, program: Program) -> Failure:
        """Take note of the options that the program was run with; return the failure itself."""
        self.granularity = program.granularity
        self.options = dict(program.options)
        if self.kind == "race":
            self.options["races"] = True
        return self

    def __str__(self) -> str:
        return formats.TEXT["failure"](self)

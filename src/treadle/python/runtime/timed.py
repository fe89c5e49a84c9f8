"""Time that people mean: whatever tasks do takes at most `latency` seconds.

So a wait that ends later than `latency` seconds after the time that has come for all is *long*: it
is over only when nothing else can go on. Then time passes to the earliest deadline, and those whose
moment this is go on in any order. A shorter wait may end at any moment, as far as others can tell.

Time is a process of its own, whose steps are enabled only if no other is. Such a step comes after
all that was done before it (it joins everybody), and what goes on because of it needs it to have
come; so it is never reversed. Who was given up on may have got what it waited for in another order
of the steps before: that is looked for as it is for those who wait for ever (`Mode.AWAIT`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.core.records import WaitKind
from treadle.python.runtime import clocks, control, slots
from treadle.python.runtime.deeds import Deed
from treadle.python.runtime.operation import IN_VAIN, TIMED_OUT, Operation
from treadle.python.runtime.scheduler import is_ready
from treadle.python.runtime.task import Path, Task

TIME = "time"
"""The process that lets time pass, and the location that says how late it is."""
_SAME = 1e-3
"""Seconds below which two moments are the same: clocks tick when they are looked at."""
_NO_LOCATION = (Mode.JOIN, Mode.OPEN, Mode.WATCH)
PASS = Deed("reach", lambda times: f"{times.now:.6g} s")


class Times:
    """How late it is for all tasks of one execution."""

    def __init__(self, program: slots.Controlled) -> None:
        self.now = 0.0
        """The time that has come: whatever happens from now on is not earlier."""
        self._program = program
        self._patience = program.patience
        self._scheduler = program.scheduler
        self._location = program.vocabulary.location(TIME, TIME)
        self._task: Task | None = None
        self._is_late = False
        """Whether time has passed for daemons alone."""

    def has_come(self, moment: float) -> bool:
        """Tell whether a moment has come for all."""
        return moment <= self.now + _SAME

    def catch_up(self) -> None:
        """Let the time come at which the first task was started besides the test's own."""
        self.now = max(self.now, self._scheduler.parted or 0.0)

    def is_long(self, moment: float, seconds: float) -> bool:
        """Tell whether a wait of some seconds up to a moment ends only when nobody can go on."""
        latency = self._patience.latency
        return seconds > latency or moment > self.now + latency + _SAME

    def come(self) -> Codes:
        """Return what it accesses to go on because a moment has come."""
        return (code(self._location, Mode.NEED),)

    def begin(self, me: Task) -> None:
        """Let time pass from now on in this execution."""
        if self._task is None:
            self._task = task = Task(Path(self._program.vocabulary, TIME, 0), self._pass)
            self._program.vocabulary.bystanders.add(task.number)
            task.daemon = True
            self._scheduler.begin(task, me)

    def _pass(self) -> None:
        task = control.task()
        while True:
            self._program.announce(_Passing(self), PASS, self)
            self._is_late = self._are_all_daemons()
            self.now = task.now = min(self.deadlines())
            task.doing = (*self.joins(task), code(self._location, Mode.WRITE))

    def joins(self, me: Task) -> Codes:
        """Return what says that a step comes after all that everybody else did."""
        others = sorted(self._scheduler.begun_numbers() - {me.number})
        return tuple(code(number, Mode.JOIN) for number in others)

    def deadlines(self) -> Iterator[float]:
        """Return when waits end that wait for nothing but time."""
        return (task.doing.until for task in self.waiting() if isinstance(task.doing, Timed))

    def waiting(self) -> Iterator[Task]:
        """Yield the tasks that wait for nothing but time."""
        for task in self._scheduler.alive.values():
            if isinstance(task.doing, Timed) and task.doing.is_long:
                deadline = task.doing.deadline(task)
                if deadline is not None and deadline < math.inf:
                    yield task

    def can_pass(self, me: Task) -> bool:
        """Tell whether nobody can go on but by time; for daemons alone it passes once."""
        others = [task for task in self._scheduler.alive.values() if task is not me]
        return (
            any(True for _ in self.deadlines())
            and not (self._is_late and self._are_all_daemons())
            and not any(map(is_ready, others))
        )

    def _are_all_daemons(self) -> bool:
        return all(task.daemon for task in self._scheduler.alive.values())


class _Passing(Operation):
    """Let time pass to the next deadline."""

    __slots__ = ("_times",)

    kind = WaitKind.NOTHING

    def __init__(self, times: Times) -> None:
        self._times = times

    def ready(self, task: Task) -> bool:
        """Tell whether nobody else can go on."""
        return self._times.can_pass(task)

    def pending(self, task: Task) -> Codes:
        """Return nothing: time waits for nobody."""
        return ()

    def describe(self) -> str:
        """Say what it is."""
        return "the next deadline"


def times() -> Times:
    """Return how late it is in the present execution."""
    program = control.the_program()
    scratch = program.scheduler.scratch
    found: Times | None = scratch.get(Times)
    if found is None:
        found = scratch[Times] = Times(program)
    return found


class Timed(Operation):
    """Something that is over when its time has come, whatever others do."""

    __slots__ = ("_times", "is_long", "seconds", "until")

    def __init__(self, me: Task, seconds: float, *, expires: bool = True) -> None:
        self.seconds = seconds
        self._times = late = times()
        self.is_long = False
        self.until = math.inf
        """When it is over, on the task's clock."""
        if seconds <= 0:
            self.until = me.now
        elif expires:
            self.until = clocks.now(me) + seconds
            alone = slots.announce is slots.nothing or control.collected is not None
            late.catch_up()
            self.is_long = not alone and late.is_long(self.until, seconds)
        else:
            self.is_long = True
        if self.is_long:
            late.begin(me)

    def is_due(self) -> bool:
        """Tell whether it may be over now, as far as time is concerned."""
        return not self.is_long or self._times.has_come(self.until)

    @property
    def is_patient(self) -> bool:
        """Whether it cannot be over yet: it goes on only because it need not wait any more."""
        return not self.is_due()

    def deadline(self, task: Task) -> float | None:
        """Return when it is over."""
        del task
        return self.until

    def codes(self, task: Task, codes: Codes) -> Codes:
        """Return what the step accesses that ends it, `codes` being what it does otherwise.

        If time had to pass first, it might have got what it waited for in another order.
        """
        if not self.is_long or self.is_patient:
            return codes
        awaited = [access for access in self.pending(task) if mode_of(access) not in _NO_LOCATION]
        looks = dict.fromkeys(code(location_of(access), Mode.AWAIT) for access in awaited)
        return (*self._times.come(), *looks, *codes)


class InTime(Timed):
    """Wait for something, but not for ever."""

    __slots__ = ("_awaited",)

    def __init__(
        self, awaited: Operation, me: Task, seconds: float, *, expires: bool = False
    ) -> None:
        patience = control.the_program().patience
        super().__init__(me, seconds, expires=expires or patience.expires)
        self._awaited = awaited
        if self.is_long and not awaited.ready(me):
            patience.note(seconds)

    @property
    def kind(self) -> WaitKind:  # type: ignore[override]
        """What sort of thing it waits for."""
        return self._awaited.kind

    def ready(self, task: Task) -> bool:
        """Tell whether it has what it waits for, or may give up."""
        return self.is_due() or self._awaited.ready(task)

    def deadline(self, task: Task) -> float | None:
        """Return when it gives up, if it has to wait now."""
        return None if self.seconds <= 0 or self._awaited.ready(task) else self.until

    def pending(self, task: Task) -> Codes:
        """Return what it accesses that waits for ever."""
        return self._awaited.pending(task)

    def describe(self) -> str:
        """Say what it waits for."""
        return self._awaited.describe()

    def holders(self) -> list[Task]:
        """Return who has that."""
        return self._awaited.holders()

    def held(self) -> str:
        """Name what the task holds if it gets it."""
        return self._awaited.held()

    def failure(self, task: Task) -> str:
        """Say whether it gives up now."""
        if self.deadline(task) is not None:
            return TIMED_OUT
        return "" if self._awaited.ready(task) else IN_VAIN

"""Who runs next: greenlets that hand over to each other at visible operations.

A guided tour. Every controlled thread runs in a greenlet of one pool (`fibers`). Rewritten code and
primitives call `announce` before each visible operation. That ends the task's step, and the
scheduler decides who goes on, in one of three modes that the exploration (the *hub*) chose:

- *replaying*: the next process of a recorded execution; each step is compared with the record;
- *finishing*: the same task, as long as it can, then the oldest one that can;
- *stepping*: nobody; back to the hub.

`execute` replays, then finishes, in one visit of the hub.

A hand-over goes straight from greenlet to greenlet; a task that goes on does not switch at all.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

from greenlet import getcurrent

from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.events import Codes, Vocabulary
from treadle.core.program import CannotStepError, Crash
from treadle.python.runtime.fibers import Fibers
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.task import Task, awaiting

_MOST_ABORTS = 1000
"""Aborts that a task may swallow before it is abandoned."""


class Abort(BaseException):
    """Unwinds the threads of an execution that is over."""


class Cut(BaseException):
    """Ends a task of an execution that the test does not want to look at."""


class StepListener(Protocol):
    """Somebody who wants to know of each step."""

    def add(self, task: Task, codes: Any) -> None:
        """Take note of a step that a task has just ended."""


class Scheduler:
    """The tasks of one execution; reused for the next one after `reset`."""

    __slots__ = (
        "_begun",
        "aborting",
        "aborts_left",
        "alive",
        "codes",
        "crashes",
        "done",
        "earlier",
        "fatal",
        "fibers",
        "finishing",
        "hub",
        "length",
        "limit",
        "listeners",
        "me",
        "on_crash",
        "on_end",
        "on_switch",
        "parted",
        "position",
        "processes",
        "scratch",
    )  # fmt: skip

    def __init__(self, fibers: Fibers | None = None) -> None:
        self.fibers = fibers or Fibers()
        self.on_crash: Callable[[Task, BaseException], bool] | None = None
        """Asked whether an exception that ended a task is a finding."""
        self.on_end: Callable[[Task], None] | None = None
        """Told that a task has ended, before its last step is closed."""
        self.on_switch: Callable[[Task | None, Task], None] | None = None
        """Told of every hand-over, if there is per-thread state to exchange."""
        self.hub: Any = None
        self._begun: list[Task] = []
        """Tasks that have begun since `let_go`."""
        self.reset()

    def reset(self) -> None:
        """Forget the last execution."""
        awaiting.clear()
        self.alive: dict[int, Task] = {}
        """Tasks that have not ended, oldest first."""
        self.scratch: dict[Any, Any] = {}
        """What primitives keep for this execution."""
        self.me: Any = None
        self.crashes: list[Crash] = []
        self.fatal: BaseException | None = None
        self.aborting = False
        self.aborts_left = _MOST_ABORTS
        self.earlier = 0
        """Steps that were done before the present record began."""
        self.listeners: list[StepListener] = []
        """Are told of each step, once they asked for it."""
        self.parted: float | None = None
        """What the clock showed when the first task was started besides the test's own."""
        self.position = self.length = 0
        self.finishing = False
        self.processes: Any = ()
        self.codes: list[Codes] = []
        self.limit = 0
        self.done: Any = None
        """What the step accessed that the hub asked for; not typed, as others set it meanwhile."""

    def threads(self, vocabulary: Vocabulary) -> list[Task]:
        """Return the tasks that have not ended and are the program's own, oldest first."""
        others = vocabulary.bystanders
        return [task for task in self.alive.values() if task.number not in others]

    def begun_numbers(self) -> set[int]:
        """Return the numbers of all tasks that this execution has begun."""
        return {task.number for task in self._begun}

    def let_go(self) -> None:
        """Cut the ties between tasks that are over and their threads: nothing else refers to them.

        Else they are left to the garbage collector: 2 x 4 increments take 1.03 times as long.
        """
        for task in self._begun:
            task.thread = task.target = None
        self._begun.clear()

    # Called by threads

    def waits_in_block(self, me: Task, doing: Operation) -> NoReturn:
        """Refuse to wait inside of a block that is one step."""
        raise TreadleError(
            f"{me.name} has to wait for {doing.describe()} inside treadle.atomic(): "
            f"a block that is one step cannot wait"
        )

    def goes_round(self, site: object) -> None:
        """Take note that a `while` loop goes round inside of a block that is one step."""

    def announce(
        self, doing: Codes | Operation, deed: Any = None, about: Any = None, detail: Any = None
    ) -> None:
        """End the current task's step; return when the task is to perform what it announced.

        What that is in words, only a recorder wants to know (`treadle.python.recording`).
        """
        me: Task = self.me
        if me.callers and not self.aborting:
            for caller in me.callers:
                caller.end_step()
        if self.listeners:
            self.tell(me)
        done: Any = me.doing
        me.doing = doing
        position = self.position
        if position < self.length:
            if done == self.codes[position]:
                self.position = position = position + 1
                if (
                    position < self.length
                    and self.processes[position] == me.number
                    and type(doing) is tuple
                ):
                    return
                self._next()
                return
        elif self.finishing and done is not None:
            self.codes.append(done)
            self.processes.append(me.number)
            self.position = position = position + 1
            if type(doing) is tuple and position < self.limit:
                return
            self._next()
            return
        self._announce_specially(me, done)

    def listen(self, listener: StepListener, *, first: bool = False) -> None:
        """Tell somebody of each step that ends from now on in this execution.

        Who is `first` may add to what the step did.
        """
        self.listeners.insert(0 if first else len(self.listeners), listener)

    def tell(self, task: Task) -> None:
        """Tell listeners that a task has come to the end of a step."""
        for listener in self.listeners:
            if type(task.doing) is tuple:
                listener.add(task, task.doing)

    def _announce_specially(self, me: Task, done: Any) -> None:
        """The cases of `announce` that are not frequent."""
        if self.aborting:
            self._go_on_unwinding(me)
        elif done is None:  # it has just begun: nobody else may see it in between
            if me.parent is None:
                self._to_hub()
            else:
                self._switch_to(me.parent)
        else:
            self._hand_in(done)
            self._to_hub()

    def _hand_in(self, done: Codes) -> None:
        """Leave to the hub what a step did that was asked for, or differs from the record."""
        self.done = done
        self.position += self.position >= self.length

    def _go_on_unwinding(self, me: Task) -> None:
        """Let an aborted task clean up, but never wait; abandon it if it does not end."""
        self.aborts_left -= 1
        if self.aborts_left <= 0:
            self.fibers.abandon(me, me.fiber)
            while True:
                self.hub.switch()
        if not is_ready(me):
            raise Abort

    def _next(self) -> None:
        """Hand over to the next process of the record, by the natural schedule, or to the hub."""
        position = self.position
        task = None
        if position < self.length:
            task = self.alive.get(self.processes[position])
            if task is not None and type(task.doing) is not tuple and not is_ready(task):
                task = None
        elif self.finishing and position < self.limit:
            task = self.natural(self.me)
        if task is None:
            self._to_hub()
        else:
            self._switch_to(task)

    def natural(self, last: Task | None) -> Task | None:
        """Return who goes on: the last one, else the oldest; those who wait for a time-out last."""
        if last is not None and last.number in self.alive and is_eager(last):
            return last
        return self._oldest()

    def _oldest(self) -> Task | None:
        """Return the oldest one that can go on, better without waiting for a time-out.

        Who waits is asked once: to ask `is_eager`, then `is_ready`, readers(8) takes 1.02 of it.
        """
        timed: list[tuple[float, int, Task]] = []
        for task in self.alive.values():
            doing: Any = task.doing
            if type(doing) is tuple:
                return task
            if doing is not None and doing.ready(task):
                deadline = doing.deadline(task)
                if deadline is None:
                    return task
                timed.append((deadline, task.number, task))
        return min(timed)[2] if timed else None

    def _switch_to(self, task: Task) -> None:
        me = self.me
        if task is me:
            return
        if self.on_switch is not None:
            self.on_switch(me, task)
        self.me = task
        task.fiber.switch()
        if self.aborting:
            raise Abort

    def _to_hub(self) -> None:
        self.hub.switch()
        if self.aborting:
            raise Abort

    def _end(self, task: Task) -> None:
        """Note that the current task has ended, and let another go on."""
        doing: Any = task.doing
        if doing is not None and type(doing) is not tuple:  # an exception ended it before that
            task.doing = doing.pending(task)
        if not self.aborting:
            for caller in task.callers:
                caller.end_step()
        del self.alive[task.number]
        if self.listeners:
            self.tell(task)
        done: Any = task.doing
        if self.aborting or self.fatal is not None:
            self.hub.switch()
        elif done is None:
            if task.parent is None:
                self.hub.switch()
            else:
                self._switch_to(task.parent)
        elif self.position < self.length and done == self.codes[self.position]:
            self.position += 1
            self._next()
        elif self.position >= self.length and self.finishing:
            self.codes.append(done)
            self.processes.append(task.number)
            self.position += 1
            self._next()
        else:
            self._hand_in(done)
            self.hub.switch()

    def begin(self, task: Task, parent: Task | None) -> None:
        """Run a new task up to its first announcement; `parent` is the task that starts it."""
        if self.aborting:  # somebody who caught the exception that unwinds it
            raise Abort
        self.alive[task.number] = task
        self._begun.append(task)
        task.parent = parent
        if parent is not None:
            task.now = parent.now
            if self.parted is None:
                self.parted = parent.now
        fiber = task.fiber = self.fibers.for_task(self.work_on, task)
        fiber.gr_context = None if parent else contextvars.copy_context()  # None: an empty one
        if parent is None:
            self.hub = getcurrent()
        if self.on_switch is not None:
            self.on_switch(parent, task)
        self.me = task
        fiber.switch()
        self.me = parent
        if parent is None:
            self._raise_fatal()
        elif self.aborting:
            raise Abort

    def work_on(self, task: Task) -> None:
        """Run a task in the current greenlet; return when the greenlet gets another one."""
        try:
            task.target()
        except (Abort, Cut):
            pass
        except (TreadleError, TreadleBug, CannotStepError, KeyboardInterrupt) as error:
            self.fatal = self.fatal or error
        except BaseException as error:
            self._note_crash(task, error)
        if self.on_end is not None:
            self.on_end(task)
        try:
            self._end(task)
        except Abort:
            return  # this execution was aborted meanwhile, and the greenlet has another task

    def _note_crash(self, task: Task, error: BaseException) -> None:
        if not self.aborting and (self.on_crash is None or self.on_crash(task, error)):
            self.crashes.append(Crash(task.number, self.steps, error))

    # Called by the hub

    @property
    def steps(self) -> int:
        """Steps of the execution that are done."""
        return self.earlier + self.position

    def step(self, task: Task) -> Codes:
        """Let a task take one step, and return what it accessed."""
        self.length = 0
        self._enter(task)
        done: Codes = self.done
        return done

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1.

        What that did is put in the place of what it did before.
        """
        self.processes, self.codes, self.length = processes, codes, length
        self.earlier += self.position
        self.position = 0
        self.done = None
        task = self.alive.get(processes[0]) if length else None
        if task is not None and is_ready(task):
            self._enter(task)
        differing = self.position
        if differing >= length:
            return -1
        self.length = 0
        if self.done is not None:
            codes[differing] = self.done
            self.position += 1
        return differing

    def execute(self, processes: list[int], codes: list[Codes], limit: int) -> int:
        """Take recorded steps as `replay` does, and go on naturally, up to `limit` steps in all."""
        length = len(processes)
        if not length:
            self.finish(None, limit, processes, codes)
            return -1
        self.limit = limit - self.steps
        self.finishing = True
        differing = self.replay(processes, codes, length)
        self.finishing = False
        return differing

    def finish(
        self, last: Task | None, limit: int, processes: list[int], codes: list[Codes]
    ) -> None:
        """Go on by the natural schedule until nobody can, up to `limit` steps in all."""
        self.processes, self.codes, self.limit = processes, codes, limit - self.earlier
        self.length = 0
        task = self.natural(last) if self.position < self.limit else None
        if task is not None:
            self.finishing = True
            self._enter(task)
            self.finishing = False

    def _enter(self, task: Task) -> None:
        """Hand over from the hub to a task; return when somebody hands back."""
        self.hub = getcurrent()
        if self.on_switch is not None:
            self.on_switch(self.me, task)
        self.me = task
        task.fiber.switch()
        self._raise_fatal()

    def _raise_fatal(self) -> None:
        if self.fatal is not None:
            raise self.fatal

    def abort(self) -> None:
        """End the execution: unwind every task that is left."""
        self.hub = getcurrent()
        self.aborting = True
        self.length = 0
        self.finishing = False
        for task in list(self.alive.values()):
            fiber = task.fiber
            if fiber is None:
                continue
            self.me = task
            if self.on_switch is not None:
                self.on_switch(None, task)
            fiber.throw(Abort)
            if self.alive.pop(task.number, None) is not None:  # it did not end
                self.fibers.abandon(task, fiber)


def is_ready(task: Task) -> bool:
    """Tell whether a task can take a step."""
    doing = task.doing
    return type(doing) is tuple or (doing is not None and doing.ready(task))  # type: ignore[union-attr]


def is_eager(task: Task) -> bool:
    """Tell whether a task can take a step and would not rather wait for a time-out."""
    doing = task.doing
    if type(doing) is tuple:
        return True
    operation: Any = doing
    return operation is not None and operation.ready(task) and operation.deadline(task) is None

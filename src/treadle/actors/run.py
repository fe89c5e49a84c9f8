"""One execution of a program of actors; a process is a task, a step is one of its macro-steps.

A guided tour. `step` lets one task go on until it waits or ends: rule *mstep* of the thesis. Its
access codes say on what it depends (`levels`, `orders`): that nobody holds the group, the group's
state or fields, the ends that it waited for, the tasks that it sent. `is_ready` is the premise of
that rule. What the task's own code does meanwhile is in `world`.
"""

from __future__ import annotations

import contextvars
import types
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle.actors import control
from treadle.actors.actor import CLOSED, body_of
from treadle.actors.chains import Arrow, chain_through
from treadle.actors.messages import copied
from treadle.actors.standing import chain_in_words, frames_of, wait_of, waits_in_words, where
from treadle.actors.state import effect, fingerprint, newborn, seen_now, value_at
from treadle.actors.task import Group, Task, Waiting
from treadle.actors.watchdog import EndlessStep
from treadle.actors.world import Abort, TooManyTasks, World, set_attribute
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.events import OPEN, Codes
from treadle.core.frames import is_of_the_user, place_of_frame
from treadle.core.program import CannotStepError, Crash, Ending, Restart, Run
from treadle.core.words import place_in_words

if TYPE_CHECKING:
    from treadle.actors.programs import Program

NEW, GET, AWAIT, UNTIL, PAUSED, RUNNING, ENDED = Waiting


class ActorRun(World, Run):
    """An execution; its processes are tasks."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.chain: tuple[Arrow, ...] = ()
        """The deadlock chain that was seen first, if there is one."""
        self.broken: set[int] = set()
        """Invariants, by index, that did not hold after some step."""
        self._level = program.level
        self._properties = program.properties
        self._opens = program.level.fields is None
        self._remembers = program.remembers
        self._names_containers = program.names_containers
        self._context = contextvars.copy_context()
        self._failed: list[Task] = []
        """Tasks that ended with an exception that is no finding yet."""
        self.main = Task(
            self, program.main_names, None, Group(program.main_group),
            program.main, program.args, program.kwargs, born=-1,
        )  # fmt: skip
        self.alive[self.main.number] = self.everybody[self.main.number] = self.main

    # Stepping

    def step(self, process: int) -> Codes:
        """Let a task take one macro-step, and return what it accessed."""
        task = self.alive.get(process)
        if task is None:
            raise CannotStepError(process)
        waiting, group, actor = task.waiting, task.group, task.actor
        self.log = log = self._level.begins(task)
        if self._remembers:
            self._remember(task)
        if waiting is NEW:
            task.context = self._context.copy()
            if self._order is not None:
                log += self._order.begins(task)
        elif waiting is GET or waiting is AWAIT:
            task.joined.add(task.target)  # type: ignore[arg-type]
            if waiting is GET:
                group.holder = None
        task.waiting = RUNNING
        control.current = task
        if actor is not None and (self._opens or self._fields.is_native(actor)):  # type: ignore[union-attr]
            set_attribute(actor, "__dict__", body_of(actor).fields)
        self._fibers.run(task)
        control.current = None
        if actor is not None:
            set_attribute(actor, "__dict__", CLOSED)
        if self.fatal is not None:
            raise self.fatal
        self._stopped(task)
        if self.touched:
            self.close_actors()
        self.steps += 1
        return tuple(log)

    def _stopped(self, task: Task) -> None:
        """Take note of how a step ended."""
        self._level.ends(task, self.log)
        if self._names_containers:
            self.program.look_at_variables(at_first=not self.steps)
        if self.program.shared:
            self._depend_on_all()
        if task.waiting is GET:
            task.group.holder = task
        if (task.waiting is GET or task.waiting is AWAIT) and not self.chain:
            self.chain = chain_through(task)
            self.is_over = self.is_over or bool(self.chain and self.program.stops_early)
        if self._properties.invariants:
            self.crashes += self._properties.broken_by(self, task)

    def _depend_on_all(self) -> None:
        """Let the step conflict with every other one; then nobody needs to ask what else it may do.

        Asking would run another execution in between, which would write the shared variables.
        """
        self.log[:] = [one for one in self.log if one != OPEN]
        self.log.append(self.program.writes_shared)

    def advance(self, task: Task) -> None:
        """Run a task's code until it waits or ends; called in a greenlet."""
        try:
            coroutine = task.coroutine
            if self.is_closing:
                coroutine.close()  # type: ignore[union-attr]
                return
            if coroutine is None:
                bound = () if task.actor is None else (task.actor,)
                returned = task.function(*bound, *task.args, **task.kwargs)
                if type(returned) is not types.CoroutineType:
                    self._end(task, returned)
                    return
                coroutine = task.coroutine = returned
            if coroutine.send(None) is not None or task.waiting is RUNNING:
                self._refuse_awaited(task)
        except StopIteration as stop:
            self._end(task, stop.value)
        except BaseException as error:
            self._fail(task, error)

    def _refuse_awaited(self, task: Task) -> None:
        """Refuse what is no business of Treadle's: a coroutine of another library waits."""
        users = [one for one in frames_of(task) if is_of_the_user(one.f_code.co_filename)]
        place = place_in_words(place_of_frame(users[-1])) if users else where(task)
        raise TreadleError(
            f"{task.in_words} awaits something that is no future, until() or pause(): tasks wait "
            f"for each other only ({place})"
        )

    def _end(self, task: Task, result: Any) -> None:
        try:
            self._refuse_loose(task)
            task.result = copied(result, lambda: f"the result of {task.in_words}")
        except TreadleError as error:
            self._fail(task, error)
        else:
            self._ended(task)

    def _refuse_loose(self, task: Task) -> None:
        """Refuse a condition or a pause that did nothing, because nobody awaited it."""
        for made, place in task.loose.items():
            what = type(made).__name__
            raise TreadleError(
                f"{task.in_words} makes {what}(...) and does not await it: write "
                f"`await {what}(...)` ({place_in_words(place)})"
            )

    def _fail(self, task: Task, error: BaseException) -> None:
        """Keep an exception in the task's future; a failed assertion is a finding at once."""
        self._ended(task)
        if self.is_closing or isinstance(error, Abort | TooManyTasks | EndlessStep):
            return
        if isinstance(error, TreadleError | TreadleBug | CannotStepError | KeyboardInterrupt):
            self.fatal = self.fatal or error
            return
        task.error = error
        if not isinstance(error, AssertionError):
            self._failed.append(task)
        elif all(crash.exception is not error for crash in self.crashes):
            self.crashes.append(Crash(task.number, self.steps, error))

    def _ended(self, task: Task) -> None:
        task.waiting = ENDED
        task.coroutine = None
        self.alive.pop(task.number, None)

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1."""
        step, is_enabled = self.step, self.is_enabled
        for index in range(length):
            process = processes[index]
            if not is_enabled(process):
                return index
            taken = step(process)
            if taken != codes[index]:
                codes[index] = taken
                return index
        return -1

    def finish(self, last: int, limit: int, processes: list[int], codes: list[Codes]) -> bool:
        """Go on by the schedule `stay` until no task is enabled, up to `limit` steps in all."""
        step, alive, is_ready = self.step, self.alive, self.is_ready
        task = alive.get(last)
        while not self.is_over:
            if task is None or task.waiting is ENDED or not is_ready(task):
                task = next(filter(is_ready, alive.values()), None)
                if task is None:
                    return True
            if len(codes) >= limit:
                return False
            codes.append(step(task.number))
            processes.append(task.number)
        return True

    # Who can go on

    def enabled(self) -> list[int]:
        """Return the tasks that can take a step, oldest first."""
        if self.is_over:
            return []
        return [task.number for task in self.alive.values() if self.is_ready(task)]

    def is_enabled(self, process: int) -> bool:
        """Tell whether a task can take a step."""
        task = self.alive.get(process)
        return task is not None and not self.is_over and self.is_ready(task)

    def is_ready(self, task: Task) -> bool:
        """Tell whether a task that has not ended can take a step."""
        holder = task.group.holder
        if holder is not None and holder is not task:
            return False
        waiting = task.waiting
        if waiting is NEW:
            return task.predecessor is None or task.predecessor.waiting is not NEW
        if waiting is UNTIL:
            return self._may_hold(task)
        return waiting is PAUSED or task.target.waiting is ENDED  # type: ignore[union-attr]

    def _may_hold(self, task: Task) -> bool:
        """Tell whether the condition holds that a task waits for; what it raises is the task's."""
        assert task.condition is not None
        control.current, before = task, len(self.log)
        if self._opens and task.actor is not None:
            self.open(task.actor)
        try:
            return self.holds(task.condition)
        except TreadleError:
            raise
        except Exception:
            return True
        finally:
            control.current = None
            self.close_actors()
            del self.log[before:]

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the tasks that wait, with the accesses that their next step begins with."""
        return [
            (task.number, self._pending(task))
            for task in self.alive.values()
            if not self.is_ready(task)
        ]

    def _pending(self, task: Task) -> Codes:
        codes = self._level.pending(task)
        if task.waiting is NEW and self._order is not None:
            codes += self._order.needs(task)
        return codes

    # The end

    def ending(self) -> Ending:
        """Describe the final state of a run that has no enabled task."""
        self._settle()
        waits = [wait_of(task) for task in self.alive.values()]
        if self.chain:
            message = chain_in_words(self.chain)
            return Ending(self.crashes, waits, kind="deadlock", message=message)
        if self.crashes:  # others may wait only because of it
            return Ending(self.crashes)
        return Ending(self.crashes, waits, kind="stuck", message=waits_in_words(waits))

    def _settle(self) -> None:
        """Find what only the end shows: exceptions that nobody retrieved, and properties."""
        last = self.steps - 1
        for task in self._failed:
            assert task.error is not None
            if not task.is_retrieved:
                self.crashes.append(Crash(task.number, last, task.error))
        self._failed.clear()
        if not self.is_over:
            self.crashes += self._properties.broken_at_end(self, last)

    def where(self, process: int) -> str:
        """Return `file:line` of where a task stands."""
        task = self.alive.get(process)
        return "" if task is None else where(task)

    def family(self, processes: Sequence[int]) -> str:
        """Say which method's tasks took the latest steps: one task seldom takes many."""
        methods = Counter(self.everybody[process].key for process in processes)
        ((method, count),) = methods.most_common(1)
        return f"{count} of the last {len(processes)} are of {method}"

    # States that are compared

    def _remember(self, task: Task) -> None:
        """Take down what a task sees when its step begins."""
        if task.seen is None:
            task.seen = []
        task.seen.append(seen_now(self, task))

    def fingerprint(self) -> object:
        """Return a comparable value of the whole state: fields, and where tasks stand."""
        return fingerprint(self)

    def watched_step(self, process: int) -> tuple[Codes, object]:
        """Let a task take one step; what it saw is part of where it stands then."""
        self.program.remembers = True  # in runs from now on; this one may have nothing to compare
        return self.step(process), None

    def effect(self, processes: Sequence[int], locations: Sequence[int]) -> object:
        """Return a comparable value of where tasks stand and of what is at locations."""
        return effect(self, processes, locations)

    def newborn(self, process: int) -> object:
        """Return a comparable value of a task that has not begun, but its name."""
        return newborn(self.everybody[process])

    def values(self, locations: Sequence[int]) -> list[object]:
        """Return for each location a comparable value of what is there."""
        return [value_at(self, location) for location in locations]

    def close(self) -> None:
        """End the run, and begin anew if it showed something that the program did not know."""
        self.drop()
        if self.program.has_learned():
            raise Restart

    def drop(self) -> None:
        """End the run: unwind the tasks that wait."""
        self.is_closing = True
        for task in list(self.alive.values()):
            control.current = task
            if task.fiber is not None:
                self._fibers.unwind(task, Abort)
            elif task.coroutine is not None:
                self._fibers.run(task)
        control.current = None
        self.alive.clear()
        self.close_actors()

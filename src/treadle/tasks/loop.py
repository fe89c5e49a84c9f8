"""The event loop of an execution: it runs what it is told to, and records what that does.

A guided tour. Everything that a loop can be asked to run is a `Step` (`steps`). What is ready
stands in `ready`, in the order of the queue; what is to come from outside (timers, pauses, results
of executors) in `armed`. `run` runs one of them and returns its accesses: what the hooks of
rewritten code collected, what `Future` and `Task` recorded by `touch`, and what it scheduled. Who
is next is not decided here.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.events import OPEN, Codes, Mode, code, mode_of
from treadle.core.frames import outermost
from treadle.core.program import Violation
from treadle.python.accesses.foreign_code import goes_on
from treadle.python.accesses.instruction_hooks import read_deeply
from treadle.python.runtime import control, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing.tables import ObjectTable
from treadle.python.sharing.walks import register
from treadle.tasks import spinning
from treadle.tasks.beside import Workers
from treadle.tasks.countdowns import Countdown, added, countdown_of
from treadle.tasks.factories import checked, made_by
from treadle.tasks.faults import Faults
from treadle.tasks.futures import Future, Task, given_attributes
from treadle.tasks.generators import Generators
from treadle.tasks.moments import BEGINNING, latest
from treadle.tasks.network.calls import Networked
from treadle.tasks.positions import Position, next_turns
from treadle.tasks.recording import TaskRecorder, place_of_caller
from treadle.tasks.refusals import Refusing
from treadle.tasks.rounds import Rounds
from treadle.tasks.steps import CallHandle, Owner, Place, Step, Timer
from treadle.tasks.waiting import frames_of

if TYPE_CHECKING:
    from treadle.tasks.program import TaskProgram


class Loop(Networked, Refusing):
    """The loop of one execution."""

    _running: Task | None = None
    """The task that takes the present step."""
    has_shown_the_time = False
    """Whether the present step has asked for it."""
    _is_closing = False
    is_over = False
    """Whether the main task has ended: what is armed from then on is ignored."""
    _factory: Any = None
    """Who makes tasks, if the test has said so."""
    _handler: Callable[..., object] | None = None
    """Who is told of errors that nobody else is."""

    def __init__(self, program: TaskProgram, *, detail: bool = False) -> None:
        self.program = program
        self.is_fifo = program.order == "fifo"
        self.ready: dict[int, Step] = {}
        """Steps that can be taken, in the order of the queue."""
        self.armed: dict[int, Step] = {}
        """What is to come from outside, in the order in which it was armed."""
        self.taken: list[Step] = []
        """The steps of the execution so far."""
        self.tasks: list[Task] = []
        self.fatal: BaseException | None = None
        self.errors: list[tuple[Step, BaseException]] = []
        """Exceptions of callbacks, which a loop only logs."""
        self.owner = Owner(program.path("loop"))
        self.step: Step | None = None
        self.spawned: list[Step] = []
        self._countdowns: dict[int, Countdown] = {}
        self._muted: Any = None
        """What the countdown completes whose callback runs: what it looks at is known."""
        self._woken: list[Step] | None = None
        self.accessed: list[int] = []
        """What the present step has accessed so far."""
        self.live = self.place("tasks", "live", "all tasks")
        self.end = self.place("loop", "end", "the end of the test")
        """What is armed is ignored after it: so whoever arms something looks at it."""
        self.settings = self.place("loop", "settings", "what the loop was told")
        self.generators = Generators(self)
        self.rounds = Rounds(self)
        self._faults = Faults(self, program.cancellations)
        self.recorder: TaskRecorder | None = TaskRecorder(self) if detail else None
        """Writes the execution down, if somebody asked for detail."""
        self.spun_on: dict[int, dict[Owner, Place]] = {}
        """By location, those who ever waited for it although they were ready (`spinning`)."""
        self.lost_wakeups: list[Task] = []
        """Tasks that were cancelled after they were woken, and before they ran."""
        self.holders: dict[int, Any] = {}
        """Which task has taken a lock last, by `id`; locks live as long as somebody waits."""
        self.workers = Workers(program)
        self.begin_network(program.split, program.resets)
        self.own = frozenset(vars(self))
        """Attributes that are no test's: what they stand for records itself."""

    # What is recorded

    def place(self, sort: str, name: str, words: str) -> Place:
        """Return a location of the front end's own."""
        known = self.program.places.get((sort, name))
        if known is None:
            known = Place(self.program.vocabulary, sort, name, f"{words} {name}".strip())
            self.program.places[sort, name] = known
        return known

    def touch(self, access: int, future: Any = None) -> None:
        """Record an access of the present step."""
        if self.step is None:
            return
        if self._muted is not None and (mode_of(access) is Mode.READ or future is self._muted):
            return
        self.accessed.append(access)

    def collect(self, codes: Codes, *_: Any) -> None:
        """Take note of accesses by rewritten code."""
        self.accessed.extend(codes)

    @contextmanager
    def owned_by(self, owner: Owner) -> Iterator[None]:
        """Let what is made meanwhile be that of somebody else, within the present step."""
        before, self.owner = self.owner, owner
        try:
            yield
        finally:
            self.owner = before

    # What can be asked of a loop

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        """Put a callback into the queue."""
        return self.enqueue("", callback, args, context)

    def enqueue(
        self, name: str, callback: Callable[..., object], args: Any, context: Context | None
    ) -> CallHandle:
        """Put a callback into the queue under a name, if it has one; a task's step has its own."""
        task = getattr(callback, "__self__", None)
        if isinstance(task, Task):
            step = self._step_of(task)
        else:
            if not (name and getattr(callback, "__module__", "") in _RECORDING_ITSELF):
                self._publish(callback, args)
            name = name or self.owner.next_name("/s")
            step = self._new_step(name, Owner(self.program.path(name)))
            if args and isinstance(args[0], Future):
                step.countdown = countdown_of(callback, args[0], self._countdowns)
        handle = CallHandle(callback, args, self, context)
        handle.step, step.handle = step, handle
        handle.where = self.place("handle", step.name, "handle")
        self.ready[step.process] = step
        self._schedule(step)
        return handle

    def _publish(self, callback: Any, args: tuple[Any, ...]) -> None:
        if self.step is not None:
            slots.hand_out(callback, "callback")
            for arg in args:
                slots.hand_out(arg, "argument")

    def _step_of(self, task: Task) -> Step:
        """Return the next step of a task, which is not before the last one that it was given."""
        step = self._new_step(task.as_owner.next_name("#"), task.as_owner)
        if task.moment is not step.moment:
            step.moment = latest([task.moment, step.moment])
        task.moment = step.moment
        return step

    def _new_step(self, name: str, owner: Owner) -> Step:
        process = self.program.vocabulary.process(name)
        now = self.step.moment if self.step is not None else BEGINNING
        return Step(name, process, owner, now)

    def _schedule(self, step: Step) -> None:
        """Take note that the present step has scheduled another one."""
        me = self.step
        if me is None:
            return
        step.armed_by = me
        if me.is_arrival and me.spin:
            step.spin, step.waits = me.spin, me.waits
            step.waits_for_time, step.woken_by = me.waits_for_time, me.woken_by
        if not step.is_arrival:
            place = len(self.spawned)
            step.positions = next_turns(me.positions, place)
        if self._woken is not None:
            self._woken.append(step)
        self.spawned.append(step)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        """Put a callback into the queue; from the loop's own thread, the only one there is."""
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Any:
        """Call back after a delay."""
        if delay is None:
            raise TypeError("delay must not be None")
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Any:
        """Call back at a time."""
        if when is None:
            raise TypeError("when cannot be None")
        name = self.owner.next_name("/t")
        self._publish(callback, args)
        step = self._new_step(name, Owner(self.program.path(name)))
        step.delay = max(0.0, when - self._now)
        step.deadline = step.moment.later(step.delay)
        step.moment = step.deadline
        step.is_timeout = _is_timeout(callback)
        handle = Timer(when, callback, args, self, context)
        handle.step, step.handle = step, handle
        handle.where = self.place("handle", name, "timer")
        if self._running is not None and spinning.ends_a_sleep(step):
            self._running.own_places.add(handle.where.number)
        if not (step.is_timeout and self.program.timeouts == "never"):
            self.arm(step)
        return handle

    def arm(self, step: Step) -> None:
        """Let a step come from outside."""
        step.is_arrival = True
        step.positions = (Position(step.process + 1, 0, ()),)
        self.touch(self.end.read)
        if self.recorder is not None:
            step.armed_at = place_of_caller()
        if self.is_over and not self._is_closing:
            return
        self.armed[step.process] = step
        self._schedule(step)

    def arrival(self, callback: Callable[..., object], *args: Any, mark: str = "/p") -> Step:
        """Let a callback come from outside, some time from now on."""
        name = self.owner.next_name(mark)
        step = self._new_step(name, Owner(self.program.path(name)))
        step.moment = step.moment.outside(name, self.program.latency)
        step.handle = handle = CallHandle(callback, args, self, copy_context())
        handle.step = step
        handle.where = self.place("handle", name, "handle")
        self.arm(step)
        return step

    def time(self) -> float:
        """Return the time of the present step."""
        self.has_shown_the_time = True
        return self._now

    @property
    def _now(self) -> float:
        return self.step.moment.seconds if self.step is not None else 0.0

    def note_future(self, future: Future) -> None:
        """Take note of who made a future."""
        task = self._running
        if task is not None and not isinstance(future, Task):
            task.own_places |= {future.where.number, future.listeners.number}

    def create_future(self) -> Any:
        """Return a new future."""
        return Future(loop=self)

    def create_task(
        self, coro: Any, *, name: Any = None, context: Any = None, **options: Any
    ) -> Any:
        """Make a task of a coroutine: what that can reach is shared from now on."""
        if self.step is not None:
            for item in _referents(coro):
                if type(item) not in ATOMS:
                    slots.hand_out(item, getattr(coro, "__name__", "coroutine"))
        self.touch(self.settings.read)
        task = made_by(self, self._factory, coro, name=name, context=context, **options)
        if self.step is not None:
            self._faults.threaten(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """Run a function elsewhere: here, as one step, when its result arrives."""
        del executor
        future = self.create_future()
        self.workers.are_given_work = True
        self._publish(func, args)
        function = slots.resolve(func)

        def finish() -> None:
            if future.cancelled():
                return
            self.workers.began(self.step)
            try:
                result = function(*args)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.arrival(finish)
        return future

    def get_debug(self) -> bool:
        """Tell whether asyncio's own checks are on; they are not."""
        return False

    def set_debug(self, enabled: bool) -> None:
        """Leave asyncio's own checks off: they look at stacks and at clocks."""

    def is_running(self) -> bool:
        """Tell whether it runs."""
        return True

    def is_closed(self) -> bool:
        """Tell whether it was closed."""
        return False

    def set_task_factory(self, factory: Any) -> None:
        """Let tasks be made by somebody else."""
        self.touch(self.settings.write)
        self._factory = checked(factory)

    def get_task_factory(self) -> Any:
        """Return who makes tasks."""
        self.touch(self.settings.read)
        return self._factory

    def get_exception_handler(self) -> Any:
        """Return what is told of errors that nobody else is."""
        self.touch(self.settings.read)
        return self._handler

    def set_exception_handler(self, handler: Any) -> None:
        """Tell somebody of errors that nobody else is told of; they are findings nevertheless."""
        self.touch(self.settings.write)
        self._handler = handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Take note of an error that is told to nobody else."""
        error = context.get("exception") or RuntimeError(str(context.get("message")))
        if self.step is not None:
            self.errors.append((self.step, error))
        self.touch(self.settings.read)
        if self._handler is not None:
            self._handler(self, context)

    def report(self, found: Violation) -> NoReturn:
        """Raise a finding where it shows; it is one even if the test catches it."""
        assert self.step is not None
        self.errors.append((self.step, found))
        raise found

    default_exception_handler = call_exception_handler

    async def shutdown_asyncgens(self) -> None:
        """Close the asynchronous generators that are left."""
        await self.generators.close()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Do nothing: there is no executor."""

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Do nothing: a cancelled timer is due at once, and does nothing."""

    # Running

    def enter(self) -> None:
        """Be the running loop, until `leave`: between steps, too, since to say so takes long."""
        asyncio.events._set_running_loop(self)
        self._hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self.generators.begun, self.generators.dropped)

    def leave(self) -> None:
        """Be it no more."""
        sys.set_asyncgen_hooks(*self._hooks)
        asyncio.events._set_running_loop(None)

    def forget(self) -> None:
        """Let go of steps and tasks, which would be garbage that only a collector finds."""
        for step in (*self.taken, *self.ready.values(), *self.armed.values()):
            step.handle = step.armed_by = step.woken_by = step.countdown = None
        for task in self.tasks:
            task._callbacks.clear()
        for kept in (self.taken, self.ready, self.armed, self.tasks, self.errors, self._countdowns):
            kept.clear()

    def run(self, step: Step) -> Codes:
        """Run a step; return what it accessed."""
        if self.ready.pop(step.process, None) is None:
            self.armed.pop(step.process, None)
        self.taken.append(step)
        self.step, self.owner = step, step.owner
        self.spawned = []
        scheduler = self.program.scheduler
        me = scheduler.me = step.owner.actor
        me.doing, me.now = (), step.moment.seconds
        self.accessed = []
        self.rounds.begin()
        self.has_shown_the_time = False
        control.begin_step()
        slots.announce = self.collect if self.recorder is None else self.recorder.collect
        try:
            with self.generators:
                self._run_handle(step)
            if self.main_is_done() and not self.is_over:
                self._note_the_end()
        finally:
            slots.announce = slots.nothing
            self.accessed += control.end_step(me)
            self.step = scheduler.me = None
        if self.fatal is not None:
            raise self.fatal
        accessed = self.accessed if step.countdown is None else added(self.accessed)
        codes = self._codes(step, accessed)
        if step.spin and not self.is_fifo:
            codes = (*step.spin, *codes)
        codes = (*codes, *spinning.written(self, step, codes))
        if self._running is not None:
            task, self._running = self._running, None
            spinning.look(self, task, codes)
            if step.waits and task.spins_at:  # it saw what it had seen before
                codes = tuple(access for access in codes if mode_of(access) is not Mode.READ)
        return codes

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Let what is armed arrive although the test is over, and whoever ends take steps."""
        self._is_closing = True
        self.owner = Owner(self.program.path("loop"))
        try:
            yield
        finally:
            self._is_closing = False

    def is_busy(self) -> bool:
        """Tell whether something can still happen of itself."""
        return bool(self.ready) or any(not step.is_fault for step in self.armed.values())

    def _note_the_end(self) -> None:
        """Take note that the test has ended; whoever called it looks at what it returned.

        That is when all is over, so that it is no access of this step.
        """
        self.is_over = True
        self.touch(self.end.write)
        known = len(self.accessed)
        read_deeply((self.tasks[0]._result,), None, deeply=True)
        del self.accessed[known:]

    def main_is_done(self) -> bool:
        """Tell whether the main task has ended."""
        return bool(self.tasks) and self.tasks[0]._state != "PENDING"

    def _codes(self, step: Step, collected: Any) -> Codes:
        """Return the accesses of a step that has been taken."""
        spawns = [code(new.process, Mode.SPAWN) for new in self.spawned if not new.joins]
        accesses = dict.fromkeys(collected)
        accesses.pop(OPEN, None)
        end = (OPEN,) if accesses and not self.is_fifo else ()
        return (*step.joins, *accesses, *spawns, *end)

    @outermost
    def _run_handle(self, step: Step) -> None:
        handle: Any = step.handle
        task = getattr(handle._callback, "__self__", None)
        if isinstance(task, Task):
            self._running = task
            task.begin_step()
        elif step.deadline is None or self.is_fifo:
            self.touch(handle.where.read)
        else:  # whether a timer is due, only a run can tell: it is at once if it is cancelled
            self.touch(handle.where.await_)
        if step.is_cancelled:
            return
        step.has_struck = True
        if step.countdown is not None:
            self._count(step, step.countdown)
        elif self._running is None:
            self._call(step)
        else:
            goes_on(frames_of(self._running))
            self._call(step)
            goes_on(frames_of(self._running))

    def _call(self, step: Step) -> None:
        handle: Any = step.handle
        callback = handle._callback
        is_own = getattr(callback, "__module__", "") in _RECORDING_ITSELF
        if not (is_own or isinstance(getattr(callback, "__self__", None), Task)):
            callback = slots.resolve(callback)
        try:
            handle._context.run(callback, *handle._args)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if isinstance(error, TreadleError):
                raise
            if self._is_closing and isinstance(error, asyncio.CancelledError):
                return  # a callback looks at a task that is cancelled because all is over
            self.call_exception_handler({"message": "in a callback", "exception": error})

    def _count(self, step: Step, countdown: Countdown) -> None:
        """Run a callback that counts, and record what it comes to."""
        outer = countdown.outer
        was_pending = outer is not None and outer._state == "PENDING"
        self._muted, self._woken = outer, []
        try:
            self._call(step)
        finally:
            woken, self._muted, self._woken = self._woken, None, None
        countdown.counted.append(step)
        if outer is None:
            return
        if not was_pending:
            self.touch(outer.where.read)
        elif outer._state == "PENDING":
            self.touch(outer.where.add)
        elif countdown.has_ended():
            self.touch(outer.where.add)
            for new in woken:
                new.joins = countdown.joins()
                new.positions = countdown.positions(new.positions[0].place[-1])
                new.moment = latest([new.moment, countdown.moment()])
        else:
            self.touch(outer.where.write)
            step.countdown = None


_RECORDING_ITSELF = ("asyncio.tasks", "asyncio.futures")
"""Modules whose callbacks touch futures and tasks, which record that, and nothing else."""


def _is_timeout(callback: Any) -> bool:
    """Tell whether a timer is that of `timeout`, `wait_for`, `wait` or `as_completed`."""
    return getattr(callback, "__module__", "") in ("asyncio.tasks", "asyncio.timeouts")


def _referents(coroutine: Any) -> list[Any]:
    """Return what a coroutine works with: its arguments and cells, in a fixed order."""
    return gc.get_referents(coroutine)


register(Loop, ObjectTable, lambda loop, label: given_attributes(loop, label, loop.own))

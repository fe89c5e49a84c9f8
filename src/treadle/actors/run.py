"""One execution of a program of actors; a process is a task, a step is one of its macro-steps.

A guided tour. `step` lets one task go on until it waits or ends: rule *mstep* of the thesis. Its
access codes say on what it depends (`levels`): that nobody holds the group, the group's state or
fields, the ends that it waited for, the tasks that it sent. `is_ready` is the premise of that rule.
What the task's own code calls meanwhile comes back here: `send`, `make`, `wait_in_get`,
`has_to_wait`, `read` and `write`.
"""

from __future__ import annotations

import contextvars
import inspect
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treadle.actors import control
from treadle.actors.actor import CLOSED, Actor, Body, Method, body_of
from treadle.actors.chains import Arrow, chain_through
from treadle.actors.future import Future
from treadle.actors.messages import copied
from treadle.actors.standing import chain_in_words, wait_of, waits_in_words, where
from treadle.actors.task import Group, Task, Waiting
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.events import OPEN, Codes, Mode
from treadle.core.program import CannotStepError, Crash, Ending, Restart, Run

if TYPE_CHECKING:
    from treadle.actors.program import Program

NEW, GET, AWAIT, UNTIL, PAUSED, ENDED = Waiting

_set = object.__setattr__
_UNWINDINGS = 100
"""How often a task that is to end may go on waiting."""


class Abort(BaseException):
    """Raised in tasks that stand in a `get` when their execution is over."""


class ActorRun(Run):
    """An execution; its processes are tasks."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.crashes: list[Crash] = []
        self.fatal: BaseException | None = None
        """Why the execution cannot go on; whatever the code under test made of it."""
        self.always_release = program.always_release
        self.steps = 0
        self.alive: dict[int, Task] = {}
        """Tasks that have not ended, oldest first."""
        self.actors: list[Actor] = []
        self.log: list[int] = []
        """Access codes of the step under way."""
        self._level = program.level
        self._fibers = program.fibers
        self._context = contextvars.copy_context()
        self._making: list[Group] = []
        """Groups of the actors whose initialisers are running."""
        self._opened: list[Actor] = []
        """Actors whose fields are at hand besides those of the task's own actor."""
        self._failed: list[tuple[Task, int]] = []
        """Tasks that ended with an exception, and in which step."""
        self.chain: tuple[Arrow, ...] = ()
        """The deadlock chain that was seen first, if there is one."""
        self._is_evaluating = False
        self._is_closing = False
        self._aborts_left = _UNWINDINGS
        self._tasks = 1
        self.main = Task(
            self, program.main_names, None, Group(program.main_group),
            program.main, program.args, program.kwargs, born=-1,
        )  # fmt: skip
        self.alive[self.main.number] = self.main

    # Stepping

    def step(self, process: int) -> Codes:
        """Let a task take one macro-step, and return what it accessed."""
        task = self.alive.get(process)
        if task is None:
            raise CannotStepError(process)
        waiting, group, actor = task.waiting, task.group, task.actor
        self.log = log = [*self._level.begins(task)]
        if waiting is GET:
            group.holder = None
            task.joined.add(task.target)  # type: ignore[arg-type]
        elif waiting is AWAIT:
            task.joined.add(task.target)  # type: ignore[arg-type]
        elif waiting is NEW:
            task.context = self._context.copy()
        control.current = task
        if actor is not None:
            _set(actor, "__dict__", body_of(actor).fields)
        self._fibers.run(task)
        control.current = None
        if actor is not None:
            _set(actor, "__dict__", CLOSED)
        if self._opened:
            self._close_all()
        if self.fatal is not None:
            raise self.fatal
        if task.waiting is GET:
            group.holder = task
        self._level.ends(task, log)
        self.steps += 1
        if task.waiting in (GET, AWAIT) and not self.chain:
            self.chain = chain_through(task)
        return tuple(log)

    def _close_all(self) -> None:
        for actor in self._opened:
            _set(actor, "__dict__", CLOSED)
        self._opened.clear()

    def advance(self, task: Task) -> None:
        """Run a task's code until it waits or ends; called in a greenlet."""
        try:
            coroutine = task.coroutine
            if coroutine is None:
                bound = () if task.actor is None else (task.actor,)
                returned = task.function(*bound, *task.args, **task.kwargs)
                if type(returned) is not types.CoroutineType:
                    self._end(task, returned)
                    return
                coroutine = task.coroutine = returned
            before = task.waiting
            task.waiting = ENDED  # whatever it awaits says otherwise
            if coroutine.send(None) is not None or task.waiting is ENDED:
                task.waiting = before
                self._refuse_awaited(task)
        except StopIteration as stop:
            self._end(task, stop.value)
        except Abort:
            self._ended(task)
        except (TreadleError, TreadleBug, CannotStepError, KeyboardInterrupt) as error:
            self.fatal = self.fatal or error
            self._ended(task)
        except BaseException as error:
            self._fail(task, error)

    def _refuse_awaited(self, task: Task) -> None:
        frame = task.coroutine.cr_frame  # type: ignore[union-attr]
        line = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "?"
        raise TreadleError(
            f"{task.in_words} awaits something that is no future, until() or pause() ({line}): "
            f"tasks wait for each other only"
        )

    def _end(self, task: Task, result: Any) -> None:
        task.result = copied(result, lambda: f"the result of {task.in_words}")
        self._ended(task)

    def _fail(self, task: Task, error: BaseException) -> None:
        """Keep an exception in the task's future; a failed assertion is a finding at once."""
        self._ended(task)
        if self._is_closing:
            return
        task.error = error
        is_new = all(crash.exception is not error for crash in self.crashes)
        if isinstance(error, AssertionError):
            if is_new:
                self.crashes.append(Crash(task.number, self.steps, error))
        else:
            self._failed.append((task, self.steps))

    def _ended(self, task: Task) -> None:
        task.waiting = ENDED
        task.coroutine = None
        self.alive.pop(task.number, None)

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1."""
        step, alive, is_ready = self.step, self.alive, self.is_ready
        for index in range(length):
            process = processes[index]
            task = alive.get(process)
            if task is None or not is_ready(task):
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
        while True:
            if task is None or task.waiting is ENDED or not is_ready(task):
                task = next(filter(is_ready, alive.values()), None)
                if task is None:
                    return True
            if len(codes) >= limit:
                return False
            codes.append(step(task.number))
            processes.append(task.number)

    # Who can go on

    def enabled(self) -> list[int]:
        """Return the tasks that can take a step, oldest first."""
        return [task.number for task in self.alive.values() if self.is_ready(task)]

    def is_enabled(self, process: int) -> bool:
        """Tell whether a task can take a step."""
        task = self.alive.get(process)
        return task is not None and self.is_ready(task)

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
        control.current = task
        if task.actor is not None:
            _set(task.actor, "__dict__", body_of(task.actor).fields)
        try:
            assert task.condition is not None
            return self.holds(task, task.condition)
        except TreadleError:
            raise
        except Exception:
            return True
        finally:
            control.current = None
            if task.actor is not None:
                _set(task.actor, "__dict__", CLOSED)
            self._close_all()

    def holds(self, task: Task, condition: Callable[[], object]) -> bool:
        """Evaluate a condition of the task that runs; nothing may happen meanwhile."""
        del task
        self._is_evaluating = True
        try:
            return bool(condition())
        finally:
            self._is_evaluating = False

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the tasks that wait, with the accesses that their next step begins with."""
        return [
            (task.number, self._level.pending(task))
            for task in self.alive.values()
            if not self.is_ready(task)
        ]

    # What a task's code calls

    def send(
        self,
        me: Task,
        actor: Actor,
        method: Method[Any, Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Future[Any]:
        """Make a task of an actor."""
        self._refuse_while_evaluating(f"{method.name} is sent")
        method.check(args, kwargs)
        args = tuple([
            copied(value, lambda: f"argument {index} of {method.name}")
            for index, value in enumerate(args, 1)
        ])  # fmt: skip
        for key, value in kwargs.items():
            kwargs[key] = copied(value, lambda: f"argument {key} of {method.name}")  # noqa: B023
        me.sent += 1
        names = me.names.sent(me.sent, method.name)
        group = body_of(actor).group
        task = Task(self, names, actor, group, method.function, args, kwargs, self.steps)
        self.alive[names.number] = task
        self.log.append(names.spawn)
        self._tasks += 1
        return task.future

    def make(
        self, me: Task, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], *, is_local: bool
    ) -> Actor:
        """Make an actor, and run its initialiser."""
        self._refuse_while_evaluating(f"a {cls.__name__} is made")
        kind = cls.__name__
        index = me.created[kind] = me.created.get(kind, 0) + 1
        names = me.names.made(kind, index)
        if is_local:
            group = self._making[-1] if self._making else me.group
        else:
            group = Group(names)
            args = copied(args, lambda: f"an argument of {kind}()")
            kwargs = copied(kwargs, lambda: f"an argument of {kind}()")
        actor: Actor = object.__new__(cls)
        body = Body(names, group, kind)
        _set(actor, "_treadle_body", body)
        _set(actor, "__dict__", body.fields)
        self.actors.append(actor)
        self._making.append(group)
        try:
            cls.__init__(actor, *args, **kwargs)  # type: ignore[misc]
        finally:
            self._making.pop()
            _set(actor, "__dict__", CLOSED)
        start = inspect.getattr_static(cls, "run", None)
        if isinstance(start, Method):
            self.send(me, actor, start, (), {})
        return actor

    def _refuse_while_evaluating(self, what: str) -> None:
        if self._is_closing:
            raise Abort
        if self._is_evaluating:
            control.refuse(f"{what} in a condition of until(), which may only look at fields")

    def is_within(self, me: Task, actor: Actor) -> bool:
        """Tell whether an actor is of the group whose code is running."""
        group = body_of(actor).group
        return group is me.group or group in self._making

    def wait_in_get(self, me: Task, target: Task) -> None:
        """End the step: the task goes on when another has ended, and keeps its group."""
        self._refuse_while_evaluating("a future is waited for")
        if self._making:
            control.refuse("a future is waited for in an initialiser: send it, and get it later")
        me.waiting = GET
        me.target = target
        self._fibers.stop(me)
        if self._is_closing:
            self._go_on_unwinding()

    def _go_on_unwinding(self) -> None:
        self._aborts_left -= 1
        raise Abort

    def has_to_wait(self, me: Task, target: Task) -> bool:
        """Tell whether a task that awaits another has to release its group."""
        self._refuse_while_evaluating("a future is awaited")
        if target in me.joined:
            return False
        if not self.always_release:
            if target.born != self.steps:
                self._test(target)
            if target.waiting is ENDED:
                me.joined.add(target)
                return False
        me.waiting = AWAIT
        me.target = target
        return True

    def _test(self, target: Task) -> None:
        """Take note that what the step does depends on whether an older task has ended."""
        if not self.program.is_tested(target.key):
            self.program.learn_tested(target.key)
        elif OPEN not in self.log:
            self.log += (target.names.status(Mode.READ), OPEN)
        else:
            self.log.append(target.names.status(Mode.READ))

    def read(self, actor: Actor, name: str) -> Any:
        """Return a field of an actor that is not at hand: another one of the group, or nobody's."""
        me = control.running(f"{name} of an actor is read")
        body = body_of(actor)
        if self.is_within(me, actor):
            if actor.__dict__ is CLOSED:
                _set(actor, "__dict__", body.fields)
                self._opened.append(actor)
            if name in body.fields:
                return body.fields[name]
            raise AttributeError(f"{body.kind!r} object has no attribute {name!r}")
        if name in body.fields:
            control.refuse(
                f"{me.in_words} reads {name} of {actor!r}, which is another actor: fields are its "
                f"own, send it a method that returns {name}"
            )
        self._refuse_unknown(actor, name)

    def _refuse_unknown(self, actor: Actor, name: str) -> None:
        import difflib

        methods = [
            n
            for n in dir(type(actor))
            if isinstance(inspect.getattr_static(type(actor), n), Method)
        ]
        close = difflib.get_close_matches(name, methods, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(methods) or 'none'}"
        control.refuse(f"{body_of(actor).kind} has no method {name!r}: {hint}")

    def write(self, actor: Actor, name: str, value: Any) -> None:
        """Write a field of an actor that is not at hand."""
        me = control.running(f"{name} of an actor is written")
        if not self.is_within(me, actor):
            control.refuse(
                f"{me.in_words} writes {name} of {actor!r}, which is another actor: fields are its "
                f"own, send it a method that writes {name}"
            )
        _set(actor, "__dict__", body_of(actor).fields)
        self._opened.append(actor)
        _set(actor, name, value)

    # The end

    def ending(self) -> Ending:
        """Describe the final state of a run that has no enabled task."""
        self._settle()
        waits = [wait_of(task) for task in self.alive.values()]
        if self.chain:
            return Ending(self.crashes, waits, kind="deadlock", message=chain_in_words(self.chain))
        if self.crashes:  # others may wait only because of it
            return Ending(self.crashes)
        return Ending(self.crashes, waits, kind="stuck", message=waits_in_words(waits))

    def _settle(self) -> None:
        """Take exceptions for findings that nobody has retrieved by the end."""
        for task, step in self._failed:
            assert task.error is not None
            if not task.is_retrieved:
                self.crashes.append(Crash(task.number, step, task.error))
        self._failed.clear()

    def where(self, process: int) -> str:
        """Return `file:line` of where a task stands."""
        task = self.alive.get(process)
        return "" if task is None else where(task)

    def close(self) -> None:
        """End the run, and begin anew if it showed something that the program did not know."""
        self.drop()
        if self.program.has_learned():
            raise Restart

    def drop(self) -> None:
        """End the run: unwind the tasks that wait."""
        self._is_closing = True
        for task in list(self.alive.values()):
            control.current = task
            try:
                if task.fiber is not None:
                    self._fibers.unwind(task, Abort)
                elif task.coroutine is not None:
                    task.coroutine.close()
            except BaseException:  # noqa: S110 - its clean-up is nobody's step
                pass
            finally:
                control.current = None
        self.alive.clear()

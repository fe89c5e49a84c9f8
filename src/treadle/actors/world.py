"""The actors and tasks of one execution, and what a task's code can do to them.

`x.m.send()`, `C()`, `f.get()`, `await f`, and fields that are not at hand all end up here; always
on behalf of the task whose macro-step is under way.
"""

from __future__ import annotations

import difflib
import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.actors import control
from treadle.actors.actor import CLOSED, INITIAL, Actor, Body, Method, body_of
from treadle.actors.future import Future
from treadle.actors.messages import copied
from treadle.actors.state import result_of
from treadle.actors.task import Group, Task, Waiting
from treadle.core.events import OPEN, Mode
from treadle.core.program import Crash

if TYPE_CHECKING:
    from treadle.actors.programs import Program

set_attribute = object.__setattr__
"""For actors, whose own way asks whether their fields are at hand."""


MUTABLE = "mutable "
"""What knowledge begins with about classes that are treated at the actor level."""
TESTED, TESTING = "tested ", "testing "
"""What knowledge begins with about methods on whose ends a step depends, and about that step's."""


_ABORTS = 1000
"""How often tasks of an execution that is over may try to go on."""


class Abort(BaseException):
    """Ends a task whose execution is over."""


class TooManyTasks(Exception):
    """Ends an execution that sends more and more."""


class World(ABC):
    """The actors and tasks of one execution."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.crashes: list[Crash] = []
        self.fatal: BaseException | None = None
        """Why the execution cannot go on; whatever the code under test made of it."""
        self.always_release = program.always_release
        self.steps = 0
        self.alive: dict[int, Task] = {}
        """Tasks that have not ended, oldest first."""
        self.everybody: dict[int, Task] = {}
        """All tasks, ended ones too."""
        self.actors: list[Actor] = []
        self.log: list[int] = []
        """Access codes of the step under way."""
        self.is_over = False
        """Whether nobody is to go on, although somebody could."""
        self.is_closing = False
        self._aborts_left = _ABORTS
        self.last_sent: dict[object, Task] = {}
        """The latest task of each channel, if messages are taken up in some order."""
        self._fields = program.level.fields
        self._order = program.ordering
        self._fibers = program.fibers
        self._making: list[Group] = []
        """Groups of the actors whose initialisers are running."""
        self.touched: list[Actor] = []
        """Actors whose fields are at hand besides those of the task's own actor."""

    @abstractmethod
    def advance(self, task: Task) -> None:
        """Run a task's code until it waits or ends; called in a greenlet."""

    # Sending and making

    def send(
        self,
        me: Task,
        actor: Actor,
        method: Method[Any, Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Future[Any]:
        """Make a task of an actor."""
        self._refuse_here("something is sent")
        if not isinstance(actor, Actor) or body_of(actor).world is not self:
            control.refuse(f"{method.name} is sent to an actor of another execution: make it anew")
        method.check(args, kwargs)
        if args:
            args = copied(args, lambda: f"an argument of {method.name}")
        if kwargs:
            kwargs = copied(kwargs, lambda: f"an argument of {method.name}")
        me.sent += 1
        names = me.names.sent(me.sent, method.name)
        group = body_of(actor).group
        task = Task(self, names, actor, group, method.function, args, kwargs, self.steps)
        task.sender = me.group
        self.alive[names.number] = self.everybody[names.number] = task
        self.log.append(names.spawn)
        if self._order is not None:
            self._order.sent(me, task)
        if len(self.everybody) > self.program.max_tasks:
            self._refuse_more_tasks(me)
        return task.future

    def _refuse_more_tasks(self, me: Task) -> None:
        """End the execution: it sends more and more."""
        counts = Counter(task.names.method for task in self.everybody.values())
        family = counts.most_common(1)[0][0]
        self.is_over = True
        error = TooManyTasks(
            f"no end after {self.program.max_tasks} tasks, {counts[family]} of them {family}: "
            f"{me.in_words} sends one more ({control.here()}); raise max_tasks if it is meant to "
            f"run longer"
        )
        self.crashes.append(Crash(me.number, self.steps, error, "budget"))
        raise error

    def make(
        self, me: Task, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], *, is_local: bool
    ) -> Actor:
        """Make an actor, and run its initialiser."""
        self._refuse_here("an actor is made")
        group = None
        if is_local:
            group = self._making[-1] if self._making else me.group
        elif args or kwargs:
            args, kwargs = copied((args, kwargs), lambda: f"an argument of {cls.__name__}()")
        initialise = cls.__init__  # type: ignore[misc]
        actor = self._placed(me, cls, group, lambda actor: initialise(actor, *args, **kwargs))
        initial = INITIAL[cls]
        if initial is not None:
            self.send(me, actor, initial, (), {})
        return actor

    def restored(self, me: Task, cls: type, fields: dict[str, Any]) -> Actor:
        """Make an actor with certain fields, without its initialiser."""
        self._refuse_here("an actor is restored")
        return self._placed(me, cls, None, lambda actor: self._set_all(actor, fields))

    def give_fields(self, actor: Actor, fields: dict[str, Any]) -> None:
        """Give fields to an actor that was restored."""
        self._making.append(body_of(actor).group)
        try:
            self._set_all(actor, fields)
        finally:
            self._making.pop()

    def _set_all(self, actor: Actor, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            setattr(actor, name, copied(value, lambda name=name: f"{name} of {actor!r}"))  # type: ignore[misc]

    def _placed(
        self, me: Task, cls: type, group: Group | None, initialise: Callable[[Actor], None]
    ) -> Actor:
        """Make an actor in a group, one of its own if none is given; let it be initialised."""
        kind = cls.__name__
        index = me.created[kind] = me.created.get(kind, 0) + 1
        names = me.names.made(kind, index)
        group = group or Group(names)
        actor: Actor = object.__new__(cls)
        body = Body(self, names, group, kind)
        set_attribute(actor, "_treadle_body", body)
        self.actors.append(actor)
        self._making.append(group)
        is_at_hand = self._fields is None or self._fields.is_native(actor)
        set_attribute(actor, "__dict__", body.fields if is_at_hand else CLOSED)
        try:
            initialise(actor)
        finally:
            self._making.pop()
            set_attribute(actor, "__dict__", CLOSED)
        self.program.level.made(self, actor)
        return actor

    def _refuse_here(self, what: str) -> None:
        """Refuse what conditions must not do; end who goes on after the end."""
        if self.is_closing:
            self._abort()
        if control.is_evaluating:
            control.refuse(f"{what} in a condition of until(), which may only look at fields")

    # Waiting

    def wait_in_get(self, me: Task, target: Task) -> None:
        """End the step: the task goes on when another has ended, and keeps its group."""
        self._refuse_here("a future is waited for")
        if self._making:
            control.refuse("a future is waited for in an initialiser: send it, and get it later")
        me.waiting = Waiting.GET
        me.target = target
        self._fibers.stop(me)
        if self.is_closing:
            self._abort()

    def _abort(self) -> NoReturn:
        """End a task after the end of the execution; leave it where it is if it goes on and on."""
        self._aborts_left -= 1
        if self._aborts_left <= 0:
            self.park()
        raise Abort

    def park(self) -> NoReturn:
        """Leave the code that is running where it is, for ever."""
        self._fibers.park()

    def has_to_wait(self, me: Task, target: Task) -> bool:
        """Tell whether a task that awaits another has to release its group."""
        self._refuse_here("a future is awaited")
        if target in me.joined:
            return False
        if not self.always_release:
            if target.born != self.steps:
                self._test(me, target)
            if target.has_ended:
                me.joined.add(target)
                if me.seen is not None:
                    me.seen.append(result_of(target))
                return False
        me.waiting = Waiting.AWAIT
        me.target = target
        return True

    def _test(self, me: Task, target: Task) -> None:
        """Take note that what the step does depends on whether an older task has ended."""
        if target.key not in self.program.tested:
            self.program.learn(f"{TESTED}{target.key}")
        if me.key not in self.program.testing:
            self.program.learn(f"{TESTING}{me.key}")
        self.log += (target.names.status(Mode.READ), OPEN)

    def holds(self, condition: Callable[[], object]) -> bool:
        """Evaluate a condition of the task that runs; nothing may happen meanwhile."""
        control.is_evaluating = True
        try:
            return bool(condition())
        finally:
            control.is_evaluating = False

    # Fields

    def is_within(self, me: Task, actor: Actor) -> bool:
        """Tell whether an actor is of the group whose code is running."""
        group = body_of(actor).group
        return group is me.group or group in self._making

    def read(self, me: Task, actor: Actor, name: str) -> Any:
        """Return a field of an actor that is not at hand: another one of the group, or nobody's."""
        body = body_of(actor)
        if not self.is_within(me, actor):
            self._refuse_reading(me, actor, name)
        if name not in body.fields:
            raise AttributeError(f"{body.kind!r} object has no attribute {name!r}")
        if self._fields is None or self._fields.is_native(actor):
            self.open(actor)
        else:
            self._fields.read(self, actor, name)
        return body.fields[name]

    def write(self, me: Task, actor: Actor, name: str, value: Any, references: int) -> None:
        """Write a field of an actor that is not at hand; `references` are those to the value."""
        if not self.is_within(me, actor):
            control.refuse(
                f"{me.in_words} writes {name} of {actor!r}, which is another actor: fields are its "
                f"own, send it a method that writes {name}"
            )
        body = body_of(actor)
        if self._fields is None or self._fields.is_native(actor):
            self.open(actor)
            set_attribute(actor, name, value)
            return
        body.fields[name] = self._fields.written(self, actor, name, value, references)
        if hasattr(type(actor), name):  # it would be found first: let it be found in the fields
            self.open(actor)
            self.program.learn(f"{MUTABLE}{type(actor).__qualname__}")
        elif actor not in self.touched:
            self.touched.append(actor)

    def open(self, actor: Actor) -> None:
        """Let an actor have its fields at hand, until the end of the step."""
        if actor.__dict__ is CLOSED:
            set_attribute(actor, "__dict__", body_of(actor).fields)
            self.touched.append(actor)

    def close_actors(self) -> None:
        """Let no actor have its fields at hand."""
        for actor in self.touched:
            set_attribute(actor, "__dict__", CLOSED)
        self.touched.clear()

    def _refuse_reading(self, me: Task, actor: Actor, name: str) -> NoReturn:
        if name in body_of(actor).fields:
            control.refuse(
                f"{me.in_words} reads {name} of {actor!r}, which is another actor: fields are its "
                f"own, send it a method that returns {name}"
            )
        kind = type(actor)
        known = [n for n in dir(kind) if isinstance(inspect.getattr_static(kind, n), Method)]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known) or 'none'}"
        control.refuse(f"{kind.__name__} has no method {name!r}: {hint}")

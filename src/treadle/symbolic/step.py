"""One macro-step of a task on a state: rule *mstep* of the thesis, with symbols.

A task goes on from where it stands until it waits or ends. `successors` yields a state for each
way in which the step can go: `decisions` chooses, the rest of the machine is as in a concrete run.
Names of tasks and actors are those of the concrete run, too, so that it can be given the same
schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType

from treadle.analyses.ir import (
    Assert,
    Assign,
    Await,
    Branch,
    Call,
    Evaluate,
    Expression,
    Get,
    Havoc,
    Instruction,
    Jump,
    Method,
    New,
    Pause,
    Raise,
    Return,
    Send,
    SetField,
    Until,
    Update,
)
from treadle.analyses.known import function_of
from treadle.symbolic.code import Code
from treadle.symbolic.decisions import Choices, Impossible, PathEnds, Raised
from treadle.symbolic.kinds import Kinds
from treadle.symbolic.limits import Limits
from treadle.symbolic.solver import Solver
from treadle.symbolic.state import Actor, Frame, State, Taken, Task, Waiting
from treadle.symbolic.updates import Updates
from treadle.symbolic.values import Box, Future, Reference, Term, Value, Whatever

_INITIAL = "run"
"""The method that is sent to new actors, if their class has it."""


class Machine:
    """Takes steps of the tasks of some classes."""

    def __init__(self, code: Code, limits: Limits) -> None:
        self.code = code
        self.limits = limits
        self.kinds = Kinds(code)
        self.solver = Solver()

    def successors(self, state: State, name: str) -> Iterator[Outcome]:
        """Yield what a step of a task can lead to."""
        choices: list[int] | None = []
        while choices is not None:
            tried = Choices(choices)
            step = self._step(state.copy(), name, tried)
            try:
                step.take()
            except Impossible:
                pass
            except PathEnds:
                yield Outcome(step, is_cut=True)
            else:
                yield Outcome(step, is_cut=False)
            choices = tried.next()

    def may_hold(self, state: State, name: str) -> bool:
        """Tell whether the condition can hold that a task waits for."""
        choices: list[int] | None = []
        while choices is not None:
            tried = Choices(choices)
            try:
                if self._step(state.copy(), name, tried).holds():
                    return True
            except Impossible:
                pass
            except (PathEnds, Raised):  # its step will tell
                return True
            choices = tried.next()
        return False

    def given_up(self, state: State, waiting: Sequence[str]) -> Iterator[State]:
        """Yield the states in which none of the conditions holds that tasks wait for."""
        if not waiting:
            yield state
            return
        choices: list[int] | None = []
        while choices is not None:
            tried = Choices(choices)
            step = self._step(state.copy(), waiting[0], tried)
            try:
                if not step.holds():
                    yield from self.given_up(step.state, waiting[1:])
            except (Impossible, PathEnds, Raised):
                pass
            choices = tried.next()

    def _step(self, state: State, name: str, choices: Choices) -> Step:
        task = state.tasks[name] = state.tasks[name].copy()
        return Step(self.code, self.kinds, self.solver, self.limits, state, task, choices)


class Outcome:
    """Where a step led to; `tested`: tasks that it asked whether they have ended."""

    __slots__ = ("is_cut", "state", "tested")

    def __init__(self, step: Step, *, is_cut: bool) -> None:
        self.state = step.state
        self.tested = frozenset(step.tested)
        self.is_cut = is_cut


class Step(Updates):
    """A step that is under way."""

    tested: set[str]

    def take(self) -> None:
        """Let the task go on until it waits or ends."""
        self.tested = set()
        task, first = self.task, self.task.line
        try:
            self._resume()
            for _ in range(self.limits.instructions):
                if task.waiting is not Waiting.NEW:
                    break
                self._execute(task.frames[-1])
            else:
                self.ends(f"{self.limits.instructions} instructions of a macro-step")
        except Raised as error:
            self._fail(str(error))
        if task.waiting is Waiting.GET:
            self.state.holders[task.group] = task.name
        status = "error" if task.error else task.waiting.value
        last = task.line if task.frames else first
        self.state.table += (
            Taken(task.name, task.method, task.actor, first, status, last, task.target),
        )

    def holds(self) -> bool:
        """Decide the condition that the task waits for."""
        until = self._instruction()
        assert isinstance(until, Until)
        return self.truth(self.evaluate(until.condition))

    def _instruction(self) -> Instruction:
        frame = self.task.frames[-1]
        return frame.method.instructions[frame.position]

    def _resume(self) -> None:
        """Take up a task where it stands; `NEW` means that it runs, from here on."""
        task, waiting = self.task, self.task.waiting
        task.waiting = Waiting.NEW
        if waiting is Waiting.NEW:
            return
        if waiting in (Waiting.GET, Waiting.AWAIT):
            task.joined |= {task.target}
            self.state.holders.pop(task.group, None)
            instruction = self._instruction()
            assert isinstance(instruction, Get | Await | Call)
            self._retrieve(instruction.target, task.target, raises=_retrieves(instruction))
            return
        if waiting is Waiting.UNTIL and not self.holds():
            raise Impossible
        task.frames[-1].position += 1

    # Instructions

    def _execute(self, frame: Frame) -> None:
        instruction = frame.method.instructions[frame.position]
        match instruction:
            case Assign(target, value):
                frame.names[target] = self.evaluate(value)
            case SetField(name, value):
                assert frame.this is not None
                self._set_field(frame.this, name, self.evaluate(value))
            case Evaluate(value):
                self.evaluate(value)
            case Update(target, container, operation, operands):
                given = self.evaluated(operands)
                frame.names[target] = self.update(self.evaluate(container), operation, given)
            case Assert(value):
                if not self.truth(self.evaluate(value)):
                    raise Raised("AssertionError")
            case Branch(test, then, other):
                frame.position = then if self.truth(self.evaluate(test), frame.position) else other
                return
            case Jump(to):
                frame.position = to
                return
            case _:
                self._effect(frame, instruction)
                return
        frame.position += 1

    def _effect(self, frame: Frame, instruction: Instruction) -> None:
        match instruction:
            case Return(value):
                self._return(self.evaluate(value))
            case Raise():
                raise Raised(str(instruction.value).partition("(")[0])
            case New():
                self._new(frame, instruction)
            case Send(target, receiver, method, arguments, keywords):
                to = self._receiver(receiver, method)
                given = self._values(arguments, keywords)
                frame.names[target] = Future(self._send(to, method, *given))
                frame.position += 1
            case Call():
                self._call(frame, instruction)
            case Get() | Await():
                self._wait(instruction)
            case Until():
                if self.holds():
                    frame.position += 1
                else:
                    self.task.waiting = Waiting.UNTIL
            case Pause():
                self.task.waiting = Waiting.PAUSED
            case Havoc(why):
                self.ends(f"{frame.method.name}, {instruction.span}: {why}")

    def _set_field(self, actor: str, name: str, value: Value) -> None:
        self.state.actors[actor] = self.state.actors[actor].having(name, value)

    def _values(
        self, arguments: tuple[Expression, ...], keywords: tuple[tuple[str, Expression], ...]
    ) -> tuple[list[Value], dict[str, Value]]:
        if any(name == "**" for name, _ in keywords):
            self.ends("arguments behind ** are not followed")
        return self.evaluated(arguments), {name: self.evaluate(v) for name, v in keywords}

    # Waiting

    def _wait(self, instruction: Get | Await) -> None:
        future = self.resolve(self.evaluate(instruction.future), sent=True)
        if isinstance(future, Whatever):
            self.ends("a future that the engine does not follow")
        if not isinstance(future, Future):
            raise Raised("AttributeError" if isinstance(instruction, Get) else "TypeError")
        task, target = self.task, self.state.tasks[future.task]
        if isinstance(instruction, Await) and target.name not in task.joined:
            if target.born != len(self.state.table):
                self.tested.add(target.name)
            if target.has_ended:
                task.joined |= {target.name}
        if target.name in task.joined:
            self._retrieve(instruction.target, target.name, raises=_retrieves(instruction))
            return
        task.target = target.name
        task.waiting = Waiting.GET if isinstance(instruction, Get) else Waiting.AWAIT

    def _retrieve(self, name: str | None, target: str, *, raises: bool) -> None:
        """Give the result of a task to who has waited for it, and go on."""
        frame, task = self.task.frames[-1], self.state.tasks[target]
        if task.error and raises:
            self.state.tasks[target] = task = task.copy()
            task.is_retrieved = True
            raise Raised(task.error)
        if name is not None:
            frame.names[name] = self._copied(task.result)
        frame.position += 1

    # Sending and making

    def _receiver(self, receiver: Expression, method: str) -> str:
        value = self.resolve(self.evaluate(receiver), sent=True)
        if isinstance(value, Whatever | Term):
            self.ends(f"an actor that the engine does not follow is sent {method}")
        if not isinstance(value, Reference):
            raise Raised("AttributeError")
        if function_of(self.state.actors[value.name].cls, method) is None:
            raise Raised("AttributeError")
        return value.name

    def _send(
        self, to: str, method: str, arguments: list[Value], keywords: dict[str, Value]
    ) -> str:
        task, actor = self.task, self.state.actors[to]
        body = self.code.method(actor.cls, method)
        copies = [self._copied(value) for value in arguments]
        named = {name: self._copied(value) for name, value in keywords.items()}
        task.sent += 1
        name = f"{task.name}.{task.sent}:{method}"
        frame = Frame(body, to, self._bound(body, copies, named))
        self.state.tasks[name] = Task(
            name, actor.cls, method, to, actor.group, [frame], len(self.state.table)
        )
        return name

    def _bound(
        self, method: Method, arguments: list[Value], keywords: dict[str, Value]
    ) -> dict[str, Value]:
        """Return the parameters of a call by name."""
        given = {**dict(zip(method.parameters, arguments, strict=False)), **keywords}
        for name, value in method.defaults:
            if name not in given:
                given[name] = self.evaluate(value)
        if len(arguments) > len(method.parameters) or set(given) != set(method.parameters):
            raise Raised("TypeError")
        return given

    def _copied(self, value: Value) -> Value:
        """Messages are values: what can be changed is copied."""
        if isinstance(value, Box):
            items = tuple(self._copied(item) for item in self.state.boxes[value.name])
            return self.boxed(value.kind, items)
        if isinstance(value, tuple) and any(map(_has_box, value)):
            return tuple(self._copied(item) for item in value)
        return value

    def _new(self, frame: Frame, new: New) -> None:
        arguments, keywords = self._values(new.arguments, new.keywords)
        kind = new.type.__name__
        index = self.task.made[kind] = self.task.made.get(kind, 0) + 1
        name = f"{self.task.name}/{kind}{index}"
        group = name
        if new.local:
            group = self._current_group()
        else:
            arguments = [self._copied(value) for value in arguments]
            keywords = {each: self._copied(value) for each, value in keywords.items()}
        self.state.actors[name] = Actor(new.type, group, {}, initial=False)
        function = function_of(new.type, "__init__")
        if function is None:
            frame.position += 1
            self._made(frame, new.target, name)
            return
        body = self.code.function(function, is_method=True)
        names = self._bound(body, arguments, keywords)
        self.task.frames.append(Frame(body, name, names, target=new.target, makes=name))

    def _current_group(self) -> str:
        """Return the group of what is being executed: an initialiser's is that of its object."""
        for each in reversed(self.task.frames):
            if each.makes is not None:
                return self.state.actors[each.makes].group
        return self.task.group

    def _made(self, frame: Frame, target: str | None, name: str) -> None:
        if function_of(self.state.actors[name].cls, _INITIAL) is not None:
            self._send(name, _INITIAL, [], {})
        if target is not None:
            frame.names[target] = Reference(name)

    # Calls

    def _call(self, frame: Frame, call: Call) -> None:
        if call.receiver is None:
            assert isinstance(call.function, FunctionType)
            body, this = self.code.function(call.function, is_method=False), None
        else:
            to = self._receiver_of_call(call)
            if to is None:
                return
            this = to
            body = self._called_body(call, to)
        given = self._values(call.arguments, call.keywords)
        names = self._bound(body, *given)
        if len(self.task.frames) > self.limits.instructions // 100:
            self.ends("a recursion that is too deep")
        self.task.frames.append(Frame(body, this or frame.this, names, target=call.target))

    def _called_body(self, call: Call, to: str) -> Method:
        if isinstance(call.function, FunctionType):
            return self.code.function(call.function, is_method=True)
        return self.code.method(self.state.actors[to].cls, call.method)

    def _receiver_of_call(self, call: Call) -> str | None:
        """Return who is called in the same task; None if the call is sent and waited for."""
        assert call.receiver is not None
        to = self._receiver(call.receiver, call.method)
        if self.state.actors[to].group == self._current_group():
            return to
        if not call.crosses:
            self.ends(f"{call.method} of another actor is called, not sent")
        given = self._values(call.arguments, call.keywords)
        self.task.target = self._send(to, call.method, *given)
        self.task.waiting = Waiting.GET
        return None

    # The end

    def _return(self, value: Value) -> None:
        frame = self.task.frames.pop()
        if not self.task.frames:
            self.task.result = self._copied(value)
            self._end()
            return
        caller = self.task.frames[-1]
        caller.position += 1
        if frame.makes is not None:
            self._made(caller, frame.target, frame.makes)
        elif frame.target is not None:
            caller.names[frame.target] = value

    def _end(self) -> None:
        self.task.waiting = Waiting.ENDED
        self.task.target = ""
        self.task.frames = []

    def _fail(self, error: str) -> None:
        """End the task with an exception, unless the code catches it."""
        for frame in self.task.frames:
            if frame.method.handled_at(frame.position):
                self.ends("an exception that is caught is not followed")
        self.task.error = error
        self._end()


def _retrieves(instruction: Instruction) -> bool:
    """Tell whether waiting also raises the exception of a failed task: `await f?` does not."""
    return not (isinstance(instruction, Await) and instruction.target is None)


def _has_box(value: Value) -> bool:
    return isinstance(value, Box) or (isinstance(value, tuple) and any(map(_has_box, value)))

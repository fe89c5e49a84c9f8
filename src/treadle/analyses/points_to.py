"""Points-to: which actors, and futures of which tasks, a program's values may stand for.

A guided tour. `PointsTo` begins with the main function (or, without one, with every method of every
class on any object) and goes through each routine that it meets: forward over its instructions,
with what local names may hold at each position, so that a name that is used again does not merge
two futures. Fields, parameters, results and the contents of collections are one set each per
abstract object. A routine is gone through again when something grows that it has read.

The analysis is sound only if every way to make an actor or to send a message is seen. Where that
is not so, `unknown` says which line is to blame: what was found may be reported then, but nothing
is proved.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FunctionType

from treadle.analyses.abstract import (
    ANYTHING,
    NOTHING,
    PLAIN,
    UNKNOWN,
    AbstractObject,
    Cell,
    Point,
    Routine,
    Site,
    Value,
    carried_by,
    normal,
    objects_in,
    tasks_in,
)
from treadle.analyses.abstract_values import Evaluation, Store
from treadle.analyses.ir import (
    Assign,
    Await,
    Branch,
    Call,
    Expression,
    Get,
    Havoc,
    Instruction,
    New,
    Return,
    Send,
    SetField,
    This,
    Update,
    assigned,
    used,
)
from treadle.analyses.known import Known, function_of, methods_of, unwrapped
from treadle.analyses.lower import Lowering
from treadle.core.deadlocks import SENSITIVITY

_Locals = dict[str, Value]
_Flows = list[tuple[int, _Locals]]
"""Where it goes on, and what names hold there."""


@dataclass(slots=True)
class Effects:
    """What the instructions of a routine may do, by position."""

    locals: dict[int, _Locals] = field(default_factory=dict)
    """What names may hold before an instruction that can be reached."""
    results: dict[int, Value] = field(default_factory=dict)
    """What an instruction may give to the name that it assigns."""
    sends: dict[int, set[Routine]] = field(default_factory=lambda: defaultdict(set))
    """Tasks that may be sent, `run` of new actors among them."""
    calls: dict[int, set[Routine]] = field(default_factory=lambda: defaultdict(set))
    """Routines that may run in the same task, initialisers among them."""
    crossing: dict[int, set[Routine]] = field(default_factory=lambda: defaultdict(set))
    """Tasks that a synchronous call to another group may send and wait for."""
    waits: dict[int, list[Routine]] = field(default_factory=dict)
    """Tasks whose futures may be waited for."""


class PointsTo:
    """The result of the analysis for one program."""

    def __init__(self, known: Known, classes: Iterable[type], k: int = SENSITIVITY) -> None:
        self._known = known
        self._classes = list(dict.fromkeys(classes))
        self._k = k
        names = [methods_of(cls, known.actor) for cls in self._classes]
        self._lowering = Lowering(known, frozenset[str]().union(*names))
        self.store = Store()
        self.store.fields |= self._fields_set()
        self.routines: dict[Routine, Effects] = {}
        """All routines that can be reached, and what they do."""
        self.tasks: dict[Routine, None] = {}
        """Those that are sent, main among them, in the order in which they were met."""
        self.from_anywhere: list[Routine] = []
        """Tasks of which somebody outside may have sent any number: without a main function."""
        self.elsewhere: set[Routine] = set()
        """Those that run on behalf of a task of another group: initialisers and what they call."""
        self.unknown: dict[tuple[str, int], str] = {}
        """Why nothing is proved, by file and line."""
        self._main: FunctionType | None = None
        self._main_is_called = False
        self._work: dict[Routine, None] = {}

    # Where it begins

    def from_main(self, main: FunctionType) -> PointsTo:
        """Analyse a program; its main function may be given anything but actors."""
        self._main = main
        routine = self._routine(AbstractObject(None), main, is_method=False)
        for name in routine.method.parameters:
            given = PLAIN | {Cell(("argument", name))}
            self.store.add(("parameter", routine, name), given)
        self._task(routine)
        self._until_nothing_grows()
        return self

    def from_all_methods(self) -> PointsTo:
        """Analyse classes without a main function: all methods are sent, on any objects, to any."""
        everything: Value = PLAIN.union(AbstractObject(cls) for cls in self._classes)
        for cls in self._classes:
            for name in sorted(methods_of(cls, self._known.actor)):
                self._begin_anywhere(AbstractObject(cls), name, everything)
        self._until_nothing_grows()
        return self

    def _begin_anywhere(self, owner: AbstractObject, name: str, everything: Value) -> None:
        assert owner.cls is not None
        function = function_of(owner.cls, name)
        if function is None:
            return
        routine = self._routine(owner, function)
        for parameter in routine.method.parameters:
            self.store.add(("parameter", routine, parameter), everything)
        for instruction in routine.method.instructions:
            if isinstance(instruction, SetField):
                self.store.add(("field", owner, instruction.field), everything)
        if name != "__init__":
            self._task(routine)
            self.from_anywhere.append(routine)

    def _fields_set(self) -> set[str]:
        """Return the names of all fields that methods set."""
        return {
            instruction.field
            for cls in self._classes
            for name in (*methods_of(cls, self._known.actor), "__init__")
            if (function := function_of(cls, name)) is not None
            for instruction in self._lowering.method(function).instructions
            if isinstance(instruction, SetField)
        }

    # The worklist

    def _until_nothing_grows(self) -> None:
        while self._work:
            routine = next(iter(self._work))
            del self._work[routine]
            self.routines[routine] = effects = Effects()
            _Walk(self, routine, effects).go()
            for reader in self.store.taken_changes():
                self._work[reader] = None

    def _routine(
        self, owner: AbstractObject, function: FunctionType, *, is_method: bool = True
    ) -> Routine:
        method = self._lowering.method(function, is_method=is_method)
        routine = Routine(owner, function, method)
        if routine not in self.routines:
            self.routines[routine] = Effects()
            self._work[routine] = None
        return routine

    def _task(self, routine: Routine) -> None:
        self.tasks.setdefault(routine)

    def blame(self, point: Point, why: str) -> None:
        """Take note that something is not known, so that nothing can be proved."""
        self.unknown.setdefault(point.place, why)

    # What routines do

    def method_of(self, owner: AbstractObject, name: str) -> Routine | None:
        """Return a method of an object; None if it has none."""
        function = None if owner.cls is None else function_of(owner.cls, name)
        return None if function is None else self._routine(owner, function)

    def function_for(
        self, owner: AbstractObject, function: FunctionType, *, is_method: bool
    ) -> Routine:
        """Return a certain function on behalf of an object."""
        if function is self._main and not self._main_is_called:
            self._main_is_called = True
            self.store.changed("main is called")
        return self._routine(owner, function, is_method=is_method)

    def is_unique(self, one: AbstractObject, asked_by: Routine) -> bool:
        """Tell whether at most one object is meant: main made it, and not in a loop."""
        self.store.note_reader("main is called", asked_by)
        if one.cls is None:
            return True
        if self._main_is_called or len(one.sites) != 1 or one.sites[0].function is not self._main:
            return False
        (site,) = one.sites
        method = self._lowering.method(site.function, is_method=False)
        return site.position not in method.ahead_of(site.position)

    def sent(self, owner: AbstractObject, name: str) -> Routine | None:
        """Return the task that a message makes; None if the object does not know it."""
        routine = self.method_of(owner, name)
        if routine is not None:
            self._task(routine)
        return routine

    def made(self, new: New, by: Routine, position: int) -> AbstractObject:
        """Return the object that a site makes, on behalf of another one."""
        site = Site(by.function, position, new.span)
        owner = by.object.group if new.local else None
        return AbstractObject(new.type, (site, *by.object.sites)[: self._k], owner)

    def initialiser(self, made: AbstractObject) -> Routine | None:
        """Return what runs when an object is made, if it is the user's code."""
        assert made.cls is not None
        function = function_of(made.cls, "__init__")
        if function is None or function_of(self._known.actor, "__init__") is function:
            return None
        return self._routine(made, function)

    def is_method_name(self, cls: type | None, name: str) -> bool:
        """Tell whether a name of a class is a method or a property, and no field hides it."""
        value = None if cls is None else inspect.getattr_static(cls, name, None)
        if not (isinstance(value, property) or unwrapped(value) is not None):
            return False
        return not any(
            isinstance(one, SetField) and one.field == name
            for each in sorted(methods_of(cls, self._known.actor))  # type: ignore[arg-type]
            if (function := function_of(cls, each)) is not None  # type: ignore[arg-type]
            for one in self._lowering.method(function).instructions
        )


class _Walk(Evaluation):
    """One pass over the instructions of a routine."""

    def __init__(self, points_to: PointsTo, routine: Routine, effects: Effects) -> None:
        super().__init__(points_to.store, routine)
        self._all = points_to
        self._effects = effects

    def go(self) -> None:
        """Go through the routine until what its names may hold does not grow any more."""
        method, before = self.routine.method, self._effects.locals
        before[0] = self._parameters()
        work = [0]
        while work:
            at = work.pop()
            after = self._after(at, method.instructions[at], before[at])
            flows = self._onward(at, method.instructions[at], after)
            flows += [(onward, _joined(before[at], after)) for onward in method.handled_at(at)]
            for onward, new in flows:
                old = before.get(onward)
                joined = new if old is None else _joined(old, new)
                if joined != old:
                    before[onward] = joined
                    work.append(onward)

    def _onward(self, at: int, instruction: Instruction, after: _Locals) -> _Flows:
        """Return where it goes on, and with what; a branch only in the ways that it may go."""
        if not isinstance(instruction, Branch):
            return [(onward, after) for onward in self.routine.method.successors(at)]
        return [
            (onward, self.narrowed(instruction.test, outcome))
            for outcome, onward in ((True, instruction.then), (False, instruction.other))
            if outcome in self.truths(instruction.test)
        ]

    def _parameters(self) -> _Locals:
        names = self.routine.method.parameters
        return {name: self.read(("parameter", self.routine, name)) for name in names}

    def _after(self, at: int, instruction: Instruction, before: _Locals) -> _Locals:
        """Do what an instruction does; return what names hold after it."""
        self.begin(at, before)
        self._refuse_methods_as_values(instruction)
        result = self._effect(at, instruction)
        target = assigned(instruction)
        if target is None:
            return before
        self._effects.results[at] = result
        return {**before, target: result}

    def _effect(self, at: int, instruction: Instruction) -> Value:
        match instruction:
            case Assign(_, value):
                return self.value(value)
            case SetField(name, value):
                self.add(("field", self.routine.object, name), self.value(value))
            case Return(value):
                self.add(("result", self.routine), self.value(value))
            case New():
                return self._new(at, instruction)
            case Send():
                return self._send(at, instruction)
            case Call():
                return self._call(at, instruction)
            case Await(_, future) | Get(_, future):
                return self._wait(at, future)
            case Update():
                return self._update(at, instruction)
            case Havoc(why):
                self._blame(at, why)
                return ANYTHING
            case _:
                for expression in used(instruction):
                    self.value(expression)
        return NOTHING

    def _blame(self, at: int, why: str) -> None:
        self._all.blame(Point(self.routine, at), why)

    def _refuse_methods_as_values(self, instruction: Instruction) -> None:
        """A method or a property that is read like a field may do anything."""
        for name in self.fields_read(instruction):
            if self._all.is_method_name(self.routine.object.cls, name):
                why = f"self.{name} is a method or a property, and read as a value"
                self._blame(self.position, why)

    # Messages and calls

    def _new(self, at: int, new: New) -> Value:
        made = self._all.made(new, self.routine, at)
        initialiser = self._all.initialiser(made)
        if initialiser is not None:
            self._effects.calls[at].add(initialiser)
            self._pass_arguments(at, initialiser, new.arguments, new.keywords)
            if not new.local or self.routine in self._all.elsewhere:
                self._runs_elsewhere(initialiser)
        run = self._all.sent(made, "run")
        if run is not None:
            self._effects.sends[at].add(run)
            self._pass_arguments(at, run, (), ())
        return frozenset({made})

    def _runs_elsewhere(self, callee: Routine) -> None:
        if callee not in self._all.elsewhere:
            self._all.elsewhere.add(callee)
            self.store.changed(("elsewhere", callee))

    def _send(self, at: int, send: Send) -> Value:
        receivers = self.value(send.receiver)
        if UNKNOWN in receivers:
            self._blame(at, f"it is not known who is sent {send.method}")
        sent = set()
        for receiver in objects_in(receivers):
            task = self._all.sent(receiver, send.method)
            if task is not None:
                self._pass_arguments(at, task, send.arguments, send.keywords)
                sent.add(task)
        self._effects.sends[at] |= sent
        return frozenset(sent) | (receivers & ANYTHING)

    def _call(self, at: int, call: Call) -> Value:
        """`self.m(…)`, `x.m(…)`, a function of the module: which routines run, and where."""
        results: Value = NOTHING
        for callee, crosses in self._callees(at, call):
            self._pass_arguments(at, callee, call.arguments, call.keywords)
            if crosses:
                self._all.sent(callee.object, callee.name)
                self._effects.crossing[at].add(callee)
            else:
                self._effects.calls[at].add(callee)
                if self.is_elsewhere():
                    self._runs_elsewhere(callee)
                if inspect.iscoroutinefunction(callee.function) and not call.is_awaited:
                    self._blame(at, f"{callee.name} runs when somebody awaits it, not here")
            results |= self.read(("result", callee))
        return results if call.receiver is None else results | self._of_others(call)

    def _of_others(self, call: Call) -> Value:
        """Return what a call may return of which it is not known what it runs."""
        assert call.receiver is not None
        receivers = self.value(call.receiver)
        if UNKNOWN in receivers or _has_data(receivers):
            return ANYTHING
        if isinstance(call.receiver, This):
            callee = call.function or self._all.method_of(self.routine.object, call.method)
            return ANYTHING if callee is None else NOTHING
        return PLAIN if any(not isinstance(one, AbstractObject) for one in receivers) else NOTHING

    def is_elsewhere(self) -> bool:
        """Tell whether the routine may run on behalf of a task of another group."""
        self.store.note_reader(("elsewhere", self.routine), self.routine)
        return self.routine in self._all.elsewhere

    def _callees(self, at: int, call: Call) -> list[tuple[Routine, bool]]:
        """Return what a call may run, and whether it is sent to another group and waited for."""
        here = self.routine.object
        if isinstance(call.function, FunctionType):
            is_method = call.receiver is not None
            return [(self._all.function_for(here, call.function, is_method=is_method), False)]
        assert call.receiver is not None
        receivers = self.value(call.receiver)
        if UNKNOWN in receivers:
            self._blame(at, f"it is not known whose {call.method} is called")
        found: list[tuple[Routine, bool]] = []
        for receiver in objects_in(receivers):
            callee = self._all.method_of(receiver, call.method)
            if callee is None:
                continue
            if receiver.group == here.group:
                found.append((callee, False))
                if self._all.is_unique(here.group, self.routine):
                    continue
            if call.crosses and not isinstance(call.receiver, This):
                found.append((callee, True))
        if not found and (isinstance(call.receiver, This) or _has_data(receivers)):
            self._blame(at, f"what {call.method} does is not known")
        return found

    def _pass_arguments(
        self,
        at: int,
        callee: Routine,
        arguments: tuple[Expression, ...],
        keywords: tuple[tuple[str, Expression], ...],
    ) -> None:
        names = callee.method.parameters
        given: dict[str, Value] = {}
        if any(map(_is_star, arguments)) or any(name == "**" for name, _ in keywords):
            values = [*arguments, *(value for _, value in keywords)]
            anything = PLAIN.union(*(self.parts_of(self.value(v)) for v in values))
            given = dict.fromkeys(names, anything)
        else:
            given |= zip(names, map(self.value, arguments), strict=False)
            given |= {name: self.value(argument) for name, argument in keywords}
        for name, default in callee.method.defaults:
            if name not in given or UNKNOWN in given[name] or any(map(_is_star, arguments)):
                given[name] = given.get(name, NOTHING) | self.value(default)
        for name, value in given.items():
            self.add(("parameter", callee, name), value)

    # Waiting, and collections

    def _wait(self, at: int, future: Expression) -> Value:
        value = self.value(future)
        if UNKNOWN in value:
            self._blame(at, "it is not known which task is waited for")
        tasks = tasks_in(value)
        self._effects.waits[at] = tasks
        results = (self.read(("result", task)) for task in tasks)
        return NOTHING.union(value & ANYTHING, *results)

    def _update(self, at: int, update: Update) -> Value:
        container = self.value(update.container)
        operands = NOTHING.union(*map(self.value, update.operands))
        for one in container:
            if isinstance(one, Cell):
                self.add(("cell", one), operands)
        if update.operation.startswith("."):
            for owner in objects_in(container):
                self.add(("field", owner, update.operation.strip(".=")), operands)
        elif carried_by(operands) and not any(isinstance(one, Cell) for one in container):
            self._blame(at, f"it is not known what is kept by {update.operation}")
        return self.parts_of(container) | operands | PLAIN


def _is_star(argument: Expression) -> bool:
    return getattr(argument, "operator", None) == "star"


def _has_data(value: Value) -> bool:
    return any(isinstance(one, Cell) and one.is_data for one in value)


def _joined(first: _Locals, second: _Locals) -> _Locals:
    """Return what names may hold on either of two paths."""
    if first is second:
        return first
    joined = dict(first)
    for name, value in second.items():
        old = joined.get(name)
        joined[name] = value if old is None else normal(old | value)
    return joined


def callers_in(points_to: PointsTo) -> dict[Routine, list[Routine]]:
    """Return who may call a routine in the same task."""
    callers: dict[Routine, list[Routine]] = {}
    for routine, effects in points_to.routines.items():
        for callee in dict.fromkeys(one for called in effects.calls.values() for one in called):
            callers.setdefault(callee, []).append(routine)
    return callers

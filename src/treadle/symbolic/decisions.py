"""Decisions inside of a step: which way a branch goes, which actor a symbol is, how long a list is.

A step that has to decide takes the first possibility; it is executed again from its beginning for
the others, with a list of what to choose. Macro-steps are short, so that is simpler than to stop
halfway, and costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import NoReturn

from treadle.symbolic.code import Code
from treadle.symbolic.kinds import Kind, Kinds
from treadle.symbolic.limits import Limits
from treadle.symbolic.solver import Solver
from treadle.symbolic.state import Actor, State, Task
from treadle.symbolic.values import (
    WHATEVER,
    Box,
    Data,
    Reference,
    Term,
    Unknown,
    Value,
    Whatever,
    code_of,
)


class PathEnds(Exception):
    """The path is not followed any further: a limit was met, or something is not understood."""


class Impossible(Exception):
    """The choice that was made cannot be: there is no such execution."""


class Raised(Exception):
    """The program under test raises an exception."""


class Choices:
    """What to choose, and how many possibilities there were."""

    def __init__(self, taken: Sequence[int] = ()) -> None:
        self._taken = list(taken)
        self._possibilities: list[int] = []

    def pick(self, possibilities: int) -> int:
        """Return which of several possibilities to take."""
        at = len(self._possibilities)
        self._possibilities.append(possibilities)
        if at == len(self._taken):
            self._taken.append(0)
        return self._taken[at]

    def next(self) -> list[int] | None:
        """Return the choices of the next execution; None if there is none."""
        taken = self._taken[: len(self._possibilities)]
        while taken:
            at = len(taken) - 1
            if taken[at] + 1 < self._possibilities[at]:
                taken[at] += 1
                return taken
            taken.pop()
        return None


class Decisions:
    """Decides on behalf of the task whose step is under way."""

    def __init__(
        self,
        code: Code,
        kinds: Kinds,
        solver: Solver,
        limits: Limits,
        state: State,
        task: Task,
        choices: Choices,
    ) -> None:
        self.code = code
        self.kinds = kinds
        self.solver = solver
        self.limits = limits
        self.state = state
        self.task = task
        self.choices = choices

    # Conditions

    def decide(self, condition: Term, branch: int | None = None) -> bool:
        """Decide whether a condition holds; on both ways, if both can be."""
        path = self.state.path
        negated = self.solver.negated(condition)
        if not self.solver.is_possible((*path, negated)):
            return True
        if not self.solver.is_possible((*path, condition)):
            return False
        if branch is not None:
            self._count(branch)
        holds = self.choices.pick(2) == 0
        self.state.path = (*path, condition if holds else negated)
        return holds

    def _count(self, branch: int) -> None:
        """End the path if a branch of a loop was decided often enough."""
        frame = self.task.frames[-1]
        frame.decided[branch] = count = frame.decided.get(branch, 0) + 1
        if count > self.limits.iterations:
            self.ends(f"{self.limits.iterations} iterations of a loop")

    def require(self, condition: Term) -> None:
        """Follow only executions in which a condition holds."""
        if not self.solver.is_possible((*self.state.path, condition)):
            raise Impossible
        self.state.path = (*self.state.path, condition)

    def ends(self, limit: str) -> NoReturn:
        """End the path, and say why."""
        self.state.limits |= {limit}
        raise PathEnds(limit)

    # Symbols

    def symbol(self, name: str, kind: Kind) -> Value:
        """Return a new symbol."""
        if kind.is_nullable or kind.name in ("actor", "list", "tuple", "dict", "set", "future"):
            return Unknown(name, kind)
        return self._atom(name, kind)

    def _atom(self, name: str, kind: Kind) -> Term:
        if kind.name == "str":
            return self.solver.text(name)
        return self.solver.boolean(name) if kind.name == "bool" else self.solver.number(name)

    def known(self, value: Value) -> Value:
        """Return what a symbol was decided to be, or itself."""
        while isinstance(value, Unknown) and value.name in self.state.resolved:
            value = self.state.resolved[value.name]
        return value

    def is_null(self, value: Value) -> bool:
        """Decide whether a value is None, and nothing else of it."""
        value = self.known(value)
        if not isinstance(value, Unknown):
            return value is None
        if not self._may_be_null(value):
            return False
        if self.choices.pick(2) == 0:
            self.state.resolved[value.name] = None
            return True
        self.state.nonnull |= {value.name}
        return False

    def _may_be_null(self, value: Unknown) -> bool:
        return value.kind.is_nullable and value.name not in self.state.nonnull

    def resolve(self, value: Value, *, sent: bool = False) -> Value:
        """Decide what a symbol is; `sent`: something is asked of it, which None cannot do."""
        value = self.known(value)
        if not isinstance(value, Unknown):
            return value
        if sent and not self.limits.nulls:
            self.state.nonnull |= {value.name}
        if self._may_be_null(value) and self.is_null(value):
            return None
        decided = self._decided(value)
        self.state.resolved[value.name] = decided
        return decided

    def _decided(self, value: Unknown) -> Value:
        match value.kind.name:
            case "actor":
                return self._actor(value)
            case "list" | "tuple":
                return self._items(value)
            case "dict" | "set" as kind:
                self.state.limits |= {f"a {kind} that is given is taken to be empty"}
                return self.boxed(kind, (), value.name)
            case "future":
                self.ends("a future that is given is not followed")
        return self._atom(value.name, value.kind)

    def _actor(self, value: Unknown) -> Reference:
        """Lazy initialisation: each actor of a fitting class that was there, or one more."""
        there = [
            name
            for name, actor in self.state.actors.items()
            if actor.initial and actor.cls in value.kind.classes
        ]
        new = [cls for cls in value.kind.classes if len(self.state.fresh) < self.limits.fresh]
        if len(new) < len(value.kind.classes):
            self.state.limits |= {f"{self.limits.fresh} actors beside those of the context"}
        if not there and not new:
            self.ends("no actor is left that this could be")
        at = self.choices.pick(len(there) + len(new))
        if at < len(there):
            return Reference(there[at])
        cls = new[at - len(there)]
        self.state.actors[value.name] = Actor(cls, value.name, {}, initial=True)
        self.state.fresh += (value.name,)
        return Reference(value.name)

    def _items(self, value: Unknown) -> Value:
        length = self.choices.pick(self.limits.length + 1)
        if length == self.limits.length:
            self.state.limits |= {f"lists with more than {self.limits.length} items"}
        kind = value.kind.element or Kind("any")
        items = tuple(self.symbol(f"{value.name}[{at}]", kind) for at in range(length))
        return items if value.kind.name == "tuple" else self.boxed("list", items, value.name)

    def boxed(self, kind: str, items: tuple[Value, ...], name: str = "") -> Box:
        """Return a new list, dictionary or set."""
        if not name:
            self.task.boxes += 1
            name = f"{self.task.name}#{self.task.boxes}"
        else:
            self.state.born = {**self.state.born, name: items}
        self.state.boxes[name] = items
        return Box(name, kind)

    # Truth

    def truth(self, value: Value, branch: int | None = None) -> bool:
        """Decide whether a value counts as true."""
        value = self.known(value)
        if isinstance(value, Unknown):
            if value.kind.name == "actor":
                return not self.is_null(value)
            value = self.resolve(value)
        if isinstance(value, Whatever):
            self.ends("a decision that depends on what the engine does not follow")
        if isinstance(value, Box):
            return bool(self.state.boxes[value.name])
        if isinstance(value, Term):
            if not value.is_boolean:
                nonzero = self.solver.made(self.solver.expression(value) != 0)
                return self.decide(nonzero, branch) if isinstance(nonzero, Term) else bool(nonzero)
            return self.decide(value, branch)
        return bool(value)

    def not_(self, value: Value) -> Value:
        """Return whether a value does not count as true, undecided if it is a term."""
        value = self.known(value)
        if isinstance(value, Term) and value.is_boolean:
            return self.solver.negated(value)
        return WHATEVER if isinstance(value, Whatever) else not self.truth(value)

    # Equality

    def same(self, one: Value, other: Value, *, identity: bool) -> Value:
        """Return whether two values are equal, or the same: a boolean, or a condition."""
        one, other = self.known(one), self.known(other)
        if isinstance(one, Whatever) or isinstance(other, Whatever):
            return WHATEVER
        if one is None or other is None:
            return self.is_null(other if one is None else one)
        if isinstance(one, Unknown) and one == other:
            return True
        if isinstance(one, Unknown) or isinstance(other, Unknown):
            return self.same(self.resolve(one), self.resolve(other), identity=identity)
        if isinstance(one, Term) or isinstance(other, Term):
            return self._same_terms(one, other)
        if isinstance(one, Box) and isinstance(other, Box) and not identity:
            if one.kind != "list" or other.kind != "list":
                return WHATEVER if one != other else True
            return self._same_parts(self.state.boxes[one.name], self.state.boxes[other.name])
        if isinstance(one, tuple) and isinstance(other, tuple) and not identity:
            return self._same_parts(one, other)
        if isinstance(one, Data) or isinstance(other, Data):
            return self._same_data(one, other)
        return bool(one == other) and not (identity and type(one) is not type(other))

    def _same_data(self, one: Value, other: Value) -> Value:
        kinds = [
            each.constructor if isinstance(each, Data) else type(each) for each in (one, other)
        ]
        if tuple in kinds:
            values = [each.parts if isinstance(each, Data) else each for each in (one, other)]
            if all(issubclass(kind, tuple) for kind in kinds):
                return self._same_parts(*values)
        if kinds[0] is not kinds[1]:
            return False
        names = one.names if isinstance(one, Data) else other.names
        parts = [
            each.parts if isinstance(each, Data) else tuple(getattr(each, name) for name in names)
            for each in (one, other)
        ]
        return self._same_parts(*parts)

    def _same_terms(self, one: Value, other: Value) -> Value:
        numbers = [code_of(each) if isinstance(each, str) else each for each in (one, other)]
        if any(isinstance(each, Number) and not isinstance(each, int) for each in numbers):
            return WHATEVER
        if not all(isinstance(each, Term | int) for each in numbers):
            return False
        left, right = map(self.solver.expression, numbers)
        return self.solver.made(left == right)

    def _same_parts(self, ones: tuple[Value, ...], others: tuple[Value, ...]) -> Value:
        if len(ones) != len(others):
            return False
        return all(
            self.truth(self.same(one, other, identity=False))
            for one, other in zip(ones, others, strict=True)
        )

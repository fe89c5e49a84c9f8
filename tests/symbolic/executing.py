"""Helpers: symbolic execution of some classes, and each of its paths for real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from treadle.actors.contexts import run_concretely
from treadle.actors.deadlocks import KNOWN
from treadle.actors.restoring import Followed
from treadle.symbolic.code import Code
from treadle.symbolic.concrete import Concretion
from treadle.symbolic.contexts import Context, Location
from treadle.symbolic.framework import Framework
from treadle.symbolic.limits import Limits
from treadle.symbolic.search import Path, Search, state_of
from treadle.symbolic.state import Waiting
from treadle.symbolic.values import ANY, Future, Reference

PATIENT = Limits(seconds=1e6)
"""Limits that no clock decides."""


def code_of(*classes: type) -> Code:
    return Code(KNOWN, classes)


def context_of(*locations: tuple[type, Sequence[str]]) -> Context:
    return Context(tuple(Location(cls, tuple(tasks)) for cls, tasks in locations))


class Execution:
    """The paths of a context."""

    def __init__(
        self, context: Context, classes: Sequence[type] = (), most: int = 10_000, **limits: Any
    ) -> None:
        own = [location.cls for location in context.locations]
        self.classes = list(dict.fromkeys([*own, *classes]))
        self.framework = Framework(KNOWN, self.classes, replace(PATIENT, **limits))
        self.context = context
        self.start = state_of(self.framework.machine, context)
        self.search = Search(self.framework.machine)
        self.paths = list(islice(self.search.paths(self.start), most))

    @property
    def ends(self) -> list[str]:
        """How the paths end, sorted."""
        return sorted(path.end.value for path in self.paths)

    @property
    def constraints(self) -> set[frozenset[str]]:
        """The conditions of all paths."""
        return {frozenset(self.case(path).constraints) for path in self.paths}

    def case(self, path: Path) -> Any:
        return self.framework.test_case(self.start, path, "a_test", str(self.context))

    def fields(self, actor: str) -> list[dict[str, Any]]:
        """The fields of an actor at the ends of all paths, as concrete values."""
        return [self._fields(path, actor) for path in self.paths]

    def _fields(self, path: Path, actor: str) -> dict[str, Any]:
        concretion = Concretion(self.framework.machine, self.start, path)
        values = path.state.actors[actor].fields
        return {name: concretion.last_value(value) for name, value in values.items()}

    def check_for_real(self) -> int:
        """Run every path for real, and compare where it ends; return how many there were."""
        for path in self.paths:
            case = self.case(path)
            check_same(self, path, run_concretely(case, self.classes), case.program)
        return len(self.paths)


def check_same(execution: Execution, path: Path, followed: Followed, source: str) -> None:
    """The concrete execution ends as the symbolic one: the same kind, waits and fields."""
    where = f"{source}\n{path.schedule}\n{path.state.path}\n{path.state.resolved}"
    assert followed.kind == path.end.value, f"{followed}\n{where}"
    waiting = {task.name: _waiting(task.waiting) for task in path.state.alive()}
    assert followed.waiting == waiting, where
    concretion = Concretion(execution.framework.machine, execution.start, path)
    labels = {actor.name: actor.label for actor in concretion.concrete().actors}
    for name, actor in path.state.actors.items():
        label = labels.get(name) or _label_of(name)
        for field, value in actor.fields.items():
            expected = concretion.last_value(value)
            found = followed.fields[label][field]
            assert same(expected, found, labels), f"{label}.{field}: {expected} {found}\n{where}"


def _waiting(waiting: Waiting) -> str:
    return "paused" if waiting is Waiting.PAUSED else waiting.value


def _label_of(name: str) -> str:
    from treadle.actors.names import short

    return short(name)


def same(expected: Any, found: Any, labels: dict[str, str]) -> bool:
    """Whether a symbolic value stands for a concrete one."""
    if expected is ANY or found is ANY:
        return True
    if isinstance(expected, Reference):
        return repr(found) == (labels.get(expected.name) or _label_of(expected.name))
    if isinstance(expected, Future):
        return type(found).__name__ == "Future"
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, type(expected))
            and len(expected) == len(found)
            and all(same(one, other, labels) for one, other in zip(expected, found, strict=True))
        )
    if isinstance(expected, dict):
        return expected.keys() == found.keys() and all(
            same(value, found[key], labels) for key, value in expected.items()
        )
    return bool(expected == found)


def contexts_of(classes: Sequence[type], methods: Sequence[str]) -> Iterator[Context]:
    """One context with each method on an actor of each class."""
    for cls in classes:
        for method in methods:
            yield context_of((cls, [method]))

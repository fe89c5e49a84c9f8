"""A program of actors: its main function, and how its steps depend on each other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from treadle.actors import control
from treadle.actors.fibers import Fibers
from treadle.actors.levels import ActorLevel
from treadle.actors.names import GroupNames, TaskNames
from treadle.actors.run import ActorRun
from treadle.actors.task import Task
from treadle.core import program as core
from treadle.core.errors import TreadleError
from treadle.core.events import Vocabulary

MAX_TASKS = 10_000


class Program(core.Program):
    """Actors, and the main task that makes them."""

    front_end = "actors"

    def __init__(
        self,
        main: Callable[..., Any],
        *args: Any,
        dependency: str = "actor",
        order: str = "any",
        max_tasks: int = MAX_TASKS,
        always_release: bool = False,
    ) -> None:
        self.main = main
        self.args = args
        self.kwargs: dict[str, Any] = {}
        self.dependency = dependency
        self.order = order
        self.max_tasks = max_tasks
        self.always_release = always_release
        self.name = getattr(main, "__name__", "main")
        self.vocabulary = Vocabulary()
        self.main_names = TaskNames(self.vocabulary, "main", self.name)
        self.main_group = GroupNames(self.vocabulary, "main")
        self.level = ActorLevel()
        self._tested: frozenset[str] = frozenset()
        self._learned: set[str] = set()
        functools.update_wrapper(self, main)

    def __call__(self, *args: Any, **kwargs: Any) -> Program:
        """Return the program with arguments for its main function."""
        made = Program(
            self.main,
            *args,
            dependency=self.dependency,
            order=self.order,
            max_tasks=self.max_tasks,
            always_release=self.always_release,
        )
        made.kwargs = kwargs
        return made

    def start(self, *, detail: bool = False) -> ActorRun:
        """Begin an execution."""
        return ActorRun(self)

    @contextmanager
    def controlled(self) -> Iterator[None]:
        """Be the program that is explored."""
        if control.program is self:
            yield
            return
        if control.program is not None:
            raise TreadleError(
                f"{control.program.name} is being explored: explorations cannot be nested"
            )
        control.program = self
        self.fibers = Fibers(lambda task: task.run.advance(task))
        try:
            yield
        finally:
            control.program = None
            del self.fibers

    def is_tested(self, key: str) -> bool:
        """Tell whether it matters for somebody's step if a task of a method has ended."""
        return key in self._tested

    def learn_tested(self, key: str) -> None:
        self._learned.add(key)

    def has_learned(self) -> bool:
        if self._learned <= self._tested:
            return False
        self._tested |= self._learned
        return True

    def knowledge(self) -> tuple[str, ...]:
        """Return the methods whose ends matter to somebody who did not wait for them."""
        return tuple(sorted(self._tested))

    def know(self, knowledge: Sequence[str]) -> None:
        """Know what an earlier exploration had learned, and nothing else."""
        self._tested = frozenset(knowledge)


def program(function: Callable[..., Any]) -> Program:
    """Make a program of its main function."""
    return Program(function)

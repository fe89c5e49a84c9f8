"""What a process can yield: operations that may have to wait.

A process announces an operation by yielding it; its next step begins by performing it. So the
pending operation of every process is always known, and a process whose operation is not `ready`
is disabled.
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treadle.events import Codes, Mode, code, location_of

if TYPE_CHECKING:
    from treadle.model.run import ModelRun


class Operation(ABC):
    """Something that a process yields; its next step begins with it."""

    __slots__ = ()

    @abstractmethod
    def ready(self, process: int) -> bool:
        """Tell whether the process can take its next step."""

    @abstractmethod
    def perform(self, process: int) -> Any:
        """Do it, log its accesses, and return what `yield` evaluates to in the process.

        Returning another `Operation` means that this step ends here and the process goes on with
        that operation in its next step.
        """

    @abstractmethod
    def pending(self, process: int) -> Codes:
        """Return the accesses that the next step would begin with, as far as they are known."""

    @abstractmethod
    def describe(self) -> str:
        """Name what the process waits for."""

    def holders(self) -> list[int]:
        """Return the processes that hold what is waited for."""
        return []


class Join(Operation):
    """Wait for the end of a process."""

    __slots__ = ("_run", "_target")

    def __init__(self, run: ModelRun, target: int) -> None:
        self._run = run
        self._target = target

    def ready(self, process: int) -> bool:
        """Tell whether the target has ended."""
        return self._run.has_ended(self._target)

    def perform(self, process: int) -> None:
        """Log the join."""
        self._run.append(code(self._target, Mode.JOIN))

    def pending(self, process: int) -> Codes:
        """Return the join."""
        return (code(self._target, Mode.JOIN),)

    def describe(self) -> str:
        """Name the process waited for."""
        return f"the end of {self._run.name_of(self._target)}"

    def holders(self) -> list[int]:
        """Return the process waited for."""
        return [self._target]


class Until(Operation):
    """Wait for a condition on shared state.

    The step depends on what the condition read when it held. A condition that stops at its first
    false part has not read the rest, so every variable that its code names is *watched* as well:
    that is where the core looks for steps that may have disabled it.
    """

    __slots__ = ("_condition", "_run", "_watched")

    def __init__(self, run: ModelRun, condition: Callable[[], object]) -> None:
        self._run = run
        self._condition = condition
        self._watched = run.watched_by(condition)

    def ready(self, process: int) -> bool:
        """Evaluate the condition, without a trace in the log."""
        holds, _ = self._run.observe(self._condition)
        return bool(holds)

    def perform(self, process: int) -> None:
        """Log what the condition reads now that it holds."""
        for access in self.pending(process):
            self._run.append(access)

    def pending(self, process: int) -> Codes:
        """Return the condition's reads in the present state, and what it watches."""
        _, reads = self._run.observe(self._condition)
        awaited = dict.fromkeys(code(location_of(access), Mode.AWAIT) for access in reads)
        return (*awaited, *self._watched)

    def describe(self) -> str:
        """Name the variables that the condition reads now."""
        _, reads = self._run.observe(self._condition)
        names = dict.fromkeys(self._run.location_name(location_of(access)) for access in reads)
        return f"a condition on {', '.join(names) or 'nothing shared'}"


def names_in(function: Callable[..., object]) -> set[str] | None:
    """Return the attribute names that a function's code mentions; None if it calls other code."""
    start = getattr(function, "__code__", None)
    if start is None:
        return None
    names: set[str] = set()
    todo: list[types.CodeType] = [start]
    cells = {
        name: cell.cell_contents
        for name, cell in zip(
            start.co_freevars, getattr(function, "__closure__", None) or (), strict=False
        )
    }
    scope = {**getattr(function, "__globals__", {}), **cells}
    while todo:
        body = todo.pop()
        names.update(body.co_names)
        todo += [const for const in body.co_consts if isinstance(const, types.CodeType)]
    reached = names | set(start.co_freevars)
    if any(isinstance(scope.get(name), types.FunctionType | types.MethodType) for name in reached):
        return None
    return names

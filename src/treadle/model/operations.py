"""What a process can yield: operations that may have to wait.

A process announces an operation by yielding it; its next step begins by performing it. So the
pending operation of every process is always known, and a process whose operation is not `ready`
is disabled.
"""

from __future__ import annotations

import builtins
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.core.events import Codes, Mode, code, location_of
from treadle.core.records import WaitKind
from treadle.model.state import State, is_plain

if TYPE_CHECKING:
    from treadle.model.run import ModelRun


class Operation(ABC):
    """Something that a process yields; its next step begins with it."""

    __slots__ = ()

    kind = WaitKind.OTHER
    """What sort of thing it waits for."""

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
        """Say what the process waits for."""

    def holders(self) -> list[int]:
        """Return the processes that hold what is waited for."""
        return []

    def held(self) -> str:
        """Name what the process holds once it has performed it; empty if that is nothing."""
        return ""

    def asked(self) -> object:
        """Return what tells the operation from others of its class; for comparing states."""
        return self.describe()

    def fingerprint_of(self) -> object:
        """Return what was asked for: a process may keep an operation before it yields it."""
        return self.asked()


class Join(Operation):
    """Wait for the end of a process."""

    __slots__ = ("_run", "_target")

    kind = WaitKind.END

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


class Labelled(Operation):
    """Nothing but the name of the block that follows."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def ready(self, process: int) -> bool:
        """Wait for nothing."""
        return True

    def perform(self, process: int) -> None:
        """Do nothing."""

    def pending(self, process: int) -> Codes:
        """Access nothing."""
        return ()

    def describe(self) -> str:
        """Name the label."""
        return f"the label {self._name!r}"


class Until(Operation):
    """Wait for a condition on shared state.

    The step depends on what the condition read when it held. A condition that stops at its first
    false part has not read the rest, so every variable that its code names is *watched* as well:
    that is where the core looks for steps that may have disabled it.
    """

    __slots__ = ("_condition", "_process", "_run", "_watched")

    kind = WaitKind.CONDITION

    def __init__(self, run: ModelRun, condition: Callable[[], object]) -> None:
        self._run = run
        self._condition = condition
        self._process = run.current
        self._watched = run.watched_by(condition)

    def ready(self, process: int) -> bool:
        """Evaluate the condition, without a trace in the log; one that raises does so in a step."""
        holds, _ = self._run.observe(process, self._condition)
        return bool(holds)

    def perform(self, process: int) -> None:
        """Log what the condition reads now that it holds."""
        for access in self.pending(process):
            self._run.append(access)
        holds, _ = self._run.observe(process, self._condition)
        if isinstance(holds, Raised):
            holds.again()

    def pending(self, process: int) -> Codes:
        """Return the condition's reads in the present state, and what it watches."""
        _, reads = self._run.observe(process, self._condition)
        awaited = dict.fromkeys(code(location_of(access), Mode.AWAIT) for access in reads)
        return (*awaited, *self._watched)

    def describe(self) -> str:
        """Name the variables that the condition reads now."""
        _, reads = self._run.observe(self._process, self._condition)
        names = dict.fromkeys(self._run.location_name(location_of(access)) for access in reads)
        return f"a condition on {', '.join(names) or 'nothing shared'}"

    def asked(self) -> object:
        """Return the condition."""
        return self._condition


class Raised:
    """What calling a function of the model gave, if it raised: true, and can be raised again."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def again(self) -> NoReturn:
        """Raise it; not as StopIteration, which would look like the end of the process."""
        if isinstance(self.error, StopIteration):
            raise RuntimeError("a condition raised StopIteration") from self.error
        raise self.error


_SAFE_BUILTINS = frozenset(
    {abs, all, any, bool, enumerate, float, frozenset, int, isinstance, len, list, max, min}
    | {range, reversed, round, set, sorted, str, sum, tuple, zip}
)
"""Built-ins that read no attribute of the state."""


def names_in(function: Callable[..., object]) -> set[str] | None:
    """Return the attribute names that a function's code mentions.

    None if it can reach shared state by other ways: it calls other code, or was given an object.
    """
    if not isinstance(function, types.FunctionType):
        return None
    names: set[str] = set()
    todo = [function.__code__]
    while todo:
        body = todo.pop()
        names.update(body.co_names)
        todo += [const for const in body.co_consts if isinstance(const, types.CodeType)]
    scope = {**vars(builtins), **function.__globals__}
    reached = [scope[name] for name in names if name in scope]
    given = closed_over(function)
    return names if given is not None and all(map(_is_harmless, reached + given)) else None


def closed_over(function: types.FunctionType) -> list[object] | None:
    """Return what a function was given when it was made: what it closes over, and its defaults.

    None if it closes over a name that is not bound yet, and may become anything.
    """
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        return None
    return [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def named(function: Callable[..., Any], name: str) -> Callable[..., Any] | None:
    """Return the function that a name means in a function; None if it means none."""
    inner = getattr(function, "__code__", None)
    if inner is None:
        return None
    if name in inner.co_freevars:
        contents = closed_over(function) if isinstance(function, types.FunctionType) else None
        if contents is None:
            return None
        found = contents[inner.co_freevars.index(name)]
    else:
        found = function.__globals__.get(name)
    return found if isinstance(found, types.FunctionType) else None


def _is_harmless(value: object) -> bool:
    """Tell whether a condition reaches nothing shared through a value, but by naming it."""
    if isinstance(value, type | types.BuiltinFunctionType) and value in _SAFE_BUILTINS:
        return True
    return isinstance(value, State) or is_plain(value)

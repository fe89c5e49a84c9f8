"""What is bound late: the few things that lower layers call and only higher ones can provide.

Everything else is plain imports, which point down. Each slot says who binds it and when. They are
read through this module at every use (`slots.announce(...)`), which costs no more than a global.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any, Protocol

from treadle.core.events import Codes, Vocabulary
from treadle.python.runtime.deeds import Deed
from treadle.python.runtime.patience import Patience
from treadle.python.runtime.scheduler import Scheduler
from treadle.python.runtime.task import Task


class Knowledge(Protocol):
    """What an exploration knows about locations (`treadle.python.sharing.shared.Shared`)."""

    features: set[tuple[str, Hashable]]
    happening: set[Hashable]
    specials: tuple[str, ...]
    learned: set[tuple[str, Hashable]]
    assigned: set[tuple[str, Hashable]]
    looked_into: set[tuple[str, str]]
    names: Set[str]

    def happens(self, sort: str, what: Hashable) -> bool:
        """Tell whether something happens to published objects of a sort."""

    def write(self, sort: str, what: Hashable) -> bool:
        """Note that data is written; tell whether that was known before this execution."""

    def note(self, sort: str, what: Hashable) -> bool:
        """Note that something happens; tell whether that was known before this execution."""

    def location(self, key: Hashable, name: str) -> int:
        """Return the number of a location."""

    def data_location(self, key: Hashable, name: str) -> int:
        """Return the number of a location that holds data of the program."""

    def publish(self, root: Any, label: str, key: Hashable) -> None:
        """Enter everything newly reachable from an object, in a fixed order."""


class Recording(Protocol):
    """Who writes an execution down (`treadle.python.recording.recorder.Recorder`)."""

    def call(self, deed: Deed, about: Any, detail: Any) -> AbstractContextManager[None]:
        """Call all steps by one name that the code under test takes by one call of a library."""

    def let_go(self, task: Task) -> None:
        """Keep of the present step only words: what it was about may die with it."""


class Controlled(Protocol):
    """A program whose code runs under control: threads, and whatever else is built on `python`."""

    name: str
    vocabulary: Vocabulary
    scheduler: Scheduler
    announce: Callable[..., None]
    """How steps are announced in the present execution: to the scheduler, or to a recorder."""
    is_coarse: bool
    """Whether tasks switch only where an interpreter with a global lock hands over."""
    branches: bool
    """Whether some execution had more than one task, or a choice."""
    is_cut: bool
    """Whether `treadle.assume` did not hold in this execution."""
    is_atomic: bool
    """Whether nobody else runs in the middle of a step, whatever that calls."""
    has_shared_clock: bool
    """Whether all tasks look at one clock, and each look is a step."""

    def unseen_by_clocks(self, readers: int) -> str:
        """Return what is not seen if so many tasks look at clocks, or nothing."""

    @property
    def patience(self) -> Patience:
        """How long tasks may take, and what rests on that."""

    @property
    def shared(self) -> Knowledge:
        """What is known about locations."""

    @property
    def recorder(self) -> Recording | None:
        """Who writes the present execution down, if somebody does."""

    @property
    def announce_access(self) -> Callable[..., None]:
        """How hooks announce an access, once there is more than one task."""

    def hand_out(self, value: Any, label: str) -> None:
        """Publish a value on behalf of the current task."""

    def wait_in_vain(self, me: Task) -> None:
        """Take note that a task slept or waited in vain; too often, and it does not go on."""


# What stands in a slot until somebody binds it


def nothing(codes: Any, deed: Any = None, about: Any = None, detail: Any = None) -> None:
    """Stand in for `announce` where nothing is shared with anybody yet."""


def nobody(value: Any, label: str) -> None:
    """Stand in for `hand_out` outside of an exploration."""


def _no_module(module: str) -> bool:
    """Stand in for `take_in` outside of an exploration."""
    del module
    return False


def _nothing_met(function: Any, owner: Any) -> tuple[Codes, list[Any]]:
    """Stand in for `met_by` until that is imported."""
    del function, owner
    return (), []


def _same(one: Any, *_: Any) -> Any:
    """Stand in for what replaces its argument."""
    return one


def _as_it_is(function: FunctionType) -> None:
    """Stand in for `settle` outside of an exploration."""


# The slots

program: Controlled | None = None
"""The program in control; bound by the program itself while it is (`threads.program`)."""

announce: Callable[..., None] = nothing
"""Ends the current task's step with what it is to do next; returns when it is to do that.

Codes are followed by a deed, what that is about, and a detail (`deeds`). Bound by `control` when
the first task is started and around blocks of one step, by the program at the end of an execution,
by who imports modules, orders items or puts values into words meanwhile.
"""

hand_out: Callable[[Any, str], None] = nobody
"""Publishes a value under a name, on behalf of the current task; bound by the program."""

on_return: Callable[[Any, object], None] | None = None
"""Told the detail of a method call and what it returned; bound by the program, to a recorder."""

item_by_item = False
"""Whether what looks through a list takes a step for each item; bound by the program."""

take_in: Callable[[str], bool] = _no_module
"""Asked, before code of a module is run, to instrument it; tells whether it just did so.

Bound by `instrument.modules` while code is instrumented.
"""

compiled: Callable[[Any, str, dict[str, Any], int, str], Any] = _same
"""Rewrites source or code that `exec` or `eval` is about to run in a namespace.

Given are the source, the mode, the namespace, flags of the compiler and a module's name. Bound by
`instrument.modules` while code is instrumented.
"""

met_by: Callable[[Any, Any], tuple[Codes, list[Any]]] = _nothing_met
"""Tells what a function of a library touches besides what it is given, and who has it as a method.

That is what its package keeps: codes, and published objects. Bound by `accesses.in_sight`.
"""

resolve: Callable[[Any], Any] = _same
"""Returns what to call instead of a callable; bound by `accesses.calls` when it is imported."""

settle: Callable[[FunctionType], None] = _as_it_is
"""Lets a function have the code that it will run, if it has none yet; for who looks at its code.

Bound by `instrument.modules` while code is instrumented.
"""

with_hook_at_first: Callable[[CodeType, Callable[[], None]], CodeType] = _same
"""Returns code that calls a hook where it begins.

Bound by `instrument.modules` while code is instrumented.
"""

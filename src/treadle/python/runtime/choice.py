"""`treadle.atomic`, `treadle.assume`, `treadle.choose`: what a test can tell Treadle.

A choice among `k` values is explored without any help of the core: an auxiliary task, the *coin*,
takes `k - 1` steps that write a location of their own; the choosing task reads how many of them
have happened. There are exactly `k` places for that read, and one execution for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TypeVar

from treadle.core.errors import TreadleError
from treadle.core.events import Mode, code
from treadle.python.runtime import control
from treadle.python.runtime.scheduler import Cut
from treadle.python.runtime.task import Task

Value = TypeVar("Value")


def assume(condition: object) -> None:
    """Go on only if the condition holds; executions in which it does not are left out.

    They are counted in `Result.cut`, and nothing that happens in them is a failure.

    >>> import treadle
    >>> def test():
    ...     x = treadle.choose([1, 2, 3])
    ...     treadle.assume(x != 2)
    ...     assert x != 2
    >>> result = treadle.explore(test)
    >>> result.executions, result.cut, result.ok
    (2, 1, True)
    """
    if condition:
        return
    if control.current() is None:
        raise TreadleError("treadle.assume() does not hold, and no exploration is under way")
    control.the_program().is_cut = True
    raise Cut


def choose(options: Sequence[Value]) -> Value:
    """Return one of the options: each one is explored.

    Outside of an exploration it returns the first.

    >>> import treadle
    >>> def test():
    ...     assert treadle.choose([1, 2]) + treadle.choose([3, 4]) != 6
    >>> result = treadle.explore(test, stop_on_failure=False)
    >>> result.executions, len(result.failures)
    (4, 1)
    """
    options = list(options)
    if not options:
        raise TreadleError("treadle.choose() needs at least one option")
    me = control.current()
    if me is None or len(options) == 1:
        return options[0]
    if control.collected is not None:
        raise TreadleError("treadle.choose() cannot be used inside treadle.atomic(): choose before")
    return options[_toss(me, len(options))]


def _toss(me: Task, sides: int) -> int:
    """Return a number below `sides`; all are explored."""
    program = control.the_program()
    me.children += 1
    path = me.path.child(me.children, "?")
    label = f"choice {me.children} of {me.name}"
    location = program.vocabulary.location((path.name, "choice"), label)
    program.branches = True
    outcome = 0

    def coin() -> None:
        nonlocal outcome
        for _ in range(sides - 1):
            program.announce((code(location, Mode.WRITE),))
            outcome += 1

    task = Task(path, coin)
    task.daemon = True
    control.step(path.spawn)
    program.scheduler.begin(task, me)
    control.step((code(location, Mode.READ),))
    return outcome


class atomic:  # noqa: N801 - used like a function
    """A block that is one event: no other thread runs in between.

    What would have to wait inside it is an error.

    >>> import threading
    >>> import treadle
    >>> def test():
    ...     box = [0]
    ...     def increment():
    ...         with treadle.atomic():
    ...             box[0] += 1
    ...     threads = [threading.Thread(target=increment) for _ in range(2)]
    ...     for thread in threads:
    ...         thread.start()
    ...     for thread in threads:
    ...         thread.join()
    ...     assert box[0] == 2
    >>> treadle.explore(test).ok
    True
    """

    def __enter__(self) -> None:
        if control.current() is not None:
            control.enter_block()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        control.leave_block()

"""What primitives need to know of the execution that they are part of.

A primitive operation is one event. It announces itself, may have to wait, and acts when it is
scheduled:

    task = control.announce(operation, ACQUIRE, self)   # returns when it is this task's turn
    self._owner = task                                  # the operation itself
    task.doing = (code(location, Mode.TAKE),)           # what the step accessed

`ACQUIRE` says what the step is in words, and `self` what it is about (`deeds`).

While nobody else can reach a primitive (`facets.table_of` is None) the operation is no event,
unless it has to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from greenlet import getcurrent

from treadle.core.errors import TreadleBug
from treadle.core.events import OPEN, Codes, Mode, mode_of
from treadle.python.runtime import slots
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.task import Task


def current() -> Task | None:
    """Return the controlled thread that is running, or None outside of an execution.

    The exploration itself and other threads of the operating system are no controlled threads.
    """
    running = slots.program
    if running is None:
        return None
    task: Task | None = running.scheduler.me
    return task if task is not None and task.fiber is getcurrent() else None


def task() -> Task:
    """Return the controlled thread that is running."""
    found = current()
    if found is None:
        raise TreadleBug("a controlled primitive was used outside of an execution")
    return found


def the_program() -> slots.Controlled:
    """Return the program that is being explored."""
    return slots.program or no_program()


def no_program() -> NoReturn:
    """Say that there is none, for those who look into the slot themselves.

    Each event of a primitive does: to call `the_program` takes 2 % of a run of readers(8).
    """
    raise TreadleBug("a controlled primitive was used outside of an exploration")


def pass_time(me: Task, seconds: float) -> None:
    """Let time pass for a task that slept or waited in vain; it acted before."""
    if seconds > 0:
        me.now += seconds
        the_program().wait_in_vain(me)


def announce(
    doing: Operation | Codes, deed: Deed = PLAIN_ACCESS, about: Any = None, detail: Any = None
) -> Task:
    """End the current step; return the current task when it is to perform what it announced.

    As long as the test has started no thread, what need not wait is no event.
    """
    running = slots.program or no_program()
    me: Task = running.scheduler.me
    if collected is not None:
        _collect_operation(me, doing)
        return me
    if slots.announce is slots.nothing and (not isinstance(doing, Operation) or doing.ready(me)):
        return me
    if running.is_coarse:
        close_coarse_step(me)
    to_scheduler = running.announce  # called as a method, it would be looked up in the class first
    to_scheduler(doing, deed, about, detail)
    return me


def step(doing: Operation | Codes) -> None:
    """End the current step, whether there are other threads or not."""
    running = the_program()
    if running.is_coarse:
        close_coarse_step(running.scheduler.me)
    running.announce(doing)


def told_as(deed: Deed, about: Any, detail: Any = None) -> AbstractContextManager[None]:
    """Call all steps by one name that the code under test takes by one call of a library."""
    recorder = the_program().recorder
    return nullcontext() if recorder is None else recorder.call(deed, about, detail)


def publish(value: Any, label: str) -> None:
    """Make a value known as reachable for others, on behalf of the current task."""
    the_program().hand_out(value, label)


def spawn(
    me: Task,
    task: Task,
    codes: Codes,
    started: Callable[[Task], None],
    deed: Deed = PLAIN_ACCESS,
    about: Any = None,
    detail: Any = None,
) -> None:
    """Start a task in a step of its own, and run it up to its first announcement.

    `codes` are what starting it accesses; `started` is told in the same step, before it runs.
    """
    global collected
    running = slots.program or no_program()
    if slots.announce is slots.nothing:
        slots.announce = collect if collected is not None else running.announce_access
    if collected is None:
        if running.is_coarse:
            close_coarse_step(me)
        to_scheduler = running.announce
        to_scheduler(codes, deed, about, detail)
        started(task)
        running.scheduler.begin(task, me)
        return
    _collect_operation(me, codes)
    started(task)
    block, collected = collected, None  # what the new thread does is not part of the block
    slots.announce = running.announce_access
    try:
        running.scheduler.begin(task, me)
    finally:
        collected, slots.announce = block, collect


# Several accesses in one step

collected: list[int] | None = None
"""What the present atomic block has accessed so far; None outside of one."""
_depth = 0
"""How many atomic blocks the present one is nested in, itself included."""


def enter_block() -> None:
    """From now on, what the current task does belongs to one step."""
    global _depth
    if collected is None:
        announce(())
        _begin_collecting()
    _depth += 1


def leave_block() -> None:
    """Leave a block; the step is complete if it was the outermost one."""
    global _depth
    if collected is None:
        return
    _depth -= 1
    if _depth == 0:
        _end_collecting()


def begin_step() -> None:
    """Enter a block that is a step of a loop: it begins with nothing, and somebody listens."""
    global collected, _depth
    collected, _depth = [], 1


def end_step(me: Task) -> list[int]:
    """Leave that block, whatever was left in the middle; return what was done to primitives."""
    global collected, _depth
    found, collected, _depth = collected or [], None, 0
    if isinstance(me.doing, tuple):
        found.extend(me.doing)
    return found


def _begin_collecting() -> None:
    global collected
    collected = []
    if slots.announce is not slots.nothing:
        slots.announce = collect


def _end_collecting() -> None:
    global collected
    me = task()
    assert collected is not None
    assert me.doing is None or isinstance(me.doing, tuple)
    if slots.announce is collect:
        slots.announce = the_program().announce_access
    codes = dict.fromkeys([*collected, *(me.doing or ())])
    collected = None
    if codes:
        me.doing = (*codes, OPEN)


def collect(codes: Codes, deed: Deed = PLAIN_ACCESS, about: Any = None, detail: Any = None) -> None:
    """Add an access to the current task's step."""
    del deed, about, detail
    me = task()
    if me.doing is None:  # it has just begun: nothing of it belongs to the step that started it
        the_program().announce(())
    me.doing = (*(me.doing or ()), *codes)  # type: ignore[misc]


def revise(codes: Codes) -> None:
    """Add accesses to the current step; which ones, depended on what it read."""
    me = task()
    if isinstance(me.doing, tuple) and not set(codes) <= set(me.doing):
        me.doing = tuple(dict.fromkeys((*me.doing, *codes, OPEN)))


def decide(announced: Codes, codes: Codes) -> None:
    """Say what the current step accesses, which was announced while others could still decide."""
    me = task()
    if me.doing == announced:
        me.doing = codes
    else:  # it is a part of a step of several accesses
        revise(codes)


def _collect_operation(me: Task, doing: Operation | Codes) -> None:
    """Begin an operation inside an atomic block; it sets `doing` when it has happened."""
    assert collected is not None
    if isinstance(me.doing, tuple):
        collected.extend(me.doing)
    if isinstance(doing, Operation):
        if not doing.ready(me):
            the_program().scheduler.waits_in_block(me, doing)
        me.doing = ()
    else:
        me.doing = doing


def point() -> None:
    """A place where an interpreter with a global lock may hand over to another thread.

    Only used with `granularity="gil"`: there, accesses collect until the next such place.
    """
    running = slots.program
    if running is None or collected is not None or not running.is_coarse:
        return
    me = running.scheduler.me
    if me is None or not me.doing or slots.announce is slots.nothing:
        return
    close_coarse_step(me)
    running.announce(())


def close_coarse_step(me: Task) -> None:
    """Say that a step of several accesses may access others when it finds other values.

    A method that changes a container finds some too: `pop` of an empty one raises.
    """
    codes = me.doing
    if (
        isinstance(codes, tuple)
        and OPEN not in codes
        and any(mode_of(access) in (Mode.READ, Mode.WRITE) for access in codes)
    ):
        me.doing = (*dict.fromkeys(codes), OPEN)

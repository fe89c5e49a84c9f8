"""`threading.Thread` under control, patched in place."""

from __future__ import annotations

import threading
from typing import Any

from treadle.events import Codes, Mode, code
from treadle.threads import control, hooks, shared
from treadle.threads.patches import Patches
from treadle.threads.shared import Children, ObjectTable
from treadle.threads.task import Operation, Task


class Join(Operation):
    """Wait for the end of a thread."""

    __slots__ = ("_alive", "_target", "codes")

    def __init__(self, target: Task, alive: dict[int, Task]) -> None:
        self._target = target
        self._alive = alive
        self.codes: Codes = (code(target.number, Mode.JOIN),)

    def ready(self, task: Task) -> bool:
        """Tell whether the thread has ended."""
        return self._target.number not in self._alive

    def pending(self, task: Task) -> Codes:
        """Return the join."""
        return self.codes

    def describe(self) -> str:
        """Name the thread."""
        return f"the end of {self._target.label}"

    def holders(self) -> list[Task]:
        """Return the thread waited for."""
        return [self._target]


def _start(self: Any) -> None:
    """`Thread.start`."""
    running = control.the_program()
    me = control.task()
    control.publish(self, "thread")
    me.children += 1
    name = f"{me.name}.{me.children}"
    task = Task(running.vocabulary.process(name), name, self.run)
    task.thread = self
    task.now = me.now
    self._treadle = task
    hooks.announce = running.scheduler.announce
    running.scheduler.announce((code(task.number, Mode.SPAWN),))
    running.scheduler.begin(task, me)


def _join(self: Any, timeout: float | None = None) -> None:
    """`Thread.join`."""
    operation = Join(self._treadle, control.the_program().scheduler.alive)
    me = control.announce(operation)
    me.doing = operation.codes


def _children(thread: Any, label: str) -> Children:
    """Walk what a thread is given, and what a subclass adds to it."""
    for name, value in vars(thread).items():
        if name in ("_target", "_args", "_kwargs") or name not in _OWN_ATTRIBUTES:
            yield value, name.lstrip("_")


_OWN_ATTRIBUTES = frozenset(vars(threading.Thread())) | {"_treadle"}
shared.register(threading.Thread, ObjectTable, _children)

PATCHES = Patches(
    attributes=[
        (threading.Thread, "start", _start),
        (threading.Thread, "join", _join),
    ]
)

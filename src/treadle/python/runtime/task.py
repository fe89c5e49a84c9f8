"""A controlled thread, and what it is about to do.

A task always stands before a visible operation: it *announced* it and acts when it is scheduled.
What it announced is either the tuple of its access codes, and then it can always go on, or an
`Operation`, which may have to wait.
"""

from __future__ import annotations

from typing import Any

from treadle.core.events import Codes, Mode, Vocabulary, code
from treadle.python.runtime.operation import Caller, Operation

MAIN_IDENT = 1
"""Identifier of the thread that runs the test."""
_CHILDREN = 1000
"""Identifiers that each thread has for those it starts."""


class Path:
    """Which thread started which: names a task, and is the same in every execution."""

    __slots__ = (
        "_children", "_vocabulary", "ident", "join", "name", "number", "spawn", "thread_prefix",
    )  # fmt: skip

    def __init__(self, vocabulary: Vocabulary, name: str, ident: int) -> None:
        self.name = name
        self.number = vocabulary.process(name)
        self.ident = ident
        """The thread's identifier, which code under test may see."""
        self.thread_prefix = f"Thread-{name[5:]}{'.' if name[5:] else ''}"
        """What the names of the `Thread` objects begin with that it makes.

        They are numbered per creator, so that a name does not depend on who came first.
        """
        self.spawn: Codes = (code(self.number, Mode.SPAWN),)
        self.join: Codes = (code(self.number, Mode.JOIN),)
        self._vocabulary = vocabulary
        self._children: dict[tuple[str, int], Path] = {}

    def child(self, index: int, mark: str = ".") -> Path:
        """Return the path of a thread that this one starts."""
        path = self._children.get((mark, index))
        if path is None:
            name = f"{self.name}{mark}{index}"
            path = Path(self._vocabulary, name, self.ident * _CHILDREN + index)
            self._children[mark, index] = path
        return path


class Task:
    """One controlled thread of one execution."""

    __slots__ = (
        "callers", "children", "daemon", "doing", "fiber", "label", "name", "now", "number",
        "parent", "path", "published", "scratch", "target", "thread", "threads",
    )  # fmt: skip

    def __init__(self, path: Path, target: Any) -> None:
        self.path = path
        self.number = path.number
        self.name = self.label = path.name
        self.target = target
        self.doing: Codes | Operation | None = None
        """What it announced; once it acts, the accesses of its step; None until it begins."""
        self.callers: tuple[Caller, ...] = ()
        """What is not instrumented and in the middle of a call, outermost first."""
        self.fiber: Any = None
        """The greenlet that runs it; None until it begins."""
        self.parent: Task | None = None
        """Who waits for it to come to its first announcement."""
        self.daemon = False
        self.thread: Any = None
        """Its `threading.Thread`."""
        self.threads = 0
        """How many `Thread` objects it made: numbers them."""
        self.children = 0
        self.published = 0
        """How often it published objects: names them alike in every execution."""
        self.now = 0.0
        """Its virtual clock, in seconds since the execution began."""
        self.scratch: dict[Any, Any] = {}
        """What primitives keep for it (loop bookkeeping, thread-local values)."""

    def __repr__(self) -> str:
        return f"<task {self.name}>"


class _Awaiting(dict[Task, None]):
    """A dictionary that is no constant like any other empty one, for who puts it into code."""


awaiting = _Awaiting()
"""Tasks with callers: code under test that returns looks here whether anybody waits for that."""


def set_callers(task: Task, callers: tuple[Caller, ...]) -> None:
    """Say what is not instrumented and in the middle of a call of a task."""
    task.callers = callers
    if callers:
        awaiting[task] = None
    else:
        awaiting.pop(task, None)


def let_go_of_calls(task: Task) -> None:
    """Forget calls that are over, which have hold of what they were given, but not what they did.

    The step that they ended in is the present one.
    """
    for caller in task.callers:
        if caller.is_over():
            caller.end_step()
    set_callers(task, tuple(caller for caller in task.callers if not caller.is_over()))

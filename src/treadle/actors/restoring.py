"""Test cases by hand or generated: actors restored in any state, and a schedule that is followed.

`restore` makes an actor without its initialiser, with fields as they are given; `follow` runs a
program by a list of tasks, one macro-step each, and says how it ends.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.actors import control
from treadle.actors.actor import Actor, body_of
from treadle.core.errors import ScheduleMismatch, TreadleError
from treadle.core.schedule import Schedule
from treadle.symbolic.values import ANY as ANY

if TYPE_CHECKING:
    from treadle.actors.programs import Program
    from treadle.actors.run import ActorRun

Kind = TypeVar("Kind", bound=Actor)


def restore(what: type[Kind] | Kind, /, **fields: Any) -> Kind:
    """Make an actor in a certain state, without its initialiser; or give one more fields.

    >>> from treadle.actors import Actor, follow, program, restore
    >>> class Cell(Actor):
    ...     def __init__(self):
    ...         self.value = 0
    ...     async def double(self):
    ...         self.value *= 2
    >>> @program
    ... def from_the_middle():
    ...     restore(Cell, value=21).double.send()
    >>> follow(from_the_middle, ["main", "main.1:double"]).fields
    {'Cell1': {'value': 42}}
    """
    me = control.running("an actor is restored")
    if isinstance(what, type):
        return me.run.restored(me, what, fields)  # type: ignore[return-value]
    me.run.give_fields(what, fields)
    return what


@dataclass(frozen=True, slots=True)
class Followed:
    """How an execution ended that a schedule was given for."""

    kind: str
    """`deadlock`, `stuck`, `assertion`, `exception`, `end`; `open` if tasks can still go on."""
    message: str
    fields: dict[str, dict[str, Any]] = field(repr=False)
    """Of all actors, by what they are called."""
    waiting: dict[str, str] = field(repr=False)
    """What tasks wait for that have not ended: `new`, `get`, `await`, `until` or `paused`."""


def follow(program: Program, schedule: str | Sequence[str]) -> Followed:
    """Run a program by a schedule: the names of tasks, one for each macro-step."""
    tasks = Schedule.parse(schedule) if isinstance(schedule, str) else Schedule(schedule)
    with program.controlled():
        run = program.start()
        try:
            for number, name in enumerate(tasks, 1):
                run.step(_process(run, number, name))
            return _followed(run)
        finally:
            run.drop()


def _process(run: ActorRun, number: int, name: str) -> int:
    for task in run.alive.values():
        if task.name == name:
            if not run.is_ready(task):
                raise ScheduleMismatch(f"step {number}: {task.in_words} ({name}) cannot go on here")
            return task.number
    known = ", ".join(task.name for task in run.alive.values()) or "none"
    raise ScheduleMismatch(f"step {number}: there is no task {name!r} that can go on, of {known}")


def _followed(run: ActorRun) -> Followed:
    fields = {repr(actor): dict(body_of(actor).fields) for actor in run.actors}
    waiting = {task.name: task.waiting.name.lower() for task in run.alive.values()}
    if not run.chain and run.enabled():
        return Followed("open", "tasks can still go on", fields, waiting)
    ending = run.ending()
    kind, message = ending.kind, ending.message
    if ending.crashes and not run.chain:
        error = ending.crashes[0].exception
        kind = "assertion" if isinstance(error, AssertionError) else "exception"
        message = f"{type(error).__name__}: {error}"
    elif not waiting:
        kind, message = "end", ""
    return Followed(kind, message, fields, waiting)


def load(path: str | Path) -> ModuleType:
    """Return the code of a file, `.py` or `.abs`: its classes are attributes."""
    path = Path(path)
    if not path.exists():
        raise TreadleError(f"there is no file {path}: where is the code that the test is for?")
    if path.suffix == ".abs":
        from treadle.actors.abs.loading import module_of

        return module_of(path)
    name = f"treadle_loaded_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise TreadleError(f"{path} is neither Python nor ABS")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module

"""Properties of a program: invariants, which hold after every step, and what holds at the end.

One representative per class of executions is not enough for an invariant: it may be broken only
between two steps of different actors, in one of their orders. So every step that may change what an
invariant looks at also writes a location of that invariant. What it looks at is learned.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treadle.actors import control
from treadle.actors.actor import Actor, body_of
from treadle.actors.task import Task
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.events import Mode, code
from treadle.core.program import Crash

if TYPE_CHECKING:
    from treadle.actors.run import ActorRun

Check = Callable[..., object]

Field = tuple[str, str, str]
"""A field by its group, the class of the object, and its name."""

INVARIANT = "invariant "
"""What knowledge about invariants begins with."""


class Properties:
    """What has to hold of a program."""

    def __init__(self) -> None:
        self.invariants: list[Check] = []
        self.finals: list[Check] = []

    def broken_by(self, run: ActorRun, task: Task) -> Iterator[Crash]:
        """Yield the invariants that do not hold after a step of a task; each only once."""
        if not run.main.has_ended or run.main.error is not None:
            return
        for index, check in enumerate(self.invariants):
            if index in run.broken:
                continue
            error = self._failing(check, run, lambda *field, i=index: _look(run, i, field))
            if error is not None:
                run.broken.add(index)
                yield Crash(task.number, run.steps, error)

    def broken_at_end(self, run: ActorRun, step: int) -> Iterator[Crash]:
        """Yield the final properties that do not hold."""
        if run.main.has_ended and run.main.error is None:
            for check in self.finals:
                error = self._failing(check, run, lambda *_: None)
                if error is not None:
                    yield Crash(run.main.number, step, error)

    def codes(self, task: Task, may_change: Callable[[Task, str, str, str], bool]) -> list[int]:
        """Return the locations of the invariants that a step of a task may break."""
        program = task.run.program
        return [
            code(
                program.vocabulary.location(("invariant", index), f"what {_name(check)} says"),
                Mode.WRITE,
            )
            for index, check in enumerate(self.invariants)
            if task.actor is None
            or any(may_change(task, *field) for field in program.watched.get(index, ()))
        ]

    def _failing(
        self, check: Check, run: ActorRun, looks_at: Callable[[str, str, str], None]
    ) -> Exception | None:
        """Return what a check raises, if it fails."""
        returned = run.main.result
        given = returned if isinstance(returned, tuple) else (returned,)
        if not inspect.signature(check).parameters:
            given = ()
        with looking(looks_at):
            try:
                check(*given)
            except (TreadleError, TreadleBug):
                raise
            except Exception as error:
                return error
        return None


def _look(run: ActorRun, index: int, field: Field) -> None:
    """Take note that an invariant depends on a field."""
    if field not in run.program.watched.get(index, ()):
        run.program.learn(" ".join((f"{INVARIANT}{index}", *field)))


def watched_in(knowledge: Iterable[str]) -> dict[int, set[Field]]:
    """Return the fields that invariants, by index, were seen to look at."""
    watched: dict[int, set[Field]] = {}
    for one in knowledge:
        if one.startswith(INVARIANT):
            index, group, kind, name = one.removeprefix(INVARIANT).split(" ")
            watched.setdefault(int(index), set()).add((group, kind, name))
    return watched


@contextmanager
def looking(looks_at: Callable[[str, str, str], None]) -> Iterator[None]:
    """Let fields of all actors be read, and nothing be written."""

    def look(actor: Actor, name: str) -> Any:
        body = body_of(actor)
        looks_at(body.group.names.name, type(actor).__qualname__, name)
        if name in body.fields:
            return body.fields[name]
        raise AttributeError(f"{body.kind!r} object has no attribute {name!r}")

    control.look = look
    try:
        yield
    finally:
        control.look = None


def _name(check: Check) -> str:
    return getattr(check, "__name__", "the invariant")

"""An execution of actors in words: for each macro-step what it did to whom, and how it ended.

An exploration runs actors without this, as fast as it can; a failing schedule is then run once
more, in detail, for the report. A column of the report is an actor; its steps are of its tasks.
"""

from __future__ import annotations

import linecache
from typing import Any

from treadle.actors.actor import Actor, Method, body_of
from treadle.actors.future import Future
from treadle.actors.output import kept
from treadle.actors.run import ActorRun
from treadle.actors.standing import OVERTAKE, frames_of, overtaken_by, place_of
from treadle.actors.task import Task, Waiting
from treadle.core.events import Codes
from treadle.core.frames import frames_of_traceback, place_of_exception
from treadle.core.records import Access, FrameRecord, StepRecord
from treadle.core.words import brief, exception_in_words, frames_in_words, place_in_words


class DetailedRun(ActorRun):
    """An execution that records each step in words."""

    def __init__(self, program: Any) -> None:
        super().__init__(program)
        self._records: list[StepRecord] = []
        self._words: list[Access] = []

    def step(self, process: int) -> Codes:
        """Let a task take one step, record it, and return what it accessed."""
        task = self.alive[process]
        place, before = place_of(task), self._values(task)
        was_sealed, crashes = bool(self.chain), len(self.crashes)
        self._words = [*self._beginning(task)]
        with kept() as printed:
            codes = super().step(process)
        self._words += [Access("print", line) for line in printed.getvalue().splitlines()]
        self._words += self._changes(before, self._values(task))
        self._words += self._end_in_words(task)
        if self.chain and not was_sealed:
            self._words.append(Access("make", "the deadlock inevitable"))
        errors = [crash.exception for crash in self.crashes[crashes:]]
        errors += [task.error] if task.error is not None and not errors else []
        if errors:
            place = place_of_exception(errors[0]) or place
        self._records.append(
            StepRecord(
                task.name,
                tuple(self._words),
                place_in_words(place),
                linecache.getline(*place).strip() if place else "",
                exception_in_words(errors[0]) if errors else "",
                label=task.in_words,
                then=self._then(task),
                lane=task.group.names.label,
            )
        )
        return codes

    def _beginning(self, task: Task) -> list[Access]:
        """Say how a step of a task begins."""
        if task.waiting is Waiting.NEW:
            overtaken = overtaken_by(task, self.alive.values())
            start = [Access("start", f"{task.names.method}{_arguments(task.args, task.kwargs)}")]
            return start + [
                Access(OVERTAKE, f"{other.in_words}, which the same sender sent before")
                for other in overtaken
            ]
        if task.waiting in (Waiting.GET, Waiting.AWAIT):
            assert task.target is not None
            ended = task.target
            how = brief(ended.result) if ended.error is None else exception_in_words(ended.error)
            return [Access("get", f"the result of {ended.in_words}", how)]
        return [Access("go on with", task.in_words)]

    def _end_in_words(self, task: Task) -> list[Access]:
        """Say how a step of a task ended."""
        label = task.group.names.label
        if task.waiting is Waiting.GET:
            assert task.target is not None
            return [Access("hold", f"{label} until {task.target.in_words} ends", held=label)]
        if task.waiting is Waiting.AWAIT:
            assert task.target is not None
            return [Access("release", f"{label} until {task.target.in_words} ends")]
        if task.waiting is Waiting.UNTIL:
            return [Access("release", f"{label} until the condition holds")]
        if task.waiting is Waiting.PAUSED:
            return [Access("release", label)]
        returned = task.result is not None and task.error is None
        return [Access("return", task.names.method, brief(task.result))] if returned else []

    def _values(self, task: Task) -> dict[str, str]:
        """Return the fields of the actors of a task's group, in words."""
        return {
            f"{actor!r}.{name}": brief(value)
            for actor in self.actors
            if body_of(actor).group is task.group
            for name, value in body_of(actor).fields.items()
        }

    def _changes(self, before: dict[str, str], after: dict[str, str]) -> list[Access]:
        return [
            Access("write", name, value)
            for name, value in after.items()
            if before.get(name) != value
        ]

    def _then(self, task: Task) -> str:
        if task.has_ended:
            return "ends"
        return "" if self.is_enabled(task.number) else "waits"

    def send(
        self,
        me: Task,
        actor: Actor,
        method: Method[Any, Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Future[Any]:
        """Make a task of an actor, and say so."""
        future = super().send(me, actor, method, args, kwargs)
        self._words.append(Access("send", f"{method.name}{_arguments(args, kwargs)} to {actor!r}"))
        return future

    def make(
        self, me: Task, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], *, is_local: bool
    ) -> Actor:
        """Make an actor, and say so."""
        at = len(self._words)
        actor = super().make(me, cls, args, kwargs, is_local=is_local)
        self._words.insert(at, Access("make", f"{actor!r}"))
        return actor

    def records(self) -> list[StepRecord]:
        """Return the steps so far, in words."""
        return self._records

    def frames(self) -> list[FrameRecord]:
        """Return the functions of the program that the tasks are in."""
        names = self.program.vocabulary.process_names
        found = []
        for crash in self.crashes:
            frames = frames_of_traceback(crash.exception)
            found += frames_in_words(names[crash.process], frames)
        for task in self.alive.values():
            found += frames_in_words(task.name, [(f, f.f_lineno) for f in frames_of(task)])
        return found


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the arguments of a message in words."""
    words = [*map(brief, args), *(f"{name}={brief(value)}" for name, value in kwargs.items())]
    return f"({', '.join(words)})"

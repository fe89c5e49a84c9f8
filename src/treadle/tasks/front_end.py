"""Coroutine functions as a front end: `async def` tests, explored on a loop of Treadle's own.

This file is light. What takes control is loaded when a test is opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treadle.core.decorated import called_plainly
from treadle.core.front_end import FrontEnd
from treadle.core.options import declared_in
from treadle.tasks.kinds import KINDS
from treadle.tasks.options import TaskOptions
from treadle.threads.front_end import refuse_missing, refuse_parameters, refuse_unknown_python

if TYPE_CHECKING:
    from treadle.tasks.program import TaskProgram
    from treadle.threads.program import ThreadProgram


class Tasks(FrontEnd):
    """Coroutine functions."""

    name = "tasks"
    targets = "a coroutine function without parameters"
    options = declared_in(TaskOptions)
    kinds = KINDS

    def recognises(self, target: object) -> bool:
        """Tell whether something is a coroutine function, decorated or not."""
        return callable(target) and inspect.iscoroutinefunction(inspect.unwrap(target))

    def is_meant(self, name: str, value: object, module: str) -> bool:
        """Tell whether a variable is a coroutine function of the module that can be a test."""
        return (
            name.startswith("test")
            and inspect.isfunction(value)
            and self.recognises(value)
            and value.__module__ == module
            and not inspect.signature(value).parameters
        )

    @contextmanager
    def opened(
        self, target: Callable[[], Any], options: Mapping[str, Any]
    ) -> Iterator[ThreadProgram]:
        """Take control of a test, and try it out once to learn what matters in it."""
        refuse_unknown_python()
        from treadle.tasks.refusals import refuse_surroundings  # asyncio comes with it

        refuse_surroundings()
        from treadle.tasks.program import TaskProgram  # greenlet and bytecode come with it

        refuse_parameters(target)
        for package in options["instrument"]:
            refuse_missing(package)
        if not options["threads"]:
            program = TaskProgram(
                target,
                getattr(target, "__name__", "test"),
                asked={name: options[name] for name in TaskProgram.ASKED},
                instrument=options["instrument"],
                watchdog=options["watchdog"],
            )
            with called_plainly(), program.controlled():
                if _is_of_tasks(program):
                    yield program
                    return
        from treadle.tasks.among_threads import LoopAmongThreads

        name = getattr(target, "__name__", "test")
        among_threads = LoopAmongThreads(
            target,
            name,
            **{each: options[each] for each in ("instrument", "watchdog", "restore")},
        )
        with called_plainly(), among_threads.controlled():
            among_threads.try_out()
            yield among_threads


def _is_of_tasks(program: TaskProgram) -> bool:
    """Try a test out; tell whether its threads, if it has some, make no difference to tasks."""
    from treadle.tasks.beside import NeedsThreads

    try:
        program.try_out()
    except NeedsThreads:
        return False
    return True


TASKS = Tasks()

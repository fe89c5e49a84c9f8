"""The scheduler of a test that is a coroutine function.

A module of its own, since it is compiled if anything is: `Scheduler` is (setup.py).
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.core.frames import place_of_frame
from treadle.core.words import place_in_words
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import Scheduler
from treadle.python.runtime.task import Task as Actor
from treadle.tasks.beside import NeedsThreads
from treadle.tasks.kinds import BlockingCall

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop


class TaskScheduler(Scheduler):
    """The scheduler of a test that is a coroutine function: it has no threads to schedule."""

    def begin(self, task: Actor, parent: Actor | None) -> None:
        """Refuse: if there are threads, the loop has to be one of them."""
        del task, parent
        loop: Any = asyncio._get_running_loop()
        loop.fatal = NeedsThreads("the test starts a thread")
        raise loop.fatal

    def waits_in_block(self, me: Actor, doing: Operation) -> NoReturn:
        """Report a wait without `await`: only a thread could end it, if there is one."""
        loop: Loop = asyncio._get_running_loop()  # type: ignore[assignment]
        if loop.workers.are_given_work:
            loop.fatal = NeedsThreads("a task waits for a thread")
            raise loop.fatal
        place = place_in_words(place_of_frame(sys._getframe()))
        loop.report(
            BlockingCall(
                f"{me.name} waits for {doing.describe()} at {place} without `await`: the whole "
                f"loop stands still, and no other task can end that"
            )
        )

    def goes_round(self, site: object) -> None:
        """See whether a loop inside of a step ever ends."""
        loop: Any = asyncio._get_running_loop()
        if loop is not None:
            loop.rounds.visit(site)

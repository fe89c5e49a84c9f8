"""An `async def` test as a program: started again and again on a loop of Treadle's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from treadle.core.failure import Failure
from treadle.core.program import Run
from treadle.python.host.host import WATCHDOG
from treadle.python.instrument.modules import Instrumentation
from treadle.python.runtime import control, notes, slots
from treadle.python.runtime.escapes import escapes
from treadle.python.runtime.task import MAIN_IDENT, Path
from treadle.python.runtime.task import Task as Actor
from treadle.tasks import unawaited
from treadle.tasks.loop import Loop
from treadle.tasks.options import LATENCY
from treadle.tasks.patches import patches as own_patches
from treadle.tasks.run import TaskRun
from treadle.tasks.scheduler import TaskScheduler
from treadle.tasks.steps import Place
from treadle.threads.primitives.patches import Patches
from treadle.threads.program import ThreadProgram

RUN_BY_ASYNCIO = (
    "asyncio.locks", "asyncio.queues", "asyncio.taskgroups", "asyncio.timeouts", "asyncio.streams",
)  # fmt: skip
"""Modules of asyncio whose code is looked inside like that under test."""
_CLOCK = "the clock ({}) shows when timers were due: what arrives from outside takes no time on it"
_NO_CHOICE = {
    "fifo": "nothing arrives from outside; `treadle.pause()` marks a delay, "
    '`order="any"` reorders ready tasks',
    "any": "there was never more than one task that could go on, so there is only one order",
}


class TaskProgram(ThreadProgram):
    """A test that is a coroutine function."""

    front_end = "tasks"
    is_atomic = True
    controls = frozenset({"asyncio", "socket", "ssl"})

    ASKED: ClassVar[dict[str, object]] = {
        "order": "fifo",
        "yields": "test",
        "latency": LATENCY,
        "timeouts": "latency",
        "cancellations": 0,
        "leftover_tasks": True,
        "split": (),
        "resets": 0,
        "restore": True,
    }
    """What can be asked for that decides what an execution does, and what is not worth saying."""
    scheduler_kind = TaskScheduler

    def __init__(
        self,
        test: Callable[[], Any],
        name: str,
        *,
        asked: Mapping[str, Any],
        instrument: tuple[str, ...] = (),
        watchdog: float | None = WATCHDOG,
    ) -> None:
        super().__init__(test, name, watchdog=watchdog, restore=asked["restore"])
        self._asked = asked
        self.order: str = asked["order"]
        self.yields: str = asked["yields"]
        self.timeouts: str = asked["timeouts"]
        self.latency: float = math.inf if self.timeouts == "explore" else asked["latency"]
        self.cancellations: int = asked["cancellations"]
        self.leftover_tasks: bool = asked["leftover_tasks"]
        self.has_workers = False
        """Whether some execution gave a function to an executor: then it is looked at."""
        self.split: tuple[str, ...] = asked["split"]
        """Texts behind which what is written to a connection may be cut in two."""
        self.resets: int = asked["resets"]
        """How many connections may break."""
        self.places: dict[tuple[str, str], Place] = {}
        """The front end's own locations."""
        self.paths: dict[str, Path] = {}
        """What names the owners of steps in every execution."""
        self._packages = instrument
        self._instrumentation = Instrumentation(test, (*instrument, *RUN_BY_ASYNCIO))
        self._tasks_run: TaskRun | None = None
        self.announce = _go_on
        if self.order == "fifo":
            from treadle.tasks.fifo import Fifo

            self.strategy = Fifo

    counts_references = False

    @property
    def granularity(self) -> str:
        """There is nothing to choose: a step is a handle."""
        return ""

    @property
    def options(self) -> dict[str, object]:
        """Options that it takes to run the test in the same way again."""
        found = {
            name: self._asked[name]
            for name, usual in self.ASKED.items()
            if self._asked[name] != usual
        }
        if self._packages:
            found["instrument"] = self._packages
        return found

    def all_patches(self) -> Iterable[Patches]:
        """Return what is replaced while the test is explored."""
        return [*super().all_patches(), *own_patches(self), unawaited.patches(self)]

    def notes(self, *, has_ended: bool) -> list[str]:
        """Return what users should know about the executions so far."""
        del has_ended
        found = [
            f"{name} ran uninstrumented on shared objects {where}, as one atomic step: "
            f"add its package to `instrument` to look inside"
            for name, where in notes.unobserved
        ]
        found += [] if self.branches else [_NO_CHOICE[self.order]]
        return found + list(notes.remarks.values())

    def seen_in(self, run: Run, trace: Any, failure: Failure) -> list[str]:
        """Return what else there is to say about a failure: what it rests on, its pattern."""
        from treadle.tasks.remarks import remarks_on

        return remarks_on(run, trace, failure, order=self.order)

    def unseen_by_clocks(self, readers: int) -> str:
        """Return what is not seen if tasks look at the clock: how long the outside takes."""
        del readers
        step = None if self.loop is None else self.loop.step
        return "" if step is None or step.moment.is_exact else _CLOCK

    def wait_in_vain(self, me: Actor) -> None:
        """Take note that a step slept, or waited for so long: nobody else runs meanwhile."""
        del me
        if self.loop is not None and not self.loop.workers.are_at_work(self.loop.step):
            notes.remark(
                "blocking",
                "time.sleep",
                "{} blocks the whole loop, so that no other task runs meanwhile: "
                "`await asyncio.sleep(...)` lets them",
            )

    def escapes(self) -> list[str]:
        """Return what the executions so far did that is neither modelled nor seen."""
        return escapes.sentences

    @property
    def loop(self) -> Loop | None:
        """The loop of the present execution."""
        return None if self._tasks_run is None else self._tasks_run.loop

    def path(self, name: str) -> Path:
        """Return what names an owner of steps."""
        known = self.paths.get(name)
        if known is None:
            known = self.paths[name] = Path(self.vocabulary, name, MAIN_IDENT)
        return known

    def is_own_module(self, namespace: dict[str, Any]) -> bool:
        """Tell whether code is of the test's own module."""
        return namespace is getattr(inspect.unwrap(self.test), "__globals__", None)

    # Executions

    def begin_run(self, run: Any = None, *, detail: bool) -> TaskRun:  # type: ignore[override]
        """Begin an execution; no function waits for its first call."""
        del run
        return self.start(detail=detail)

    def start(self, *, detail: bool = False) -> TaskRun:  # type: ignore[override]
        """Begin an execution."""
        self._begin_anew()
        loop = Loop(self, detail=detail)  # type: ignore[abstract]
        run = self._tasks_run = TaskRun(self, loop)
        self._host.begin(loop.owner.actor)
        self.shared.publish(loop, "event loop", ("event loop",))
        run.begin(self.test)
        return run

    def abandon(self) -> None:
        """Unwind what is left of the last execution."""
        slots.announce = slots.nothing
        if self._tasks_run is not None:
            run, self._tasks_run = self._tasks_run, None
            run.unwind()
        self.scheduler.me = None

    @property
    def announce_access(self) -> Callable[..., None]:
        """How hooks announce an access: steps collect them."""
        return control.collect


def _go_on(*_: Any) -> None:
    """Stand in for the scheduler's `announce`: a handle goes on to its end."""

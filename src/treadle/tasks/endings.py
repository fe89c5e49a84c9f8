"""How an execution ends: what `asyncio.run` does then, and what is found to be wrong.

After the test's end the loop goes on until nothing is left to do that was begun before. Then, as in
`asyncio.run`, tasks that are pending are cancelled, asynchronous generators are closed, and the
loop runs until they are done. That is no part of the exploration: it happens in one order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.core.program import Crash, Ending
from treadle.python.accesses.coroutines import attempts_among
from treadle.tasks.kinds import LEFTOVER
from treadle.tasks.polls import Polls
from treadle.tasks.waiting import frames_of, waits_of
from treadle.threads.primitives.coroutines import close_coroutine

if TYPE_CHECKING:
    from treadle.tasks.run import TaskRun

_MOST_STEPS = 1000
"""Steps that tasks may take to end, once they are cancelled."""


def ending_of(run: TaskRun) -> Ending:
    """Describe the final state of a run that has nothing more to run."""
    program, crashes = run.program, run.crashes
    if program.is_cut:
        return Ending(crashes, [], is_cut=True)
    if run.main._state == "PENDING":
        return Ending(crashes, waits_of(run.loop, _pending(run)))
    last = max(0, len(run.loop.taken) - 1)
    _close_down(run)
    _look_for_lost_exceptions(run, last)
    run.look_for_errors(last)
    left = _pending(run) if program.leftover_tasks and not crashes else []
    waits = waits_of(run.loop, left)
    words = "; ".join(map(str, waits))
    return Ending(
        crashes,
        waits,
        kind=LEFTOVER if waits else "",
        message=f"still pending after the test has ended and cancelled it: {words}",
    )


def _pending(run: TaskRun) -> list[Any]:
    return [task for task in run.loop.tasks if task._state == "PENDING"]


def _close_down(run: TaskRun) -> None:
    """Do what `asyncio.run` does at the end."""
    loop = run.loop
    pending = _pending(run)
    if not pending and not loop.generators.are_open():
        return
    with loop.closing():
        for task in pending:
            task.cancel()
        _drain(run)
        if loop.generators.are_open():
            loop.create_task(loop.shutdown_asyncgens(), name="shutdown_asyncgens")
            _drain(run)


def _drain(run: TaskRun) -> None:
    """Run what is ready, and what arrives, until nothing is left."""
    polls = Polls({})
    for _ in range(_MOST_STEPS):
        step = polls.next_step(run)
        if step is None:
            return
        run.loop.run(step)


def _look_for_lost_exceptions(run: TaskRun, last: int) -> None:
    """Find exceptions of tasks that nobody has looked at."""
    seen = [crash.exception for crash in run.crashes]
    for task in run.loop.tasks:
        error = task._exception
        if task is run.main or error is None or not task._log_traceback or error in seen:
            continue
        error.add_note(f"the exception of {task.where_name} was never retrieved")
        run.crashes.append(Crash.of(_last_process_of(run, task.where_name), last, error))


def _last_process_of(run: TaskRun, name: str) -> int:
    """Return the latest step of a task; of who made it, if it is eager and took none of its own."""
    while name:
        for step in reversed(run.loop.taken):
            if step.owner.name == name:
                return step.process
        name = name.rpartition(".")[0]
    return run.loop.taken[-1].process


def close_coroutines(run: TaskRun) -> None:
    """Close the coroutines that are left: nobody is to run them later."""
    loop = run.loop
    loop.step = None
    for task in loop.tasks:
        attempts = [
            one for frame in frames_of(task) for one in attempts_among(frame.f_locals.values())
        ]
        close_coroutine(task._coro)
        for attempt in attempts:  # those that nobody has awaited would complain
            close_coroutine(attempt)

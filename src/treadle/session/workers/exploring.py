"""One exploration in parts, from the first half second to its result.

What is small is explored in this process, as always: nobody pays for hands that are not needed. If
more is left than that, hands start, from the whole space. What they find is run once more here:
exceptions and frames are not sent.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from treadle.core.failure import Failure, is_shown_by_schedule
from treadle.core.happens_before import Trace
from treadle.core.result import Result
from treadle.explore.accounts import Accounts
from treadle.explore.progress import Listener, Progress
from treadle.explore.search import Search
from treadle.session.workers.checkpoint import Checkpoint
from treadle.session.workers.coordinator import Coordinator, State
from treadle.session.workers.hands import Alone, Hands
from treadle.session.workers.parts import SUMMED, begun, counts_of, key_of
from treadle.session.workers.policy import ALONE, SHORT, TOO_SMALL, Policy, needed
from treadle.session.workers.sampling import SampleCoordinator
from treadle.session.workers.spaces import SampleSpace, Space, cpu_seconds, space_of
from treadle.session.workers.task import Tasks
from treadle.session.workers.work import Work

_clock = time.perf_counter
_signal, _getsignal = signal.signal, signal.getsignal
_MAIN, _get_ident = threading.main_thread().ident, threading.get_ident


@dataclass(slots=True)
class Wish:
    """How an exploration is handed out."""

    workers: int
    by_executions: bool = False
    checkpoint: Checkpoint | None = None
    resumed: State | None = None
    """What an earlier exploration left."""
    cost: float = 0.0
    """Seconds of the coordinator for each job."""

    @property
    def policy(self) -> Policy:
        """When parts are given up."""
        is_kept = self.checkpoint is not None
        return Policy(self.workers, self.by_executions, cost=self.cost, is_kept=is_kept)


# The first half second


class Beginning:
    """Decides after a while whether a space is too large for one process."""

    def __init__(self, policy: Policy) -> None:
        self._began, self._began_at = cpu_seconds(), _clock()
        self._policy = policy
        self._next = ALONE
        self._search: Search | None = None

    def watch(self, search: Search) -> None:
        """Let a search be given up."""
        self._search = search
        search.gives_up = self._gives_up

    def _gives_up(self) -> bool:
        assert self._search is not None
        if self._policy.by_executions:
            return begun(counts_of(self._search.result)) >= self._policy.limit(0)
        if _clock() - self._began_at < self._next:  # the cheaper clock, and never behind the other
            return False
        used = cpu_seconds() - self._began
        if used < self._next:
            return False
        if self._next > ALONE:
            return True  # it was to be over by now
        self._next = ALONE + SHORT
        return TOO_SMALL * needed(used, self._search.share_done()) > SHORT


class Quiet:
    """Passes progress on to a listener, but not that it is over: it goes on elsewhere."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.interval = listener.interval

    def __call__(self, progress: Progress) -> None:
        """Tell the listener."""
        if not progress.final:
            self._listener(progress)


# With hands


def explore_in_parts(
    work: Work,
    wish: Wish,
    listener: Listener | None,
    start: Callable[[Tasks], Hands] | None,
    began: float,
    outside: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Explore a space with hands that `start` starts; in this process, if there are none.

    `outside` is where hands are that need this process as it is, not under control.
    """
    policy = wish.policy
    space = space_of(work, policy)
    state = wish.resumed or State(deque(space.everything()), knowledge=work.program.knowledge())
    tasks = Tasks(space)
    with outside(), interrupts_noted() as is_interrupted:
        space.is_over = is_interrupted
        hands = Alone(tasks) if start is None else start(tasks)
        policy = replace(policy, workers=hands.count, hands=hands.each)  # an engine may have more
        try:
            coordinator = _coordinated(
                space, hands, policy, state, wish, listener, is_interrupted, began
            )
        except BaseException:
            if wish.checkpoint is not None:
                wish.checkpoint.save(state)
            raise
        finally:
            hands.close()
    if listener is not None:
        listener(coordinator.progress(is_final=True))
    if work.reopened is not None:
        work.program = work.reopened()
    work.program.know(state.knowledge)
    result = _result_of(work, space, state, hands.count)
    result.seconds = state.seconds + _clock() - began
    if wish.checkpoint is not None:
        state.seconds = result.seconds
        wish.checkpoint.save(state)
        result.notes += wish.checkpoint.notes
    return result


def _coordinated(
    space: Space,
    hands: Hands,
    policy: Policy,
    state: State,
    wish: Wish,
    listener: Listener | None,
    is_interrupted: Callable[[], bool],
    began: float,
) -> Coordinator:
    """Explore until the end, whichever it is."""
    work = space.work
    options: dict[str, Any] = {
        "listener": listener,
        "timeout": None if work.timeout is None else work.timeout - (_clock() - began),
        "save": None if wish.checkpoint is None else wish.checkpoint.save_if_due,
        "is_interrupted": is_interrupted,
    }
    coordinator: Coordinator
    if isinstance(space, SampleSpace):
        coordinator = SampleCoordinator(space, hands, policy, state, **options)
    else:
        coordinator = Coordinator(space, hands, policy, state, **options)
    coordinator.run()
    return coordinator


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], bool]]:
    """Take note of Ctrl-C instead of raising: what is counted so far is the result."""
    seen: list[int] = []

    def note(signum: int, frame: Any) -> None:
        del frame
        seen.append(signum)

    if _get_ident() != _MAIN:
        yield lambda: False
        return
    before = _getsignal(signal.SIGINT)
    _signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        _signal(signal.SIGINT, before)


# The result


def _result_of(work: Work, space: Space, state: State, workers: int) -> Result:
    """Add up, run failures again here, and say what can be said of the whole."""
    program = work.program
    result = Result(program.name, work.algorithm, scope=program.scope)
    for name in SUMMED:
        setattr(result, name, state.counts[name] + state.begun[name])
    if program.counts_states:
        result.states = result.events - result.replayed
    result.peak_nodes = state.deepest
    result.workers, result.parts, result.lost = workers, state.parts, state.lost
    result.failures = _run_here(work, list(state.failures.values()))
    result.stopped_by = state.stopped_by or state.incomplete
    result.complete = work.strategy.covers and state.is_covered
    if not result.complete and 0 < state.share < 1 and not isinstance(space, SampleSpace):
        result.estimate = state.counts["executions"] / state.share
    program.note_repeated(sorted(state.repeated))
    Accounts(program, Trace(program.vocabulary), result, races=False).conclude()
    result.notes += [note for note in state.notes if note not in result.notes]
    result.escapes += [one for one in state.escapes if one not in result.escapes]
    result.rests_on += [one for one in state.rests_on if one not in result.rests_on]
    return result


def _run_here(work: Work, failures: list[Failure]) -> list[Failure]:
    """Return failures with what hands did not send, as they show here; each only once."""
    found: dict[tuple[str, str, str], Failure] = {}
    for failure in failures:
        again = work.rerun(failure) if is_shown_by_schedule(failure.kind) else None
        shown = failure if again is None or again.kind != failure.kind else again
        shown = replace(shown, token="", trace=[])  # `record` adds them, as for any other
        found.setdefault(key_of(shown), shown)
    return list(found.values())

"""The coordinator: hands parts of a space out, adds up what comes back, and knows what is left.

A guided tour. `State` is all there is: parts that wait, sums, failures; a checkpoint is nothing
else. `run` gives each idle hand a job, waits for answers, and takes them: figures are added, and
what is left of a job waits again. A hand that died has its parts explored by another one; a part of
which hands die again and again ends the search, with a sentence. What a hand learns about the
program (what is a step) makes all parts void: everything begins anew, under the union of what all
have learned. No answer is taken twice, and none of an earlier beginning.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from treadle.core.failure import Failure
from treadle.explore.budget import used_up
from treadle.explore.progress import Estimate, Listener, Progress
from treadle.session.workers.hands import Died, Hands
from treadle.session.workers.parts import (
    Answer,
    Job,
    Part,
    Ran,
    Unfinished,
    begun,
    is_simpler,
    key_of,
)
from treadle.session.workers.policy import Policy
from treadle.session.workers.spaces import Space
from treadle.session.workers.taken import Taken

INTERRUPTED = "Ctrl-C"
"""Why a search ended that somebody interrupted."""
_DEATHS = 3
"""Hands that may die of a part before it is divided, and of its parts none."""
_LAST = 100
"""Executions of a budget that are left to one hand."""
_FOR_BUDGETS = 2
"""Pairs on which parts are divided further if each has a limit."""
_PATIENCE = 0.2
"""Seconds after which the coordinator looks around, whatever happens."""
_GRACE = 2.0
"""Seconds that hands have to answer when time is up."""

_clock = time.perf_counter


@dataclass(slots=True)
class State:
    """How far an exploration is."""

    pending: deque[Part] = field(default_factory=deque)
    counts: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    """Parts that are finished."""
    share: float = 0.0
    """Which share of the space they are likely to be."""
    lost: int = 0
    begun: Counter[str] = field(default_factory=Counter)
    """Figures of parts that are not finished: they count if nobody goes on, who begins anew."""
    deepest: int = 0
    failures: dict[tuple[str, str, str], Failure] = field(default_factory=dict)
    ran: dict[str, Ran] = field(default_factory=dict)
    """The classes that were run, by each digest, if parts may have some in common."""
    samples: list[Taken] = field(default_factory=list)
    """Samples that were taken, in order, if samples are taken."""
    knowledge: tuple[str, ...] = ()
    incomplete: str = ""
    stopped_by: str = ""
    notes: dict[str, None] = field(default_factory=dict)
    escapes: dict[str, None] = field(default_factory=dict)
    rests_on: dict[str, None] = field(default_factory=dict)
    repeated: set[str] = field(default_factory=set)
    seconds: float = 0.0
    """Wall time before this beginning, if the exploration was resumed."""

    def begin_anew(self, everything: list[Part]) -> None:
        """Forget all figures, which were about other steps; failures are failures."""
        self.pending = deque(everything)
        self.counts = Counter()
        self.begun, self.samples = Counter(), []
        self.ran = {}
        self.parts, self.share, self.lost, self.incomplete = 0, 0.0, 0, ""

    @property
    def is_covered(self) -> bool:
        """Whether nothing is left and nothing was left out."""
        return not (self.pending or self.stopped_by or self.incomplete)


class Coordinator:
    """Explores a space with some hands."""

    def __init__(
        self,
        space: Space,
        hands: Hands,
        policy: Policy,
        state: State,
        *,
        listener: Listener | None = None,
        timeout: float | None = None,
        save: Callable[[State], None] | None = None,
        is_interrupted: Callable[[], bool] = lambda: False,
        keeps_unfinished: bool = False,
    ) -> None:
        self._space = space
        self._hands = hands
        self._policy = policy
        self._state = state
        self._listener = listener
        self._timeout = timeout
        """Seconds from now."""
        self._save = save
        self._is_interrupted = is_interrupted
        self._keeps_unfinished = keeps_unfinished
        """Whether somebody else decides about parts that budgets have ended."""
        self._max_executions = space.work.max_executions
        self._flying: dict[int, Job] = {}
        self._numbers = 0
        self._first = 0
        """The number of the first job of this beginning."""
        self.unfinished: list[Unfinished] = []
        """Parts that wait because their own part of the budget was used up."""
        self._is_time_up = False
        """Whether a hand has said so."""
        self._next_tell = 0.0
        self._began = _clock()
        self.jobs = 0
        """Answers that were taken."""

    def run(self, seconds: float | None = None) -> None:
        """Explore until nothing is left, or something ends it; at most for so many seconds."""
        try:
            self._loop(None if seconds is None else self._began + seconds)
        finally:  # whatever happens, what is left is known
            self._take_back()

    def _loop(self, until: float | None) -> None:
        state = self._state
        while self._is_more() and not state.stopped_by:
            if until is not None and _clock() >= until:
                break
            if self._is_interrupted():
                state.stopped_by = INTERRUPTED
                break
            if self._is_late():
                self._end_of_time()
                break
            self._hand_out()
            for outcome in self._hands.wait(_PATIENCE):
                self._take(outcome)
            self._look_around()

    def _is_more(self) -> bool:
        """Tell whether there is anything to do; some spaces have no end."""
        state = self._state
        if not state.pending:
            state.pending.extend(self._space.more())
        return bool(state.pending or self._flying or self.unfinished)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return _clock() - self._began

    # Jobs

    def _hand_out(self) -> None:
        while len(self._flying) < self._hands.count:
            job = self._next_job()
            if job is None:
                break
            self._flying[job.number] = job
            self._hands.submit(job)
        self._hands.tell_idle(len(self._flying) < self._hands.count)

    def _next_job(self) -> Job | None:
        """Return what an idle hand is to do; None if the budget is all given away."""
        state, policy = self._state, self._policy
        limit = self._limit()
        if limit is not None and limit <= 0:
            return None
        if not state.pending:
            self._begin_unfinished_anew()
            limit = self._limit()  # a part that is whole has all that is left
        if not state.pending:
            return None
        waiting = len(state.pending)
        quantum = policy.quantum(self.elapsed)
        is_scarce = policy.is_scarce(waiting)
        parts = self._next_parts()
        self._numbers += 1
        return Job(
            self._numbers,
            tuple(parts),
            state.knowledge,
            policy.shortened(quantum) if is_scarce else quantum,
            patience=policy.patience if is_scarce else 0.0,
            again=policy.again,
            wanted=self._wanted(waiting) if is_scarce else 0,
            max_executions=limit,
            timeout=self._time_left(),
            is_to_finish=limit is not None and not is_scarce and self._save is None,
            only_divide=self._is_to_be_divided(parts[0]),
        )

    def _next_parts(self) -> list[Part]:
        """Take the parts of a job; one of which hands have died is alone in its job."""
        pending = self._state.pending
        idle = self._hands.count - len(self._flying)
        most = self._policy.group(len(pending), idle) if self._space.is_grouped else 1
        if most > 1 and self._policy.hands > 1:
            return self._even_parts(most, idle)
        parts = [pending.popleft()]
        while len(parts) < most and not (parts[0].deaths or pending[0].deaths):
            parts.append(pending.popleft())
        return parts

    def _even_parts(self, most: int, idle: int) -> list[Part]:
        """Take as much as each idle machine gets, by shares: few parts are most of a space."""
        pending = sorted(self._state.pending, key=lambda part: (-part.deaths, -part.share))
        room = sum(part.share for part in pending) / (idle + 1) - pending[0].share
        parts, others = [pending[0]], deque[Part]()
        for part in pending[1:]:
            is_taken = len(parts) < most and part.share <= room and not parts[0].deaths
            (parts if is_taken else others).append(part)
            room -= part.share if is_taken else 0.0
        self._state.pending = others
        return parts

    def _wanted(self, waiting: int) -> int:
        """Return on how many pairs to divide; on more, if a budget is to end few parts early."""
        wanted = self._policy.wanted(waiting + len(self._flying))
        return wanted if self._max_executions is None else wanted + _FOR_BUDGETS

    def _is_to_be_divided(self, part: Part) -> bool:
        """Tell whether a part is not to be explored, but its parts.

        Hands have died of it, or a budget was used up in it; or it is the whole space, of which
        one hand would explore the beginning only to lose it, while the others wait.
        """
        is_everything = part.share == 1.0 and self._hands.count > 1 and not part.is_whole
        is_deadly = part.deaths == _DEATHS and not part.is_divided
        return part.is_too_large or is_deadly or (is_everything and self._space.loses)

    def _begin_unfinished_anew(self) -> None:
        """Divide the part of which the least is lost: nothing else is left to do."""
        if not self.unfinished:
            return
        least = min(self.unfinished, key=lambda one: begun(one.counts))
        if least.part.is_whole and self._flying:  # it had all that was left: there may be more
            return
        self.unfinished.remove(least)
        self._state.lost += begun(least.counts)
        self._state.pending.append(replace(least.part, is_too_large=not least.part.is_whole))

    def _used(self) -> int:
        """Return how much of the budget of executions was used."""
        return begun(self._state.counts) + sum(begun(one.counts) for one in self.unfinished)

    def _limit(self) -> int | None:
        """Return how many executions a job may run; 0 if there is nothing to give.

        What cannot be divided has all that is left: nobody else could use it there.
        """
        if self._max_executions is None:
            return None
        given = sum(job.max_executions or 0 for job in self._flying.values())
        left = self._max_executions - self._used()
        is_whole = bool(self._state.pending) and self._state.pending[0].is_whole
        if left - given <= 0 or is_whole:
            return max(0, left - given)
        return min(max(left // (2 * self._hands.count), min(left, _LAST)), left - given)

    # Answers

    def _take(self, outcome: Answer | Died) -> None:
        job = self._flying.pop(outcome.number, None)
        if job is None or job.number < self._first:
            return  # nobody waits for it any more
        if isinstance(outcome, Died):
            self._bury(job, outcome.how)
            return
        self.jobs += 1
        if outcome.error is not None:
            self._state.pending.extendleft(reversed(job.parts))
            raise outcome.error
        if outcome.learned is not None:
            self._learn(outcome.learned)
            return
        self._is_time_up = self._is_time_up or outcome.is_late
        self._add(outcome, job)

    def _add(self, answer: Answer, job: Job) -> None:
        state = self._state
        state.counts += answer.counts
        self._count_once(answer.ran)
        state.parts += answer.done
        state.share += answer.share
        state.lost += answer.lost
        state.deepest = max(state.deepest, answer.deepest)
        state.incomplete = state.incomplete or answer.incomplete
        state.stopped_by = state.stopped_by or answer.stopped_by
        for failure in answer.failures:
            self._keep(failure)
        self._note(answer)
        state.pending.extendleft(reversed(answer.left))
        if self._save is None:
            self.unfinished += answer.unfinished
        else:
            self._leave_for_later(answer)

    def _count_once(self, ran: list[Ran]) -> None:
        """Take back what was counted of classes that others had run, too."""
        state = self._state
        for one in ran:
            if any(digest in state.ran for digest in one.digests):
                state.counts["executions"] -= 1
                state.counts["elsewhere"] += 1
                state.counts["failing"] -= one.failing
            state.ran.update(dict.fromkeys(one.digests, one))

    def _leave_for_later(self, answer: Answer) -> None:
        """Let somebody go on with what was ended: in smaller parts, if it was by executions.

        What was explored of it is lost, unless a budget ends the search: it is not told then.
        """
        state, most = self._state, self._max_executions
        for one in answer.unfinished:
            if answer.stopped_by:
                state.pending.appendleft(one.part)
                state.begun += one.counts
                continue
            is_whole = one.part.is_whole or answer.is_late
            state.pending.appendleft(replace(one.part, is_too_large=not is_whole))
            if most is not None and begun(state.counts) + begun(one.counts) >= most:
                state.stopped_by = state.stopped_by or used_up("max_executions", most)
            elif not answer.is_late:
                state.lost += begun(one.counts)

    def _note(self, answer: Answer) -> None:
        """Keep what is said in words about executions elsewhere."""
        state = self._state
        state.notes.update(dict.fromkeys(answer.notes))
        state.escapes.update(dict.fromkeys(answer.escapes))
        state.rests_on.update(dict.fromkeys(answer.rests_on))
        state.repeated.update(answer.repeated)

    def _keep(self, failure: Failure) -> None:
        """Keep the simplest schedule of each failure."""
        key = key_of(failure)
        known = self._state.failures.get(key)
        if known is None or is_simpler(failure, known):
            self._state.failures[key] = failure

    def _learn(self, learned: tuple[str, ...]) -> None:
        """Begin anew under what all have learned."""
        state = self._state
        union = tuple(sorted({*state.knowledge, *learned}))
        if union == state.knowledge:  # somebody else had learned it, too
            union = learned
        state.knowledge = union
        state.begin_anew(self._space.everything())
        self.unfinished.clear()
        self._first = self._numbers + 1

    def _bury(self, job: Job, how: str) -> None:
        """Let others explore what a hand died of; not for ever."""
        deaths = [replace(part, deaths=part.deaths + 1) for part in job.parts]
        worst = deaths[0]
        self._state.pending.extendleft(reversed(deaths))
        if len(deaths) == 1 and worst.deaths > _DEATHS:
            self._state.stopped_by = (
                f"a worker died {worst.deaths} times while it explored one part "
                f"({self._space.in_words(worst)}): {how}"
            )

    # Around

    def _time_left(self) -> float | None:
        return None if self._timeout is None else max(self._timeout - self.elapsed, 1e-3)

    def _is_late(self) -> bool:
        """Tell whether time is up, by the clock here or by that of a hand."""
        if self._timeout is None:
            return False
        return self.elapsed >= self._timeout or self._is_time_up

    def _end_of_time(self) -> None:
        """Wait for those at work, whose time is up, too."""
        state = self._state
        until = self.elapsed + _GRACE
        while self._flying and self.elapsed < until:
            for outcome in self._hands.wait(_PATIENCE):
                self._take(outcome)
        state.stopped_by = state.stopped_by or used_up("timeout", self._space.work.timeout)

    def _take_back(self) -> None:
        """Let parts that are not finished wait again; what was explored of them counts."""
        state = self._state
        for job in self._flying.values():
            if job.number >= self._first:
                state.pending.extendleft(reversed(job.parts))
        self._flying.clear()
        if self._keeps_unfinished:
            return
        for one in self.unfinished:
            state.pending.appendleft(one.part)
            state.begun += one.counts

    def _look_around(self) -> None:
        """Tell listeners, and save, what there is."""
        state, most = self._state, self._max_executions
        if most is not None and not self._flying and self._used() >= most and self._is_more():
            state.stopped_by = state.stopped_by or used_up("max_executions", most)
        if self._listener is not None and _clock() >= self._next_tell:
            self._listener(self.progress())
            self._next_tell = _clock() + self._listener.interval
        if self._save is not None:
            self._save(self.snapshot())

    def snapshot(self) -> State:
        """Return the state with what is under way as if it was not begun."""
        jobs = [job for job in self._flying.values() if job.number >= self._first]
        flying = [part for job in jobs for part in job.parts]
        return replace(self._state, pending=deque([*flying, *self._state.pending]))

    def progress(self, *, is_final: bool = False) -> Progress:
        """Say how far the exploration is; shares are those of random walks, so only about right."""
        state = self._state
        finished, share = state.counts["executions"], state.share
        estimate = None
        if finished and 0 < share < 1 and not is_final:
            total = finished / share
            estimate = Estimate(total, total, total, share, is_rough=True)
        return Progress(
            executions=finished + state.begun["executions"],
            blocked=state.counts["blocked"] + state.begun["blocked"],
            failures=len(state.failures),
            depth=0,
            seconds=state.seconds + self.elapsed,
            estimate=estimate,
            final=is_final,
            workers=self._hands.count,
        )

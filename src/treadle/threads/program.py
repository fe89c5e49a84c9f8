"""A test function as a program: patched, instrumented, and started again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from treadle.core import deadline
from treadle.core.deadline import OutOfTime
from treadle.core.debugging import no_breakpoints
from treadle.core.errors import CannotBeExplored, ScheduleMismatch, TreadleBug, TreadleError
from treadle.core.events import Codes, Vocabulary
from treadle.core.failure import Failure
from treadle.core.program import Program, Restart, Run
from treadle.core.words import exception_in_words
from treadle.explore.budget import MAX_STEPS
from treadle.explore.choosers import Chooser
from treadle.python.host.collector import sweep_now_and_then
from treadle.python.host.host import WATCHDOG, Host, Keeper
from treadle.python.host.interrupts import Interrupts
from treadle.python.host.watchdog import BlockedOutsideControl
from treadle.python.instrument.first_calls import FirstCalls
from treadle.python.instrument.modules import Instrumentation
from treadle.python.recording.recorder import Recorder
from treadle.python.runtime import control, notes, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.escapes import escapes
from treadle.python.runtime.patience import Patience, over_in_time
from treadle.python.runtime.rounds import Rounds
from treadle.python.runtime.scheduler import Scheduler
from treadle.python.runtime.task import MAIN_IDENT, Path, Task
from treadle.python.sharing import finalizers
from treadle.python.sharing.lives import lives
from treadle.python.sharing.published import published
from treadle.python.sharing.restoring import Restorer
from treadle.python.sharing.shared import Feature, Shared
from treadle.threads.first_calls import RunOfFirstCalls
from treadle.threads.labels import label_of_thread
from treadle.threads.options import ESCAPE
from treadle.threads.primitives.local import Locals, kinds_of_local
from treadle.threads.primitives.main_thread import MainThread
from treadle.threads.primitives.outside.paths import files
from treadle.threads.primitives.outside.printing import output
from treadle.threads.primitives.outside.process_tables import ProcessTables
from treadle.threads.primitives.outside.surroundings import Surroundings
from treadle.threads.primitives.patches import Installer, Patches, after_import
from treadle.threads.primitives.registry import loaded, patches, patches_of
from treadle.threads.primitives.running_loops import running_loops
from treadle.threads.run import ThreadRun
from treadle.threads.towards_deadlock import Towards

_TRIALS = 10
"""Natural executions that may be needed to learn what matters in them."""
_STEPS_AT_ONCE = 1_000
"""Steps between two looks at the clock."""
_LEFT_OUT = (
    'with granularity="free-threaded", `insert`, `pop(i)`, `del items[i]` and `items *= n` of a '
    "list, and what reads a whole bytearray, are one step: such builds may show states inside"
)


_CLOCKS = (
    "threads look at the clock ({}), each at one of its own: time stamps of threads that do not "
    'synchronise come in one order only; clock="shared" explores the others'
)


class ThreadProgram(Program):
    """A test that uses threads; implements `treadle.core.program.Program`.

    It can be started only inside `with program.controlled():`, which instruments the code under
    test and replaces the primitives.
    """

    def __init__(
        self,
        test: Callable[[], Any],
        name: str,
        *,
        instrument: tuple[str, ...] = (),
        is_coarse: bool = False,
        item_by_item: bool = False,
        thread_exceptions: bool = True,
        watchdog: float | None = WATCHDOG,
        max_rounds: int | None = None,
        escapes_fail: bool = False,
        has_shared_clock: bool = False,
        patience: Patience | None = None,
        towards_deadlock: bool = False,
        restore: bool = True,
    ) -> None:
        self.test = test
        self.name = name
        self.vocabulary = Vocabulary()
        self._path = Path(self.vocabulary, "main", MAIN_IDENT)
        self.scheduler = self.scheduler_kind()
        self.recorder: Recorder | None = None
        """Writes the present execution down, if it was started with detail."""
        self.announce: Callable[..., None] = self.scheduler.announce
        """How steps are announced in the present execution."""
        self._restorer = Restorer() if restore else None
        self.shared = Shared(self.vocabulary, published, self._restorer)
        self._loaded: frozenset[str] = frozenset()
        self.is_coarse = is_coarse
        """Whether threads switch only where an interpreter with a global lock hands over."""
        self._item_by_item = item_by_item
        """Whether what looks through a list takes a step for each item."""
        self.branches = False
        """Whether some execution had more than one thread, or a choice."""
        self.is_cut = False
        """Whether `treadle.assume` did not hold in this execution."""
        self._run: ThreadRun | None = None
        self._installer, self._interrupts = Installer(), Interrupts()
        self._locals = Locals(self.scheduler)
        self._host = Host(self, watchdog, self._keepers(restore))
        self._instrument = instrument
        self._thread_exceptions = thread_exceptions
        self._escapes_fail = escapes_fail
        self.has_shared_clock = has_shared_clock
        """Whether each look at the clock is a step."""
        self.patience = patience or Patience()
        """How long threads may take."""
        self._rounds = Rounds(max_rounds)
        self.towards = Towards(self.scheduler) if towards_deadlock else None
        """Leads executions to the deadlocks that the source makes one suspect."""
        self._natural: frozenset[Feature] = frozenset()
        self._trials: list[tuple[frozenset[Feature], frozenset[Feature]]] = []
        """What trial executions knew and what they changed, but for the last."""
        self._instrumentation = Instrumentation(
            test, instrument, gil=is_coarse, item_by_item=item_by_item, at_first_call=True
        )

    def _keepers(self, restore: bool) -> list[Keeper]:
        """Return who keeps what executions change in the interpreter."""
        found: list[Keeper] = [MainThread(), self._locals, Surroundings(), files, output]
        return [*found, running_loops, *([ProcessTables()] if restore else [])]

    front_end = "threads"
    is_atomic = False
    _failed = ""
    """The exception that a trial execution ended with."""
    _ended_well: bool | None = None
    """Whether the first trial execution did."""
    controls: ClassVar[frozenset[str]] = frozenset()
    """Packages that are explored and, for other front ends, out of sight."""
    scheduler_kind: type[Scheduler] = Scheduler
    counts_references = True
    """Whether objects die where the last reference goes: a step is all that happens meanwhile."""

    @property
    def first_calls(self) -> FirstCalls:
        """The functions under test that were not called yet, and are rewritten then."""
        return self._instrumentation.first_calls

    # In control, or not

    def not_repeated(self) -> str:
        """Return what the first executions of all did and none has done since."""
        if self._failed:
            return f"failed ({self._failed})"
        left = self._changed_in_trials() - self.shared.written
        if left:
            left -= self._changed_again()
        changed = ", ".join(sorted({_in_words(feature) for feature in left}))
        return changed and f"changed {changed}"

    def _changed_in_trials(self) -> set[Feature]:
        return {feature for _, changed in self._trials for feature in changed}

    def _changed_again(self) -> set[Feature]:
        """Return what trial executions change when they are run once more.

        Where an object is met first, and so what it is called, depends on what is known.
        """
        found: set[Feature] = set()
        for known, _ in self._trials:
            with self._tried_again(known):
                found |= self.shared.written
        return found

    def fails_again(self) -> str:
        """Run the first trial execution once more, knowing no more than it did."""
        if not self._ended_well:
            return ""
        with self._tried_again(frozenset()) as run:
            return self._how_it_failed(run)

    @contextmanager
    def _tried_again(self, known: frozenset[Feature]) -> Iterator[ThreadRun]:
        """Run a trial execution to its end, knowing so much."""
        now = frozenset(self.shared.features)
        self.shared.know(known)
        run = self.start()
        try:
            _finish_in_time(run)
            yield run
        finally:
            self.drop_run()
            self.shared.know(now)

    def _how_it_failed(self, run: ThreadRun) -> str:
        if self.is_cut or not run.crashes:
            return ""
        return exception_in_words(run.crashes[0].exception)

    def repeated(self) -> tuple[str, ...]:
        """Return what executions here did that the first ones of all had done."""
        return tuple(sorted(map(_as_text, self._changed_in_trials() & self.shared.written)))

    def note_repeated(self, repeated: Sequence[str]) -> None:
        """Take note of what executions in other processes did."""
        self.shared.written.update(map(_from_text, repeated))

    def rest(self) -> None:
        """End the watchdog's thread for a while."""
        self._host.rest()

    def go_on(self) -> None:
        """Begin it again, here or in a copy of this process."""
        self._host.go_on()

    def not_undone(self) -> list[str]:
        """Return the state that executions changed and the next ones find so, each with a line."""
        return [f"{what} ({where})" for what, where in notes.outliving.items()]

    @contextmanager
    def controlled(self) -> Iterator[None]:
        """Take control of the code under test and of the primitives; undo it whatever happens."""
        if slots.program is self:
            yield
            return
        if slots.program is not None:
            raise TreadleError(
                f"{slots.program.name} is being explored: explorations cannot be nested"
            )
        with self._interrupts.remembered(), self._taken_over():
            yield

    @contextmanager
    def _taken_over(self) -> Iterator[None]:
        sweep_now_and_then()
        slots.program = self
        slots.hand_out = self.hand_out
        slots.item_by_item = self._item_by_item
        escapes.begin(ESCAPE if self._escapes_fail else "", self.controls)
        try:
            self._loaded = loaded()
            patches_of_all = list(self.all_patches())  # which imports: each would be looked into
            self._locals.meet(self._instrumentation.install(self.shared, kinds_of_local()))
            self._installer.install(patches_of_all, self._instrumentation.covers)
            after_import[:] = [self._replace_what_is_new]
            with self._host.guarded():
                yield
        finally:
            try:
                self.abandon()
            finally:
                after_import.clear()
                self.shared.reset()  # finalizers may run now
                if self._restorer is not None:  # also to what Treadle itself has put there
                    self._restorer.restore()
                    self._restorer.clear()
                self._installer.undo()
                self._instrumentation.undo()
                self.shared.clear()
                lives.begin(None)
                self.scheduler.fibers.end()
                slots.program, slots.hand_out, slots.on_return = None, slots.nobody, None
                slots.item_by_item = False

    def _replace_what_is_new(self) -> None:
        """Let modules be under control, too, that were loaded since."""
        new = loaded() - self._loaded
        if new:
            self._loaded |= new
            self._installer.install(patches_of(new), self._instrumentation.covers)

    def all_patches(self) -> Iterable[Patches]:
        """Return what is replaced while the test is explored."""
        return patches()

    @property
    def granularity(self) -> str:
        """Where threads may switch."""
        if self._item_by_item:
            return "free-threaded"
        return "gil" if self.is_coarse else "access"

    @property
    def options(self) -> dict[str, object]:
        """Options that it takes to run the test in the same way again."""
        found: dict[str, object] = {}
        if self.granularity != "access":
            found["granularity"] = self.granularity
        if self._instrument:
            found["instrument"] = self._instrument
        if not self._thread_exceptions:
            found["thread_exceptions"] = False
        if self._rounds.most is not None:
            found["max_rounds"] = self._rounds.most
        if self._escapes_fail:
            found["escapes"] = "fail"
        if self.has_shared_clock:
            found["clock"] = "shared"
        if self._restorer is None:
            found["restore"] = False
        return {**found, **self.patience.options}

    def name_values(self, wanted: bool) -> None:
        """Let steps say which values they store, if a step is one access."""
        self.shared.names_values = wanted and not self.is_coarse

    def knowledge(self) -> tuple[str, ...]:
        """Return what was learned beyond the natural execution."""
        return tuple(sorted(map(_as_text, self.shared.features - self._natural)))

    def know(self, knowledge: Sequence[str]) -> None:
        """Know what an earlier exploration had learned, and nothing else."""
        self.shared.know(self._natural.union(map(_from_text, knowledge)))

    def notes(self, *, has_ended: bool) -> list[str]:
        """Return what users should know about the executions so far."""
        found = self._rounds.notes(has_ended=has_ended)
        if not self.branches:
            found.append("the test started no thread, so there is only one interleaving")
        found += [
            f"{name} ran uninstrumented on shared objects {where}, as one atomic step: "
            f"add its package to `instrument` to look inside"
            for name, where in notes.unobserved
        ]
        found += notes.remarks.values() if self.branches else []
        found += [_LEFT_OUT] if self.branches and self._item_by_item else []
        return found

    def preferring(self, choose: Chooser) -> Chooser:
        """Return a schedule that tries first what leads to a suspected deadlock."""
        return choose if self.towards is None else self.towards.preferring(choose)

    def judge(self, failures: Sequence[Failure], *, is_complete: bool) -> list[str]:
        """Return what the search says about each suspected deadlock."""
        return [] if self.towards is None else self.towards.notes(failures, is_complete=is_complete)

    def escapes(self) -> list[str]:
        """Return what the executions so far did that is neither modelled nor seen."""
        return escapes.sentences if self.branches else []

    def rests_on(self) -> list[str]:
        """Return what a verdict rests on: that long waits end last."""
        return self.patience.in_words()

    def seen_in(self, run: Run, trace: Any, failure: Failure) -> list[str]:
        """Return what a failing execution rests on: waits that were over, lives that are not."""
        del run, trace
        if failure.kind == "livelock":  # it sleeps, but for ever
            return []
        lives = finalizers.in_failures() if failure.kind != "race" else []
        return [*over_in_time(failure.trace[: failure.step + 1]), *lives]

    def try_out(self) -> object:
        """Learn from the natural execution what matters, and return what the test returns.

        A debugger is not for this: whoever sets a breakpoint wants to see an execution that counts.
        """
        with self.controlled(), no_breakpoints():
            trials: list[str] = []
            rehearsed: str | None = None
            while len(trials) < _TRIALS:
                self.shared.written.clear()
                known, returned = frozenset(self.shared.features), None
                try:
                    run = self.begin_run(detail=False)
                    _finish_in_time(run)
                except OutOfTime:  # the search will say so
                    self.drop_run()
                    break
                returned, failed = self.returned, self._how_it_failed(run)
                is_rehearsal = self.first_calls.have_happened()
                if not is_rehearsal:
                    trials.append(failed)
                elif rehearsed is None:
                    rehearsed = failed
                if self._ended_well is None:
                    self._ended_well = not (failed or self.is_cut)
                try:
                    run.close()
                    if is_rehearsal:
                        raise Restart
                except Restart:
                    self._trials.append((known, frozenset(self.shared.written)))
                    continue
                break
            self._judge_trials(trials, rehearsed)
        self._natural = frozenset(self.shared.features)
        return returned

    def _judge_trials(self, trials: list[str], rehearsed: str | None) -> None:
        """Remember how trials failed, among them the first execution of all.

        If functions were rewritten in that, stubs were among its frames: who looks at these may
        have failed, or not, for that. Then with stubs it does so again; if it does not, state
        outlives an execution.
        """
        self._failed = next((failed for failed in reversed(trials) if failed), "")
        if rehearsed is None or not trials or bool(rehearsed) == bool(trials[0]):
            return
        self.first_calls.await_again()
        run = self.begin_run(detail=False)
        try:
            _finish_in_time(run)
            is_due_to_stubs = bool(self._how_it_failed(run)) == bool(rehearsed)
        except OutOfTime:
            return
        finally:
            self.drop_run()
            self.first_calls.have_happened()
        if is_due_to_stubs:
            self._ended_well = not trials[0]
        else:
            self._failed = self._failed or rehearsed

    # Executions

    def start(self, *, detail: bool = False) -> ThreadRun:
        """Begin an execution in which all that runs was rewritten before."""
        if not self._instrument:
            return self.begin_run(detail=detail)
        run = RunOfFirstCalls(self, detail=detail)
        run.begin_again()
        return run

    def begin_run(self, run: ThreadRun | None = None, *, detail: bool) -> ThreadRun:
        """Begin an execution, which may be one that was begun before."""
        self._begin_anew()
        self.scheduler.on_crash = self._is_finding
        self.scheduler.on_end = self._close_last_step if detail or self.is_coarse else None
        self._record(detail)
        if run is None:
            run = ThreadRun(self)
        else:
            run.attach()
        self._run = run
        main = Task(self._path, self._main)
        self.scheduler.let_go()
        self._host.begin(main)
        self.scheduler.begin(main, None)
        return run

    def _begin_anew(self) -> None:
        """Leave nothing of the last execution, in the program's state and in Treadle's own."""
        if slots.program is not self:
            raise TreadleBug("an execution was started outside of `controlled`")
        self.abandon()
        self._interrupts.raise_pending()
        self.scheduler.reset()
        self.shared.reset()
        lives.begin(self.shared if self.counts_references else None)
        self._host.sweep()
        if self._restorer is not None:  # what finalizers changed is undone, too
            self._restorer.restore()
        self._instrumentation.adapt()
        self._instrumentation.publish()
        self.returned = None
        self.is_cut = False

    def _record(self, detail: bool) -> None:
        """Write the execution that begins down, or do not."""
        self.recorder = None
        self.announce = self.scheduler.announce
        slots.on_return = None
        if detail:
            self.recorder = Recorder(self.scheduler, self.vocabulary, label_of_thread)
            self.announce = self.recorder.announce
            slots.on_return = self.recorder.returned

    def _close_last_step(self, task: Task) -> None:
        """Close the last step of a task that has ended."""
        if self.is_coarse:
            control.close_coarse_step(task)
        if self.recorder is not None:
            self.recorder.end(task)

    def _main(self) -> None:
        self.returned = self.test()

    def abandon(self) -> None:
        """Unwind what is left of the last execution."""
        if self._run is not None:
            self._run.keep_standing()
            self._run = None
            if self.scheduler.alive:
                self.scheduler.abort()
            self.branches = self.branches or slots.announce is not slots.nothing
            slots.announce = slots.nothing

    def end_run(self) -> None:
        """End an execution; begin anew if it showed something that matters."""
        self.abandon()
        if self.shared.learn():
            raise Restart

    def restart_if_learned(self) -> None:
        """Begin anew if the present execution showed something that matters."""
        if self.shared.learned:
            self.end_run()

    def drop_run(self) -> None:
        """End an execution that is no part of an exploration, and forget what it showed."""
        self.abandon()
        self.shared.learned.clear()

    def _is_finding(self, task: Task, error: BaseException) -> bool:
        """Tell whether an exception that ended a task is a finding; in the test it always is.

        What blocks outside of control ends the search: nothing can be said about the test.
        """
        if isinstance(error, OutOfTime):
            self.scheduler.fatal = error
            return False
        if isinstance(error, BlockedOutsideControl):
            self.scheduler.fatal = CannotBeExplored(f"{self.name} cannot be explored: {error}")
            return False
        return task.parent is None or self._thread_exceptions

    def hand_out(self, value: Any, label: str) -> None:
        """Publish a value on behalf of the current task."""
        if type(value) in ATOMS or id(value) in published:
            return
        me = self.scheduler.me
        if me is None:  # a finalizer, between two executions
            return
        me.published += 1
        self.shared.publish(value, label, (me.number, me.published))

    def unseen_by_clocks(self, readers: int) -> str:
        """Return what is not seen if so many threads look at clocks of their own, or nothing."""
        return _CLOCKS if readers > 1 else ""

    def wait_in_vain(self, me: Task) -> None:
        """Take note that a task slept or waited in vain; too often, and it does not go on."""
        self._rounds.spend(me)

    @property
    def announce_access(self) -> Callable[..., None]:
        """How hooks announce an access, once threads have been started."""
        if not self.is_coarse:
            return self.announce
        return control.collect if self.recorder is None else self.recorder.collect


def _finish_in_time(run: ThreadRun) -> None:
    """Run to the end by the natural schedule, or as far as steps and time allow."""
    processes: list[int] = []
    codes: list[Codes] = []
    is_over, limit = False, 0
    while not is_over and limit < MAX_STEPS:
        if deadline.is_over():
            raise OutOfTime
        limit += _STEPS_AT_ONCE
        is_over = run.finish(processes[-1] if processes else -1, limit, processes, codes)


def _in_words(feature: Feature) -> str:
    """Name what a feature is about, for people."""
    sort, what = feature
    kind, _, name = sort.partition(" ")
    if kind in ("global", "variable"):
        return name
    return f"{name or kind}.{what}" if kind == "class" or not name else f"a {sort}"


def _as_text(feature: Feature) -> str:
    """Write a feature down, for a schedule."""
    return f"{feature[0]}::{feature[1]}"


def _from_text(text: str) -> Feature:
    sort, separator, what = text.rpartition("::")
    if not separator:
        raise ScheduleMismatch(f"cannot read +{text} in the schedule: copy it as it was printed")
    return sort, what

"""Runs CPython's own tests of the primitives under Treadle's scheduler.

    lock_tests = harness.import_tests("test.lock_tests")    # skips the module where it is missing

    class LockTests(lock_tests.LockTests):
        locktype = staticmethod(threading.Lock)

    SUITE = harness.Suite(
        [LockTests],
        does_not_apply={"LockTests.test_x": "why not"},
        random_does_not_apply={"LockTests.test_y": "assumes that ..."},
    )

    @pytest.mark.parametrize("name", SUITE.names)
    def test_natural_schedule(name):
        SUITE.run_naturally(name)

    @pytest.mark.parametrize("name", SUITE.names)
    def test_random_schedules(name):
        SUITE.run_randomly(name)

    def test_every_exception_is_needed():
        SUITE.check_tables()

Every test method of the classes is one name (`LockTests.test_x`) and so one pytest id. A method is
the test function of one `ThreadProgram`, with setUp, tearDown and cleanups. It passes if the main
thread ends without an exception, no other thread raises (unless the name is in `may_crash`), and
nobody waits for ever but daemons.

Random schedules choose uniformly among the threads that can go on, but treat those that sleep or
wait for a time-out last, earliest deadline first: CPython's tests sleep to let others block.

Nothing is left out silently. A test that does not apply is reported as skipped, with its reason; an
entry of a table that names no test is an error (`check_tables`); a test that skips itself is a
failure unless a table lists it. The names that apply only to some versions of Python are put into
the tables by the caller (`if sys.version_info ...`).
"""

from __future__ import annotations

import gc
import importlib
import random
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import ModuleType

import pytest

from treadle.core.program import Restart
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import is_eager, is_ready
from treadle.python.runtime.task import Task
from treadle.threads.program import ThreadProgram
from treadle.threads.run import ThreadRun

SEEDS = range(10)
"""Random schedules per test."""
MAX_STEPS = 20_000
"""Steps of an execution that goes nowhere."""


def import_tests(name: str) -> ModuleType:
    """Import a module of CPython's `test` package; skip the importing module if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"this Python comes without its tests: {error}", allow_module_level=True)


class Suite:
    """Test classes of CPython, and which of their tests do not apply."""

    def __init__(
        self,
        classes: Iterable[type[unittest.TestCase]],
        *,
        does_not_apply: Mapping[str, str] = {},
        random_does_not_apply: Mapping[str, str] = {},
        may_crash: Iterable[str] = (),
        instrument: tuple[str, ...] = (),
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.classes = list(classes)
        for kind in self.classes:
            kind.__test__ = False  # pytest is not to run it as it stands
        self._tests: dict[str, tuple[type[unittest.TestCase], str]] = {
            f"{kind.__name__}.{method}": (kind, method)
            for kind in self.classes
            for method in unittest.defaultTestLoader.getTestCaseNames(kind)
        }
        self._does_not_apply = dict(does_not_apply)
        self._random_does_not_apply = dict(random_does_not_apply)
        self._may_crash = set(may_crash)
        self._instrument = instrument
        self._max_steps = max_steps

    @property
    def names(self) -> list[str]:
        """The name of every test, also of those that do not apply."""
        return list(self._tests)

    def check_tables(self) -> None:
        """Fail if a table names a test that does not exist, or gives no reason."""
        tables = [self._does_not_apply, self._random_does_not_apply]
        unknown = sorted(
            name for table in [*tables, self._may_crash] for name in table
            if name not in self._tests
        )  # fmt: skip
        assert not unknown, f"no such tests: {', '.join(unknown)}"
        twice = sorted(self._does_not_apply.keys() & self._random_does_not_apply.keys())
        assert not twice, f"listed twice: {', '.join(twice)}"
        assert all(reason.strip() for table in tables for reason in table.values())

    def run_naturally(self, name: str) -> None:
        """Run a test once, each thread as long as it can."""
        self._skip_if_listed(name, self._does_not_apply)
        self._run(name, [_naturally])

    def run_randomly(self, name: str, seeds: Iterable[int] = SEEDS) -> None:
        """Run a test once per seed, any thread that can go on after each step."""
        self._skip_if_listed(name, self._does_not_apply | self._random_does_not_apply)
        self._run(name, [_randomly(f"{name} {seed}") for seed in seeds])

    def _skip_if_listed(self, name: str, table: Mapping[str, str]) -> None:
        if name in table:
            pytest.skip(f"does not apply: {table[name]}")

    def _run(self, name: str, choices: list[Choice]) -> None:
        kind, method = self._tests[name]
        test = kind(method)
        program = ThreadProgram(
            lambda: _run_method(kind, method), name, instrument=self._instrument
        )
        with _class_set_up(kind, test), program.controlled(), _frozen_heap():
            for number, choose in enumerate(choices):
                run = program.start()
                try:
                    _finish(run, choose, self._max_steps)
                    _judge(run, number, allow_crashes=name in self._may_crash)
                finally:
                    with suppress(Restart):  # what it learned would only matter to an exploration
                        run.close()


Choice = Callable[[list[Task]], Task | None]
"""Chooses among the tasks that can go on; None leaves it to the natural schedule."""


def _naturally(tasks: list[Task]) -> None:
    """Leave every choice to the natural schedule."""
    del tasks


def _run_method(kind: type[unittest.TestCase], method: str) -> None:
    """Run one test method with what belongs to it; let every exception out."""
    case = kind(method)
    try:
        case.debug()
    except unittest.SkipTest as skip:
        raise AssertionError(f"skips itself, and no table lists it: {skip}") from None
    finally:
        while case._cleanups:
            function, args, kwargs = case._cleanups.pop()
            function(*args, **kwargs)


@contextmanager
def _frozen_heap() -> Iterator[None]:
    """Keep what exists out of garbage collections: CPython's tests collect very often."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _class_set_up(kind: type[unittest.TestCase], test: unittest.TestCase) -> Iterator[None]:
    """Set the class up, outside of control, as unittest does once for all of its tests."""
    expected = getattr(getattr(test, test._testMethodName), "__unittest_expecting_failure__", False)
    assert not expected, "expected to fail, and no table lists it"
    try:
        kind.setUpClass()
        try:
            yield
        finally:
            kind.tearDownClass()
    finally:
        kind.doClassCleanups()


def _randomly(seed: str) -> Choice:
    """Choose any task; a library that was given tasks would be seen to look into them."""
    generator = random.Random(seed)

    def choose(tasks: list[Task]) -> Task:
        return tasks[generator.randrange(len(tasks))]

    return choose


def _finish(run: ThreadRun, choose: Choice, limit: int) -> None:
    """Take steps until nobody can go on."""
    scheduler = run.scheduler
    last: Task | None = None
    for _ in range(limit):
        eager = [task for task in scheduler.alive.values() if is_eager(task)]
        task = (choose(eager) if eager else None) or scheduler.natural(last)
        if task is None:
            return
        run.step(task.number)
        last = task
    raise AssertionError(f"no end after {limit} steps:\n{_standing(scheduler.alive.values())}")


def _standing(tasks: Iterable[Task]) -> str:
    """Say what each task is about to do."""
    return "\n".join(
        f"{task.name} {'at' if is_ready(task) else 'waits for'} "
        f"{task.doing.describe() if isinstance(task.doing, Operation) else task.doing}"
        for task in tasks
    )


def _judge(run: ThreadRun, number: int, *, allow_crashes: bool) -> None:
    """Fail if the test failed, or if somebody waits for ever."""
    for crash in run.crashes:
        if crash.process == 0 or not allow_crashes:
            crash.exception.add_note(f"in {_name(run, crash.process)}, schedule {number}")
            raise crash.exception
    waits = run.ending().waits
    assert not waits, f"deadlock, schedule {number}: " + "; ".join(map(str, waits))


def _name(run: ThreadRun, process: int) -> str:
    return run.program.vocabulary.process_names[process]

"""The process that explores stays whole, whatever the test does."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import datetime
import functools
import gc
import itertools
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from treadle.core.errors import CannotBeExplored
from treadle.python.host import collector, host, watchdog
from treadle.python.runtime import control
from treadle.python.runtime.fibers import Fibers
from treadle.threads import program
from treadle.threads.primitives.patches import Installer
from treadle.threads.program import ThreadProgram
from treadle.threads.run import ThreadRun

PATIENCE = 0.3


class Counter:
    value = 0


def racy(threads: int = 2, times: int = 1) -> None:
    """A test with many executions that all pass."""
    counter = Counter()

    def increment() -> None:
        for _ in range(times):
            counter.value += 1

    workers = [threading.Thread(target=increment) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def state_of_the_process() -> dict[str, Any]:
    """Everything that an exploration might leave behind."""
    modules = {
        (name, key): value
        for name, module in sorted(sys.modules.items())
        if hasattr(module, "__dict__") and not name.startswith(("treadle", "_pytest", "encodings"))
        for key, value in list(vars(module).items())
        if callable(value) and not key.startswith("last_")
    }
    classes = {
        (kind, key): value
        for kind in (
            threading.Thread, threading.Timer, threading.Condition, threading.Event,
            threading.Semaphore, threading.Barrier, random.Random, datetime.datetime,
        )
        for key, value in vars(kind).items()
    }  # fmt: skip
    return {
        "threads": threading.enumerate(),
        "count": _thread._count(),
        "gc": (gc.isenabled(), gc.get_threshold(), collector.is_frozen()),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "hooks": (threading.excepthook, sys.excepthook, sys.unraisablehook, sys.gettrace()),
        "main": dict(vars(threading.main_thread())),
        "random": random.getstate(),
        "code": racy.__code__,
        "classes": classes,
        "modules": modules,
    }


def check_unchanged(before: dict[str, Any]) -> None:
    after = state_of_the_process()
    for name, value in before.items():
        if isinstance(value, dict):
            changed = {key for key in value if after[name].get(key, None) is not value[key]}
            added = after[name].keys() - value.keys() if name != "modules" else set()
            assert not changed | added, name
        else:
            assert after[name] == value, name


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    before = state_of_the_process()
    yield
    check_unchanged(before)
    result = treadle.explore(racy)  # and the next test works
    assert (result.executions, result.failures) == (4, [])


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        program, "Host", lambda owner, _, keepers: host.Host(owner, PATIENCE, keepers)
    )


def failure_of(test: Callable[[], object]) -> treadle.Failure:
    (failure,) = treadle.explore(test).failures
    return failure


# Nothing is left behind


def test_after_a_thousand_executions() -> None:
    result = treadle.explore(lambda: racy(3, 2), max_executions=1000)
    assert result.executions == 1000


def test_after_a_failing_test() -> None:
    def test() -> None:
        racy()
        raise ValueError("broken")

    assert failure_of(test).message == "ValueError: broken"


def test_after_an_error_in_the_exploration() -> None:
    before = state_of_the_process()
    owner = ThreadProgram(racy, "racy")

    def explode() -> None:
        with owner.controlled():
            owner.start()
            raise LookupError

    with pytest.raises(LookupError):
        explode()
    check_unchanged(before)


def test_memory_does_not_grow() -> None:
    made: weakref.WeakSet[Any] = weakref.WeakSet()

    class Cycle:
        def __init__(self) -> None:
            self.me = self
            self.ballast = [[] for _ in range(100)]  # type: ignore[var-annotated]
            made.add(self)

    def test() -> None:
        Cycle()
        racy(3, 2)

    treadle.explore(test, max_executions=2000)
    assert len(made) < 1000


# Interrupts


def interrupt_in_execution(number: int, act: Callable[[], None]) -> Callable[[], None]:
    executions = 0

    def test() -> None:
        nonlocal executions
        executions += 1
        thread = threading.Thread(target=racy, args=(2, 2))
        thread.start()
        if executions == number:
            act()
        thread.join()

    return test


def send_interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.monotonic()  # the handler runs before this returns


def swallow_interrupt() -> None:
    with contextlib.suppress(BaseException):
        send_interrupt()


@pytest.mark.parametrize("number", [1, 2, 3, 20])
@pytest.mark.parametrize("act", [send_interrupt, swallow_interrupt])
def test_an_interrupt_ends_the_exploration(number: int, act: Callable[[], None]) -> None:
    before = state_of_the_process()
    with pytest.raises(KeyboardInterrupt):
        treadle.explore(interrupt_in_execution(number, act), max_executions=1000)
    check_unchanged(before)


def test_an_interrupt_in_a_thread() -> None:
    def test() -> None:
        thread = threading.Thread(target=send_interrupt)
        thread.start()
        thread.join()

    with pytest.raises(KeyboardInterrupt):
        treadle.explore(test)


def test_an_interrupt_between_executions() -> None:
    def listener(_progress: object) -> None:
        send_interrupt()

    listener.interval = 0.0  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        treadle.explore(racy, listener=listener)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "method", "number"),
    [
        (Installer, "install", 1),
        (Installer, "undo", 1),
        (Fibers, "for_task", 1),
        (Fibers, "for_task", 8),
        (ThreadRun, "keep_standing", 1),
        (ThreadRun, "keep_standing", 5),
    ],
)
def test_an_interrupt_of_treadle_at_work(
    monkeypatch: pytest.MonkeyPatch, where: type, method: str, number: int
) -> None:
    calls = itertools.count(1)
    original = getattr(where, method)

    @functools.wraps(original)
    def interrupted(*args: Any) -> Any:
        if next(calls) == number:
            kill_from_inside()
        return original(*args)

    before = state_of_the_process()
    with monkeypatch.context() as patched:
        patched.setattr(where, method, interrupted)
        with pytest.raises(KeyboardInterrupt):
            treadle.explore(racy)
    check_unchanged(before)
    assert treadle.explore(racy).executions == 4


kill_from_inside = eval(  # as if it came in the middle of a function of Treadle's
    compile(
        "lambda: (os.kill(os.getpid(), signal.SIGINT), time.monotonic())", host.__file__, "eval"
    ),
)


# Threads that block where Treadle cannot see it


REAL = socket.socketpair()
"""Made before any exploration: they are no channels in memory."""


def receive() -> None:
    REAL[0].recv(1)


def compute() -> None:
    for _ in itertools.count():
        pass


def stubborn() -> None:
    for _ in itertools.count():
        with contextlib.suppress(BaseException):
            compute()


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(
    ("blocks", "line"), [(receive, "REAL[0].recv(1)"), (compute, "for _ in")], ids=["recv", "loop"]
)
@pytest.mark.parametrize("in_thread", [True, False], ids=["thread", "main"])
def test_what_blocks_cannot_be_explored(
    blocks: Callable[[], None], line: str, in_thread: bool
) -> None:
    def test() -> None:
        if in_thread:
            thread = threading.Thread(target=blocks, name="stuck")
            thread.start()
            thread.join()
        else:
            blocks()

    with pytest.raises(CannotBeExplored) as refused:
        treadle.explore(test)
    message = str(refused.value)
    who = "main.1 (stuck)" if in_thread else "main"
    assert message.startswith(f"test cannot be explored: {who} blocks outside of Treadle's control")
    assert "test_host.py:" in message
    assert line in message or "pass" in message


class Terminal:
    """Notes what is written, and lets go then."""

    def __init__(self, let_go: Callable[[], None]) -> None:
        self.let_go = let_go
        self.written: list[str] = []

    def write(self, text: str) -> None:
        self.written.append(text)
        self.let_go()


@pytest.mark.usefixtures("_impatient")
@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of C that any thread may unlock")
def test_what_no_signal_interrupts_is_named_while_it_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    libc = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(128)  # zeros: one that nobody holds
    terminal = Terminal(lambda: libc.pthread_mutex_unlock(mutex))
    monkeypatch.setattr(sys, "__stderr__", terminal)

    def test() -> None:
        libc.pthread_mutex_lock(mutex)
        libc.pthread_mutex_lock(mutex)  # comes back when the terminal lets go

    with pytest.raises(CannotBeExplored, match="comes back when the terminal lets go"):
        treadle.explore(test)
    [named] = terminal.written
    assert named.startswith("treadle: main blocks outside of Treadle's control")
    assert "comes back when the terminal lets go" in named


@pytest.mark.usefixtures("_impatient")
def test_a_thread_that_swallows_every_interrupt_is_given_up() -> None:
    def test() -> None:
        thread = threading.Thread(target=stubborn)
        thread.start()
        thread.join()

    with pytest.raises(treadle.TreadleError, match="swallows every interrupt"):
        treadle.explore(test)


@pytest.mark.usefixtures("_impatient")
def test_a_long_exploration_is_no_alarm() -> None:
    def listener(_progress: object) -> None:
        real_sleep(3 * PATIENCE)

    real_sleep = time.sleep
    listener.interval = 3600.0  # type: ignore[attr-defined]
    result = treadle.explore(racy, listener=listener)  # type: ignore[arg-type]
    assert not result.failures


@pytest.mark.usefixtures("_impatient")
def test_a_slow_machine_is_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    real_time = time.monotonic
    monkeypatch.setattr(watchdog, "_cpu_clock_of", lambda _: lambda: real_time() / 20)

    def test() -> None:
        end = real_time() + 3 * PATIENCE
        while real_time() < end:
            pass

    assert treadle.explore(test).ok


def test_a_test_that_catches_everything_and_goes_on() -> None:
    def test() -> None:
        errors = []
        for _ in range(2):
            counter = Counter()
            try:
                count_with_two_threads(counter)
                assert counter.value == 2
            except BaseException as error:
                errors.append(error)
        assert not errors

    def count_with_two_threads(counter: Counter) -> None:
        def increment() -> None:
            counter.value += 1

        threads = [threading.Thread(target=increment) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    (failure,) = treadle.explore(test).failures
    shrunk = treadle.shrink(failure)
    assert shrunk.after == (7, 18)
    assert shrunk.is_smallest


def test_exploring_in_another_thread() -> None:
    results = []
    thread = threading.Thread(target=lambda: results.append(treadle.explore(racy)))
    thread.start()
    thread.join()
    assert results[0].executions == 4


@pytest.mark.usefixtures("_impatient")
def test_blocking_is_reported_in_another_thread_too(capfd: pytest.CaptureFixture[str]) -> None:
    refusals = []

    def explore() -> None:
        try:
            treadle.explore(compute)
        except CannotBeExplored as refused:
            refusals.append(str(refused))

    thread = threading.Thread(target=explore)
    thread.start()
    thread.join()
    assert refusals[0].startswith("compute cannot be explored: main blocks outside of Treadle's")
    assert "main blocks outside of Treadle's control" in capfd.readouterr().err


# Ending or copying the process


@pytest.mark.parametrize("in_thread", [True, False])
def test_leaving_the_process_is_a_finding(in_thread: bool) -> None:
    def test() -> None:
        if in_thread:
            thread = threading.Thread(target=os._exit, args=(3,))
            thread.start()
            thread.join()
        else:
            os._exit(3)

    failure = failure_of(test)
    assert "os._exit(3) ends the whole process" in failure.message
    assert failure.process == ("main.1" if in_thread else "main")


def test_exit_in_the_test_itself_is_a_finding() -> None:
    assert failure_of(lambda: sys.exit(3)).message == "SystemExit: 3"


def start_process() -> None:
    multiprocessing.get_context("fork").Process(target=print).start()


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (os.fork, "os.fork()"),
        (lambda: subprocess.run([sys.executable, "-V"], check=False), "subprocess.run()"),
        (lambda: subprocess.Popen([sys.executable, "-V"]), "subprocess.Popen()"),
        (lambda: os.system("true"), "os.system()"),
        (start_process, "multiprocessing.process.BaseProcess.start()"),
    ],
)
@pytest.mark.parametrize("catches", [True, False])
def test_other_processes_are_refused(start: Callable[[], object], name: str, catches: bool) -> None:
    def test() -> None:
        try:
            os.fork() if name == "os.fork()" else start()
        except Exception:
            if not catches:
                raise

    with pytest.raises(treadle.TreadleError) as caught:
        treadle.explore(test)
    assert f"the test calls {name}" in str(caught.value)


# Finalizers, recursion


def test_an_exception_in_a_finalizer_is_a_finding() -> None:
    class Bad:
        def __del__(self) -> None:
            raise ValueError("in __del__")

    def test() -> None:
        Bad()

    failure = failure_of(test)
    assert failure.message == "ValueError: in __del__"
    assert failure.exception is not None
    assert "__del__" in failure.exception.__notes__[0]


def test_finalizers_do_not_run_because_garbage_piles_up() -> None:
    def test() -> None:
        assert not gc.isenabled()
        racy()

    assert treadle.explore(test).executions == 4


def recurse(n: int) -> int:
    return recurse(n + 1) + 1


@pytest.mark.parametrize("in_thread", [True, False])
def test_recursion_without_end_is_a_finding(in_thread: bool) -> None:
    def test() -> None:
        if in_thread:
            thread = threading.Thread(target=recurse, args=(0,))
            thread.start()
            thread.join()
        else:
            recurse(0)

    assert failure_of(test).message.startswith("RecursionError: maximum recursion depth exceeded")


def test_recursion_on_shared_objects() -> None:
    def test() -> None:
        counter = Counter()

        def down() -> None:
            counter.value += 1
            down()

        thread = threading.Thread(target=down)
        thread.start()
        counter.value += 1
        thread.join()

    failures = treadle.explore(test, max_executions=5).failures
    assert failures[0].message.startswith("RecursionError")


def test_an_interrupt_of_an_endless_loop_over_private_data() -> None:
    """Most of its time goes into Treadle's own functions, where an exception must not come."""

    class Box:
        value = 0

    def test() -> None:
        def count() -> None:
            box = Box()
            while True:
                box.value += 1
                if box.value == 1000:
                    kill_from_inside()

        thread = threading.Thread(target=count)
        thread.start()
        thread.join()

    before = state_of_the_process()
    with pytest.raises(KeyboardInterrupt):
        treadle.explore(test)
    check_unchanged(before)


class Rung(BaseException):
    """What a handler of alarms raises: `pytest.fail` is no `Exception` either."""


def rings(act: Callable[[], None]) -> Callable[[], None]:
    """Return a test in which an alarm comes in a thread, where it may catch everything."""

    def test() -> None:
        box = {"n": 0}

        def work() -> None:
            box["n"] += 1
            act()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return test


def send_alarm() -> None:
    with contextlib.suppress(BaseException):
        os.kill(os.getpid(), signal.SIGALRM)
        time.monotonic()  # the handler runs before this returns


@pytest.fixture
def alarms() -> Iterator[Callable[[Any], None]]:
    before = signal.getsignal(signal.SIGALRM)
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    signal.signal(signal.SIGALRM, before)


def test_an_alarm_that_raises_ends_the_exploration(alarms: Callable[[Any], None]) -> None:
    def ring(signum: int, _frame: object) -> None:
        assert control.current() is None
        raise Rung(signum)

    alarms(ring)
    before = state_of_the_process()
    with pytest.raises(Rung):
        treadle.explore(rings(send_alarm))
    check_unchanged(before)
    assert signal.getsignal(signal.SIGALRM) is ring
    assert treadle.explore(racy).executions == 4


def test_an_alarm_that_is_handled_changes_nothing(alarms: Callable[[Any], None]) -> None:
    rung = []

    def ring(signum: int, _frame: object) -> None:
        assert control.current() is None
        rung.append(signum)

    alarms(ring)
    plain = treadle.explore(rings(lambda: None))
    result = treadle.explore(rings(send_alarm))
    assert (result.failures, result.complete) == ([], True)
    assert result.executions == plain.executions > 1
    assert len(rung) >= 2 * result.executions


def test_an_alarm_in_an_endless_loop_over_private_data(alarms: Callable[[Any], None]) -> None:
    class Box:
        value = 0

    def ring(signum: int, _frame: object) -> None:
        raise Rung(signum)

    def count() -> None:
        box = Box()
        while True:
            box.value += 1
            if box.value == 1000:
                os.kill(os.getpid(), signal.SIGALRM)

    alarms(ring)
    with pytest.raises(Rung):
        treadle.explore(rings(count))

"""What is no proper test gets a clear error or a finding, and the next test works all the same."""

from __future__ import annotations

import functools
import gc
import json
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle
from waiting import PATIENCE

SRC = Path(treadle.__file__).parents[1]


class Box:
    """Something to share."""

    def __init__(self) -> None:
        self.value = 0
        self.other = 0


def run(*targets: Any) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lost_update() -> None:
    box = Box()

    def increment() -> None:
        box.value += 1

    run(increment, increment)
    assert box.value == 2


def locked_update() -> None:
    box = Box()
    lock = threading.Lock()

    def increment() -> None:
        with lock:
            box.value += 1

    run(increment, increment)
    assert box.value == 2


@pytest.fixture(autouse=True)
def next_test_works() -> Iterator[None]:
    """After each test: nothing is left behind, and explorations give what they gave before."""
    before = (threading.Lock, time.sleep, threading.active_count(), gc.isenabled())
    code = lost_update.__code__
    yield
    assert (threading.Lock, time.sleep, threading.active_count(), gc.isenabled()) == before
    assert lost_update.__code__ is code
    racy = treadle.explore(lost_update, stop_on_failure=False)
    assert (racy.executions, set(racy.failure_kinds)) == (4, {"assertion"})
    locked = treadle.explore(locked_update)
    assert (locked.executions, locked.ok) == (2, True)


# Functions that are no test


def test_arguments_are_refused() -> None:
    def takes(size: int) -> None:
        raise AssertionError(size)

    with pytest.raises(treadle.TreadleError, match="no arguments"):
        treadle.explore(takes)  # type: ignore[arg-type]


def test_arguments_with_defaults_are_fine() -> None:
    def takes(size: int = 2) -> None:
        run(*[lambda: None] * size)

    assert treadle.explore(takes).ok


def test_coroutine_functions_are_not_for_this_front_end() -> None:
    async def coroutine() -> None:
        return

    with pytest.raises(treadle.TreadleError, match=r"races is for .* that uses threads"):
        treadle.explore(coroutine, races=True)


def test_generator_functions_are_refused() -> None:
    def generator() -> Iterator[None]:
        yield

    with pytest.raises(treadle.TreadleError, match=r"treadle\.model\.Program"):
        treadle.explore(generator)


@pytest.mark.parametrize("thing", [None, 3, "test", [lost_update]])
def test_things_that_cannot_be_called_are_refused(thing: Any) -> None:
    with pytest.raises(treadle.TreadleError, match="cannot explore"):
        treadle.explore(thing)


def test_unknown_granularity_is_refused() -> None:
    with pytest.raises(treadle.TreadleError, match="access, gil"):
        treadle.explore(lost_update, granularity="line")


def test_explorations_cannot_be_nested() -> None:
    def nested() -> None:
        treadle.explore(lost_update)

    with pytest.raises(treadle.TreadleError, match="nested"):
        treadle.explore(nested)


# Tests without threads


def test_no_thread_is_one_execution() -> None:
    def alone() -> None:
        box = Box()
        box.value += 1
        assert box.value == 1

    result = treadle.explore(alone)
    assert (result.executions, result.ok) == (1, True)


def test_no_thread_and_a_failure() -> None:
    def alone() -> None:
        assert 1 + 1 == 3, "arithmetic"

    result = treadle.explore(alone)
    assert [failure.kind for failure in result.failures] == ["assertion"]
    assert "arithmetic" in result.failures[0].message


def test_nothing_at_all() -> None:
    result = treadle.explore(lambda: None)
    assert (result.executions, result.ok) == (1, True)


# What changes from execution to execution


def test_state_that_outlives_an_execution_is_nondeterminism() -> None:
    calls = iter(range(1_000_000))  # not reset between executions

    def forgetful() -> None:
        box = Box()
        number = next(calls)

        def write() -> None:
            if number % 2:
                box.value = 1
            else:
                box.other = 1

        def read() -> None:
            assert box.value + box.other < 2

        run(write, read)

    result = treadle.explore(forgetful)
    assert [failure.kind for failure in result.failures] == ["nondeterminism"]
    assert re.match(
        r"step 3, by main\.1, did not do under the same schedule", result.failures[0].message
    )


memo: dict[str, int] = {}


class Single:
    made: Single | None = None


def test_what_only_the_first_execution_does_is_nondeterminism() -> None:
    def fill() -> None:
        if "key" not in memo:
            memo["key"] = 1

    def make() -> None:
        if Single.made is None:
            Single.made = Single()

    for function, name in ((fill, "a dict memo"), (make, r".*Single\.made")):
        test = functools.partial(run, function, function)
        result = treadle.explore(test, restore=False)
        assert [failure.kind for failure in result.failures] == ["nondeterminism"]
        assert re.match(f"the first execution changed {name}, ", result.failures[0].message)


@pytest.mark.parametrize("bad", [1, 2])
def test_a_failure_of_the_first_executions_only_is_nondeterminism(bad: int) -> None:
    """They only serve to learn what matters, but they are executions of the test."""
    runs: list[int] = []

    def test() -> None:
        runs.append(len(runs))
        run(lambda: None)
        assert len(runs) != bad, f"failed in execution {bad}"

    (failure,) = treadle.explore(test).failures
    assert (failure.kind, failure.message) == (
        "nondeterminism",
        f"the first execution failed (AssertionError: failed in execution {bad}), and no later one "
        f"did: state outlives an execution; make it anew at the beginning of the test",
    )


def test_a_failure_of_all_but_the_first_execution_is_nondeterminism() -> None:
    """Whatever threads do: the test cannot be run twice."""
    runs: list[int] = []

    def test() -> None:
        runs.append(len(runs))
        run(lambda: None)
        assert len(runs) == 1, "there already"

    (failure,) = treadle.explore(test).failures
    assert (failure.kind, failure.message) == (
        "nondeterminism",
        "the first execution passed, and fails when it is run once more under the same schedule "
        "(AssertionError: there already): state outlives an execution; make it anew at the "
        "beginning of the test",
    )


def test_a_failure_of_another_schedule_than_the_first_is_a_finding() -> None:
    """The trial execution runs a thread at once; what counts is run once more as it was."""

    def test() -> None:
        job = Job()

        def work() -> None:
            assert not job.stopped

        thread = threading.Thread(target=work)
        thread.start()
        job.stopped = True
        thread.join()

    (failure,) = treadle.explore(test).failures
    assert (failure.kind, failure.process) == ("assertion", "main.1")


class Job:
    stopped = False
    ran = False


def test_what_only_some_schedules_do_is_no_nondeterminism() -> None:
    """The trial execution runs a thread at once, the first one that counts runs it later."""

    def stop(algorithm: str) -> treadle.Result:
        def test() -> None:
            job = Job()

            def work() -> None:
                if not job.stopped:
                    job.ran = True

            thread = threading.Thread(target=work)
            thread.start()
            job.stopped = True
            thread.join()

        return treadle.explore(test, algorithm)

    for algorithm in ("optimal", "source", "sleep", "optimal-context", "observers"):
        result = stop(algorithm)
        assert (result.complete, result.executions, result.notes) == (True, 2, [])


def test_a_search_that_was_stopped_notes_what_only_the_first_execution_did() -> None:
    memo.clear()

    def test() -> None:
        box = Box()

        def work() -> None:
            if not memo:
                memo["key"] = 1
            box.value += 1

        run(work, work)

    result = treadle.explore(test, max_executions=2, restore=False)
    assert (result.complete, result.failures) == (False, [])
    assert [note.partition(",")[0] for note in result.notes] == [
        "the first execution changed a dict memo"
    ]


def test_the_wall_clock_is_no_nondeterminism() -> None:
    def timed() -> None:
        box = Box()

        def write() -> None:
            if int(time.monotonic() * 1e9) % 2:
                box.value = 1
            else:
                box.other = 1

        run(write, write)

    assert treadle.explore(timed).ok


# Ways to end


def test_exit_in_a_thread_is_a_finding() -> None:
    def exits() -> None:
        run(lambda: sys.exit(3))

    (failure,) = treadle.explore(exits).failures
    assert failure.kind == "exception"
    assert "SystemExit" in failure.message


def test_exit_in_the_test_is_a_finding() -> None:
    def exits() -> None:
        run(lambda: None)
        sys.exit(3)

    (failure,) = treadle.explore(exits).failures
    assert failure.kind == "exception"
    assert "SystemExit" in failure.message


def test_exception_before_the_first_access() -> None:
    def breaks() -> None:
        raise ValueError("at once")

    (failure,) = treadle.explore(lambda: run(breaks)).failures
    assert (failure.kind, failure.message) == ("exception", "ValueError: at once")
    assert failure.process == "main.1"


def test_exception_of_a_class_that_cannot_be_printed() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def breaks() -> None:
        raise Silent

    (failure,) = treadle.explore(lambda: run(breaks)).failures
    assert failure.kind == "exception"
    assert "Silent" in str(failure)


def test_finaliser_that_raises() -> None:
    seen = []

    class Fragile:
        def __del__(self) -> None:
            raise ValueError("in __del__")

    def drops() -> None:
        box = Box()

        def drop() -> None:
            box.value = Fragile()  # type: ignore[assignment]
            box.value = 0

        run(drop, drop)

    hook, sys.unraisablehook = sys.unraisablehook, seen.append
    try:
        result = treadle.explore(drops)
    finally:
        sys.unraisablehook = hook
    assert result.ok or [failure.kind for failure in result.failures] == ["exception"]
    assert result.ok == bool(seen)  # Python's own report of it, or a finding


def test_endless_recursion() -> None:
    def descend(box: Box, depth: int) -> None:
        box.value = depth
        descend(box, depth + 1)

    def recurses() -> None:
        box = Box()
        run(lambda: descend(box, 0))

    (failure,) = treadle.explore(recurses).failures
    if sys.version_info >= (3, 12):
        assert failure.kind == "exception"
        assert failure.message.startswith("RecursionError")
    else:  # where the stack ends depends on how deep the scheduler's own calls are
        assert failure.kind in ("exception", "nondeterminism")


def test_endless_recursion_without_shared_state() -> None:
    def descend(depth: int) -> int:
        return descend(depth + 1) + 1

    (failure,) = treadle.explore(lambda: run(lambda: descend(0))).failures
    assert failure.kind == "exception"
    assert failure.message.startswith("RecursionError")


# Loops without end


def test_endless_loop_that_writes_runs_out_of_its_budget() -> None:
    def loops() -> None:
        box = Box()

        def write() -> None:
            while True:
                box.value += 1

        run(write, lambda: box.value)

    result = treadle.explore(loops, max_steps=500, watchdog=1.0)
    assert [failure.kind for failure in result.failures] == ["budget"]
    assert not result.complete
    assert "main.1" in str(result.failures[0])
    assert "test_bad_input.py" in str(result.failures[0])


def test_endless_loop_that_only_reads_is_a_livelock() -> None:
    def loops() -> None:
        box = Box()

        def wait() -> None:
            while not box.value:
                pass

        def write_another() -> None:
            box.value = 0

        run(wait, write_another)

    (failure,) = treadle.explore(loops).failures
    assert failure.kind == "livelock"
    assert "box.value" in failure.message


def test_failure_in_the_first_execution_is_shown() -> None:
    """Greenlets of an aborted execution are used again by the one that is recorded."""

    def loops() -> None:
        box = Box()

        def write() -> None:
            box.value = 0

        thread = threading.Thread(target=write)
        thread.start()
        while not box.value:
            time.sleep(0.1)
        thread.join()

    (failure,) = treadle.explore(loops).failures
    assert failure.kind == "livelock"
    assert "time.sleep(0.1)" in str(failure)


def test_waiting_for_ever_for_a_thread_that_was_not_started() -> None:
    def joins() -> None:
        threading.Thread(target=print).join()

    (failure,) = treadle.explore(joins).failures
    assert failure.message == "RuntimeError: cannot join thread before it is started"


# What ends the process, or blocks outside of control: in a process of its own

SCRIPT = """
import json, os, sys, threading, time, traceback, warnings
warnings.simplefilter("error")
import treadle
def run(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

class Box:
    value = 0

def bad():
    box = Box()
    def work():
        box.value += 1
{work}
    run(work, work)

def good():
    box = Box()
    def increment():
        box.value += 1
    run(increment, increment)

begun = time.time()
try:
    result = treadle.explore(bad, watchdog=1.0)
    outcome = [[f.kind, str(f)] for f in result.failures] or "ok"
except BaseException as error:
    outcome = [[type(error).__name__, str(error) + traceback.format_exc()]]
took = time.time() - begun
again = treadle.explore(good)
print(json.dumps(dict(outcome=outcome, took=took, again=[again.executions, again.ok])))
"""


def in_a_process(tmp_path: Path, work: str) -> list[list[str]]:
    """Explore a test in a process of its own, and then another one; return what it said."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("{work}", textwrap.indent(textwrap.dedent(work), " " * 8)))
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["again"] == [4, True]
    found: list[list[str]] = said["outcome"]
    return found


def is_located(tmp_path: Path, text: str, message: str) -> bool:
    """Tell whether a message, or the traceback in it, names the line with a text."""
    lines = (tmp_path / "script.py").read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if text in line)
    return f"script.py:{number}" in message or f'script.py", line {number}' in message


@pytest.mark.parametrize(
    ("work", "word"),
    [
        ("os._exit(7)", "os._exit"),
        ("import os as system; system._exit(7)", "os._exit"),
        ("os.abort()", "os.abort"),
        ("os.fork()", "os.fork"),
        ("import multiprocessing; multiprocessing.Process(target=print).start()", "process"),
        ("import subprocess; subprocess.run(['true'])", "process"),
    ],
    ids=["_exit", "_exit under another name", "abort", "fork", "multiprocessing", "subprocess"],
)
def test_processes_are_refused(tmp_path: Path, work: str, word: str) -> None:
    for _, message in in_a_process(tmp_path, work):
        assert word in message
        assert is_located(tmp_path, work, message)


@pytest.mark.parametrize(
    "work",
    [
        "import ctypes; ctypes.CDLL(None).sleep(3600)",
        "while time.perf_counter: list(map(int, '123'))",
    ],
    ids=["C", "loop"],
)
def test_blocking_outside_of_control_is_reported(tmp_path: Path, work: str) -> None:
    found = in_a_process(tmp_path, work)
    assert is_located(tmp_path, work, found[0][1])


@pytest.mark.parametrize(
    "work",
    ["raise KeyboardInterrupt", "import signal; os.kill(os.getpid(), signal.SIGINT)"],
    ids=["raised", "signal"],
)
def test_interrupts_end_the_exploration(tmp_path: Path, work: str) -> None:
    assert in_a_process(tmp_path, work)[0][0] == "KeyboardInterrupt"


def test_interrupt_of_this_process() -> None:
    def interrupted() -> None:
        box = Box()

        def work() -> None:
            box.value += 1
            raise KeyboardInterrupt

        run(work, work)

    with pytest.raises(KeyboardInterrupt):
        treadle.explore(interrupted)


def test_swallowing_everything_does_not_keep_a_thread_alive() -> None:
    def stubborn() -> None:
        lock = threading.Lock()
        lock.acquire()

        def work() -> None:
            while True:
                try:
                    lock.acquire()
                except BaseException:
                    continue

        run(work)

    (failure,) = treadle.explore(stubborn).failures
    assert failure.kind == "deadlock"


# Packages to instrument


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        ("json", """instrument must be a list of packages, like ["json"], not 'json'"""),
        ([json], """instrument must be a list of packages, like ["json"], not (<module 'json'"""),
        (5, """instrument must be a list of packages, like ["json"], not 5"""),
        (["jsonn"], "there is no module or package 'jsonn': did you mean 'json'?"),
        (["json.decoderr"], "no module or package 'json.decoderr': did you mean 'json.decoder'?"),
        (["nowhere.x"], "no module or package 'nowhere.x': give the name to import it by"),
    ],
)
def test_packages_that_are_not_there(packages: Any, message: str) -> None:
    with pytest.raises(treadle.TreadleError, match=re.escape(message)):
        treadle.explore(locked_update, instrument=packages)
    with pytest.raises(treadle.TreadleError, match=re.escape(message)):
        treadle.replay(locked_update, "main", instrument=packages)


def test_packages_may_be_any_collection_of_names() -> None:
    for packages in (["json", "json.decoder"], {"json"}, iter(["json", "__main__"])):
        assert treadle.explore(locked_update, instrument=packages).executions == 2

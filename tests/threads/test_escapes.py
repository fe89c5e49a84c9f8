"""What leaves Treadle's sight: it is named in the verdict with its line, or fails if asked to."""

from __future__ import annotations

import asyncio
import copyreg
import ctypes
import fcntl
import gc
import inspect
import json
import mmap
import os
import shelve
import signal
import sqlite3
import sys
import syslog
import tempfile
import threading
import urllib.parse
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import cachetools
import greenlet
import pytest
from together import together

import treadle
from treadle.cli import _status_of as status_of
from treadle.core.result import Result
from treadle.report.as_json import result_as_dict
from treadle.report.text import except_for, result_in_words, verdict_in_words

Body = Callable[[], Any]
HERE = "tests/threads/test_escapes.py"
ESCAPING: dict[str, tuple[Body, str]] = {}
STAYING: list[Body] = []
SHARED: list[int] = []


def escaping(through: str) -> Callable[[Body], None]:
    """Register what a thread does that Treadle does not see."""

    def register(body: Body) -> None:
        ESCAPING[body.__name__] = (body, through)

    return register


@escaping("sqlite3.connect()")
def a_database() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sqlite3.connect(f"{folder}/x.db").close()


@escaping("shelve.open()")
def a_shelf() -> None:
    with tempfile.TemporaryDirectory() as folder, shelve.open(f"{folder}/x") as shelf:
        shelf["a"] = 1


@escaping("mmap.mmap()")
def mapped_memory() -> None:
    mmap.mmap(-1, 10).close()


@escaping("signal.getsignal()")
def a_signal() -> None:
    signal.getsignal(signal.SIGINT)


@escaping("os.kill()")
def a_signal_to_oneself() -> None:
    os.kill(os.getpid(), 0)


@escaping("fcntl.flock()")
def a_lock_of_a_file() -> None:
    with tempfile.TemporaryFile() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


@escaping("ctypes.CDLL()")
def c_code() -> None:
    ctypes.CDLL(None)


@escaping("syslog.syslog()")
def the_system_log() -> None:
    syslog.syslog(syslog.LOG_DEBUG, "x")


@escaping("os.nice()")
def priority_of_the_process() -> None:
    os.nice(0)


@escaping("os.mkfifo()")
def a_named_pipe() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(f"{folder}/x")


@escaping("copyreg.clear_extension_cache()")
def a_cache_of_the_process() -> None:
    copyreg.clear_extension_cache()


@escaping("gc.get_objects()")
def all_objects() -> None:
    gc.get_objects()


@escaping("sys.getrefcount()")
def a_count_of_references() -> None:
    sys.getrefcount(SHARED)


@escaping("sys._current_frames()")
def frames_of_others() -> None:
    sys._current_frames()


def staying(body: Body) -> Body:
    """Register what stays inside, or leads nowhere."""
    STAYING.append(body)
    return body


@staying
def a_database_in_memory() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table x (y)")
    connection.close()


@staying
def parsing_an_address() -> None:
    urllib.parse.urlparse("http://x/y")


@staying
def a_status() -> None:
    assert HTTPStatus(404) is HTTPStatus.NOT_FOUND


@staying
def an_exception_of_asyncio() -> None:
    assert str(asyncio.QueueEmpty("x")) == "x"


@staying
def looking_at_functions() -> None:
    assert not inspect.iscoroutinefunction(print)


@staying
def the_process() -> None:
    assert os.getpid() == os.getpid()
    assert os.cpu_count()
    assert sys.getsizeof([])


@staying
def a_library_in_python() -> None:
    cache: Any = cachetools.LRUCache(2)
    cache["a"] = 1


def in_two_threads(body: Body) -> Body:
    """Return a test that runs something in two threads."""

    def test() -> None:
        together(body, body)

    return test


def line_of(body: Body, text: str) -> int:
    """Return the line of a function that contains a text."""
    lines, first = inspect.getsourcelines(body)
    return next(first + at for at, line in enumerate(lines) if text in line and line[0] != "@")


@pytest.mark.parametrize("name", ESCAPING)
def test_what_escapes_is_named_with_its_line(name: str) -> None:
    body, through = ESCAPING[name]
    result = treadle.explore(in_two_threads(body))
    assert result.ok
    word = through.removesuffix("()").rpartition(".")[2]
    place = f"{HERE}:{line_of(body, f'.{word}(')}"
    assert any(one.startswith(f"{through} at {place}: ") for one in result.escapes), result.escapes
    assert f"VERIFIED, except for what went through {through} at " in verdict_in_words(result)


@pytest.mark.parametrize("body", STAYING)
def test_what_stays_is_not_named(body: Body) -> None:
    result = treadle.explore(in_two_threads(body))
    assert (result.ok, result.escapes) == (True, [])


@pytest.mark.parametrize("name", ["a_database", "a_shelf", "mapped_memory"])
def test_what_escapes_fails_if_asked_to(name: str) -> None:
    body, through = ESCAPING[name]
    test = in_two_threads(body)
    result = treadle.explore(test, escapes="fail", stop_on_failure=False)
    assert set(result.failure_kinds) == {"escape"}
    failure = result.failures[0]
    assert f"{through} at {HERE}:" in failure.message
    again = treadle.replay(test, failure.token)
    assert again is not None
    assert (again.kind, again.message) == (failure.kind, failure.message)
    with pytest.raises(AssertionError, match="escape"):
        treadle.check(escapes="fail")(test)()


def test_without_threads_nothing_escapes() -> None:
    assert treadle.explore(ESCAPING["mapped_memory"][0]).escapes == []


def test_what_is_made_before_threads_run_is_named() -> None:
    def test() -> None:
        memory = mmap.mmap(-1, 10)
        together(lambda: memory.write(b"a"), lambda: memory.write(b"b"))

    assert treadle.explore(test).escapes


ENDS = os.pipe()


def test_what_was_made_before_the_exploration_is_named_where_it_is_used() -> None:
    def test() -> None:
        together(lambda: os.write(ENDS[1], b"a"), lambda: os.write(ENDS[1], b"b"))
        os.read(ENDS[0], 2)

    escapes = treadle.explore(test).escapes
    assert len(escapes) == 2
    assert all("os." in one for one in escapes)


def test_extensions_in_c_are_named_if_they_get_something_shared() -> None:
    """Nobody else installs an extension for this: one of Treadle's own stands for others."""
    from treadle.python.accesses import outside_modules

    class Box:
        value = 0

    shared = Box()

    def test() -> None:
        together(*[lambda: greenlet.greenlet.__new__(greenlet.greenlet, shared.value)] * 2)

    known = outside_modules._KNOWN
    try:
        outside_modules._KNOWN = known - {"greenlet"}
        assert treadle.explore(test).ok
    finally:
        outside_modules._KNOWN = known


def test_what_an_extension_keeps_for_itself_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    from treadle.python.accesses import outside_modules

    class Box:
        value = 0

    shared = Box()

    def test() -> None:
        def ask() -> None:
            shared.value += 1
            greenlet.getcurrent()

        together(ask, ask)

    assert treadle.explore(test).notes == []
    monkeypatch.setattr(outside_modules, "_KNOWN", outside_modules._KNOWN - {"greenlet"})
    [note] = treadle.explore(test).notes
    assert note.startswith("what C code keeps for itself is not seen (greenlet.getcurrent() at ")


@pytest.mark.parametrize("threads", [False, True])
def test_who_wakes_tasks_from_another_thread_is_named(threads: bool) -> None:
    async def main() -> None:
        event, queue = asyncio.Event(), asyncio.Queue[int]()
        queue.put_nowait(1)

        def wake() -> None:
            event.set()

        if threads:
            together(wake, lambda: event)
        else:
            wake()
        await event.wait()
        await queue.get()

    escapes = treadle.explore(lambda: together(lambda: asyncio.run(main()))).escapes
    named = [one.partition(" ")[0] for one in escapes]
    assert named == (["asyncio.Event.set()"] if threads else [])


def test_an_import_may_do_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)

    def test() -> None:
        def load() -> None:
            import colorsys

            assert colorsys

        together(load, load)

    assert treadle.explore(test).escapes == []


def test_processes_are_refused_as_before() -> None:
    with pytest.raises(treadle.TreadleError, match=r"the test calls os.fork\(\)"):
        treadle.explore(lambda: together(os.fork))


# In words and in JSON


def test_escapes_in_words() -> None:
    result = Result(
        "p", "optimal", complete=True, escapes=["a() at x.py:1: why", "b() at y.py:2: w"]
    )
    assert verdict_in_words(result, target="t") == (
        "VERIFIED, except for what went through a() at x.py:1 and b() at y.py:2: t, "
        "no interleaving fails"
    )
    assert "\n  escape      a() at x.py:1: why\n  escape      b() at y.py:2: w" in result_in_words(
        result
    )
    assert result_as_dict(result)["escapes"] == result.escapes
    assert result_as_dict(result)["verdict"] == "verified"


def test_many_escapes_are_not_all_in_the_verdict() -> None:
    many = [f"a{n}() at x.py:{n}: why" for n in range(5)]
    assert except_for(many).endswith("a0() at x.py:0, a1() at x.py:1, a2() at x.py:2 and 2 more")
    assert except_for([]) == ""


def test_the_command_names_escapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import mmap, threading\n\n\n"
        "def work():\n    mmap.mmap(-1, 10).close()\n    mmap.mmap(-1, 9).close()\n\n\n"
        "def test():\n    thread = threading.Thread(target=work)\n    thread.start()\n"
        "    thread.join()\n"
    )
    assert status_of(["run", f"{file}::test", "--quiet"]) == 0
    assert "VERIFIED, except for what went through mmap.mmap() at" in capsys.readouterr().out
    assert status_of(["run", f"{file}::test", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["escapes"]) == 2
    assert status_of(["run", f"{file}::test", "--escapes", "fail", "--no-database"]) == 1
    assert "Escape in main.1" in capsys.readouterr().out


def test_a_thread_is_named_whose_function_is_of_a_library() -> None:
    def test() -> None:
        ends: list[Any] = []
        thread = threading.Thread(target=mmap.mmap, args=(-1, 10))
        thread.start()
        thread.join()
        ends.clear()

    (escape,) = treadle.explore(test).escapes
    assert escape.startswith("mmap.mmap() as a thread's function: ")

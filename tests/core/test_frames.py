"""Whose code a frame is: the user's, a library's, Treadle's own, whatever its file is called."""

from __future__ import annotations

import concurrent.futures.thread
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import _pytest.runner
import hypothesis
import pytest

import treadle
import treadle.papers.harness
import treadle.papers.jacm17
from treadle.core import frames, words
from treadle.core.frames import (
    callers_frame,
    frames_of_traceback,
    is_machinery,
    is_of_the_standard_library,
    is_of_the_user,
    is_own,
    place_of_exception,
    place_of_frame,
    room_of,
    runs_tests,
    users_frame,
    users_part,
)

PACKAGE = Path(frames.__file__).parents[1]
"""Treadle's own files."""
COMPILED = "src/treadle/python/runtime/scheduler.py"
"""What compiled code calls its file in tracebacks, wherever it is."""
USER = "/home/somebody/project/bank.py"


# By file


@pytest.mark.parametrize(
    ("file", "room"),
    [
        (frames.__file__, "core"),
        (str(PACKAGE / "threads" / "primitives" / "locks.py"), "threads"),
        (str(PACKAGE / "python" / "runtime" / "spin.py"), "python"),
        (str(PACKAGE / "__init__.py"), "__init__"),
        (str(PACKAGE / "api.py"), "api"),
        (COMPILED, "python"),
        ("src/treadle/api.py", "api"),
        (treadle.papers.jacm17.__file__, None),
        ("src/treadle/papers/jacm17.py", None),
        (f"{PACKAGE}_other/core/events.py", None),
        (str(PACKAGE), None),
        ("src/treadles/core/events.py", None),
        (str(PACKAGE.parent / "_treadle_pytest.py"), None),
        (USER, None),
        (__file__, None),
        (threading.__file__, None),
        ("<string>", None),
        ("<frozen importlib._bootstrap>", None),
        ("", None),
    ],
)
def test_the_room_of_a_file(file: str, room: str | None) -> None:
    assert room_of(file) == room
    assert is_own(file) == (room is not None)


@pytest.mark.parametrize(
    ("file", "between"),
    [
        (frames.__file__, True),
        (COMPILED, True),
        (threading.__file__, True),
        (queue.__file__, True),
        (contextlib.__file__, True),
        (concurrent.futures.thread.__file__, True),
        ("greenlet/__init__.py", True),
        ("/site-packages/greenlet/__init__.py", False),
        (json.__file__, False),
        (treadle.papers.harness.__file__, False),
        (hypothesis.__file__, False),
        (USER, False),
        ("/home/somebody/threading.py", False),
        ("threading.py", False),
        ("<string>", False),
    ],
)
def test_what_stands_between_the_functions_of_the_user(file: str, between: bool) -> None:
    assert is_machinery(file) == between


@pytest.mark.parametrize(
    ("file", "is_users"),
    [
        (USER, True),
        (__file__, True),
        ("<string>", True),
        ("bank.py", True),
        (json.__file__, False),
        (threading.__file__, False),
        (hypothesis.__file__, False),
        ("/anywhere/site-packages/library.py", False),
        ("/usr/lib/python3/dist-packages/library.py", False),
        ("/anywhere/my-site-packages/library.py", True),
        (frames.__file__, False),
        (COMPILED, False),
    ],
)
def test_what_belongs_to_the_user(
    file: str, is_users: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # names of compiled files are relative to no directory of today's
    is_of_the_user.cache_clear()
    assert is_of_the_user(file) == is_users


@pytest.mark.parametrize(
    ("file", "came_along"),
    [
        (json.__file__, True),
        (threading.__file__, True),
        (hypothesis.__file__, False),
        (str(Path(os.__file__).parent / "site-packages" / "x.py"), False),
        (str(Path(os.__file__).parent / "dist-packages" / "x.py"), False),
        (USER, False),
        (frames.__file__, False),
        ("<frozen os>", False),
    ],
)
def test_what_came_with_python(file: str, came_along: bool) -> None:
    assert is_of_the_standard_library(file) == came_along


def test_a_link_to_a_library_is_a_library_and_one_to_a_project_is_the_users(tmp_path: Path) -> None:
    libraries, project = tmp_path / "site-packages", tmp_path / "project"
    for folder in (libraries, project):
        folder.mkdir()
        (folder / "code.py").touch()
    (project / "library.py").symlink_to(libraries / "code.py")
    (libraries / "editable.py").symlink_to(project / "code.py")
    assert not is_of_the_user(str(project / "library.py"))
    assert is_of_the_user(str(libraries / "editable.py"))


def test_a_python_that_a_link_leads_to_is_known_by_both_names(tmp_path: Path) -> None:
    """As with Homebrew: `sys.prefix` is a link, and so are the names of the library's files."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    link = tmp_path / "python"
    link.symlink_to(sys.base_prefix)
    if not (link / "bin" / version).is_file():
        pytest.skip("this Python does not lie in one directory")
    script = """
        import json, sys, threading
        from pathlib import Path
        from treadle.core.frames import is_machinery, is_of_the_standard_library, is_of_the_user
        if not threading.__file__.startswith(sys.argv[1]):
            raise SystemExit("resolved")
        for file in (threading.__file__, str(Path(threading.__file__).resolve())):
            print(is_machinery(file), is_of_the_standard_library(file), is_of_the_user(file))
        """
    done = subprocess.run(
        [str(link / "bin" / version), "-S", "-c", dedent(script), str(tmp_path)],
        env={"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.stderr == "resolved\n":
        pytest.skip("this Python follows links itself")
    assert (done.stdout, done.stderr) == ("True True False\n" * 2, "")


# By frame


def function_in(file: str, body: str, **variables: object) -> Callable[[], object]:
    """Return a function that seems to be in a file."""
    source = f"def function():\n{' ' * 4}return {body}\n"
    namespace: dict[str, object] = {"__name__": "somewhere", **variables}
    exec(compile(source, file, "exec"), namespace)
    return namespace["function"]  # type: ignore[return-value]


def innermost(*files: str, name: str = "somewhere") -> types.FrameType:
    """Return the frame of a function in the last file, called by one in the file before it."""
    function: Callable[[], object] = sys._getframe
    for file in reversed(files):
        function = function_in(file, "call()", call=function, __name__=name)
    return function()  # type: ignore[return-value]


def raised_through(*files: str) -> BaseException:
    """Return an exception that went through functions in files, the last one first."""
    function = function_in(files[-1], "1 / 0")
    for file in reversed(files[:-1]):
        function = function_in(file, "call()", call=function)
    with pytest.raises(ZeroDivisionError) as caught:
        function()
    return caught.value


OWN = frames.__file__


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([USER], USER),
        ([USER, OWN], USER),
        ([USER, OWN, COMPILED, threading.__file__], USER),
        ([USER, OWN, "/other.py", OWN], "/other.py"),
        ([USER, json.__file__], json.__file__),
        ([OWN, "<string>"], "<string>"),
    ],
)
def test_the_innermost_frame_that_is_not_machinery(files: list[str], found: str) -> None:
    frame = users_frame(innermost(*files))
    assert frame is not None
    assert frame.f_code.co_filename == found
    assert place_of_frame(innermost(*files)) == (found, 2)


def test_what_is_left_out_can_be_said() -> None:
    frame = innermost(USER, json.__file__)
    assert place_of_frame(frame, lambda file: file == json.__file__) == (USER, 2)
    assert place_of_frame(frame, lambda _file: True) is None
    assert users_frame(None) is None
    assert place_of_frame(None) is None


def test_who_calls_treadle_is_found_through_its_own_and_compiled_frames() -> None:
    inner = function_in(COMPILED, "call()", call=callers_frame)
    outer = function_in(OWN, "call()", call=inner)
    assert function_in(USER, "call()", call=outer)().f_code.co_filename == USER  # type: ignore[attr-defined]
    assert callers_frame() is sys._getframe()
    library = function_in(threading.__file__, "call()", call=inner)
    assert library().f_code.co_filename == threading.__file__  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("module", "runs"),
    [
        ("_pytest.runner", True),
        ("pluggy._callers", True),
        ("unittest.case", True),
        ("unittest", True),
        ("_pytester", False),
        ("bank", False),
        ("__main__", False),
    ],
)
def test_what_runs_tests_is_told_by_its_module(module: str, runs: bool) -> None:
    assert runs_tests(innermost("/x.py", name=module)) == runs


def test_a_frame_without_a_module_is_nobodys() -> None:
    function = function_in("/x.py", "call()", call=sys._getframe)
    del function.__globals__["__name__"]
    assert not runs_tests(function())  # type: ignore[arg-type]


# By exception


def test_the_frames_of_a_traceback_are_outermost_first_with_their_lines() -> None:
    error = raised_through(USER, OWN, "/other.py")
    found = [(frame.f_code.co_filename, line) for frame, line in frames_of_traceback(error)]
    assert found[0][0] == __file__
    assert found[1:] == [(USER, 2), (OWN, 2), ("/other.py", 2)]
    assert frames_of_traceback(ValueError()) == []


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ([USER, "/other.py"], ("/other.py", 2)),
        ([USER, OWN], (USER, 2)),
        ([USER, OWN, "/other.py", COMPILED, queue.__file__], ("/other.py", 2)),
        ([USER, json.__file__], (json.__file__, 2)),
    ],
)
def test_the_place_of_an_exception(files: list[str], place: tuple[str, int]) -> None:
    error = raised_through(*files)
    assert place_of_exception(error) == place
    only_users = place_of_exception(error, lambda file: not is_of_the_user(file))
    users = [file for file in files if is_of_the_user(file)]
    assert only_users == (users[-1], 2)


def test_an_exception_that_was_never_raised_has_no_place() -> None:
    assert place_of_exception(ValueError()) is None
    assert place_of_exception(raised_through(OWN), lambda _file: True) is None


def files_of(traceback: types.TracebackType | None) -> list[str]:
    error = ValueError().with_traceback(traceback)
    return [frame.f_code.co_filename for frame, _ in frames_of_traceback(error)]


def test_the_users_part_of_a_traceback() -> None:
    error = raised_through(USER, OWN, "/other.py", COMPILED, json.__file__)
    assert files_of(users_part(error.__traceback__)) == [
        __file__,
        USER,
        "/other.py",
        json.__file__,
    ]
    assert users_part(None) is None
    before = files_of(error.__traceback__)
    assert len(before) == 6, "the exception itself keeps its traceback"


def test_pytest_is_no_part_of_the_users_traceback() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        _pytest.runner.CallInfo.from_call(lambda: 1 // 0, "call", reraise=ZeroDivisionError)
    assert any("_pytest" in file for file in files_of(caught.value.__traceback__))
    assert set(files_of(users_part(caught.value.__traceback__))) == {__file__}


def test_nothing_is_left_of_a_traceback_of_treadle() -> None:
    error = raised_through(OWN, COMPILED)
    assert error.__traceback__ is not None
    assert users_part(error.__traceback__.tb_next) is None


def test_an_entry_without_a_line_gets_the_first_of_its_function() -> None:
    frame = innermost(USER)
    nowhere = types.TracebackType(None, frame, -1, 0)
    kept = users_part(nowhere)
    assert kept is not None
    assert kept.tb_lineno == frame.f_code.co_firstlineno == 1
    assert kept.tb_frame is frame


def test_frames_in_words_leave_out_machinery_and_who_runs_tests() -> None:
    files = [(innermost(file), 7) for file in (USER, OWN, json.__file__)]
    files.append((innermost("/p.py", name="_pytest.python"), 7))
    records = words.frames_in_words("main", files)
    assert [(one.process, one.function, one.where) for one in records] == [
        ("main", "function", f"{USER}:7"),
        ("main", "function", f"{json.__file__}:7"),
    ]
    only_users = words.frames_in_words("p", files, leaves_out=lambda f: not is_of_the_user(f))
    assert [one.where for one in only_users] == [f"{USER}:7"]


def test_a_treadle_that_a_link_leads_to_knows_its_own_files(tmp_path: Path) -> None:
    (tmp_path / "treadle").symlink_to(PACKAGE)
    script = """
        from pathlib import Path
        from treadle.core import frames
        print(frames.room_of(frames.__file__), frames.is_of_the_user(frames.__file__))
        print(frames.room_of(str(Path(frames.__file__).resolve())))
        """
    done = subprocess.run(
        [sys.executable, "-S", "-c", dedent(script)],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "core False\ncore\n"

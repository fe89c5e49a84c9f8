"""Files, the environment and the like as shared locations: exact verdicts and counts."""

from __future__ import annotations

import csv
import functools
import glob
import gzip
import json
import os
import pickle
import queue
import shutil
import stat
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from together import outcomes, together

import treadle
from treadle.threads.primitives.outside import os_functions

Body = Callable[[], Any]
PROGRAMS: dict[str, tuple[Body, int | str]] = {}
FAIL_ANYWAY = ("what_is_buffered_is_written_late",)
"""Programs that fail in every interleaving, as they do with real threads."""


def program(expected: int | str) -> Callable[[Callable[[Path], Any]], None]:
    """Register a test that gets a directory of its own: executions of a proof, or what fails."""

    def register(body: Callable[[Path], Any]) -> None:
        @functools.wraps(body)
        def test() -> None:
            with tempfile.TemporaryDirectory() as directory:
                body(Path(directory))

        del test.__wrapped__  # type: ignore[attr-defined]
        PROGRAMS[body.__name__] = (test, expected)

    return register


@program("assertion")
def counter_in_a_file(folder: Path) -> None:
    path = folder / "n"
    path.write_text("00")

    def increment() -> None:
        with path.open("r+") as file:
            n = int(file.read())
            file.seek(0)
            file.write(f"{n + 1:02}")

    together(increment, increment)
    assert path.read_text() == "02"


@program(2)
def counter_in_a_file_with_a_lock(folder: Path) -> None:
    path, lock = folder / "n", threading.Lock()
    path.write_text("0")

    def increment() -> None:
        with lock:
            path.write_text(str(int(path.read_text()) + 1))

    together(increment, increment)
    assert path.read_text() == "2"


@program("assertion")
def check_then_create(folder: Path) -> None:
    made = []

    def create() -> None:
        if not os.path.exists(folder / "x"):  # noqa: PTH110
            made.append((folder / "x").write_text("x"))

    together(create, create)
    assert len(made) == 1


@program("assertion")
def check_then_create_by_two_names(folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "link").symlink_to(folder / "d")
    made = []

    def create(name: str) -> None:
        if not (folder / name / "x").exists():
            made.append((folder / name / "x").mkdir(exist_ok=True))

    together(lambda: create("d"), lambda: create("link"))
    assert len(made) == 1


@program("assertion")
def a_link_that_leads_elsewhere(folder: Path) -> None:
    (folder / "new").touch()
    (folder / "link").symlink_to(folder / "old")
    seen = []

    def switch() -> None:
        (folder / "next").symlink_to(folder / "new")
        (folder / "next").replace(folder / "link")

    together(switch, lambda: seen.append((folder / "link").exists()))
    assert seen == [True]


@program("assertion")
def another_name_of_a_file(folder: Path) -> None:
    (folder / "x").touch()
    seen = []
    together(
        lambda: (folder / "y").hardlink_to(folder / "x"),
        lambda: seen.append((folder / "x").stat().st_nlink),
    )
    assert seen == [2]


@program("assertion")
def one_name_of_a_file_less(folder: Path) -> None:
    (folder / "x").touch()
    (folder / "y").hardlink_to(folder / "x")
    seen = []
    together(
        (folder / "y").unlink,
        lambda: seen.append((folder / "x").stat().st_nlink),
    )
    assert seen == [1]


@program(2)
def exclusive_creation(folder: Path) -> None:
    made = []

    def create() -> None:
        try:
            with open(folder / "x", "x"):  # noqa: PTH123
                made.append(1)
        except FileExistsError:
            pass

    together(create, create)
    assert len(made) == 1


@program("exception")
def check_then_make_directory(folder: Path) -> None:
    def make() -> None:
        if not (folder / "d").is_dir():
            (folder / "d").mkdir()

    together(make, make)


@program(2)
def directory_made_by_whoever_is_first(folder: Path) -> None:
    together(*[lambda: (folder / "d").mkdir(exist_ok=True)] * 2)
    assert (folder / "d").is_dir()


@program("exception")
def check_then_remove(folder: Path) -> None:
    (folder / "x").write_text("")

    def remove() -> None:
        if (folder / "x").exists():
            (folder / "x").unlink()

    together(remove, remove)


@program(2)
def removed_by_whoever_is_first(folder: Path) -> None:
    (folder / "x").write_text("")
    together(*[lambda: (folder / "x").unlink(missing_ok=True)] * 2)


@program("exception")
def read_while_it_is_written(folder: Path) -> None:
    path = folder / "x.json"
    path.write_text("{}")
    together(lambda: path.write_text('{"a": 1}'), lambda: json.loads(path.read_text()))


@program(4)
def read_while_it_is_replaced(folder: Path) -> None:
    path = folder / "x.json"
    path.write_text("{}")

    def write() -> None:
        (folder / "new").write_text('{"a": 1}')
        os.replace(folder / "new", path)  # noqa: PTH105

    together(write, lambda: json.loads(path.read_text()))


@program(1)
def different_files(folder: Path) -> None:
    together(*[functools.partial((folder / name).write_text, name) for name in "abc"])
    assert sorted(os.listdir(folder)) == ["a", "b", "c"]  # noqa: PTH208


@program("assertion")
def listed_while_files_come(folder: Path) -> None:
    seen: list[int] = []
    together(
        lambda: (folder / "a").write_text(""),
        lambda: seen.append(len(list(folder.iterdir()))),
    )
    assert seen == [1]


@program("assertion")
def globbed_while_files_come(folder: Path) -> None:
    seen: list[int] = []
    together(
        lambda: (folder / "a.txt").write_text(""),
        lambda: seen.append(len(glob.glob(f"{folder}/*.txt"))),  # noqa: PTH207
    )
    assert seen == [1]


@program("assertion")
def walked_while_files_come(folder: Path) -> None:
    seen: list[int] = []
    together(
        lambda: (folder / "a.txt").write_text(""),
        lambda: seen.append(sum(len(files) for _, _, files in os.walk(folder))),
    )
    assert seen == [1]


@program("assertion")
def order_of_lines_that_are_appended(folder: Path) -> None:
    def append(text: str) -> None:
        with (folder / "log").open("a") as file:
            file.write(text)

    together(lambda: append("a"), lambda: append("b"))
    assert (folder / "log").read_text() == "ab"


@program("assertion")
def the_same_file_by_other_names(folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "x").write_text("0")
    (folder / "link").symlink_to(folder / "x")
    names = iter([folder / "d" / ".." / "x", folder / "link"])

    def increment(path: Path) -> None:
        path.write_text(str(int(path.read_text() or 0) + 1))

    together(*[functools.partial(increment, path) for path in names])
    assert (folder / "x").read_text() == "2"


@program("assertion")
def a_hard_link(folder: Path) -> None:
    (folder / "x").write_text("0")
    (folder / "y").hardlink_to(folder / "x")
    seen: list[str] = []
    together(
        lambda: (folder / "x").write_text("1"), lambda: seen.append((folder / "y").read_text())
    )
    assert seen == ["1"]


@program("assertion")
def a_relative_path(folder: Path) -> None:
    os.chdir(folder)
    Path("x").write_text("0")
    seen: list[str] = []
    together(lambda: Path("x").write_text("1"), lambda: seen.append((folder / "x").read_text()))
    os.chdir("/")
    assert seen == ["1"]


@program("exception")
def a_directory_that_is_renamed(folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "d" / "x").write_text("")
    together((folder / "d" / "x").read_text, lambda: (folder / "d").rename(folder / "e"))


@program("exception")
def a_tree_that_is_removed(folder: Path) -> None:
    (folder / "d").mkdir()
    together(lambda: (folder / "d" / "x").write_text("x"), lambda: shutil.rmtree(folder / "d"))


@program("assertion")
def one_file_object(folder: Path) -> None:
    with (folder / "x").open("w+") as file:
        together(lambda: file.write("a"), lambda: file.write("b"))
        file.seek(0)
        assert file.read() == "ab"


@program("assertion")
def position_of_one_file_object(folder: Path) -> None:
    (folder / "x").write_text("ab")
    seen: dict[str, str] = {}
    with (folder / "x").open() as file:
        together(lambda: seen.update(first=file.read(1)), lambda: seen.update(second=file.read(1)))
    assert seen == {"first": "a", "second": "b"}


@program("assertion")
def what_is_buffered_is_written_late(folder: Path) -> None:
    seen: list[str] = []

    def write() -> None:
        with (folder / "x").open("w") as file:
            file.write("x")
            seen.append((folder / "x").read_text())

    together(write)
    assert seen == ["x"]


@program("assertion")
def a_descriptor(folder: Path) -> None:
    descriptor = os.open(folder / "x", os.O_CREAT | os.O_RDWR)
    together(lambda: os.write(descriptor, b"a"), lambda: os.write(descriptor, b"b"))
    os.close(descriptor)
    assert (folder / "x").read_bytes() == b"ab"


@program("assertion")
def position_of_a_descriptor(folder: Path) -> None:
    (folder / "x").write_text("ab")
    descriptor, seen = os.open(folder / "x", os.O_RDONLY), {}
    together(
        lambda: seen.update(first=os.read(descriptor, 1)),
        lambda: seen.update(second=os.read(descriptor, 1)),
    )
    os.close(descriptor)
    assert seen == {"first": b"a", "second": b"b"}


@program("assertion")
def copied_while_it_is_written(folder: Path) -> None:
    (folder / "x").write_text("0")
    together(
        lambda: (folder / "x").write_text("1"), lambda: shutil.copy(folder / "x", folder / "y")
    )
    assert (folder / "y").read_text() == "1"


@program("assertion")
def written_by_libraries(folder: Path) -> None:
    (folder / "x").write_bytes(pickle.dumps(0))

    def increment() -> None:
        with (folder / "x").open("rb") as file:
            n = pickle.load(file)
        with (folder / "new").open("wb") as file:
            pickle.dump(n + 1, file)
        os.replace(folder / "new", folder / "x")  # noqa: PTH105

    together(increment)
    seen: list[int] = []
    together(increment, lambda: seen.append(pickle.loads((folder / "x").read_bytes())))
    assert seen == [2]


@program("assertion")
def compressed(folder: Path) -> None:
    path = folder / "x.gz"
    with gzip.open(path, "wt") as file:
        file.write("0")
    seen: list[bool] = []

    def write() -> None:
        with gzip.open(path, "wt") as file:
            file.write("1")

    together(write, lambda: seen.append(len(path.read_bytes()) > 0))
    assert seen == [True]


@program("assertion")
def rows_of_a_table(folder: Path) -> None:
    def append(row: str) -> None:
        with (folder / "x.csv").open("a", newline="") as file:
            csv.writer(file).writerow([row])

    together(lambda: append("a"), lambda: append("b"))
    assert (folder / "x.csv").read_text() == "a\r\nb\r\n".replace("\r\n", "\n")


@program("assertion")
def size_and_mode(folder: Path) -> None:
    (folder / "x").write_text("")
    seen: list[int] = []
    together(
        lambda: (folder / "x").chmod(0o400),
        lambda: seen.append(stat.S_IMODE((folder / "x").stat().st_mode)),
    )
    assert seen == [0o400]


@program("assertion")
def printed_into_a_file(folder: Path) -> None:
    with (folder / "x").open("w") as file:
        together(lambda: print("a", file=file), lambda: print("b", file=file))
    assert (folder / "x").read_text() == "a\nb\n"


@program("assertion")
def a_variable_of_the_environment(_: Path) -> None:
    os.environ["N"] = "0"

    def increment() -> None:
        os.environ["N"] = str(int(os.environ["N"]) + 1)

    together(increment, increment)
    assert os.environ["N"] == "2"


@program(1)
def different_variables_of_the_environment(_: Path) -> None:
    together(*[functools.partial(os.environ.__setitem__, name, "1") for name in ("T_A", "T_B")])
    assert (os.getenv("T_A"), os.getenv("T_B")) == ("1", "1")


@program("assertion")
def default_of_the_environment(_: Path) -> None:
    seen: list[str] = []

    def ask(text: str) -> None:
        if "T_C" not in os.environ:
            os.environ["T_C"] = text
            seen.append(text)

    together(lambda: ask("a"), lambda: ask("b"))
    assert len(seen) == 1


@program("assertion")
def which_variables_there_are(_: Path) -> None:
    before, seen = len(os.environ), []
    together(lambda: os.environ.update(T_D="1"), lambda: seen.append(len(os.environ)))
    assert seen == [before + 1]


@program("assertion")
def the_current_directory(folder: Path) -> None:
    seen: list[str] = []

    def inside() -> None:
        os.chdir(folder)
        seen.append(os.getcwd())  # noqa: PTH109

    together(inside, lambda: os.chdir("/"))
    assert seen == [os.path.realpath(folder)]


@program("exception")
def a_relative_path_while_the_directory_changes(folder: Path) -> None:
    (folder / "here").write_text("")
    os.chdir(folder)
    together(lambda: Path("here").read_text(), lambda: os.chdir("/"))


@program("assertion")
def the_mask_for_new_files(_: Path) -> None:
    os.umask(0o022)

    def private() -> None:
        before = os.umask(0o077)
        os.umask(before)

    together(private, private)
    assert os.umask(0o022) == 0o022


@program("assertion")
def a_file_made_under_a_mask(folder: Path) -> None:
    os.umask(0o022)
    together(lambda: os.umask(0o077), lambda: (folder / "x").write_text(""))
    assert stat.S_IMODE((folder / "x").stat().st_mode) == 0o600


@program("assertion")
def a_file_touched_under_a_mask(folder: Path) -> None:
    os.umask(0o022)
    together(lambda: os.umask(0o077), lambda: (folder / "x").touch())
    assert stat.S_IMODE((folder / "x").stat().st_mode) == 0o600


@program("assertion")
def a_log_opened_under_a_mask(folder: Path) -> None:
    os.umask(0o022)
    together(lambda: os.umask(0o077), lambda: (folder / "x").open("a").close())
    assert stat.S_IMODE((folder / "x").stat().st_mode) == 0o600


@program(1)
def temporary_files(folder: Path) -> None:
    def work() -> None:
        with tempfile.NamedTemporaryFile("w+", dir=folder) as file:
            file.write("x")
            file.seek(0)
            assert file.read() == "x"
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            (Path(inner) / "x").write_text("")

    together(work, work)


def test_the_first_to_make_a_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)  # as in a process that has made none
    test, executions = PROGRAMS["temporary_files"]
    result = treadle.explore(test)
    assert (result.failures, result.executions) == ([], executions)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_share_the_world(name: str) -> None:
    test, expected = PROGRAMS[name]
    result = treadle.explore(test)
    if isinstance(expected, int):
        assert (result.ok, result.executions) == (True, expected), [str(f) for f in result.failures]
    else:
        assert expected in result.failure_kinds
        assert result.executions > 1 or name in FAIL_ANYWAY
        assert treadle.replay(test, result.failures[0].token) is not None
    assert result.escapes == []


@pytest.mark.parametrize("algorithm", ["exhaustive", "sleep", "source", "optimal"])
@pytest.mark.parametrize(
    "name",
    ["exclusive_creation", "removed_by_whoever_is_first", "read_while_it_is_replaced"],
)
def test_algorithms_agree_on_files(name: str, algorithm: str) -> None:
    assert treadle.explore(PROGRAMS[name][0], algorithm).ok


def test_steps_on_files_are_told() -> None:
    (failure,) = treadle.explore(PROGRAMS["check_then_create"][0]).failures
    told = [f"{a.operation} {a.location}" for step in failure.trace for a in step.accesses]
    assert "read existence of <temporary path 1 of main>/x" in told
    assert "write existence of <temporary path 1 of main>/x" in told


# What outlives an execution


def test_what_an_earlier_execution_left_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x"

    def test() -> None:
        made = []

        def create() -> None:
            if not path.exists():
                made.append(path.write_text("x"))

        together(create, create)
        assert len(made) <= 1

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "nondeterminism"
    assert f"{path} is as an earlier execution left it: make it anew" in failure.message


def test_what_is_appended_to_outlives_an_execution(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("")

    def test() -> None:
        def append() -> None:
            with path.open("a") as file:
                file.write("x")

        together(append, append)
        assert path.read_text()

    assert treadle.explore(test).failure_kinds == {"nondeterminism": 1}


@pytest.mark.parametrize("reset", ["write", "remove", "rmtree"])
def test_what_is_made_anew_is_no_leftover(tmp_path: Path, reset: str) -> None:
    folder = tmp_path / "d"

    def test() -> None:
        if reset == "rmtree":
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        path = folder / "x"
        if reset == "remove" and path.exists():
            path.unlink()
        if reset == "write":
            path.write_text("")

        def append() -> None:
            with path.open("a") as file:
                file.write("x")

        together(append, append)
        assert path.read_text() == "xx"

    result = treadle.explore(test)
    assert (result.ok, result.executions) == (True, 12)


def test_surroundings_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("T_X", raising=False)
    here, mask = Path.cwd(), os.umask(0o022)
    os.umask(0o022)

    def test() -> None:
        assert "T_X" not in os.environ
        assert Path.cwd() == here
        together(lambda: os.environ.update(T_X="1"), lambda: os.chdir("/"), lambda: os.umask(0))

    try:
        assert treadle.explore(test).ok
        assert "T_X" not in os.environ
        assert Path.cwd() == here
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(mask)


# Like the originals


@pytest.fixture
def a_file(tmp_path: Path) -> Path:
    path = tmp_path / "x"
    path.write_bytes("one\ntwö\n".encode())
    return path


def _looks(path: Path) -> list[str]:
    """Return what `open` does and says, with all kinds of arguments."""
    said = []
    for arguments in (
        ("r",), ("rb",), ("r+",), ("rb+",), ("rb", 0), ("r", 0), ("r", 1), ("q",), ("rw",),
        ("rbt",),
        ("rb", -1, "utf-8"), ("r", -1, "utf-8"), ("r", -1, "ascii"), ("r", -1, None, None, ""),
        ("rU",), ("",), ("w", 0),
    ):  # fmt: skip
        try:
            with open(path, *arguments) as file:  # noqa: PTH123
                said.append(
                    f"{arguments} {type(file).__name__} {file.mode} {file.read()!r} {file.tell()} "
                    f"{isinstance(file, __import__('io').IOBase)} {file.readable()} {file.name}"
                )
        except (ValueError, UnicodeError, OSError) as error:
            said.append(f"{arguments} {type(error).__name__}: {error}")
        said.append(repr(path.read_bytes()))
        path.write_bytes("one\ntwö\n".encode())
    return said


@pytest.mark.filterwarnings("ignore")
def test_open_does_what_the_original_does(a_file: Path) -> None:
    real = _looks(a_file)
    seen: list[list[str]] = []
    assert treadle.explore(lambda: seen.append(_looks(a_file))).ok
    assert seen[-1] == real


def test_functions_that_nobody_looked_at_are_named() -> None:
    """A new function of `os` is named in the verdict, until somebody says what it does."""
    known = {original.__name__ for original, _ in os_functions.PATCHES.references}
    functions = {n for n in dir(os_functions._system) if n in ("pipe", "mkfifo", "setuid", "nice")}
    assert functions <= known
    assert "getpid" not in known


def test_what_reads_source_code_is_no_step() -> None:
    def test() -> None:
        def fail() -> None:
            try:
                raise ValueError
            except ValueError:
                assert "raise ValueError" in traceback.format_exc()

        together(fail, fail)

    result = treadle.explore(test)
    assert (result.ok, result.executions, result.escapes) == (True, 1, [])


def test_the_directory_for_temporary_files_is_looked_for_before_the_first_execution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)

    def test() -> None:
        with tempfile.TemporaryDirectory() as folder:
            together(*[(Path(folder) / name).touch for name in "ab"])

    assert treadle.explore(test).ok


def test_it_is_seen_that_a_temporary_file_goes() -> None:
    seen: set[bool] = set()

    def test() -> None:
        names: queue.Queue[str] = queue.Queue()

        def work() -> None:
            with tempfile.NamedTemporaryFile() as file:
                names.put(file.name)

        together(work, lambda: seen.add(Path(names.get()).exists()))

    assert treadle.explore(test).complete
    assert seen == {False, True}


def test_a_relative_path_looks_at_the_directory_where_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("")

    def test() -> None:
        os.chdir(tmp_path)
        together(lambda: os.access("here", os.R_OK), lambda: os.chdir("/"))

    assert treadle.explore(test).executions == 4


def test_a_link_that_is_taken_away_for_a_moment(tmp_path: Path) -> None:
    def program() -> object:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            one, other, link = (Path(folder) / name for name in ("one", "other", "link"))
            one.touch()
            other.touch()
            link.symlink_to(one)
            seen: list[object] = []

            def switch() -> None:
                link.unlink()
                link.symlink_to(other)

            def look() -> None:
                try:
                    seen.append(one.samefile(link))
                except FileNotFoundError:
                    seen.append(None)

            together(switch, look)
            return seen[0]

    assert outcomes(program) == {"None", "False", "True"}

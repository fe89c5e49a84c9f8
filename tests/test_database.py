"""The database: nothing is lost that could be kept, and nothing is ever damaged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import treadle
from treadle.core.records import Access, StepRecord
from treadle.findings.database import Database, RecordedStep

TEST = "tests/test_bank.py::test_transfer[a/b-1]"
SOURCE = str(Path(treadle.__file__).parents[1])

STEPS = [
    StepRecord("main", (Access("start", "main.1"),), "bank.py:3", "thread.start()"),
    StepRecord("main.1", (Access("read", "x", "1"), Access("read", "x", "1")), "bank.py:7"),
    StepRecord("main.1", ()),
]


@pytest.fixture
def database(tmp_path) -> Database:
    return Database(tmp_path / ".treadle")


def files(database: Database) -> list[Path]:
    return sorted(path for path in database.directory.rglob("*") if path.is_file())


def test_what_was_saved_is_loaded_the_newest_first(database):
    assert database.load(TEST) == []
    assert [database.save(TEST, token) for token in ("t1_a", "t1_b", "t1_c")] == [True] * 3
    assert database.load(TEST) == ["t1_c", "t1_b", "t1_a"]
    assert database.save(TEST, "t1_a")
    assert database.load(TEST) == ["t1_a", "t1_c", "t1_b"]
    assert Database(database.directory).load(TEST) == ["t1_a", "t1_c", "t1_b"]


def test_tests_do_not_see_each_other(database):
    database.save("a::b", "t1_a")
    database.save("a_b", "t1_b")
    assert (database.load("a::b"), database.load("a_b"), database.load("a")) == (
        ["t1_a"],
        ["t1_b"],
        [],
    )


def test_what_is_discarded_is_gone(database):
    database.save(TEST, "t1_a")
    database.save(TEST, "t1_b")
    assert database.discard(TEST, "t1_a")
    assert database.discard(TEST, "t1_a")
    assert database.load(TEST) == ["t1_b"]


def test_only_the_newest_are_kept(database):
    for number in range(20):
        database.save(TEST, f"t1_{number}")
    assert database.load(TEST) == ["t1_19", "t1_18", "t1_17", "t1_16", "t1_15"]
    assert len(files(database)) == 6  # and `.gitignore`


def test_steps_in_words(database):
    database.save(TEST, "t1_a", STEPS)
    assert list(map(str, database.steps(TEST, "t1_a"))) == [
        "main start main.1 (bank.py:3)",
        "main.1 read x (bank.py:7)",
        "main.1 without access",
    ]
    assert database.steps(TEST, "t1_b") == []
    database.save(TEST, "t1_long", STEPS * 1000)
    assert len(database.steps(TEST, "t1_long")) == 500


def test_a_step_is_the_same_wherever_its_line_is():
    then = RecordedStep("p", "read x", "bank.py:3")
    assert then.does_the_same(RecordedStep("p", "read x", "bank.py:4"))
    assert not then.does_the_same(RecordedStep("q", "read x", "bank.py:3"))
    assert not then.does_the_same(RecordedStep("p", "write x", "bank.py:3"))


def test_git_sees_nothing_of_it(database):
    subprocess.run(["git", "init", "-q"], cwd=database.directory.parent, check=True)
    database.save(TEST, "t1_a")
    status = subprocess.run(
        ["git", "status", "--porcelain"],
        cwd=database.directory.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert status.stdout == ""


# Where it cannot write


def test_a_file_where_the_directory_should_be(database):
    database.directory.write_text("somebody's own")
    assert not database.save(TEST, "t1_a")
    assert not database.discard(TEST, "t1_a")
    assert (database.load(TEST), database.steps(TEST, "t1_a")) == ([], [])
    assert database.directory.read_text() == "somebody's own"


def test_a_directory_that_cannot_be_written(database, monkeypatch):
    database.save(TEST, "t1_a")

    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError("read-only")

    for name in ("write_text", "replace", "unlink", "mkdir"):
        monkeypatch.setattr(Path, name, refuse)
    assert not database.save(TEST, "t1_b")
    assert not database.discard(TEST, "t1_a")
    assert database.load(TEST) == ["t1_a"]


def test_a_full_disk_leaves_nothing_behind(database, monkeypatch):
    database.save(TEST, "t1_a")
    before = files(database)
    write = Path.write_text

    def write_half(self: Path, text: str, *args: str) -> int:
        write(self, text[: len(text) // 2], *args)
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_text", write_half)
    assert not database.save(TEST, "t1_b")
    assert files(database) == before
    assert database.load(TEST) == ["t1_a"]


# What is not its own


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"format": 2, "test": "T", "token": "t1_b", "saved": 1, "steps": []}',
        b'{"format": 1, "test": "other", "token": "t1_b", "saved": 1, "steps": []}',
        b'{"format": 1, "test": "T", "token": 3, "saved": 1, "steps": []}',
        b'{"format": 1, "test": "T", "token": "t1_b", "saved": "now", "steps": []}',
        b"[" * 100_000,
    ],
)
def test_damaged_and_foreign_files_are_passed_over(database, content):
    database.save(TEST, "t1_a")
    database.save(TEST, "t1_b")
    mine = next(file for file in files(database) if b'"t1_b"' in file.read_bytes())
    mine.write_bytes(content.replace(b'"T"', json.dumps(TEST).encode()))
    (mine.parent / "notes.txt").write_text("somebody's own")
    (mine.parent / "copy.json").write_bytes(mine.read_bytes())
    assert database.load(TEST) == ["t1_a"]
    assert database.steps(TEST, "t1_b") == []
    assert database.save(TEST, "t1_b")
    assert database.load(TEST) == ["t1_b", "t1_a"]


def test_steps_that_are_damaged(database):
    database.save(TEST, "t1_a", STEPS)
    (file,) = [file for file in files(database) if file.suffix == ".json"]
    for steps in (None, 3, [["p"]], {"p": 1}):
        file.write_text(json.dumps({**json.loads(file.read_text()), "steps": steps}))
        assert database.steps(TEST, "t1_a") == []
        assert database.load(TEST) == ["t1_a"]


def test_what_a_killed_run_left_is_removed_some_time(database):
    database.save(TEST, "t1_a")
    (file,) = [file for file in files(database) if file.suffix == ".json"]
    old, new = file.with_name("old.json.1-2.new"), file.with_name("new.json.1-2.new")
    for left in (old, new):
        left.write_text("{")
    os.utime(old, (0, 0))
    database.save(TEST, "t1_b")
    assert (old.exists(), new.exists()) == (False, True)
    assert database.load(TEST) == ["t1_b", "t1_a"]


# Two runs at once, and runs that are killed

WRITER = """
import itertools, sys
from treadle.findings.database import Database
from treadle.core.records import (Access, StepRecord)
directory, test, name, number = sys.argv[1:]
database = Database(directory)
steps = [StepRecord("p", (Access("read", "x" * 50),), "file.py:1")] * 200
print("ready", flush=True)
for at in itertools.count() if number == "endless" else range(int(number)):
    assert database.save(test, f"t1_{name}_{at}", steps)
    if at % 3 == 2:
        assert database.discard(test, f"t1_{name}_{at - 1}")
"""


def writer(database: Database, name: str, number: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(database.directory), TEST, name, number],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )


def test_two_runs_at_once(database):
    writers = [writer(database, name, "60") for name in ("one", "two")]
    while any(process.poll() is None for process in writers):
        for token in database.load(TEST):
            assert token.startswith(("t1_one_", "t1_two_"))
            assert len(database.steps(TEST, token)) in (0, 200)  # 0: discarded in the meantime
    for process in writers:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    kept = database.load(TEST)
    assert 0 < len(kept) <= 5
    assert {"t1_one_59", "t1_two_59"} & set(kept)


def test_runs_that_are_killed(database):
    for attempt in range(8):
        process = writer(database, f"run{attempt}", "endless")
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.01 * (attempt % 4 + 1))  # whenever it is, the database has to be whole
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for file in files(database):
            if file.suffix == ".json":
                assert json.loads(file.read_text())["test"] == TEST
        for token in database.load(TEST):
            assert len(database.steps(TEST, token)) == 200
    assert database.save(TEST, "t1_last")
    assert database.load(TEST)[0] == "t1_last"
    assert len(database.load(TEST)) <= 5

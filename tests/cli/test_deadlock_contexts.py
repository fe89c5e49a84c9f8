"""`treadle deadlocks --contexts`: from a file without a main to test cases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treadle.cli import cli

STORE = """
from treadle.actors import Actor


class Store(Actor):
    def __init__(self):
        self.data, self.client, self.connected = 7, None, 1

    async def connect(self):
        self.connected = 3

    async def register(self, w):
        self.connected = 0
        await self.get_data.send(w)
        if self.connected > 0:
            self.connected -= 1
            if w.ping.send(5).get() == 5:
                self.client = w

    async def get_data(self, w):
        return self.data if self.client is w else None


class Worker(Actor):
    def __init__(self):
        self.data = None

    async def work(self, db):
        self.data = db.get_data.send(self).get()

    async def ping(self, n):
        return n
"""
MENDED = STORE.replace("self.data = db.get_data.send(self).get()",
                       "self.data = await db.get_data.send(self)")  # fmt: skip
MODEL = """
module M;
interface W { Int ping(Int n); Unit work(D d); }
interface D { Unit register(W w); Int getData(W w); }
class Worker() implements W {
  Int data = 0;
  Int ping(Int n) { return n; }
  Unit work(D d) { Fut<Int> f = d!getData(this); this.data = f.get; }
}
class DB(Int data) implements D {
  W client = null;
  Unit register(W w) { Fut<Int> f = w!ping(5); Int x = f.get; if (x == 5) { this.client = w; } }
  Int getData(W w) { Int r = 0; if (client == w) { r = data; } return r; }
}
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.py"
    path.write_text(STORE, encoding="utf-8")
    return path


def invoke(*arguments: object) -> Result:
    asked = ["deadlocks", *map(str, arguments), "--limit", "seconds=1000", "--workers", "1"]
    return CliRunner().invoke(cli, asked)


def test_a_test_case_is_shown(store: Path):
    result = invoke(store, "--contexts", 1)
    assert result.exit_code == 1, result.output
    assert "1 deadlock cycle confirmed of 1" in result.output
    assert "Context: Store[register, connect], Worker[work]" in result.output
    assert "1 tried, 1 with a deadlock" in result.output
    assert "def test_deadlock_1_1():" in result.output
    assert "register blocks at L17 on ping of Worker1" in result.output


def test_json(store: Path):
    result = invoke(store, "--contexts", 1, "--criterion", "all", "--json")
    assert result.exit_code == 1
    found = json.loads(result.output)
    assert {"target", "free", "cycles", "conditions", "notes", "seconds"} <= found.keys()
    assert (found["target"], found["free"]) == (str(store), False)
    (cycle,) = found["cycles"]
    assert (cycle["kind"], cycle["verdict"], len(cycle["tests"])) == ("deadlock", "confirmed", 1)
    assert [(link["method"], link["line"]) for link in cycle["chain"]] == [
        ("Store.register", 17),
        ("Worker.work", 29),
    ]
    assert found["contexts"] == {
        "most": 1,
        "generated": 2,
        "deadlocking": 1,
        "limited": 0,
        "limits": [],
    }


def test_written_tests_run(store: Path, tmp_path: Path):
    tests = tmp_path / "generated" / "tests"
    result = invoke(store, "--contexts", 1, "--write-tests", tests)
    assert result.exit_code == 1
    (path,) = tests.iterdir()
    assert f"wrote {path}" in result.output
    assert 'load(_HERE / "../../store.py")' in path.read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(("output", "suffix"), [("constraints", "txt"), ("both", "py")])
def test_constraints_are_written(store: Path, tmp_path: Path, output: str, suffix: str):
    tests = tmp_path / "tests"
    invoke(store, "--contexts", 1, "--write-tests", tests, "--output", output, "--quiet")
    (path,) = tests.iterdir()
    assert path.suffix == f".{suffix}"
    assert "main.3:work.db is Store1" in path.read_text(encoding="utf-8")


def test_mended_code_is_free(tmp_path: Path):
    path = tmp_path / "mended.py"
    path.write_text(MENDED, encoding="utf-8")
    result = invoke(path, "--contexts", 2)
    assert result.exit_code == 0, result.output
    assert "free of deadlock, proved" in result.output


def test_abs_without_a_main_block(tmp_path: Path):
    path = tmp_path / "model.abs"
    path.write_text(MODEL, encoding="utf-8")
    tests = tmp_path / "tests"
    result = invoke(path, "--contexts", 2, "--criterion", "all", "--write-tests", tests)
    assert result.exit_code == 1, result.output
    assert "9 tried, 9 with a deadlock" in result.output
    text = (tests / "test_deadlock_1_1.py").read_text(encoding="utf-8")
    assert 'load(_HERE / "../model.abs")' in text
    assert len(list(tests.iterdir())) == 9


def test_quiet_is_one_line(store: Path):
    result = invoke(store, "--contexts", 1, "--quiet")
    assert len(result.output.strip().splitlines()) == 1


def test_without_contexts_a_main_program_is_needed(store: Path):
    assert invoke(store).exit_code != 0


def test_limits_are_read(store: Path):
    result = invoke(store, "--contexts", 1, "--limit", "steps=2", "--criterion", "all", "--json")
    assert result.exit_code == 3
    found = json.loads(result.output)
    assert found["cycles"][0]["verdict"] == "undecided"
    assert found["contexts"]["limits"] == ["2 macro-steps"]


@pytest.mark.parametrize("limit", ["steps", "steps=many", "patience=3", "steps=-1"])
def test_limits_that_cannot_be_read(store: Path, limit: str):
    result = invoke(store, "--contexts", 1, "--limit", limit)
    assert result.exit_code != 0
    assert "limit" in str(result.exception)


def test_files_that_are_neither(tmp_path: Path):
    path = tmp_path / "code.txt"
    path.write_text("", encoding="utf-8")
    assert "is no Python file" in str(invoke(path, "--contexts", 1).exception)
    missing = invoke(tmp_path / "missing.py", "--contexts", 1)
    assert "there is no file" in str(missing.exception)


def test_a_file_without_actors(tmp_path: Path):
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n", encoding="utf-8")
    assert "has no classes of actors" in str(invoke(path, "--contexts", 1).exception)

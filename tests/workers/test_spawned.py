"""Workers that import the test by name: on engines, with `spawn`, where nothing can be copied."""

from __future__ import annotations

import errno
import os
import pickle
import socket
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import treadle
import worker_programs
from treadle.actors import Actor, program
from treadle.explore.cubes.order import EVERYTHING
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.workers import engines, forked, sources, spawned
from treadle.session.workers.handshake import difference, facts_of
from treadle.session.workers.naming import Name, name_of, named
from treadle.session.workers.parts import Job, Part
from waiting import children
from worker_programs import in_threads

READERS = jacm17.readers(9)
LASTZERO = jacm17.lastzero(10)


def two_by_three() -> None:
    worker_programs.adding(2, 3)()


def lost_update() -> None:
    worker_programs.lost_update()


def through_a_set() -> None:
    """Do something else for each order of a set, which the hash seed decides about."""
    found: list[str] = []
    for key in {"a", "b", "c", "d"}:
        if key in "ab":
            in_threads(lambda: found.append("x"), lambda: found.append("y"))
        else:
            in_threads(lambda: found[:1])


@pytest.mark.parametrize(("test", "executions"), [(READERS, 512), (two_by_three, 328)])
def test_an_executor_over_hands(test: Any, executions: int) -> None:
    with ThreadPoolExecutor(2) as executor:
        result = treadle.explore(test, on=executor, split_by="executions")
    assert (result.executions, result.complete, result.workers) == (executions, True, 2)
    assert result.blocked == 0


def test_failures_come_back_with_all_that_is_known() -> None:
    result = treadle.explore(
        lost_update, workers=2, spawn=True, split_by="executions", stop_on_failure=False
    )
    alone = treadle.explore(lost_update, stop_on_failure=False)
    assert (result.executions, result.complete) == (alone.executions, True)
    assert [f.message for f in result.failures] == [f.message for f in alone.failures]
    assert result.failures[0].exception is not None


def test_where_nothing_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.session.session.can_fork", lambda: False)
    monkeypatch.setattr(forked, "_fork", None)
    result = treadle.explore(READERS, workers=2, split_by="executions")
    assert (result.executions, result.workers) == (512, 2)


def test_without_a_name_one_worker_explores_if_nobody_insists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("treadle.session.session.can_fork", lambda: False)
    monkeypatch.setattr("treadle.session.workers.wanted.processors", lambda: 2)
    result = treadle.explore(jacm17.readers(9), workers="auto", split_by="executions")
    assert (result.executions, result.workers) == (512, 1)
    assert "explored by one worker: this process has threads" in result.notes[0]


def test_an_engine_that_is_gone(tmp_path: Path) -> None:
    """What is done so far is kept."""
    kept = tmp_path / "kept.json"
    executor = Leaving()
    with pytest.raises(
        treadle.TreadleError, match=r"the engine is gone \(no more\): start it again"
    ):
        treadle.explore(READERS, on=executor, checkpoint=kept, split_by="executions")
    executor.shutdown()
    result = treadle.explore(READERS, resume=kept, split_by="executions")
    assert (result.executions, result.complete) == (512, True)


class Leaving(ThreadPoolExecutor):
    """Takes three jobs, and no more."""

    def __init__(self) -> None:
        super().__init__(1)
        self.left = 3

    def submit(self, *arguments: Any, **named: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("no more")
        return super().submit(*arguments, **named)


def test_a_process_with_threads_is_not_copied() -> None:
    assert forked.can_fork()
    go_on = threading.Event()
    other = threading.Thread(target=go_on.wait)
    other.start()
    assert not forked.can_fork()
    go_on.set()
    other.join()


@pytest.mark.parametrize(("test", "executions"), [(LASTZERO, 3328), (two_by_three, 328)])
def test_two_foremen_with_two_hands_each(
    test: Any, executions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def foremen(count: int, hello: spawned.Hello) -> engines.OnExecutor:
        return engines.threads(count, replace(hello, hands=2))

    monkeypatch.setattr("treadle.session.session.threads", foremen)
    result = treadle.explore(test, workers=2, spawn=True, split_by="executions")
    assert (result.executions, result.blocked, result.complete) == (executions, 0, True)


def test_what_has_no_name_is_refused() -> None:
    def inner() -> None:
        two_by_three()

    with pytest.raises(treadle.TreadleError) as refused:
        treadle.explore(inner, workers=4, spawn=True, split_by="executions")
    assert str(refused.value) == (
        "workers=4 needs a test that can be imported by name, and inner is defined inside "
        "test_what_has_no_name_is_refused: move it to the module, or use workers=1"
    )
    with pytest.raises(treadle.TreadleError, match="this one has none"):
        treadle.explore(jacm17.readers(8), workers=2, spawn=True, split_by="executions")


def test_names_are_found_again(tmp_path: Path) -> None:
    name = name_of(two_by_three, "workers=2")
    assert name == Name(f"{Path(__file__).resolve()}::two_by_three")
    file = tmp_path / "some_module.py"
    file.write_text("def test():\n    return 1\n")
    found = named(f"{file}::test")
    assert callable(found)
    assert found() == 1
    with pytest.raises(treadle.TreadleError, match="has no other when it is imported"):
        named(f"{file}::other")


def hello_of(test: Any, name: Name, directory: Path) -> spawned.Hello:
    with opened(test, Settings()) as session:
        facts = facts_of(session.program, test, session.kept())
    options = Settings().pickled(without=())
    return spawned.Hello(name, str(directory), (), options, 2, by_executions=True, facts=facts)


MODEL = """
from treadle.papers import jacm17
import beside
program = jacm17.readers(beside.COUNT)
"""


def test_files_that_an_engine_has_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory of the coordinator is not there: an engine has put its files elsewhere."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "beside.py").write_text("COUNT = 5")
    (tmp_path / "tests" / "large.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    away = tmp_path / "away"
    hello = hello_of(jacm17.readers(5), Name(f"{away}/tests/large.py::program"), away)
    hand = spawned.SpawnedHand(hello, 1, {})
    answer = hand.done(Job(1, (Part(EVERYTHING),), (), 60.0))
    assert (answer.counts["executions"], answer.done) == (32, 1)
    hand.close()


def test_hands_of_earlier_explorations_are_buried() -> None:
    """An engine's worker lives on: what has ended in it leaves nothing."""
    kept = spawned._Kept()
    hello = hello_of(two_by_three, name_of(two_by_three, "workers=2"), Path.cwd())
    hello = replace(hello, path=tuple(sys.path))
    one, other = pickle.dumps(hello), pickle.dumps(replace(hello, workers=3))
    first = kept.take(one)
    kept.give_back(one, first, is_dead=False)
    assert kept.take(one) is first
    kept.give_back(one, first, is_dead=False)
    pid = first._process.pid
    first.let_go()  # as if it had been idle for long
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert pid in children()
    second = kept.take(other)
    assert pid not in children()
    assert not kept._idle
    kept.give_back(other, second, is_dead=False)
    kept.close(other)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("open('what is not there')", "FileNotFoundError: [Errno 2] No such file or directory"),
        ("import what_is_not_there", "ModuleNotFoundError: No module named 'what_is_not_there'"),
        ("other = 1", "has no test when it is imported"),
    ],
)
def test_a_file_that_cannot_be_imported_elsewhere(content: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "some_module.py"
    file.write_text(content)
    with pytest.raises(spawned.HandRefused) as refused:
        spawned.SpawnedHand(hello_of(two_by_three, Name(f"{file}::test"), tmp_path), 1, {})
    assert words in str(refused.value)


# The same program everywhere


def test_other_hash_seeds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forked workers inherit the seed; spawned ones with another one run another program."""
    monkeypatch.setattr("treadle.session.workers.policy._EXECUTIONS", 2)
    here = sorted({"a", "b", "c", "d"}, key=list({"a", "b", "c", "d"}).index)
    result = treadle.explore(through_a_set, workers=2, split_by="executions")
    alone = treadle.explore(through_a_set)
    assert result.executions == alone.executions
    monkeypatch.setattr(spawned.KEPT, "environment", {"PYTHONHASHSEED": other_seed(here)})
    with pytest.raises(treadle.TreadleError) as refused:
        treadle.explore(through_a_set, workers=2, spawn=True, split_by="executions")
    assert "does not run the same program: step" in str(refused.value)
    assert "set PYTHONHASHSEED=0 if the test depends on the order of a set" in str(refused.value)


def other_seed(order: list[str]) -> str:
    """Return a seed under which threads come in another order."""
    import subprocess

    wanted = [key in "ab" for key in order]
    for seed in map(str, range(1, 50)):
        found = subprocess.run(
            [sys.executable, "-c", "print(*[k in 'ab' for k in {'a', 'b', 'c', 'd'}])"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        ).stdout.split()
        if [word == "True" for word in found] != wanted:
            return seed
    raise AssertionError("no seed gives another order")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"python": "3.0.0"}, "it has Python 3.0.0, not "),
        ({"treadle": "0.0"}, "it has Treadle 0.0, not "),
        ({"own": "other"}, "its Treadle 0.1.0 has other sources: install the same one"),
        ({"options": {"max_steps": "5"}}, "it explores with algorithm=none, not 'optimal'"),
        ({"files": {"test_spawned.py": "other"}}, "test_spawned.py has other content there"),
        ({"files": {"worker_programs": "other"}}, "worker_programs has other content there"),
        ({"files": {"conftest": "only there"}}, ""),
        (
            {"packages": {"colorsys": "other"}},
            "the package 'colorsys' of `instrument` has other content there",
        ),
        ({"steps": ()}, "step 1 is 'nothing' instead of 'main: "),
        ({"features": ("box.n",)}, "'box.n' is shared in its natural execution; set PYTHONHASH"),
    ],
)
def test_what_hands_have_to_agree_with(changes: dict[str, Any], words: str) -> None:
    with opened(two_by_three, Settings.asked_for({"instrument": ["colorsys"]})) as session:
        facts = facts_of(session.program, two_by_three, session.kept())
    found = difference(replace(facts, **changes), facts)
    assert found.startswith(words)
    assert bool(found) == bool(words)


class Other(Actor):
    async def x(self) -> None:
        pass

    async def y(self) -> None:
        pass


class Late(Actor):
    """Learns in some orders only that it asks `x` whether it is done."""

    def __init__(self) -> None:
        self.n = 0
        self.noted = False

    async def go(self, other: Other) -> None:
        if self.noted:
            return
        future = other.x.send()
        other.y.send().get()
        self.n = 1
        await future
        self.n += 1

    async def note(self) -> None:
        self.noted = True


@program
def late() -> None:
    actor, other = Late(), Other()
    actor.note.send()
    actor.go.send(other)


def test_what_was_learned_later_is_no_difference() -> None:
    """Who begins has not learned it; and it is not forgotten."""
    with opened(late, Settings()) as session:
        before = facts_of(session.program, late, session.kept())
        session.explore()
        known = session.program.knowledge()
        after = facts_of(session.program, late, session.kept())
        assert known
        assert session.program.knowledge() == known
    assert (before.features, difference(after, before)) == ((), "")


PARTS_OF_A_PACKAGE = {"__init__": "from parts import used\n", "used": "N = 1\n", "other": "N = 1\n"}


def test_what_a_test_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file, what that uses, and packages that are looked into; wherever they are."""
    (tmp_path / "parts").mkdir()
    for name, content in PARTS_OF_A_PACKAGE.items():
        (tmp_path / "parts" / f"{name}.py").write_text(content)
    (tmp_path / "large.py").write_text("import parts\ndef test():\n    return parts.used.N\n")
    monkeypatch.syspath_prepend(tmp_path)
    test = named(f"{tmp_path}/large.py::test")
    before = sources.files_of(test)
    assert sorted(before) == ["large.py", "parts", "parts.used"]
    (tmp_path / "parts" / "used.py").write_text("N = 2\n")
    after = sources.files_of(test)
    assert [name for name in before if before[name] != after[name]] == ["parts.used"]
    with opened(test, Settings.asked_for({"instrument": ["parts"]})) as session:
        (digest,) = sources.packages_of(session.program).values()
        (tmp_path / "parts" / "other.py").write_text("N = 2\n")
        (changed,) = sources.packages_of(session.program).values()
    assert digest != changed


# Engines that are not there


@pytest.mark.parametrize(
    ("on", "package", "words"),
    [
        ("ray", "ray", "on='ray' needs Ray: pip install 'treadle[ray]'"),
        ("dask://x:1", "distributed", "on='dask://x:1' needs Dask: pip install 'treadle[dask]'"),
    ],
)
def test_an_extra_that_is_not_installed(
    on: str, package: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for test in (READERS, jacm17.readers(2)):  # a small space does not need the engine
        with pytest.raises(treadle.TreadleError) as refused:
            treadle.explore(test, on=on, split_by="executions")
        assert str(refused.value) == words


@pytest.mark.parametrize(
    ("on", "package", "words"),
    [
        ("ray://127.0.0.1:{}", "ray", "there is no Ray ({}): start it with `ray start --head`"),
        (
            "dask://127.0.0.1:{}",
            "distributed",
            "there is no Dask scheduler ({}): start it with `dask scheduler`",
        ),
    ],
)
def test_an_engine_that_is_not_there(
    on: str, package: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for before anything is explored, also of a test that patches sockets."""
    found = ModuleType(package)
    found.__spec__ = ModuleSpec(package, None)
    monkeypatch.setitem(sys.modules, package, found)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and nobody listens
        on = on.format(nobody.getsockname()[1])
        for test in (READERS, two_by_three):
            with pytest.raises(treadle.TreadleError) as refused:
                treadle.explore(test, on=on, split_by="executions")
            why = f"[Errno {errno.ECONNREFUSED}] {os.strerror(errno.ECONNREFUSED)}"
            assert str(refused.value) == f"on={on!r}: {words.format(why)}"


def test_a_small_test_without_a_name_is_refused_on_an_engine() -> None:
    words = "on needs a test that can be imported by name"
    with ThreadPoolExecutor(1) as executor, pytest.raises(treadle.TreadleError, match=words):
        treadle.explore(lambda: None, on=executor)


def test_an_engine_that_is_none() -> None:
    with pytest.raises(treadle.TreadleError, match="on must be an executor with `submit`"):
        treadle.explore(READERS, on="slurm")


def test_the_command(tmp_path: Path, command_line: Callable[..., tuple[Any, str, str]]) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        textwrap.dedent("""
            from treadle.papers import jacm17
            program = jacm17.readers(8)
        """)
    )
    status, output, _ = command_line(
        "run", f"{file}::program", "--workers", "2", "--spawn", "--split-by", "executions",
        "--no-database",
    )  # fmt: skip
    assert status == 0
    assert "256 complete, 0 blocked" in output
    assert "workers     2, " in output

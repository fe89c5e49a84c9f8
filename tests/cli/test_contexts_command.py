"""`treadle deadlocks --contexts`: what it writes, what it says, and with which status it ends."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import CliRunner, Result

import treadle
from treadle.cli import cli
from treadle.core.errors import TreadleError
from treadle.symbolic import solver

HEAD = "from treadle.actors import Actor, pause, until\n\n\n"
PROGRAMS = {
    # A task waits for one of its own actor, which it holds.
    "itself": """
        class Alone(Actor):
            async def go(self):
                self.end.send().get()

            async def end(self):
                pass
    """,
    # The same, but it gives way meanwhile.
    "gentle": """
        class Alone(Actor):
            async def go(self):
                await self.end.send()

            async def end(self):
                pass
    """,
    # Only with a certain number.
    "secret": """
        class Alone(Actor):
            async def go(self, n):
                if n * 3 == 51:
                    self.end.send().get()

            async def end(self):
                pass
    """,
    # The wait cannot be reached.
    "dead_code": """
        class Alone(Actor):
            async def go(self, n):
                if n > 3 and n < 2:
                    self.end.send().get()

            async def end(self):
                pass
    """,
    # Only with two tasks that change the field in between.
    "twice": """
        class Alone(Actor):
            def __init__(self):
                self.n = 0

            async def go(self):
                self.n = 0
                await pause()
                if self.n == 2:
                    self.end.send().get()

            async def more(self):
                self.n += 1

            async def end(self):
                pass
    """,
    # After more rounds than the limit allows.
    "rounds": """
        class Alone(Actor):
            async def go(self, n):
                k = 0
                while k < n:
                    k += 1
                if k == 3:
                    self.end.send().get()

            async def end(self):
                pass
    """,
    # Two classes whose tasks wait for each other.
    "each_other": """
        class One(Actor):
            async def ask(self, two):
                two.told.send().get()

            async def asked(self):
                pass


        class Two(Actor):
            async def tell(self, one):
                one.asked.send().get()

            async def told(self):
                pass
    """,
    # The field is None unless somebody sets it.
    "nobody": """
        class Alone(Actor):
            def __init__(self):
                self.peer = None

            async def go(self):
                if self.peer is None:
                    return
                self.peer.end.send().get()

            async def end(self):
                pass
    """,
    # A deadlock through a list of actors.
    "listed": """
        class Hub(Actor):
            def __init__(self):
                self.peers = []

            async def ask(self):
                for peer in self.peers:
                    peer.report.send(self).get()

            async def note(self):
                pass


        class Peer(Actor):
            async def report(self, hub):
                hub.note.send().get()
    """,
    # What decides is not followed.
    "doubtful": """
        class Alone(Actor):
            async def go(self, n):
                if n / 2 == 3:
                    self.end.send().get()

            async def end(self):
                pass
    """,
    # Whether it may go on becomes undecidable only later.
    "doubtful_condition": """
        class Alone(Actor):
            def __init__(self):
                self.x = 0

            async def go(self):
                self.x = 0
                await until(lambda: self.x > 0 and self.x / 2 > 1)
                self.end.send().get()

            async def set(self, n):
                self.x = n + 0

            async def end(self):
                pass
    """,
    # A number that is no whole one does not make the wait unreachable.
    "fractions": """
        class Alone(Actor):
            async def go(self, n):
                if n > 0.5:
                    self.end.send().get()

            async def end(self):
                pass
    """,
    # What a list holds says nothing about another one of the same initialiser.
    "two_lists": """
        class Alone(Actor):
            def __init__(self):
                self.peers, self.numbers = [], []

            async def go(self):
                for number in self.numbers:
                    if number > 2:
                        for peer in self.peers:
                            peer.end.send().get()

            async def end(self):
                pass
    """,
}


@pytest.fixture
def file_of(tmp_path: Path) -> Any:
    def write(name: str) -> Path:
        path = tmp_path / f"{name}.py"
        path.write_text(HEAD + dedent(PROGRAMS[name]).strip() + "\n", encoding="utf-8")
        return path

    return write


def invoke(*arguments: object) -> Result:
    asked = ["deadlocks", *map(str, arguments), "--limit", "seconds=1000", "--workers", "1"]
    return CliRunner().invoke(cli, asked)


def found_in(path: Path, *arguments: object) -> tuple[int, dict[str, Any]]:
    result = invoke(path, "--json", *arguments)
    assert len(result.output.splitlines()) == 1, result.output
    return result.exit_code, json.loads(result.output)


@pytest.mark.parametrize(
    ("name", "most", "status", "verdicts", "tried"),
    [
        ("itself", 1, 1, ["confirmed"], (1, 1)),
        ("itself", 3, 1, ["confirmed"], (1, 1)),
        ("gentle", 2, 0, [], (0, 0)),
        ("secret", 1, 1, ["confirmed"], (1, 1)),
        ("dead_code", 1, 0, ["unfeasible"], (1, 0)),
        ("dead_code", 3, 0, ["unfeasible"], (6, 0)),
        ("twice", 1, 0, ["unfeasible"], (2, 0)),
        ("twice", 2, 1, ["confirmed"], None),
        ("rounds", 1, 3, ["undecided"], (1, 0)),
        ("each_other", 1, 1, ["confirmed"], (1, 1)),
        ("nobody", 1, 1, ["confirmed"], (1, 1)),
        ("listed", 1, 1, ["confirmed", "confirmed"], (2, 2)),
        ("doubtful", 1, 3, ["undecided"], (1, 0)),
        ("doubtful_condition", 1, 3, ["undecided"], None),
        ("fractions", 1, 3, ["undecided"], (1, 0)),
        ("two_lists", 1, 1, ["confirmed"], (1, 1)),
    ],
)
def test_verdicts_and_statuses(
    file_of: Any,
    name: str,
    most: int,
    status: int,
    verdicts: list[str],
    tried: tuple[int, int] | None,
):
    code, found = found_in(file_of(name), "--contexts", most)
    assert (code, [cycle["verdict"] for cycle in found["cycles"]]) == (status, verdicts), found
    assert found["free"] == (not verdicts)
    if tried is not None:
        contexts = found["contexts"]
        assert (contexts["generated"], contexts["deadlocking"]) == tried
    if status == 0 and verdicts:
        tasks = "1 task" if most == 1 else f"{most} tasks"
        assert found["notes"] == [f"no deadlock up to {tasks} of each method"]
    if status == 3:
        assert found["contexts"]["limited"] > 0
        assert found["contexts"]["limits"]
        assert "within the limits" in found["notes"][0]


def test_keys_of_the_json(file_of: Any):
    _, found = found_in(file_of("itself"), "--contexts", 1)
    assert found.keys() >= {
        "target", "free", "cycles", "conditions", "notes", "seconds", "contexts",
    }  # fmt: skip
    (cycle,) = found["cycles"]
    assert cycle.keys() >= {"kind", "verdict", "chain", "tests"}
    assert (cycle["kind"], len(cycle["tests"])) == ("deadlock", 1)
    assert all({"method", "line"} <= link.keys() for link in cycle["chain"])
    assert found["contexts"].keys() == {"most", "generated", "deadlocking", "limited", "limits"}


@pytest.mark.parametrize("most", [1, 2, 3])
def test_all_contexts_of_a_cycle(file_of: Any, most: int):
    """One class with one method: 1, 3, 6 contexts; all of them deadlock."""
    code, found = found_in(file_of("itself"), "--contexts", most, "--criterion", "all")
    expected = {1: 1, 2: 3, 3: 6}[most]
    assert code == 1
    assert (found["contexts"]["generated"], found["contexts"]["deadlocking"]) == (expected,) * 2
    assert len(found["cycles"][0]["tests"]) == expected


def test_the_value_is_found_that_nobody_would_guess(file_of: Any):
    _, found = found_in(file_of("secret"), "--contexts", 1)
    assert ".go.send(17)" in found["cycles"][0]["tests"][0]


def test_a_larger_limit_decides(file_of: Any):
    path = file_of("rounds")
    code, found = found_in(path, "--contexts", 1, "--limit", "iterations=4")
    assert (code, found["cycles"][0]["verdict"]) == (1, "confirmed")
    assert ".go.send(3)" in found["cycles"][0]["tests"][0]
    code, found = found_in(path, "--contexts", 1)
    assert found["contexts"]["limits"] == ["2 iterations of a loop"]


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("steps=1", "1 macro-steps"),
        ("switches=1", "1 task switches in an actor"),
        ("instructions=2", "2 instructions of a macro-step"),
        ("iterations=1", "1 iterations of a loop"),
        ("length=0", "lists with more than 0 items"),
        ("seconds=1e-6", "1e-06 s"),
    ],
)
def test_each_limit_is_said_when_it_is_met(file_of: Any, limit: str, words: str):
    name = {"iterations": "rounds", "length": "listed", "steps": "twice",
            "switches": "twice"}.get(limit.partition("=")[0], "secret")  # fmt: skip
    asked = ["deadlocks", str(file_of(name)), "--contexts", "1", "--json", "--workers", "1"]
    asked += ["--limit", limit, *([] if "seconds" in limit else ["--limit", "seconds=1000"])]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 3, result.output
    found = json.loads(result.output)
    assert words in found["contexts"]["limits"]
    assert {cycle["verdict"] for cycle in found["cycles"]} == {"undecided"}


def test_the_limits_are_in_the_words_of_the_verdict(file_of: Any):
    result = invoke(file_of("rounds"), "--contexts", 1)
    assert result.exit_code == 3
    assert "no deadlock up to 1 task of each method, within the limits" in result.output
    assert "1 of 1 contexts met a limit: 2 iterations of a loop" in result.output


# Files


def written(path: Path, directory: Path, *arguments: object) -> list[Path]:
    invoke(path, "--contexts", 1, "--write-tests", directory, *arguments)
    return sorted(directory.iterdir())


@pytest.mark.parametrize("name", ["itself", "secret", "each_other", "nobody", "listed"])
@pytest.mark.parametrize("output", ["tests", "both"])
def test_written_tests_pass_and_fail_once_mended(
    file_of: Any, tmp_path: Path, name: str, output: str
):
    """A test passes as long as the deadlock is there; it fails as soon as the code is mended."""
    path = file_of(name)
    tests = written(path, tmp_path / "tests", "--output", output)
    assert len(tests) == (2 if name == "listed" else 1)
    for test in tests:
        runpy.run_path(str(test))[test.stem]()
    text = path.read_text(encoding="utf-8")
    mended = "\n".join(
        line.replace("self.end.send().get()", "await self.end.send()")
        .replace("self.peer.end.send().get()", "await self.peer.end.send()")
        .replace("two.told.send().get()", "await two.told.send()")
        .replace("hub.note.send().get()", "hub.note.send()")
        for line in text.splitlines()
    )
    assert mended != text
    path.write_text(mended, encoding="utf-8")
    for test in tests:
        with pytest.raises((AssertionError, TreadleError)):
            runpy.run_path(str(test))[test.stem]()


def test_output_constraints_is_text_without_a_test(file_of: Any, tmp_path: Path):
    (text,) = written(file_of("secret"), tmp_path / "tests", "--output", "constraints")
    assert text.suffix == ".txt"
    assert text.read_text(encoding="utf-8") == "main.1:go.n == 17\n"


def test_output_both_has_the_constraints_below(file_of: Any, tmp_path: Path):
    (text,) = written(file_of("secret"), tmp_path / "tests", "--output", "both")
    below = text.read_text(encoding="utf-8").split("# The path is taken if\n")[1]
    assert below == "#   main.1:go.n == 17\n"


def test_constraints_of_a_path_that_any_values_take(file_of: Any):
    _, found = found_in(file_of("itself"), "--contexts", 1, "--output", "constraints")
    assert found["cycles"][0]["tests"] == ["whatever the values\n"]


def test_several_targets_do_not_overwrite_each_other(file_of: Any, tmp_path: Path):
    tests = tmp_path / "tests"
    result = invoke(file_of("itself"), file_of("secret"), "--contexts", 1, "--write-tests", tests)
    assert result.exit_code == 1
    assert [path.name for path in sorted(tests.iterdir())] == [
        "test_itself_deadlock_1_1.py",
        "test_secret_deadlock_1_1.py",
    ]


def test_the_status_of_several_targets_is_that_of_the_worst(file_of: Any):
    fine, open_, wrong = map(file_of, ("dead_code", "rounds", "itself"))
    assert invoke(fine, open_, "--contexts", 1).exit_code == 3
    assert invoke(fine, open_, wrong, "--contexts", 1).exit_code == 1
    lines = invoke(fine, open_, wrong, "--contexts", 1, "--json").output.splitlines()
    assert [json.loads(line)["target"] for line in lines] == [str(fine), str(open_), str(wrong)]


def test_nothing_is_written_where_nothing_is_found(file_of: Any, tmp_path: Path):
    assert written(file_of("dead_code"), tmp_path / "tests") == []


# Misuse


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--contexts", 1, "--limit", "depth=3"), "unknown limit 'depth': choose one of"),
        (("--contexts", 1, "--limit", "steps=0"), "the limit steps cannot be 0"),
        (("--contexts", 1, "--limit", "steps=0.5"), "the limit steps cannot be 0.5"),
        (("--contexts", 1, "--limit", "steps=2.5"), "the limit steps cannot be 2.5"),
        (("--contexts", 1, "--limit", "steps=inf"), "the limit steps cannot be inf"),
        (("--contexts", 1, "--limit", "steps=nan"), "the limit steps cannot be nan"),
        (("--contexts", 1, "--limit", "seconds=0"), "the limit seconds cannot be 0"),
        (("--contexts", 1, "--limit", "seconds=nan"), "the limit seconds cannot be nan"),
        (("--contexts", 1, "--limit", "fresh=-1"), "the limit fresh cannot be -1"),
        (("--contexts", 1, "--limit", "nulls=2"), "the limit nulls cannot be 2"),
        (("--contexts", 1, "--limit", "steps"), "cannot read the limit 'steps': write NAME=NUMBER"),
        (("--write-tests", "tests"), "--write-tests writes the test cases of contexts"),
    ],
)  # fmt: skip
def test_misuse_is_said_in_a_sentence(file_of: Any, arguments: tuple[object, ...], words: str):
    result = CliRunner().invoke(
        cli, ["deadlocks", str(file_of("itself")), *map(str, arguments), "--workers", "1"]
    )
    assert isinstance(result.exception, TreadleError)
    assert words in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--contexts", "-1"), "--contexts"),
        (("--contexts", "many"), "--contexts"),
        (("--contexts", "1", "--criterion", "some"), "--criterion"),
        (("--contexts", "1", "--output", "pdf"), "--output"),
        (("--contexts", "1", "--sensitivity", "9"), "--sensitivity"),
        (("--contexts", "1", "--workers", "0"), "--workers"),
        (("--contexts", "1", "--timeout", "0"), "--timeout"),
    ],
)
def test_options_that_cannot_be(file_of: Any, arguments: tuple[str, ...], words: str):
    result = CliRunner().invoke(cli, ["deadlocks", str(file_of("itself")), *arguments])
    assert result.exit_code == 2
    assert words in result.output


def test_no_contexts_is_as_if_nothing_was_said(file_of: Any):
    without, zero = invoke(file_of("itself")), invoke(file_of("itself"), "--contexts", 0)
    assert without.exit_code != 0
    assert str(without.exception) == str(zero.exception)


def test_the_help_names_all_limits():
    text = " ".join(CliRunner().invoke(cli, ["deadlocks", "--help"]).output.split())
    assert "iterations, steps, switches, fresh, length, instructions, seconds, nulls" in text


def test_without_z3_the_extra_is_named(file_of: Any, monkeypatch: pytest.MonkeyPatch):
    import sys

    solver.z3.cache_clear()
    monkeypatch.setitem(sys.modules, "z3", None)
    try:
        result = invoke(file_of("itself"), "--contexts", 1)
        assert isinstance(result.exception, TreadleError)
        assert "pip install 'treadle[smt]'" in str(result.exception)
        assert invoke(file_of("gentle"), "--contexts", 1).exit_code == 0, "proved without it"
    finally:
        solver.z3.cache_clear()


# ABS

MODELS = {
    "itself": (
        """module M;
interface A { Unit go(); Int end(); }
class Alone() implements A {
  Int end() { return 1; }
  Unit go() { Fut<Int> f = this!end(); Int x = f.get; }
}
""",
        1,
        "confirmed",
    ),
    "gentle": (
        """module M;
interface A { Unit go(); Int end(); }
class Alone() implements A {
  Int end() { return 1; }
  Unit go() { Fut<Int> f = this!end(); await f?; Int x = f.get; }
}
""",
        0,
        None,
    ),
    "secret": (
        """module M;
interface A { Unit go(Int n); Int end(); }
class Alone() implements A {
  Int end() { return 1; }
  Unit go(Int n) { if (n * 3 == 51) { Fut<Int> f = this!end(); Int x = f.get; } }
}
""",
        1,
        "confirmed",
    ),
    "dead_code": (
        """module M;
interface A { Unit go(Int n); Int end(); }
class Alone() implements A {
  Int end() { return 1; }
  Unit go(Int n) { if (n > 3 && n < 2) { Fut<Int> f = this!end(); Int x = f.get; } }
}
""",
        0,
        "unfeasible",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_abs_programs(tmp_path: Path, name: str):
    text, status, verdict = MODELS[name]
    path = tmp_path / f"{name}.abs"
    path.write_text(text, encoding="utf-8")
    code, found = found_in(path, "--contexts", 1)
    assert code == status
    assert [cycle["verdict"] for cycle in found["cycles"]] == ([verdict] if verdict else [])


@pytest.mark.parametrize("name", ["itself", "secret"])
def test_written_tests_of_abs_pass(tmp_path: Path, name: str):
    path = tmp_path / f"{name}.abs"
    path.write_text(MODELS[name][0], encoding="utf-8")
    (test,) = written(path, tmp_path / "tests")
    runpy.run_path(str(test))["test_deadlock_1_1"]()
    path.write_text(MODELS["gentle"][0], encoding="utf-8")
    with pytest.raises((AssertionError, TreadleError)):
        runpy.run_path(str(test))["test_deadlock_1_1"]()


# In Python


def test_nulls_change_no_verdict_but_are_tried(file_of: Any):
    path = file_of("nobody")
    for nulls in (0, 1):
        code, found = found_in(path, "--contexts", 1, "--limit", f"nulls={nulls}")
        assert (code, found["cycles"][0]["verdict"]) == (1, "confirmed")


def test_a_timeout_for_a_cycle_leaves_it_open(file_of: Any):
    from treadle.actors import load

    found = treadle.deadlocks(
        load(file_of("dead_code")), contexts=3, timeout=1e-9, limits={"seconds": 1e6}
    )
    (cycle,) = found.cycles
    assert cycle.verdict == "undecided"
    assert found.contexts is not None
    assert found.contexts.generated == 1, "the first context was tried, and no other"

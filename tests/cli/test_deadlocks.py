"""`treadle deadlocks`: cycles in the program's words, JSON, exit statuses, misuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treadle.cli import cli

EXAMPLES = Path(__file__).parents[2] / "examples" / "actors"

SOURCE = """\
from treadle.actors import Actor, program, until


class Self(Actor):
    async def ask(self):
        return self.answer.send().get()

    async def answer(self):
        return 42


class Patient(Actor):
    async def ask(self):
        return await self.answer.send()

    async def answer(self):
        return 42


class Pair(Actor):
    async def go(self, other):
        other.touch.send().get()

    async def touch(self):
        pass


class Strange(Actor):
    async def go(self, other):
        setattr(other, "x", 1)


@program
def impatient():
    Self().ask.send()


@program
def patient():
    Patient().ask.send()


@program
def ring(n, closed=True):
    items = [Pair() for _ in range(n)]
    for i in range(n if closed else n - 1):
        items[i].go.send(items[(i + 1) % n])


@program
def strange():
    Strange().go.send(Strange())


def threads():
    pass
"""

KEYS = ["target", "free", "cycles", "conditions", "notes", "seconds"]
CYCLE = ["kind", "verdict", "chain", "tests"]


@pytest.fixture
def deadlocks(call: Any, models: Path) -> Any:
    (models / "actors.py").write_text(SOURCE, encoding="utf-8")
    return lambda *arguments: call("deadlocks", *arguments)


def test_a_confirmed_cycle(deadlocks: Any) -> None:
    status, out, err = deadlocks("actors.py::impatient")
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == "FAILED: actors.py::impatient, 1 deadlock cycle confirmed of 1"
    assert "Cycle 1, confirmed (2 states, 0 executions cut):" in lines
    assert (
        "  Self.ask waits at actors.py:6 for Self.answer; Self of L35 is held by Self.ask" in lines
    )
    assert "  Schedule: main main.1:ask" in lines
    assert "Deadlock after 2 steps: ask of Self1 waits at actors.py:6" in out
    assert "Replay: treadle replay actors.py::impatient t2_" in out


def test_what_replays_a_deadlock(deadlocks: Any, call: Any) -> None:
    _, out, _ = deadlocks("actors.py::impatient")
    (line,) = [line for line in out.splitlines() if line.startswith("Replay: ")]
    status, out, _ = call(*line.removeprefix("Replay: treadle ").split())
    assert status == 1
    assert "Deadlock after 2 steps" in out


def test_free_of_deadlock_for_all_inputs(deadlocks: Any) -> None:
    status, out, _ = deadlocks("actors.py::patient")
    assert status == 0
    assert out.splitlines()[0] == (
        "VERIFIED: actors.py::patient, free of deadlock, proved for all inputs"
    )
    assert "Cycle" not in out


def test_cycles_that_cannot_happen_here(deadlocks: Any) -> None:
    status, out, _ = deadlocks("actors.py::ring(3, closed=False)")
    assert status == 0
    assert "VERIFIED: actors.py::ring(3, closed=False), free of deadlock, proved\n" in out
    assert "unfeasible here" in out
    assert "for this program only" in " ".join(out.split())


def test_something_is_not_decided(deadlocks: Any) -> None:
    status, out, _ = deadlocks("actors.py::ring(4, closed=False)", "--max-executions", "1")
    assert status == 3
    assert "INCOMPLETE" in out.splitlines()[0]
    assert "Cycle 1, not decided: max_executions = 1" in out


def test_code_that_is_not_understood(deadlocks: Any) -> None:
    status, out, _ = deadlocks("actors.py::strange")
    assert status == 3
    assert "no deadlock cycle, but not all code is understood" in out
    assert "nothing is proved, actors.py:30: " in out


def test_several_targets_and_json(deadlocks: Any) -> None:
    targets = ["actors.py::patient", "actors.py::impatient", "actors.py::strange"]
    status, out, err = deadlocks(*targets, "--json")
    assert (status, err) == (1, "")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["target"] for row in rows] == targets
    assert [row["free"] for row in rows] == [True, False, False]
    for row in rows:
        assert list(row) == KEYS
    (cycle,) = rows[1]["cycles"]
    assert [name for name in cycle if name in CYCLE] == CYCLE
    assert (cycle["kind"], cycle["verdict"], cycle["tests"]) == ("deadlock", "confirmed", [])
    (link,) = cycle["chain"]
    assert link == {
        "method": "Self.ask",
        "file": "actors.py",
        "line": 6,
        "wait": "get",
        "awaited": "Self.answer",
        "held": "Self of L35",
        "holder": "Self.ask",
        "words": "Self.ask waits at actors.py:6 for Self.answer; Self of L35 is held by Self.ask",
    }
    (failure,) = cycle["failures"]
    assert failure["schedule"] == "main main.1:ask"
    assert failure["token"].startswith("t2_")
    assert rows[2]["notes"][0].startswith("nothing is proved")


def test_statuses_of_several_targets(deadlocks: Any) -> None:
    assert deadlocks("actors.py::patient", "actors.py::patient")[0] == 0
    assert deadlocks("actors.py::patient", "actors.py::strange")[0] == 3
    assert deadlocks("actors.py::strange", "actors.py::impatient")[0] == 1


@pytest.mark.parametrize("criterion", ["first", "cycle", "all"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_criteria(deadlocks: Any, criterion: str, workers: str) -> None:
    chosen = ["--criterion", criterion, "--workers", workers, "--json"]
    status, out, _ = deadlocks("actors.py::ring(3)", *chosen)
    assert status == 1
    assert "confirmed" in {cycle["verdict"] for cycle in json.loads(out)["cycles"]}


@pytest.mark.parametrize("k", ["1", "4"])
def test_sensitivity(deadlocks: Any, k: str) -> None:
    assert deadlocks("actors.py::patient", "--sensitivity", k)[0] == 0


def test_quiet(deadlocks: Any) -> None:
    _, out, _ = deadlocks("actors.py::impatient", "-q")
    assert out == "FAILED: actors.py::impatient, 1 deadlock cycle confirmed of 1\n"


def test_exhaustive_counts(deadlocks: Any) -> None:
    barber = str(EXAMPLES / "barber.py")
    _, out, _ = deadlocks(barber, "--algorithm", "exhaustive", "--criterion", "all", "--json")
    (cycle,) = json.loads(out)["cycles"]
    assert (cycle["states"], cycle["pruned"]) == (19, 3)


@pytest.mark.parametrize(
    ("name", "status", "count"),
    [
        ("bank", 0, 0),
        ("barber", 1, 1),
        ("birds", 1, 4),
        ("buffer", 0, 0),
        ("database", 1, 1),
        ("pairing", 1, 6),
        ("pi", 0, 0),
        ("pipesort", 0, 0),
        ("protocol", 1, 1),
        ("registry", 0, 0),
    ],
)
def test_abs_files(deadlocks: Any, name: str, status: int, count: int) -> None:
    code, out, _ = deadlocks(str(EXAMPLES / f"{name}.abs"), "--json")
    assert code == status
    row = json.loads(out)
    assert len(row["cycles"]) == count
    assert row["free"] is (status == 0)
    for cycle in row["cycles"]:
        for link in cycle["chain"]:
            assert link["file"].endswith(f"{name}.abs")


def test_conditions_are_listed(deadlocks: Any) -> None:
    status, out, _ = deadlocks(str(EXAMPLES / "buffer.abs"))
    assert status == 0
    _, _, conditions = out.partition("Conditions that may never hold:\n")
    assert len(conditions.splitlines()) == 2
    assert "items != Nil" in conditions


def test_wrong_abs(deadlocks: Any, models: Path) -> None:
    (models / "wrong.abs").write_text("module Wrong;\nclass {", encoding="utf-8")
    status, _, err = deadlocks("wrong.abs")
    assert status == 2
    assert "wrong.abs:2:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["missing.py"], "there is no file missing.py"),
        (["actors.py::nothing"], "actors.py has no 'nothing'"),
        (["models.py::race"], "not looked for yet: give a program of actors"),
        (["actors.py::patient", "--criterion", "most"], "--criterion"),
        (["actors.py::patient", "--sensitivity", "0"], "--sensitivity"),
        (["actors.py::patient", "--algorithm", "optimal"], "--algorithm"),
        (["actors.py::patient", "--workers", "0"], "--workers"),
        ([], "Missing argument"),
    ],
)
def test_misuse(deadlocks: Any, arguments: list[str], why: str) -> None:
    status, _, err = deadlocks(*arguments)
    assert status == 2
    assert why in err
    assert "Traceback" not in err


def test_help(deadlocks: Any) -> None:
    status, out, _ = deadlocks("--help")
    assert status == 0
    assert "Examples:\n    treadle deadlocks" in out
    assert "Exit status: 0 free of deadlock, 1 a deadlock was confirmed" in out
    for option in ("--criterion", "--contexts", "--json", "--workers", "--timeout"):
        assert option in out
    assert "deadlocks" in cli.commands

"""`treadle constraints`, and the options of constrained explorations on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from treadle.cli import main
from treadle.smt import cache
from waiting import seconds_here

BANK = """
import treadle

program = treadle.model.Program("bank", balance=0, log=0)

def deposit(s, amount):
    yield
    s.balance += amount

def withdraw(s, amount):
    yield s.until(lambda: s.balance >= amount)
    s.balance -= amount
    yield s.label("note")
    s.log = s.log << 1

for amount in (1, 2, 3, 4):
    program.process(deposit, amount)
program.process(withdraw, 1)
program.process(withdraw, 2)

def other():
    pass
"""


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "_known", {})
    file = tmp_path / "bank.py"
    file.write_text(BANK)
    return file


def treadle(*arguments: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_one_object_for_each_pair_and_line(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = treadle("constraints", f"{bank}::program", "--json", capsys=capsys)
    assert status == 0
    lines = [json.loads(line) for line in out.splitlines()]
    pairs = [line for line in lines if "first" in line]
    unknown = [line for line in lines if "block" in line]
    assert all(
        list(pair) == ["first", "second", "constraints", "exact", "source", "seconds"]
        for pair in pairs
    )
    assert [(pair["first"], pair["second"], pair["constraints"]) for pair in pairs] == [
        ("deposit", "deposit", ["True"]),
        (
            "deposit",
            "withdraw:1",
            ["s.balance >= second.amount and first.amount + s.balance >= second.amount"],
        ),
        (
            "withdraw:1",
            "withdraw:1",
            [
                "s.balance >= first.amount and s.balance >= second.amount "
                "and s.balance >= first.amount + second.amount"
            ],
        ),
        ("withdraw:note", "withdraw:note", []),
    ]
    assert [pair["exact"] for pair in pairs] == [True, True, True, False]
    assert {pair["source"] for pair in pairs} == {"synthesised"}
    assert all(0 <= pair["seconds"] < seconds_here(1) for pair in pairs)
    assert unknown == [
        {"block": "withdraw:note", "line": 14, "reason": "the operator LShift is not translated"}
    ]


def test_in_words(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = treadle("constraints", f"{bank}::program", capsys=capsys)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith("deposit / deposit  (synthesised, exact, ")
    assert lines[1] == "  True"
    assert "withdraw:note / withdraw:note  (synthesised, sufficient" in out
    assert lines[-2:] == [
        "not understood, and dependent:",
        "  withdraw:note, line 14: the operator LShift is not translated",
    ]


def test_only_what_is_declared(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank.write_text(BANK + 'program.independent("deposit", "deposit")\n')
    arguments = ("constraints", f"{bank}::program", "--constraints", "declared")
    status, out, _ = treadle(*arguments, capsys=capsys)
    assert (status, out) == (0, "deposit / deposit  (declared, exact)\n  True\n")
    _, out, _ = treadle(*arguments, "--json", capsys=capsys)
    assert json.loads(out) == {
        "first": "deposit", "second": "deposit", "constraints": ["True"], "exact": True,
        "source": "declared", "seconds": 0.0,
    }  # fmt: skip


def test_nothing_is_there(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("constraints", f"{bank}::program", "--constraints", "declared")
    assert treadle(*arguments, capsys=capsys)[:2] == (0, "nothing is declared\n")
    bank.write_text(BANK.partition("for amount")[0] + "program.process(deposit, 1)\n")
    found = treadle("constraints", f"{bank}::program", capsys=capsys)
    assert found[:2] == (0, "no two blocks conflict\n")


def test_a_declaration_of_a_block_that_there_is_not(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank.write_text(BANK + 'program.independent("deposits", "deposit")\n')
    status, _, err = treadle("constraints", f"{bank}::program", capsys=capsys)
    assert status == 2
    assert "no block is called 'deposits'" in err


def test_threads_have_no_blocks(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = treadle("constraints", f"{bank}::other", capsys=capsys)
    assert status == 2
    assert "has no blocks that constraints could be about" in err


def test_without_the_solver(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    bank.write_text(BANK + 'program.independent("deposit", "deposit")\n')
    status, _, err = treadle("constraints", f"{bank}::program", capsys=capsys)
    assert status == 2
    assert "pip install treadle[smt]" in err
    arguments = ("constraints", f"{bank}::program", "--constraints", "declared")
    assert treadle(*arguments, capsys=capsys)[0] == 0


@pytest.mark.parametrize(
    ("options", "executions"),
    [
        (("--algorithm", "optimal-constrained"), 24),
        (("--algorithm", "optimal-constrained", "--constraints", "synthesised"), 1),
        (
            ("--algorithm", "constrained", "--constraints", "synthesised", "--uniformity", "keeps"),
            1,
        ),
    ],
)
def test_exploring(
    tmp_path: Path,
    options: tuple[str, ...],
    executions: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "deposits.py"
    file.write_text(BANK.replace("program.process(withdraw", "(lambda *_: 0)(withdraw"))
    arguments = ("run", f"{file}::program", "--no-database", "--json", *options)
    status, out, _ = treadle(*arguments, capsys=capsys)
    assert (status, json.loads(out)["executions"]) == (0, executions)


def test_what_is_found_is_kept_beside_failing_schedules(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("constraints", f"{bank}::program", "--json")
    _, first, _ = treadle(*arguments, capsys=capsys)
    kept = sorted((bank.parent / ".treadle" / "constraints").iterdir())
    assert len(kept) == 4
    assert (bank.parent / ".treadle" / ".gitignore").read_text() == "*\n"
    monkeypatch.setattr(cache, "_known", {})
    monkeypatch.setattr(cache, "synthesise", None)  # it would have to be called
    _, again, _ = treadle(*arguments, capsys=capsys)
    assert again == first


def test_a_changed_block_is_asked_about_again(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    treadle("constraints", f"{bank}::program", "--json", capsys=capsys)
    bank.write_text(BANK.replace("s.balance += amount", "s.balance = amount"))
    _, out, _ = treadle("constraints", f"{bank}::program", "--json", capsys=capsys)
    assert json.loads(out.splitlines()[0])["constraints"] == ["first.amount == second.amount"]


@pytest.mark.parametrize(
    "text", ["\"__import__('os')\"", '"s.__class__"', '"s.x.y()"', '"s.x ="', "5", '"[s.x]"']
)
def test_what_is_no_constraint_is_not_read_from_a_file(
    bank: Path, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("constraints", f"{bank}::program", "--json")
    _, first, _ = treadle(*arguments, capsys=capsys)
    for file in (bank.parent / ".treadle" / "constraints").iterdir():
        entry = json.loads(file.read_text())
        file.write_text(json.dumps(entry).replace('"True"', text))
    monkeypatch.setattr(cache, "_known", {})
    _, again, _ = treadle(*arguments, capsys=capsys)
    is_call = "__import__" in text  # of a name: it may be a pure function, which nobody has
    assert is_call or _constraints(again) == _constraints(first)


def _constraints(out: str) -> list[Any]:
    return [json.loads(line).get("constraints") for line in out.splitlines()]

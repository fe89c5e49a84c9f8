"""Constraints in use: what was kept, what is declared wrongly, options, no solver."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import treadle
from boxes import Block
from treadle.cli import main
from treadle.core.listed import Constrained
from treadle.model import Program
from treadle.smt import cache, place

BOTH = ("constrained", "optimal-constrained")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where what is found is kept, nothing being known yet."""
    monkeypatch.setattr(cache, "_known", {})
    monkeypatch.setattr(place, "_directory", None)
    place.keep_in(tmp_path)
    return tmp_path / "constraints"


def add_and_double() -> Program:
    program = Program("two", x=1)

    def add(s: Any) -> Any:
        yield
        s.x += 1

    def double(s: Any) -> Any:
        yield
        s.x *= 2

    program.process(add)
    program.process(double)
    return program


def found(program: Program) -> Constrained:
    [one] = program.list_constraints("synthesised")
    assert isinstance(one, Constrained)
    return one


# What was kept


@pytest.mark.parametrize(
    "change",
    [
        {"constraints": "True"},
        {"constraints": None},
        {"constraints": [5]},
        {"constraints": ["s.x >"]},
        {"constraints": ["True"], "relied_on": ["nobody"]},
        {"constraints": ["True"], "relied_on": [[]]},
        {"constraints": ["True"], "locals": []},
        {"constraints": ["True"], "seconds": None},
        {"constraints": ["True"], "seconds": "long"},
    ],
    ids=json.dumps,
)
def test_what_is_kept_in_another_form_is_not_taken(kept: Path, change: dict[str, Any]) -> None:
    before = found(add_and_double())
    [file] = kept.glob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    cache._known.clear()
    after = found(add_and_double())
    assert (after.constraints, after.exact) == (before.constraints, before.exact) == ((), True)
    assert json.loads(file.read_text())["constraints"] == []  # and is put right


@pytest.mark.parametrize("text", ["nobody > 1", "s.nobody > 1", "first.nobody > 1", "s.x > None"])
def test_a_kept_constraint_that_cannot_be_asked_holds_nowhere(kept: Path, text: str) -> None:
    found(add_and_double())
    [file] = kept.glob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"constraints": [text]}))
    cache._known.clear()
    result = treadle.explore(add_and_double(), "optimal-constrained", constraints="synthesised")
    assert (result.executions, result.failures) == (2, [])


@pytest.mark.parametrize("algorithm", BOTH)
def test_a_kept_constraint_that_is_wrong_is_found_and_called_a_solvers(
    kept: Path, algorithm: str
) -> None:
    found(add_and_double())
    [file] = kept.glob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"constraints": ["True"]}))
    cache._known.clear()
    result = treadle.explore(add_and_double(), algorithm, constraints="synthesised")
    [failure] = result.failures
    assert failure.kind == "constraint"
    assert failure.message == (
        "add and double are independent by what a solver found, but where x = 1 they are not: "
        "s.x differs when double comes before add: 3, not 4"
    )


def test_a_file_that_is_no_text_is_not_taken(kept: Path) -> None:
    found(add_and_double())
    [file] = kept.glob("*.json")
    for content in (b"\xff\xfe", b"", b"null", b"[1]", b'{"constraints": []}'):
        file.write_bytes(content)
        cache._known.clear()
        assert found(add_and_double()).exact


def test_a_directory_in_the_place_of_a_file(kept: Path) -> None:
    found(add_and_double())
    [file] = kept.glob("*.json")
    file.unlink()
    file.mkdir()
    cache._known.clear()
    assert found(add_and_double()).exact


# Wrong declarations


def failure_of(program: Program, algorithm: str) -> treadle.Failure:
    [failure] = treadle.explore(program, algorithm).failures
    assert failure.kind == "constraint"
    assert failure.token
    return failure


@pytest.mark.parametrize("algorithm", BOTH)
def test_what_is_declared_is_called_so(algorithm: str) -> None:
    program = add_and_double()
    program.independent("add", "double")
    message = failure_of(program, algorithm).message
    assert message.startswith("add and double are declared independent, but where x = 1")


@pytest.mark.parametrize("algorithm", BOTH)
def test_the_length_of_a_loop_that_is_under_way(algorithm: str) -> None:
    """No local name differs, and no shared one: only how often the loop will go on."""
    program = Program("loop", x=2, y=0)

    def rounds(s: Any) -> Any:
        yield
        for _ in range(s.x):
            yield
            s.y += 1

    def more(s: Any) -> Any:
        yield
        s.x = 3

    program.process(rounds)
    program.process(more)
    program.independent("rounds:1", "more")
    message = failure_of(program, algorithm).message
    assert "how rounds goes on differs when more comes before rounds" in message


@pytest.mark.parametrize("algorithm", BOTH)
def test_loops_that_go_on_alike_are_no_failure(algorithm: str) -> None:
    program = Program("loop", x=2, y=0, z=0)

    def rounds(s: Any) -> Any:
        yield
        s.z += 1
        for _ in range(2):
            yield
            s.y += 1

    def more(s: Any) -> Any:
        yield
        s.z += 1

    program.process(rounds)
    program.process(more)
    program.independent("rounds:1", "more")
    result = treadle.explore(program, algorithm)
    assert (result.executions, result.failures) == (1, [])


def failing(message: str | None) -> Program:
    """An assertion that fails in any order, of a value that depends on it."""
    program = Program("failing", x=-1)

    def look(s: Any) -> Any:
        yield
        if message is None:
            assert s.x > 0
        else:
            assert s.x > 0, message if message else s.x

    def less(s: Any) -> Any:
        yield
        s.x -= 1

    program.process(look)
    program.process(less)
    return program


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("message", [None, "low"])
def test_what_pytest_adds_to_an_assertion_is_no_difference(
    algorithm: str, message: str | None
) -> None:
    program = failing(message)
    program.independent("look", "less")
    result = treadle.explore(program, algorithm, stop_on_failure=False)
    assert {failure.kind for failure in result.failures} == {"assertion"}
    assert result.executions == 1


@pytest.mark.parametrize("algorithm", BOTH)
def test_what_the_message_says_is_one(algorithm: str) -> None:
    program = failing("")
    program.independent("look", "less")
    assert "failures differs" in failure_of(program, algorithm).message


def test_a_solver_finds_that_an_assertion_fails_anyway() -> None:
    def bare() -> Program:
        program = Program("bare", x=-1)

        def look(s: Any) -> Any:
            yield
            assert s.x > 0

        def less(s: Any) -> Any:
            yield
            s.x -= 1

        program.process(look)
        program.process(less)
        return program

    assert set(found(bare()).constraints) == {"s.x <= 0", "s.x > 1"}
    for algorithm in BOTH:
        result = treadle.explore(
            bare(), algorithm, constraints="synthesised", stop_on_failure=False
        )
        assert [failure.kind for failure in result.failures] == ["assertion"]
        assert result.executions == 1


# Kinds of values


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("text", ["abs(value)", "-value", "+value", "max(value, 0)", "value"])
def test_what_somebody_stores_may_be_no_whole_number(algorithm: str, text: str) -> None:
    """`abs` of a float is one: then additions do not commute."""

    def program() -> Program:
        made = Program("kinds", x=0)
        made.process(Block(f"s.x = {text}", {"value": (0.1,)}).function("store"), 0.1)
        add = Block("s.x += more", {"more": (1,)}).function("add")
        made.process(add, 1)
        made.process(add, 10**16)
        return made

    ends: dict[str, set[str]] = {}
    for name, mode in (("exhaustive", "none"), (algorithm, "synthesised")):
        seen: set[str] = set()
        made = program()
        made.finally_(lambda s, seen=seen: seen.add(repr(s.x)))
        result = treadle.explore(made, name, constraints=mode, stop_on_failure=False)
        assert result.failures == []
        ends[name] = seen
    assert ends[algorithm] == ends["exhaustive"]


# Options


BANK = """
import treadle

def bank():
    program = treadle.model.Program("bank", balance=0)

    def deposit(s, amount):
        yield
        s.balance += amount

    for amount in (1, 2, 3, 4):
        program.process(deposit, amount)
    return program

program = bank()
"""


def ran(*arguments: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    assert isinstance(ended.value.code, int)
    return ended.value.code, *capsys.readouterr()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "_known", {})
    made = tmp_path / "bank.py"
    made.write_text(BANK)
    return made


def test_settings_of_a_project_choose_them(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = '[tool.treadle]\nalgorithm = "optimal-constrained"\nconstraints = "synthesised"\n'
    (file.parent / "pyproject.toml").write_text(settings)
    arguments = ("run", f"{file}::program", "--no-database", "--json")
    status, out, _ = ran(*arguments, capsys=capsys)
    assert (status, json.loads(out)["executions"]) == (0, 1)
    _, out, _ = ran(*arguments, "--constraints", "none", capsys=capsys)
    assert json.loads(out)["executions"] == 24


@pytest.mark.parametrize(
    ("option", "value"), [("--constraints", "guessed"), ("--uniformity", "dynamic")]
)
def test_what_is_no_choice_is_an_error_of_use(
    file: Path, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = ran("run", f"{file}::program", option, value, capsys=capsys)
    assert status == 2
    assert value in err


@pytest.mark.parametrize("given", [{"constraints": "guessed"}, {"uniformity": "dynamic"}])
def test_so_it_is_in_python(given: dict[str, Any]) -> None:
    [value] = given.values()
    with pytest.raises(treadle.TreadleError, match=value):
        treadle.explore(add_and_double(), "constrained", **given)


def test_keys_of_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(BANK.replace("s.balance += amount", "s.balance = amount << 1"))
    _, out, _ = ran("constraints", f"{file}::program", "--json", capsys=capsys)
    pair, unknown = map(json.loads, out.splitlines())
    assert list(pair) == ["first", "second", "constraints", "exact", "source", "seconds"]
    assert (pair["constraints"], pair["exact"], pair["source"]) == ([], False, "synthesised")
    assert unknown == {
        "block": "deposit", "line": 9, "reason": "the operator LShift is not translated",
    }  # fmt: skip


def test_without_the_solver_what_is_declared_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    program = add_and_double()
    program.independent("add", "double")
    assert failure_of(program, "optimal-constrained").kind == "constraint"
    plain = treadle.explore(add_and_double(), "constrained", constraints="none")
    assert plain.executions == 2
    for given in ({"constraints": "synthesised"}, {"uniformity": "keeps"}):
        with pytest.raises(treadle.TreadleError, match=r"pip install treadle\[smt\]"):
            treadle.explore(add_and_double(), "constrained", **given)  # type: ignore[arg-type]


def test_in_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_known", {})
    pytester.makepyfile(
        BANK
        + """
import pytest

@pytest.mark.treadle(algorithm="optimal-constrained")
def test_bank():
    return bank()
"""
    )
    options = ("--treadle-constraints=synthesised", "--treadle-uniformity=keeps", "-rA")
    result = pytester.runpytest_inprocess(*options)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 execution*"])

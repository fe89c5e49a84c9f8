"""The mutants of `scripts/mutation.py` fit the source, and only a failing test notices one."""

from __future__ import annotations

import ast
import importlib.util
import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest

from waiting import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
ENDLESS = "a test that does not end"


def load(path: Path) -> ModuleType:
    """Import a script."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses ask for it
    spec.loader.exec_module(module)
    return module


load(ROOT / "scripts" / "cpu_limit.py")
mutation = load(ROOT / "scripts" / "mutation.py")


@pytest.mark.parametrize("mutant", mutation.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_another_program(mutant: mutation.Mutant) -> None:  # type: ignore[name-defined]
    text = (ROOT / "src" / "treadle" / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    changed = text.replace(mutant.old, mutant.new)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


def test_mutants_have_names_and_tests() -> None:
    names = [mutant.name for mutant in mutation.MUTANTS]
    assert len(set(names)) == len(names)
    named = {path for mutant in mutation.MUTANTS for path in mutant.tests or mutation.TESTS}
    assert [path for path in named if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize(
    ("status", "output", "is_noticed", "by"),
    [
        (0, "12 passed", False, ""),
        (1, "FAILED tests/test_x.py::test_a[1] - assert 2 == 1", True, "test_a[1]"),
        (1, "no test said so", False, "the tests could not be run (status 1)"),
        (2, "ERROR tests/test_x.py", False, "the tests could not be run (status 2)"),
        (4, "", False, "the tests could not be run (status 4)"),
        (5, "no tests ran", False, "the tests could not be run (status 5)"),
        (-signal.SIGXCPU, "", True, "a test that does not end"),
        (-signal.SIGKILL, "", False, "the tests could not be run (status -9)"),
    ],
)
def test_only_a_failing_test_or_one_without_end_notices(
    status: int, output: str, is_noticed: bool, by: str
) -> None:
    assert mutation.verdict(status, output) == mutation.Verdict(is_noticed, by)


@pytest.mark.parametrize(
    ("body", "is_noticed", "by"),
    [
        ("pass", False, ""),
        ("raise ValueError", True, "test_it"),
        ("while True: pass", True, ENDLESS),
    ],
)
def test_tests_that_run_against_a_mutant(
    body: str, is_noticed: bool, by: str, tmp_path: Path
) -> None:
    test = tmp_path / "test_mutant.py"
    test.write_text(f"def test_it():\n    {body}\n")
    enough = 1 if by == ENDLESS else PATIENCE
    said = mutation.run_tests_against(ROOT / "src", [str(test)], cpu_seconds=enough)
    assert said == mutation.Verdict(is_noticed, by)


def test_a_mutant_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "treadle" / "x.py"
    path.parent.mkdir()
    path.write_text("a = 1\na = 1\n")
    with pytest.raises(SystemExit, match="the code to change occurs 2 times"):
        mutation.Mutant("twice", "x.py", "a = 1\n", "").apply(tmp_path)
    mutation.Mutant("once", "x.py", "a = 1\na", "b").apply(tmp_path)
    assert path.read_text() == "b = 1\n"

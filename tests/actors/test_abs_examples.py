"""The ABS programs of `examples/actors` and their Python twins: the same counts, at both levels."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.actors.abs.loading import load
from treadle.actors.abs.loading import read as read_abs

FOLDER = Path(__file__).parents[2] / "examples" / "actors"

COUNTS = {  # executions of `optimal`, and how many of them fail: at actor and at field level
    "bank": ((12, 4), (12, 4)),
    "barber": ((7, 2), (3, 1)),
    "birds": ((6, 2), (4, 2)),
    "buffer": ((56, 0), (56, 0)),
    "database": ((5, 1), (3, 1)),
    "pairing": ((6, 6), (6, 6)),
    "dining": ((7, 1), (7, 1)),
    "pi": ((6, 0), (6, 0)),
    "pipesort": ((12, 0), (12, 0)),
    "protocol": ((3, 1), (3, 1)),
    "registry": ((24, 0), (6, 0)),
}


def twin(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"twin_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def counted(program: Any, algorithm: str = "optimal", **options: Any) -> tuple[int, int]:
    result = treadle.explore(program, algorithm, stop_on_failure=False, **options)
    return result.executions, result.failing


def test_all_examples_are_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.abs")} == set(COUNTS)


@pytest.mark.parametrize("level", ["actor", "field"])
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str, level: str) -> None:
    expected = COUNTS[name][level == "field"]
    assert counted(load(FOLDER / f"{name}.abs", "")[1], dependency=level) == expected
    assert counted(twin(name), dependency=level) == expected


@pytest.mark.parametrize("name", ["barber", "birds", "database", "protocol", "registry"])
def test_other_algorithms_see_as_much(name: str) -> None:
    for algorithm in ("source", "sleep"):
        found = counted(load(FOLDER / f"{name}.abs", "")[1], algorithm)
        assert found == COUNTS[name][0], algorithm
    assert counted(load(FOLDER / f"{name}.abs", "")[1], "exhaustive") == counted(
        twin(name), "exhaustive"
    )


@pytest.mark.parametrize("name", COUNTS)
def test_the_printed_translation_is_a_program_of_its_own(name: str, tmp_path: Path) -> None:
    text = read_abs(FOLDER / f"{name}.abs").python_text()
    (tmp_path / "model.py").write_text(text)
    space: dict[str, Any] = {}
    exec(compile(text, tmp_path / "model.py", "exec"), space)
    assert counted(space["main"]) == COUNTS[name][0]


@pytest.mark.parametrize("name", COUNTS)
def test_the_translation_is_what_it_was(name: str) -> None:
    """Whoever changes it on purpose: `treadle abs FILE.abs > tests/actors/translated/FILE.py`."""
    known = (Path(__file__).parent / "translated" / f"{name}.py").read_text()
    assert read_abs(FOLDER / f"{name}.abs").python_text() == known


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_in_them_is_unknown(name: str) -> None:
    for program in (load(FOLDER / f"{name}.abs", "")[1], twin(name)):
        result = treadle.explore(program, stop_on_failure=False, dependency="field")
        assert [note for note in result.notes if "level" in note] == []

"""Every example has the verdict that its text promises, under every kind of algorithm."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import treadle

EXAMPLES = Path(__file__).parents[1] / "examples"

# Example, kinds of failures it has, and its number of happens-before classes.
VERDICTS = [
    ("counter::racy", {"assertion"}, 4),
    ("counter::locked", set(), 2),
    ("peterson::correct", set(), 4),
    ("peterson::broken", {"assertion"}, 10),
    ("dekker::correct", set(), 8),
    ("dekker::broken", {"assertion"}, 8),
    ("philosophers::deadlocking", {"deadlock"}, 7),
    ("philosophers::ordered", set(), 6),
    ("bounded_buffer::with_semaphores", set(), 2),
    ("bounded_buffer::with_condition", set(), 40),
    ("bounded_buffer::lost_wakeup", {"deadlock"}, 30),
    ("bounded_buffer::without_second_look", {"assertion"}, 40),
    ("stack::aba", {"assertion"}, 22),
    ("stack::tagged", set(), 22),
    ("two_phase_commit::waiting", {"deadlock"}, 6),
    ("two_phase_commit::presuming", {"assertion"}, 20),
    ("two_phase_commit::asking", set(), 92),
]

with_verdict = pytest.mark.parametrize(
    ("example", "kinds", "classes"), VERDICTS, ids=[name for name, _, _ in VERDICTS]
)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program_of(example: str) -> Callable[[], treadle.model.Program]:
    name, _, function = example.partition("::")
    found: Callable[[], treadle.model.Program] = getattr(load(EXAMPLES / f"{name}.py"), function)
    return found


@pytest.mark.parametrize("algorithm", ["optimal", "source", "sleep"])
@with_verdict
def test_verdict(example: str, kinds: set[str], classes: int, algorithm: str) -> None:
    result = treadle.explore(program_of(example), algorithm, stop_on_failure=False)
    assert result.complete
    assert set(result.failure_kinds) == kinds
    assert result.executions == classes


@with_verdict
def test_optimal_blocks_nothing(example: str, kinds: set[str], classes: int) -> None:
    del kinds, classes
    assert treadle.explore(program_of(example), stop_on_failure=False).blocked == 0


@with_verdict
def test_first_failure_replays(example: str, kinds: set[str], classes: int) -> None:
    del classes
    program = program_of(example)
    failures = treadle.explore(program).failures
    assert {failure.kind for failure in failures} <= kinds
    assert bool(failures) == bool(kinds)
    for failure in failures:
        replayed = treadle.replay(program, str(failure.schedule))
        assert replayed is not None
        assert replayed.kind == failure.kind
        assert replayed.message == failure.message


def test_every_example_has_a_verdict() -> None:
    listed = {name for name, _, _ in VERDICTS}
    programs = {
        f"{path.stem}::{name}"
        for path in EXAMPLES.glob("*.py")
        for name, value in vars(load(path)).items()
        if getattr(value, "__annotations__", {}).get("return") is treadle.model.Program
        and not name.startswith("_")
    }
    assert programs == listed

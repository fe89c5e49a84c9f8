"""What the tests of all examples have in common: verdicts that must hold, however explored."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import treadle

EXAMPLES = Path(__file__).parents[1] / "examples"

Verdict = tuple[str, set[str], int]
"""An example, the kinds of failures it has, and its number of happens-before classes."""


def with_each(verdicts: list[Verdict]) -> pytest.MarkDecorator:
    """Parametrise a test with an example and what must be found out about it."""
    return pytest.mark.parametrize(
        ("example", "kinds", "classes"), verdicts, ids=[name for name, _, _ in verdicts]
    )


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coroutines_in(path: Path) -> dict[str, Callable[[], Any]]:
    """Return the coroutine functions without parameters that a file of examples defines."""
    module = load(path)
    return {
        f"{path.stem}::{name}": value
        for name, value in vars(module).items()
        if inspect.iscoroutinefunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and not inspect.signature(value).parameters
    }


def function_of(folder: Path, example: str) -> Callable[[], Any]:
    """Return the function that an example `module::function` names."""
    name, _, function = example.partition("::")
    found: Callable[[], Any] = getattr(load(folder / f"{name}.py"), function)
    return found


def check_verdict(
    test: Callable[[], Any], algorithm: str, kinds: set[str], classes: int
) -> treadle.Result:
    result = treadle.explore(test, algorithm, stop_on_failure=False)
    assert result.complete
    assert set(result.failure_kinds) == kinds
    assert result.executions == classes
    return result


def check_first_failure_replays(test: Callable[[], Any], kinds: set[str]) -> None:
    failures = treadle.explore(test).failures
    assert {failure.kind for failure in failures} <= kinds
    assert bool(failures) == bool(kinds)
    for failure in failures[:1]:
        replayed = treadle.replay(test, failure.token)
        assert replayed is not None
        assert replayed.kind == failure.kind
        assert replayed.message == failure.message

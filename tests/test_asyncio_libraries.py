"""Examples with code of libraries, looked into and not: each defect is found, each remedy verified.

Run where the library is installed.
"""

from __future__ import annotations

import importlib

import pytest

import treadle
from verdicts import EXAMPLES, coroutines_in, function_of

FOLDER = EXAMPLES / "asyncio" / "libraries"

VERDICTS = [
    ("anyio", "deadline_with_anyio::a_seat_is_lost", {"deadlock"}),
    ("anyio", "deadline_with_anyio::no_seat_is_lost", set()),
    ("httpx", "lost_update_over_httpx::one_is_lost", {"assertion"}),
    ("httpx", "lost_update_over_httpx::none_is_lost", set()),
    ("redis", "counter_in_redis::some_are_lost", {"assertion"}),
    ("redis", "counter_in_redis::all_are_counted", set()),
    ("aiohttp", "token_over_aiohttp::logs_in_twice", {"assertion"}),
    ("aiohttp", "token_over_aiohttp::logs_in_once", set()),
]


def wanted(library: str) -> None:
    """Skip a test if a library is not installed."""
    try:
        importlib.import_module(library)
    except ImportError:
        pytest.skip(f"{library} is not installed")


@pytest.mark.parametrize(
    ("library", "example", "kinds"), VERDICTS, ids=[example for _, example, _ in VERDICTS]
)
def test_verdict(library: str, example: str, kinds: set[str]) -> None:
    wanted(library)
    test = function_of(FOLDER, example)
    result = treadle.explore(test, stop_on_failure=False, instrument=[library])
    assert (result.complete, set(result.failure_kinds)) == (True, kinds)
    assert not any(note.startswith(f"{library}.") for note in result.notes)
    outside = treadle.explore(test)
    assert {failure.kind for failure in outside.failures} == kinds
    assert outside.complete or kinds
    assert any(note.startswith(f"{library}.") for note in outside.notes)


def test_every_example_has_a_verdict_and_a_remedy() -> None:
    for library in {library for library, _, _ in VERDICTS}:
        wanted(library)
    for path in FOLDER.glob("*.py"):
        found = coroutines_in(path).keys()
        verdicts = {name: kinds for _, name, kinds in VERDICTS if name in found}
        assert verdicts.keys() == found
        assert {bool(kinds) for kinds in verdicts.values()} == {True, False}

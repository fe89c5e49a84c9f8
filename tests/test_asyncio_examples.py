"""Every example with asyncio has the verdict that its text promises, and each has its remedy."""

from __future__ import annotations

import pytest

import treadle
from verdicts import (
    EXAMPLES,
    Verdict,
    check_first_failure_replays,
    coroutines_in,
    function_of,
    with_each,
)

FOLDER = EXAMPLES / "asyncio"

VERDICTS: list[Verdict] = [
    ("cache::nobody_wakes_them", {"deadlock"}, 4),
    ("cache::somebody_else_loads", set(), 4),
    ("last_item::both_buy", {"assertion"}, 4),
    ("last_item::one_buys", set(), 4),
    ("last_item_over_a_network::both_buy", {"assertion"}, 4),
    ("last_item_over_a_network::one_buys", set(), 4),
    ("swallowed_cancellation::goes_on", {"assertion"}, 8),
    ("swallowed_cancellation::ends", set(), 5),
    ("thread_beside_tasks::lost_update", {"assertion"}, 5),
    ("thread_beside_tasks::locked", set(), 3),
]

with_verdict = with_each(VERDICTS)


@with_verdict
def test_verdict(example: str, kinds: set[str], classes: int) -> None:
    result = treadle.explore(function_of(FOLDER, example), stop_on_failure=False)
    assert result.complete
    assert (set(result.failure_kinds), result.executions) == (kinds, classes)
    assert (result.notes, result.escapes) == ([], [])


@with_verdict
def test_failure_replays(example: str, kinds: set[str], classes: int) -> None:
    del classes
    check_first_failure_replays(function_of(FOLDER, example), kinds)


def test_every_example_has_a_verdict_and_a_remedy() -> None:
    named = {example for example, _, _ in VERDICTS}
    for path in FOLDER.glob("*.py"):
        found = {
            name
            for name, value in coroutines_in(path).items()
            if value.__annotations__.get("return") in (None, "None")
        }
        assert found <= named
        assert {bool(kinds) for name, kinds, _ in VERDICTS if name in found} == {True, False}


@pytest.mark.parametrize("order", ["fifo", "any"])
def test_remedies_hold_in_any_order(order: str) -> None:
    result = treadle.explore(function_of(FOLDER, "last_item::one_buys"), order=order)
    assert (result.complete, result.failures) == (True, [])

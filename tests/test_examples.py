"""Every example has the verdict that its text promises, under every kind of algorithm."""

import pytest

import treadle
from verdicts import (
    EXAMPLES,
    Verdict,
    check_first_failure_replays,
    check_verdict,
    function_of,
    load,
    with_each,
)

VERDICTS: list[Verdict] = [
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

with_verdict = with_each(VERDICTS)


@pytest.mark.parametrize("algorithm", ["optimal", "source", "sleep"])
@with_verdict
def test_verdict(example: str, kinds: set[str], classes: int, algorithm: str) -> None:
    result = check_verdict(function_of(EXAMPLES, example), algorithm, kinds, classes)
    assert algorithm != "optimal" or result.blocked == 0


@with_verdict
def test_first_failure_replays(example: str, kinds: set[str], classes: int) -> None:
    del classes
    check_first_failure_replays(function_of(EXAMPLES, example), kinds)


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

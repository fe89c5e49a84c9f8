"""Every example with plain threads has the verdict that its text promises."""

import inspect

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

THREADS = EXAMPLES / "threads"

VERDICTS: list[Verdict] = [
    ("lost_update::racy", {"assertion"}, 4),
    ("lost_update::locked", set(), 2),
    ("bank_transfer::opposite_order", {"deadlock"}, 3),
    ("bank_transfer::same_order", set(), 2),
    ("bounded_queue::fifo_per_producer", set(), 6),
    ("bounded_queue::order_between_producers", {"assertion"}, 6),
    ("lazy_initialisation::checked_once", {"assertion"}, 6),
    ("lazy_initialisation::stored_too_early", {"assertion"}, 6),
    ("lazy_initialisation::double_checked", set(), 4),
    ("check_then_act::two_steps", {"assertion"}, 4),
    ("check_then_act::one_step", set(), 2),
    ("changing_dictionary::changed_in_the_loop", {"exception"}, 5),
    ("changing_dictionary::snapshot", set(), 2),
    ("lost_wakeup::looked_outside_the_lock", {"deadlock"}, 3),
    ("lost_wakeup::looked_once", {"exception"}, 24),
    ("lost_wakeup::looked_again", set(), 24),
    ("leaked_semaphore::leaking", {"deadlock"}, 2),
    ("leaked_semaphore::returning", set(), 2),
    ("reader_writer_lock::uncounted_leaving", {"assertion", "deadlock", "exception"}, 144),
    ("reader_writer_lock::counted_leaving", set(), 14),
    ("idempotent::cache", set(), 55),
    ("idempotent::counter", set(), 1),
    ("idempotent::producer_consumer", set(), 24),
]

EQUAL_STORES = ("idempotent::cache", "idempotent::counter")
"""Where threads store one value, which algorithms that compare states do not make use of."""

with_verdict = with_each(VERDICTS)


@pytest.mark.parametrize("algorithm", ["optimal", "source", "sleep"])
@with_verdict
def test_verdict(example: str, kinds: set[str], classes: int, algorithm: str) -> None:
    result = check_verdict(function_of(THREADS, example), algorithm, kinds, classes)
    assert algorithm != "optimal" or result.blocked == 0


@pytest.mark.parametrize(
    "algorithm", ["observers", "context", "optimal-context", "optimal-context-observers"]
)
@with_verdict
def test_fewer_executions_find_the_same(
    example: str, kinds: set[str], classes: int, algorithm: str
) -> None:
    result = treadle.explore(function_of(THREADS, example), algorithm, stop_on_failure=False)
    assert result.complete
    assert set(result.failure_kinds) == kinds
    if example not in EQUAL_STORES:
        assert result.executions <= classes


@pytest.mark.parametrize(
    ("example", "observers", "context", "both"),
    [("cache", 72, 21, 15), ("counter", 4, 5, 1), ("producer_consumer", 13, 24, 13)],
)
def test_idempotent_writes(example: str, observers: int, context: int, both: int) -> None:
    expected = {
        "observers": observers,
        "context": context,
        "optimal-context": context,
        "optimal-context-observers": both,
    }
    function = function_of(THREADS, f"idempotent::{example}")
    found = {name: treadle.explore(function, name).executions for name in expected}
    assert found == expected


@with_verdict
def test_first_failure_replays(example: str, kinds: set[str], classes: int) -> None:
    del classes
    check_first_failure_replays(function_of(THREADS, example), kinds)


def test_every_example_has_a_verdict() -> None:
    functions = {
        f"{path.stem}::{name}"
        for path in THREADS.glob("*.py")
        for name, value in vars(load(path)).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and not inspect.signature(value).parameters
    }
    assert functions == {name for name, _, _ in VERDICTS}


def test_examples_know_nothing_of_treadle() -> None:
    for path in THREADS.glob("*.py"):
        assert "treadle" not in path.read_text()


def test_deadlock_shows_its_cycle() -> None:
    (failure,) = treadle.explore(function_of(THREADS, "bank_transfer::opposite_order")).failures
    there, back = (wait for wait in failure.waits if wait.process != "main")
    assert (there.process, there.holders) == ("main.1", ("main.2",))
    assert (back.process, back.holders) == ("main.2", ("main.1",))
    assert "lock" in there.resource


def test_lost_update_is_found_in_a_handful_of_executions_and_shown() -> None:
    result = treadle.explore(function_of(THREADS, "lost_update::racy"))
    assert result.executions <= 3
    done = [f"{step.process}: {step.accesses[0]}" for step in result.failures[0].trace]
    assert done[2:6] == [
        "main.1: read counter.count = 0",
        "main.2: read counter.count = 0",
        "main.2: write counter.count = 1",
        "main.1: write counter.count = 1",
    ]

"""CPython's `test.test_queue` on Treadle's queues.

Its classes come in pairs: `C...` test the module with its accelerator, which here is the `queue`
that Treadle patches; `Py...` test a second copy of the module that Treadle does not know, so they
run the standard library's own code on controlled locks and semaphores.

The tests with a hundred threads and ten thousand items are run with ten and two hundred; writers of
sixteen thousand messages (Python 3.13) write forty.
"""

from __future__ import annotations

import queue
import sys
import unittest
from typing import Any

import pytest

from cpython import harness

test_queue: Any = harness.import_tests("test.test_queue")

THREADS = 5
ITEMS = 200
MESSAGES = 40
POLLS = "readers poll an empty queue for ever as long as no other thread is scheduled"


def _adapted(kind: Any) -> Any:
    """Return a test class on the patched module, with fewer threads and items."""

    def run_threads(
        self: Any, threads: int, q: Any, inputs: list[int], feed: Any, consume: Any
    ) -> Any:
        del inputs[ITEMS:]  # the caller compares with the same list
        return kind.run_threads(self, min(threads, THREADS), q, inputs, feed, consume)

    def write_messages(
        self: Any, q: Any, count: int, results: Any, shutdown_at: int, event: Any, barrier: Any
    ) -> None:
        del count, shutdown_at
        kind._write_msg_thread(self, q, MESSAGES, results, MESSAGES // 2, event, barrier)

    members: dict[str, Any] = {}
    if hasattr(kind, "_write_msg_thread"):
        members["_write_msg_thread"] = write_messages
    if hasattr(kind, "run_threads"):
        members["run_threads"] = run_threads
    if kind.queue is test_queue.c_queue:
        members["queue"] = queue
    return type(kind.__name__, (kind,), members)


MEMORY = "skips itself unless it is given much memory"
DOES_NOT_APPLY = {
    f"{kind}.{name}": MEMORY
    for kind in ("CSimpleQueueTest", "PySimpleQueueTest")
    for name in ("test_many_threads", "test_many_threads_nonblock", "test_many_threads_timeout")
    if sys.version_info >= (3, 14)
}
if hasattr(test_queue.CSimpleQueueTest, "test_simplequeue_sizeof"):
    DOES_NOT_APPLY["CSimpleQueueTest.test_simplequeue_sizeof"] = "measures the real one in C"
SUITE = harness.Suite(
    [
        _adapted(kind)
        for kind in vars(test_queue).values()
        if isinstance(kind, type) and issubclass(kind, unittest.TestCase)
    ],
    does_not_apply=DOES_NOT_APPLY,
)


@pytest.mark.parametrize("name", SUITE.names)
def test_natural_schedule(name: str) -> None:
    if name.endswith("_all_methods_in_many_threads"):
        pytest.skip(f"does not apply to the natural schedule: {POLLS}")
    SUITE.run_naturally(name)


@pytest.mark.parametrize("name", SUITE.names)
def test_random_schedules(name: str) -> None:
    SUITE.run_randomly(name, seeds=range(3))


def test_tables() -> None:
    SUITE.check_tables()


def test_both_halves_are_here() -> None:
    assert any(name.startswith("CSimpleQueueTest.") for name in SUITE.names)
    assert any(name.startswith("PyFailingQueueTest.") for name in SUITE.names)

"""CPython's `test.test_concurrent_futures` on Treadle's futures and thread pools.

A package since Python 3.12, one module before. Interpreters without it skip this file.
"""

from __future__ import annotations

import importlib
import logging
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cpython import harness

_package: Any = harness.import_tests("test.test_concurrent_futures")
_PARTS = ("test_as_completed", "test_future", "test_init", "test_shutdown", "test_thread_pool",
          "test_wait")  # fmt: skip
MODULES: list[Any] = (
    [importlib.import_module(f"{_package.__name__}.{part}") for part in _PARTS]
    if sys.version_info >= (3, 12)
    else [_package]
)
CLASSES = [
    kind
    for module in MODULES
    for name, kind in vars(module).items()
    if isinstance(kind, type)
    and issubclass(kind, unittest.TestCase)
    and (name.startswith("ThreadPool") or name == "FutureTests")
]
_PROCESS = "runs a script in another process, at whose exit something happens"
_COLLECTED = "waits for garbage: what threads share is kept until the end of an execution"
_REASONS = {
    "ThreadPoolShutdownTest.test_cancel_futures_wait_false": _PROCESS,
    "ThreadPoolShutdownTest.test_hang_gh83386": _PROCESS,
    "ThreadPoolShutdownTest.test_hang_gh94440": "about the pipes of process pools",
    "ThreadPoolShutdownTest.test_interpreter_shutdown": _PROCESS,
    "ThreadPoolShutdownTest.test_submit_after_interpreter_shutdown": _PROCESS,
    "ThreadPoolExecutorTest.test_hang_global_shutdown_lock": _PROCESS,
    "ThreadPoolExecutorTest.test_process_fork_from_a_threadpool": "forks the process",
    "ThreadPoolShutdownTest.test_del_shutdown": _COLLECTED,
    "ThreadPoolShutdownTest.test_thread_names_assigned": _COLLECTED,
    "ThreadPoolShutdownTest.test_thread_names_default": _COLLECTED,
    "ThreadPoolAsCompletedTest.test_free_reference_yielded_future": _COLLECTED,
    "ThreadPoolExecutorTest.test_free_reference": _COLLECTED,
    "ThreadPoolExecutorTest.test_no_stale_references": _COLLECTED,
}
_NAMES = set(harness.Suite(CLASSES).names)
SUITE = harness.Suite(
    CLASSES,
    does_not_apply={name: reason for name, reason in _REASONS.items() if name in _NAMES},
)


@contextmanager
def only_the_handler_of_last_resort() -> Iterator[None]:
    """Take pytest's log handlers away: the tests look for messages on the standard error."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    root.handlers.clear()
    try:
        yield
    finally:
        root.handlers[:] = handlers


@pytest.mark.parametrize("name", SUITE.names)
def test_natural_schedule(name: str) -> None:
    with only_the_handler_of_last_resort():
        SUITE.run_naturally(name)


@pytest.mark.parametrize("name", SUITE.names)
def test_random_schedules(name: str) -> None:
    with only_the_handler_of_last_resort():
        SUITE.run_randomly(name, seeds=range(5))


def test_tables() -> None:
    SUITE.check_tables()

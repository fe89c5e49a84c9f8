"""Other people's tests under Treadle: a plugin of pytest for `foreign_tests.py`.

With `FOREIGN_LOOK=FILE` tests run as they are, and one JSON object a test is written: how many
threads it started, and what it used that Treadle does not explore (processes, sockets,
coroutines). With `FOREIGN_PACKAGE=NAME` every test is explored, that package instrumented, and
nothing of the test is changed. Seconds are those of the processor, so that a busy machine says the
same as an idle one.
"""

from __future__ import annotations

import asyncio.base_events
import inspect
import json
import multiprocessing.process
import os
import resource
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

LOOK = os.environ.get("FOREIGN_LOOK")
PACKAGE = os.environ.get("FOREIGN_PACKAGE")
SECONDS = float(os.environ.get("FOREIGN_SECONDS", "30"))
CPU = int(os.environ.get("FOREIGN_CPU", "60"))
MARKS_OF_OTHERS = ("asyncio", "anyio", "trio", "tornado")

resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 5))


def _counted(seen: Counter[str], what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Count calls, by threads that a test started too."""

    def counting(*args: Any, **options: Any) -> Any:
        seen[what] += 1
        return function(*args, **options)

    return counting


WATCHED = (
    (threading.Thread, "start", "threads"),
    (subprocess.Popen, "__init__", "processes"),
    (multiprocessing.process.BaseProcess, "start", "processes"),
    (os, "fork", "processes"),
    (socket.socket, "connect", "sockets"),
    (socket.socket, "bind", "sockets"),
    (asyncio.base_events.BaseEventLoop, "__init__", "coroutines"),
)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Write what a test used."""
    if not LOOK:
        yield
        return
    seen: Counter[str] = Counter()
    if inspect.iscoroutinefunction(getattr(item, "obj", None)):
        seen["coroutines"] += 1
    patches = [
        mock.patch.object(owner, name, _counted(seen, what, getattr(owner, name)))
        for owner, name, what in WATCHED
    ]
    for patch in patches:
        patch.start()
    passed = False
    try:
        outcome = yield
        passed = outcome.excinfo is None  # type: ignore[attr-defined]
    finally:
        for patch in patches:
            patch.stop()
    with Path(LOOK).open("a") as file:
        print(json.dumps({"test": item.nodeid, "passed": passed, **seen}), file=file)


def pytest_sessionstart() -> None:
    """Let Treadle's limits of time be of processor time."""
    if PACKAGE:
        from treadle.core import deadline
        from treadle.explore import progress
        from treadle.session import session

        clocks = ((progress, "perf_counter"), (deadline, "_clock"), (session, "clock"))
        for module, clock in clocks:
            setattr(module, clock, time.process_time)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test."""
    for item in items if PACKAGE else ():
        if not any(item.get_closest_marker(mark) for mark in MARKS_OF_OTHERS):
            item.add_marker(
                pytest.mark.treadle(instrument=[PACKAGE], timeout=SECONDS, shrink=False)
            )

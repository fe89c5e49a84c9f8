"""What libraries import by name while a test is explored is what it is elsewhere, afterwards."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
import time
from pathlib import Path

import pytest

import treadle

LIBRARY = """
import asyncio
import time
from asyncio import all_tasks, sleep
from threading import Thread
from time import monotonic


class Clock:
    now = monotonic


async def tasks(which=all_tasks):
    await sleep(0)
    return len(which())
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "late_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "late_library", raising=False)
    return "late_library"


async def _one_task(library: str) -> int:
    loaded = importlib.import_module(library)
    await treadle.pause()
    return await loaded.tasks()  # type: ignore[no-any-return]


def test_library_that_a_test_with_tasks_loads(library: str) -> None:
    async def test() -> None:
        assert await _one_task(library) == 1

    def beside_threads() -> None:
        thread = threading.Thread(target=asyncio.run, args=[_one_task(library)])
        thread.start()
        thread.join()

    for explored in (test, test, beside_threads, test):
        result = treadle.explore(explored)
        assert (result.complete, result.failures) == (True, [])
        loaded = sys.modules[library]
        assert loaded.all_tasks is asyncio.all_tasks
        assert loaded.tasks.__defaults__ == (asyncio.all_tasks,)
        assert loaded.sleep is asyncio.sleep
        assert loaded.monotonic is loaded.Clock.now is time.monotonic
    assert asyncio.run(_one_task(library)) == 1

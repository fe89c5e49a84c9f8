"""Real engines, each a local cluster of two workers: `make engines` runs these."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import treadle
import worker_programs
from treadle.papers import jacm17

READERS = jacm17.readers(11)
LASTZERO = jacm17.lastzero(10)


def adding() -> None:
    worker_programs.adding(3, 2)()


def locked() -> None:
    worker_programs.locked(4, 2)()


def two_by_three() -> None:
    worker_programs.adding(2, 3)()


def lost_update() -> None:
    worker_programs.lost_update()


def wide_lost_update() -> None:
    worker_programs.lost_update()
    worker_programs.adding(2, 2)()


PROGRAMS = [
    (READERS, 2048, 0),
    (LASTZERO, 3328, 0),
    (two_by_three, 328, 0),
    (locked, 2520, 0),
    (adding, 7134, 0),
    (wide_lost_update, 234, 1),
]


@contextmanager
def dask() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")


@contextmanager
def ray() -> Iterator[str]:
    engine = pytest.importorskip("ray")
    engine.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    try:
        yield "ray"
    finally:
        engine.shutdown()


def explored(test: Any, on: str) -> treadle.Result:
    return treadle.explore(test, on=on, split_by="executions", stop_on_failure=False)


@pytest.mark.parametrize("engine", [dask, ray])
def test_six_programs_are_exact(engine: Any) -> None:
    with engine() as on:
        for test, executions, failures in PROGRAMS:
            result = explored(test, on)
            assert (result.executions, result.blocked, result.complete) == (executions, 0, True)
            assert len(result.failures) == failures
            assert result.workers == 2
        small = explored(lost_update, on)
        assert (small.executions, len(small.failures), small.workers) == (36, 1, 1)


def hands_of(mark: str) -> list[int]:
    """Return the hands that were started with a variable in their environment, and no others."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes()
            marked = mark.encode() in (process / "environ").read_bytes()
            if marked and b"treadle.session.workers.hand" in command:
                found.append(int(process.name))
    return found


@pytest.mark.parametrize("engine", [dask, ray])
def test_hands_that_are_killed(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hand is killed three times, wherever the engine has put it."""
    mark = f"of-{os.getpid()}-{engine.__name__}"
    monkeypatch.setenv("TREADLE_ENGINES_TEST", mark)
    killed: list[int] = []
    is_over = threading.Event()

    def kill() -> None:
        while len(killed) < 3 and not is_over.wait(1.0):
            for pid in hands_of(mark)[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    with engine() as on:
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            result = explored(adding, on)
        finally:
            is_over.set()
            killer.join()
    assert killed
    assert (result.executions, result.complete) == (7134, True), result.stopped_by

"""Programs that run: each in a process of its own, with limits, which can be stopped.

Whatever a program does (it exits, eats memory, never ends) its process ends, and the server says
what happened. Whoever stops it, a user or the limit of time, asks first: the worker then gives what
it has found so far.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treadle.core.errors import TreadleError
from treadle.web.folders import new_folder, remove_abandoned
from treadle.web.sent import Wish

MOST_AT_ONCE = 4
"""Jobs that run at the same time."""
MOST_KEPT = 20
"""Jobs whose results are kept."""
PATIENCE = 6.0
"""Seconds that a worker has to say something when it was asked to end."""
_LONGEST_BEGINNING = 60.0
"""Seconds until a worker has imported what it needs, on a machine that is busy."""
_LONGEST_END = 30.0
"""Seconds that it has in all to say what it found."""
_LOOK_EVERY = 0.05
"""Seconds between two looks whether a worker has ended."""
_LONGEST_LINE = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use."""

    seconds: float = 120.0
    memory: int = 2048
    """Megabytes."""


@dataclass(eq=False, slots=True)
class Job:
    """A program that runs, or did."""

    name: str
    wish: Wish
    text: str
    progress: str = "starting"
    result: dict[str, Any] | None = None
    error: str = ""
    is_stopped: bool = False
    printed: bytes = b""
    heard: float = 0.0
    """When the worker said something last."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None
    work: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to come."""
        return self.result is not None or bool(self.error)

    def tell(self) -> None:
        """Wake up whoever listens."""
        self.changed.set()
        self.changed = asyncio.Event()

    async def news(self) -> AsyncIterator[dict[str, str]]:
        """Yield how far it is, whenever that changes, until it is over."""
        while True:
            changed = self.changed
            if self.is_over:
                kind = "error" if self.error else "result"
                yield {"kind": kind, "text": self.error}
                return
            yield {"kind": "progress", "text": self.progress}
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), 10)


class Jobs:
    """All jobs of a server."""

    def __init__(self, worker: Sequence[str], limits: Limits) -> None:
        self._worker, self._limits = list(worker), limits
        remove_abandoned()
        self._jobs: dict[str, Job] = {}

    def __getitem__(self, name: str) -> Job:
        return self._jobs[name]

    def __contains__(self, name: str) -> bool:
        return name in self._jobs

    def start(self, wish: Wish, text: str) -> Job:
        """Run a program."""
        running = [job for job in self._jobs.values() if not job.is_over]
        if len(running) >= MOST_AT_ONCE:
            raise TreadleError(
                f"{len(running)} programs run already, perhaps in other windows: stop one first"
            )
        for old in [name for name, job in self._jobs.items() if job.is_over][: -MOST_KEPT or None]:
            del self._jobs[old]
        limits = self._limits
        wish = replace(wish, memory=limits.memory, seconds=limits.seconds + _LONGEST_END)
        job = Job(secrets.token_hex(6), wish, text)
        self._jobs[job.name] = job
        job.work = asyncio.create_task(self._run(job))
        return job

    async def stop(self, job: Job) -> None:
        """Ask a job to end with what it has, and end it if it does not."""
        job.is_stopped = True
        _signal(job, signal.SIGINT)
        if job.work is not None:
            await _end_of(job.work, job)
        _signal(job, signal.SIGKILL)

    async def close(self) -> None:
        """End all jobs."""
        for job in self._jobs.values():
            job.is_stopped = True
            _signal(job, signal.SIGKILL)
        await asyncio.gather(*(job.work for job in self._jobs.values() if job.work is not None))

    async def _run(self, job: Job) -> None:
        with new_folder() as folder:
            try:
                (Path(folder) / job.wish.file).write_text(job.text, "utf-8")
                job.process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",  # the program's file may be called as a module that the worker needs
                    *self._worker,
                    cwd=folder,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,  # it is ended with all that it started
                    limit=_LONGEST_LINE,
                )
                ending = asyncio.create_task(_end_with(job.process))
                if job.is_stopped:  # while it was started
                    _signal(job, signal.SIGKILL)
                await self._in_time(job)
                _signal(job, signal.SIGKILL)
                await ending
            except (OSError, ValueError) as error:
                _signal(job, signal.SIGKILL)
                job.error = f"the program cannot be run: {error}"
            finally:
                job.tell()

    async def _in_time(self, job: Job) -> None:
        """Let a worker work for as long as it may; then ask it for what it has, then end it."""
        talking = asyncio.create_task(self._talk(job))
        seconds = self._limits.seconds
        await _beginning_of(talking, job)
        await asyncio.wait({talking}, timeout=seconds)
        if not talking.done():
            _signal(job, signal.SIGINT)
            await _end_of(talking, job)
        if talking.done():
            await talking
            return
        talking.cancel()
        job.error = (
            f"stopped after {seconds:g} s, the limit of this server (--seconds), {_how_far(job)}"
        )

    async def _talk(self, job: Job) -> None:
        """Send the wish, and take in what the worker says until it ends."""
        process = job.process
        assert process is not None
        assert process.stdin is not None
        with suppress(ConnectionError):
            process.stdin.write(job.wish.line().encode())
            await process.stdin.drain()
            process.stdin.close()
        printing = asyncio.create_task(_keep_printed(job))
        assert process.stdout is not None
        async for line in process.stdout:
            job.heard = time.monotonic()
            for kind, content in json.loads(line).items():
                setattr(job, kind, content)
            if job.is_over:
                break
            job.tell()
        if not job.is_over:
            status = await process.wait()
            await printing
            job.error = _ended(job, status)
        printing.cancel()


async def _beginning_of(work: asyncio.Task[None], job: Job) -> None:
    """Wait until a worker has said something: what it needs to begin is not the program's time."""
    started = time.monotonic()
    while not (work.done() or job.heard) and time.monotonic() - started < _LONGEST_BEGINNING:
        await asyncio.wait({work}, timeout=_LOOK_EVERY)


async def _end_of(work: asyncio.Task[None], job: Job) -> None:
    """Wait until a job is over that was asked to end.

    A worker that says something lives and is about to tell what it found, which takes its time on a
    machine that is busy; one that says nothing is in an endless loop.
    """
    asked = time.monotonic()
    while not work.done():
        granted = _LONGEST_END if job.heard > asked else PATIENCE
        if time.monotonic() - asked > granted:
            return
        await asyncio.wait({work}, timeout=0.1)


async def _end_with(process: asyncio.subprocess.Process) -> None:
    """End whatever a worker has started as soon as it has ended itself.

    `Process.wait` would wait for all who hold its pipes open.
    """
    while process.returncode is None:
        await asyncio.sleep(_LOOK_EVERY)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _keep_printed(job: Job) -> None:
    """Keep the end of what the program prints."""
    assert job.process is not None
    assert job.process.stderr is not None
    while piece := await job.process.stderr.read(4096):
        job.printed = (job.printed + piece)[-4000:]


def _ended(job: Job, status: int) -> str:
    """Say how a worker ended that did not say it itself."""
    if job.is_stopped:
        return f"stopped, {_how_far(job)}"
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return (
            f"the program was ended by the system, {_how_far(job)}: it used up its "
            f"{job.wish.seconds - _LONGEST_END:g} s of processor time, or the machine's memory"
        )
    if b"MemoryError" in job.printed:
        return f"the program needs more than {job.wish.memory} MB, the limit of this server"
    if status < 0:
        return f"the program's process was ended by signal {-status}, {_how_far(job)}"
    last = job.printed.decode("utf-8", "replace").strip().splitlines()[-1:]
    said = f": {last[0]}" if last else ""
    return f"the program ended its own process, with status {status}, {_how_far(job)}{said}"


def _how_far(job: Job) -> str:
    return "before it began" if job.progress == "starting" else f"after {job.progress}"


def _signal(job: Job, number: int) -> None:
    if job.process is not None and job.process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, number)

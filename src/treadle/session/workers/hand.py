"""`python -m treadle.session.workers.hand`: a process that explores parts of a test by its name.

The first message says which test; then come jobs, one answer to each. It ends when nothing more is
to come, when its parent is gone, or when it was idle for a minute. What the test prints goes to the
standard error.
"""

from __future__ import annotations

import importlib
import os
import pickle
import select
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from treadle.core.errors import TreadleBug, TreadleError
from treadle.session.session import Session, opened
from treadle.session.settings import Settings
from treadle.session.workers import place
from treadle.session.workers.foreman import Foreman
from treadle.session.workers.handshake import facts_of
from treadle.session.workers.messages import receive, send
from treadle.session.workers.policy import Policy
from treadle.session.workers.spaces import space_of
from treadle.session.workers.spawned import Hello
from treadle.session.workers.task import OutOfMemory, Tasks

_IDLE = 60.0

_select, _getppid, _exit = select.select, os.getppid, os._exit


class _Link(NamedTuple):
    """What leads to the process that this one works for."""

    requests: int
    answers: int
    parent: int

    @property
    def is_cut(self) -> bool:
        """Whether the other process is gone, or does not wait any more: nothing comes in a job."""
        return _getppid() != self.parent or bool(_select([self.requests], [], [], 0)[0])


def main() -> None:
    """Serve until nobody wants anything any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = _Link(os.dup(0), os.dup(1), _getppid())
    with suppress(EOFError, OSError):  # nobody is there any more
        hello: Hello = receive(link.requests)
        _keep_apart()
        try:
            _open(hello, link)
        except (TreadleError, TreadleBug) as error:
            send(link.answers, error)
        except Exception as error:
            send(link.answers, TreadleError(_why_not(error)))
    _exit(0)


def _why_not(error: Exception) -> str:
    return (
        f"the test cannot be opened in another process ({type(error).__name__}: {error}): see that "
        f"it can be imported there, or use workers=1"
    )


def _keep_apart() -> None:
    """Let the test read nothing of what comes, and print to the standard error."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)


def _open(hello: Hello, link: _Link) -> None:
    """Find the test, take control of it, and do jobs."""
    hello = _as_it_is_here(hello)
    sys.path[:] = list(dict.fromkeys([*hello.path, *sys.path]))
    module, _, function = hello.name.opener.partition(":")

    def explore(test: object) -> None:
        place.become_hand(test)
        values, asked = pickle.loads(hello.options)
        with opened(test, Settings(values, asked)) as session:
            send(link.answers, facts_of(session.program, test, session.kept()))
            _serve(session, hello, link)

    getattr(importlib.import_module(module), function)(hello.name, explore)


def _as_it_is_here(hello: Hello) -> Hello:
    """Go where the other process is; if that is not there, an engine has brought its files here."""
    with suppress(FileNotFoundError):
        os.chdir(hello.directory)
        return hello
    there, here = hello.directory + os.sep, str(Path.cwd()) + os.sep

    def moved(path: str) -> str:
        return here + path.removeprefix(there) if path.startswith(there) else path

    name = replace(hello.name, text=moved(hello.name.text))
    return replace(hello, name=name, path=(here, *map(moved, hello.path)))


def _serve(session: Session, hello: Hello, link: _Link) -> None:
    """Do jobs until there are none: nobody wants anything any more, or not for a while."""
    tasks = Tasks(space_of(session.work(), Policy(hello.workers, hello.by_executions)))
    tasks.space.is_over = lambda: link.is_cut
    worker = tasks if hello.hands == 1 else Foreman(tasks, hello.hands)
    with suppress(EOFError, BrokenPipeError):
        while _select([link.requests], [], [], _IDLE)[0]:
            job = receive(link.requests)
            try:
                answer = worker.done(job)
            except (OutOfMemory, MemoryError):
                _exit(OutOfMemory.status)
            send(link.answers, answer)
    if isinstance(worker, Foreman):
        worker.close()


if __name__ == "__main__":
    main()

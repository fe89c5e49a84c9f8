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
from typing import Any

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


def main() -> None:
    """Serve until nobody wants anything any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.dup(1)
    os.dup2(2, 1)
    parent = _getppid()
    with suppress(EOFError, OSError):
        hello: Hello = receive(0)
        try:
            _open(hello, answers, parent)
        except (TreadleError, TreadleBug) as error:
            send(answers, error)
        except (EOFError, OSError):
            raise
        except Exception as error:
            send(answers, TreadleError(f"the test cannot be opened there: {error!r}"))
    _exit(0)


def _open(hello: Hello, answers: int, parent: int) -> None:
    """Find the test, take control of it, and do jobs."""
    os.chdir(hello.directory)
    sys.path[:] = list(dict.fromkeys([*hello.path, *sys.path]))
    module, _, function = hello.opener.partition(":")
    test: Any = getattr(importlib.import_module(module), function)(hello.name)
    place.become_hand(test)
    values, asked = pickle.loads(hello.options)
    with opened(test, Settings(values, asked)) as session:
        send(answers, facts_of(session.program, test))
        _serve(session, hello, answers, parent)


def _serve(session: Session, hello: Hello, answers: int, parent: int) -> None:
    tasks = Tasks(space_of(session.work(), Policy(hello.workers, hello.by_executions)))
    tasks.space.is_over = lambda: _getppid() != parent
    worker = tasks if hello.hands == 1 else Foreman(tasks, hello.hands)
    while _select([0], [], [], _IDLE)[0]:
        job = receive(0)
        try:
            answer = worker.done(job)
        except (OutOfMemory, MemoryError):
            _exit(OutOfMemory.status)
        send(answers, answer)


if __name__ == "__main__":
    main()

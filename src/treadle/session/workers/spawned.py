"""Hands that import the test by name: where a process cannot be copied, and on engines.

A hand is `python -m treadle.session.workers.hand`: jobs go to its standard input, answers come from
its standard output. `explore_in_hand` is what an engine's worker runs, or a thread of this process:
it keeps its hands between jobs, and never runs the test itself. Treadle replaces what a whole
process has of `threading`, which an engine would not survive.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from treadle.core.errors import TreadleError
from treadle.session.workers.handshake import Facts, difference
from treadle.session.workers.messages import receive, send
from treadle.session.workers.naming import Name
from treadle.session.workers.parts import Answer, Job

_SEED = "PYTHONHASHSEED"
_TO_LEAVE, _TO_TEAR_DOWN = 0.05, 10.0
"""Seconds that a hand has to end by itself before it is killed."""


class HandRefused(TreadleError):
    """A process cannot explore the test, or would explore another one."""


class HandDied(Exception):
    """A hand ended in the middle of a job."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a hand is told before its first job."""

    name: Name
    directory: str
    path: tuple[str, ...]
    """Where modules are found."""
    options: bytes
    """The settings, pickled."""
    workers: int
    by_executions: bool
    facts: Facts
    """What the hand has to agree with."""
    hands: int = 1
    """How many copies of itself it explores with; if several, it is a foreman."""


class SpawnedHand:
    """A process that imports the test by name."""

    def __init__(self, hello: Hello, number: int, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "treadle.session.workers.hand"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={_SEED: "0", **os.environ, **environment},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin.fileno()
        self._answers = self._process.stdout.fileno()
        self._patience = _TO_TEAR_DOWN if hello.name.tears_down else _TO_LEAVE
        found = self._asked(hello)
        if isinstance(found, Exception):
            self.close()
            raise HandRefused(str(found)) if isinstance(found, TreadleError) else found
        differs = difference(found, hello.facts)
        if differs:
            self.close()
            raise HandRefused(f"worker {number} does not run the same program: {differs}")

    def done(self, job: Job) -> Answer:
        """Let it do a job; raise `HandDied` if it does not survive that."""
        answer: Answer | Exception = self._asked(job)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _asked(self, message: object) -> Any:
        try:
            send(self._requests, message)
            return receive(self._answers)
        except (OSError, EOFError):
            how = self.close()
            raise HandDied(how) from None

    @property
    def is_there(self) -> bool:
        """Tell whether it lives: it ends by itself if it is idle for long."""
        return self._process.poll() is None

    def let_go(self) -> None:
        """Let it know that nobody wants anything any more."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def close(self) -> str:
        """End it, once it has torn down what it set up; say how it had ended."""
        self.let_go()
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdout.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self._patience)
        self._process.kill()
        code = self._process.wait()
        return f"killed by signal {-code}" if code < 0 else f"it ended with status {code}"


class _Kept:
    """The hands of this process, by what they explore; threads take and give back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[bytes, list[SpawnedHand]] = {}
        self._busy: dict[bytes, list[SpawnedHand]] = {}
        self._numbers = 0
        self.environment: dict[str, str] = {}

    def take(self, key: bytes) -> SpawnedHand:
        with self._lock:
            self._bury()
            idle = self._idle.get(key)
            hand = idle.pop() if idle else None
            self._numbers += 1
            number = self._numbers
        if hand is None:
            hand = SpawnedHand(pickle.loads(key), number, self.environment)
        with self._lock:
            self._busy.setdefault(key, []).append(hand)
        return hand

    def _bury(self) -> None:
        """Forget hands that have ended, of earlier explorations, too: workers of engines stay."""
        for key, hands in list(self._idle.items()):
            self._idle[key] = [hand for hand in hands if hand.is_there]
            for hand in hands:
                if not hand.is_there:
                    hand.close()
            if not self._idle[key]:
                del self._idle[key]

    def give_back(self, key: bytes, hand: SpawnedHand, *, is_dead: bool) -> None:
        with self._lock:
            busy = self._busy.get(key, [])
            if hand in busy:
                busy.remove(hand)
                if not is_dead:
                    self._idle.setdefault(key, []).append(hand)

    def close(self, key: bytes) -> None:
        with self._lock:
            hands = self._idle.pop(key, []) + self._busy.pop(key, [])
        for hand in hands:
            hand.let_go()
        for hand in hands:
            hand.close()


KEPT = _Kept()


def explore_in_hand(hello: bytes, job: bytes) -> bytes:
    """Do a job in a hand of this process's; it is started if there is none that is idle."""
    hand = KEPT.take(hello)
    is_dead = True
    try:
        answer = hand.done(pickle.loads(job))
        is_dead = False
        return pickle.dumps(answer)
    finally:
        KEPT.give_back(hello, hand, is_dead=is_dead)

"""Kinds of findings that only tests with tasks have."""

from __future__ import annotations

from typing import ClassVar

from treadle.core.program import Violation

LEFTOVER = "leftover"
"""A task is still pending after what `asyncio.run` does at the end."""
UNAWAITED = "unawaited"
"""A coroutine was created, and nobody ever ran it."""
KINDS = (LEFTOVER, UNAWAITED)


class NeverAwaited(Violation):
    """A coroutine was created, and nobody ever ran it."""

    kind: ClassVar[str] = UNAWAITED


class EndlessLoop(Violation):
    """A loop inside of a step changes nothing, so that it never ends: no other task gets to run."""

    kind: ClassVar[str] = "livelock"


class BlockingCall(Violation):
    """A task waits without `await`, for ever: the whole loop stands still."""

    kind: ClassVar[str] = "deadlock"

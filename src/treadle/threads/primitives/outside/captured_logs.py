"""`caplog` of pytest: who asks it what was logged sees the order; nobody else does."""

from __future__ import annotations

import sys
from typing import Any

from treadle.python.accesses.loggers import ask_for_captured
from treadle.threads.primitives.patches import Patches


def patches() -> Patches:
    """Return what is replaced of the fixture: all that it is asked for comes from its handler."""
    fixture = sys.modules["_pytest.logging"].LogCaptureFixture
    original = fixture.handler

    def handler(self: Any) -> Any:
        ask_for_captured()
        return original.__get__(self)

    return Patches([(fixture, "handler", property(handler))])

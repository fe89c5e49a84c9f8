"""Executions in which no debugger is to stop."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_breakpoints() -> Iterator[None]:
    """Let `breakpoint()` do nothing for a while: nobody wants to look at these executions."""
    before = sys.breakpointhook
    sys.breakpointhook = lambda *_args, **_options: None
    try:
        yield
    finally:
        sys.breakpointhook = before

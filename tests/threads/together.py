"""Threads that run at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def together(*bodies: Callable[[], Any]) -> None:
    """Run functions in threads of their own, and wait for them."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

"""The interpreter's main thread: while a test is explored, it is the one that runs the test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from treadle.python.runtime.task import Task

_ambient_excepthook: Any = threading.excepthook
"""The hook that was there before the execution began; bound by `MainThread`."""


def has_own_excepthook() -> bool:
    """Tell whether `threading.excepthook` is the test's own."""
    return threading.excepthook is not _ambient_excepthook


class MainThread:
    """Keeps the main thread, and the hook for exceptions of threads, as they were."""

    def __init__(self) -> None:
        self._thread: Any = threading.main_thread()
        self._attributes: dict[str, Any] = {}
        """What the main thread has at the beginning of an execution."""

    def take(self) -> Callable[[], None]:
        """Remember how things are; return what puts them back."""
        global _ambient_excepthook
        self._thread = threading.main_thread()
        before = dict(vars(self._thread))
        self._attributes = dict(before)
        _ambient_excepthook = threading.excepthook

        def put_back() -> None:
            threading.excepthook = _ambient_excepthook
            self._put_back(before)

        return put_back

    def begin(self, main: Task) -> None:
        """Make the main thread the one of the test, with the attributes it had."""
        threading.excepthook = _ambient_excepthook
        main.thread = self._thread
        current, attributes = vars(main.thread), self._attributes
        current["_treadle"] = attributes["_treadle"] = main
        if current != attributes:
            self._put_back(attributes)

    def _put_back(self, attributes: dict[str, Any]) -> None:
        """Take back what an execution did to the attributes of the main thread."""
        current = vars(self._thread)
        for name in current.keys() - attributes.keys():
            if not name.startswith("_threading_local."):  # that module removes them itself
                del current[name]
        current.update(attributes)

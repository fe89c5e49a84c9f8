"""Start some functions as threads and wait for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

Test = Callable[[], None]


def run_together(functions: Iterable[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

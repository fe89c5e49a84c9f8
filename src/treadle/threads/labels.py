"""What the code under test calls its threads."""

from __future__ import annotations

import re
import threading

from treadle.python.runtime.task import Task

_DEFAULT_NAME = re.compile(r"Thread-[\d.]+(?: \((.+)\))?")
_DEFAULT_WORKER = re.compile(r"ThreadPoolExecutor-[\d.]+_(\d+)")


def label_of_thread(task: Task) -> str:
    """Return what the code under test calls a thread: the name it gave it, or its function."""
    thread = task.thread
    if thread is None or task.name == "main":
        return ""
    name = str(thread._name)
    if worker := _DEFAULT_WORKER.fullmatch(name):
        return f"pool worker {worker[1]}"
    default = _DEFAULT_NAME.fullmatch(name)
    if default is None:
        return name
    kind = type(thread)
    return default[1] or ("" if kind is threading.Thread else kind.__name__)

"""CPython's own source of Condition, Event, semaphores and Barrier, as code under test.

The classes of `threading` are replaced while a test is explored. These are the same source, not
replaced, on Treadle's locks: an oracle for the models that stand for them.
"""

from __future__ import annotations

import inspect
import threading
from _thread import allocate_lock as _allocate_lock
from collections import deque as _deque
from threading import BrokenBarrierError, Lock, RLock
from time import monotonic as _time
from typing import Any

_USED = (_allocate_lock, _deque, BrokenBarrierError, Lock, RLock, _time)
"""What the source refers to."""

Condition: Any
Event: Any
Semaphore: Any
BoundedSemaphore: Any
Barrier: Any

for _name in ("Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"):
    _source = inspect.getsource(getattr(threading, _name))
    exec(compile(_source, __file__, "exec", dont_inherit=True))

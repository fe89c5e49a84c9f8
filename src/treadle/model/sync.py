"""Synchronisation objects of a model: locks, semaphores, condition variables.

Blocking operations are yielded (`yield s.lock.acquire()`), the others are plain calls inside a
step (`s.lock.release()`).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from treadle.core.errors import TreadleError
from treadle.core.events import OPEN, Codes, Mode, code
from treadle.core.records import WaitKind
from treadle.model.operations import Operation

if TYPE_CHECKING:
    from treadle.model.run import ModelRun

_FREE = -1
_TRY = "try to acquire"


class Lock(Operation):
    """A mutual-exclusion lock: `yield s.lock.acquire()`, then `s.lock.release()`."""

    __slots__ = ("_location", "_name", "_owner", "_run")

    kind = WaitKind.LOCK

    _run: ModelRun
    _name: str
    _location: int

    def __init__(self) -> None:
        self._owner = _FREE

    def build(self, run: ModelRun, name: str) -> Lock:
        """Return this lock as a shared object of a run."""
        built = type(self)()
        built._run = run
        built._name = name
        built._location = run.locate(name, name, built._words)
        return built

    def _words(self) -> str:
        return "free" if self._owner == _FREE else f"held by {self._run.name_of(self._owner)}"

    def acquire(self) -> Operation:
        """Wait until the lock is free and take it: to be yielded."""
        return self._run.offer(self)

    def try_acquire(self) -> bool:
        """Take the lock if it is free, and tell whether it was."""
        if self._owner != _FREE:
            self._run.log_call((OPEN, code(self._location, Mode.READ)), _TRY, self._name)
            return False
        self._owner = self._run.current
        codes = (OPEN, code(self._location, Mode.WRITE))
        self._run.log_call(codes, _TRY, self._name, held=self._name)
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._check_owner("releases")
        self._owner = _FREE
        self._run.append(code(self._location, Mode.GIVE))

    def pass_to(self, process: int) -> None:
        """Make a process the holder, or nobody, in a step that says so itself."""
        self._owner = process

    def _check_owner(self, verb: str) -> None:
        if self._owner != self._run.current:
            raise TreadleError(
                f"process {self._run.current_name} {verb} lock {self._name!r}, which is "
                f"{self._words()}: only its holder may do that; "
                f"use a Semaphore to signal between processes"
            )

    @property
    def locked(self) -> bool:
        """Whether some process holds the lock; reading it depends on every acquire and release."""
        self._run.append(code(self._location, Mode.READ))
        return self._owner != _FREE

    def ready(self, process: int) -> bool:
        """Tell whether the lock is free."""
        return self._owner == _FREE

    def perform(self, process: int) -> Any:
        """Take the lock."""
        self._owner = process
        self._run.append(code(self._location, Mode.TAKE))

    def pending(self, process: int) -> Codes:
        """Return the acquisition."""
        return (code(self._location, Mode.TAKE),)

    def describe(self) -> str:
        """Name the lock."""
        return self._name

    def holders(self) -> list[int]:
        """Return the lock's holder."""
        return [] if self._owner == _FREE else [self._owner]

    def held(self) -> str:
        """Name the lock."""
        return self._name

    def fingerprint_of(self) -> object:
        """Return the holder, for the state's fingerprint."""
        return self._name, self._owner


class RLock(Lock):
    """A reentrant lock: its holder may acquire it again, and releases it as often."""

    __slots__ = ("_depth",)

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def try_acquire(self) -> bool:
        """Take the lock if it is free or held by the same process, and tell whether it was."""
        if self._owner == self._run.current:
            self._depth += 1
            return True
        return super().try_acquire() and self._enter()

    def _enter(self) -> bool:
        self._depth = 1
        return True

    def release(self) -> None:
        """Give the lock back once; the last release frees it."""
        self._check_owner("releases")
        self._depth -= 1
        if self._depth == 0:
            super().release()

    def ready(self, process: int) -> bool:
        """Tell whether the lock is free or already held by this process."""
        return self._owner in (_FREE, process)

    def perform(self, process: int) -> None:
        """Take the lock; a nested acquisition is no event for others."""
        if self._owner == process:
            self._depth += 1
        else:
            super().perform(process)
            self._depth = 1

    def pending(self, process: int) -> Codes:
        """Return the acquisition, if it is not nested."""
        return () if self._owner == process else super().pending(process)

    def fingerprint_of(self) -> object:
        """Return holder and depth, for the state's fingerprint."""
        return self._name, (self._owner, self._depth)


class Semaphore(Operation):
    """A counting semaphore: `yield s.sem.acquire()`, then `s.sem.release()`."""

    __slots__ = ("_location", "_name", "_run", "_units")

    kind = WaitKind.UNIT

    _run: ModelRun
    _name: str
    _location: int

    def __init__(self, units: int = 1) -> None:
        if units < 0:
            raise TreadleError(f"a semaphore cannot start with {units} units: use 0 or more")
        self._units = units

    def build(self, run: ModelRun, name: str) -> Semaphore:
        """Return this semaphore as a shared object of a run."""
        built = Semaphore(self._units)
        built._run = run
        built._name = name
        built._location = run.locate(name, name, lambda: built._units)
        return built

    def acquire(self) -> Operation:
        """Wait until a unit is there and take it: to be yielded."""
        return self._run.offer(self)

    def try_acquire(self) -> bool:
        """Take a unit if one is there, and tell whether there was."""
        taken = self._units > 0
        self._units -= taken
        codes = (OPEN, code(self._location, Mode.WRITE if taken else Mode.READ))
        self._run.log_call(codes, _TRY, self._name, held=self._name if taken else "")
        return taken

    def release(self) -> None:
        """Give a unit back, or a new one."""
        self._units += 1
        self._run.append(code(self._location, Mode.GIVE))

    def ready(self, process: int) -> bool:
        """Tell whether a unit is there."""
        return self._units > 0

    def perform(self, process: int) -> None:
        """Take a unit."""
        self._units -= 1
        self._run.append(code(self._location, Mode.SPARE if self._units else Mode.TAKE))

    def pending(self, process: int) -> Codes:
        """Return the acquisition."""
        return (code(self._location, Mode.SPARE if self._units > 1 else Mode.TAKE),)

    def describe(self) -> str:
        """Name the semaphore."""
        return self._name

    def held(self) -> str:
        """Name the semaphore."""
        return self._name

    def fingerprint_of(self) -> object:
        """Return the number of units, for the state's fingerprint."""
        return self._name, self._units


class Condition:
    """A condition variable on a lock of its own or a given one; waiters are woken in order.

    `yield s.cond.acquire()`, `yield s.cond.wait()`, `s.cond.notify()`, `s.cond.release()`.
    """

    __slots__ = ("_location", "_lock", "_name", "_run", "_signals", "_waiting")

    _run: ModelRun
    _name: str
    _location: int
    _waiting: deque[int]
    _signals: set[int]

    def __init__(self, lock: Lock | None = None) -> None:
        if isinstance(lock, RLock):
            raise TreadleError("a model's Condition takes a Lock, not an RLock")
        self._lock = lock if lock is not None else Lock()

    def build(self, run: ModelRun, name: str) -> Condition:
        """Return this condition variable as a shared object of a run."""
        built = Condition(run.shared_lock(self._lock, f"{name} lock"))
        built._run = run
        built._name = name
        built._location = run.locate(name, name, lambda: f"{len(built._waiting)} waiting")
        built._waiting = deque()
        built._signals = set()
        return built

    def acquire(self) -> Operation:
        """Take the condition's lock: to be yielded."""
        return self._lock.acquire()

    def release(self) -> None:
        """Give the condition's lock back."""
        self._lock.release()

    def wait(self) -> Operation:
        """Release the lock, wait to be notified and take the lock again: to be yielded."""
        return self._run.offer(_Wait(self))

    def notify(self, count: int = 1) -> None:
        """Wake up to `count` waiting processes."""
        self._wake(count, "notify")

    def notify_all(self) -> None:
        """Wake all waiting processes."""
        self._wake(len(self._waiting), "notify all on")

    def _wake(self, count: int, verb: str) -> None:
        self._lock._check_owner("notifies with")
        codes = [OPEN, code(self._location, Mode.WRITE)]
        for _ in range(min(count, len(self._waiting))):
            process = self._waiting.popleft()
            self._signals.add(process)
            codes.append(code(self._signal(process), Mode.WRITE))
        self._run.log_call(codes, verb, self._name)

    def _signal(self, process: int) -> int:
        label = f"{self._name} signal to {self._run.name_of(process)}"
        return self._run.locate((self._name, "signal", process), label, lambda: "sent")

    def fingerprint_of(self) -> object:
        """Return who waits and who was woken, for the state's fingerprint."""
        return self._name, (tuple(self._waiting), frozenset(self._signals))


class _Wait(Operation):
    """First half of a wait: release the lock and queue up."""

    __slots__ = ("_condition",)

    def __init__(self, condition: Condition) -> None:
        self._condition = condition

    def ready(self, process: int) -> bool:
        """A process can always begin to wait."""
        return True

    def perform(self, process: int) -> Operation:
        """Release the lock and queue up."""
        condition = self._condition
        condition._lock._check_owner("waits with")
        condition._waiting.append(process)
        condition._lock.pass_to(_FREE)
        condition._run.log_call(self.pending(process), "wait on", condition._name)
        return _Wake(condition)

    def pending(self, process: int) -> Codes:
        """Return the release and the queueing."""
        condition = self._condition
        return (
            code(condition._location, Mode.WRITE),
            code(condition._lock._location, Mode.GIVE),
        )

    def describe(self) -> str:
        """Name the condition variable."""
        return self._condition._name


class _Wake(Operation):
    """Second half of a wait: notified, take the lock again."""

    __slots__ = ("_condition",)

    kind = WaitKind.NOTIFICATION

    def __init__(self, condition: Condition) -> None:
        self._condition = condition

    def ready(self, process: int) -> bool:
        """Tell whether the process was notified and the lock is free."""
        condition = self._condition
        return process in condition._signals and condition._lock.ready(process)

    def perform(self, process: int) -> None:
        """Consume the signal and take the lock."""
        condition = self._condition
        condition._signals.discard(process)
        condition._lock.pass_to(process)
        codes, lock = self.pending(process), condition._lock.held()
        condition._run.log_call(codes, "wake up on", condition._name, held=lock)

    def pending(self, process: int) -> Codes:
        """Return the consumed signal and the acquisition."""
        condition = self._condition
        return (
            code(condition._signal(process), Mode.NEED),
            code(condition._lock._location, Mode.TAKE),
        )

    def describe(self) -> str:
        """Say whether the signal or the lock is missing."""
        return f"a notification of {self._condition._name}"

    def holders(self) -> list[int]:
        """Return the lock's holder."""
        return self._condition._lock.holders()

"""`threading.Lock` and `threading.RLock` under control.

The originals are written in C, so these classes stand for them while a test is explored. A real
lock that was made before has a model that stands for it in one execution (`model_of`).
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any

from treadle.core.events import OPEN, Codes, Mode
from treadle.core.records import WaitKind
from treadle.python.accesses.stand_ins import MADE_IN_C, register_stand_in
from treadle.python.runtime import control
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed, method
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.spin import effects, look
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import InTime
from treadle.python.sharing.identities import stable_hash
from treadle.python.sharing.walks import register
from treadle.threads.primitives.facets import FacetTable, act, table_of
from treadle.threads.primitives.internals import RLOCKS_CAN_BE_ASKED
from treadle.threads.primitives.patches import Patches

REAL_LOCK: Any = type(_thread.allocate_lock())
REAL_RLOCK: Any = _thread.RLock

_FOREVER = -1

ACQUIRE = Deed("acquire", lambda lock: lock.label())
RELEASE = Deed("release", lambda lock: lock.label())
LOCKED = method(lambda lock: lock.label(), "locked", lambda lock, _: lock._locked)


class _Kind(type):
    """The class of lock classes: a real lock is an instance of the class that stands for its own.

    So `isinstance(lock, type(threading.Lock()))` holds for locks made before.
    """

    real: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, cls.real)


class _Lock:
    """What both kinds of locks have in common."""

    __slots__ = ("__weakref__", "_identity", "_outside", "_owner")

    make_real: Callable[[], Any]
    __hash__ = stable_hash  # a set of locks has one order

    def __init__(self) -> None:
        self._owner: Task | None = None
        """Who took it last and holds it."""
        self._identity = id(self)
        """The `id` of the object that it is published as."""
        self._outside: Any = None
        """The real lock that does the work outside of an execution."""

    def is_free_for(self, task: Task) -> bool:
        """Tell whether a task can take the lock."""
        raise NotImplementedError

    def take(self, task: Task) -> None:
        """Make a task the holder."""
        raise NotImplementedError

    def table(self) -> FacetTable | None:
        """Return its locations, or None while nobody else can reach it."""
        return table_of(self._identity)

    def codes(self, *modes: Mode) -> Codes:
        """Return the codes of accesses to its state."""
        table = self.table()
        return () if table is None else tuple([table.code(mode) for mode in modes])

    def label(self) -> str:
        """Return its name for people."""
        table = self.table()
        return "a lock of its own" if table is None else table.label

    def holders(self) -> list[Task]:
        """Return the task that holds it."""
        return [] if self._owner is None else [self._owner]

    def free(self) -> None:
        """Let nobody hold it."""
        raise NotImplementedError

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        """Refuse to be copied or pickled, in the words of a real lock."""
        return self.make_real().__reduce_ex__(protocol)

    def _at_fork_reinit(self) -> None:
        """Make it as new."""
        if control.current() is None:
            self.outside()._at_fork_reinit()
            return
        _overwrite(self)
        self.free()

    # Taking

    def acquire(self, blocking: bool = True, timeout: float = _FOREVER) -> bool:
        """Take the lock; tell whether that was possible in time."""
        me = control.current()
        if me is None:
            taken: bool = self.outside().acquire(blocking, timeout)
            return taken
        if blocking is not True or timeout != _FOREVER:
            check_arguments(self.make_real(), blocking, timeout)
            if not blocking or timeout != _FOREVER:
                return self._try(me, timeout if blocking else 0)
        self.take_for(me, ACQUIRE, self)
        return True

    def take_for(self, me: Task, deed: Deed, about: Any) -> None:
        """Take the lock, however long that takes; for what, reports say."""
        table = self.table()
        # A nested acquisition is no event.
        if not self.is_free_for(me) or (self._owner is not me and table is not None):
            control.announce(Taking(self), deed, about)
            act(me, () if table is None else (table.code(Mode.TAKE),))
        self.take(me)

    def _try(self, me: Task, timeout: float) -> bool:
        """Take the lock unless it stays taken for `timeout` seconds."""
        free = self.is_free_for(me)
        if not free or (self._owner is not me and self.table() is not None):
            operation = InTime(Taking(self), me, timeout)
            control.announce(operation, ACQUIRE, self)
            free = self.is_free_for(me)
            if operation.is_patient:
                act(me, self.codes(Mode.TAKE))
            else:
                codes = (OPEN, *self.codes(Mode.WRITE if free else Mode.READ))
                act(me, (*operation.codes(me, codes), *look(codes[1:])))
        if free:
            effects[0] = effects[0] or self.table() is None  # then it is no event
            self.take(me)
        else:
            control.pass_time(me, timeout)
        return free

    __enter__ = acquire

    def __exit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        """Give the lock back."""
        me = control.current()
        if me is None:
            self.outside().release()
        else:
            self.release_for(me, RELEASE, self)

    def release_for(self, me: Task, deed: Deed, about: Any) -> None:
        """Give the lock back; for what, reports say."""
        raise NotImplementedError

    # Outside of an execution

    def outside(self) -> Any:
        """Return the real lock that does the work outside of an execution."""
        if self._outside is None:
            self._outside = self.make_real()
        return self._outside


class Taking(Operation):
    """Wait until a lock is free, however long it takes."""

    __slots__ = ("_lock",)

    kind = WaitKind.LOCK

    def __init__(self, lock: _Lock) -> None:
        self._lock = lock

    def ready(self, task: Task) -> bool:
        """Tell whether the lock can be taken."""
        return self._lock.is_free_for(task)

    def pending(self, task: Task) -> Codes:
        """Return the acquisition."""
        return self._lock.codes(Mode.TAKE)

    def describe(self) -> str:
        """Name the lock."""
        return self._lock.label()

    def holders(self) -> list[Task]:
        """Return the lock's holder."""
        return self._lock.holders()

    def held(self) -> str:
        """Name the lock."""
        return self._lock.label()


class Lock(_Lock, metaclass=_Kind):
    """`threading.Lock`: anybody may release it."""

    __slots__ = ("_locked",)

    real = REAL_LOCK
    make_real = staticmethod(_thread.allocate_lock)

    def __init__(self) -> None:
        super().__init__()
        self._locked = False

    def is_free_for(self, task: Task) -> bool:
        """Tell whether nobody holds it."""
        return not self._locked

    def take(self, task: Task) -> None:
        """Make a task the holder."""
        self._locked = True
        self._owner = task

    def release_for(self, me: Task, deed: Deed, about: Any) -> None:
        """Give the lock back, whoever took it.

        For its holder that is a plain `GIVE`. Releases of others are in a race with that: which of
        them finds a lock to release depends on the order.
        """
        given = self.codes(Mode.GIVE)
        if given:
            control.announce(given, deed, about)
            act(me, given if self._owner is me else self._foreign_release())
        if not self._locked:
            raise RuntimeError("release unlocked lock")
        self.free()

    def _foreign_release(self) -> Codes:
        """Return the codes of releasing a lock that the current task did not take."""
        return (OPEN, *self.codes(*((Mode.READ, Mode.GIVE) if self._locked else (Mode.READ,))))

    def free(self) -> None:
        """Let nobody hold it."""
        self._locked = False
        self._owner = None

    def locked(self) -> bool:
        """Tell whether somebody holds it."""
        if control.current() is None:
            held: bool = self.outside().locked()
            return held
        _observe(self, LOCKED)
        return self._locked

    acquire_lock = _Lock.acquire
    release_lock = _Lock.release
    locked_lock = locked

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} _thread.lock object at {self.label()}>"


class RLock(_Lock, metaclass=_Kind):
    """`threading.RLock`: its holder may take it again, and only the holder may release it."""

    __slots__ = ("_depth",)

    real = REAL_RLOCK
    make_real = staticmethod(_thread.RLock)
    _depth: int

    def __new__(cls, *args: object, **kwargs: object) -> RLock:
        """Make a lock; take the arguments of the original, and need no `__init__`."""
        if args or kwargs:
            REAL_RLOCK(*args, **kwargs)  # from Python 3.15 on it takes none
        made = super().__new__(cls)
        _Lock.__init__(made)
        made._depth = 0
        return made

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def is_free_for(self, task: Task) -> bool:
        """Tell whether nobody else holds it."""
        return self._depth == 0 or self._owner is task

    def take(self, task: Task) -> None:
        """Make a task the holder, once more."""
        self._owner = task
        self._depth += 1

    def release_for(self, me: Task, deed: Deed, about: Any) -> None:
        """Give the lock back once; the last release frees it."""
        self._check_owner(me)
        given = self.codes(Mode.GIVE) if self._depth == 1 else ()
        if given:
            control.announce(given, deed, about)
            act(me, given)
        self._depth -= 1
        if self._depth == 0:
            self._owner = None

    def _check_owner(self, me: Task) -> None:
        if self._owner is not me:
            raise RuntimeError("cannot release un-acquired lock")

    def _is_owned(self) -> bool:
        """Tell whether the current thread holds it; no event, since nobody else can change it."""
        me = control.current()
        if me is None:
            owned: bool = self.outside()._is_owned()
            return owned
        return self._owner is me

    def _recursion_count(self) -> int:
        """Return how often the current thread holds it."""
        me = control.current()
        if me is None:
            count: int = self.outside()._recursion_count()
            return count
        return self._depth if self._owner is me else 0

    def _release_save(self) -> tuple[int, Any]:
        """Free the lock, however often it is held; return what `_acquire_restore` needs."""
        me = control.current()
        if me is None:
            saved: tuple[int, Any] = self.outside()._release_save()
            return saved
        self._check_owner(me)
        depth, self._depth = self._depth, 1
        self.release()
        return depth, me

    def _acquire_restore(self, saved: tuple[int, Any]) -> None:
        """Take the lock as often as it was held."""
        if control.current() is None:
            self.outside()._acquire_restore(saved)
            return
        self.acquire()
        self._depth = saved[0]

    if RLOCKS_CAN_BE_ASKED:

        def locked(self) -> bool:
            """Tell whether somebody holds it."""
            if control.current() is None:
                held: bool = self.outside().locked()
                return held
            _observe(self, LOCKED)
            return self._depth > 0

    def free(self) -> None:
        """Let nobody hold it."""
        self._depth = 0
        self._owner = None

    def __repr__(self) -> str:
        if control.current() is None:
            return repr(self.outside())
        _observe(self)
        state = "locked" if self._depth else "unlocked"
        kind = type(self)
        name = "_thread.RLock" if kind is RLock else f"{kind.__module__}.{kind.__qualname__}"
        owner = self._owner.name if self._owner else 0
        return f"<{state} {name} object owner={owner} count={self._depth} at {self.label()}>"


def _observe(lock: _Lock, deed: Deed = PLAIN_ACCESS) -> None:
    """Announce that a lock's state is read."""
    codes = lock.codes(Mode.READ)
    if codes:
        act(control.announce(codes, deed, lock), (*codes, *look(codes)))


def _overwrite(lock: _Lock) -> None:
    """Announce that a lock's state is set, whatever it was."""
    codes = lock.codes(Mode.WRITE)
    if codes:
        act(control.announce(codes), (*codes, *look(codes)))


def check_arguments(free: Any, blocking: Any, timeout: Any) -> None:
    """Raise what a real lock, which is free, raises for arguments of `acquire`."""
    free.acquire(blocking, timeout)
    free.release()


# Locks that were made before


def model_of(lock: Any) -> Lock | RLock:
    """Return the lock that stands for a real one in this execution.

    It begins in the state of the real one. A real lock that the exploring thread itself holds is
    held by the main thread of the test.
    """
    if isinstance(lock, _Lock):
        already: Any = lock
        return already  # type: ignore[no-any-return]
    models = control.the_program().scheduler.scratch.setdefault("locks", {})
    found: tuple[Any, Lock | RLock] | None = models.get(id(lock))
    if found is None:
        # The real one is kept too: another object must not get its `id`.
        found = models[id(lock)] = (lock, _model(lock))
    return found[1]


def _model(real: Any) -> Lock | RLock:
    model: Lock | RLock
    if isinstance(real, REAL_LOCK):
        model = Lock()
        model._locked = real.locked()
    else:
        model = RLock()
        if real._is_owned():
            tasks = control.the_program().scheduler.alive.values()
            model._owner = next((task for task in tasks if task.name == "main"), None)
            model._depth = real._recursion_count()
        elif real.acquire(blocking=False):
            real.release()
        else:
            model._depth = 1  # held by a thread that is not under control
    model._identity = id(real)
    return model


MADE_IN_C.add(Lock)  # `RLock` stands for a function in Python
for _kind in (Lock, RLock, REAL_LOCK, REAL_RLOCK):
    register(_kind, FacetTable)
for _kind in (REAL_LOCK, REAL_RLOCK):
    register_stand_in(_kind, model_of)

PATCHES: Patches = Patches(
    references=[
        (_thread.allocate_lock, Lock),
        (threading.Lock, Lock),
        (REAL_LOCK, Lock),
        (REAL_RLOCK, RLock),
    ]
)

"""`threading.local` under control: each task has values of its own.

The type is written in C and finds its values by the thread of the operating system, of which there
is only one here. So what that thread has is exchanged at each hand-over: the thread's dictionary up
to Python 3.12, the key that the thread state holds from 3.13 on. This works for every instance,
those made at import and those of subclasses too. It costs something, and is done only if there are
such objects.
"""

from __future__ import annotations

import _thread
import ctypes
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.events import Codes
from treadle.python.runtime import control
from treadle.python.runtime.scheduler import Scheduler
from treadle.python.runtime.task import Task
from treadle.python.sharing.lives import lives
from treadle.python.sharing.restoring import undo_content
from treadle.python.sharing.tables import ObjectTable
from treadle.python.sharing.walks import register
from treadle.threads.primitives.internals import KEYS_OF_LOCALS
from treadle.threads.primitives.patches import Patches

_Local: Any = _thread._local
_STATE_WORDS = 100
"""Words of the thread state in which its key for thread-local values is looked for."""
_FOREIGN = sys.stdlib_module_names | {"_pytest", "click", "hypothesis", "pluggy", "pytest", "rich"}
"""Packages whose own thread-local objects do not matter for a test."""


class DictionarySlot:
    """What a thread has of each local, up to Python 3.12: entries of the thread's dictionary."""

    def __init__(self) -> None:
        get = ctypes.pythonapi.PyThreadState_GetDict
        get.restype = ctypes.c_void_p  # a borrowed reference, which `py_object` would release
        self._entries: dict[Any, Any] = ctypes.cast(get(), ctypes.py_object).value

    def take(self) -> Any:
        """Take out what is there."""
        entries = dict(self._entries)
        self._entries.clear()
        return entries

    def put(self, entries: Any) -> None:
        """Put back what was taken out; nothing for a thread that begins."""
        if entries:
            self._entries.update(entries)


class KeySlot:
    """What a thread has of each local, from Python 3.13 on: its key, and a sign that it lives."""

    def __init__(self) -> None:
        api = ctypes.pythonapi
        api.PyThreadState_Get.restype = ctypes.c_void_p
        self._words = (ctypes.c_void_p * _STATE_WORDS).from_address(api.PyThreadState_Get())
        self._release = api.Py_DecRef
        self._release.argtypes = [ctypes.c_void_p]
        self._retain = api.Py_IncRef
        self._retain.argtypes = [ctypes.c_void_p]
        self._at = self._find()

    def _find(self) -> int:
        """Find the key in the thread state: there is no function that returns it."""
        probe = _Local()
        probe.value = None
        for values in gc.get_referents(probe):
            if isinstance(values, dict) and len(values) == 1:
                address = id(next(iter(values)))
                for position in range(_STATE_WORDS - 1):
                    if self._words[position] == address:
                        return position
        raise TreadleError("threading.local cannot be explored on this build of Python")

    def take(self) -> Any:
        """Take out what is there."""
        taken = []
        for position in (self._at, self._at + 1):
            address = self._words[position]
            self._words[position] = None
            if address:
                taken.append(ctypes.cast(address, ctypes.py_object).value)
                self._release(address)
        return taken

    def put(self, taken: Any) -> None:
        """Put back what was taken out; nothing for a thread that begins."""
        for position, one in enumerate(taken or ()):
            self._retain(id(one))
            self._words[self._at + position] = id(one)


class Locals:
    """The thread-local values of the tasks of one exploration."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._slot: DictionarySlot | KeySlot | None = None
        self._loaded: Task | None = None
        """Whose values are in place; None for the test's main thread, which has the real ones."""
        self._home: Any = None
        self._alive: list[Any] = []
        """Locals of this execution: one that died would leave its values to its successor."""
        self._instances: list[tuple[Any, dict[str, Any]]] = []
        self._contents: list[Callable[[], None]] = []
        """What puts back the containers that the test's main thread has in them."""
        self._wrapped: list[tuple[Any, Any]] = []
        self._met: list[Any] = []

    # An exploration's life

    def meet(self, instances: list[Any]) -> None:
        """Be told of all thread-local objects that there are, before `take`."""
        self._met = instances

    def take(self) -> Callable[[], None]:
        """Look which thread-local objects there are; return what puts everything back."""
        found, self._met = [one for one in self._met if not _is_foreign(type(one))], []
        foreign = _foreign_globals() if found else set()
        self._instances = [(one, dict(one.__dict__)) for one in found if id(one) not in foreign]
        held = (value for _, values in self._instances for value in values.values())
        self._contents = [undo for undo in map(undo_content, held) if undo is not None]
        for kind in _Local.__subclasses__():
            if kind is not local:
                self._wrap(kind)
        if self._instances:
            self._exchange_from_now_on()
        return self._put_back

    def _put_back(self) -> None:
        self._reset()
        self._scheduler.on_switch = None
        while self._wrapped:
            kind, before = self._wrapped.pop()
            if before is None:
                del kind.__new__
            else:
                kind.__new__ = before
        self._instances.clear()
        self._contents.clear()
        self._slot = None

    def begin(self, main: Task) -> None:
        """Be told of the thread-local objects that an execution makes."""
        del main
        self._scheduler.scratch[Locals] = self
        self._reset()

    def let_go(self, task: Task) -> None:
        """Let what a task that ends has of each local die: nobody else has that."""
        if self._slot is not None and self._loaded is task:
            self._slot.take()

    def _reset(self) -> None:
        """Forget the values of the last execution's tasks."""
        if self._slot is None:
            self._scheduler.on_switch = None
            return
        self._scheduler.on_switch = self._switch
        self._load(None)
        self._alive.clear()
        for one, values in self._instances:
            one.__dict__.clear()
            one.__dict__.update(values)
        for undo in self._contents:
            undo()

    def _wrap(self, kind: Any) -> None:
        """Be told of new instances of a subclass that was defined before the exploration."""
        before = vars(kind).get("__new__")
        make = _Local.__new__ if before is None else before.__get__(None, kind)

        def new(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
            return new_of_task(lambda: make(cls, *args, **kwargs))

        kind.__new__ = new
        self._wrapped.append((kind, before))

    # Hand-overs

    def make(self, me: Task, make: Callable[[], Any]) -> Any:
        """Make a thread-local object; what it has in this thread is of the current task."""
        if self._slot is None:
            self._exchange_from_now_on()
            self._load(me)
        one = make()
        self._alive.append(one)
        return one

    def _exchange_from_now_on(self) -> None:
        self._slot = KeySlot() if KEYS_OF_LOCALS else DictionarySlot()
        self._loaded = None
        self._scheduler.on_switch = self._switch

    def _switch(self, before: Task | None, after: Task) -> None:
        del before
        self._load(after)

    def _load(self, task: Task | None) -> None:
        """Put a task's values in place of those that are there."""
        if task is not None and task.parent is None:
            task = None
        loaded = self._loaded
        if task is loaded:
            return
        assert self._slot is not None
        taken = self._slot.take()
        if loaded is None:
            self._home = taken
        else:
            loaded.scratch["locals"] = taken
        self._slot.put(self._home if task is None else task.scratch.pop("locals", None))
        self._loaded = task


def new_of_task(make: Callable[[], Any]) -> Any:
    """Make a thread-local object, and take note of it in an execution."""
    me = control.current()
    if me is None:
        return make()
    return control.the_program().scheduler.scratch[Locals].make(me, make)


def let_go(scheduler: Scheduler) -> None:
    """End the lives of what the current task alone has, at its end."""
    locals_of_all: Locals | None = scheduler.scratch.get(Locals)
    if locals_of_all is not None:
        locals_of_all.let_go(scheduler.me)
    lives.add(scheduler.me, ())


class local(_Local):  # type: ignore[misc]  # noqa: N801 - stands for `threading.local`
    """`threading.local` while a test is explored."""

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Any:
        """Take note of each instance."""
        return new_of_task(lambda: _Local.__new__(cls, *args, **kwargs))


local.__module__, local.__qualname__ = _Local.__module__, _Local.__qualname__
local.__name__ = f"{_Local.__module__}.{_Local.__name__}"  # by which errors call it


class LocalTable(ObjectTable):
    """Attributes of a thread-local object: nobody else sees them; those of its class are shared."""

    __slots__ = ()

    def stored(self, what: Any) -> Codes:
        """Return nothing: others have values of their own."""
        return ()


def kinds_of_local() -> list[Any]:
    """Return all classes of thread-local objects."""
    return list(dict.fromkeys(_all_subclasses(_Local)))


def _all_subclasses(kind: Any) -> Iterable[Any]:
    yield kind
    for one in kind.__subclasses__():
        yield from _all_subclasses(one)


def _is_foreign(kind: Any) -> bool:
    return kind is not _Local and kind.__module__.partition(".")[0] in _FOREIGN


def _foreign_globals() -> set[int]:
    """Return the plain thread-local objects that are global variables of foreign modules."""
    if _foreign.loaded != len(sys.modules):
        _foreign.loaded, _foreign.found = len(sys.modules), set(_look_for_foreign())
    return _foreign.found


class _Foreign:
    """What was found last, and how many modules there were: looking takes long."""

    loaded = 0
    found: set[int] = set()  # noqa: RUF012


_foreign = _Foreign()


def _look_for_foreign() -> Iterator[int]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _FOREIGN:
            values = list(getattr(module, "__dict__", {}).values())
            if _Local in map(type, values):
                yield from (id(value) for value in values if type(value) is _Local)


register(_Local, LocalTable)

PATCHES: Patches = Patches(references=[(_Local, local)])

"""Where shared objects die that somebody refers to weakly.

What is shared is kept until the execution ends, but CPython frees an object where its last
reference goes: it calls what weak references to it were given, and they lead nowhere from then on.
So the references to objects under test to which shared weak references lead are counted whenever a
task comes to its next step. If only Treadle's own are left, the object dies there, in that task.

That is learned, as changes of data are: once an object of a sort has died, letting go of a
reference to such an object is a step. These steps commute unless code under test is called at its
death. The one after which the object is dead comes after all others, and who follows a weak
reference depends on it.

An object to which nobody refers weakly dies, too, if that frees one to which somebody does, and is
learned in the same way. Of what is no object under test (lists, functions, exceptions), a note
says that it lives on.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from treadle.core.events import OPEN, Codes, Mode, code
from treadle.python.runtime import control, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import module_of_class, qualname_of
from treadle.python.runtime.task import Task, let_go_of_calls
from treadle.python.sharing import finalizers
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.last_references import freed_with, only_kept
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ObjectTable, Table

if TYPE_CHECKING:
    from treadle.python.sharing.shared import Shared

WEAK_MODULES = frozenset({"weakref", "_weakrefset"})
"""Libraries that keep weak references, and forget those that are dead."""
_DIES, _LEFT = "dies", "is left"
_CONTAINERS = ("weak containers", "what they lead to")


class _Life:
    """An object that may die, and how many references to it there were."""

    __slots__ = ("leaving", "references", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.references = 0
        """What was counted when a step ended last; 0 before."""
        self.leaving = 0
        """How many tasks are about to let go of it."""

    def count(self) -> int:
        """Count the references to the object."""
        return sys.getrefcount(self.value)

    def callbacks(self) -> list[Any]:
        """Return what is called when the object dies."""
        found = (getattr(one, "__callback__", None) for one in weakref.getweakrefs(self.value))
        return [callback for callback in found if callback is not None]


_OWN = _Life(object()).count() + 1
"""References to a published object if nobody has one but Treadle: here, and where it is kept."""


class _Lives:
    """The objects of an execution that may die; the scheduler tells it of each step."""

    def __init__(self) -> None:
        self._shared: Shared | None = None
        self._listens = False
        self._watched: dict[int, _Life] = {}
        self._referred: list[weakref.ref[Any]] = []
        """Weak references to what is nobody else's yet."""
        self._expected: list[Any] = []
        """What may be referred to weakly when the present step ends."""
        self._dead: dict[int, tuple[Any, Codes]] = {}
        """Weak references to objects that died, by `id`, and what following them accesses."""
        self._left_over: set[int] = set()
        """What nobody but Treadle refers to, by `id`: it lives as long as the execution."""

    @property
    def is_on(self) -> bool:
        """Whether shared objects die before the execution ends."""
        return self._shared is not None

    def begin(self, shared: Shared | None) -> None:
        """Forget the last execution; without what is shared, nothing dies."""
        self._shared = shared
        self._listens = False
        self._watched.clear()
        self._referred.clear()
        self._expected.clear()
        self._dead.clear()
        self._left_over.clear()

    def watch(self, value: Any) -> bool:
        """Let an object die where CPython would free it; tell whether that can be done."""
        if id(value) in self._watched:
            return True
        if self._shared is None or not self._shared.follows(type(value)):
            return False
        self._listen()
        self._watched[id(value)] = _Life(value)
        return True

    def _listen(self) -> None:
        if slots.program is not None and not self._listens:
            self._listens = True
            slots.program.scheduler.listen(self, first=True)

    def are_known(self, reference: weakref.ref[Any]) -> bool:
        """Tell whether what a weak reference leads to may die, or has died."""
        self._meet_referred()
        return id(reference) in self._dead or id(_follow(reference)) in self._watched

    def following(self, reference: weakref.ref[Any]) -> Codes:
        """Return what following a weak reference accesses."""
        if id(reference) in self._dead:
            return self._dead[id(reference)][1]
        found = id(_follow(reference))
        if found not in self._watched or found not in published:
            return ()
        return _of_life(published[found], Mode.READ)

    def meet_end(self, reference: weakref.ref[Any]) -> None:
        """Let something die that nobody has any more, if it is not known yet that such things do.

        Whoever looks at it then looks before the step in which it would die.
        """
        life = self._watched.get(id(reference()))
        if life is not None and life.count() <= _OWN and not self.following(reference):
            self._die(life)

    def in_containers(self, mode: Mode = Mode.READ) -> Codes:
        """Return what it accesses to look into a container of weak references."""
        if self._shared is None or _DIES not in self._shared.happening:
            return ()
        location = self._shared.location(_CONTAINERS, "what weak containers lead to")
        return (code(location, mode),)

    def refer_to(self, value: Any) -> None:
        """Take note that somebody refers to an object weakly: it may be shared one day."""
        if self.is_on:
            self._listen()
            self._referred.append(weakref.ref(value))

    def expect(self, values: Iterable[Any]) -> None:
        """Look at some objects when the present step ends: a container may refer to them weakly."""
        if self.is_on:
            self._listen()
            self._expected += [value for value in values if not _is_container(value)]

    def add(self, task: Task, codes: Codes) -> None:
        """Let what a task has let go of in the step that ends die, in a step of its own."""
        del codes
        running = slots.program
        if running is None or running.scheduler.aborting:
            return
        if task.number not in running.scheduler.alive:  # nobody looks at what dies at its end
            return
        self._meet_referred()
        self._look_at_expected()
        self._meet_holders()
        if self._watched:
            let_go_of_calls(task)
            if running.recorder is not None:
                running.recorder.let_go(task)
        self._let_go(self._left(), control.announce)
        self._find_holders()
        while left := self._left():  # what hangs on an object dies in the same step
            self._let_go(left, control.revise)
            self._find_holders()

    def come_to_look(self) -> None:
        """Let die what the running task has let go of: it is about to follow a weak reference."""
        task = control.current()
        if self._listens and task is not None:
            self.add(task, ())

    def _meet_holders(self) -> None:
        """Watch objects of sorts that are known to die: what they refer to dies with them."""
        if self._shared is not None and self._watched and _DIES in self._shared.happening:
            for value in self._shared.kept:
                table = published[id(value)]
                if type(table) is ObjectTable and self._shared.happens(table.sort, _DIES):
                    self.watch(value)

    def _find_holders(self) -> None:
        """Watch objects that Treadle alone has, and that keep alive what is referred to weakly."""
        if self._shared is None or not self._watched:
            return
        for value in only_kept(self._shared.kept):
            if id(value) in self._watched or id(value) in self._left_over:
                continue
            self._left_over.add(id(value))
            if self._watched.keys().isdisjoint(freed_with(value, self._references)):
                continue
            if type(published[id(value)]) is not ObjectTable or not self.watch(value):
                finalizers.keeps_alive(qualname_of(type(value)))

    def _references(self, identity: int) -> int:
        """Return how many references to an object are Treadle's."""
        return (identity in published) + (identity in self._watched)

    def _meet_referred(self) -> None:
        """Watch what is referred to weakly and has been published."""
        if self._referred:
            found = [(reference, reference()) for reference in self._referred]
            alive = [(reference, value) for reference, value in found if value is not None]
            self._referred = [one for one, value in alive if id(value) not in published]
            for _, value in alive:
                if id(value) in published:
                    self.watch(value)

    def _look_at_expected(self) -> None:
        while self._expected:
            value = self._expected.pop()
            kind = type(value)
            is_weak = kind not in ATOMS and weakref.getweakrefcount(value)
            if is_weak and id(value) in published and not self.watch(value):
                finalizers.refers_weakly("weakref")

    def _left(self) -> list[_Life]:
        """Return the objects to which there are fewer references than there were."""
        found = []
        for life in self._watched.values():
            before, life.references = life.references, life.count()
            is_less = life.references < before if before else life.references <= _OWN
            if is_less and type(published.get(id(life.value))) is ObjectTable:
                found.append(life)
        return found

    def _let_go(self, left: list[_Life], announce: Callable[[Codes], Any]) -> None:
        """Let go of some objects, in a step if such objects are known to die."""
        codes = dict.fromkeys(code for life in left for code in _of_leaving(life, is_last=False))
        for life in left:
            life.leaving += 1
        if codes:
            announce((*codes, OPEN))
        for life in left:
            life.leaving -= 1
            if life.value is None or life.count() > _OWN:
                continue
            if life.leaving:  # one of those who are about to is the last, in whatever order
                control.revise(_of_leaving(life, is_last=True))
            else:
                control.revise(self._of_death(life))
                self._die(life)

    def _of_death(self, life: _Life) -> Codes:
        """Return what the death of an object accesses besides."""
        codes = _of_leaving(life, is_last=True)
        if not codes:
            return ()
        codes += _of_life(published[id(life.value)], Mode.WRITE)
        for callback in life.callbacks():
            if _takes_out(callback):
                codes += self.in_containers(Mode.WRITE)
            codes += _done_in_c(callback)
        return codes

    def _die(self, life: _Life) -> None:
        """Forget an object; what is to be called then is called in the task that goes on here."""
        assert self._shared is not None
        value = life.value
        table = published[id(value)]
        self._shared.note(table.sort, _DIES)
        for reference in weakref.getweakrefs(value):
            self._dead[id(reference)] = (reference, _of_life(table, Mode.READ))
        del self._watched[id(value)]
        self._shared.forget(value)
        life.value = None


def _follow(reference: weakref.ref[Any]) -> Any:
    """Return what a weak reference leads to; one to a method leads to its object."""
    is_method = type(reference) is weakref.WeakMethod
    return weakref.ref.__call__(reference) if is_method else reference()


def _of_life(table: Table, mode: Mode) -> Codes:
    """Return the access of whether an object lives."""
    if not table.shared.happens(table.sort, _DIES):
        return ()
    return (table.sync_at(_DIES, mode, " (life)"),)


def _of_leaving(life: _Life, *, is_last: bool) -> Codes:
    """Return the access of how many have hold of an object.

    If code under test runs when it dies, it makes a difference in whose task that is.
    """
    table = published[id(life.value)]
    if not table.shared.happens(table.sort, _DIES):
        return ()
    callbacks = [one for one in life.callbacks() if not _takes_out(one)]
    is_seen = is_last or callbacks or finalizers.is_in_python(type(life.value))
    mode = Mode.WRITE if is_seen else Mode.ADD
    return (table.sync_at(_LEFT, mode, " (references)"),)


def _takes_out(callback: Any) -> bool:
    """Tell whether a function only takes a dead reference out of a container."""
    is_function = type(callback) is types.FunctionType
    return is_function and callback.__module__ in WEAK_MODULES


def _is_container(value: Any) -> bool:
    """Tell whether an object is a container of weak references."""
    return module_of_class(type(value)) in WEAK_MODULES


def _done_in_c(callback: Any) -> Codes:
    """Return what a method in C of a shared container changes when it is told of a death."""
    if type(callback) is weakref.finalize:
        callback = (callback.peek() or (None, None))[1]
    changed = published.get(id(getattr(callback, "__self__", None)))
    is_in_c = type(callback) is types.BuiltinFunctionType
    return changed.whole_write() if is_in_c and isinstance(changed, ContainerTable) else ()


lives = _Lives()

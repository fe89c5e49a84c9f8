"""`functools.cached_property`: looking the value up, computing it and keeping it are three steps.

The original is not code under test, and until Python 3.11 it computes under a lock. A lock made
when its class was imported is a real one, which all controlled threads could enter: they are one
thread for the system. So this does what the original does, with the lock's model.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses import iterate
from treadle.python.runtime import control, slots
from treadle.python.runtime.looking import members_of, module_of_class, mro_of, qualname_of
from treadle.python.sharing.children import attributes_of
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ObjectTable
from treadle.threads.primitives.locks import model_of
from treadle.threads.primitives.patches import Patches

_original: Any = functools.cached_property.__get__
_MISSING = object()


def _get(self: Any, instance: Any, owner: type | None = None) -> Any:
    """Stand for `cached_property.__get__`; what is wrong, the original says."""
    name = self.attrname
    cache = getattr(instance, "__dict__", None)
    if control.current() is None or name is None or not isinstance(cache, dict):
        return _original(self, instance, owner)
    value = cache.get(name, _MISSING)  # in the step that looked the attribute up
    if value is not _MISSING:
        return value
    lock = getattr(self, "lock", None)
    if lock is None:
        return _compute(self, instance, cache)
    _publish_lock(self, lock, instance)
    with model_of(lock):
        hooks.load_attr(instance, name)
        value = cache.get(name, _MISSING)
        return _compute(self, instance, cache) if value is _MISSING else value


def _publish_lock(descriptor: Any, lock: Any, instance: Any) -> None:
    """Make the lock of a library's class known, by a name that is the same in every execution.

    Threads share it by means of any instances, and nothing that is under test leads to it. The
    standard library calls nothing of the test's under it, so for an instance of one thread's own
    nobody ever finds it held.
    """
    if id(lock) in published:
        return
    owner = next((one for one in mro_of(type(instance)) if _holds(one, descriptor)), None)
    if owner is None:
        return
    module, name = module_of_class(owner), qualname_of(owner)
    is_standard = module.partition(".")[0] in sys.stdlib_module_names
    if _class_called(module, name) is owner and (id(instance) in published or not is_standard):
        label = f"{name}.{descriptor.attrname}"
        control.the_program().shared.publish(lock, f"lock of {label}", ("lock", module, label))


def _holds(owner: type, descriptor: Any) -> bool:
    return members_of(owner).get(descriptor.attrname) is descriptor


def _class_called(module: str, name: str) -> Any:
    """Return what a module has under a dotted name, or None."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        is_class = issubclass(type(found), type)
        found = (members_of(found) if is_class else attributes_of(found)).get(part)
    return found


def _compute(self: Any, instance: Any, cache: dict[str, Any]) -> Any:
    value = iterate.late_if_in_c(self.func)(instance)
    table = published.get(id(instance))
    if table is not None:
        slots.hand_out(value, f"{table.label}.{self.attrname}")
        if isinstance(table, ObjectTable):  # it goes past the `__setattr__` of the instance
            hooks.say(table.stored(self.attrname))
        else:
            hooks.say(table.stores[self.attrname])
    cache[self.attrname] = value
    return value


PATCHES: Patches = Patches(attributes=[(functools.cached_property, "__get__", _get)])

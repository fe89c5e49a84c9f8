"""Making a class: its bases know it from then on, and so does whoever asks them.

So does an abstract class that another one is registered with.
"""

from __future__ import annotations

import builtins
import functools
import types
from typing import Any

from treadle.core.frames import callers_frame
from treadle.python.accesses import callbacks
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.reach import Reach
from treadle.python.runtime import notes, slots
from treadle.python.runtime.looking import mro_of
from treadle.python.runtime.spin import effects
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ClassTable, class_feature

SUBCLASSES = "__subclasses__"
_ASKED = "__subclasses__ are asked for"
"""Only then does it matter who made a class first."""
_REGISTERED = "__registered__"
"""What `isinstance` asks an abstract class for, beside its subclasses."""


def build_class(body: Any, name: str, *bases: Any, **kwargs: Any) -> Any:
    """Stand for `__build_class__`, which a `class` statement calls."""
    return _make(bases, builtins.__build_class__, (body, name, *bases), kwargs)


def make_class(*args: Any, **kwargs: Any) -> Any:
    """Stand for `type`."""
    if len(args) != 3 or type(args[2]) is not dict:
        return type(*args, **kwargs)
    name, bases, namespace = args
    hooks.look_into((namespace,))
    here = callers_frame().f_globals.get("__name__", "")
    return _make(bases, type, (name, bases, {"__module__": here, **namespace}), kwargs)


def subclasses_of(owner: Any) -> list[type]:
    """Stand for `__subclasses__` of a class."""
    table = published.get(id(owner))
    if isinstance(table, ClassTable) and table.shared.note(class_feature(owner, "")[0], _ASKED):
        hooks.load_attr(owner, SUBCLASSES)
    return type.__subclasses__(owner)


def register(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `ABCMeta.register`: who asks the abstract class, or one above it, looks at that."""
    owner: Any = function.__self__ if isinstance(function, types.MethodType) else args[0]
    found = (published.get(id(base)) for base in mro_of(owner))
    tables = [table for table in found if isinstance(table, ClassTable)]
    if not tables:
        notes.remark(
            "registered classes",
            f"{owner.__qualname__}.register",
            "a class is registered with one that is not under test ({}): what others see of it is "
            "explored in one order only",
        )
    hooks.say(tuple(code for table in tables for code in table.writes[_REGISTERED]))
    return function(*args, **kwargs)


def _make(bases: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a class; its bases learn of it after its body was run."""
    found = (published.get(id(base)) for base in bases)
    tables = [table for table in found if isinstance(table, ClassTable)]
    if not tables:
        return function(*args, **kwargs)
    effects[0] = True

    def find() -> Reach:
        reach = Reach(published)
        for table in tables:
            if table.shared.happens(class_feature(table.owner, "")[0], _ASKED):
                reach.touch(table.writes[SUBCLASSES])
        return reach

    hooks.perform(find)
    again, touched = functools.partial(hooks.perform, find), functools.partial(hooks.reached, find)
    made = callbacks.call(again, touched, function, args, kwargs)
    slots.hand_out(made, f"subclass of {tables[0].label}")
    return made

"""Making a class: its bases know it from then on, and so does whoever asks them.

So does an abstract class that another one is registered with.
"""

from __future__ import annotations

import builtins
import functools
import types
from typing import Any

from treadle.core.frames import callers_frame
from treadle.python.accesses import callbacks, called_by_making, foreign_steps
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.reach import Reach
from treadle.python.runtime import notes, slots
from treadle.python.runtime.looking import mro_of
from treadle.python.runtime.spin import effects
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ClassTable, class_feature

SUBCLASSES = "__subclasses__"
_ASKED = "__subclasses__ are asked for"
"""Only then does it matter who made a class first."""
_REGISTERED = "__registered__"
"""What `isinstance` asks an abstract class for, beside its subclasses."""
_PREPARE = type.__prepare__


def build_class(body: Any, name: str, *bases: Any, **kwargs: Any) -> Any:
    """Stand for `__build_class__`, which a `class` statement calls."""
    methods = called_by_making.methods_called(bases, kwargs, called_by_making.classes_named(body))
    body = _seen_from_its_beginning(body, bases, kwargs)
    return _make(bases, methods, builtins.__build_class__, (body, name, *bases), kwargs)


def _seen_from_its_beginning(body: Any, bases: Any, options: dict[str, Any]) -> Any:
    """Return a body that says so if its names go to a dictionary which others have, too."""
    metaclasses = [type(base) for base in bases] + [options.get("metaclass", type)]
    if all(getattr(one, "__prepare__", _PREPARE) == _PREPARE for one in metaclasses):
        return body
    code = slots.with_hook_at_first(body.__code__, _look_at_namespace)
    return types.FunctionType(code, body.__globals__, body.__name__, None, body.__closure__)


def _look_at_namespace() -> None:
    """Where the body of a class begins whose metaclass has made its namespace."""
    frame = callers_frame()
    table = published.get(id(frame.f_locals))
    if isinstance(table, ContainerTable):
        notes.remark(
            "namespaces of classes",
            frame.f_code.co_name,
            "the body of a class stores its names in a dictionary that threads share ({}): others "
            "see all of them or none",
        )
        hooks.say(table.whole_write())


def make_class(*args: Any, **kwargs: Any) -> Any:
    """Stand for `type`."""
    if len(args) != 3 or type(args[2]) is not dict:
        return type(*args, **kwargs)
    name, bases, namespace = args
    hooks.look_into((namespace,))
    here = callers_frame().f_globals.get("__name__", "")
    methods = called_by_making.methods_called(bases, kwargs, map(type, namespace.values()))
    made = (name, bases, {"__module__": here, **namespace})
    return _make(bases, methods, type, made, kwargs)


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


def _make(
    bases: Any,
    methods: list[called_by_making.Method],
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Make a class; its bases learn of it after its body was run, and so do libraries."""
    found = (published.get(id(base)) for base in bases)
    tables = [table for table in found if isinstance(table, ClassTable)]
    if not tables and not methods:
        return function(*args, **kwargs)
    effects[0] = True

    def find() -> Reach:
        reach = Reach(published)
        for table in tables:
            if table.shared.happens(class_feature(table.owner, "")[0], _ASKED):
                reach.touch(table.writes[SUBCLASSES])
        called_by_making.touch(reach, methods)
        return reach

    foreign_steps.perform(find)
    again, touched = (
        functools.partial(foreign_steps.perform, find),
        functools.partial(foreign_steps.reached, find),
    )
    made = callbacks.call(again, touched, function, args, kwargs)
    if tables:
        slots.hand_out(made, f"subclass of {tables[0].label}")
    return made

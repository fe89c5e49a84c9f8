"""What a library that is not instrumented keeps in its modules: one location for each package.

`library.configure(3)` gets nothing of the test's, and yet `library.limit()` of another thread sees
it. So the code of a function is looked at before it is called: if it assigns global names, or
changes things and has hold of something that a module or class keeps, then it may change what its
package keeps; if not, it may look at it. Functions of its module that it calls are looked at, too.

The standard library is left out. Most of what it keeps are caches, and what can be told apart by
others is in tables (`library_state`, `outside_modules`), or changed by name (`library_names`).
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import keeping, library_names, library_state
from treadle.python.accesses.uninstrumented import (
    is_immutable,
    is_reader,
    is_silent,
    module_of,
)
from treadle.python.runtime import control
from treadle.python.runtime.about_code import remembered
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import found_in, module_of_class
from treadle.python.runtime.slots import Knowledge
from treadle.python.sharing.kept import state_of

_ASSIGNING = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_CHANGING = frozenset({"STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR"})
SHOWS_ASSERTIONS = "_pytest.assertion."
"""What pytest puts into assertions, to show those that fail: nobody wants to look inside."""
_CONSTANT = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, tuple, frozenset,
)  # fmt: skip
"""What is no state if a module has it under a name."""


def touching(
    function: types.FunctionType, owner: Any, *, makes: bool = False
) -> Callable[[], Codes]:
    """Return what tells the accesses of a call to what the library of a function keeps.

    `makes` if it makes an object of its owner, a class: what it sets of that is no change.
    """
    package = (module_of(function) or "").partition(".")[0]
    if not package or not library_state.has_threads():
        return tuple
    by_name = functools.partial(library_names.codes_of, function, owner, _shared())
    if package in sys.stdlib_module_names:
        kept = library_state.KEPT.get((function.__module__, function.__qualname__), tuple)
        return lambda: (*kept(), *by_name())
    holds = not makes and _is_kept(owner)
    changes = _changes_global(function.__code__, module_of(function), holds)
    changes = changes or keeping.changes(function, owner)
    tell = library_state.changing if changes else library_state.looking
    return lambda: (*tell(state_of(package)), *by_name())


def touching_by_making(kind: Any) -> Callable[[], Codes]:
    """Return what tells the accesses of making an object to what the library of its class keeps.

    Those of the standard library keep nothing of what is made, but what is known of them.
    """
    if module_of_class(kind).partition(".")[0] in sys.stdlib_module_names:
        return tuple
    found = [found_in(type(kind), "__call__")]
    found += [found_in(kind, name) for name in ("__new__", "__init__")]
    functions = [getattr(one, "__func__", one) for one in found]
    functions = [one for one in functions if type(one) is types.FunctionType]
    tells = [touching(one, kind, makes=True) for one in functions]
    return lambda: tuple(sorted({code for tell in tells for code in tell()}))


def changes_what_is_kept(method: types.FunctionType, kind: type) -> bool:
    """Tell whether a method changes what its package keeps, called for some object of a class."""
    changes = _changes_global(method.__code__, module_of(method), False)
    return changes or keeping.changes_as_method(method, kind)


def named_by(function: types.FunctionType, owner: Any) -> list[Any]:
    """Return what modules keep, a function has hold of by its name, and threads share."""
    if not library_state.has_threads():
        return []
    return library_names.values_of(function, owner, _shared())


def is_met_by(function: types.FunctionType, owner: Any) -> bool:
    """Tell whether a function meets by name what code under test changes or looks at.

    What pytest puts into assertions does not: it is no code of the test's.
    """
    if (module_of(function) or "").startswith(SHOWS_ASSERTIONS):
        return False
    return library_state.has_threads() and library_names.met_by(function, owner, _shared())


def _shared() -> Knowledge:
    return control.the_program().shared


def _is_kept(owner: Any) -> bool:
    """Tell whether an object is a class, or one that the module of its class has under a name."""
    if isinstance(owner, type):
        return True
    module = sys.modules.get(module_of_class(type(owner)))
    return owner is not None and any(value is owner for value in vars(module or object).values())


@remembered
def _changes_global(code: types.CodeType, module: str | None, holds: bool) -> bool:
    """Tell whether code may change what its package keeps; `holds` if it is given some of it."""
    namespace = vars(sys.modules.get(module or "", object))
    codes = list(_called(code, namespace))
    done = {instruction.opname for each in codes for instruction in dis.get_instructions(each)}
    if done & _ASSIGNING:
        return True
    names = {name for each in codes for name in each.co_names}
    holds = holds or any(_is_state(namespace[name]) for name in names & namespace.keys())
    return holds and bool(done & _CHANGING or names & keeping.CHANGING_METHODS)


def _called(code: types.CodeType, namespace: Any) -> Iterator[types.CodeType]:
    """Yield code, what is nested in it, and functions of its module that it names."""
    todo, seen = [code], {id(code)}  # code that was rewritten cannot be hashed
    while todo:
        each = todo.pop()
        yield each
        named = (namespace.get(name) for name in each.co_names)
        found = [one.__code__ for one in named if issubclass(type(one), types.FunctionType)]
        found += [const for const in each.co_consts if isinstance(const, types.CodeType)]
        new = {id(one): one for one in found if id(one) not in seen}
        todo += new.values()
        seen.update(new)


def _is_state(value: Any) -> bool:
    """Tell whether something that a module has under a name may be changed."""
    kind = type(value)
    if kind in ATOMS or issubclass(kind, _CONSTANT) or is_immutable(kind):
        return False
    return not (is_silent(module_of_class(kind)) or is_reader(module_of_class(kind)))

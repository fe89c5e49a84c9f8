"""Objects of libraries that change what their package keeps without being asked by name.

`len(cache)`, `with session:` and `order.total` run code of a library. What an object does that only
one thread has is nobody's business, so no hook asks for it; but such code may change its class. An
object of such a class is published when it is made, as if others had it, and then hooks ask.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import kept_state
from treadle.python.accesses.uninstrumented import called_unasked, module_of, remembered
from treadle.python.runtime import control, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing.kept import CHANGED, HELD, state_of
from treadle.python.sharing.published import published


def keep_in_sight(value: Any) -> Any:
    """Publish an object that may meet what its library keeps without being asked; return it."""
    kind = type(value)
    if kind not in ATOMS and id(value) not in published and meets_unasked(kind):
        slots.hand_out(value, kind.__name__)
    return value


def class_in_sight(kind: Any) -> Any:
    """Return what to call instead of a class under test.

    It may derive from one of a library, or have its descriptors.
    """
    is_in_sight = published and meets_unasked(kind)
    return functools.partial(_make_in_sight, kind) if is_in_sight else kind


def _make_in_sight(kind: Any, /, *args: Any, **kwargs: Any) -> Any:
    return keep_in_sight(kind(*args, **kwargs))


def meets_unasked(kind: type) -> bool:
    """Tell whether objects of a class may meet what libraries keep, and somebody changes."""
    packages, changes = remembered((kind, "meets"), _met, kind)
    if changes or not packages:
        return bool(changes)
    shared = control.the_program().shared
    known = [(state_of(package), what) for package in packages for what in (CHANGED, HELD)]
    if any(shared.happens(*feature) for feature in known):
        return True
    if any(_package_of(home) in packages for home, _ in shared.assigned):
        return True
    _note_held(packages)
    return False


def _note_held(packages: frozenset[str]) -> None:
    """Note which packages keep something that code under test has got hold of by now.

    Executions get hold of more and more. What is in sight decides how later objects are called, so
    it hangs on what is known when an execution begins, and on nothing that happens meanwhile.
    """
    shared = control.the_program().shared
    for package in sorted({_package_of(home) for home, _ in shared.looked_into} & packages):
        shared.note(state_of(package), HELD)


def codes_of(value: Any) -> Codes:
    """Return the codes of what an object meets that code gets which may do anything with it."""
    kind = type(value)
    if not meets_unasked(kind):
        return ()
    functions = [one.function for one in called_unasked(kind)]
    return tuple(sorted({code for one in functions for code in slots.met_by(one, value)[0]}))


def _met(kind: type) -> tuple[frozenset[str], bool]:
    """Return the packages whose functions a class calls unasked, and whether one changes them."""
    found = [one.function for one in called_unasked(kind) if one.function is not None]
    packages = {function: _package_of(module_of(function) or "") for function in found}
    found = [one for one in found if packages[one] not in sys.stdlib_module_names]
    changes = any(kept_state.changes_what_is_kept(one, kind) for one in found)
    return frozenset(packages[one] for one in found), changes


def _package_of(home: str) -> str:
    return home.removeprefix("class ").partition(".")[0]


def _met_by(function: Any, owner: Any) -> tuple[Codes, list[Any]]:
    return kept_state.touching(function, owner)(), kept_state.named_by(function, owner)


slots.met_by = _met_by

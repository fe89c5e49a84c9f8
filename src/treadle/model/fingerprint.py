"""Comparable values of states: shared data, and the continuation of every process.

Equal states have equal fingerprints whatever the addresses of their objects; a state between two
steps is its shared values plus, for each process, the position and the locals of its generator.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from typing import Any

_Seen = dict[int, tuple[int, Any]]
"""Objects met so far, by address, with their number; kept alive so that addresses stay unique."""

_ATOMS = (int, float, complex, str, bytes, bool, type(None), type, range)


def freeze(value: Any, seen: _Seen | None = None) -> object:
    """Return a hashable value that is equal for structurally equal arguments.

    >>> freeze([1, {"a": (2, 3)}]) == freeze([1, {"a": (2, 3)}])
    True
    >>> freeze([1]) == freeze((1,))
    False
    """
    if isinstance(value, _ATOMS):
        return (type(value).__name__, value)
    seen = {} if seen is None else seen
    if id(value) in seen:
        return ("seen", seen[id(value)][0])
    seen[id(value)] = (len(seen), value)
    if hasattr(value, "fingerprint_of"):
        return (type(value).__name__, freeze(value.fingerprint_of(), seen))
    if isinstance(value, list | tuple | deque):
        return (type(value).__name__, tuple(freeze(item, seen) for item in value))
    if isinstance(value, dict):
        return ("dict", tuple((freeze(k, seen), freeze(v, seen)) for k, v in value.items()))
    if isinstance(value, set | frozenset):
        return (type(value).__name__, frozenset(freeze(item) for item in value))
    return _freeze_object(value, seen)


class _Incomparable:
    """Stands for a value that cannot be looked into: equal to nothing, not even to itself."""

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


def _freeze_object(value: Any, seen: _Seen) -> object:
    if isinstance(value, types.GeneratorType):
        return ("generator", *_frames(value, seen))
    if _is_builtin_iterator(value):
        return ("iterator", freeze(value.__reduce__(), seen))
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if isinstance(value, types.BuiltinFunctionType):
        return ("builtin", value.__qualname__, freeze(value.__self__, seen))
    if isinstance(value, types.FunctionType):
        cells = tuple(freeze(cell.cell_contents, seen) for cell in value.__closure__ or ())
        return ("function", value.__code__, cells, freeze(value.__defaults__, seen))
    if isinstance(value, types.MethodType):
        return ("method", freeze(value.__func__, seen), freeze(value.__self__, seen))
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    parts.update(getattr(value, "__dict__", {}))
    return (type(value).__qualname__, freeze(parts, seen) if parts else _Incomparable())


def _is_builtin_iterator(value: object) -> bool:
    """Tell whether a value is an iterator over a container, which can tell what is left of it."""
    return (
        hasattr(value, "__next__")
        and type(value).__module__ == "builtins"
        and not isinstance(value, types.GeneratorType)
    )


def _frames(generator: Any, seen: _Seen) -> tuple[object, ...]:
    """Return position and locals of a generator, and of those that it delegates to."""
    if not isinstance(generator, types.GeneratorType):
        return (freeze(generator, seen),)
    frame = generator.gi_frame
    if frame is None:
        return ("ended",)
    loops = [item for item in gc.get_referents(generator) if _is_builtin_iterator(item)]
    local = freeze(dict(frame.f_locals), seen)
    # Where its loops stand is on the stack of the frame, not in a local.
    here = (generator.gi_code, frame.f_lasti, local, freeze(loops, seen))
    inner = generator.gi_yieldfrom
    return (here,) if inner is None else (here, *_frames(inner, seen))

"""Comparable values of states: shared data, and the continuation of every process.

Equal states have equal fingerprints whatever the addresses of their objects; a state between two
steps is its shared values plus, for each process, the position and the locals of its generator, and
what is on the stack of its frame. What cannot be looked into is equal to nothing: states that are
taken for equal are not explored twice, so a wrong "equal" would hide a bug.
"""

from __future__ import annotations

import contextlib
import enum
import gc
import types
from collections import deque
from typing import Any

from treadle.core.program import Incomparable

_Seen = dict[int, tuple[int, Any]]
"""Objects met so far, by address, with their number; kept alive so that addresses stay unique."""

_ATOMS = (int, float, complex, str, bytes, bool, type(None), type, range)
_EXACT = frozenset(_ATOMS) - {float, complex}
_C_MADE = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
)


def freeze(value: Any, seen: _Seen | None = None) -> object:
    """Return a hashable value that is equal for structurally equal arguments.

    >>> freeze([1, {"a": (2, 3)}]) == freeze([1, {"a": (2, 3)}])
    True
    >>> freeze([1]) == freeze((1,))
    False
    >>> freeze(object()) == freeze(object())
    False
    """
    kind = type(value)
    if kind in _EXACT:
        return (kind.__name__, value)
    if kind is float or kind is complex:
        return (kind.__name__, repr(value))  # 0.0 and -0.0 are equal, and not the same
    if isinstance(value, enum.Enum):  # a member is the same object always
        return (kind, value.value if isinstance(value, enum.Flag) else value.name)
    seen = {} if seen is None else seen
    if id(value) in seen:
        return ("seen", seen[id(value)][0])
    seen[id(value)] = (len(seen), value)
    if hasattr(value, "fingerprint_of") and not isinstance(value, type):
        return (kind.__name__, freeze(value.fingerprint_of(), seen))
    content = _freeze_content(value, seen)
    if content is None:
        return _freeze_object(value, seen)
    attributes = getattr(value, "__dict__", None)
    return (*content, freeze(attributes, seen)) if attributes else content


def _freeze_content(value: Any, seen: _Seen) -> tuple[object, ...] | None:
    """Return what a value of a built-in class, or of one derived from it, consists of."""
    name = type(value).__qualname__
    if isinstance(value, type):
        return (name, value)
    if isinstance(value, _ATOMS):
        is_float = isinstance(value, float | complex)
        return (name, repr(value) if is_float else value)
    if isinstance(value, list | tuple | deque):
        return (name, tuple([freeze(item, seen) for item in value]), getattr(value, "maxlen", None))
    if isinstance(value, dict):
        items = tuple([(freeze(k, seen), freeze(v, seen)) for k, v in value.items()])
        return (name, items, freeze(getattr(value, "default_factory", None), seen))
    if isinstance(value, set | frozenset):
        return (name, frozenset(freeze(item) for item in value))
    return None


def _freeze_object(value: Any, seen: _Seen) -> object:
    if isinstance(value, types.GeneratorType):
        return ("generator", *_frames(value, seen))
    if _is_builtin_iterator(value):
        return ("iterator", type(value).__name__, freeze(value.__reduce__(), seen))
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if isinstance(value, types.BuiltinFunctionType):
        return ("builtin", value.__qualname__, freeze(value.__self__, seen))
    if isinstance(value, types.CellType):
        return ("cell", *_contents(value, seen))
    if isinstance(value, types.FunctionType):
        cells = tuple([_contents(cell, seen) for cell in value.__closure__ or ()])
        defaults = freeze((value.__defaults__, value.__kwdefaults__), seen)
        return ("function", value.__code__, cells, defaults)
    if isinstance(value, types.MethodType):
        return ("method", freeze(value.__func__, seen), freeze(value.__self__, seen))
    if not _is_made_in_python(type(value)):
        return (type(value).__qualname__, Incomparable())
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    parts.update(getattr(value, "__dict__", {}))
    return (type(value).__qualname__, freeze(parts, seen) if parts else Incomparable())


def _contents(cell: types.CellType, seen: _Seen) -> tuple[object, ...]:
    try:
        return (freeze(cell.cell_contents, seen),)
    except ValueError:
        return ()


def _is_made_in_python(kind: type) -> bool:
    """Tell whether all that an object of a class is made of is in its attributes."""
    return not any(
        isinstance(member, _C_MADE)
        for base in kind.__mro__
        if base is not object
        for member in vars(base).values()
    )


def _is_builtin_iterator(value: object) -> bool:
    """Tell whether a value is an iterator over a container, which can tell what is left of it."""
    return (
        hasattr(value, "__next__")
        and type(value).__module__ == "builtins"
        and not isinstance(value, types.GeneratorType)
    )


def _frames(generator: Any, seen: _Seen) -> tuple[object, ...]:
    """Return position, locals and stack of a generator, and of those that it delegates to."""
    if not isinstance(generator, types.GeneratorType):
        return (freeze(generator, seen),)
    frame = generator.gi_frame
    if frame is None:
        return ("ended",)
    variables = dict(frame.f_locals)
    inner = generator.gi_yieldfrom
    stack = [item for item in stack_of(generator, frame, variables) if item is not inner]
    here = (
        generator.gi_code,
        frame.f_lasti,
        freeze(variables, seen),
        tuple([freeze(item, seen) for item in stack]),
    )
    return (here,) if inner is None else (here, *_frames(inner, seen))


def stack_of(
    generator: types.GeneratorType[Any, Any, Any], frame: Any, variables: dict[str, Any]
) -> list[Any]:
    """Return what is on the stack of a suspended generator: loops, half-evaluated expressions.

    The garbage collector knows it: what a generator refers to are its names, code and function, the
    variables, and then the stack.
    """
    left_out = [
        generator.__name__, generator.__qualname__, generator.gi_code, generator.gi_code,
        frame.f_globals, frame.f_builtins, frame.f_locals, *variables.values(),
    ]  # fmt: skip
    stack: list[Any] = []
    for item in gc.get_referents(generator):
        position = next((i for i, known in enumerate(left_out) if known is item), None)
        if position is not None:
            del left_out[position]
        elif not isinstance(item, types.FrameType) and not _is_function_of(item, generator):
            stack.append(item)
    return stack


def loops_of(suspended: object) -> tuple[object, ...]:
    """Return what the loops will still go through that a generator or coroutine waits in.

    No local name tells it: a loop has its length when it begins.

    >>> def count(length):
    ...     for i in range(length):
    ...         yield
    >>> two, three = count(2), count(3)
    >>> next(two), next(three), loops_of(two) == loops_of(three)
    (None, None, False)
    >>> next(three), loops_of(three) == loops_of(two)
    (None, False)
    """
    found = []
    for item in gc.get_referents(suspended):
        if _is_builtin_iterator(item):
            with contextlib.suppress(TypeError):  # what is awaited is no loop
                found.append(freeze(item))
    return tuple(found)


def _is_function_of(item: object, generator: types.GeneratorType[Any, Any, Any]) -> bool:
    return isinstance(item, types.FunctionType) and item.__code__ is generator.gi_code

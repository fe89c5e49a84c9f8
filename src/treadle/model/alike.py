"""Values that nothing can tell apart: what the checks of context-sensitive algorithms compare by.

Steps that lead to equal states are not explored in both orders, so a wrong "equal" hides a bug. Two
lists with the same items are not the same list: who holds one of them can see which one it is, or
change it. So here only atoms, tuples and iterators of them, and what is the same object in every
execution (a function, a class, a list with equal items) are comparable; all else is equal to
nothing. `freeze` of `fingerprint` looks further: it compares states by structure, to find out
whether a model does the same when it is run again.
"""

from __future__ import annotations

import enum
import types
from typing import Any

from treadle.core.fingerprint import stack_of
from treadle.core.program import Incomparable

_Seen = dict[int, tuple[int, Any]]
"""Iterators and lists met so far, by address, with their number; they are kept alive."""

_EXACT = frozenset({int, bool, str, bytes, type(None)})
_BY_TEXT = frozenset({float, complex, range})
"""What may be equal and not the same, like 0.0 and -0.0, or two empty ranges."""
_ITERATORS: frozenset[type[Any]] = frozenset(
    {type(iter(())), type(iter("")), type(iter(range(0))), type(iter("é"))}
)
_KIT = ("treadle.model.", "treadle.networks.")
"""Where the classes of shared objects are: the kit's own, and what is built on it."""
_SAME = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, enum.Enum)
"""What is compared by identity: created once, before the executions, or equal to nothing."""


class _Same:
    """Stands for an object: equal to what stands for the very same one."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def alike(value: Any, seen: _Seen | None = None) -> object:
    """Return a value that is equal for arguments that nothing can tell apart.

    >>> alike((1, "a", None)) == alike((1, "a", None))
    True
    >>> alike(True) == alike(1)
    False
    >>> alike([1]) == alike([1])
    False
    >>> alike(always := [1]) == alike(always)
    True
    """
    kind = type(value)
    if kind in _EXACT:
        return (kind.__name__, value)
    if kind in _BY_TEXT:
        return (kind.__name__, repr(value))
    seen = {} if seen is None else seen
    if kind is tuple:
        return ("tuple", tuple([alike(item, seen) for item in value]))
    if kind in _ITERATORS or kind is list:
        if id(value) in seen:
            return ("seen", seen[id(value)][0])
        seen[id(value)] = (len(seen), value)
        if kind is list:
            return (_Same(value), tuple([alike(item, seen) for item in value]))
        return (kind.__name__, alike(value.__reduce__(), seen))
    if isinstance(value, _SAME):
        return _Same(value)
    if _is_of_the_kit(kind):
        return (kind.__name__, _content(value.fingerprint_of(), seen))
    return Incomparable()


def _is_of_the_kit(kind: type) -> bool:
    """Tell whether a class is Treadle's: its objects are created once, under the same names."""
    return kind.__module__.startswith(_KIT) and hasattr(kind, "fingerprint_of")


def _content(value: Any, seen: _Seen) -> object:
    """Return what an object of the kit consists of: its name, and what it holds if anything."""
    if not isinstance(value, tuple):
        return value
    name, content = value
    if type(content) is list:
        return name, tuple([alike(item, seen) for item in content])
    if type(content) is dict:
        return name, tuple([(alike(key, seen), alike(item, seen)) for key, item in content.items()])
    # Numbers of processes and the like, as only the kit itself has tuples here.
    return name, content if type(content) is tuple else alike(content, seen)


def alike_asked(value: object) -> object:
    """Return what is compared of an operation that a process has announced.

    Only the operation has the function in it, or else it is a variable and compared as such.
    """
    if isinstance(value, tuple):
        return tuple([alike_asked(item) for item in value])
    if not isinstance(value, types.FunctionType) or value.__dict__:
        return alike(value)
    cells = tuple([_cell(cell, {}) for cell in value.__closure__ or ()])
    defaults = (value.__defaults__, tuple((value.__kwdefaults__ or {}).items()))
    return ("function", _Same(value.__code__), cells, alike(defaults))


def alike_frames(generator: Any) -> object:
    """Return position, locals and stack of a process, and of what it delegates to."""
    seen: _Seen = {}
    frames: list[object] = []
    while isinstance(generator, types.GeneratorType):
        frame = generator.gi_frame
        if frame is None:
            return [*frames, "ended"]
        variables = dict(frame.f_locals)
        inner = generator.gi_yieldfrom
        stack = [item for item in stack_of(generator, frame, variables) if item is not inner]
        frames.append(
            (
                _Same(generator.gi_code),
                frame.f_lasti,
                [(name, alike(item, seen)) for name, item in variables.items()],
                [_on_stack(item, seen) for item in stack],
            )
        )
        generator = inner
    return frames if generator is None else [*frames, alike(generator, seen)]


def _on_stack(item: Any, seen: _Seen) -> object:
    """Return what an item of a frame's stack is compared by."""
    return _cell(item, seen) if isinstance(item, types.CellType) else alike(item, seen)


def _cell(cell: types.CellType, seen: _Seen) -> object:
    try:
        return ("cell", alike(cell.cell_contents, seen))
    except ValueError:
        return ("cell",)

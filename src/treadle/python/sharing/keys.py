"""Which keys of a dictionary are one: the name of a key is the same in every execution.

`1`, `True`, `1.0`, `Decimal(1)` and `Fraction(1)` are one key, and so are a tuple and a named tuple
of the same items. Such values name themselves: locations are told apart by `==`. Objects that are
equal to themselves only are named by publication. What a class under test, or an unknown one, says
is equal to what cannot be told without running its code: such a key may be any.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Hashable
from typing import Any

from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import module_of_class
from treadle.python.sharing.identities import is_plain_hash
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.tables import Table

_ANY = object()
_BUILT_IN: tuple[Any, ...] = (str, int, float, complex, bytes, tuple, frozenset)
_VALUES = frozenset(
    {"decimal", "_pydecimal", "fractions", "datetime", "uuid", "pathlib", "pathlib._local",
     "ipaddress", "zoneinfo"}
)  # fmt: skip
"""Modules whose objects are values."""


def _plain_key(key: Any) -> Any:
    """Return an immutable value that is the same key, if there is one that can be compared."""
    kind: Any = type(key)
    if kind in ATOMS:
        return key
    for base in _BUILT_IN:
        if issubclass(kind, base):
            is_like_base = kind.__hash__ is base.__hash__ and kind.__eq__ is base.__eq__
            return _built_in(base, key) if is_like_base else _ANY
    return key if module_of_class(kind) in _VALUES and _is_hashable(key) else _ANY


def _built_in(base: Any, key: Any) -> Any:
    """Return the built-in value that an instance of a subclass is equal to."""
    if base not in (tuple, frozenset):
        return base.__getnewargs__(key)[0] if base in (str, bytes) else base.__pos__(key)
    parts = [_plain_key(part) for part in base.__iter__(key)]
    return _ANY if _ANY in parts else base(parts)


def _is_hashable(key: Any) -> bool:
    """Tell whether a value can be a key, and comparing it runs no code under test."""
    equal = type(key).__eq__
    if isinstance(equal, types.FunctionType) and id(equal.__globals__) in instrumented:
        return False
    try:
        hash(key)
    except TypeError:
        return False
    return True


def name_of_key(table: Table, key: Any) -> tuple[Hashable, str] | None:
    """Return what identifies a key in every execution, and its name for people.

    None stands for a key that may be equal to any other.
    """
    plain = _plain_key(key)
    if plain is not _ANY:
        return plain, f"[{plain!r}]"
    kind: Any = type(key)
    if kind.__hash__ is enum.Enum.__hash__ and kind.__eq__ is object.__eq__:
        return (kind.__qualname__, key.name), f"[{key}]"
    if not is_plain_hash(kind.__hash__):
        return None
    known = table.shared.published.get(id(key))
    return ("other", "[...]") if known is None else (("object", known.key), f"[{known.label}]")

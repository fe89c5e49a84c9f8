"""Looking at objects without running their code: classes may lie about themselves.

`isinstance` asks an object for its `__class__`, which proxies and mocks answer as they like; ask
`issubclass(type(value), ...)` of what belongs to the test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_module: Any = type.__dict__["__module__"]
_bases: Any = type.__dict__["__bases__"]
_mro: Any = type.__dict__["__mro__"]
_members: Any = type.__dict__["__dict__"]
_flags: Any = type.__dict__["__flags__"]
_qualname: Any = type.__dict__["__qualname__"]
_dictoffset: Any = type.__dict__["__dictoffset__"]


def module_of_class(kind: type) -> str:
    """Return the name of a class's module; nothing if that is no name: proxies have properties."""
    try:
        name = _module.__get__(kind)
    except AttributeError:
        return ""
    return name if type(name) is str else ""


def set_module_of_class(kind: type, name: str) -> None:
    """Say which module a class is of, whatever its metaclass has under that name."""
    _module.__set__(kind, name)


# What a class is, whatever its metaclass says. Of a class in C that nobody has used yet these
# descriptors know nothing; it has no metaclass of its own, and to be asked makes it ready.


def mro_of(kind: type) -> tuple[type, ...]:
    """Return a class and those that it derives from."""
    found: tuple[type, ...] | None = _mro.__get__(kind)
    return kind.__mro__ if found is None else found


def bases_of(kind: type) -> tuple[type, ...]:
    """Return what a class derives from itself."""
    found: tuple[type, ...] = _bases.__get__(kind)
    return found


def members_of(kind: type) -> Mapping[str, Any]:
    """Return what a class holds itself."""
    found: Mapping[str, Any] | None = _members.__get__(kind)
    return vars(kind) if found is None else found


def found_in(kind: type, name: str) -> Any:
    """Return what a class or one that it derives from holds under a name; None if none does."""
    owners = (members_of(owner) for owner in mro_of(kind))
    return next((members[name] for members in owners if name in members), None)


def flags_of(kind: type) -> int:
    """Return how the interpreter marks a class."""
    return int(_flags.__get__(kind))


def qualname_of(kind: type) -> str:
    """Return the name of a class within its module."""
    return str(_qualname.__get__(kind))


def has_dict(kind: type) -> bool:
    """Tell whether instances of a class have a dictionary of attributes."""
    return bool(_dictoffset.__get__(kind))

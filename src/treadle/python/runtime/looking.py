"""Looking at objects without running their code: classes may lie about themselves.

`isinstance` asks an object for its `__class__`, which proxies and mocks answer as they like; ask
`issubclass(type(value), ...)` of what belongs to the test.
"""

from __future__ import annotations

from typing import Any

_module: Any = type.__dict__["__module__"]


def module_of_class(kind: type) -> str:
    """Return the name of a class's module; nothing if that is no name: proxies have properties."""
    try:
        name = _module.__get__(kind)
    except AttributeError:
        return ""
    return name if type(name) is str else ""

"""What accesses are in words (`treadle.python.runtime.deeds`), and how their values are looked up.

Values are looked up without running code of the user's.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from typing import Any

from treadle.core.words import UNKNOWN
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.deeds import Deed, Say, given
from treadle.python.sharing.published import label_of
from treadle.python.sharing.variable import Variable

_CONTAINERS = (list, dict, set, deque, bytearray)


def _attribute(obj: Any, name: str) -> object:
    values = getattr(obj, "__dict__", {})
    if name in values:
        return values[name]
    found = getattr(type(obj), name, UNKNOWN)
    if isinstance(found, types.MemberDescriptorType):
        try:
            return object.__getattribute__(obj, name)
        except AttributeError:
            return UNKNOWN
    return UNKNOWN if callable(found) or hasattr(found, "__get__") else found


def _item(obj: Any, key: Any) -> object:
    if type(obj) in (list, dict, bytearray):
        try:
            return obj[key]
        except (LookupError, TypeError):
            return UNKNOWN
    return UNKNOWN


def _content(cell: Any, _: Any) -> object:
    if isinstance(cell, Variable):
        return vars(sys.modules[cell.module]).get(cell.name, UNKNOWN)
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN


def _whole(obj: Any, _: Any) -> object:
    return obj if type(obj) in _CONTAINERS else UNKNOWN


def _size(obj: Any, _: Any) -> object:
    if type(obj) is deque:  # which is one location
        return obj
    return len(obj) if type(obj) in _CONTAINERS else UNKNOWN


def _is_member(obj: Any, item: Any) -> object:
    known = type(obj) in _CONTAINERS and type(item) in ATOMS
    return item in obj if known else UNKNOWN


MethodCall = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method by its name, and what it is given."""


class _Search(Deed):
    """`item in obj`: the detail is the item."""

    __slots__ = ()

    def subject(self, about: Any, detail: Any, say: Say) -> str:
        """Return what is looked for, and where."""
        return f"{say(detail)} in {label_of(about, 'it')}"


class _MethodCall(Deed):
    """A method of a container, written as in Python; what it returns is told afterwards.

    It is about the container's name, and the detail is a `MethodCall`.
    """

    __slots__ = ()

    def subject(self, about: Any, detail: MethodCall, say: Say) -> str:
        """Return the call."""
        name, args, kwargs = detail
        arguments = [*map(say, args), *(f"{key}={say(value)}" for key, value in kwargs.items())]
        return f"{about}.{name}({', '.join(arguments)})"


ATTRIBUTE = Deed(value=_attribute)
"""An attribute is read; the detail is its name."""
ITEM = Deed(value=_item)
"""An item is read; the detail is its key."""
CELL = Deed(value=_content)
"""A variable is read."""
STORED = Deed(value=given)
"""Something is assigned; the detail is what."""
DELETED = Deed("delete")
SIZE = Deed(value=_size)
WHOLE = Deed(value=_whole)
"""A container is read, with all that is in it."""
MEMBERSHIP = _Search("look for", value=_is_member)
METHOD = _MethodCall("call")

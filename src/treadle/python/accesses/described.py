"""Dictionaries that say what a class or function is: annotations, and defaults by keyword.

`Point.__annotations__` is a dictionary that others may have as well, with the name of its owner.
Libraries read it without its name being mentioned: `typing.get_type_hints`, `inspect.signature`. As
nearly nobody changes annotations, they are looked at only once some code under test takes them.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.runtime import notes
from treadle.python.runtime.looking import mro_of
from treadle.python.sharing.containers import ContainerTable, DictTable
from treadle.python.sharing.published import published

_ANNOTATIONS = "__annotations__"
_TAKEN = "annotations", "are taken"
"""Only then may somebody change them."""


def annotations_of(obj: Any) -> Any:
    """Stand for `obj.__annotations__`."""
    hooks.load_class_attr(obj, _ANNOTATIONS)
    table = published.get(id(obj))
    if table is not None:
        table.shared.note(*_TAKEN)
        _enter(obj)
    return obj.__annotations__


def keyword_defaults_of(obj: Any) -> Any:
    """Stand for `obj.__kwdefaults__`: calls do not look into it, as far as is seen."""
    return _noted(
        obj,
        "function.__kwdefaults__",
        "defaults by keyword that change inside of their dictionary ({}) are not seen where the "
        "function is called",
    )


def fields_of(obj: Any) -> Any:
    """Stand for `obj.__dataclass_fields__`: `dataclasses` looks into it, unseen."""
    return _noted(
        obj,
        "class.__dataclass_fields__",
        "fields of data classes that change inside of their dictionary ({}) are not seen by who "
        "asks for them",
    )


def _noted(obj: Any, name: str, sentence: str) -> Any:
    """Return a dictionary that others look into unseen, and say so once it is shared."""
    attribute = name.partition(".")[2]
    hooks.load_class_attr(obj, attribute)
    if id(obj) in published:
        notes.remark(attribute, name, sentence)
    return getattr(obj, attribute)


DICTIONARIES: dict[str, Callable[[Any], Any]] = {
    _ANNOTATIONS: annotations_of,
    "__kwdefaults__": keyword_defaults_of,
    "__dataclass_fields__": fields_of,
}


def _enter(owner: Any) -> ContainerTable | None:
    """Return the table of the annotations of something published, and enter them."""
    table, found = published.get(id(owner)), None
    with contextlib.suppress(Exception):  # they may have to be computed, and name what is not there
        found = owner.__annotations__
    if table is None or type(found) is not dict:
        return None
    if id(found) not in published:
        label = f"{table.label}.{_ANNOTATIONS}"
        made = table.shared.new_table(DictTable, (table.key, _ANNOTATIONS), found, label)
        made.begin(found)
        table.shared.enter(found, made)
    held = published[id(found)]
    return held if isinstance(held, ContainerTable) else None


def _read(obj: Any) -> Iterator[Codes]:
    """Yield the codes of reading the annotations of a function, or of a class and its bases."""
    for owner in mro_of(obj) if issubclass(type(obj), type) else (obj,):
        table = published.get(id(owner))
        if table is not None and table.shared.happens(*_TAKEN):
            yield table[_ANNOTATIONS]
            held = _enter(owner)
            yield held.whole_read() if held is not None else ()


def _read_annotations(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of a library that reads the annotations of its first argument."""
    for obj in (*args, *kwargs.values())[:1]:
        hooks.say(tuple(dict.fromkeys(code for codes in _read(obj) for code in codes)))
    return function(*args, **kwargs)


_HOME = "annotationlib" if sys.version_info >= (3, 14) else "inspect"
"""Where the function that reads annotations is defined."""
ANNOTATION_READERS: dict[tuple[str, str], Callable[..., Any]] = dict.fromkeys(
    [
        ("typing", "get_type_hints"), ("inspect", "signature"), ("inspect", "getfullargspec"),
        (_HOME, "get_annotations"),
    ],
    _read_annotations,
)  # fmt: skip

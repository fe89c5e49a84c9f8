"""What is run when an object dies: what is shared lives on, so a note names who would notice."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Callable, Container
from typing import Any

from treadle.python.runtime import notes
from treadle.python.runtime.looking import found_in, module_of_class, qualname_of

_BEHIND: dict[type, Callable[[Any], Any]] = {
    **{
        kind: lambda buffered: buffered.raw
        for kind in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom)
    },
    io.TextIOWrapper: lambda text: text.buffer,
}
"""What files in C close when they die."""


WEAK, FINAL, KEPT = "weak references", "finalizers", "what is kept alive"
"""Of what there are notes, since it happens later than in CPython, or never."""


def refers_weakly(name: str, *, has_threads: bool = False) -> None:
    """Say that what is weakly referred to, and shared, lives as long as the execution."""
    notes.remark(
        WEAK,
        name,
        "what is shared does not die while threads run, so weak references to it do not either "
        "({}): what happens when they do is not explored",
        has_threads=has_threads,
    )


def keeps_alive(name: str) -> None:
    """Say that something shared lives on, and so does what weak references lead to."""
    notes.remark(
        KEPT,
        "weakref.ref",
        f"what is shared does not die while threads run, so a `{name}` that nobody refers to any "
        "more keeps alive what weak references lead to ({}): what happens when that dies is not "
        "explored",
        has_threads=True,
    )


def in_failures() -> list[str]:
    """Say what a failure may rest on: that something lives longer than in CPython."""
    found = (notes.remarks.get(subject) for subject in (WEAK, FINAL, KEPT))
    return [f"It may rest on a life that is too long: {one}" for one in found if one]


def meet(value: Any, published: Container[int]) -> None:
    """Say so if the death of an object does something that others can see."""
    kind = type(value)
    if is_in_python(kind) or (kind in _BEHIND and _closes_shared(value, published)):
        notes.remark(
            FINAL,
            f"{'io' if kind in _BEHIND else module_of_class(kind)}.{qualname_of(kind)}",
            "what is shared does not die while threads run, so its `__del__` is run at the end "
            "of an execution only ({})",
            has_threads=True,
        )


def is_in_python(kind: type) -> bool:
    """Tell whether a class has a finalizer in Python.

    Those of CPython's libraries are harmless, and so are those of what stands in for them.
    """
    package = module_of_class(kind).partition(".")[0]
    is_own = package not in sys.stdlib_module_names and package != "treadle"
    return is_own and issubclass(type(found_in(kind, "__del__")), types.FunctionType)


def _closes_shared(value: Any, published: Container[int]) -> bool:
    """Tell whether a file would close another one that threads share already."""
    try:
        return id(_BEHIND[type(value)](value)) in published
    except ValueError:  # it was detached
        return False

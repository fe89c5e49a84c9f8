"""How a publication walks objects of each class: what their table is, and what they refer to."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

from treadle.python.runtime.looking import (
    flags_of,
    found_in,
    has_dict,
    members_of,
    module_of_class,
    mro_of,
    qualname_of,
)
from treadle.python.sharing.children import (
    Children,
    attributes_and_class,
    attributes_of,
    cells_and_more,
    children_of_builtin,
    children_of_c_object,
    children_of_cell,
    children_of_class,
    children_of_exception,
    children_of_function,
    children_of_generator,
    children_of_hiding,
    children_of_instance,
    children_of_method,
    children_of_module,
    children_of_partial,
    children_of_property,
    children_of_sequence,
    children_of_set,
    children_of_wrapped_method,
    content_of_cell,
    has_plain_dict,
    hides_parts,
    no_children,
    parts_of_partial,
)
from treadle.python.sharing.tables import CellTable, ClassTable, NewModuleTable, ObjectTable, Table


class Walk:
    """How objects of a class are named and walked."""

    __slots__ = ("children", "counts", "is_selective", "labelled", "leads_back", "table")

    def __init__(
        self,
        kind: type,
        table: type[Table] | None,
        labelled: Callable[[Any, str], Children],
        children: Callable[[Any], Sequence[Any]],
    ) -> None:
        self.table = table
        self.counts = table is not None and table.counts
        self.is_selective = table is not None and table.is_selective
        self.leads_back = table is None and has_dict(kind)
        """Whether attributes may lead a walk back to an object that it only passes."""
        self.labelled = labelled
        self.children = children
        """What `labelled` yields, without the labels, which are seldom needed."""


def _walk(
    kind: type,
    table: type[Table] | None,
    labelled: Callable[[Any, str], Children],
    quick: Callable[[Any], Sequence[Any]] | None = None,
) -> Walk:
    if quick is None:
        return Walk(
            kind, table, labelled, lambda value: [child for child, _ in labelled(value, "")]
        )
    return Walk(kind, table, labelled, quick)


WALKS: Final[dict[type, Walk]] = {}
"""How to walk instances of classes that are the same in every execution."""
_REGISTERED: set[type] = set()
"""Classes whose subclasses are walked like them: the others in `WALKS` were found out."""
_HEAP_TYPE = 1 << 9
"""The flag of classes that were made by a `class` statement or look like it."""


def register(
    kind: type,
    table: type[Table] | None,
    children: Callable[[Any, str], Children] | None = None,
    quick: Callable[[Any], Sequence[Any]] | None = None,
) -> None:
    """Say how instances of a class are named and walked.

    `quick` returns what `children` yields, without labels.
    """
    _REGISTERED.add(kind)
    WALKS[kind] = _walk(kind, table, children or no_children, quick)


def walk_of_kind(kind: type) -> Walk:
    """Find how to walk instances of a class that was not registered."""
    if issubclass(kind, type):
        return _walk(kind, ClassTable, children_of_class)
    if f"{module_of_class(kind)}.".startswith("treadle."):
        return _walk(
            kind, None, no_children
        )  # results and the like are none of the test's business
    base = next((base for base in mro_of(kind)[1:] if base in _REGISTERED), None)
    if base is None:
        if not flags_of(kind) & _HEAP_TYPE and not has_dict(kind):
            return _walk(kind, ObjectTable, children_of_c_object)
        if hides_parts(kind):
            return _walk(kind, ObjectTable, children_of_hiding)
        has_slots = any("__slots__" in members_of(owner) for owner in mro_of(kind))
        is_plain = found_in(kind, "__getattribute__") is object.__getattribute__ and has_plain_dict(
            kind
        )
        quick = attributes_and_class if is_plain and has_dict(kind) and not has_slots else None
        return _walk(kind, ObjectTable, children_of_instance, quick)
    inherited = WALKS[base]
    table = inherited.table or (ObjectTable if has_dict(kind) else None)
    return _walk(kind, table, functools.partial(_both, inherited.labelled))


def outlives_executions(kind: type) -> bool:
    """Tell whether a class can be found in its module, or is written in C."""
    if "<locals>" in qualname_of(kind):
        return False
    if not flags_of(kind) & _HEAP_TYPE:
        return True
    outermost, dot, _ = qualname_of(kind).partition(".")
    found = attributes_of(sys.modules.get(module_of_class(kind))).get(outermost)
    return found is not None if dot else found is kind


def _both(inner: Callable[[Any, str], Children], value: Any, label: str) -> Children:
    yield from inner(value, label)
    yield from children_of_instance(value, label)


register(tuple, None, children_of_sequence, lambda value: value)
register(frozenset, None, children_of_set)
register(types.FunctionType, ObjectTable, children_of_function, cells_and_more)
register(types.CellType, CellTable, children_of_cell, content_of_cell)
register(types.MethodType, None, children_of_method, lambda value: (value.__self__, value.__func__))
register(types.GeneratorType, ObjectTable, children_of_generator)
register(types.BuiltinFunctionType, None, children_of_builtin, lambda value: (value.__self__,))
register(types.MethodWrapperType, None, children_of_builtin)
register(functools.partial, ObjectTable, children_of_partial, parts_of_partial)
register(types.ModuleType, NewModuleTable, children_of_module)
register(property, None, children_of_property)
register(staticmethod, None, children_of_wrapped_method)
register(classmethod, None, children_of_wrapped_method)
register(BaseException, ObjectTable, children_of_exception)

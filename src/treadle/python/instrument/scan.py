"""What code assigns and refers to, found without rewriting it."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from dataclasses import dataclass

_EXTENDED = dis.opmap["EXTENDED_ARG"]
_GLOBAL_STORES = {dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]}
_ATTRIBUTE_STORES = {dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]}
_NAME_STORE = dis.opmap["STORE_NAME"]
_OPERATORS = {dis.opmap["BINARY_OP"], dis.opmap["COMPARE_OP"]}
_OPTIMIZED = 1
"""Flag of the code of functions; bodies of classes and modules do not have it."""


@dataclass(frozen=True)
class Facts:
    """What a code object and those inside it do with names."""

    globals_stored: frozenset[str]
    attributes_stored: frozenset[str]
    class_names: frozenset[str]
    """Names that class bodies assign."""
    names: frozenset[str]
    """All names of attributes and globals."""
    functions: frozenset[str]
    """Names of the functions."""
    specials: frozenset[str]
    """Special methods among them that somebody wrote."""
    operates: bool
    """Whether there are operators, or comparisons."""


_GENERATED = "__create_fn__"
"""What the names of functions begin with that the decorator of data classes makes."""


def is_special(name: str) -> bool:
    """Tell whether a name is one of Python's own."""
    return name.startswith("__") and name.endswith("__")


_known: dict[int, tuple[types.CodeType, Facts]] = {}


def facts_of(code: types.CodeType) -> Facts:
    """Return what a code object does with names; remembered as long as the process lives."""
    known = _known.get(id(code))
    if known is None:
        known = _known[id(code)] = (code, _scan(code))
    return known[1]


def _scan(code: types.CodeType) -> Facts:
    stored_globals: set[str] = set()
    stored_attributes: set[str] = set()
    class_names: set[str] = set()
    names: set[str] = set()
    functions: set[str] = set()
    operates = False
    for one in codes_in(code):
        names.update(one.co_names)
        functions.add(one.co_name)
        is_body = not one.co_flags & _OPTIMIZED and one is not code
        for op, arg in _operations(one):
            if op in _GLOBAL_STORES:
                stored_globals.add(one.co_names[arg])
            elif op in _ATTRIBUTE_STORES:
                stored_attributes.add(one.co_names[arg])
            elif op == _NAME_STORE and is_body:
                class_names.add(one.co_names[arg])
            operates = operates or op in _OPERATORS
    return Facts(
        frozenset(stored_globals),
        frozenset(stored_attributes),
        frozenset(class_names),
        frozenset(names),
        frozenset(functions),
        frozenset(
            one.co_name
            for one in codes_in(code)
            if is_special(one.co_name) and not one.co_qualname.startswith(_GENERATED)
        ),
        operates,
    )


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and all those inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes_in(const)


def _operations(code: types.CodeType) -> Iterator[tuple[int, int]]:
    raw = code.co_code
    extended = 0
    for position in range(0, len(raw), 2):
        op, arg = raw[position], raw[position + 1] | extended
        if op == _EXTENDED:
            extended = arg << 8
            continue
        extended = 0
        yield op, arg

"""What code assigns and refers to, found without rewriting it."""

from __future__ import annotations

import dis
import re
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_EXTENDED = dis.opmap["EXTENDED_ARG"]
_GLOBAL_STORES = {dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]}
_ATTRIBUTE_STORES = {dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]}
_NAME_STORE = dis.opmap["STORE_NAME"]


def _one_of(operations: Iterable[int]) -> re.Pattern[bytes]:
    """Return what finds operations: a regular expression takes a tenth of the time of a loop."""
    return re.compile(b"[" + re.escape(bytes(operations)) + b"]")


_STORES = _one_of({*_GLOBAL_STORES, *_ATTRIBUTE_STORES, _NAME_STORE})
_OPERATORS = _one_of({dis.opmap["BINARY_OP"], dis.opmap["COMPARE_OP"]})
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
        raw = one.co_code
        operations = raw[::2]
        operates = operates or _OPERATORS.search(operations) is not None
        for found in _STORES.finditer(operations):
            op, name = operations[found.start()], one.co_names[_argument(raw, 2 * found.start())]
            if op in _GLOBAL_STORES:
                stored_globals.add(name)
            elif op in _ATTRIBUTE_STORES:
                stored_attributes.add(name)
            elif is_body:
                class_names.add(name)
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


def _argument(raw: bytes, position: int) -> int:
    """Return the argument of an instruction, with what those before it add."""
    arg, shift = raw[position + 1], 8
    while position and raw[position - 2] == _EXTENDED:
        position -= 2
        arg |= raw[position + 1] << shift
        shift += 8
    return arg

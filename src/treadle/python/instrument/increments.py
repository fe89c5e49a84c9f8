"""`self.count += 1`: an object that is nobody else's when it is read still is when it is written.

In between nobody else runs, and no code under test, which might publish it. So one look is enough:
10,000 increments of a counter that no thread shares take 0.88 of the time that two looks take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bytecode import BinaryOp

from treadle.python.instrument.scope import Scope

LENGTH = 5
"""Instructions of an increment, from the one that loads the attribute to the one that stores it."""
_NAMES = ["LOAD_ATTR", "LOAD_CONST", "BINARY_OP", "SWAP", "STORE_ATTR"]


def is_increment(found: Sequence[Any], scope: Scope) -> bool:
    """Tell whether instructions add a number to an attribute, and run nobody's code meanwhile."""
    if [getattr(i, "name", "") for i in found] != _NAMES:
        return False
    if scope.specials or scope.meets_foreign_operators:
        return False
    load, number, operation, swap, store = found
    is_method, name = load.arg if isinstance(load.arg, tuple) else (False, load.arg)
    return (
        not is_method
        and name == store.arg
        and not name.startswith("__")
        and name not in scope.class_names
        and type(number.arg) in (int, float)
        and operation.arg in (BinaryOp.INPLACE_ADD, BinaryOp.INPLACE_SUBTRACT)
        and swap.arg == 2
    )

"""What an instruction may run special methods of: where its operands lie on the stack.

Only asked where somebody replaces special methods, or the code of functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle.python.instrument.opcodes import CALLS, callable_depth

_COUNTS = {
    "BINARY_OP": 2, "COMPARE_OP": 2, "CONTAINS_OP": 2, "BINARY_SUBSCR": 2, "STORE_SUBSCR": 3,
    "DELETE_SUBSCR": 2, "BINARY_SLICE": 3, "STORE_SLICE": 4, "LOAD_ATTR": 1, "LOAD_METHOD": 1,
    "STORE_ATTR": 2, "DELETE_ATTR": 1, "GET_ITER": 1, "GET_YIELD_FROM_ITER": 1,
    "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1, "LIST_EXTEND": 1, "SET_UPDATE": 1, "DICT_UPDATE": 1,
    "DICT_MERGE": 1, "GET_LEN": 1, "UNARY_NOT": 1, "UNARY_NEGATIVE": 1, "UNARY_INVERT": 1,
    "UNARY_POSITIVE": 1, "TO_BOOL": 1, "FORMAT_VALUE": 1, "FORMAT_SIMPLE": 1,
    "FORMAT_WITH_SPEC": 2, "CONVERT_VALUE": 1, "BEFORE_WITH": 1, "LOAD_SPECIAL": 1,
    "MATCH_KEYS": 2, "MATCH_CLASS": 3, "POP_JUMP_IF_TRUE": 1, "POP_JUMP_IF_FALSE": 1,
    "POP_JUMP_FORWARD_IF_TRUE": 1, "POP_JUMP_FORWARD_IF_FALSE": 1, "POP_JUMP_BACKWARD_IF_TRUE": 1,
    "POP_JUMP_BACKWARD_IF_FALSE": 1, "JUMP_IF_TRUE_OR_POP": 1, "JUMP_IF_FALSE_OR_POP": 1,
}  # fmt: skip
"""How many operands instructions have whose special methods they run."""


def operands_of(i: Any, unpacked: Iterable[int]) -> list[int]:
    """Return where the operands of an instruction lie; 1 is the top of the stack.

    `unpacked` is where those of `f(*a, **k)` lie.
    """
    if i.name == "CALL_FUNCTION_EX":
        return [*unpacked, callable_depth(i)]
    if i.name in CALLS:
        first = 2 if i.name == "CALL_KW" else 1
        return [*range(first, first + i.arg), callable_depth(i)]
    return [*range(1, 1 + _COUNTS.get(i.name, 0))]

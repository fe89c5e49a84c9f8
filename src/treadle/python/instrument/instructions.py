"""What is known of instructions by their names alone."""

from __future__ import annotations

METHODS = {
    "ADD": "add", "MULTIPLY": "mul", "OR": "or", "AND": "and", "SUBTRACT": "sub", "XOR": "xor",
    "REMAINDER": "mod", "TRUE_DIVIDE": "truediv", "FLOOR_DIVIDE": "floordiv", "POWER": "pow",
    "LSHIFT": "lshift", "RSHIFT": "rshift", "MATRIX_MULTIPLY": "matmul",
}  # fmt: skip
"""The special methods of operators."""
UNARY = {
    "UNARY_NEGATIVE": "__neg__", "UNARY_INVERT": "__invert__", "UNARY_POSITIVE": "__pos__",
    "INTRINSIC_UNARY_POSITIVE": "__pos__",
}  # fmt: skip
"""The special methods of operators with one operand."""
RESULTS = {
    "BINARY_OP": frozenset(f"__{r}{name}__" for name in METHODS.values() for r in ("", "r")),
    "COMPARE_OP": frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}),
}
"""Special methods that decide what operators with two operands yield."""
TRUTHS = frozenset({"COMPARE_OP", "CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL", "MATCH"})
"""Instructions whose result is true or false, or not worth asking."""
FRESH = frozenset(
    {
        "BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_MAP", "BUILD_STRING", "FORMAT_VALUE",
        "FORMAT_SIMPLE", "BUILD_CONST_KEY_MAP", "BUILD_SLICE", "MAKE_FUNCTION", "BINARY_OP",
        *TRUTHS,
    }
)  # fmt: skip
"""Instructions whose result nobody else has."""
SCALARS = TRUTHS | {
    "LOAD_CONST", "BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "BUILD_SLICE", "MAKE_FUNCTION",
}  # fmt: skip
"""Instructions whose result is no container, or a constant one."""
OPPOSITE = {"FALSE": "TRUE", "TRUE": "FALSE", "NONE": "NOT_NONE", "NOT_NONE": "NONE"}
"""Conditions of jumps, and what they are if one does not jump."""

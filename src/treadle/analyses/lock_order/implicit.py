"""Methods that run without being called by name: by operators, indices, loops and builtins."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
    ast.MatMult: "matmul",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}
_ITERATING = ("__iter__", "__next__")
_BUILTINS = {
    "len": ("__len__",),
    "bool": ("__bool__",),
    "str": ("__str__", "__repr__"),
    "repr": ("__repr__",),
    "hash": ("__hash__",),
    "next": ("__next__",),
    **dict.fromkeys(("iter", "list", "tuple", "set", "sorted", "sum", "any", "all"), _ITERATING),
}
HARMLESS = frozenset(
    {
        *("functools.wraps", "functools.partial", "builtins.isinstance", "builtins.callable"),
        *("builtins.getattr", "builtins.hasattr", "builtins.id", "builtins.repr", "builtins.str"),
        "builtins.property",
    }
)
"""What is given functions and does not call them."""
WAITING_FOR_FUTURES = frozenset({"concurrent.futures.wait", "concurrent.futures.as_completed"})


def implicit_calls(node: ast.AST) -> Iterator[tuple[ast.expr, tuple[str, ...]]]:
    """Yield operands with the names of those of their methods that a node calls."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            name = _OPERATORS[type(op)]
            yield left, (f"__{name}__",)
            yield right, (f"__r{name}__",)
        case ast.AugAssign(target=target, op=op):
            name = _OPERATORS[type(op)]
            yield target, (f"__i{name}__", f"__{name}__")
        case ast.Compare(left=left, ops=ops, comparators=others):
            for first, how, second in zip([left, *others], ops, others, strict=False):
                if type(how) in _COMPARISONS:
                    yield first, (_COMPARISONS[type(how)],)
                elif isinstance(how, ast.In | ast.NotIn):
                    yield second, ("__contains__",)
        case ast.Subscript(value=value, ctx=context):
            names = {ast.Load: "__getitem__", ast.Store: "__setitem__", ast.Del: "__delitem__"}
            yield value, (names[type(context)],)
        case (
            ast.For(iter=iterated) | ast.AsyncFor(iter=iterated) | ast.comprehension(iter=iterated)
        ):
            yield iterated, _ITERATING
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _BUILTINS:
            yield first, _BUILTINS[name]
        case ast.FormattedValue(value=value):
            yield value, ("__format__", "__str__", "__repr__")
        case _:
            pass

"""Expressions, executed symbolically: what Python computes, with a decision wherever it branches.

`min`, `max`, conditional expressions, `and`, `or` and comparisons split the path: terms have no
branches in them. What is computed with is whole numbers and truth values; `+` of anything else is
refused, not guessed.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any

from treadle.smt.code import Code, NotTranslatedError
from treadle.smt.on_path import RaisesError, read, same, truth
from treadle.smt.paths import Path
from treadle.smt.store import Store
from treadle.smt.terms import Constant, Poly, Var, at_least_zero, is_zero
from treadle.smt.values import COMPARED, Value

_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[[Poly, Poly], Poly]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
}
COMPOSED = "composed"
"""Begins a message that other values might make as well: 1 and 12 read like 11 and 2."""
_EMPTY: dict[str, Any] = {"str": "", "bytes": b""}
_ORDERS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Expressions:
    """Evaluates the expressions of a block on a path."""

    def __init__(self, code: Code, side: str, path: Path, store: Store, used: set[str]) -> None:
        self.code = code
        self.side = side
        self.path = path
        self.store = store
        self.contents = store.contents
        self.locals: dict[str, Value] = {}
        self._used = used
        """Local names whose kinds of values were relied on."""

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        match node:
            case ast.Constant(value):
                return self._constant(value, node)
            case ast.Name(name):
                return self._name(name, node)
            case ast.Attribute() | ast.Subscript():
                return self._shared(node)
            case ast.BinOp(left, op, right):
                return self.computed(op, self.value(left), self.value(right), node)
            case ast.UnaryOp(op, operand):
                return self._unary(op, self.value(operand), node)
            case ast.BoolOp(op, values):
                return self._logical(isinstance(op, ast.And), values)
            case ast.Compare():
                return Value.truth(self._comparison(node))
            case ast.IfExp(test, body, orelse):
                return self.value(body if self.holds(test) else orelse)
            case ast.Call():
                return self.call(node)
        raise self.refused(node, f"{type(node).__name__} is not translated")

    def holds(self, node: ast.expr) -> bool:
        """Tell whether an expression is true."""
        return self._is_true(self.value(node), node)

    def refused(self, node: ast.AST, reason: str) -> NotTranslatedError:
        """Return that something is not understood, to be raised."""
        return NotTranslatedError(getattr(node, "lineno", 0), reason)

    # Names

    def _constant(self, value: object, node: ast.AST) -> Value:
        found = Value.constant(value)
        if found is None:
            raise self.refused(node, f"a {type(value).__name__} is not translated")
        return found

    def _name(self, name: str, node: ast.AST) -> Value:
        if name in self.locals:
            return self.locals[name]
        if name in self.code.local:
            return self.local(name)
        return self._constant(self.meaning(name, node), node)

    def local(self, name: str) -> Value:
        """Return what a local name is when the block begins."""
        self._used.add(name)
        kinds = self.code.kinds.get(name, ("int",))
        return read(self.path, Var(f"{self.side}.{name}", "int"), kinds)

    def meaning(self, name: str, node: ast.AST) -> object:
        """Return what a name that is not local means."""
        try:
            return self.code.meaning(name)
        except KeyError:
            raise self.refused(node, f"{name} is not known when the code is read") from None

    def _shared(self, node: ast.Attribute | ast.Subscript) -> Value:
        if isinstance(node, ast.Subscript):
            table = self.container_name(node.value, "dict")
            if table is not None:
                return self.contents.item(table, self.value(node.slice))
        elif node.attr == "value":
            counter = self.container_name(node.value, "counter")
            if counter is not None:
                return self.store.get(counter)
        name = self.shared_name(node)
        if name is not None:
            return self.store.get(name)
        if isinstance(node, ast.Subscript):
            array = self.array_name(node)
            return self.store.element(array, self.place(array, node))
        found = self._member(node)
        if found is None:
            raise self.refused(node, f"{ast.unparse(node)} is not translated")
        return found

    def _member(self, node: ast.Attribute) -> Value | None:
        """Return a member of an enumeration, or another constant of a class."""
        if isinstance(node.value, ast.Name) and node.value.id not in self.code.local:
            owner = self.meaning(node.value.id, node)
            if isinstance(owner, type):
                return Value.constant(getattr(owner, node.attr, ...))
        return None

    def shared_name(self, node: ast.expr) -> str | None:
        """Return the name of the shared scalar that an expression is, None if it is none."""
        if not (isinstance(node, ast.Attribute) and self._is_state(node.value)):
            return None
        known = self.store.shared.get(node.attr)
        if known is None or known.length is not None or known.container:
            raise self.refused(node, f"s.{node.attr} is no scalar")
        return node.attr

    def container_name(self, node: ast.expr, *wanted: str) -> str | None:
        """Return the name of the set, list or dictionary that an expression is; None: no such."""
        if isinstance(node, ast.Attribute) and self._is_state(node.value):
            known = self.store.shared.get(node.attr)
            if known is not None and known.container in wanted:
                return node.attr
        return None

    def array_name(self, node: ast.Subscript) -> str:
        """Return the name of the shared array of which an expression is an element."""
        owner = node.value
        if isinstance(owner, ast.Attribute) and self._is_state(owner.value):
            known = self.store.shared.get(owner.attr)
            if known is not None and known.length is not None:
                return owner.attr
        raise self.refused(node, f"{ast.unparse(owner)} is no shared array")

    def place(self, array: str, node: ast.Subscript, use: str = "read") -> Poly:
        """Return which element of an array is meant, to read it or to write it."""
        index = self.value(node.slice)
        if index.tag not in ("int", "bool"):
            raise self.refused(node, f"an index that is no whole number: {ast.unparse(node.slice)}")
        return self.store.place(array, self._number(index), use)

    def _is_state(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.code.state

    # Numbers

    def _number(self, value: Value) -> Poly:
        """Return a whole number or truth value as a number."""
        if value.tag == "bool":
            return Poly.constant(int(truth(self.path, value.term)))
        assert isinstance(value.term, Poly)
        return value.term

    def _numbers(self, sign: str, node: ast.AST, *values: Value) -> list[Poly]:
        """Return operands as numbers; None among them raises, and anything else is refused."""
        for value in values:
            if value.tag not in ("int", "bool", "none"):
                what = "something that is only moved" if value.tag == "opaque" else value.tag
                raise self.refused(node, f"{sign} of {what}: only whole numbers are computed with")
        if any(value.tag == "none" for value in values):
            raise RaisesError("TypeError", sign, *(value.tag for value in values))
        return [self._number(value) for value in values]

    def computed(
        self, op: ast.operator, left: Value, right: Value, node: ast.AST, becomes: str = ""
    ) -> Value:
        """Return the result of an operator; `becomes` is `=` if it is part of an assignment."""
        if type(op) in _ARITHMETIC:
            sign, compute = _ARITHMETIC[type(op)]
            return Value.number(compute(*self._numbers(sign + becomes, node, left, right)))
        if not isinstance(op, ast.FloorDiv | ast.Mod):
            raise self.refused(node, f"the operator {type(op).__name__} is not translated")
        sign = "//" if isinstance(op, ast.FloorDiv) else "%"
        dividend, divisor = self._numbers(sign + becomes, node, left, right)
        number = divisor.value
        if number is None or number < 0:
            raise self.refused(node, f"{sign} by something else than a positive constant")
        if number == 0:
            raise RaisesError("ZeroDivisionError", sign)
        return Value.number(_quotient(sign, dividend, number))

    def _unary(self, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
        if isinstance(op, ast.Not):
            return Value.truth(not self._is_true(value, node))
        if isinstance(op, ast.Invert):
            raise self.refused(node, "the operator ~ is not translated")
        is_minus = isinstance(op, ast.USub)
        [number] = self._numbers("unary -" if is_minus else "unary +", node, value)
        return Value.number(-number if is_minus else number)

    # Decisions

    def _is_true(self, value: Value, node: ast.AST) -> bool:
        match value.tag:
            case "int":
                return not self.path.decide(is_zero(value.term))
            case "bool":
                return truth(self.path, value.term)
            case "none":
                return False
            case "enum":
                return True
            case "str" | "bytes":
                empty = Value(value.tag, Constant(value.tag, _EMPTY[value.tag]))
                return not same(self.path, value, empty)
        raise self.refused(node, "whether something that is only moved is true")

    def _logical(self, is_and: bool, values: list[ast.expr]) -> Value:
        """Return `a and b`, `a or b`: the operand that decides, and no more are evaluated."""
        for node in values[:-1]:
            found = self.value(node)
            if self._is_true(found, node) != is_and:
                return found
        return self.value(values[-1])

    def _comparison(self, node: ast.Compare) -> bool:
        """Tell whether a chain of comparisons holds; it ends at the first that does not."""
        left = self.value(node.left)
        for op, operand in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                if len(node.ops) > 1:
                    raise self.refused(node, "`in` in a chain of comparisons")
                return self._is_in(left, operand) == isinstance(op, ast.In)
            right = self.value(operand)
            if not self._compared(op, left, right, node):
                return False
            left = right
        return True

    def _is_in(self, left: Value, operand: ast.expr) -> bool:
        container = self.container_name(operand, "set", "dict")
        if container is not None:
            return self.contents.has(container, left)
        if not isinstance(operand, ast.Tuple | ast.List | ast.Set):
            raise self.refused(operand, f"in {ast.unparse(operand)}")
        items = [self.value(item) for item in operand.elts]
        return any(self._equal(left, item, operand) for item in items)

    def _compared(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> bool:
        if isinstance(op, ast.Eq | ast.NotEq):
            return self._equal(left, right, node) == isinstance(op, ast.Eq)
        if isinstance(op, ast.Is | ast.IsNot):
            return self._identical(left, right, node) == isinstance(op, ast.Is)
        sign = _ORDERS[type(op)]
        one, other = self._numbers(sign, node, left, right)
        if sign in (">", ">="):
            one, other = other, one
        return self.path.decide(at_least_zero((other - one).plus(-1 if sign in "<>" else 0)))

    def _equal(self, left: Value, right: Value, node: ast.AST) -> bool:
        if {left.tag, right.tag} <= {"int", "bool"}:
            if left.tag == right.tag == "bool":
                return same(self.path, left, right)
            return self.path.decide(is_zero(self._number(left) - self._number(right)))
        if {left.tag, right.tag} & {"opaque", "result"}:
            raise self.refused(node, "something is compared that is only moved")
        return same(self.path, left, right)

    def _identical(self, left: Value, right: Value, node: ast.AST) -> bool:
        kinds = {left.tag, right.tag}
        if kinds & {"opaque", "result"} and (kinds & {"result"} or "none" not in kinds):
            raise self.refused(node, "something is compared that is only moved")
        if len(kinds) == 2:
            return False
        if not kinds <= {"none", "bool", "enum"}:
            raise self.refused(node, f"whether one {left.tag} is another is up to the interpreter")
        return same(self.path, left, right)

    # Calls

    def call(self, node: ast.Call) -> Value:
        """Return what a function makes of its arguments."""
        if not isinstance(node.func, ast.Name) or node.func.id in self.code.local:
            raise self.refused(node, f"the call of {ast.unparse(node.func)} is not translated")
        function = self.meaning(node.func.id, node)
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.refused(node, "a call with keywords or a star")
        if function is builtins.len and len(node.args) == 1:
            return self._length(node.args[0])
        given = [self.value(arg) for arg in node.args]
        if function in (builtins.min, builtins.max) and len(given) > 1:
            return self._extreme("<" if function is builtins.min else ">", given, node)
        if function is builtins.abs and len(given) == 1:
            [number] = self._numbers("abs", node, *given)
            return Value.number(number if self.path.decide(at_least_zero(number)) else -number)
        if function is builtins.bool and len(given) == 1:
            return Value.truth(self._is_true(given[0], node))
        if function is builtins.int and len(given) == 1 and given[0].tag in ("int", "bool"):
            return Value.number(self._number(given[0]))
        if callable(function) and self.code.is_pure(function) and not isinstance(function, type):
            return self._uninterpreted(node.func.id, given, node)
        raise self.refused(node, f"{node.func.id}() is not known to be pure")

    def _length(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Attribute) and self._is_state(node.value):
            known = self.store.shared.get(node.attr)
            if known is not None and known.length is not None:
                return Value.number(known.length)
        raise self.refused(node, f"the length of {ast.unparse(node)}")

    def _extreme(self, sign: str, given: list[Value], node: ast.AST) -> Value:
        """Return the smallest or largest, the first of those that are equal."""
        best = given[0]
        for value in given[1:]:
            one, other = self._numbers(sign, node, value, best)
            difference = other - one if sign == "<" else one - other
            if self.path.decide(at_least_zero(difference.plus(-1))):
                best = value
        return best

    def _uninterpreted(self, name: str, given: list[Value], node: ast.AST) -> Value:
        """Return what a pure function makes of its arguments: the same of the same."""
        if any(value.tag not in ("int", *COMPARED) for value in given):
            raise self.refused(
                node, f"{name}() is given something else than whole numbers and texts"
            )
        texts = [value.term.text() if value.tag == "int" else value.term.text for value in given]
        terms = [value.term for value in given]
        var = Var(f"{name}({', '.join(texts)})", "result", "call", (name, *terms))
        return Value("result", var)

    # What is only there to be checked

    def described(self, node: ast.expr | None) -> tuple[Value | str, ...]:
        """Return what a message says: its values, and the text around them."""
        if node is None:
            return ()
        if not isinstance(node, ast.JoinedStr):
            return (self.value(node),)
        found: list[Value | str] = []
        formatted = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        if len(formatted) > 1 or any(part.format_spec for part in formatted):
            found.append(COMPOSED)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                found.append(self.value(part.value))
            else:
                found.append(ast.unparse(part))
        return tuple(found)


def _quotient(sign: str, dividend: Poly, divisor: int) -> Poly:
    """Return `dividend // divisor` or `dividend % divisor`, by a positive number."""
    if dividend.value is not None:
        quotient = dividend.value // divisor
        return Poly.constant(quotient if sign == "//" else dividend.value % divisor)
    if divisor == 1:
        return dividend if sign == "//" else Poly.constant(0)
    text = dividend.text()
    is_atomic = len(dividend.terms) == 1 and dividend.terms[0][1] == 1
    is_atomic = is_atomic and len(dividend.terms[0][0]) == 1
    text = f"({text if is_atomic else f'({text})'} {sign} {divisor})"
    form = "//" if sign == "//" else "%"
    var = Var(text, "int", form, (dividend, Poly.constant(divisor)))  # type: ignore[arg-type]
    return Poly.var(var)

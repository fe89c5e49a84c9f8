"""Python expressions to the IR: effects come out as instructions in the order of evaluation.

What an operand is made of is read when it is used. So an operand that comes before one with effects
is saved in a temporary first: in `self.n + f.get()` the field is read before the wait.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from treadle.analyses.instructions import Instructions
from treadle.analyses.ir import (
    Anything,
    Assign,
    Branch,
    Conditional,
    Constant,
    Expression,
    Field,
    Havoc,
    Jump,
    Local,
    Make,
    Operation,
    Span,
    This,
    Update,
)
from treadle.analyses.known import UNKNOWN, Known, is_constant, is_pure

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&",
    ast.BitXor: "^", ast.MatMult: "@",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.And: "and", ast.Or: "or", ast.Not: "not", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "~",
}  # fmt: skip

_EFFECTS = (
    ast.Await,
    ast.NamedExpr,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Yield,
)


def span_of(node: ast.expr | ast.stmt | ast.excepthandler | ast.arg) -> Span:
    """Return where a node is."""
    end_line = node.end_lineno or node.lineno
    return Span(node.lineno, node.col_offset, end_line, node.end_col_offset or node.col_offset)


class Expressions:
    """Lowers the expressions of one function; `calls` of `Calls` does what has effects."""

    def __init__(
        self, known: Known, names: Mapping[str, object], own: frozenset[str], this: str | None
    ):
        self.known = known
        self.names = names
        self.own = own
        """The local names of the function."""
        self.this = this
        """What the function calls its actor; None if it is no method."""
        self.out = Instructions()
        self._renamed: dict[str, str] = {}
        self._bound: dict[str, Expression] | None = None
        """In a condition, which is evaluated again and again: what `:=` stands for in it."""

    # To be given by who derives from it

    def call(self, node: ast.Call) -> Expression:
        """Lower a call."""
        raise NotImplementedError

    def awaited(self, node: ast.Await) -> Expression:
        """Lower an `await`."""
        raise NotImplementedError

    # What names are

    def value_of(self, node: ast.expr) -> object:
        """Return what a name or a dotted name from outside stands for, or `UNKNOWN`."""
        match node:
            case ast.Name(id=name) if name not in self.own and name not in self._renamed:
                return self.names.get(name, UNKNOWN)
            case ast.Attribute(value=inner, attr=attr):
                owner = self.value_of(inner)
                return UNKNOWN if owner is UNKNOWN else getattr(owner, attr, UNKNOWN)
            case _:
                return UNKNOWN

    def is_this(self, node: ast.expr) -> bool:
        """Tell whether an expression is the actor itself."""
        return isinstance(node, ast.Name) and node.id == self.this

    def havoc(self, node: ast.expr | ast.stmt, why: str) -> Local:
        """Write that something is unknown; return what holds its value."""
        target = self.out.temporary()
        self.out.write(Havoc(why, target, span=span_of(node)))
        return Local(target)

    # Expressions

    def expression(self, node: ast.expr) -> Expression:
        """Lower an expression: write its effects, return its value."""
        match node:
            case ast.Constant(value=value):
                return Constant(value)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp(left=left, op=operator, right=right):
                return Operation(OPERATORS[type(operator)], self.operands([left, right]))
            case ast.UnaryOp(op=operator, operand=operand):
                return Operation(OPERATORS[type(operator)], (self.expression(operand),))
            case ast.BoolOp(op=operator, values=values):
                return self._either(node, OPERATORS[type(operator)], values)
            case ast.Compare(left=left, ops=operators, comparators=others):
                return self._comparison(operators, self.operands([left, *others]))
            case ast.IfExp():
                return self._conditional(node)
            case ast.Call():
                return self.call(node)
            case ast.Await():
                return self.awaited(node)
            case _:
                return self._compound(node)

    def _compound(self, node: ast.expr) -> Expression:
        match node:
            case ast.Tuple(elts=items):
                return Make("tuple", self.operands(items))
            case ast.List(elts=items):
                return Make("list", self.operands(items))
            case ast.Set(elts=items):
                return Make("set", self.operands(items))
            case ast.Dict(keys=keys, values=values):
                return Make("dict", self.operands([*(key for key in keys if key), *values]))
            case ast.JoinedStr(values=values):
                return Make("str", self.operands(values))
            case ast.FormattedValue(value=value):
                return self.expression(value)
            case ast.Starred(value=value):
                return Operation("star", (self.expression(value),))
            case ast.Subscript(value=value, slice=index):
                return Operation("index", self.operands([value, index]))
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = [each or ast.Constant(None) for each in (lower, upper, step)]
                return Operation("slice", self.operands(ends))
            case ast.NamedExpr(target=target, value=value):
                return self._named(node, target.id, self.expression(value))
            case ast.Lambda():
                return self._function_value(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case _:
                return self.havoc(node, f"{type(node).__name__} is not known")

    def _named(self, node: ast.NamedExpr, name: str, value: Expression) -> Expression:
        if self._bound is not None:
            self._bound[name] = value
            return value
        self.out.write(Assign(self.renamed(name), value, span=span_of(node)))
        return Local(self.renamed(name))

    def condition(self, node: ast.expr) -> Expression | None:
        """Lower a condition to one expression; None if it has effects."""
        self._bound = {}
        value = None if self.has_effects(node) else self.expression(node)
        self._bound = None
        return value

    def renamed(self, name: str) -> str:
        """Return what a local name is called here: comprehensions have names of their own."""
        return self._renamed.get(name, name)

    def _name(self, node: ast.Name) -> Expression:
        if self.is_this(node):
            return This()
        if self._bound and node.id in self._bound:
            return self._bound[node.id]
        if node.id in self._renamed or node.id in self.own:
            return Local(self.renamed(node.id))
        value = self.names.get(node.id, UNKNOWN)
        if is_constant(value):
            return Constant(value)
        return self.havoc(node, f"{node.id} is a variable of the module, which any task may change")

    def _attribute(self, node: ast.Attribute) -> Expression:
        if node.attr == "__dict__":
            return self.havoc(node, "fields are accessed by way of __dict__")
        if self.is_this(node.value):
            return Field(node.attr)
        value = self.value_of(node)
        if value is not UNKNOWN and is_constant(value):
            return Constant(value)
        return Operation(f".{node.attr}", (self.expression(node.value),))

    def operands(self, nodes: Sequence[ast.expr]) -> tuple[Expression, ...]:
        """Lower expressions that are evaluated one after the other."""
        lowered: list[Expression] = []
        for at, node in enumerate(nodes):
            value = self.expression(node)
            if not isinstance(value, Constant | This) and any(
                map(self.has_effects, nodes[at + 1 :])
            ):
                value = self.out.saved(value, span_of(node))
            lowered.append(value)
        return tuple(lowered)

    def has_effects(self, node: ast.expr) -> bool:
        """Tell whether lowering an expression may write instructions."""
        names = isinstance(self._bound, dict)  # which stand for values then
        return any(
            (isinstance(each, _EFFECTS) and not (names and isinstance(each, ast.NamedExpr)))
            or (isinstance(each, ast.Call) and not is_pure(self.value_of(each.func)))
            for each in ast.walk(node)
        )

    def _comparison(self, operators: list[ast.cmpop], values: tuple[Expression, ...]) -> Expression:
        pairs = [
            Operation(OPERATORS[type(operator)], (left, right))
            for operator, left, right in zip(operators, values, values[1:], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else Operation("and", tuple(pairs))

    def _either(self, node: ast.BoolOp, operator: str, values: list[ast.expr]) -> Expression:
        """`and`, `or`: a branch after each operand, if a later one has effects."""
        if not any(map(self.has_effects, values[1:])):
            return Operation(operator, self.operands(values))
        target, end, span = self.out.temporary(), self.out.label(), span_of(node)
        for each in values:
            self.out.write(Assign(target, self.expression(each), span=span_of(each)))
            if each is not values[-1]:
                onward = self.out.label()
                ways = (onward, end) if operator == "and" else (end, onward)
                self.out.write(Branch(Local(target), *ways, span=span))
                self.out.place(onward)
        self.out.place(end)
        return Local(target)

    def _conditional(self, node: ast.IfExp) -> Expression:
        test, span = self.expression(node.test), span_of(node)
        if not (self.has_effects(node.body) or self.has_effects(node.orelse)):
            return Conditional(test, self.expression(node.body), self.expression(node.orelse))
        target, then, other, end = self.out.temporary(), *(self.out.label() for _ in range(3))
        self.out.write(Branch(test, then, other, span=span))
        self.out.place(then)
        self.out.write(Assign(target, self.expression(node.body), span=span))
        self.out.write(Jump(end, span=span))
        self.out.place(other)
        self.out.write(Assign(target, self.expression(node.orelse), span=span))
        self.out.place(end)
        return Local(target)

    def _function_value(self, node: ast.Lambda) -> Expression:
        """A function as a value, such as the key of `sorted`: what its body reads counts here."""
        if self.has_effects(node.body):
            return self.havoc(node, "a lambda that calls something")
        outer = dict(self._renamed)
        for parameter in ast.walk(node.args):
            if isinstance(parameter, ast.arg):
                self._renamed[parameter.arg] = self.out.temporary()
                value = Assign(self._renamed[parameter.arg], Anything(), span=span_of(parameter))
                self.out.write(value)
        body = self.expression(node.body)
        self._renamed = outer
        return Make("lambda", (body,))

    # Loops

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Expression:
        """A loop that adds to a collection; what is lazy in Python is made at once here."""
        if any(each.is_async for each in node.generators):
            return self.havoc(node, "an asynchronous comprehension")
        target, outer = self.out.temporary(), dict(self._renamed)
        made = {ast.SetComp: "set", ast.DictComp: "dict"}.get(type(node), "list")
        self.out.write(Assign(target, Make(made, ()), span=span_of(node)))
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._generate(node, node.generators, elements, target)
        self._renamed = outer
        return Local(target)

    def _generate(
        self,
        node: ast.expr,
        generators: list[ast.comprehension],
        elements: list[ast.expr],
        target: str,
    ) -> None:
        span = span_of(node)
        if not generators:
            adds = {ast.SetComp: "add", ast.DictComp: "[]="}.get(type(node), "append")
            added = self.operands(elements)
            self.out.write(Update(self.out.temporary(), Local(target), adds, added, span=span))
            return
        first, *rest = generators
        items = self.expression(first.iter)
        for name in ast.walk(first.target):
            if isinstance(name, ast.Name):
                self._renamed[name.id] = self.out.temporary(name.id)
        again, end = self.open_loop(first.target, items, span)
        for test in first.ifs:
            onward = self.out.label()
            self.out.write(Branch(self.expression(test), onward, again, span=span_of(test)))
            self.out.place(onward)
        self._generate(node, rest, elements, target)
        self.out.write(Jump(again, span=span))
        self.out.place(end)

    def open_loop(self, target: ast.expr, items: Expression, span: Span) -> tuple[int, int]:
        """Begin a loop over items; return the labels to go on with the next, and of the end."""
        rest, again, body, end = self.out.temporary(), *(self.out.label() for _ in range(3))
        self.out.write(Assign(rest, items, span=span))
        self.out.place(again)
        self.out.write(Branch(Operation("nonempty", (Local(rest),)), body, end, span=span))
        self.out.place(body)
        head = self.out.saved(Operation("head", (Local(rest),)), span)
        self.out.write(Assign(rest, Operation("tail", (Local(rest),)), span=span))
        self.assign(target, head, span)
        return again, end

    def assign(self, target: ast.expr, value: Expression, span: Span) -> None:
        """Give a value to a name, a field, an item, or each part of it to each of several."""
        raise NotImplementedError

"""The IR means what Python does: random methods, run by CPython and by an interpreter of it."""

from __future__ import annotations

import linecache
import operator
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actor_code import KNOWN, Actor
from treadle.analyses.ir import (
    Anything,
    Apply,
    Assert,
    Assign,
    Branch,
    Conditional,
    Constant,
    Evaluate,
    Expression,
    Field,
    Instruction,
    Jump,
    Local,
    Make,
    Method,
    Operation,
    Raise,
    Return,
    SetField,
    Update,
)
from treadle.analyses.known import function_of
from treadle.analyses.lower import Lowering

# An interpreter

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "%": operator.mod,
    "+=": operator.add, "-=": operator.sub, "index": operator.getitem,
    "in": lambda one, other: one in other,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "not": operator.not_, "neg": operator.neg, "nonempty": bool, "head": lambda xs: next(iter(xs)),
    "tail": lambda xs: list(xs)[1:], "star": tuple,
}  # fmt: skip
MAKERS: dict[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "list": list, "set": set}
STEPS = 2000


class Machine:
    """Runs a method of the IR on fields."""

    def __init__(self, method: Method, fields: dict[str, Any], arguments: tuple[Any, ...]) -> None:
        self.method = method
        self.fields = fields
        self.locals = dict(zip(method.parameters, arguments, strict=True))

    def run(self) -> Any:
        at = 0
        for _ in range(STEPS):
            instruction = self.method.instructions[at]
            if isinstance(instruction, Return):
                return self.value(instruction.value)
            try:
                at = self.step(at, instruction)
            except (ZeroDivisionError, AssertionError, ValueError):
                if not self.method.handled_at(at):
                    raise
                at = self.method.handled_at(at)[0]
        raise AssertionError("it does not end")

    def step(self, at: int, instruction: Instruction) -> int:
        match instruction:
            case Assign(target, value):
                self.locals[target] = self.value(value)
            case SetField(name, value):
                self.fields[name] = self.value(value)
            case Evaluate(value):
                self.value(value)
            case Assert(value):
                assert self.value(value)
            case Raise():
                raise ValueError
            case Update(target, container, operation, operands):
                self.locals[target] = self.update(container, operation, operands)
            case Branch(test, then, other):
                return then if self.value(test) else other
            case Jump(to):
                return to
            case _:
                raise NotImplementedError(instruction)
        return at + 1

    def update(
        self, container: Expression, operation: str, operands: tuple[Expression, ...]
    ) -> Any:
        held, given = self.value(container), [self.value(each) for each in operands]
        if operation == "[]=":
            held[given[0]] = given[1]
            return None
        return getattr(held, operation)(*given)

    def value(self, expression: Expression) -> Any:
        match expression:
            case Constant(value):
                return value
            case Anything():
                return True  # the first handler fits: there is only one in a method
            case Local(name):
                return self.locals[name]
            case Field(name):
                return self.fields[name]
            case Conditional(test, then, other):
                return self.value(then if self.value(test) else other)
            case Make(constructor, operands):
                return MAKERS[constructor]([self.value(each) for each in operands])
            case Apply(_, operands, callee):
                return callee(*map(self.value, operands))  # type: ignore[operator]
            case Operation("and" | "or" as operation, operands):
                return self.either(operation, operands)
            case Operation(operation, (one,)):
                return UNARY[operation](self.value(one))
            case Operation(operation, (one, other)):
                return BINARY[operation](self.value(one), self.value(other))
        raise NotImplementedError(expression)

    def either(self, operation: str, operands: tuple[Expression, ...]) -> Any:
        result = None
        for each in operands:
            result = self.value(each)
            if bool(result) is (operation == "or"):
                break
        return result


# Random methods

NUMBERS = st.sampled_from(["0", "1", "2", "n", "m", "self.a", "self.b", "len(self.xs)"])


@st.composite
def expressions(draw: Callable[..., Any], depth: int = 2) -> str:
    """Draw a number."""
    if depth == 0:
        return draw(NUMBERS)
    one, other = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    return draw(st.sampled_from([
        one, f"({one} + {other})", f"({one} - {other})", f"({one} * 2 % 7)", f"-{one}",
        f"({one} if {other} else 1)", f"({one} and {other})", f"({one} or {other})",
        f"int(0 <= {one} < {other})", f"int({one} in (1, {other}))", f"max({one}, {other})",
        f"(n := {one} % 5)", f"({other} + (m := {one} % 3))", f"(({one}) and (n := {other} % 4))",
        f"sum(k * {other} for k in self.xs if k > {one})", f"(1, {one})[1]",
        f"[j + {one} for j in (1, 2)][0]",
    ]))  # fmt: skip


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def blocks(draw: Callable[..., Any], depth: int = 2, *, in_loop: bool = False) -> list[str]:
    """Draw statements."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        value = draw(expressions())
        simple = [
            f"self.a = {value}", f"self.b += {value} % 5", f"n = {value} % 9",
            f"self.a, m = {value}, n", f"self.xs.append({value})", f"self.xs[0] = {value}",
            f"self.xs[0] += {value} % 3",
            f"assert {value} != 3", f"if {value}: raise ValueError(n)", f"n = m = {value}",
            f"if {value} == 2: return {value}",
        ]  # fmt: skip
        simple += ["if n: break", "if m: continue"] if in_loop else []
        kind = draw(st.sampled_from([*simple, *["if", "for", "try", "while"] * (depth > 0)]))
        if kind in simple:
            lines.append(kind)
        else:
            lines += draw(compound(kind, value, depth))
    return lines


@st.composite
def compound(draw: Callable[..., Any], kind: str, value: str, depth: int) -> list[str]:
    """Draw a statement that has blocks."""
    body = indented(draw(blocks(depth - 1, in_loop=kind in ("for", "while"))))
    other = indented(draw(blocks(depth - 1)))
    match kind:
        case "if":
            return [f"if {value} > 1:", *body, "else:", *other]
        case "for":
            return [f"for n in (0, {value} % 4):", *body, "else:", *other]
        case "while":
            return ["left = 2", "while left:", "    left = left - 1", *body]
        case _:
            return ["try:", *body, "except (ValueError, AssertionError):", *other,
                    "finally:", "    self.b += 1"]  # fmt: skip


def both_ways(lines: list[str]) -> tuple[list[Any], list[Any]]:
    """Run a method by CPython and by the machine: results, exceptions, and fields."""
    text = "\n".join(["class C(Actor):", "    def m(self, n, m):", *indented(indented(lines))])
    file = f"<method {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"Actor": Actor}
    exec(compile(text, file, "exec"), space)
    function = function_of(space["C"], "m")
    assert function is not None
    method = Lowering(KNOWN, frozenset({"m"})).method(function)
    assert list(method.havocs()) == []
    actor = space["C"]()
    actor.a, actor.b, actor.xs = 1, 2, [3]
    machine = Machine(method, {"a": 1, "b": 2, "xs": [3]}, (1, 2))
    expected = [*ended(lambda: function(actor, 1, 2)), actor.a, actor.b, actor.xs]
    found = [*ended(machine.run), *(machine.fields[name] for name in ("a", "b", "xs"))]
    return expected, found


def ended(run: Callable[[], Any]) -> tuple[Any, str]:
    try:
        return run(), ""
    except (ValueError, AssertionError) as error:
        return None, type(error).__name__


@given(blocks())
@settings(max_examples=300)
def test_the_ir_does_what_python_does(lines: list[str]) -> None:
    expected, found = both_ways(lines)
    if expected[1] and found[1]:  # the machine knows one kind of handlers only
        expected[1] = found[1] = "raised"
    assert found == expected


def test_an_exception_leads_to_the_handler_and_through_finally() -> None:
    lines = [
        "try:", "    self.a = 5", "    if n: raise ValueError", "    self.a = 6",
        "except ValueError:", "    self.a += 10", "finally:", "    self.b += self.a",
        "try:", "    assert n == 2", "finally:", "    self.xs.append(4)",
    ]  # fmt: skip
    expected, found = both_ways(lines)
    assert expected == [None, "AssertionError", 15, 17, [3, 4]]
    assert [found[0], *found[2:]] == [expected[0], *expected[2:]]
    assert found[1], "some exception goes on"


def test_loops_with_else_break_and_continue() -> None:
    lines = [
        "for n in (1, 2, 3):", "    if n == m: continue", "    self.a += n", "    if n == 3: break",
        "else:", "    self.b = 100", "while self.a:", "    self.a -= 1", "else:", "    self.b += 1",
    ]  # fmt: skip
    expected, found = both_ways(lines)
    assert found == expected == [None, "", 0, 3, [3]]


def test_finally_runs_when_a_loop_is_left() -> None:
    lines = [
        "for n in (1, 2):", "    try:", "        if n: break", "    finally:", "        self.a = 9",
        "try:", "    return self.a", "finally:", "    self.b = 8",
    ]  # fmt: skip
    expected, found = both_ways(lines)
    assert found == expected == [9, "", 9, 8, [3]]

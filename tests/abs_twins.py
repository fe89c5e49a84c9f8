"""Random programs of actors, each written in ABS and in Python.

Objects of one class know all others. Methods send, wait in every way, change fields, branch, call
themselves synchronously; what is sent comes from a strict order of methods, so that all ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

METHODS = ("m0", "m1", "m2")
OBJECTS = 2
FIELDS = ("a", "b")


@dataclass(frozen=True)
class Statement:
    """A statement in both languages; lines of a block are indented."""

    abs: tuple[str, ...]
    python: tuple[str, ...]


@dataclass(frozen=True)
class Twins:
    """A program in both languages."""

    abs: str
    python: str


def _one(abs_line: str, python_line: str) -> Statement:
    return Statement((abs_line,), (python_line,))


def _change(field: str, operator: str, number: int) -> Statement:
    return _one(
        f"{field} = {field} {operator} {number};",
        f"self.{field} = self.{field} {operator} {number}",
    )


def _copy(number: int) -> Statement:
    return _one(f"a = b + {number};", f"self.a = self.b + {number}")


def _until(field: str, number: int) -> Statement:
    return _one(f"await {field} >= {number};", f"await until(lambda: self.{field} >= {number})")


def _send(name: str, target: int, method: str, number: int, how: str) -> Statement:
    """Send a message, and perhaps wait for its end in some way."""
    sent = f"x{target}!{method}({number})"
    made = f"self.x{target}.{method}.send({number})"
    lines = {
        "forget": ([f"{sent};"], [made]),
        "get": ([f"Fut<Int> {name} = {sent};", f"a = {name}.get;"],
                [f"{name} = {made}", f"self.a = {name}.get()"]),
        "await": ([f"Fut<Int> {name} = {sent};", f"await {name}?;", f"Int v{name} = {name}.get;",
                   f"b = v{name};"],
                  [f"{name} = {made}", f"await {name}.done()", f"self.b = {name}.get()"]),
        "await value": ([f"b = await {sent};"], [f"self.b = await {made}"]),
        "later": ([f"Fut<Int> {name} = {sent};", "a = a + 1;", f"await {name}? & b >= 0;"],
                  [f"{name} = {made}", "self.a = self.a + 1", f"await {name}.done()",
                   "await until(lambda: self.b >= 0)"]),
        "call": ([f"b = x{target}.{method}({number});"],
                 [f"self.b = await self.x{target}.{method}.call({number})"]),
    }[how]  # fmt: skip
    return Statement(tuple(lines[0]), tuple(lines[1]))


def _own_call(method: str, number: int) -> Statement:
    return _one(f"a = this.{method}({number});", f"self.a = await self.{method}({number})")


def _branch(field: str, number: int, then: Statement, other: Statement) -> Statement:
    return Statement(
        (
            f"if ({field} > {number}) {{",
            *_indented(then.abs),
            "} else {",
            *_indented(other.abs),
            "}",
        ),
        (
            f"if self.{field} > {number}:",
            *_indented(then.python),
            "else:",
            *_indented(other.python),
        ),
    )


def _case(number: int, then: Statement, other: Statement) -> Statement:
    """A branch on a value of a data type."""
    return Statement(
        (f"switch (if a == {number} then Just(b) else Nothing) {{", "  Just(found) => {",
         "    a = found + 1;", *_indented(_indented(then.abs)), "  }", "  Nothing => {",
         *_indented(_indented(other.abs)), "  }", "}"),
        (f"if self.a == {number}:", "    self.a = self.b + 1", *_indented(then.python), "else:",
         *_indented(other.python)),
    )  # fmt: skip


def _indented(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"    {line}" for line in lines)


PAUSE = _one("suspend;", "await pause()")
NUMBERS = st.integers(0, 2)
WAYS = st.sampled_from(["forget", "get", "await", "await value", "later", "call"])


@st.composite
def statements(draw: Callable[..., int], later: int, name: str, depth: int = 1) -> Statement:
    """Draw a statement of a method that may send the methods from `later` on."""
    field, number = draw(st.sampled_from(FIELDS)), draw(NUMBERS)
    kinds = ["change", "copy", "until", "pause"] + ["send"] * 5 * (later < len(METHODS))
    kinds += ["own"] * (later < len(METHODS)) + ["branch", "case"] * depth
    match draw(st.sampled_from(kinds)):
        case "change":
            return _change(field, draw(st.sampled_from(["+", "-", "*"])), number)
        case "copy":
            return _copy(number)
        case "until":
            return _until(field, number)
        case "pause":
            return PAUSE
        case "own":
            return _own_call(METHODS[later], number)
        case "send":
            target, method = draw(st.integers(0, OBJECTS - 1)), draw(st.integers(later, 2))
            return _send(name, target, METHODS[method], number, draw(WAYS))
        case kind:
            then = draw(statements(later, f"{name}t", depth=0))
            other = draw(statements(later, f"{name}e", depth=0))
            if kind == "branch":
                return _branch(field, number, then, other)
            return _case(number, then, other)


@st.composite
def twins(draw: Callable[..., int]) -> Twins:
    """Draw a program in both languages."""
    bodies = [
        [draw(statements(at + 1, f"f{at}{k}")) for k in range(draw(st.integers(1, 2)))]
        for at in range(len(METHODS))
    ]
    starts = draw(st.lists(st.tuples(st.integers(0, OBJECTS - 1), st.integers(0, 1)), min_size=1,
                           max_size=2))  # fmt: skip
    return Twins(_in_abs(bodies, starts), _in_python(bodies, starts))


def _in_abs(bodies: list[list[Statement]], starts: list[tuple[int, int]]) -> str:
    lines = ["module Twins;", "class C {", "    Int a = 0;", "    Int b = 1;"]
    lines += [f"    C x{k};" for k in range(OBJECTS)]
    meet = " ".join(f"this.x{k} = x{k};" for k in range(OBJECTS))
    lines.append(f"    Unit meet({', '.join(f'C x{k}' for k in range(OBJECTS))}) {{ {meet} }}")
    for method, body in zip(METHODS, bodies, strict=True):
        lines.append(f"    Int {method}(Int n) {{")
        lines += [line for each in body for line in _indented(_indented(each.abs))]
        lines += ["        return a + n;", "    }"]
    lines += ["}", "{"]
    lines += [f"    C o{k} = new C();" for k in range(OBJECTS)]
    names = ", ".join(f"o{k}" for k in range(OBJECTS))
    for k in range(OBJECTS):
        lines += [f"    Fut<Unit> g{k} = o{k}!meet({names});", f"    g{k}.get;"]
    lines += [f"    o{k}!{METHODS[m]}(1);" for k, m in starts]
    return "\n".join([*lines, "}", ""])


def _in_python(bodies: list[list[Statement]], starts: list[tuple[int, int]]) -> str:
    lines = ["from treadle.actors import Actor, pause, program, until", "class C(Actor):"]
    lines += ["    def __init__(self):", "        self.a, self.b = 0, 1"]
    lines += [f"        self.x{k} = None" for k in range(OBJECTS)]
    lines.append(f"    async def meet(self, {', '.join(f'x{k}' for k in range(OBJECTS))}):")
    lines += [f"        self.x{k} = x{k}" for k in range(OBJECTS)]
    for method, body in zip(METHODS, bodies, strict=True):
        lines.append(f"    async def {method}(self, n):")
        lines += [line for each in body for line in _indented(_indented(each.python))]
        lines.append("        return self.a + n")
    lines += ["@program", "def main():"]
    lines += [f"    o{k} = C()" for k in range(OBJECTS)]
    names = ", ".join(f"o{k}" for k in range(OBJECTS))
    lines += [f"    o{k}.meet.send({names}).get()" for k in range(OBJECTS)]
    lines += [f"    o{k}.{METHODS[m]}.send(1)" for k, m in starts]
    return "\n".join([*lines, f"    return {names}", ""])

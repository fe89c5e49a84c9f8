"""Operators and functions on symbols, one by one, against what Python computes with the values."""

from __future__ import annotations

from typing import Any

import pytest
from executing import Execution, context_of
from random_actors import main_of

HEAD = """
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from treadle.actors import Actor


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Pair:
    first: int
    second: int


class Named(NamedTuple):
    x: int
    y: int


def twice(x):
    return x * 2


def with_default(x, y=5, *, z=1):
    return x + y * z


class Case(Actor):
    CONSTANT = 12

    def __init__(self):
        self.out, self.n, self.m, self.xs, self.text = None, 0, 1, [], ""
        self.flag, self.pair, self.peer = False, (), None

    async def go(self, a, b):
"""
TAIL = "\n\ndef main():\n    Case().go.send(1, 2)\n"


def executed(*lines: str, **limits: Any) -> Execution:
    """Execute a method with these lines; each path is run for real."""
    body = "".join(f"        {line}\n" for line in lines)
    cls = main_of(f"{HEAD}{body}{TAIL}").__globals__["Case"]
    execution = Execution(context_of((cls, ["go"])), [cls], 60, **limits)
    execution.check_for_real()
    return execution


def outs(execution: Execution) -> list[Any]:
    return [fields.get("out") for fields in execution.fields("Case1")]


@pytest.mark.parametrize(
    ("expression", "paths"),
    [
        ("self.n + self.m", 1),
        ("self.n - 2 * self.m", 1),
        ("-self.n", 1),
        ("+self.n", 1),
        ("(self.n + 1) ** 3", 1),
        ("(self.n + 0) ** 0", 1),
        ("self.n // 2", 1),
        ("self.n % 2", 1),
        ("self.n // -2", 1),
        ("self.n % -5", 1),
        ("(self.n + 0) // (self.m + 0)", 3),
        ("(self.n + 0) % (self.m + 0)", 3),
        ("abs(self.n + 0)", 1),
        ("min(self.n, self.m)", 1),
        ("max(self.n, self.m, 3)", 1),
        ("max(2, 3)", 1),
        ("int(self.n + 0)", 1),
        ("self.n + True", 1),
        ("bool(self.n + 0)", 2),
        ("self.n < self.m", 1),
        ("self.n <= self.m", 1),
        ("self.n == self.m", 1),
        ("self.n != self.m", 1),
        ("not self.n > 3", 1),
        ("1 < self.n < 4", 2),
        ("self.n > 1 or self.m", 2),
        ("self.n > 1 and self.m + 0", 2),
        ("1 if self.n > 4 else 2", 2),
        ("self.CONSTANT", 1),
        ("twice(self.n + 0)", 1),
        ("with_default(self.n + 0)", 1),
        ("with_default(self.n + 0, z=3, y=2)", 1),
        ("sum([self.n, self.m, 2])", 1),
        ("len([self.n, 2])", 1),
        ("[self.n, 2][1]", 1),
        ("[self.n, 2][-2]", 1),
        ("[1, 2, 3][self.n + 0]", 7),
        ("(self.n, self.m)[0]", 1),
        ("[self.n, self.m, 4][1:]", 1),
        ("(self.n, 1) + (2,)", 1),
        ("[self.n] + [2]", 1),
        ("[self.n] * 2", 1),
        ("self.n in [1, 2]", 3),
        ("self.n not in (1, 2)", 3),
        ("3 in {3, 4}", 1),
        ("'a' in 'abc'", 1),
        ("{1: self.n, 2: self.m}[1]", 1),
        ("{1: self.n}.get(2, self.m)", 1),
        ("{1: self.n}.get(2)", 1),
        ("list({1: self.n, 2: 0}.keys())", 1),
        ("list({1: self.n}.values())", 1),
        ("list({1: self.n}.items())", 1),
        ("len({self.n, self.n, 2})", 2),
        ("tuple([self.n, 1])", 1),
        ("list((self.n, 1))", 1),
        ("list(reversed([self.n, 1]))", 1),
        ("list(enumerate([self.n]))", 1),
        ("list(zip([self.n], [self.m]))", 1),
        ("list(range(3))", 1),
        ("sorted([2, 1])", 1),
        ("sorted([2, 1], reverse=True)", 1),
        ("max([4, 9])", 1),
        ("any([False, self.flag])", 2),
        ("all([True, self.flag])", 2),
        ("isinstance(self.n + 0, int)", 1),
        ("isinstance(self.flag, bool)", 1),
        ("isinstance(self, Case)", 1),
        ("Pair(self.n + 0, 2).first", 1),
        ("Pair(first=1, second=self.n + 0).second", 1),
        ("Pair(1, 2).second", 1),
        ("Pair(self.n + 0, 2) == Pair(5, 2)", 2),
        ("Pair(self.n + 0, 2) == 5", 1),
        ("Named(self.n + 0, 1).x", 1),
        ("Colour.RED == Colour.BLUE", 1),
        ("Colour(2).value", 1),
        ("self.text == 'x'", 1),
        ("'x' if self.text else 'y'", 2),
        ("'ab' + 'c'", 1),
        ("'a,b'.split(',')", 1),
        ("'x'.upper()", 1),
        ("str(3)", 1),
        ("Fraction(1, 2) + 1", 1),
        ("[x * 2 for x in [self.n, 3]]", 1),
        ("[x for x in (self.n, self.m) if x > 0]", 4),
        ("{x: x for x in range(2)}", 1),
        ("{x % 2 for x in range(4)} == {0, 1}", 1),
        ("[x + y for x in [1, 2] for y in [self.n]]", 1),
        ("sum(x for x in [self.n, 1])", 1),
        ("(y := self.n + 1) + y", 1),
        ("[*(self.n, 1), 2]", 1),
        ("self is self", 1),
        ("self.peer is self", None),
        ("self.peer is None", 2),
        ("self.peer is not None", 2),
        ("self.peer == None", 2),
        ("7 & 3", 1),
        ("1 << 3", 1),
        ("~5", 1),
        ("7 / 2", 1),
    ],
)
def test_expressions(expression: str, paths: int | None):
    execution = executed(f"self.out = {expression}")
    assert paths is None or len(execution.paths) == paths
    assert execution.paths


@pytest.mark.parametrize(
    "lines",
    [
        ("xs = [self.n]", "xs.append(2)", "self.out = xs"),
        ("xs = [self.n, 2]", "ys = xs", "ys.pop()", "self.out = xs"),
        ("xs = [1, self.n]", "xs.pop(0)", "self.out = xs"),
        ("xs = [1, self.n]", "xs[0] += self.m", "self.out = xs"),
        ("xs = [1, 2]", "xs[self.n + 0] = 7", "self.out = xs"),
        ("xs = [1, 2]", "del xs[0]", "self.out = xs"),
        ("xs = [1, self.n]", "xs.remove(5)", "self.out = xs"),
        ("xs = [1]", "xs.extend([self.n])", "xs.insert(1, 3)", "xs.reverse()", "self.out = xs"),
        ("xs = [1]", "xs.clear()", "self.out = xs"),
        ("xs = [1]", "ys = xs.copy()", "ys.append(2)", "self.out = xs"),
        ("xs = [1]", "xs += [self.n]", "self.out = xs"),
        ("d = {}", "d[1] = self.n", "d[1] += 1", "self.out = d"),
        ("d = {1: 2}", "self.out = d.pop(1)", "d.setdefault(3, 4)", "d.update({5: 6})"),
        ("d = {1: 2}", "self.out = d.pop(9, 7)", "self.out = d.setdefault(1, 3)"),
        ("d = {1: 2}", "del d[1]", "self.out = len(d)"),
        ("d = {}", "self.out = d[1]"),
        ("s = set()", "s.add(self.n)", "s.add(self.n)", "s.discard(self.n)", "self.out = len(s)"),
        ("s = {1, 2}", "s.update([3])", "s.remove(1)", "self.out = s"),
        ("s = {1}", "s.remove(2)"),
        ("a, b = self.n, self.m", "a, b = b, a", "self.out = (a, b)"),
        ("a, (b, c) = 1, (self.n, 3)", "self.out = a + b + c"),
        ("k = 0", "for x in [self.n, 1]:", "    k += x", "self.out = k"),
        ("k = 0", "for i, x in enumerate([self.n, 1]):", "    k += i * x", "self.out = k"),
        ("for x in range(5):", "    if x == 3:", "        break", "self.out = x"),
        ("k = 0", "for x in range(4):", "    if x % 2:", "        continue", "    k += x",
         "self.out = k"),
        ("k = 0", "while k < 3:", "    k += 1", "else:", "    k = 9", "self.out = k"),
        ("if self.n > 3:", "    self.out = 1", "elif self.n > 1:", "    self.out = 2"),
        ("assert self.n != 3", "self.out = self.n"),
        ("if self.n > 2:", "    raise ValueError('x')", "self.out = 1"),
        ("if self.n > 2:", "    return 5", "self.out = 1"),
        ("self.n += 1", "self.n *= 2", "self.n -= self.m", "self.out = self.n"),
        ("self.out = undefined_before", "undefined_before = 1"),
        ("self.out = [1][4]",),
        ("self.out = 1 + 'a'",),
        ("self.out = 1 // 0",),
        ("print(self.n)", "self.out = 1"),
        ("self.xs.append(self.n)", "self.out = len(self.xs)"),
        ("self.pair += (self.n,)", "self.out = self.pair[0]"),
    ],
    ids=lambda lines: " / ".join(line.strip() for line in lines)[:50],
)  # fmt: skip
def test_statements(lines: tuple[str, ...]):
    assert executed(*lines).paths


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (("self.out = self.n % 2",), None),
        (("self.out = 1 if self.n % 2 == 0 else 0",), {0, 1}),
        (("self.out = 1 if self.n // 3 == -1 else 0",), {0, 1}),
        (("if self.n * self.n == 49 and self.n < 0:", "    self.out = self.n"), {-7, None}),
        (("if self.n + self.m == 10 and self.n - self.m == 4:", "    self.out = self.n"),
         {7, None}),
        (("if self.text == 'secret':", "    self.out = self.text"), {"secret", None}),
        (("if len(self.xs) == 2 and self.xs[0] > self.xs[1] > 4:", "    self.out = 1"),
         {1, None}),
        (("if self.flag and self.n == 3:", "    self.out = 3"), {3, None}),
        (("if max(self.n, 5) == 5 and min(self.n, 3) == 3:", "    self.out = 1"), {1, None}),
        (("if abs(self.n) == 8 and self.n < 0:", "    self.out = self.n"), {-8, None}),
    ],
)  # fmt: skip
def test_values_are_solved_for(lines: tuple[str, ...], values: set[object] | None):
    """What a path needs is found, also where nobody would guess it."""
    found = {None if str(out) == "ANY" else out for out in outs(executed(*lines))}
    assert values is None or found == values


@pytest.mark.parametrize(
    ("lines", "limit"),
    [
        (("if f'{self.n}' == '3':", "    self.out = 1"), "a decision"),
        (("if self.n / 2 == 1:", "    self.out = 1"), "a decision"),
        (("if self.n & 1:", "    self.out = 1"), "a decision"),
        (("getattr(self, 'x')",), "go, L"),
        (("try:", "    self.out = 1 // self.n", "except ZeroDivisionError:", "    pass"),
         "an exception that is caught"),
        (("a.other(3)",), "go, L"),
    ],
)  # fmt: skip
def test_what_is_not_followed_is_told(lines: tuple[str, ...], limit: str):
    limits = executed(*lines).search.limits
    assert any(one.startswith(limit) for one in limits), limits

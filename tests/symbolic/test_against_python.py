"""Expressions on symbols, with values put in for the symbols: what Python computes with those.

The engine computes once, with terms. For all small numbers exactly one of its paths is taken, and
with the numbers put into its terms it comes to what `eval` says: the same value, or exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from executing import Execution, context_of
from hypothesis import given, settings
from hypothesis import strategies as st
from random_actors import main_of

from treadle.symbolic.search import End, Path
from treadle.symbolic.solver import z3
from treadle.symbolic.values import Box, Term, Unknown

NUMBERS = (-7, -2, 0, 1, 5)
RAISED = (ZeroDivisionError, IndexError, KeyError, ValueError, TypeError)
SOURCE = """
from treadle.actors import Actor


class Case(Actor):
    def __init__(self):
        self.out = 0

    async def go(self, n: int, m: int, flag: bool):
        {statements}


def main():
    Case().go.send(1, 2, False)
"""


class Computation:
    """A method with numbers, executed symbolically, and what Python makes of the same lines."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        source = SOURCE.format(statements="\n        ".join(lines))
        cls = main_of(source).__globals__["Case"]
        self.execution = Execution(context_of((cls, ["go"])), [cls])
        self.python = "\n".join(lines).replace("self.out", "out")
        assert self.execution.search.limits == set(), self.execution.search.limits
        self.execution.check_for_real()

    def check(self, n: int, m: int, flag: bool) -> None:
        """One path is taken with these values, and it computes what Python does."""
        values = {"main.1:go.n": n, "main.1:go.m": m, "main.1:go.flag": flag}
        taken = [path for path in self.execution.paths if self._is_taken(path, values)]
        where = f"{self.lines}, n = {n}, m = {m}, {flag}"
        assert len(taken) == 1, f"{where}: {len(taken)} paths"
        (path,) = taken
        names: dict[str, Any] = {"n": n, "m": m, "flag": flag, "out": 0}
        raised = ""
        try:
            exec(self.python, names)
        except RAISED as error:
            raised = type(error).__name__
        assert [task.error for task in path.state.tasks.values()] == [raised], where
        assert path.end is (End.ERROR if raised else End.RETURN), where
        if raised:
            return
        out = path.state.actors["Case1"].fields.get("out", 0)
        assert self._value(out, path, values) == names["out"], where

    def _is_taken(self, path: Path, values: Mapping[str, int]) -> bool:
        if any(path.state.resolved.get(name, 0) is None for name in values):
            return False
        return all(self._number(term, values) is True for term in path.state.path)

    def _value(self, out: Any, path: Path, values: Mapping[str, int]) -> Any:
        if isinstance(out, Unknown):
            return values[out.name]
        if isinstance(out, Term):
            return self._number(out, values)
        if isinstance(out, tuple):
            return tuple(self._value(each, path, values) for each in out)
        if isinstance(out, Box):
            items = self._value(path.state.boxes[out.name], path, values)
            return {"list": list, "set": set, "dict": dict}[out.kind](items)
        return out

    def _number(self, term: Term, values: Mapping[str, int]) -> Any:
        module = z3()
        pairs = [(module.Int(name), module.IntVal(int(each))) for name, each in values.items()]
        pairs += [(module.Bool(name), module.BoolVal(bool(each))) for name, each in values.items()]
        expression = module.substitute(term.expression, *pairs)
        return self.execution.framework.machine.solver.made(expression)


def check_all(*lines: str) -> int:
    """Compare for all small numbers; return how many paths there are."""
    computation = Computation(*lines)
    for n, m, flag in product(NUMBERS, NUMBERS, (False, True)):
        computation.check(n, m, flag)
    return len(computation.execution.paths)


@pytest.mark.parametrize(
    ("expression", "paths"),
    [
        # Numbers
        ("n + m", 1), ("n - m", 1), ("n * m", 1), ("-n", 1), ("+n", 1), ("n ** 2", 1),
        ("n ** 3 - m ** 0", 1), ("2 * n + 3 * m - 4", 1), ("n - -m", 1),
        ("n // 2", 1), ("n // 3", 1), ("n // -2", 1), ("n // -3", 1), ("n // 1", 1),
        ("n % 2", 1), ("n % 3", 1), ("n % -2", 1), ("n % -3", 1), ("n % 1", 1),
        ("7 // n", 3), ("-7 // n", 3), ("7 % n", 3), ("-7 % n", 3),
        ("n // m", 3), ("n % m", 3), ("n // m * m + n % m == n", 3), ("n // 0", 1), ("n % 0", 1),
        ("(n - m) // 2 * 2 + (n - m) % 2", 1), ("-(n // 2)", 1), ("(-n) // 2", 1),
        # Comparisons, and chains of them
        ("n < m", 1), ("n <= m", 1), ("n > m", 1), ("n >= m", 1), ("n == m", 1), ("n != m", 1),
        ("n < m < 3", 2), ("0 <= n <= m", 2), ("n < m > 1", 2), ("n == m == 2", 2),
        ("-2 < n < 2 < m", 3), ("n != m != 0", 2), ("1 < 2 < n", 1), ("2 < 1 < n", 1),
        # Booleans
        ("not flag", 1), ("not n", 2), ("flag and n > 0", 2), ("flag or n > 0", 2),
        ("flag and n", 2), ("flag or n", 2), ("n and m", 2), ("n or m", 2),
        ("n > 0 and m > 0 and flag", 3), ("n > 0 or m > 0 or flag", 3),
        ("not (n > 0 and m > 0)", 2), ("flag == (n > 0)", 1), ("flag != (n > 0)", 1),
        ("flag + flag", 1), ("flag * n", 1), ("n + flag", 1), ("-flag", 1), ("flag < n", 1),
        ("flag == 1", 1), ("bool(n)", 2), ("bool(n) + bool(m)", 4), ("int(flag)", 1),
        ("True + n", 1), ("True if n else False", 2), ("n // (1 + flag)", None),
        # Conditionals
        ("n if flag else m", 2), ("(n if n > m else m) - (m if n > m else n)", 2),
        ("1 if n > 0 else -1 if n < 0 else 0", 3), ("abs(n)", 1), ("abs(n - m)", 1),
        ("abs(-n) == abs(n)", 1),
        ("min(n, m)", 1), ("max(n, m)", 1), ("max(n, m, 0)", 1), ("min(n, m, -2)", 1),
        ("max(n, m) - min(n, m)", 1), ("max(n, flag)", 1), ("min(max(n, 0), 2)", 1),
        # None
        ("None if flag else n", None), ("(None if flag else n) is None", None),
        ("(None if flag else n) is not None", None), ("(None if flag else n) == m", None),
        ("n is None", None), ("n is not None", None), ("[None, n][flag] is None", None),
        # Lists and tuples
        ("[n, m][0]", 1), ("[n, m][-1]", 1), ("[n, m][2]", 1), ("[n, m][-3]", 1),
        ("[4, 5, 6][n]", 7), ("(4, 5, 6)[n]", 7), ("[n, m][flag]", None), ("[[n], [m]][1][0]", 1),
        ("[n, m, 3][1:]", 1), ("[n, m, 3][:-1]", 1), ("[n, m, 3][::-1]", 1), ("(n, m, 3)[::2]", 1),
        ("[n, m, 3][5:]", 1), ("[n, m][0:1] + [3]", 1), ("(n,) + (m, 1)", 1), ("[n] * 3", 1),
        ("[n, m] == [m, n]", None), ("[n, m] == [n, m]", 1), ("[n] == [n, m]", 1),
        ("(n, m) == (1, 2)", 3), ("(n, m) != (1, 2)", 3), ("[n] == (n,)", 1),
        ("n in [m, 2]", 3), ("n in (1, 2, m)", 4), ("n not in [m]", 2), ("n in []", 1),
        ("len([n, m])", 1), ("len([n] + [m] * 2)", 1), ("sum([n, m, 1])", 1), ("sum([])", 1),
        ("sum((n, n))", 1), ("[x + 1 for x in [n, m]]", 1), ("[x for x in [n, m] if x > 0]", 4),
        ("[x * y for x in (n, 2) for y in (m, 3)]", 1), ("list(enumerate([n, m]))", 1),
        ("list(enumerate([n, m], 1))", 1), ("list(enumerate((n, 4), m))", 1),
        ("list(zip([n, 1], [m, 2]))", 1), ("list(reversed([n, m]))", 1), ("tuple([n, m])", 1),
        ("any([n > 0, m > 0])", 3), ("all([n > 0, m > 0])", 3), ("any([])", 1), ("all([])", 1),
        ("[n, m].index(m)", 2), ("[n, 1].index(m)", None), ("[n, m, 2].count(2)", 4),
        ("[n, *[m, 1]]", 1), ("(*(), n)", 1), ("len(range(3)) + n", 1), ("list(range(1, 6, 2))", 1),
        # Dictionaries and sets
        ("{1: n, 2: m}[1]", 1), ("{1: n, 2: m}[n]", 3), ("{n: 1, m: 2}[n]", 2),
        ("{1: n}.get(m)", 2), ("{1: n}.get(m, 5)", 2), ("len({n: 1, m: 2})", 2),
        ("len({n, m, 2})", None), ("n in {1, m}", None), ("n in {1: 2, 3: 4}", 3),
        ("list({n: m}.items())", 1), ("sum({1: n, 2: m}.values())", 1), ("list({5: n})", 1),
        ("int()", 1), ("isinstance(n, int)", 1), ("isinstance(flag, bool)", 1),
        ("isinstance(flag, int)", 1), ("isinstance(n, (str, list))", 1),
        ("isinstance([n], list)", 1),
    ],
)  # fmt: skip
def test_expressions(expression: str, paths: int | None):
    found = check_all(f"self.out = {expression}")
    assert paths is None or found == paths


@pytest.mark.parametrize(
    ("lines", "paths"),
    [
        (("xs = [n]", "xs.append(m)", "self.out = xs"), 1),
        (("xs = [n, m]", "ys = xs", "ys.append(3)", "self.out = xs"), 1),
        (("xs = [n, m]", "ys = xs[:]", "ys.append(3)", "self.out = (xs, ys)"), 1),
        (("xs = [n, m]", "ys = list(xs)", "xs[0] = 9", "self.out = (xs, ys)"), 1),
        (("xs = [n, m]", "ys = xs + [1]", "ys[1] = 0", "self.out = (xs, ys)"), 1),
        (("xs = [n]", "ys = xs", "xs += [m]", "self.out = ys"), 1),
        (("xs = [n]", "ys = xs", "xs += (m, 2)", "self.out = ys"), 1),
        (("xs = [n]", "ys = xs", "xs += range(2)", "self.out = ys"), 1),
        (("xs = [n]", "ys = xs", "xs = xs + [m]", "self.out = ys"), 1),
        (("xs = (n,)", "ys = xs", "xs += (m,)", "self.out = (xs, ys)"), 1),
        (("self.out = [n] + (m,)",), 1),
        (("self.out = [n] + 3",), 1),
        (("xs = [1, 2, 3]", "xs[n] = m", "self.out = xs"), 7),
        (("xs = [1, 2, 3]", "del xs[n]", "self.out = xs"), 7),
        (("xs = [1, 2, 3]", "self.out = [xs.pop(n), xs]"), 7),
        (("xs = [n, m, 2]", "xs.remove(2)", "self.out = xs"), 3),
        (("xs = [n, m]", "xs.remove(1)", "self.out = xs"), 3),
        (("xs = [n]", "xs.insert(0, m)", "xs.reverse()", "self.out = xs"), 1),
        (("xs = [n]", "xs.extend([m, 1])", "xs.clear()", "xs.append(n)", "self.out = xs"), 1),
        (("xs = [n]", "xs.pop()", "xs.pop()"), 1),
        (("xs = [1, 2]", "k = 0", "for x in xs:", "    if x == 1:", "        xs.append(7)",
          "    k = k * 3 + x", "self.out = k"), None),
        (("xs = [3, 2, 1]", "k = 0", "for x in xs:", "    xs.pop()", "    k += x", "self.out = k"),
         1),
        (("k = 0", "for x in [n, m, 1]:", "    if x < 0:", "        continue", "    if x > 4:",
          "        break", "    k += x", "else:", "    k = -k", "self.out = k"), None),
        (("k = 0", "for i, x in enumerate((n, m)):", "    k += i * x", "self.out = k"), 1),
        (("k = 0", "for x, y in [(n, 1), (m, 2)]:", "    k += x * y", "self.out = k"), 1),
        (("k = 0", "while k < 4:", "    k += 1", "self.out = k * n"), 1),
        (("rows = [[n], [m]]", "for row in rows:", "    row.append(1)", "self.out = rows"), 1),
        (("row = [n]", "rows = [row, row]", "rows[0].append(m)", "self.out = rows"), 1),
        (("d = {}", "d[n] = 1", "d[m] = 2", "self.out = d"), 2),
        (("d = {1: n}", "d[1] += m", "self.out = d"), 1),
        (("d = {1: n}", "del d[m]", "self.out = d"), 2),
        (("d = {1: n}", "self.out = d.pop(m, 7)"), 2),
        (("d = {1: n}", "self.out = [d.setdefault(m, 7), d]"), 2),
        (("d = {1: n}", "d.update({m: 4})", "self.out = d"), 2),
        (("d = {1: n}", "d.update([(m, 4), (2, n)])", "self.out = d"), None),
        (("d = {1: n}", "d.update([(m, 4, 5)])"), 1),
        (("d = {1: n}", "e = d", "e[2] = m", "self.out = d"), 1),
        (("d = {1: n}", "e = d.copy()", "e[2] = m", "self.out = d"), 1),
        (("d = {1: n, 2: m}", "k = 0", "for key in d:", "    k += d[key]", "self.out = k"), 1),
        (("s = {1}", "s.add(n)", "s.discard(m)", "self.out = len(s)"), None),
        (("s = {1, 2}", "s.remove(n)", "self.out = s"), 3),
        (("s = {1, 2}", "s.update([n])", "self.out = len(s)"), 3),
        (("a, b = n, m", "a, b = b, a", "self.out = (a, b)"), 1),
        (("a, (b, c) = n, (m, 1)", "self.out = a - b - c"), 1),
        (("a = b = n", "a += 1", "self.out = (a, b)"), 1),
        (("x = n", "x += m", "x *= 2", "x -= 1", "x //= 3", "x %= 5", "self.out = x"), 1),
        (("x = n", "x **= 2", "self.out = x"), 1),
        (("if n > m:", "    self.out = 1", "elif n == m:", "    self.out = 2", "else:",
          "    self.out = 3"), 3),
        (("self.out = 0", "if n > 0:", "    if m > 0:", "        self.out = 1", "    elif flag:",
          "        self.out = 2", "self.out = (self.out, 1)"), None),
        (("if n > 0 and (m > 0 or flag):", "    self.out = 1"), 4),
        (("if n:", "    if not n:", "        self.out = 1"), 2),
        (("if n > m and m > n:", "    self.out = 1"), 2),
        (("if n % 2 == 0 and n % 3 == 2:", "    self.out = n"), 3),
        (("if n == 3 and n * n != 9:", "    self.out = n"), 2),
        (("if (k := n - m) > 0:", "    self.out = k"), 2),
        (("raise ValueError(n)",), 1),
        (("if n > 0:", "    raise KeyError", "self.out = 1"), 2),
    ],
    ids=lambda each: " / ".join(map(str.strip, each))[:60] if isinstance(each, tuple) else "",
)  # fmt: skip
def test_statements(lines: tuple[str, ...], paths: int | None):
    found = check_all(*lines)
    assert paths is None or found == paths


atoms = st.sampled_from(["n", "m", "flag", "0", "1", "2", "-1", "-3"])
numbers = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), st.sampled_from(
            ["2", "-2", "3", "-5", "n", "m"])),
        st.builds("({} if {} < {} else {})".format, inner, inner, inner, inner),
        st.builds("min({}, {})".format, inner, inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("abs({})".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("({} < {} <= {})".format, inner, inner, inner),
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("[{}, {}, 4][{} % 3]".format, inner, inner, st.sampled_from(["n", "m", "-1"])),
        st.builds("sum([{}, {}])".format, inner, inner),
    ),
    max_leaves=5,
)  # fmt: skip


@given(expression=numbers)
@settings(max_examples=40, deadline=None)
def test_random_expressions(expression: str):
    computation = Computation(f"self.out = {expression}")
    for n, m in ((0, 0), (1, -2), (-7, 3), (5, 5), (-1, 0), (2, -3)):
        computation.check(n, m, flag=n > m)

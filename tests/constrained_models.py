"""Programs of "Constrained Dynamic Partial Order Reduction" and of its thesis, as models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.model import Program
from treadle.papers.cav18 import bb


def figure_1(z: int, x: int) -> Program:
    """Figure 1 of the paper, with its constraints."""
    program = Program("figure 1", x=x, z=z)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.x = s.x + 1

    @program.process
    def q(s: Any) -> Any:
        yield
        if s.z >= 0:
            s.z = s.x

    @program.process
    def r(s: Any) -> Any:
        yield
        s.x = s.x + 1
        s.z = s.z + 1

    program.independent("p", "r")
    program.independent("p", "q")(lambda s, _first, _second: s.z < 0)
    program.independent("q", "r")(lambda s, _first, _second: s.z >= 0 and s.z == s.x)
    program.independent("q", "r")(lambda s, _first, _second: s.z < -1)
    return program


def example_12() -> Program:
    """Examples 12 to 17 of the thesis, in the order p r t."""
    program = Program("example 12", b1=False, x=0, z=5)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.x = 5

    @program.process
    def r(s: Any) -> Any:
        yield
        if s.b1:
            s.z = s.x

    @program.process
    def t(s: Any) -> Any:
        yield
        s.b1 = True

    program.independent("t", "r")(lambda s, _first, _second: s.b1)
    program.independent("t", "r")(lambda s, _first, _second: s.z == s.x)
    program.independent("r", "p")(lambda s, _first, _second: not s.b1)
    program.independent("r", "p")(lambda s, _first, _second: s.x == 5)
    return program


def two_writers(one: int, other: int) -> Program:
    """`x = one`, `x = other` and `assert x > 0`, with their constraints."""
    program = Program("two writers", x=0)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.x = one

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = other

    @program.process
    def r(s: Any) -> Any:
        yield
        assert s.x > 0

    if one == other:
        program.independent("p", "q")
    for writer in "pq":
        program.independent(writer, "r")(lambda s, _first, _second: s.x > 0)
    return program


def counterexample_a() -> Program:
    """The printed algorithm sees no race in the order f z n g, and misses bad = 1."""
    program = Program("A", d=0, cz=0, cn=0, bad=0)

    @program.process
    def f(s: Any) -> Any:
        yield
        s.d = 1

    @program.process
    def z(s: Any) -> Any:
        yield
        if s.d == 0:
            s.d = 1
        s.cz = 1

    @program.process
    def n(s: Any) -> Any:
        yield
        if s.d == 0:
            s.d = 2
        s.cn = 1

    @program.process
    def g(s: Any) -> Any:
        yield s.until(lambda: s.cz == 1 and s.cn == 1)
        if s.d == 2:
            s.bad = 1

    program.independent("f", "z")
    program.independent("f", "n")
    program.independent("z", "n")(lambda s, _first, _second: s.d != 0)
    program.independent("f", "g")(lambda s, _first, _second: s.cz == 1 and s.cn == 1 and s.d != 2)
    return program


def counterexample_b() -> Program:
    """Explored as a b c d, the printed algorithm never reaches x = y = 0."""
    program = Program("B", x=0, y=1, z=0)

    @program.process
    def a(s: Any) -> Any:
        yield
        s.z = 1 - s.z

    @program.process
    def b(s: Any) -> Any:
        yield
        if s.z != 1:
            s.x = 0

    @program.process
    def c(s: Any) -> Any:
        yield
        s.x = 1

    @program.process
    def d(s: Any) -> Any:
        yield
        if s.z != 1:
            s.y = s.z

    program.independent("b", "c")(lambda s, _first, _second: s.z == 1)
    program.independent("a", "b")(lambda s, _first, _second: s.x == 0)
    program.independent("b", "d")
    return program


def registry(n: int) -> Program:
    """Reg(n): n users apply for one of n places."""
    program = Program(f"reg({n})", free=n, confirmed=[0] * n)

    def apply(s: Any, user: int) -> Any:
        s.spawn(register, user)
        yield

    def register(s: Any, user: int) -> Any:
        yield
        if s.free > 0:
            s.free -= 1
            s.confirmed[user] = 1

    for user in range(n):
        program.process(apply, user)
    program.independent("register", "register")(lambda s, _first, _second: s.free > 1)
    program.independent("register", "register")(lambda s, _first, _second: s.free <= 0)
    return program


def adders(n: int) -> Program:
    """The end of Pi(n): n workers add to one sum."""
    program = Program(f"pi({n})", sum=0)

    def add(s: Any, value: int) -> Any:
        yield
        s.sum += value

    for value in range(n):
        program.process(add, value + 1)
    program.independent("add", "add")
    return program


PAPERS_COUNTS: list[tuple[Callable[..., Program], tuple[int, ...], tuple[int, int], int]] = [
    (figure_1, (-2, -2), (1, 1), 2),
    (figure_1, (-1, -2), (2, 2), 4),
    (example_12, (), (2, 2), 4),
    (two_writers, (5, 5), (2, 2), 4),
    (two_writers, (5, 4), (4, 0), 4),
    (counterexample_a, (), (2, 2), 4),
    (counterexample_b, (), (5, 1), 8),
    (bb, (2,), (4, 0), 4),
    (bb, (3,), (8, 0), 8),
    (registry, (2,), (1, 0), 1),
    (registry, (3,), (1, 2), 3),
    (adders, (5,), (1, 0), 1),
]
"""Programs and arguments; what `constrained` runs and blocks, and `optimal-constrained` runs."""

"""What is not understood is dependent, and is named: which block, which line, why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from boxes import Block, Pair
from treadle.core.listed import Constrained, Untranslated
from treadle.model import Counter, Lock, Program

ADD = Block("s.x += 1")


def listed(block: Block, **shared: Any) -> tuple[list[Constrained], list[Untranslated]]:
    program = Pair(block, ADD, {"x": 0, "y": 0, "a": [0, 0], "t": "on", **shared}).program()
    found = list(program.list_constraints("synthesised"))
    return (
        [one for one in found if isinstance(one, Constrained)],
        [one for one in found if isinstance(one, Untranslated)],
    )


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("s.x = s.x << 1", 3, "the operator LShift is not translated"),
        ("s.y = 1\ns.x = s.x ** 2", 4, "the operator Pow is not translated"),
        ("s.x = s.x / 2", 3, "the operator Div is not translated"),
        ("s.x = ~s.x", 3, "the operator ~ is not translated"),
        ("s.x = s.x // s.y", 3, "// by something else than a positive constant"),
        ("s.x = s.x % -2", 3, "% by something else than a positive constant"),
        ("s.x = round(s.x)", 3, "round() is not known to be pure"),
        ("s.x = [1][0]", 3, "[1] is no shared array"),
        ("s.x = len(s.t)", 3, "the length of s.t"),
        ("s.t = s.t + 'a'\ns.x = 1", 3, "+ of str: only whole numbers are computed with"),
        ("s.x = s.t < 'z'", 3, "< of str: only whole numbers are computed with"),
        ("s.x = s.x is s.y", 3, "whether one int is another is up to the interpreter"),
        ("s.x = 1.5", 3, "a float is not translated"),
        ("s.x = (1, 2)", 3, "Tuple is not translated"),
        ("while s.x < 1000:\n    s.x += 1", 3, "a loop that may be gone through more than 32"),
        ("for i in range(s.x):\n    s.x += s.a[0]", 3, "a loop whose length is not known"),
        ("for i in (1, 2):\n    s.x += i", 3, "a loop over (1, 2)"),
        ("s.x = s.y = 1", 3, "an assignment to several names at once"),
        ("s.x = undefined", 3, "undefined is not known when the code is read"),
        ("s.a['k'] = 1\ns.x = 1", 3, "an index that is no whole number: 'k'"),
        ("s.x = 1 in s.a", 3, "the shared state"),
        ("s.x = max(s.x, key=abs)", 3, "a call with keywords or a star"),
    ],
)  # fmt: skip
def test_a_block_is_named_with_line_and_reason(text: str, line: int, reason: str) -> None:
    pairs, [why] = listed(Block(text))
    assert why.block == "a"
    assert reason in why.reason or "s.a is no scalar" in why.reason
    own = [one for one in pairs if one.first == "a"]
    assert all(one.constraints == () and not one.exact for one in own)
    assert why.line == line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("with open('f'):\n    s.x = 1", "the statement With is not translated"),
        ("try:\n    s.x = 1\nfinally:\n    pass", "the statement Try is not translated"),
        ("global g\ns.x = 1", "the statement Global is not translated"),
        ("import os\ns.x = 1", "the statement Import is not translated"),
        ("del s.x", "the statement Delete is not translated"),
        ("print(s)", "the shared state is given away"),
        ("s.cas('x', 0, 1)", "the call of s.cas is not translated"),
        ("s.hits += 1", "s.hits is no scalar"),
        ("s.hits.value = 1", "an assignment to s.hits.value"),
        ("s.hits.add(amount=1)", "the call of s.hits.add is not translated"),
        ("yield s.lock.acquire()", "yield s.lock.acquire() is not translated"),
        ("s.x = (y := 1)", "NamedExpr is not translated"),
        ("s.x = sum(i for i in range(3))", "GeneratorExp is not translated"),
        ("f = lambda: s.x\ns.x = f()", "Lambda is not translated"),
        ("s.a.y = 1", "an assignment to s.a.y"),
    ],
)
def test_a_function_whose_blocks_are_not_known(text: str, reason: str) -> None:
    pairs, unknown = listed(Block(text), hits=Counter(0), lock=Lock())
    assert len(unknown) == 1
    assert unknown[0].block == "a"
    assert unknown[0].reason.startswith(reason) or "is not translated" in unknown[0].reason
    assert unknown[0].line >= 3
    assert all("a" not in (one.first, one.second) for one in pairs)


def test_a_block_with_too_many_paths() -> None:
    lines = [f"if s.x % {i} == 0:\n    s.y += 1" for i in (2, 3, 5, 7, 11, 13, 17)]
    _, [why] = listed(Block("\n".join(lines)))
    assert why.reason == "it has more than 64 paths"


def test_the_other_blocks_of_the_function_are_translated() -> None:
    program = Program("two", x=0)

    def two(s: Any) -> Iterator[Any]:
        yield
        s.x = s.x << 1
        yield
        s.x += 1

    def add(s: Any) -> Iterator[Any]:
        yield
        s.x += 1

    program.process(two)
    program.process(add)
    found = list(program.list_constraints("synthesised"))
    assert [(o.first, o.second, o.constraints) for o in found if isinstance(o, Constrained)] == [
        ("two:1", "add", ()),
        ("two:2", "add", ("True",)),
    ]
    [why] = [one for one in found if isinstance(one, Untranslated)]
    assert (why.block, why.line) == ("two:1", two.__code__.co_firstlineno + 2)


def test_a_function_without_source_is_named() -> None:
    namespace: dict[str, Any] = {}
    exec("def hidden(s):\n    yield\n    s.x = 1\n", namespace)
    program = Program("hidden", x=0)
    program.process(namespace["hidden"])
    [why] = program.list_constraints("synthesised")
    assert isinstance(why, Untranslated)
    assert (why.block, why.reason) == ("hidden", "its source cannot be read")


def test_blocks_that_cannot_meet_are_not_asked_about() -> None:
    program = Program("one", x=0)

    def only(s: Any) -> Iterator[Any]:
        yield
        s.x += 1
        yield
        s.x *= 2

    program.process(only)
    assert list(program.list_constraints("synthesised")) == []
    program.process(only, name="again")
    pairs = [(o.first, o.second) for o in program.list_constraints("synthesised")
             if isinstance(o, Constrained)]  # fmt: skip
    assert pairs == [("only:1", "only:1"), ("only:1", "only:2"), ("only:2", "only:2")]


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        (None, "True"),
        (lambda s, first, _: s.x > first.k, "s.x > first.k"),
        (lambda state, a, b: state.x > a.k + b.k, "s.x > first.k + second.k"),
    ],
)
def test_what_is_declared_is_listed_in_python(holds: Any, expected: str) -> None:
    program = Program("declared", x=0)

    def add(s: Any, k: int) -> Iterator[Any]:
        yield
        s.x += k

    program.process(add, 1)
    program.independent("add", "add", holds)
    [one] = program.list_constraints("declared")
    assert isinstance(one, Constrained)
    assert (one.first, one.second, one.source, one.exact) == (
        "add", "add", "declared", holds is None,
    )  # fmt: skip
    [text] = one.constraints
    if "(s, first, second)" not in text:  # two lambdas in one statement are not told apart
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(expected))


def test_a_decorated_function_is_listed_by_what_it_returns() -> None:
    program = Program("declared", x=0)

    def add(s: Any, k: int) -> Iterator[Any]:
        yield
        s.x += k

    program.process(add, 1)

    @program.independent("add", "add")
    def enough(s: Any, first: Any, second: Any) -> bool:
        """Say where."""
        del second
        return bool(s.x > first.k)

    @program.independent("add", "add")
    def several_lines(s: Any, first: Any, second: Any) -> bool:
        limit = first.k + second.k
        return bool(s.x > limit)

    [one] = program.list_constraints("synthesised")
    assert isinstance(one, Constrained)
    assert one.constraints == ("bool(s.x > first.k)", "several_lines(s, first, second)")

"""What Python does and a solver might not: each against execution over a box."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from boxes import Block, Pair
from treadle.core.listed import Constrained
from waiting import seconds_here

BOX: dict[str, Any] = {
    "x": (-3, -2, -1, 0, 1, 2, 3), "y": (-1, 0, 1), "b": (False, True), "a": (-1, 0, 2),
    "n": (None, 0, 1), "t": ("", "on", "off"),
}  # fmt: skip
SHARED: dict[str, Any] = {"x": 0, "y": 0, "b": False, "a": [0, 0]}


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def compare(first: str, second: str, shared: Any = None, **more: Any) -> tuple[Any, int]:
    blocks = [Block(text, **more) for text in (first, second)]
    used = {n: v for n, v in {**SHARED, **(shared or {})}.items() if f"s.{n}" in first + second}
    return Pair(blocks[0], blocks[1], used).check(BOX)


NUMBERS = [
    # rounding down, and the sign of the divisor
    ("s.x = s.x // 2", "s.x += 1"),
    ("s.x = s.x // 2", "s.x += 2"),
    ("s.y = s.x % 3", "s.x -= 1"),
    ("s.y = s.x % 3", "s.x -= 3"),
    ("s.y = (s.x - 1) // 3", "s.x = -s.x"),
    ("s.x = (s.x + s.y) % 2", "s.x = (s.x - s.y) % 2"),
    ("s.x = s.x // 1 + s.x % 1", "s.x = -s.x"),
    # products
    ("s.x = s.x * 2", "s.x = s.x * 3"),
    ("s.x = s.x * 2", "s.x += 1"),
    ("s.x = s.x * s.y", "s.x += 1"),
    ("s.x = (s.x + 1) * (s.x - 1)", "s.x = s.x * s.x - 1"),
    # truth values are numbers, and are not
    ("s.x = s.b + 1", "s.b = not s.b"),
    ("s.x = s.b + s.b", "s.x = 2 * s.b"),
    ("s.x = 1", "s.x = True"),
    ("s.x = 0", "s.x = False"),
    ("s.x = True", "s.x = True"),
    ("s.b = s.x > 0", "s.x += 1"),
    ("s.b = s.x > 0", "s.b = s.x >= 1"),
    ("s.b = s.x == s.b", "s.x = 1"),
    ("s.x = +s.b", "s.b = True"),
    ("s.x = -s.b", "s.b = True"),
    ("s.x = int(s.b)", "s.b = bool(s.x)"),
    ("s.b = bool(s.x)", "s.x += 1"),
    ("s.x = abs(s.x)", "s.x = -s.x"),
    ("s.x = abs(s.x)", "s.x -= 1"),
]
DECISIONS = [
    # chains, short circuits, what `and` and `or` return
    ("s.b = 0 < s.x < 2", "s.x += 1"),
    ("s.b = 0 < s.x <= s.y", "s.y = s.x"),
    ("s.b = s.x == s.y == 0", "s.x = 0"),
    ("s.x = s.x and s.y", "s.x = s.y and s.x"),
    ("s.x = s.x or s.y", "s.x = s.y or s.x"),
    ("s.x = s.x or 2", "s.x = 0"),
    ("s.x = s.y and s.a[s.y]", "s.a[1] = 0"),
    ("s.b = not s.x", "s.x = not s.x"),
    ("s.x = 1 if s.x else 2", "s.x = 0 if s.x == 1 else 1"),
    ("if s.x:\n    s.y = 1\nelif s.y:\n    s.x = 1\nelse:\n    s.x = s.y = 0", "s.x = 1"),
    ("s.x = min(s.x, s.y)", "s.x = max(s.x, s.y)"),
    ("s.x = min(s.x, s.b)", "s.x = min(s.b, s.x)"),
    ("s.x = max(s.x, s.y, 1)", "s.y += 1"),
    ("s.b = s.x in (0, 1)", "s.x = 1 - s.x"),
    ("s.b = s.x not in (s.y, 2)", "s.y = 2"),
    ("s.x, s.y = s.y, s.x", "s.x, s.y = s.y, s.x"),
    ("s.x, s.y = s.y, s.x", "s.x = s.y"),
    ("s.x, s.y = s.y, s.x", "s.x += 1\ns.y += 1"),
]
ERRORS = [
    ("assert s.x > 0", "s.x = 1"),
    ("assert s.x > 0, 'low'", "s.x -= 1"),
    ("assert s.x > 0, f'it is {s.x}'", "s.x -= 1"),
    ("assert s.x > 0, s.y", "s.y += 1"),
    ("s.y = 1\nassert s.x\ns.y = 2", "s.x = 0"),
    ("if s.x < 0:\n    raise ValueError('low')\ns.x += 1", "s.x -= 1"),
    ("if s.x < 0:\n    raise ValueError\ns.x += 1", "if s.x < 0:\n    raise KeyError\ns.x += 1"),
    ("s.x = s.a[s.y]", "s.y += 1"),
    ("s.a[s.x] = 1", "s.x += 1"),
    ("s.a[s.x] = s.a[s.y]", "s.a[s.y] = s.a[s.x]"),
    ("s.a[s.x] += 1", "s.a[0] += 1"),
    ("s.a[s.x] = s.x // 0", "s.x = 0"),
    ("s.a[s.b] = 1", "s.b = True"),
]


@pytest.mark.parametrize(("first", "second"), NUMBERS + DECISIONS + ERRORS)
def test_against_python(first: str, second: str) -> None:
    first = first.replace("s.x = s.y = 0", "s.x = 0\n    s.y = 0")
    found, _ = compare(first, second)
    assert found.seconds < seconds_here(1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s.n = 1", "s.n = None"),
        ("s.n = 1 if s.n is None else s.n", "s.n = 1"),
        ("s.x = 1 if s.n is None else s.n", "s.n = 0"),
        ("s.x = s.n + 1", "s.n = 0"),
        ("s.x = s.n + 1", "s.n = None"),
        ("s.b = s.n == 0", "s.n = None"),
        ("s.b = s.n == s.x", "s.n = s.x"),
        ("s.x = 1 if s.n else 2", "s.n = 0"),
        ("s.x = s.n or 2", "s.n = None"),
        ("s.b = s.n is not None and s.n > 0", "s.n = None"),
        ("s.b = s.n < 1", "s.n = 1"),
    ],
)
def test_none_is_none_of_them(first: str, second: str) -> None:
    found, commuting = compare(first, second, {"n": None, "x": 0, "b": False})
    assert found.exact
    assert commuting or not found.constraints


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("s.t = 'on'", "s.t = 'on'", {"True"}),
        ("s.t = 'on'", "s.t = 'off'", set()),
        ("s.x = 1 if s.t == 'on' else 0", "s.t = 'off'", {"s.t != 'on'"}),
        ("s.t = 'on' if s.t == 'off' else s.t", "s.t = 'on'", {"True"}),
        ("s.x = 1 if s.t else 0", "s.t = ''", {"s.t == ''"}),
        ("s.b = s.t == 1", "s.t = 'on'", {"True"}),
        ("s.b = s.t != None", "s.t = 'on'", {"True"}),
    ],
)
def test_texts_are_moved_and_compared(first: str, second: str, expected: set[str]) -> None:
    found, _ = compare(first, second, {"t": "on", "x": 0, "b": False})
    assert set(found.constraints) == expected
    assert found.exact


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("s.c = Colour.RED", "s.c = Colour.BLUE", set()),
        ("s.c = Colour.RED", "s.c = Colour.RED", {"True"}),
        ("s.x = s.c == Colour.RED", "s.c = Colour.BLUE", {"s.c != Colour.RED"}),
        ("s.x = s.c is Colour.RED", "s.c = Colour.BLUE", {"s.c != Colour.RED"}),
    ],
)
def test_members_of_an_enumeration(first: str, second: str, expected: set[str]) -> None:
    blocks = [Block(text, names={"Colour": Colour}) for text in (first, second)]
    pair = Pair(blocks[0], blocks[1], {"c": Colour.RED, "x": False})
    found, _ = pair.check({"c": tuple(Colour), "x": (False, True)})
    assert set(found.constraints) == expected
    assert found.exact


# Locals, guards, where a process goes on


def test_a_local_that_is_looked_at_later_counts() -> None:
    write = Block("s.x = 1")
    forgets, keeps = Block("l = s.x"), Block("l = s.x", after="yield\ns.y = l")
    assert Pair(write, forgets, {"x": 0, "y": 0}).check(BOX)[0].constraints == ("True",)
    assert Pair(write, keeps, {"x": 0, "y": 0}).check(BOX)[0].constraints == ("s.x == 1",)


def test_a_local_that_is_assigned_in_one_branch() -> None:
    write = Block("s.x = 1")
    keeps = Block("if s.x > 0:\n    k = 2", {"k": (0, 1, 2)}, after="yield\ns.y = k")
    found, _ = Pair(write, keeps, {"x": 0, "y": 0}).check(BOX)
    assert set(found.constraints) == {"s.x > 0", "second.k == 2"}


def test_guards_belong_to_the_constraint() -> None:
    wait = Block("s.y = 1", before="yield s.until(lambda: s.x > 0 and s.y < 1)")
    found, commuting = Pair(wait, Block("s.x -= 1"), {"x": 0, "y": 0}).check(BOX)
    assert found.exact
    [text] = found.constraints
    assert set(text.split(" and ")) == {"s.x > 1", "s.y <= 0"}
    assert commuting == 4


def test_a_guard_looks_at_what_the_process_knows() -> None:
    wait = Block("s.x -= k", {"k": (1, 2)}, before="yield s.until(lambda: s.x >= k)")
    found, _ = Pair(wait, wait, {"x": 0}).check({"x": range(6)})
    assert found.exact
    assert len(found.constraints) == 1


def test_where_a_process_goes_on() -> None:
    """Both leave x as it is, but one goes on elsewhere."""
    branch = Block("if s.x > 0:\n    yield s.label('more')\n    s.y = 1")
    found, _ = Pair(Block("s.x = 1"), branch, {"x": 0, "y": 0}).check(BOX)
    assert found.constraints == ("s.x > 0",)


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_loops_of_known_length_are_gone_through(rounds: int) -> None:
    add = Block(f"for i in range({rounds}):\n    s.x += i")
    double = Block("s.x *= 2")
    found, _ = Pair(add, double, {"x": 0}).check(BOX)
    assert found.exact
    assert found.constraints == (() if rounds == 3 else ("True",))


def test_break_and_continue_and_else() -> None:
    text = """
    for i in range(3):
        if s.x == i:
            break
        if s.y == i:
            continue
        s.y += 1
    else:
        s.y = 0
    """
    found, commuting = Pair(Block(text), Block("s.x = 1"), {"x": 0, "y": 0}).check(BOX)
    assert found.exact
    assert commuting


def test_a_while_loop_that_ends() -> None:
    text = "k = 0\nwhile k < 3:\n    k += 1\n    if s.x == k:\n        break\ns.y = k"
    found, _ = Pair(Block(text), Block("s.x = 2"), {"x": 0, "y": 0}).check(BOX)
    assert found.exact


def test_a_block_that_begins_inside_of_a_loop() -> None:
    """`i` is known, what the iterator says next is not; but it says the same in both orders."""
    loop = Block("for i in range(3):\n    yield\n    s.x += i")
    program = Pair(loop, Block("s.x = 2 * s.x"), {"x": 0}).program()
    listed = {
        (one.first, one.second): one
        for one in program.list_constraints("synthesised")
        if isinstance(one, Constrained)
    }
    assert set(listed) == {("a:2", "b")}
    assert listed["a:2", "b"].constraints == ("first.i == 0",)
    assert listed["a:2", "b"].exact


def test_what_an_iterator_says_next_is_in_no_constraint() -> None:
    loop = Block("for i in range(s.y):\n    yield\nfor i in range(3):\n    yield\n    s.x = i")
    program = Pair(loop, Block("s.x = 2 * s.x"), {"x": 0, "y": 1}).program()
    for one in program.list_constraints("synthesised"):
        if isinstance(one, Constrained):
            assert not any("round" in text for text in one.constraints)
            for text in one.constraints:
                compile(text, "<constraint>", "eval")


@pytest.mark.parametrize("given", [(1, 1), (1, 2), (2, 1)])
def test_created_processes_are_part_of_what_happens(given: tuple[int, int]) -> None:
    create = Block("s.spawn(child, s.x, name='c')")
    write = Block(f"s.x = {given[0]}")
    found, _ = Pair(create, write, {"x": given[1]}).check({"x": (0, 1, 2)})
    assert found.constraints == (f"s.x == {given[0]}",)


def test_handles_are_the_same_in_both_orders() -> None:
    create = Block("h = s.spawn(child)\ns.x += 1", after="yield s.join(h)")
    found = Pair(create, Block("s.x += 2"), {"x": 0}).listed()
    assert found.constraints == ("True",)


def test_closure_variables_and_globals_are_constants() -> None:
    for limit in (1, 2):
        take = Block("if s.x < limit:\n    s.x += 1", names={"limit": limit})
        found, _ = Pair(take, take, {"x": 0}).check(BOX)
        assert (found.constraints, found.exact) == (("True",), True)
        below = Block("s.y = s.x < limit", names={"limit": limit})
        found, _ = Pair(below, Block("s.x += 1"), {"x": 0, "y": False}).check(BOX)
        assert (
            set(found.constraints)
            == {
                1: {"s.x < 0", "s.x > 0"},
                2: {"s.x <= 0", "s.x > 1"},
            }[limit]
        )

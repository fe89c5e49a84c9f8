"""The table of constraints that a solver finds, each compared with execution over a box."""

from __future__ import annotations

from typing import Any

import pytest

from boxes import Block, Pair
from treadle.model import pure
from waiting import seconds_here

SMALL = (-2, -1, 0, 1, 2)
KEYS = (-3, -1, 0, 1, 2)
"""Keys of an array of two elements: some that there are, twice, and some that there are not."""

P = Block("s.x = s.x + 1")
Q = Block("if s.z >= 0:\n    s.z = s.x")
R = Block("s.x = s.x + 1\ns.z = s.z + 1")
T15 = Block("s.b1 = True")
P15 = Block("s.x = 5")
R15 = Block("if s.b1:\n    s.z = s.x")
FOUR = Block("s.x = 4")
ASSERT = Block("assert s.x > 0")
ADD = Block("s.x += v", {"v": SMALL})
PUT = Block("s.count = min(s.count + 1, s.size)")
GET = Block("s.count = max(s.count - 1, 0)")
PUT_IF = Block("if s.count < 3:\n    s.count += 1")
GET_IF = Block("if s.count > 0:\n    s.count -= 1")
DOWN = Block("s.sem -= 1", before="yield s.until(lambda: s.sem > 0)")
UP = Block("s.sem += 1")
REGISTER = Block(
    """
    if s.free > 0:
        s.free -= 1
        s.spawn(confirm, user, 1)
    else:
        s.spawn(confirm, user, 0)
    """,
    {"user": (0, 1)},
)

NUMBERS: dict[str, Any] = {"x": 0, "z": 0}
BOX: dict[str, Any] = {"x": SMALL, "z": SMALL}
SCALARS = [
    (P, Q, NUMBERS, {"s.z < 0"}),
    (P, R, NUMBERS, {"True"}),
    (Q, R, NUMBERS, {"s.z >= 0", "s.x == s.z", "s.z < -1"}),
    (T15, P15, {"b1": False, **NUMBERS}, None),
    (T15, R15, {"b1": False, **NUMBERS}, {"s.b1", "s.x == s.z"}),
    (R15, P15, {"b1": False, **NUMBERS}, {"not s.b1", "s.x == 5"}),
    (P15, P15, NUMBERS, {"True"}),
    (P15, ASSERT, NUMBERS, {"s.x > 0"}),
    (P15, FOUR, NUMBERS, set()),
    (ADD, ADD, NUMBERS, {"True"}),
    (PUT, GET, {"count": 0, "size": 2}, {"s.size == 0", "s.size > s.count and s.count > 0"}),
    (DOWN, UP, {"sem": 1}, {"s.sem > 0"}),
    (DOWN, DOWN, {"sem": 1}, {"s.sem > 1"}),
    (UP, UP, {"sem": 1}, {"True"}),
    (
        REGISTER,
        REGISTER,
        {"free": 1},
        {"s.free > 1", "s.free <= 0", "first.user == second.user"},
    ),
]
WIDE: dict[str, Any] = {
    **BOX, "x": (*SMALL, 4, 5), "b1": (False, True), "count": (-1, 0, 1, 2, 3, 4),
    "size": (-1, 0, 1, 2, 3), "sem": (-1, 0, 1, 2, 3), "free": (-1, 0, 1, 2, 3),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second", "shared", "expected"), SCALARS)
def test_scalars(first: Block, second: Block, shared: Any, expected: set[str] | None) -> None:
    if expected is None:  # they do not conflict, so nobody asks
        assert Pair(first, second, shared).listed().constraints == ()
        return
    found, commuting = Pair(first, second, shared).check(WIDE)
    assert set(found.constraints) == expected
    assert found.exact
    assert found.seconds < seconds_here(1)
    assert bool(commuting) == bool(expected)


@pytest.mark.parametrize(("first", "second", "shared", "expected"), SCALARS[::2])
def test_the_order_in_which_they_are_asked_makes_no_difference(
    first: Block, second: Block, shared: Any, expected: set[str] | None
) -> None:
    del expected
    there, back = Pair(first, second, shared).check(WIDE), Pair(second, first, shared).check(WIDE)
    assert len(there[0].constraints) == len(back[0].constraints)
    assert there[1] == back[1]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_bounded_buffer_without_min_and_max(size: int) -> None:
    names = {"n": size}
    put = Block("if s.count < n:\n    s.count += 1", names=names)
    found, _ = Pair(put, GET_IF, {"count": 0}).check({"count": range(-2, 6)})
    assert found.exact
    inner = "s.count > 0" if size == 1 else f"s.count < {size} and s.count > 0"
    if size > 1:
        assert inner in found.constraints


def test_a_table_is_written_twice() -> None:
    put = Block("s.d[k] = v", {"k": KEYS, "v": (0, 1)})
    found, commuting = Pair(put, put, {"d": [0, 0]}).check({"d": (0, 1)})
    assert found.exact
    assert "first.v == second.v" in found.constraints
    assert commuting > 100
    assert all("s.d" not in text for text in found.constraints)  # so nobody can make them false


def test_a_table_is_written_and_read() -> None:
    put = Block("s.d[k] = v", {"k": KEYS, "v": (0, 1)})
    get = Block("seen = s.d[k]", {"k": KEYS}, after="yield\ns.d[0] = seen")
    found, _ = Pair(put, get, {"d": [0, 0]}).check({"d": (0, 1)})
    assert found.exact
    assert any("first.v == s.d[second.k]" in text for text in found.constraints)


def test_constant_keys_are_told_apart() -> None:
    one, other = Block("s.d[0] += 1"), Block("s.d[1] += 1")
    assert Pair(one, other, {"d": [0, 0]}).listed().constraints == ()  # they do not conflict
    last = Block("s.d[-1] += 2")
    found, commuting = Pair(other, last, {"d": [0, 0]}).check({"d": (0, 1)})
    assert (found.constraints, commuting) == (("True",), 4)


def test_inserting_into_a_cell_that_may_be_empty() -> None:
    insert = Block(
        """
        kept = s.val
        if kept is None:
            s.val = value
        else:
            s.spawn(insert, cell + 1, max(kept, value))
            s.val = min(kept, value)
        """,
        {"cell": (0, 1), "value": (0, 1, 2)},
    )
    found, _ = Pair(insert, insert, {"val": None}).check({"val": (None, 0, 1, 2)})
    assert found.exact
    assert set(found.constraints) == {
        "first.cell == second.cell",
        "s.val is not None and first.value >= s.val",
        "s.val is not None and second.value >= s.val",
    }
    same_cell = Block(insert.text.replace("cell + 1", "1"), {"value": (0, 1, 2)})
    found, _ = Pair(same_cell, same_cell, {"val": None}).check({"val": (None, 0, 1, 2)})
    assert (found.constraints, found.exact) == (("True",), True)


def test_reports_of_two_parts_create_by_their_order() -> None:
    """Which of them reports depends on who is second: only together they create the same."""
    res = Block(
        """
        if s.nr > 0:
            s.nr = 0
            s.r = v
        else:
            s.spawn(res, 0, s.r + v)
            s.r = 0
            s.nr = 1
        """,
        {"v": (0, 1, 2)},
    )
    found, commuting = Pair(res, res, {"nr": 1, "r": 0}).check({"nr": (0, 1, 2), "r": (0, 1)})
    assert (set(found.constraints), found.exact) == ({"s.nr > 0", "first.v == second.v"}, True)
    assert commuting


def test_two_reports_that_are_merged_by_a_pure_function() -> None:
    res = Block(
        """
        if s.nr > 0:
            s.nr = 0
            s.r = v
        else:
            s.spawn(res, merge(s.r, v))
            s.r = 0
            s.nr = 1
        """,
        {"v": (0, 1, 2)},
        names={"merge": merge},
    )
    found, _ = Pair(res, res, {"nr": 1, "r": 0}).check({"nr": (0, 1, 2), "r": (0, 1)})
    assert set(found.constraints) == {
        "first.v == second.v",
        "s.nr > 0 and merge(first.v, second.v) == merge(second.v, first.v)",
    }
    assert found.exact


def test_who_remembers_what_was_created_sees_which_it_is() -> None:
    res = Block(
        """
        h = 0
        if s.nr > 0:
            s.nr = 0
        else:
            h = s.spawn(res, 0)
            s.nr = 1
        """,
        after="yield\ns.nr += h != 0",
    )
    found = Pair(res, res, {"nr": 1}).listed()
    assert found.constraints == ()


@pure
def merge(one: int, other: int) -> int:
    return 10 * one + other if one < 2 else one + other


def test_a_pure_function_that_the_user_names() -> None:
    keep = Block("s.r = merge(s.r, v)", {"v": (0, 1, 2)}, names={"merge": merge})
    found, commuting = Pair(keep, keep, {"r": 0}).check({"r": (0, 1, 2)})
    assert found.constraints == (
        "merge(merge(s.r, first.v), second.v) == merge(merge(s.r, second.v), first.v)",
    )
    assert found.exact
    assert commuting


def test_what_nobody_called_pure_is_refused() -> None:
    def unknown(value: int) -> int:
        return value

    block = Block("s.r = unknown(s.r)", names={"unknown": unknown})
    with pytest.raises(AssertionError, match="unknown\\(\\) is not known to be pure"):
        Pair(block, block, {"r": 0}).listed()

"""Loops whose length is not known: functions of all that they read, evaluated by running them."""

from __future__ import annotations

from typing import Any

import pytest

import treadle
from boxes import Block, Pair
from treadle.core.listed import Untranslated
from treadle.model import Program
from waiting import seconds_here

pytest.importorskip("z3")

LENGTHS: dict[str, Any] = {"k": (0, 1, 2, 3)}
BOX: dict[str, Any] = {"x": (-1, 0, 1, 2), "y": (0, 1, 2)}
SHARED: dict[str, Any] = {"x": 0, "y": 0}

ADDING = Block("for i in range(k):\n    s.x += i", LENGTHS)
MIXING = Block(
    """
    for i in range(k):
        if i > 0:
            s.x = s.x * 2 + i
        else:
            s.x = s.x - 1
    """,
    LENGTHS,
)
BY_Y = Block("for i in range(s.y):\n    s.x += 1")
SUMMING = Block(
    "total = 0\nfor i in range(1, k):\n    total += s.y * i", LENGTHS, after="yield\ns.x = total"
)
FOUR, WRITING, TWICE = Block("s.x = 4"), Block("s.y = 1"), Block("s.y = s.y * 2")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ADDING, ADDING), (MIXING, MIXING), (ADDING, MIXING), (ADDING, FOUR), (BY_Y, WRITING),
        (BY_Y, BY_Y), (BY_Y, TWICE), (SUMMING, WRITING), (SUMMING, TWICE), (BY_Y, MIXING),
    ],
)  # fmt: skip
def test_each_constraint_against_execution(first: Block, second: Block) -> None:
    found, _ = Pair(first, second, SHARED).check(BOX)
    assert found.exact
    assert found.seconds < seconds_here(1)


def test_two_loops_have_one_cube_over_their_function() -> None:
    found, commuting = Pair(ADDING, ADDING, SHARED).check(BOX)
    [text] = found.constraints
    assert text.count("loop_") == 4
    assert commuting == 4 * 3 * 16  # a sum does not depend on the order, which nobody knows


def test_a_loop_and_what_it_does_not_look_at() -> None:
    reading = Block(ADDING.text + "\nlast = s.y", LENGTHS)
    found, _ = Pair(reading, Block("s.y = s.y"), SHARED).check(BOX)
    assert found.constraints == ("True",)


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(k):\n    s.x = merge(s.x)",
        "for i in range(k):\n    s.x += 1\n    if s.x > 2:\n        break",
        "for i in range(k):\n    s.x += 1\nelse:\n    s.x = 0",
        "for i in range(k):\n    i = s.x\n    s.x = i + 1",
        "for i in range(k):\n    s.x = s.x // i",
        "for i in range(k):\n    s.x, s.y = s.y, s.x",
        "for i in range(k):\n    for j in range(i):\n        s.x += j",
    ],
)
def test_other_loops_are_refused(body: str) -> None:
    program = Program("loops", **SHARED)
    block = Block(body, LENGTHS)
    program.process(block.function("a"), 1, name="a")
    program.process(block.function("b"), 2, name="b")
    listed = list(program.list_constraints("synthesised"))
    refused = {one.block: one.reason for one in listed if isinstance(one, Untranslated)}
    assert refused.keys() == {"a", "b"}


def test_what_it_counted_by_is_not_known_behind_it() -> None:
    counting = Block("for i in range(s.y):\n    s.x += 1", after="yield\ns.x = i")
    found, _ = Pair(counting, WRITING, SHARED).check({"x": (0, 1), "y": (1, 2, 3)})
    assert not found.exact


def test_loops_take_one_execution() -> None:
    program = Program("loops", x=0, y=0)
    function = ADDING.function("a")
    for length in (2, 3):
        program.process(function, length, name=f"a{length}")
    result = treadle.explore(program, "optimal-constrained", constraints="synthesised")
    assert (result.executions, treadle.explore(program, "optimal").executions) == (1, 2)

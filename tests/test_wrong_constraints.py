"""Constraints that are wrong: each is found, says what differs, and its schedule shows it again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from boxes import Block
from treadle import TreadleError
from treadle.model import Counter, Program

by_both = pytest.mark.parametrize("algorithm", ["constrained", "optimal-constrained"])


def pair(
    first: str, second: str, names: tuple[str, str] = ("a", "b"), holds: Any = None, **shared: Any
) -> Program:
    """Return a model of two processes that are declared independent."""
    program = Program("pair", **shared)
    for name, text in (("a", first), ("b", second)):
        before, *lines = text.split("; ")
        program.process(Block("\n".join(lines), before=before).function(name), name=name)
    program.independent(*names, holds)
    return program


WRONG: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "a local": (
        "yield; kept = s.x; yield; s.y = kept", "yield; s.x = 1", {"x": 0, "y": 0},
        "how a goes on differs when b comes before a",
    ),
    "a guard that is disabled": (
        "yield s.until(lambda: s.x == 0); s.x = 1", "yield s.until(lambda: s.x == 0); s.y = 1",
        {"x": 0, "y": 0}, "whether b is enabled differs when a comes before b",
    ),
    "guards that disable each other": (
        "yield s.until(lambda: s.x == 0); s.x = 1", "yield s.until(lambda: s.x == 0); s.x = 2",
        {"x": 0}, "whether b is enabled differs",
    ),
    "an assertion that one order fails": (
        "yield; assert s.x < 2", "yield; s.x += 2", {"x": 0}, "failures differs",
    ),
    "an exception that says something else": (
        "yield; raise ValueError(s.x)", "yield; s.x += 1", {"x": 1}, "failures differs",
    ),
    "what is created": (
        "yield; s.spawn(child, s.x)", "yield; s.x = 7", {"x": 0}, "what they create differs",
    ),
    "an element by a computed index": (
        "yield; s.a[s.i] = 1", "yield; s.i = 1 - s.i", {"a": [0, 0], "i": 0},
        "where a = [0, 0], i = 0 they are not: s.a differs when b comes before a: "
        "[0, 1], not [1, 0]",
    ),
    "the last element": (
        "yield; s.a[-1] += 1", "yield; s.a[1] *= 2", {"a": [1, 1]}, "[1, 3], not [1, 4]",
    ),
    "a key": (
        "yield; s.d[1] = s.x", "yield; s.x = s.d.get(1, 0)", {"d": {}, "x": 1},
        "where d = {}, x = 1 they are not: s.d differs when b comes before a: {1: 0}, not {1: 1}",
    ),
    "a counter": (
        "yield; s.hits.add(1)", "yield; s.x = s.hits.value", {"hits": Counter(3), "x": 0},
        "where hits = 3, x = 0 they are not: s.x differs when b comes before a: 3, not 4",
    ),
    "truth and one": ("yield; s.x = True", "yield; s.x = 1", {"x": 0}, "True, not 1"),
    "one and one point nought": ("yield; s.x = 1", "yield; s.x = 1.0", {"x": 0}, "1, not 1.0"),
    "noughts": ("yield; s.x = 0.0", "yield; s.x = -0.0", {"x": 0}, "0.0, not -0.0"),
    "texts": ("yield; s.t += 'a'", "yield; s.t += 'b'", {"t": ""}, "'ba', not 'ab'"),
    "tuples": ("yield; s.t += (1,)", "yield; s.t += (2,)", {"t": ()}, "(2, 1), not (1, 2)"),
}  # fmt: skip


@by_both
@pytest.mark.parametrize("name", WRONG)
def test_it_is_found_and_replayed(name: str, algorithm: str) -> None:
    first, second, shared, message = WRONG[name]
    names = ("a:1", "b") if name == "a local" else ("a", "b")
    [failure] = treadle.explore(pair(first, second, names, **shared), algorithm).failures
    assert failure.kind == "constraint"
    assert " are declared independent, but where " in failure.message
    assert {*failure.message.split(" are ")[0].split(" and ")} == {*names}
    assert message in failure.message
    again = treadle.replay(pair(first, second, names, **shared), failure.schedule)
    assert again is not None
    assert (again.kind, again.message) == (failure.kind, failure.message)


@by_both
@pytest.mark.parametrize(
    ("holds", "message"),
    [
        (lambda s, *_: setattr(s, "x", 1), "must only read shared state"),
        (lambda s, *_: s.d.__setitem__(1, 1), "must only read shared state"),
        (lambda s, *_: s.hits.add(1), "must only read shared state"),
        (lambda s, *_: s.x / 0, "raised ZeroDivisionError"),
        (lambda _, first, __: first.nobody, "raised AttributeError"),
    ],
)
def test_what_is_no_constraint(holds: Callable[..., Any], message: str, algorithm: str) -> None:
    program = pair(
        "yield; s.d[1] = s.x; s.hits.add(1)", "yield; s.x = s.d.get(1, s.hits.value)",
        holds=holds, d={}, hits=Counter(0), x=1,
    )  # fmt: skip
    with pytest.raises(TreadleError, match=f"the constraint of a and b {message}"):
        treadle.explore(program, algorithm)


@by_both
def test_one_that_changes_its_mind_proves_nothing_wrong(algorithm: str) -> None:
    """It holds now and then: where it is relied on, it is checked."""
    for start in (0, 1, 2, 3):
        numbers = itertools.count()
        program = pair(
            "yield; s.c = min(s.c + 1, 3)", "yield; s.c = max(s.c - 1, 0)",
            holds=lambda *_, numbers=numbers: next(numbers) % 2 == 0, c=start,
        )  # fmt: skip
        ends = set()
        program.finally_(lambda s, ends=ends: ends.add(s.c))
        result = treadle.explore(program, algorithm)
        assert start in (1, 2) or [one.kind for one in result.failures] == ["constraint"]
        assert result.failures or ends == {start}


@pytest.mark.parametrize("name", ["a", "a:1"])
def test_a_block_that_is_not_understood_is_named_with_the_reason(name: str) -> None:
    """Also if no other block is understood."""
    program = Program("private", x=0)

    def a(s: Any, box: list[int]) -> Any:
        yield
        box[0] += 1
        s.x += 1

    program.process(a, [0], name="a1")
    program.independent(name, name)
    line = a.__code__.co_firstlineno + 2
    with pytest.raises(TreadleError, match=rf"line {line}: an assignment to box\[0\]"):
        treadle.explore(program, "optimal-constrained")

"""Traps between Python and a solver, each compared with execution over a box.

Each row is a block and another one; `Pair.check` runs both orders in every state and fails if a
constraint is wrong anywhere, or misses a state although it is called exact.
"""

from __future__ import annotations

import enum
from typing import Any

import pytest

from boxes import Block, Pair
from treadle.core.listed import Constrained, Untranslated
from treadle.model import Program, pure

VALUES: dict[str, Any] = {
    "x": (-3, -1, 0, 1, 2), "y": (-2, 0, 1), "b": (False, True), "n": (None, 0, 1),
    "t": ("", "on"), "a": (0, 1),
}  # fmt: skip
START: dict[str, Any] = {"x": 0, "y": 0, "b": False, "n": None, "t": "", "a": [0, 0]}


def compared(first: Block, second: Block) -> Constrained:
    text = " ".join(part for one in (first, second) for part in (one.before, one.text, one.after))
    shared = {name: value for name, value in START.items() if f"s.{name}" in text}
    return Pair(first, second, shared).check(VALUES)[0]


def row(first: str, second: str) -> Constrained:
    return compared(Block(first), Block(second))


# Numbers


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("s.x = s.x // 2", "s.x -= 2", set()),
        ("s.x //= 2", "s.x = s.x // 3", {"True"}),
        ("s.x %= 2", "s.x += 2", None),
        ("s.y = -s.x // 2", "s.x = -s.x", {"((-s.x) // 2) == (s.x // 2)"}),
        ("s.y = -(s.x // 2)", "s.x += 4", set()),
        ("s.y = s.x % 2", "s.x += 4", {"True"}),
        ("s.y = s.x % 2", "s.x = -s.x", {"True"}),
        ("s.x *= 0", "s.x = 0", {"True"}),
        ("s.x -= 1", "s.x -= s.x", set()),
        ("s.x = s.x - s.x", "s.x += 0", {"True"}),
        (f"s.x += {10**30}", f"s.x -= {10**30 + 1}", {"True"}),
        (f"s.x = {2**64}", f"s.x = {2**64 + 1}", set()),
        (f"s.b = s.x < {2**63}", "s.x = 0", {"True"}),
    ],
)
def test_numbers(first: str, second: str, expected: set[str] | None) -> None:
    found = row(first, second)
    assert found.exact
    if expected == {"True"}:
        assert found.constraints == ("True",) or _covers_all(found, first, second)
    elif expected is not None:
        assert set(found.constraints) == expected


def _covers_all(found: Constrained, first: str, second: str) -> bool:
    """Tell whether alternatives cover the box, though none of them is `True`."""
    del first, second
    scopes = [{"s": type("S", (), {"x": x, "y": 0, "b": False})} for x in VALUES["x"]]
    return all(any(eval(text, {}, scope) for text in found.constraints) for scope in scopes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s.b = -2 < s.x < 0 < s.y", "s.x += 1"),
        ("s.b = s.x < s.y == 0", "s.y = 0"),
        ("s.b = s.x != s.y != 0", "s.x = s.y"),
        ("s.b = not s.x < s.y", "s.y -= 1"),
        ("s.y = s.b and s.x", "s.b = s.x == 0"),
        ("s.y = s.x or s.b", "s.b = not s.b"),
        ("s.x = s.x and s.y and 2", "s.y = 0"),
        ("s.x = s.a[s.x] if 0 <= s.x < 2 else 5", "s.x += 1"),
        ("s.b = s.x == 1 or s.a[s.x] == 1", "s.x = 1"),
        ("s.b = (s.x > 0) == (s.y > 0)", "s.x = -s.x"),
        ("s.b = s.b == 1", "s.b = True"),
        ("s.x = s.b * 2 - s.b", "s.b = False"),
        ("s.x = max(s.b, s.x)", "s.x = min(True, s.x)"),
        ("s.x = abs(s.x) % 2", "s.x = -s.x"),
    ],
)
def test_decisions(first: str, second: str) -> None:
    assert row(first, second).exact


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("s.x = 1", "s.x = True", ()),
        ("s.x = True", "s.x = 1 == 1", ("True",)),
        ("s.b = 0", "s.b = False", ()),
        ("s.n = None", "s.n = None", ("True",)),
        ("s.n = None", "s.n = 0", ()),
        ("s.n = None", "s.n = False", ()),
        ("s.t = 'on'", "s.t = None", ()),
        ("s.t = 'on'", "s.t = 'o' 'n'", ("True",)),
        ("s.t = '1'", "s.t = 1", ()),
        ("s.t = b''", "s.t = ''", ()),
    ],
)
def test_what_is_stored_is_compared_by_kind(first: str, second: str, expected: Any) -> None:
    found = row(first, second)
    assert (found.constraints, found.exact) == (expected, True)


# Exceptions, and what they say


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s.y = -s.n if s.b else +s.n", "s.b = True"),
        ("if s.b:\n    s.n += 1\nelse:\n    s.n = s.n + 1", "s.b = True"),
        ("if s.b:\n    s.n -= 1\nelse:\n    s.n += 1", "s.b = True"),
        ("if s.b:\n    s.n //= 2\nelse:\n    s.n = s.n // 2", "s.b = False"),
        ("s.x = s.n + 1 if s.b else 1 + s.n", "s.b = True"),
        ("s.x = abs(s.n) if s.b else -s.n", "s.b = False"),
        ("s.x = s.n < 1 if s.b else 1 > s.n", "s.b = False"),
        ("s.x = min(s.n, 1) if s.b else min(1, s.n)", "s.b = False"),
        ("s.x = s.n * s.b", "s.b = not s.b"),
        ("s.x = s.a[2] if s.b else s.a[-3]", "s.b = False"),
        ("if s.b:\n    s.a[2] = 1\nelse:\n    s.x = s.a[2]", "s.b = False"),
        ("s.a[2] += 1", "s.a[0] = 1"),
        ("s.x = s.x // 0 if s.b else s.x % 0", "s.b = True"),
        ("assert s.b, s.x", "s.x += 1"),
        ("assert s.b, None", "s.b = True"),
        ("assert s.x == 0, f'{s.x}{s.y}'", "s.x += 10\ns.y -= 10"),
        ("assert s.x == 0, f'{s.x:03}'", "s.x += 1"),
        ("assert s.x > 0, 'a' if s.b else 'b'", "s.b = True"),
        ("if s.x > 0:\n    raise ValueError(s.y)", "s.y = 1"),
        ("if s.x > 0:\n    raise ValueError(s.x, 'big')\ns.x += 1", "s.x += 1"),
        ("if s.b:\n    raise KeyError('k')\nelse:\n    raise LookupError('k')", "s.b = True"),
        ("s.x = 7\nraise ValueError", "s.x = 8"),
        ("s.a[s.x] = s.a[s.n]", "s.x = 0"),
    ],
)
def test_exceptions_are_told_apart_by_what_they_say(first: str, second: str) -> None:
    if "s.a[s.n]" in first:  # None is no index, and nobody says what that raises
        with pytest.raises(AssertionError, match="an index that is no whole number"):
            row(first, second)
    else:
        row(first, second)


def test_values_that_read_alike_in_a_message_are_not_called_exact() -> None:
    """1 and 12 read like 11 and 2."""
    found = row("assert s.x == 0, f'{s.x}{s.y}'", "s.x += 10\ns.y -= 10")
    assert not found.exact
    assert row("assert s.x == 0, f'it is {s.x}'", "s.x += 1").exact


# Arrays


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s.a[s.x] = 1", "s.a[-1] = 0"),
        ("s.a[-1] += 1", "s.a[1] -= 1"),
        ("s.a[s.x] += s.y", "s.a[s.x - 2] += 1"),
        ("s.a[0], s.a[1] = s.a[1], s.a[0]", "s.a[s.x] = 1"),
        ("s.a[s.a[0]] = 1", "s.a[0] = 0"),
        ("s.a[s.x % 2] = 1", "s.x += 2"),
        ("s.a[s.x // 2] = s.x", "s.x = 1"),
        ("s.a[s.x > 0] = 1", "s.x -= 1"),
        ("for i in range(2):\n    s.a[i] = s.a[1 - i]", "s.a[0] = 1"),
        ("s.x = s.a[-2]", "s.a[0] += 1"),
        ("s.a[s.x] = s.a[s.x]", "s.a[0] = 1"),
    ],
)
def test_arrays(first: str, second: str) -> None:
    found = row(first, second)
    assert found.exact
    for text in found.constraints:
        assert "[" not in text or "s.a[" in text


# What a block is made of


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("if s.b:\n    if s.x:\n        s.y = 1\n    else:\n        s.y = 2", "s.x = 0"),
        ("if s.x > 0:\n    if s.b:\n        return\n    s.y = 1\ns.y = 0", "s.b = True"),
        ("k = 0\nwhile k < s.x:\n    k += 1\n    if k == 2:\n        break\ns.y = k", "s.x -= 1"),
        ("while True:\n    s.x += 1\n    if s.x % 2 == 0:\n        break", "s.x += 2"),
        ("for i in range(3, 0, -1):\n    if s.x == i:\n        s.y = i", "s.x = 2"),
        ("for i in range(1, 3):\n    for j in range(i):\n        s.x += i * j", "s.x *= -1"),
        ("for i in range(0):\n    s.x = 5\nelse:\n    s.y = 1", "s.y = 1"),
        ("k: int = s.x\nk -= 1\ns.x = k", "s.x += 1"),
        ("k = s.x\ns.x = s.y\ns.y = k", "s.y = s.x"),
        ("pass\ns.x += 1\npass", "s.x += 1"),
    ],
)
def test_statements(first: str, second: str) -> None:
    assert row(first, second).exact


def test_a_while_loop_is_followed_up_to_its_bound() -> None:
    block = Block("k = 0\nwhile k < limit:\n    k += 1\ns.x += k", names={"limit": 32})
    assert compared(block, Block("s.x -= 1")).constraints == ("True",)
    longer = Block(block.text, names={"limit": 33})
    program = Pair(longer, Block("s.x -= 1"), {"x": 0}).program()
    listed = list(program.list_constraints("synthesised"))
    [why] = [one for one in listed if isinstance(one, Untranslated)]
    assert (why.block, why.line) == ("a", 4)
    assert why.reason == "a loop that may be gone through more than 32 times"


@pytest.mark.parametrize("value", [0, 1])
def test_locals_that_differ_count_only_if_they_are_looked_at(value: int) -> None:
    write = Block(f"s.x = {value}")
    keeps = Block("k = s.x\nl = s.y", after="yield\ns.y = k")
    assert set(compared(write, keeps).constraints) == {f"s.x == {value}"}
    forgets = Block("k = s.x\nl = s.y", after="yield\ns.y = l")
    assert compared(write, forgets).constraints == ("True",)
    overwrites = Block("k = s.x\nk = 2", after="yield\ns.y = k")
    assert compared(write, overwrites).constraints == ("True",)


def test_a_parameter_that_a_block_changes() -> None:
    takes = Block("if s.x > 0:\n    k = 0", {"k": (0, 1)}, after="yield\ns.y = k")
    found = compared(takes, Block("s.x = 1"))
    assert set(found.constraints) == {"s.x > 0", "first.k == 0"}


@pytest.mark.parametrize(
    ("guard", "second", "expected"),
    [
        ("s.x > 0", "s.x -= 1", {"s.x > 1"}),
        ("s.x > 0 or s.b", "s.x -= 1", {"s.b", "s.x > 1"}),
        ("s.b", "s.b = False", set()),
        ("s.b", "s.b = True", {"s.b"}),
        ("not s.b", "s.b = not s.b", set()),
        ("s.x == k", "s.x = 1", {"s.x == 1 and first.k == s.x"}),
        ("0 < s.x < 3", "s.x += 1", None),
    ],
)
def test_guards(guard: str, second: str, expected: set[str] | None) -> None:
    waits = Block("s.y = 1", {"k": (0, 1)}, before=f"yield s.until(lambda: {guard})")
    found = compared(waits, Block(second))
    assert found.exact
    if expected is not None and "k" not in guard:
        assert set(found.constraints) == expected


@pytest.mark.parametrize("guard", ["lambda k=2: s.x > k", "lambda *k: s.x > 0", "ready"])
def test_a_guard_that_has_names_of_its_own_is_not_understood(guard: str) -> None:
    """A default is made when the process begins to wait, and its name is no local one."""
    waits = Block("s.y = 1", before=f"k = 0\nyield s.until({guard})", names={"ready": bool})
    listed = list(
        Pair(waits, Block("s.x -= 1"), {"x": 3, "y": 0}).program().list_constraints("synthesised")
    )
    [why] = [one for one in listed if isinstance(one, Untranslated)]
    assert (why.block, why.line) == ("a", 3)
    assert why.reason.startswith("yield s.until(")
    assert why.reason.endswith("is not translated")


# What is created


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("if s.b:\n    s.spawn(child)", "s.b = True", {"s.b"}),
        ("if s.b:\n    s.spawn(child, 1)\nelse:\n    s.spawn(child, 2)", "s.b = True", {"s.b"}),
        ("s.spawn(child, s.x)", "s.x += 1", set()),
        ("s.spawn(child, s.x % 2)", "s.x += 2", {"True"}),
        ("s.spawn(child, s.x > 0)", "s.x = 1", {"s.x > 0"}),
        ("s.spawn(child, s.x)\ns.x = 1", "s.spawn(child, s.x)\ns.x = 1", {"True"}),
    ],
)
def test_created_processes(first: str, second: str, expected: set[str]) -> None:
    found = row(first, second)
    assert (set(found.constraints), found.exact) == (expected, True)


# Names from elsewhere


class Limits:
    """Constants of a class; another class of this name may have others."""

    LOW = 1


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"


@pure
def rank(value: int) -> int:
    return value % 2


def test_constants_of_a_class_are_part_of_what_is_known_by() -> None:
    read = "s.b = s.x > Limits.LOW"
    found = []
    for low in (0, 1):
        limits = type("Limits", (), {"LOW": low, "__qualname__": "Limits"})
        found.append(compared(Block(read, names={"Limits": limits}), Block("s.x += 1")).constraints)
    assert found == [("s.x < 0", "s.x > 0"), ("s.x <= 0", "s.x > 1")]


def test_two_names_of_one_member() -> None:
    """In one enumeration both names mean one member, in another of its name they do not."""
    store = [Block(f"s.c = Shade.{name}") for name in ("DARK", "BLACK")]
    found = []
    for black in (1, 2):
        shade = enum.Enum("Shade", {"DARK": 1, "BLACK": black}, qualname="Shade")  # type: ignore[misc]
        blocks = [Block(one.text, names={"Shade": shade}) for one in store]
        found.append(Pair(*blocks, {"c": shade.DARK}).listed().constraints)
    assert found == [("True",), ()]


def test_a_constant_that_changes_is_read_again() -> None:
    names = {"limit": 1}
    program = Program("changing", x=0, y=False)
    block = Block("s.y = s.x > limit", names=names).function("a")
    program.process(block)
    program.process(Block("s.x += 1").function("b"))
    [one] = program.list_constraints("synthesised")
    assert isinstance(one, Constrained)
    assert set(one.constraints) == {"s.x < 1", "s.x > 1"} or one.constraints == (
        "s.x <= 0",
        "s.x > 1",
    )
    block.__globals__["limit"] = 2
    other = Program("changing", x=0, y=False)
    other.process(block)
    other.process(Block("s.x += 1").function("b"))
    [one] = other.list_constraints("synthesised")
    assert isinstance(one, Constrained)
    assert one.constraints == ("s.x < 2", "s.x > 2")


def test_pure_functions_are_called_where_a_constraint_is_asked() -> None:
    names = {"rank": rank}
    found = compared(Block("s.x = rank(s.y)", names=names), Block("s.y += 2", names=names))
    assert found.constraints == ("rank(s.y + 2) == rank(s.y)",)
    nested = Block("s.x = rank(rank(s.y))", names=names)
    assert compared(nested, Block("s.y = 1")).exact


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("s.c = Colour.RED if s.c == Colour.BLUE else s.c", "s.c = Colour.RED", {"True"}),
        ("s.b = s.c in (Colour.RED, None)", "s.c = Colour.BLUE", {"s.c != Colour.RED"}),
        ("s.b = s.c == 'r'", "s.c = Colour.RED", {"True"}),
    ],
)
def test_members_are_no_texts(first: str, second: str, expected: set[str]) -> None:
    blocks = [Block(text, names={"Colour": Colour}) for text in (first, second)]
    shared = {"c": Colour.RED, "b": False} if "s.b" in first else {"c": Colour.RED}
    found, _ = Pair(*blocks, shared).check({"c": tuple(Colour), "b": (False, True)})
    assert set(found.constraints) == expected

"""Which blocks keep a constraint true: `C and guard` implies the weakest precondition of `C`."""

from __future__ import annotations

import ast
import builtins
import itertools
from typing import Any

import pytest

from boxes import Block, PlainState
from treadle.smt.code import Code, Shared
from treadle.smt.keeping import Condition, keeps
from treadle.smt.values import Tag

SHARED = {"x": Shared(("int",)), "y": Shared(("int",)), "a": Shared(("int",), 2)}
BOX = range(-3, 4)


def meaning(name: str) -> object:
    return vars(builtins)[name]


def code(text: str, before: str = "yield", kinds: tuple[Tag, ...] = ("int",)) -> Code:
    lines = "\n    ".join([before, *text.split("\n")])
    definition = ast.parse(f"def other(s, k):\n    {lines}\n").body[0]
    assert isinstance(definition, ast.FunctionDef)
    [first, *_] = [node for node in ast.walk(definition) if isinstance(node, ast.Yield)]
    assigned = {
        node.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    local = frozenset({"s", "k"} | assigned)
    return Code(
        "other", definition, (first.lineno, first.col_offset), "s", local,
        dict.fromkeys(local, kinds), meaning, lambda _: set(), lambda _: False,
    )  # fmt: skip


def condition(text: str) -> Condition:
    kinds: dict[str, dict[str, tuple[Tag, ...]]] = {"first": {"k": ("int",)}, "second": {}}
    return Condition(text, meaning, kinds, lambda _: False)


CASES = [
    ("s.x > 0", "s.x += 1", True),
    ("s.x > 0", "s.x -= 1", False),
    ("s.x > 0", "s.x = s.x * 2", True),
    ("s.x > 0", "s.x = -s.x", False),
    ("s.x > 0", "s.y = 1", True),
    ("s.x > 0", "if s.x > 1:\n    s.x -= 1", True),
    ("s.x > 0", "if s.x > 0:\n    s.x -= 1", False),
    ("s.x > 0", "s.x = max(s.x - 1, 1)", True),
    ("s.x > 0", "s.x = abs(s.y)", False),
    ("s.x > 0", "s.x = abs(s.y) + 1", True),
    ("s.x > 0", "s.x = 0\nassert s.y > 0\ns.x = 1", False),
    ("s.x > 0", "assert s.y > 0\ns.x = 1", True),
    ("s.x > 0", "s.x = k", False),
    ("s.x > 0", "if k > 0:\n    s.x = k", True),
    ("s.x == s.y", "s.x += 1\ns.y += 1", True),
    ("s.x == s.y", "s.x, s.y = s.y, s.x", True),
    ("s.x == s.y", "s.x += 1", False),
    ("s.x > s.y", "s.y -= 1", True),
    ("s.x > first.k", "s.x += 1", True),
    ("s.x > first.k", "s.x = 0", False),
    ("s.x > 0 or s.y > 0", "s.x -= 1", False),
    ("s.x > 0 and s.y > 0", "s.x += s.y", True),
    ("not s.x < 1", "s.x += 1", True),
    ("s.x % 2 == 0", "s.x += 2", True),
    ("s.x % 2 == 0", "s.x += 1", False),
    ("s.a[0] > 0", "s.a[1] = 0", True),
    ("s.a[0] > 0", "s.a[0] = 1", True),
    ("s.a[0] > 0", "s.a[-2] = 0", False),
    ("s.a[0] > 0", "s.a[k] = 0", False),
    ("s.a[0] > 0", "s.a[k] = 2", True),
]


@pytest.mark.parametrize(("constraint", "text", "expected"), CASES)
def test_against_what_they_do(constraint: str, text: str, expected: bool) -> None:
    assert keeps(condition(constraint), code(text), SHARED).always == expected
    assert is_kept_in_a_box(constraint, text) == expected


def is_kept_in_a_box(constraint: str, text: str) -> bool:
    """Run the block wherever the constraint holds, and look again."""
    block = Block(text, {"k": BOX})
    holds = compile(constraint, "<constraint>", "eval")
    for x, y, a in itertools.product(BOX, BOX, (-1, 1)):
        for k, own in itertools.product(BOX, (-1, 2)):
            s = PlainState({"x": x, "y": y, "a": [a, a]})
            scope: dict[str, Any] = {"s": s, "first": _Step(own)}
            if not eval(holds, {}, scope):
                continue
            _step(block, s, k)
            if not eval(holds, {}, scope):
                return False
    return True


def _step(block: Block, s: PlainState, k: int) -> None:
    generator = block.function("other")(s, k)
    next(generator)
    try:
        next(generator)
    except (StopIteration, AssertionError, IndexError):
        return


class _Step:
    def __init__(self, k: int) -> None:
        self.k = k


def test_a_guard_says_where_a_block_runs() -> None:
    takes = code("s.x -= 1", before="yield s.until(lambda: s.x > 1)")
    assert keeps(condition("s.x > 0"), takes, SHARED).always
    assert not keeps(condition("s.x > 1"), takes, SHARED).always


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ("s.x > 0", "s.x = s.x << 1"),
        ("s.x > 0", "s.x = unknown(1)"),
        ("s.x << 1 > 0", "s.x += 1"),
        ("unknown(s, first, second)", "s.x += 1"),
        ("s.x >", "s.x += 1"),
    ],
)
def test_what_is_not_understood_is_not_kept(constraint: str, text: str) -> None:
    assert not keeps(condition(constraint), code(text), SHARED).always


def test_what_is_not_certain_is_not_kept() -> None:
    uncertain = {**SHARED, "x": Shared(("int",), is_certain=False)}
    assert not keeps(condition("s.x > 0"), code("s.x += 1"), uncertain).always


def test_a_local_name_may_be_unbound() -> None:
    """The process may be anywhere: it may have got here without having assigned `t`."""
    looks_first = code("t = t + 0\ns.x += 1")
    assert keeps(condition("s.x > 0"), looks_first, SHARED).always
    too_late = code("s.x = 0\nt = t + 0\ns.x = 1")
    assert not keeps(condition("s.x > 0"), too_late, SHARED).always


def test_local_names_of_the_pair_that_were_relied_on() -> None:
    found = keeps(condition("s.x > first.k"), code("s.x += 1"), SHARED)
    assert found.locals == {"first": {"k"}, "second": set()}

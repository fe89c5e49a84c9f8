"""Which kinds of values names may hold, by all that is assigned to them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from treadle.analyses.value_kinds import Kinds, Source, ValueKinds


def source(text: str, others: Mapping[str, object] | None = None) -> Source:
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    local = {
        node.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {argument.arg for argument in definition.args.args}
    known: dict[str, Any] = {**vars(builtins), **(others or {})}
    return Source(definition, frozenset(local), known.__getitem__, (others or {}).get)


def kinds_of(
    body: str, given: Sequence[object] = (), x: Kinds = frozenset({"int"}), **others: object
) -> ValueKinds:
    lines = "\n    ".join(body.split("\n"))
    text = f"def p(s, k=0):\n    yield\n    {lines}\n"
    return ValueKinds(
        {"p": source(text, others)}, {"x": x, "a": frozenset({"int"})}, [("p", given)]
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s.x = 1", {"int"}),
        ("s.x = True", {"int", "bool"}),
        ("s.x = None", {"int", "none"}),
        ("s.x = 'a'", {"int", "str"}),
        ("s.x = b'a'", {"int", "bytes"}),
        ("s.x = f'{s.x}'", {"int", "str"}),
        ("s.x = 1.5", {"int", "opaque"}),
        ("s.x = s.x + 1", {"int"}),
        ("s.x = s.x / 2", {"int", "opaque"}),
        ("s.x = s.x ** 2", {"int", "opaque"}),
        ("s.x = s.x // 2 - s.x % 3 * 4", {"int"}),
        ("s.x = s.x & 1", {"int", "bool"}),
        ("s.x += 'a'", {"int", "opaque"}),
        ("s.x = -s.x", {"int"}),
        ("s.x = not s.x", {"int", "bool"}),
        ("s.x = s.x < 2 < 3", {"int", "bool"}),
        ("s.x = s.x and None", {"int", "none"}),
        ("s.x = 'a' if s.x else s.x", {"int", "str"}),
        ("s.x = max(s.x, True)", {"int", "bool"}),
        ("s.x = abs(s.x) + len(s.a) + int('1')", {"int"}),
        ("s.x = bool(1)", {"int", "bool"}),
        ("s.x = float(1)", {"int", "opaque"}),
        ("s.x = unknown", {"int", "opaque"}),
        ("s.x = [1]", {"int", "opaque"}),
        ("s.x = s.a[0]", {"int"}),
        ("s.a[0] = None\ns.x = s.a[1]", {"int", "none"}),
        ("y = 'a'\ns.x = y", {"int", "str"}),
        ("y = s.x\ny = y + 1\ns.x = y", {"int"}),
        ("y, z = 1, 'a'\ns.x = z", {"int", "str"}),
        ("y, z = s.a\ns.x = z", {"int", "opaque"}),
        ("for i in range(3):\n    s.x = i", {"int"}),
        ("for i in 'ab':\n    s.x = i", {"int", "opaque"}),
        ("s.x = k", {"int"}),
        ("s.x = limit", {"int", "str"}),
    ],
)
def test_what_a_shared_name_may_hold(body: str, expected: set[str]) -> None:
    assert kinds_of(body, limit="high").shared["x"] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), {"int"}),
        ((None,), {"int", "none"}),
        (("a",), {"int", "str"}),
        ((1.5,), {"int", "opaque"}),
    ],
)
def test_what_a_process_is_given_counts_and_so_do_defaults(
    given: tuple[object, ...], expected: set[str]
) -> None:
    def p(s: Any, k: int = 0) -> None: ...

    text = "def p(s, k=0):\n    yield\n    s.x = k\n"
    found = ValueKinds({p: source(text)}, {"x": frozenset({"int"})}, [(p, given)])
    assert found.shared["x"] == expected
    assert found.locals[p, "k"] == expected


def test_what_others_store_comes_back() -> None:
    writer = source("def w(s):\n    yield\n    s.x = 'a'\n")
    reader = source("def r(s):\n    yield\n    y = s.x\n    s.z = y\n")
    shared: dict[str, Kinds] = {"x": frozenset({"int"}), "z": frozenset({"none"})}
    found = ValueKinds({"w": writer, "r": reader}, shared, [])
    assert found.shared == {"x": {"int", "str"}, "z": {"int", "str", "none"}}


def test_created_processes_are_given_what_their_creator_gives() -> None:
    parent = source("def p(s):\n    yield\n    s.spawn(child, 'a', s.x)\n", {"child": "c"})
    child = source("def c(s, one, other):\n    yield\n    s.x = one\n")
    found = ValueKinds({"p": parent, "c": child}, {"x": frozenset({"int"})}, [("p", ())])
    assert found.shared["x"] == {"int", "str"}
    assert found.locals["c", "one"] == {"str"}
    assert found.locals["c", "other"] == {"int", "str"}


@pytest.mark.parametrize("call", ["s.spawn(nobody)", "s.spawn(child, *k)", "s.spawn(p)"])
def test_an_unknown_child_may_store_anything(call: str) -> None:
    text = f"def p(s, k=0):\n    yield\n    {call}\n"
    child = source("def c(s, one=0):\n    yield\n    s.x = one\n")
    parent = source(text, {"child": "c", "p": None})
    found = ValueKinds({"p": parent, "c": child}, {"x": frozenset({"int"})}, [("p", ())])
    assert "opaque" in found.shared["x"]


def test_a_process_whose_source_is_unknown_may_store_anything() -> None:
    found = ValueKinds({}, {"x": frozenset({"int"}), "y": frozenset({"str"})}, [("hidden", ())])
    assert found.shared == {"x": {"int", "opaque"}, "y": {"str", "opaque"}}

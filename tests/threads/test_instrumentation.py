"""What is seen of accesses: exact counts of small racy programs, and the same final states."""

from __future__ import annotations

import copy
import functools
import heapq
import importlib
import operator
import sys
import textwrap
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from together import together

import treadle
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import published
from treadle.threads.program import ThreadProgram

Body = Callable[[], Any]


def explored(make: Callable[[], tuple[list[Body], Body]], algorithm: str) -> tuple[int, set[str]]:
    """Explore a program; return the number of executions, and the final states."""
    finals: set[str] = set()

    def test() -> None:
        bodies, final = make()
        together(*bodies)
        with treadle.atomic():
            finals.add(repr(final()))

    result = treadle.explore(test, algorithm=algorithm, max_executions=20000)
    assert result.complete, result
    assert result.blocked == 0 or algorithm != "optimal"
    return result.executions, finals


class Obj:
    """Something with attributes."""

    total = 0

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


counter = 0
registry: dict[str, Any] = {}
items: list[int] = []


def list_items() -> Any:
    """Two threads change different elements: independent."""
    x = [0, 0]

    def one() -> None:
        x[0] += 1

    def two() -> None:
        x[1] += 1

    return [one, two], lambda: x


def list_item() -> Any:
    x = [0, 0]

    def one() -> None:
        x[0] += 1

    return [one, one], lambda: x


def appends() -> Any:
    x: list[int] = []
    return [lambda: x.append(1), lambda: x.append(2)], lambda: x


def append_and_first() -> Any:
    x, seen = [5], [0]

    def two() -> None:
        seen[0] = x[0]

    return [lambda: x.append(1), two], lambda: (x, seen)


def append_and_len() -> Any:
    x, seen = [5], [0]

    def two() -> None:
        seen[0] = len(x)

    return [lambda: x.append(1), two], lambda: (x, seen)


def append_and_sum() -> Any:
    x, seen = [5], [0]

    def one() -> None:
        x[0] = 7

    def two() -> None:
        seen[0] = sum(x)

    return [one, two], lambda: (x, seen)


def pops() -> Any:
    x, seen = [1, 2], Obj()

    def one() -> None:
        seen.a = x.pop()

    def two() -> None:
        seen.b = x.pop()

    return [one, two], lambda: (x, seen.a, seen.b)


def dict_keys() -> Any:
    d: dict[str, int] = {}

    def one() -> None:
        d["a"] = 1

    def two() -> None:
        d["b"] = 2

    return [one, two], lambda: sorted(d)


def dict_key() -> Any:
    d = {"a": 0}

    def one() -> None:
        d["a"] += 1

    return [one, one], lambda: d


def check_then_act() -> Any:
    d: dict[str, int] = {}

    def one() -> None:
        if "a" not in d:
            d["a"] = len("x")

    def two() -> None:
        if "a" not in d:
            d["a"] = 2

    return [one, two], lambda: d


def set_defaults() -> Any:
    d: dict[str, list[int]] = {}

    def one() -> None:
        d.setdefault("k", []).append(1)

    return [one, one], lambda: d


def default_dict() -> Any:
    d: Any = defaultdict(list)

    def one() -> None:
        d["k"].append(1)

    def two() -> None:
        d["j"].append(2)

    return [one, two], lambda: sorted(d.items())


def counters() -> Any:
    c: Counter[str] = Counter()

    def one() -> None:
        c["a"] += 1

    return [one, one], lambda: dict(c)


def gets() -> Any:
    d = {"a": 1}
    seen = Obj(x=0)

    def one() -> None:
        seen.x = d.get("b", 0) + d.get("a", 0)

    def two() -> None:
        d["b"] = 5

    return [one, two], lambda: (seen.x, d)


def sets() -> Any:
    s: set[int] = set()
    return [lambda: s.add(1), lambda: s.add(2)], lambda: s


def set_check() -> Any:
    s: set[int] = set()
    seen = Obj(n=0)

    def one() -> None:
        if 1 not in s:
            s.add(1)
            seen.n += 1

    return [one, one], lambda: (s, seen.n)


def deques() -> Any:
    q: deque[int] = deque([1, 2])
    seen = Obj()

    def one() -> None:
        seen.a = q.popleft()

    def two() -> None:
        seen.b = q.pop()

    return [one, two], lambda: (list(q), seen.a, seen.b)


def increment_global() -> Any:
    global counter
    counter = 0

    def one() -> None:
        global counter
        counter += 1

    return [one, one], lambda: counter


def global_dict() -> Any:
    registry.clear()

    def one() -> None:
        registry["n"] = registry.get("n", 0) + 1

    return [one, one], lambda: registry


def module_attribute() -> Any:
    global counter
    counter = 0
    module = sys.modules[__name__]

    def one() -> None:
        module.counter += 1  # type: ignore[attr-defined]

    def two() -> None:
        global counter
        counter += 1

    return [one, two], lambda: counter


def closure() -> Any:
    n = 0

    def one() -> None:
        nonlocal n
        n += 1

    return [one, one], lambda: n


def class_attribute() -> Any:
    Obj.total = 0

    def one() -> None:
        Obj.total += 1

    def two() -> None:
        o = Obj()
        type(o).total = o.total + 1

    return [one, two], lambda: Obj.total


def class_attribute_of_instance() -> Any:
    Obj.total = 0
    seen = [0]

    def one() -> None:
        Obj.total = 5

    def two() -> None:
        seen[0] = Obj().total

    return [one, two], lambda: (Obj.total, seen)


def iteration() -> Any:
    d = {"a": 1}
    seen: list[object] = [None]

    def one() -> None:
        d["b"] = 2

    def two() -> None:
        try:
            seen[0] = [key for key in d]  # noqa: C416
        except RuntimeError as error:
            seen[0] = str(error)

    return [one, two], lambda: (sorted(d), seen)


def list_iteration() -> Any:
    x = [1]
    seen: list[object] = [None]

    def two() -> None:
        seen[0] = [v for v in x]  # noqa: C416

    return [lambda: x.append(2), two], lambda: (x, seen)


def by_name() -> Any:
    o = Obj(n=0)

    def one() -> None:
        setattr(o, "n", getattr(o, "n") + 1)  # noqa: B009, B010

    def two() -> None:
        o.__dict__["n"] = vars(o)["n"] + 1

    return [one, two], lambda: o.n


def heap() -> Any:
    h: list[int] = [5]
    return [lambda: heapq.heappush(h, 1), lambda: heapq.heappush(h, 2)], lambda: h


def operators() -> Any:
    d = {"a": 0}

    def one() -> None:
        operator.setitem(d, "a", operator.getitem(d, "a") + 1)

    return [one, one], lambda: d


def in_place() -> Any:
    x: list[int] = []

    def one() -> None:
        nonlocal x
        x += [1]

    return [one, one], lambda: x


def unpacking() -> Any:
    x = [1, 2]
    o = Obj(a=0, b=0)

    def one() -> None:
        o.a, o.b = x

    def two() -> None:
        x[0] = 7

    return [one, two], lambda: (o.a, o.b)


def copies() -> Any:
    x = {"a": [1]}
    o = Obj(c=None)

    def one() -> None:
        o.c = copy.deepcopy(x)

    def two() -> None:
        x["a"].append(2)

    return [one, two], lambda: (o.c, x)


def deep_copies() -> Any:
    """What is copied depends on what somebody puts there before."""
    x: dict[str, list[int]] = {"a": [1]}
    y = [5]
    o = Obj(c=None)

    def one() -> None:
        o.c = copy.deepcopy(x)

    def two() -> None:
        x["a"] = y

    def three() -> None:
        y.append(6)

    return [one, two, three], lambda: (o.c, x)


def truth() -> Any:
    x: list[int] = []
    o = Obj(seen=None)

    def one() -> None:
        o.seen = "full" if x else "empty"

    return [one, lambda: x.append(1)], lambda: o.seen


def views() -> Any:
    d = {"a": 1}
    o = Obj(seen=None)

    def one() -> None:
        keys = d.keys()
        o.seen = "b" in keys, sorted(d.values())

    def two() -> None:
        d["b"] = 2

    return [one, two], lambda: o.seen


def ordered() -> Any:
    d = OrderedDict(a=1, b=2)
    return [lambda: d.move_to_end("a"), lambda: d.move_to_end("b")], lambda: list(d)


@dataclass
class Point:
    """A class with methods made by `exec`."""

    x: int
    y: int = 0


def dataclass_equality() -> Any:
    p, q = Point(1), Point(2)
    o = Obj(seen=None)

    def one() -> None:
        o.seen = p == q

    def two() -> None:
        p.x = 2

    return [one, two], lambda: o.seen


def local_dataclass() -> Any:
    @dataclass
    class Local:
        n: int = 0

        def inc(self) -> None:
            self.n += 1

    p = Local()
    return [p.inc, p.inc], lambda: p


def executed() -> Any:
    space: dict[str, Any] = {}
    exec("def inc(o):\n    o.n += 1", space)
    o = Obj(n=0)
    inc = space["inc"]
    return [lambda: inc(o), lambda: inc(o)], lambda: o.n


def partials() -> Any:
    x: list[int] = []
    return [functools.partial(x.append, 1), functools.partial(list.append, x, 2)], lambda: x


class Stack(list[int]):
    """A container with a method of its own."""

    def push(self, value: int) -> None:
        self.append(value)

    def append(self, value: int) -> None:
        super().append(value * 2)


def subclass() -> Any:
    s = Stack()
    return [lambda: s.push(1), lambda: s.push(2)], lambda: s


class Hits(dict[str, int]):
    """A container with attributes of its own."""

    n = 0

    def hit(self) -> None:
        self.n += 1


def attribute_of_subclass() -> Any:
    d = Hits()
    return [d.hit, d.hit], lambda: d.n


def attribute_and_content_of_subclass() -> Any:
    d = Hits()
    return [d.hit, lambda: d.update(a=1)], lambda: (d.n, dict(d))


def generator() -> Any:
    x = [1]
    o = Obj(seen=None)

    def values() -> Any:
        for v in x:  # noqa: UP028
            yield v

    def one() -> None:
        o.seen = list(values())

    return [one, lambda: x.append(2)], lambda: o.seen


def lazily() -> Any:
    x = [1]
    o = Obj(seen=None)

    def one() -> None:
        o.seen = [(i, a, b) for i, (a, b) in enumerate(zip(x, x, strict=False))]

    return [one, lambda: x.append(2)], lambda: o.seen


EXPECTED: dict[Callable[[], Any], int | None] = {
    list_items: 1, list_item: 4, appends: 2, append_and_first: 1, append_and_len: 2,
    append_and_sum: 2, pops: 2, dict_keys: None, dict_key: 4, check_then_act: None,
    set_defaults: None, default_dict: None, counters: 4, gets: 2, sets: None, set_check: None,
    deques: 2, increment_global: 4, global_dict: 4, module_attribute: 4, closure: 4,
    class_attribute: 4, class_attribute_of_instance: 2, iteration: None, list_iteration: None,
    by_name: 4, heap: 2, operators: 4, in_place: None, unpacking: 2, copies: 2, truth: 2,
    deep_copies: None,
    views: 3, ordered: 2, dataclass_equality: None, local_dataclass: 4, executed: 4, partials: 2,
    subclass: 2, attribute_of_subclass: 4, attribute_and_content_of_subclass: 1, generator: None,
    lazily: None,
}  # fmt: skip
"""Programs, and how many executions there are where that is easily told by hand."""


@pytest.mark.parametrize("make", EXPECTED, ids=lambda make: make.__name__)
def test_optimal_covers_what_exhaustive_does(make: Any) -> None:
    executions, finals = explored(make, "optimal")
    assert EXPECTED[make] in (None, executions)
    assert finals == explored(make, "exhaustive")[1]


# What is published, and under which names


def test_names_are_those_of_the_source() -> None:
    def test() -> None:
        global counter
        registry.clear()
        counter = 0

        def one() -> None:
            global counter
            counter += 1
            registry["k"] = 1
            Obj.total = 1

        together(one, one)

    program = ThreadProgram(test, "test")
    program.try_out()
    names = set(program.vocabulary.location_names)
    assert {"counter", "registry['k']", "Obj.total"} <= names


def test_what_ran_unobserved_is_reported() -> None:
    shared = [3, 1, 2]

    def test() -> None:
        together(lambda: _library(shared), lambda: shared.append(1))

    result = treadle.explore(test)
    assert result.ok
    assert any("textwrap.dedent" in note for note in result.notes), result.notes


def _library(shared: Any) -> object:
    try:
        return textwrap.dedent(shared)
    except TypeError:
        return None


# Code that appears while a test runs


def test_modules_imported_during_the_test_are_instrumented(tmp_path: Path) -> None:
    (tmp_path / "imported_late.py").write_text(
        "n = 0\nseen = []\n\ndef inc():\n    global n\n    n += 1\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:

        def test() -> None:
            import imported_late  # type: ignore[import-not-found]

            imported_late.n = 0
            together(imported_late.inc, imported_late.inc)

        assert treadle.explore(test).executions == 4
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("imported_late", None)


def test_a_file_that_was_loaded_again_does_not_hide_the_test_that_is_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loaded_again.py").write_text(
        "from together import together\n\nclass Box:\n    n = 0\n    def inc(self):\n"
        "        self.n += 1\n\ndef test():\n    box = Box()\n    together(box.inc, box.inc)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "loaded_again", types.ModuleType("none"))  # put back later
    del sys.modules["loaded_again"]
    first = importlib.import_module("loaded_again")
    del sys.modules["loaded_again"]
    second = importlib.import_module("loaded_again")
    assert first is not second
    for module in (first, second, first):
        assert treadle.explore(module.test).executions == 4


def test_everything_is_put_back() -> None:
    before = {name: value.__code__ for name, value in globals().items() if _is_function(value)}
    treadle.explore(lambda: together(lambda: None))
    after = {name: value.__code__ for name, value in globals().items() if _is_function(value)}
    assert all(after[name] is code for name, code in before.items())
    assert not published
    assert not instrumented
    assert importlib._bootstrap._find_and_load.__class__ is types.FunctionType


def _is_function(value: object) -> bool:
    return isinstance(value, types.FunctionType)

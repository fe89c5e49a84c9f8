"""What is seen of accesses: exact counts of small racy programs, and the same final states."""

from __future__ import annotations

import contextlib
import copy
import functools
import heapq
import importlib
import operator
import sys
import textwrap
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.events import Mode, Vocabulary, location_of, mode_of
from treadle.threads import cache, calls, hooks
from treadle.threads.containers import instrumented
from treadle.threads.methods import MUTATORS
from treadle.threads.modules import variable_of
from treadle.threads.program import ThreadProgram
from treadle.threads.rewrite import rewrite
from treadle.threads.scope import Scope
from treadle.threads.shared import Shared

Body = Callable[[], Any]


def together(*bodies: Body) -> None:
    """Run functions in threads of their own."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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


# What every method of every container touches

FEATURES = (
    "assigned", "moved", "grown", "read whole", "inserted", "deleted", "replaced", "counted",
    "gone through", "changed", "n",
)  # fmt: skip


class Observed:
    """A published object, and what is announced about it."""

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        self.codes: list[int] = []
        self.shared = Shared(Vocabulary(), hooks.published)
        self.shared.publish(obj, "x", "x")
        table = hooks.published[id(obj)]
        self.shared.features |= {(table.sort, feature) for feature in FEATURES}
        table.forget()

    def __enter__(self) -> Observed:
        self._before = hooks.announce, hooks.hand_out
        hooks.announce = self.codes.extend
        hooks.hand_out = lambda value, label: self.shared.publish(value, label, label)
        return self

    def __exit__(self, *_: object) -> None:
        hooks.announce, hooks.hand_out = self._before
        self.shared.clear()

    @property
    def accesses(self) -> set[str]:
        """Words for what was announced: `READ x[0]`."""
        names = self.shared.vocabulary.location_names
        return {
            f"{mode_of(access).name} {names[location_of(access)]}"
            for access in self.codes
            if mode_of(access) is not Mode.OPEN
        }

    @property
    def modes(self) -> set[str]:
        return {access.split()[0] for access in self.accesses}


MAKERS: dict[str, Callable[[], Any]] = {
    "list": lambda: [3, 1, 2],
    "dict": lambda: {"a": 1, "b": 2},
    "set": lambda: {1, 2, 3},
    "deque": lambda: deque([3, 1, 2], maxlen=9),
    "bytearray": lambda: bytearray(b"cab"),
    "OrderedDict": lambda: OrderedDict(a=1, b=2),
    "defaultdict": lambda: defaultdict(list, a=1),
    "Counter": lambda: Counter(a=2, b=1),
}
ARGUMENTS: list[tuple[Any, ...]] = [
    (), (1,), ("a",), ([7],), ({"q": 1},), (0, 5), ("z", 5), (b"x",), ({9},), (97,), ("a", False),
]  # fmt: skip
UNTOUCHED = {"__class_getitem__", "fromkeys", "fromhex", "maketrans", "keys", "values", "items"}
"""Methods that look at nothing of the container."""


def _methods(kind: type) -> list[str]:
    found = [name for name in dir(kind) if not name.startswith("_")]
    return [name for name in found if callable(getattr(kind, name))] + [
        "__getitem__", "__setitem__", "__delitem__", "__contains__", "__len__", "__eq__",
        "__iter__",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in MAKERS
        for name in _methods(type(MAKERS[kind]()))
        if hasattr(MAKERS[kind](), name)
    ],
)
def test_every_method_says_what_it_does(kind: str, name: str) -> None:
    """What changes the content announces a write, what only looks at it announces no write."""
    for arguments in ARGUMENTS:
        obj = MAKERS[kind]()
        before = repr(obj)
        with Observed(obj) as seen:
            try:
                result = calls.resolve(getattr(obj, name))(*copy.deepcopy(arguments))
                if name == "__iter__":
                    list(result)
            except (TypeError, ValueError, LookupError, NotImplementedError):
                continue
        if repr(obj) != before:
            assert seen.modes & {"WRITE", "ADD"}, (name, arguments, seen.accesses)
            assert name in MUTATORS or (kind, name) == ("defaultdict", "__getitem__")
        elif name in UNTOUCHED:
            assert not seen.accesses
        elif name not in MUTATORS:
            may_insert = (kind, name) == ("defaultdict", "__getitem__")
            assert seen.modes == {"READ"} or may_insert


MOVED = {"READ x order", "READ x length"}
"""What every access to a list element reads if elements are moved about."""


@pytest.mark.parametrize(
    ("obj", "use", "expected"),
    [
        ([1, 2], lambda x: x[0], {"READ x[0]", *MOVED}),
        ([1, 2], lambda x: x[7], {"READ x length"}),
        ([1, 2], lambda x: len(x), {"READ x length"}),
        ([1, 2], lambda x: operator.setitem(x, 1, 5), {"WRITE x[1]", *MOVED, "ADD x content"}),
        ([1, 2], lambda x: x.append(3), {"WRITE x length", "ADD x content"}),
        ([1, 2], lambda x: x.pop(), {"WRITE x order", "WRITE x length", "WRITE x content"}),
        ([1, 2], lambda x: sorted(x), {"READ x content", "READ x length"}),
        ({"a": 1}, lambda d: d["a"], {"READ x['a']", "READ x keys"}),
        ({"a": 1}, lambda d: d.get("q"), {"READ x['q']", "READ x keys"}),
        ({"a": 1}, lambda d: "q" in d, {"READ x['q']", "READ x keys"}),
        ({"a": 1}, lambda d: d.pop("a"), {"WRITE x['a']", "READ x keys", "WRITE x size"}),
        ({"a": 1}, lambda d: len(d), {"READ x size"}),
        ({"a": 1}, lambda d: list(d.keys()), {"READ x size"}),
        ({"a": 1}, lambda d: list(d.items()), {"READ x size", "READ x content"}),
        ({"a": 1}, lambda d: d.update(b=1), {"WRITE x['b']", "READ x keys", "WRITE x size"}),
        ({1}, lambda s: s.add(2), {"WRITE x[2]", "READ x keys", "WRITE x size"}),
        (deque([1]), lambda q: q.append(2), {"WRITE x"}),
        (deque([1]), lambda q: q[0], {"READ x"}),
    ],
)  # fmt: skip
def test_locations(obj: Any, use: Any, expected: set[str]) -> None:
    obj = copy.deepcopy(obj)
    instrumented.add(id(globals()))
    rewritten = types.FunctionType(
        rewrite(use.__code__, Scope(methods=frozenset({"pop"}))), globals()
    )
    try:
        with Observed(obj) as seen, contextlib.suppress(LookupError):
            rewritten(obj)
    finally:
        instrumented.discard(id(globals()))
    assert seen.accesses == expected


SEEN: list[tuple[Any, str, str]] = [
    (Obj(n=1), "x.n", "READ"),
    (Obj(n=1), "x.n = 2", "STORE"),
    (Obj(n=1), "x.n += 2", "READ STORE"),
    (Obj(n=1), "del x.n", "WRITE"),
    (Obj(n=1), "x.n, y = 1, 2", "STORE"),
    (Obj(n=1), "for x.n in [1]: pass", "STORE"),
    (Obj(n=1), "getattr(x, 'n')", "READ"),
    (Obj(n=1), "setattr(x, 'n', 2)", "STORE"),
    (Obj(n=1), "hasattr(x, 'n')", "READ"),
    (Obj(n=1), "vars(x)['n'] = 5", "WRITE"),
    (Obj(n=1), "x.__dict__.update(n=5)", "WRITE"),
    (Obj(n=1), "object.__setattr__(x, 'n', 5)", "WRITE"),
    (Obj(n=1), "object.__getattribute__(x, 'n')", "READ"),
    (Obj(n=1), "operator.attrgetter('n')(x)", "READ"),
    (Obj(n=1), "match x:\n  case Obj(n=1): pass", "READ"),
    (Obj(n=1), "f'{x.n}'", "READ"),
    (Obj(n=1), "[x.n for _ in 'a']", "READ"),
    (Obj(n=1), "(lambda: x.n)()", "READ"),
    (Obj(n=1), "list(x.n for _ in 'a')", "READ"),
    ([1, 2], "a, b = x", "READ"),
    ([1, 2], "a, *b = x", "READ"),
    ([1, 2], "[*x]", "READ"),
    ([1, 2], "print(*x, end='')", "READ"),
    ([1, 2], "x[0:1]", "READ"),
    ([1, 2], "x[0:1] = [4]", "WRITE"),
    ([1, 2], "del x[0]", "WRITE"),
    ([1, 2], "x[0] += 1", "READ WRITE ADD"),
    ([1, 2], "x += [1]", "WRITE ADD"),
    ([1, 2], "x *= 2", "WRITE"),
    ([1, 2], "x + [1]", "READ"),
    ([1, 2], "x == [1]", "READ"),
    ([1, 2], "[1] == x", "READ"),
    ([1, 2], "1 in x", "READ"),
    ([1, 2], "f'{x} {x!r:>3}'", "READ"),
    ([1, 2], "'%s' % x", "READ"),
    ([1, 2], "if x: pass", "READ"),
    ([1, 2], "not x", "READ"),
    ([1, 2], "x and 1", "READ"),
    ([1, 2], "match x:\n  case [a, b]: pass", "READ"),
    ([1, 2], "for a in x: pass", "READ"),
    ([1, 2], "next(iter(x))", "READ"),
    ([1, 2], "[a for a in x]", "READ"),
    ([1, 2], "dict(zip(x, x))", "READ"),
    ([1, 2], "','.join(map(str, x))", "READ"),
    ([1, 2], "[].extend(x)", "READ"),
    ([1, 2], "g = x.append; g(1)", "WRITE ADD"),
    ([1, 2], "list.append(x, 1)", "WRITE ADD"),
    ([1, 2], "heapq.heappush(x, 1)", "WRITE"),
    ([1, 2], "functools.reduce(operator.add, x)", "READ"),
    ([1, 2], "tuple(reversed(x))", "READ"),
    ([1, 2], "(yield from x)", "READ"),
    ({"a": 1}, "match x:\n  case {'a': 1}: pass", "READ"),
    ({"a": 1}, "{**x}", "READ"),
    ({"a": 1}, "dict(**x)", "READ"),
    ({"a": 1}, "x |= {'b': 1}", "READ WRITE"),
    ({"a": 1}, "for k, v in x.items(): pass", "READ"),
    ({"a": 1}, "'a' in x.keys()", "READ"),
    ({"a": 1}, "x is None", ""),
    ([1, 2], "type(x), id(x), isinstance(x, list)", ""),
    ([1, 2], "y = [3]; y[0] += 1; y.append(2)", ""),
]


@pytest.mark.parametrize(("obj", "source", "expected"), SEEN, ids=lambda value: str(value)[:30])
def test_accesses_are_seen(obj: Any, source: str, expected: str) -> None:
    obj = Obj(n=1) if isinstance(obj, Obj) else copy.copy(obj)
    body = "\n".join(f"  {line}" for line in source.splitlines())
    code = compile(f"def f(x):\n{body}", "<f>", "exec", dont_inherit=True)
    namespace = dict(globals())
    instrumented.add(id(namespace))
    exec(rewrite(code, Scope(class_names=frozenset({"n"}))), namespace)
    try:
        with Observed(obj) as seen:
            result = namespace["f"](obj)
            if isinstance(result, types.GeneratorType):
                list(result)
    finally:
        instrumented.discard(id(namespace))
    assert seen.modes == set(expected.split())


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


def test_everything_is_put_back() -> None:
    before = {name: value.__code__ for name, value in globals().items() if _is_function(value)}
    treadle.explore(lambda: together(lambda: None))
    after = {name: value.__code__ for name, value in globals().items() if _is_function(value)}
    assert all(after[name] is code for name, code in before.items())
    assert not hooks.published
    assert not instrumented
    assert importlib._bootstrap._find_and_load.__class__ is types.FunctionType


def _is_function(value: object) -> bool:
    return isinstance(value, types.FunctionType)


# The cache


def test_rewritten_code_is_taken_from_disk(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    code = compile(
        "def f(o):\n    global g\n    g = o.x\n    return {1, 2}, o in {3, 4}", "a.py", "exec"
    )
    scope = Scope(variables={"g": variable_of("a", "g")})
    first = cache.RewrittenCode(variable_of)
    made = first.rewritten(code, "a", scope)
    first.save()
    monkeypatch.setattr(cache.rewriter, "rewrite", None)
    again = cache.RewrittenCode(variable_of).rewritten(code, "a", scope)
    assert again == made
    assert again is not made
    assert variable_of("a", "g") in next(c for c in again.co_consts if _is_code(c)).co_consts


@pytest.mark.parametrize("content", [b"", b"garbage", b"x" * 1000])
def test_a_corrupt_cache_is_harmless(tmp_path: Path, monkeypatch: Any, content: bytes) -> None:
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    code = compile("def f(o):\n    return o.x", "a.py", "exec")
    for _ in range(2):
        kept = cache.RewrittenCode(variable_of)
        kept.rewritten(code, "a", Scope())
        kept.save()
        for file in tmp_path.iterdir():
            file.write_bytes(content)


def test_a_cache_that_cannot_be_written_is_harmless(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "file" / "inside"))
    kept = cache.RewrittenCode(variable_of)
    kept.rewritten(compile("x.y", "a.py", "exec"), "a", Scope())
    kept.save()


def _is_code(value: object) -> bool:
    return isinstance(value, types.CodeType)

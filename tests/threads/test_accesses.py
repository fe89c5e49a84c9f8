"""What one access announces: every method of every container, and every sort of expression."""

from __future__ import annotations

import contextlib
import copy
import functools
import heapq
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

from treadle.core.events import Mode, Vocabulary, location_of, mode_of
from treadle.python.accesses import calls
from treadle.python.accesses.container_methods import MUTATORS
from treadle.python.instrument.rewrite import rewrite
from treadle.python.instrument.scope import Scope
from treadle.python.runtime import slots
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import published
from treadle.python.sharing.shared import Shared

FEATURES = (
    "assigned", "moved", "grown", "read whole", "inserted", "deleted", "replaced", "counted",
    "gone through", "changed", "n",
)  # fmt: skip


class Obj:
    """Something with attributes."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Observed:
    """A published object, and what is announced about it."""

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        self.codes: list[int] = []
        self.shared = Shared(Vocabulary(), published)
        self.shared.publish(obj, "x", "x")
        table = published[id(obj)]
        self.shared.features |= {(table.sort, feature) for feature in FEATURES}
        table.forget()

    def __enter__(self) -> Observed:
        self._before = slots.announce, slots.hand_out
        slots.announce = lambda codes, *_: self.codes.extend(codes)
        slots.hand_out = lambda value, label: self.shared.publish(value, label, label)
        return self

    def __exit__(self, *_: object) -> None:
        slots.announce, slots.hand_out = self._before
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
    (Obj(n=1), "x.n = 2", "STORE STORED"),
    (Obj(n=1), "x.n += 2", "READ STORE"),
    (Obj(n=1), "del x.n", "WRITE"),
    (Obj(n=1), "x.n, y = [1], 2", "STORE"),
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


USED = (Obj, contextlib, copy, functools, heapq, operator)
"""What the sources above name."""


@pytest.mark.parametrize(("obj", "source", "expected"), SEEN, ids=lambda value: str(value)[:30])
def test_accesses_are_seen(obj: Any, source: str, expected: str) -> None:
    obj = Obj(n=1) if isinstance(obj, Obj) else copy.copy(obj)
    body = "\n".join(f"  {line}" for line in source.splitlines())
    code = compile(f"def f(x):\n{body}", "<f>", "exec", dont_inherit=True)
    namespace: dict[str, Any] = {one.__name__: one for one in USED}
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

"""Methods that are hard to read, as a solver reads them: every order ends as Python says.

Each program has two methods of one actor that are sent once each. What is explored with the
constraints that were found has to reach the final states, and the failures, of all orders: in each
of some states. A constraint that is wrong, or used where it does not hold, misses one.
"""

from __future__ import annotations

import itertools
import linecache
import random
from typing import Any, NamedTuple

import pytest

import treadle
from treadle.actors import Actor, Future, Program, pause, until

pytest.importorskip("z3")

_STATES = 3
"""So many states of each program are tried."""
_LEVELS = ("actor", "field", "access")
_FIELDS = ("x", "y", "o", "p", "l", "k", "d", "s", "t", "u", "w", "c", "e")

MAIN = """
def main(x, y, p, q):
    a = A(x, y)
    a.m.send(p)
    a.n.send(q)
    return a
"""
OTHER = """
class O(Actor):
    def __init__(self, z=0):
        self.z = z
    async def put(self, v):
        self.z = (self.z, v)
    async def get(self, v):
        return v
"""
HOLDER = """
class O:
    z = 0
    def __repr__(self):
        return f"O({self.z})"
"""
COLOURS = """
import enum
class C(enum.{kind}):
    A = 1
    B = 2
    D = 2
"""


class Case(NamedTuple):
    """Two methods, and what is around them."""

    first: str
    second: str
    fields: str = ""
    before: str = ""
    """What stands before the class."""
    members: str = ""
    """What else is in the class."""
    xs: tuple[Any, ...] = (-1, 0, 1, 2)
    given: tuple[Any, ...] = (-1, 0, 1)

    def source(self) -> str:
        """Return the program."""
        methods = [_method("m", self.first), _method("n", self.second)]
        fields = ["self.x = x", "self.y = y", *filter(None, self.fields.split("; "))]
        body = ["def __init__(self, x, y):", *(f"    {line}" for line in fields), *methods]
        lines = "\n".join([self.members, *body]).split("\n")
        made = "\n".join(f"    {line}" for line in lines)
        return f"{self.before}\nclass A(Actor):\n{made}\n{MAIN}"


def _method(name: str, body: str) -> str:
    lines = body.replace("; ", "\n").split("\n")
    return "\n".join([f"async def {name}(self, v):", *(f"    {line}" for line in lines)])


ADD, SET = "self.x += v", "self.x = v"
SENT = "self.o = O()"
CASES = {
    # numbers
    "add": Case(ADD, ADD),
    "subtract from": Case("self.x = v - self.x", "self.x = v - self.x"),
    "multiply": Case("self.x *= v", ADD),
    "halve": Case("self.x //= 2", ADD, xs=(-5, -4, -3, -1, 0, 3)),
    "modulo": Case("self.x = self.x % 3", ADD, xs=(-5, -4, -3, -1, 0, 3)),
    "modulo of a negative": Case("self.x = self.x % -3", ADD, xs=(-5, -4, 4)),
    "divide by zero": Case("self.x = self.x // 0", ADD),
    "divide": Case("self.x = self.x / 2", ADD),
    "negate": Case("self.x = -self.x", ADD),
    "power": Case("self.x = self.x ** 2", ADD),
    "bits": Case("self.x = self.x & 1", ADD),
    "smallest and largest": Case("self.x = min(self.x, v)", "self.x = max(self.x, v)"),
    "absolute": Case("self.x = abs(self.x)", ADD),
    "another min": Case("self.x = min(self.x, v)", SET, before="def min(a, b):\n    return a - b"),
    # truth, None, floats and texts
    "True and 1": Case("self.x = True", "self.x = 1"),
    "1.0 and 1": Case("self.x = 1.0", "self.x = 1"),
    "kinds": Case(SET, SET, given=(0, 1, True, False, 1.0)),
    "equal": Case("self.x = self.x == 1", SET, xs=(0, 1, True, 1.0)),
    "floats": Case("self.x += 0.1", ADD, xs=(0, 0.2)),
    "not": Case("self.x = not self.x", SET, xs=(0, 1, True, None)),
    "and": Case("self.x = self.x and self.y", "self.y = v"),
    "or": Case("self.x = self.x or v", "self.x = self.x or v", xs=(0, 1, None)),
    "None": Case("if self.x is None: self.x = v\nelse: self.x += v", "self.x = None", xs=(None, 0)),
    "None is added to": Case(ADD, "self.x = None", xs=(None, 0, 1)),
    "is": Case("if self.x is True: self.y = v", "self.x = 1", xs=(True, 1, False)),
    "in": Case("self.y = self.x in (0, 1)", SET, xs=(0, 1, True, 1.0)),
    "joined": Case("self.t += 'a'", "self.t += 'b'", "self.t = ''"),
    "compared": Case("if self.t == 'a': self.y = v", "self.t = 'a'", "self.t = 'b'"),
    "ordered": Case("if self.t < 'b': self.y = v", "self.t = 'a'", "self.t = 'b'"),
    "members": Case("self.e = C.B", "self.e = C.D", "self.e = C.A", COLOURS.format(kind="Enum")),
    "numbers with names": Case(
        "self.e = C.B", "self.y = self.e + v", "self.e = C.A", COLOURS.format(kind="IntEnum")
    ),
    # statements
    "early return": Case("if self.x > 0:\n    return\nself.x = v", ADD),
    "returned": Case("return self.x", SET),
    "chained": Case("if 0 <= self.x < v: self.y = 1\nelse: self.y = 0", SET),
    "conditional": Case("self.y = v if self.x > 0 else self.y", SET),
    "raised": Case("if self.x > 0: raise ValueError(self.x)\nself.x += 1", SET),
    "raised late": Case("self.x += 1\nif self.x > 1: raise ValueError('a')", SET),
    "asserted": Case("assert self.x <= 0, f'{self.x} {v}'", SET),
    "caught": Case("try:\n    self.x = 6 // v\nexcept ZeroDivisionError:\n    self.x = 5", SET),
    "swapped": Case("self.x, self.y = self.y, self.x", SET),
    "unpacked": Case("a, b = v, self.x\nself.y = a + b", SET),
    "assigned twice": Case("self.x = self.y = v", SET),
    "named in passing": Case("if (t := self.x) > 0: self.y = t", SET),
    "a function of its own": Case("f = lambda: self.x\nself.y = f()", SET),
    "unbound": Case("if v > 0: t = self.x\nself.y = t", SET),
    "parameter assigned": Case("v = v + self.x\nself.y = v", SET),
    "counted": Case("for i in range(3): self.x += v", "self.x = self.x * 2"),
    "counted by v": Case("for i in range(v): self.x += 1", "self.x = self.x * 2"),
    "counted by x": Case("for i in range(self.x): self.y += 1", SET, xs=(0, 1, 2)),
    "down to zero": Case("while self.x > 0: self.x -= 1", ADD),
    "up to v": Case("while self.x < v: self.x += 1\nself.y = self.x", ADD),
    "left": Case("for i in range(3):\n    if self.x == i: break\nelse:\n    self.y = 5", SET),
    "matched": Case("match self.x:\n    case 0: self.y = v\n    case _: self.y = 2", SET),
    # what is no plain field
    "property": Case(
        "self.y = self.z", SET, xs=(1, 2), given=(5, 6),
        members="@property\ndef z(self): return self.x * 2",
    ),
    "set by a property": Case(
        "self.z = v", "self.z = v + 1",
        members="@property\ndef z(self): return self.x\n"
        "@z.setter\ndef z(self, w): self.x = w * self.x",
    ),
    "of the class": Case("self.c += v", "self.c += v", members="c = 0"),
    "shadowed": Case("self.c = v", "self.y = self.c", members="c = 0"),
    "made later": Case("self.w = v", "self.u = v"),
    "made later and read": Case("self.w = v", "self.y = self.w"),
    "deleted": Case("del self.x", SET),
    "by name": Case("setattr(self, 'x', v)", "self.y = getattr(self, 'x')"),
    "by another name": Case("me = self\nme.x = v", "self.x = v + 1"),
    "called": Case("self.h(v)", "self.y = self.x", members="def h(self, w): self.x = w"),
    "constant outside": Case("self.x += K", ADD, before="K = 2"),
    "inside of an object": Case("self.o.z += v", "self.y = self.o.z", "self.o = O()", HOLDER),
    # containers
    "appended": Case("self.l.append(v)", "self.l.append(v)", "self.l = []"),
    "appended twice": Case("self.l.append(v); self.l.append(1)", "self.l.append(v)", "self.l = []"),
    "two names of a list": Case(
        "self.k.append(v)", "self.y = self.l[-1]", "self.l = [0]; self.k = self.l"
    ),
    "length": Case("self.l.append(v)", "self.y = len(self.l)", "self.l = []"),
    "items": Case("self.l[0] = v", "self.l[-1] = v", "self.l = [0]"),
    "keys": Case("self.d[v] = self.x", "self.d[v] = self.y", "self.d = {}"),
    "keys of two kinds": Case("self.d[1] = v", "self.d[True] = v", "self.d = {}"),
    "missing keys": Case("self.d[v] = 1", "self.y = self.d[v]", "self.d = {}"),
    "counted keys": Case("self.d[v] += 1", "self.d[v] += 2", "self.d = {0: 1, 1: 1}"),
    "keys that are asked for": Case("self.d[v] = 1", "self.y = v in self.d", "self.d = {0: 0}"),
    "order of keys": Case("self.d[v] = 1", "self.t = list(self.d)", "self.d = {}; self.t = 0"),
    "members added": Case("self.s.add(v)", "self.s.add(v)", "self.s = set()"),
    "members removed": Case("self.s.add(v)", "self.s.discard(v)", "self.s = {1}"),
    "members that have to be there": Case("self.s.add(v)", "self.s.remove(v)", "self.s = {1}"),
    "members asked for": Case("self.s.add(v)", "self.y = v in self.s", "self.s = {1}"),
    "1 and True in a set": Case("self.s.add(1)", "self.s.add(True)", "self.s = set()"),
    "two names of a set": Case(
        "self.s.add(v)", "self.t.discard(v)", "self.s = {1}; self.t = self.s"
    ),
    "another set": Case("self.s = self.t", "self.s.add(v)", "self.s = {1}; self.t = {1}"),
    "members of any kind": Case("self.s.add(v)", "self.s.add(v)", "self.s = set()",
                                given=(1, True, 1.0, None, "1")),
    # waiting and sending
    "pause": Case("self.x += v\nawait pause()\nself.y = self.x", SET),
    "kept over a pause": Case("t = self.x\nawait pause()\nself.x = t + v", ADD),
    "pauses": Case("for i in range(2):\n    self.x += v\n    await pause()", "self.x = self.x * 2"),
    "until": Case("await until(lambda: self.x > 0)\nself.x -= 1", "self.x += 1", xs=(-1, 0, 1)),
    "result": Case("f = self.o.get.send(v)\nself.y = await f", SET + "; self.y = 0", SENT, OTHER),
    "waited for": Case("f = self.o.get.send(v)\nawait f\nself.y = self.x", SET, SENT, OTHER),
    "sent": Case("self.o.put.send(self.x)", SET + "; self.o.put.send(7)", SENT, OTHER),
    "sent alike": Case("self.o.put.send(1)", "self.o.put.send(1)", SENT, OTHER),
    "sent by the second": Case(
        *["if self.x > 0:\n    self.x = 0\nelse:\n    self.o.put.send(v)\n    self.x = 1"] * 2,
        SENT, OTHER,
    ),
    "sent to itself": Case("self.n.send(v)", "self.x = self.x * 2 + v"),
    "kept future": Case(*["self.f = self.o.put.send(v)"] * 2, f"{SENT}; self.f = None", OTHER),
    "made": Case(*["O(v).put.send(self.x); self.x += 1"] * 2, "", OTHER),
    "references": Case("self.o = self.p\nself.y = v", "self.p = self.o",
                       "self.o = O(1); self.p = O(2)", OTHER),
    "same reference": Case("if self.o is self.p: self.y = v", "self.p = self.o",
                           "self.o = O(1); self.p = O(2)", OTHER),
}  # fmt: skip


def _frozen(value: Any) -> object:
    """Return a value with its kind: `1`, `True` and `1.0` are three values."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [_frozen(item) for item in value]
    if isinstance(value, dict | set):
        items = value.items() if isinstance(value, dict) else value
        return type(value).__name__, sorted(repr(_frozen(item)) for item in items)
    if isinstance(value, Actor):
        return "actor", _frozen(value.z)  # type: ignore[attr-defined]
    return "future" if isinstance(value, Future) else (type(value).__name__, repr(value))


def _ends(main: Any, state: tuple[Any, ...], algorithm: str, level: str) -> set[object]:
    """Return the final states and failures that an algorithm reaches."""
    test = Program(main, dependency=level)(*state)
    found: set[object] = set()

    @test.finally_
    def look(a: Any) -> None:
        found.add(repr([_frozen(getattr(a, name, "nothing")) for name in _FIELDS]))

    options: dict[str, Any] = {"constraints": "synthesised"} if "constrained" in algorithm else {}
    result = treadle.explore(test, algorithm, stop_on_failure=False, **options)
    assert result.complete
    assert algorithm != "optimal-constrained" or not result.blocked
    return found | {(failure.kind, failure.message) for failure in result.failures}


@pytest.mark.parametrize("name", CASES)
def test_every_order_ends_as_python_says(name: str) -> None:
    case = CASES[name]
    source, file = case.source(), f"<adversary {name}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, Any] = {"__name__": "adversaries", "Actor": Actor}
    names.update(pause=pause, until=until)
    exec(compile(source, file, "exec"), names)
    states = list(itertools.product(case.xs, (0, 1), case.given, case.given))
    for number, state in enumerate(random.Random(name).sample(states, _STATES)):
        expected = _ends(names["main"], state, "exhaustive", _LEVELS[number])
        assert any(isinstance(end, str) for end in expected), expected  # it got to its end
        for algorithm in ("constrained", "optimal-constrained"):
            assert _ends(names["main"], state, algorithm, _LEVELS[number]) == expected, state

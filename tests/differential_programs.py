"""Small programs of two threads over every method and operator of the built-in containers.

Each program does one statement in each of two threads on one shared object, and returns what they
got and what is left. Elements and keys are objects with `__eq__`, `__lt__` and `__hash__` in
Python; key functions and generators are Python, too. The same text is run by real threads
(`real_threads`) and explored.
"""

from __future__ import annotations

import ast
import random
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

HEAD = '''
import bisect, collections, contextlib, copy, dataclasses, enum, functools, heapq, itertools
import json, operator, pickle, pprint, threading
from collections import Counter, OrderedDict, defaultdict, deque


class K:
    """Compared, put in order and hashed in Python; some keys have the same hash."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return isinstance(other, K) and self.n == other.n

    def __lt__(self, other):
        return self.n < other.n

    def __hash__(self):
        return self.n % 2

    def __add__(self, other):
        return K(self.n + other.n)

    def __bool__(self):
        return self.n > 1

    def __repr__(self):
        return f"K{self.n}"

    def __reduce__(self):
        return K, (self.n,)


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: list


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def number(k):
    return k.n


def keys(*numbers):
    for n in numbers:
        yield K(n)


def pairs(*numbers):
    for n in numbers:
        yield K(n), n


def first(pair):
    return pair[0].n
'''

_ELEMENTS = """
K(2) in x; K(5) not in x; len(x); bool(x); not x; list(x); tuple(x); [e for e in x]; sorted(x)
sorted(x, key=number); max(x); min(x); max(x, key=number); min(x, key=number); any(x); all(x)
list(map(number, x)); list(filter(None, x)); list(zip(x, x)); list(enumerate(x)); repr(x); str(x)
f"{x}"; [*x]; {*x}; set(x); frozenset(x); dict.fromkeys(x); Counter(x); deque(x); next(iter(x))
functools.reduce(operator.add, x); sum(map(number, x)); sum(number(e) for e in x)
list(itertools.chain(x, x)); list(itertools.islice(x, 1)); list(itertools.accumulate(x))
list(itertools.takewhile(number, x)); list(itertools.dropwhile(number, x))
list(itertools.tee(x)[0])
list(itertools.product(x, [1])); list(itertools.filterfalse(number, x)); list(itertools.pairwise(x))
[len(list(g)) for _, g in itertools.groupby(x, number)]; list(itertools.zip_longest(x, [1]))
copy.copy(x); copy.deepcopy(x); pickle.loads(pickle.dumps(x)); pprint.pformat(x)
heapq.nlargest(1, x); heapq.nsmallest(1, x, key=number); list(heapq.merge(x, [K(2)]))
json.dumps(x, default=repr); operator.contains(x, K(2)); operator.length_hint(x); x.__len__()
x.copy(); x.clear(); x.__contains__(K(2)); x == [K(1), K(2)]; x != [K(1), K(2)]
"""
"""What can be done with every container."""

_SEQUENCES = """
x.append(K(5)); x.insert(0, K(5)); x.insert(1, K(5)); x.pop(); x.remove(K(2)); x.remove(K(1))
x.index(K(2)); x.count(K(2)); x.reverse(); x.extend(keys(5, 6)); x.extend([K(5), K(6)])
x.extend(e for e in [K(5), K(6)]); x[0]; x[-1]; x[0] = K(5); x[1] = K(5); del x[0]; del x[-1]
list(reversed(x)); x.__iadd__(keys(5, 6)); operator.indexOf(x, K(2)); operator.countOf(x, K(2))
a, *b = x; operator.setitem(x, 0, K(6)); operator.delitem(x, 0)
"""

KINDS: dict[str, tuple[str, str]] = {
    "list": (
        "[K(1), K(3), K(2)]",
        _ELEMENTS + _SEQUENCES + """
x.sort(); x.sort(key=number); x.sort(reverse=True); x.sort(key=number, reverse=True); x.pop(0)
x[:]; x[0:2]; x[:] = keys(5, 6); x[0:1] = [K(5), K(6)]; del x[0:2]; x + [K(0)]; x * 2; 2 * x
x < [K(1), K(4)]; x >= [K(1), K(4)]; operator.iadd(x, keys(5, 6)); operator.imul(x, 2)
heapq.heappush(x, K(0)); heapq.heappop(x); heapq.heapify(x); heapq.heapreplace(x, K(0))
heapq.heappushpop(x, K(4)); bisect.insort(x, K(2)); bisect.insort(x, K(2), key=number)
bisect.bisect_left(x, K(2)); bisect.bisect(x, 2, key=number); list.sort(x, key=number); list.pop(x)
a, b, c = x; Point(1, x) == Point(1, [K(1)]); dataclasses.asdict(Point(1, x))
dataclasses.replace(Point(1, x), x=2); x.__setitem__(0, K(7)); x.__getitem__(0)
Counter(e.n for e in x).most_common(); Colour.RED in x
""",
    ),
    "numbers": (
        "[1, 3, 2]",
        """
x.sort(); x.sort(key=lambda n: -n); len(x); 2 in x; x.index(2); x.count(2); x.remove(2)
x.append(4); x.pop(); x.pop(0); x.insert(0, 4); x.extend(n for n in (4, 5)); x[0]; x[0] = 4
sorted(x); sorted(x, key=lambda n: -n); max(x, key=lambda n: -n); max(x); sum(x); list(x)
heapq.heappush(x, 0); heapq.heappop(x); bisect.insort(x, 2); bisect.insort(x, 2, key=lambda n: n)
[n for n in x]; list(map(str, x)); x == [1, 3, 2]; x + [1]; x[:]; x.reverse(); x.clear()
K(1) in x; x.index(K(1)); json.dumps(x); copy.deepcopy(x); x[:] = (n for n in (4, 5))
heapq.nlargest(2, x, key=lambda n: -n); list(heapq.merge(x, [2])); ",".join(str(n) for n in x)
""",
    ),
    "words": (
        "{'a': 1, 'b': 2}",
        """
x['a']; x['c']; x['c'] = 3; del x['a']; x.get('c'); x.setdefault('c', 3); x.pop('a'); x.popitem()
len(x); list(x); list(x.items()); max(x, key=x.get); sorted(x, key=len); x.update(c=3)
x == {'a': 1}
x.update((k, 3) for k in 'cd'); [k for k in x]; [v for v in x.values()]; 'a' in x; x.clear()
x.copy()
K(1) in x; x.update({K(1): 1}); x[K(1)] = 1; x['a'] += 1; json.dumps(x); copy.deepcopy(x); {**x}
""",
    ),
    "letters": (
        "{'a', 'b'}",
        """
x.add('c'); x.discard('a'); x.remove('a'); 'a' in x; len(x); sorted(x); sorted(x, key=len)
x.clear()
len([k for k in x]); x.update(k for k in 'cd'); sorted(x | {'c'}); sorted(x & {'a'})
x == {'a', 'b'}
x.issubset(k for k in 'ab'); sorted(x.union(k for k in 'c')); max(x, key=ord); K(1) in x
""",
    ),
    "bytes": (
        "bytearray([1, 3, 2])",
        """
x.append(4); x.extend(n for n in (4, 5)); x.pop(); x.pop(0); x.insert(0, 4); x.reverse(); x.clear()
x[0]; x[0] = 4; bytes(x); len(x); 2 in x; x.find(2); x + b"a"; x * 2; [n for n in x]; x.copy()
sum(x)
x.remove(2); x.count(2); x == bytes([1, 3, 2]); x[:] = (n for n in (4, 5)); x.hex(); max(x, key=abs)
""",
    ),
    "dict": (
        "{K(1): 1, K(2): 2}",
        _ELEMENTS + """
x[K(2)]; x[K(3)]; x[K(3)] = 3; x[K(2)] = 5; del x[K(1)]; del x[K(3)]; x.get(K(2)); x.get(K(3), 0)
x.setdefault(K(3), 3); x.setdefault(K(2), 3); x.pop(K(1)); x.pop(K(3), None); x.popitem()
x.update(pairs(3, 4)); x.update({K(3): 3}); x.update([(K(3), 3)]); x.update(a=1); x | {K(3): 3}
operator.ior(x, {K(3): 3}); x == {K(1): 1, K(2): 2}; dict(x); {**x}; list(x.keys())
list(x.values())
list(x.items()); [k for k in x]; [v for k, v in x.items()]; max(x, key=x.get)
max(x.items(), key=first)
sorted(x.items(), key=first); x.keys() & {K(1), K(3)}; x.keys() | {K(3)}; x.items() ^ {(K(1), 1)}
K(1) in x.keys(); 1 in x.values(); (K(1), 1) in x.items(); list(reversed(x)); x[1]; x[1] = 1
x.get(1)
len(x.items()); operator.getitem(x, K(1)); {k: v for k, v in x.items()}; Counter(x) + Counter()
OrderedDict(x); dict(pairs(1, 2)) == x; x.__getitem__(K(2)); x[K(1)] += 1
""",
    ),
    "set": (
        "{K(1), K(2)}",
        _ELEMENTS + """
x.add(K(3)); x.add(K(2)); x.discard(K(1)); x.discard(K(3)); x.remove(K(1)); x.remove(K(3)); x.pop()
x.update(keys(3, 4)); x.update([K(3)]); x | {K(3)}; x & {K(1)}; x - {K(1)}; x ^ {K(1), K(3)}
operator.ior(x, {K(3)}); operator.iand(x, {K(1)}); operator.isub(x, {K(1)})
operator.ixor(x, {K(1)})
x.union(keys(3)); x.intersection(keys(1)); x.difference(keys(1)); x.symmetric_difference(keys(1))
x.issubset([K(1), K(2)]); x.issuperset(keys(1)); x.isdisjoint(keys(1)); x == {K(1), K(2)}
x < {K(1)}
x.intersection_update(keys(1)); x.difference_update(keys(1)); x.symmetric_difference_update(keys(1))
{K(1)} <= x; {K(1), K(3)} - x; 1 in x; x.add(1)
""",
    ),
    "deque": (
        "deque([K(1), K(3), K(2)])",
        _ELEMENTS + _SEQUENCES + """
x.appendleft(K(5)); x.popleft(); x.extendleft(keys(5, 6)); x.rotate(1); x.rotate(-1)
x + deque([K(0)]); x * 2; x < deque([K(1), K(4)]); operator.iadd(x, keys(5, 6)); x == deque([K(1)])
""",
    ),
    "Counter": (
        "Counter({K(1): 1, K(2): 2})",
        _ELEMENTS + """
x[K(2)]; x[K(3)]; x[K(3)] += 1; x[K(2)] += 1; del x[K(1)]; x.update(keys(1, 3)); x.update({K(3): 3})
x.subtract(keys(1, 3)); x.most_common(1); x.most_common(); list(x.elements()); x.total()
x + Counter({K(1): 1}); x - Counter({K(1): 1}); x & Counter({K(1): 1}); x | Counter({K(1): 1}); +x
operator.iadd(x, Counter({K(1): 1})); operator.isub(x, Counter({K(1): 1})); x == Counter({K(1): 1})
x <= Counter({K(1): 1}); x.pop(K(1)); x.popitem(); list(x.items())
""",
    ),
    "OrderedDict": (
        "OrderedDict(pairs(1, 2))",
        _ELEMENTS + """
x[K(2)]; x[K(3)] = 3; del x[K(1)]; x.move_to_end(K(1)); x.popitem(); x.popitem(last=False)
x.pop(K(1)); x.setdefault(K(3), 3); x.update(pairs(3)); list(x.items()); list(reversed(x))
x == OrderedDict(pairs(1, 2))
""",
    ),
    "defaultdict": (
        "defaultdict(threading.RLock)",
        """
x[K(1)] is x[K(1)]; len(x); x[1] is x[1]; list(x); K(1) in x; x.get(K(1)) is None
x.pop(K(1), 0) == 0; bool(x)
""",
    ),
    "made": (
        "defaultdict(lambda: [])",
        """
x[K(1)].append(1); x[1].append(2); len(x); list(x); K(1) in x; x.pop(1, 0); x.setdefault(1, [3])
x.get(1); sorted(map(len, x.values())); x.clear(); x[1] = []
""",
    ),
}  # fmt: skip
"""What is shared, and what is done with it."""

_BODY = """
def program():
    x = {setup}
    got = [None, None]

    def one():
        try:
            {one}
        except Exception as error:
            got[0] = type(error).__name__

    def two():
        try:
            {two}
        except Exception as error:
            got[1] = type(error).__name__

    run(one, two)
    return repr((got, x if not isinstance(x, defaultdict) else len(x)))


def in_threads(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test():
    see(program())


run = in_threads
see = id
"""


@dataclass(frozen=True)
class Program:
    """Two statements on one shared object."""

    kind: str
    one: str
    two: str

    @property
    def source(self) -> str:
        """The text of a module with a function `program`."""
        setup = KINDS[self.kind][0]
        return HEAD + _BODY.format(
            setup=setup, one=_statement(self.one, 0), two=_statement(self.two, 1)
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.one} || {self.two}"

    def module(self) -> dict[str, Any]:
        """Return the namespace of the program, made anew; `pickle` finds its classes there."""
        module = sys.modules["differential_program"] = types.ModuleType("differential_program")
        exec(compile(self.source, "<differential>", "exec"), vars(module))
        return vars(module)


def _statement(text: str, number: int) -> str:
    """Keep what an expression returns; of a method that returns its object, that it did."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return text
    return f"value = {text}; got[{number}] = None if value is x else value"


def statements(kind: str) -> list[str]:
    """Return what is done with a kind of objects."""
    lines = KINDS[kind][1].split("\n")
    return [one.strip() for line in lines for one in line.split(";") if one.strip()]


def drawn(count: int, seed: int) -> Iterator[Program]:
    """Yield programs, the same for the same seed."""
    chosen = random.Random(seed)
    for _ in range(count):
        kind = chosen.choice(list(KINDS))
        one, two = chosen.choice(statements(kind)), chosen.choice(statements(kind))
        yield Program(kind, one, two)

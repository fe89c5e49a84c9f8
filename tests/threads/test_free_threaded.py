"""The page "Thread Safety Guarantees" of CPython's library reference, row by row.

It says what is atomic in builds without a global lock. What it promises holds at `access` and at
`free-threaded`; what it does not promise is shown at `free-threaded`, and at `access` too unless it
takes a look at a list that calls no code under test.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from together import together

import treadle
from differential import reached
from differential_programs import Program

ATOMIC = [
    # Reading a single element from a list is atomic
    ("numbers", "x[0]", "x.clear()", 2),
    # return new objects and appear atomic: lst1 + lst2, x * lst, lst.copy()
    ("numbers", "x + [1]", "x.clear()", 2),
    ("numbers", "x * 2", "x.clear()", 2),
    ("list", "x.copy()", "x.clear()", 2),
    # only operate on a single element with no shifting: append, pop(); clear()
    ("numbers", "x.append(4)", "list(x)", 2),
    ("numbers", "x.pop()", "list(x)", 2),
    ("numbers", "x.clear()", "list(x)", 2),
    # writing a single item is safe
    ("numbers", "x.__setitem__(0, 7)", "list(x)", 2),
    ("numbers", "x.__delitem__(0)", "list(x)", 2),
    # extend with a list, a tuple, a set, a dict is safe from concurrent modifications
    ("list", "x.extend([K(5), K(6)])", "list(x)", 2),
    ("numbers", "x.extend((5, 6))", "list(x)", 2),
    ("numbers", "x.extend({5: 0, 6: 0})", "list(x)", 2),
    ("numbers", "x.extend({5: 0, 6: 0}.values())", "list(x)", 2),
    ("numbers", "x.extend(frozenset({5}))", "list(x)", 2),
    ("numbers", "[].__iadd__(x)", "x.clear()", 2),
    ("numbers", "x.__iadd__([5, 6])", "list(x)", 2),
    # a slice is assigned as a whole if it is a list's
    ("numbers", "x.__setitem__(slice(0, 1), [5, 6])", "list(x)", 2),
    # a dictionary is made of a dictionary or a tuple, and `fromkeys` of a dictionary, as a whole
    ("words", "dict(x)", "x.clear()", 2),
    ("words", "dict.fromkeys(x)", "x.clear()", 2),
    ("letters", "dict.fromkeys(x)", "x.clear()", 2),
    # d[key], d.get(key), key in d, len(d) are lock-free and atomic
    ("words", "x['a']", "x.clear()", 2),
    ("words", "x.get('a')", "x.clear()", 2),
    ("words", "'a' in x", "x.clear()", 2),
    ("words", "len(x)", "x.clear()", 2),
    # writing or removing a single item
    ("words", "x['c'] = 3", "list(x.items())", 2),
    ("words", "x.pop('a')", "list(x.items())", 2),
    ("words", "x.popitem()", "list(x.items())", 2),
    ("words", "x.setdefault('c', 3)", "list(x.items())", 2),
    ("words", "x.__delitem__('a')", "list(x.items())", 2),
    ("words", "x.clear()", "list(x.items())", 2),
    # hold the lock for the duration: copy, |, update(dict), clear
    ("words", "x.copy()", "x.clear()", 2),
    ("words", "x | {'c': 3}", "x.clear()", 2),
    ("words", "x.update({'c': 3, 'd': 4})", "list(x.items())", 2),
    ("words", "x.__ior__({'c': 3, 'd': 4})", "list(x.items())", 2),
    ("words", "{}.__ior__(x)", "x.clear()", 2),
    ("words", "len(x.keys())", "x.clear()", 2),
    ("words", "len(x.values())", "x.clear()", 2),
    ("words", "len(x.items())", "x.clear()", 2),
    ("words", "x == {'a': 1, 'b': 2}", "x.clear()", 2),
    # sets: len and membership are free of locks
    ("letters", "len(x)", "x.clear()", 2),
    ("letters", "'a' in x", "x.clear()", 2),
    # sets: add, remove, discard, pop, copy, clear, operators with sets
    ("letters", "x.add('c')", "sorted(x)", 2),
    ("letters", "x.remove('a')", "sorted(x)", 2),
    ("letters", "x.clear()", "sorted(x)", 2),
    ("letters", "x.discard('a')", "sorted(x)", 2),
    ("letters", "x.copy()", "x.clear()", 2),
    ("letters", "x | {'c'}", "x.clear()", 2),
    ("letters", "x & {'a'}", "x.clear()", 2),
    ("letters", "x - {'a'}", "x.clear()", 2),
    ("letters", "x ^ {'a'}", "x.clear()", 2),
    ("letters", "x.__ior__({'c', 'd'})", "sorted(x)", 2),
    ("letters", "x.__iand__({'c'})", "sorted(x)", 2),
    ("letters", "x.__isub__({'a', 'b'})", "sorted(x)", 2),
    ("letters", "x.__ixor__({'a', 'c'})", "sorted(x)", 2),
    ("letters", "x.union({'c'}, {'d': 0})", "x.clear()", 2),
    ("letters", "x.intersection({'a'})", "x.clear()", 2),
    ("letters", "x.difference({'a'})", "x.clear()", 2),
    ("letters", "x.symmetric_difference({'a'})", "x.clear()", 2),
    ("letters", "x.intersection_update({'c'})", "sorted(x)", 2),
    ("letters", "x.difference_update({'a', 'b'})", "sorted(x)", 2),
    ("letters", "x.symmetric_difference_update({'a', 'c'})", "sorted(x)", 2),
    ("letters", "x.issubset({'a', 'b'})", "x.add('c')", 2),
    ("letters", "x.issuperset({'a'})", "x.clear()", 2),
    ("letters", "x.update({'c', 'd'})", "sorted(x)", 2),
    ("letters", "x.isdisjoint({'a'})", "x.clear()", 2),
    # bytearrays: single bytes, methods, copy, repetition, membership
    ("bytes", "x[0]", "x.clear()", 2),
    ("bytes", "len(x)", "x.clear()", 2),
    ("bytes", "x[0:2]", "x.clear()", 2),
    ("bytes", "x.__setitem__(0, 7)", "bytes(x)", 2),
    ("bytes", "x.__setitem__(slice(0, 1), b'ab')", "bytes(x)", 2),
    ("bytes", "x.extend(b'ab')", "bytes(x)", 2),
    ("bytes", "x.pop()", "bytes(x)", 2),
    ("bytes", "x.remove(2)", "bytes(x)", 2),
    ("bytes", "x.clear()", "bytes(x)", 2),
    ("bytes", "x.replace(b'a', b'b')", "x.clear()", 2),
    ("bytes", "x.split()", "x.clear()", 2),
    ("bytes", "x.decode('latin-1')", "x.clear()", 2),
    ("bytes", "x.append(4)", "bytes(x)", 2),
    ("bytes", "x.insert(0, 4)", "bytes(x)", 2),
    ("bytes", "x.pop(0)", "bytes(x)", 2),
    ("bytes", "x.reverse()", "bytes(x)", 2),
    ("bytes", "x.copy()", "x.clear()", 2),
    ("bytes", "x * 2", "x.clear()", 2),
    ("bytes", "2 in x", "x.clear()", 2),
    ("bytes", "x.find(2)", "x.clear()", 2),
]
"""What is shared, what is atomic, what runs beside it, and how many outcomes there are."""

LOOKS = [
    # item in lst, lst.index(item), lst.count(item) use atomic reads of each item
    ("numbers", "2 in x", "x.pop(0)", {"True", "False"}),
    ("numbers", "5 not in x", "x.clear()", {"True"}),
    ("numbers", "x.index(2)", "x.pop(0)", {"1", "2", "'ValueError'"}),
    ("numbers", "x.index(2, -2)", "x.pop(0)", {"1", "2", "'ValueError'"}),
    ("numbers", "x.count(2)", "x.pop(0)", {"0", "1"}),
    # the list appears empty for the duration of the sort
    ("numbers", "len(x)", "x.sort()", {"0", "3"}),
    ("numbers", "x[0]", "x.sort(reverse=True)", {"1", "3", "'IndexError'"}),
    # iteration is never atomic
    ("numbers", "sum(x)", "x.clear()", {"0", "1", "4", "6"}),
    ("numbers", "max(x)", "x.clear()", {"'ValueError'", "1", "3"}),
    ("numbers", "any(x)", "x.clear()", {"True", "False"}),
]
"""What is shared, what looks at it, what changes it, and all that the first gets."""

NEVER = [
    # with code under test the lock is released: also what `access` and `gil` show
    ("list", "x.remove(K(2))", "x.pop(0)", {"None", "'ValueError'"}),
    ("list", "x.sort(key=number)", "len(x)", {"None"}),
    ("list", "x.extend(keys(5, 6))", "len(x)", {"None"}),
    ("dict", "K(3) in x", "x[K(3)] = 3", {"True", "False"}),
    # read-modify-write, check-then-act, iteration
    ("numbers", "[n for n in x]", "x.clear()", {"[]", "[1]", "[1, 3]", "[1, 3, 2]"}),
    ("words", "[n for n in x]", "x['c'] = 3", {"['a', 'b']", "['a', 'b', 'c']", "'RuntimeError'"}),
    ("letters", "len([n for n in x])", "x.add('c')", {"2", "3", "'RuntimeError'"}),
]
"""What is not atomic at any granularity."""

CHECKED = [
    # check-then-act: with the global lock nobody comes between two instructions that call nothing
    ("numbers", "x.pop() if x else 0", {"2", "0"}, "'IndexError'"),
    ("words", "x.pop('a') if 'a' in x else 0", {"1", "0"}, "'KeyError'"),
    ("letters", "x.remove('a') if 'a' in x else 0", {"None", "0"}, "'KeyError'"),
    ("bytes", "x.remove(2) if 2 in x else 0", {"None", "0"}, "'ValueError'"),
]
"""What is shared, what looks and acts beside `x.clear()`, what it gets, and what besides."""


def got(outcomes: set[str]) -> set[str]:
    """Return what the first thread got, whatever the second did."""
    found = set()
    for outcome in outcomes:
        values, _ = eval(outcome, {"K1": 1, "K2": 2, "K3": 3, "K5": 5, "K6": 6})
        found.add(repr(values[0]))
    return found


@pytest.mark.parametrize("granularity", ["gil", "access", "free-threaded"])
@pytest.mark.parametrize(("kind", "one", "two", "count"), ATOMIC)
def test_what_is_atomic(kind: str, one: str, two: str, count: int, granularity: str) -> None:
    found, result = reached(Program(kind, one, two), "optimal", granularity, 100)
    assert result.complete
    assert (len(found), result.executions) == (count, 2)


@pytest.mark.parametrize(("kind", "one", "two", "values"), LOOKS)
def test_what_reads_item_by_item(kind: str, one: str, two: str, values: set[str]) -> None:
    program = Program(kind, one, two)
    everything, result = reached(program, "exhaustive", "free-threaded", 2000)
    assert result.complete
    assert got(everything) == values
    for algorithm in ("sleep", "source", "optimal"):
        assert reached(program, algorithm, "free-threaded", 2000)[0] == everything
    atomic, result = reached(program, "optimal", "access", 100)
    assert result.executions == 2
    assert atomic <= everything


@pytest.mark.parametrize("granularity", ["gil", "access", "free-threaded"])
@pytest.mark.parametrize(("kind", "one", "two", "values"), NEVER)
def test_what_is_never_atomic(
    kind: str, one: str, two: str, values: set[str], granularity: str
) -> None:
    found, result = reached(Program(kind, one, two), "optimal", granularity, 1000)
    assert result.complete
    assert got(found) == values


@pytest.mark.parametrize("granularity", ["gil", "access", "free-threaded"])
@pytest.mark.parametrize(("kind", "one", "values", "error"), CHECKED)
def test_what_is_checked_before(
    kind: str, one: str, values: set[str], error: str, granularity: str
) -> None:
    found, result = reached(Program(kind, one, "x.clear()"), "optimal", granularity, 1000)
    assert result.complete
    assert got(found) == (values if granularity == "gil" else {*values, error})


def look_for_last() -> None:
    items = [1, 2]
    threads: list[threading.Thread] = []
    run: list[Callable[[], object]] = [lambda: items.pop(0), lambda: check(items)]
    for function in run:
        threads.append(threading.Thread(target=function))
        threads[-1].start()
    for thread in threads:
        thread.join()


def check(items: list[int]) -> None:
    assert 2 in items


def test_a_finding_says_what_it_takes_and_is_repeated() -> None:
    assert treadle.explore(look_for_last).ok
    [failure] = treadle.explore(look_for_last, granularity="free-threaded").failures
    assert failure.granularity == "free-threaded"
    assert "reads item by item" in str(failure)
    replayed = treadle.replay(look_for_last, failure.token)
    assert replayed is not None
    assert replayed.kind == "assertion"


def test_what_code_says_is_the_same() -> None:
    def test() -> None:
        items = [3, 1, 2, 1]
        threading.Thread(target=len, args=(items,)).start()
        assert (1 in items, 5 in items, 5 not in items) == (True, False, True)
        assert (items.index(1), items.index(1, 2), items.count(1)) == (1, 3, 2)
        assert items.index(1, -1, 9) == 3
        with pytest.raises(ValueError, match="5 is not in list"):
            items.index(5)
        with pytest.raises(ValueError, match="1 is not in list"):
            items.index(1, 0, -3)
        assert (sum(items), max(items), any(items), sorted(items)) == (7, 3, True, [1, 1, 2, 3])
        items.sort(key=lambda n: -n)
        assert items == [3, 2, 1, 1]
        items.sort(reverse=False)
        assert items == [1, 1, 2, 3]

    assert treadle.explore(test, granularity="free-threaded").ok


def test_the_verdict_says_what_the_granularity_leaves_out() -> None:
    def test() -> None:
        items = [1]
        together(lambda: items.insert(0, 0), lambda: 1 in items)

    (note,) = treadle.explore(test, granularity="free-threaded").notes
    assert note.startswith('with granularity="free-threaded", `insert`, `pop(i)`')
    assert treadle.explore(test).notes == []

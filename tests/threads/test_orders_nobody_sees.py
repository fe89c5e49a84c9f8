"""Orders that nobody can tell apart are one: exact counts, and no outcome of all orders is lost."""

from __future__ import annotations

import functools
import importlib
import random
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from together import together

import treadle

Body = Callable[[], Any]


def filling(count: int, read: Callable[[list[Any]], Any], make: Callable[[int], Any] = int) -> Body:
    """Return a test in which threads append to a list, and then somebody looks."""

    def test() -> None:
        found: list[Any] = []
        together(*(functools.partial(lambda one: found.append(make(one)), k) for k in range(count)))
        read(found)

    return test


def counting(read: Callable[[Any], Any], make: Callable[[], Any] = dict, rounds: int = 3) -> Body:
    """Return a test in which each of three threads counts under a key of its own."""

    def test() -> None:
        found = make()

        def work(me: int) -> None:
            for _ in range(rounds):
                found[me] = found.get(me, 0) + 1

        together(*(functools.partial(work, me) for me in range(3)))
        read(found)

    return test


def adding(read: Callable[[set[int]], Any]) -> Body:
    """Return a test in which each of three threads adds to a set."""

    def test() -> None:
        found: set[int] = set()
        together(*(functools.partial(found.add, me) for me in range(3)))
        read(found)

    return test


def taking(units: int, threads: int, kind: Any = threading.Semaphore) -> Body:
    def test() -> None:
        semaphore = kind(units)

        def work() -> None:
            with semaphore:
                pass

        together(*[work] * threads)

    return test


def asking(keys: list[Any], look: bool = False, **options: Any) -> Body:
    def test() -> None:
        @functools.lru_cache(**options)
        def double(key: Any) -> Any:
            return key * 2

        together(*(functools.partial(lambda k: double(k), key) for key in keys))
        if look:
            double.cache_info()

    return test


COUNTS: dict[str, tuple[Body, int]] = {
    "length of a list": (filling(4, lambda x: len(x)), 1),
    "sorted list": (filling(4, lambda x: sorted(x)), 1),
    "set of a list": (filling(4, lambda x: set(x)), 1),
    "frozen set of a list": (filling(4, lambda x: frozenset(x)), 1),
    "set of strings": (filling(3, lambda x: set(x), str), 6),
    "set whose order may depend on that of a list": (filling(3, lambda x: set(x), (8).__mul__), 6),
    "set of numbers that round": (filling(3, lambda x: set(x), float), 6),
    "sum of a list": (filling(4, lambda x: sum(x)), 1),
    "largest of a list": (filling(4, lambda x: max(x)), 1),
    "sorted strings": (filling(3, lambda x: sorted(x), str), 1),
    "sum of numbers that round": (filling(3, lambda x: sum(x), float), 6),
    "sorted truths and numbers": (
        filling(3, lambda x: sorted(x), lambda one: one if one else True), 6,
    ),
    "first of a list": (filling(3, lambda x: x[0]), 6),
    "last of a list": (filling(3, lambda x: x[-1]), 6),
    "popped from a list": (filling(3, lambda x: x.pop()), 6),
    "list in words": (filling(3, lambda x: str(x)), 6),
    "equal lists": (filling(3, lambda x: x == [0, 1, 2]), 6),
    "list gone through": (filling(3, lambda x: [*iter(x)]), 6),
    "sum of values": (counting(lambda d: sum(d.values())), 1),
    "sorted keys": (counting(lambda d: sorted(d)), 1),
    "sorted keys of a view": (counting(lambda d: sorted(d.keys())), 1),
    "size of a dictionary": (counting(lambda d: len(d)), 1),
    "sum of a counter": (counting(lambda d: sum(d.values()), Counter), 1),
    "sum of defaults": (counting(lambda d: sum(d.values()), lambda: defaultdict(int)), 1),
    "equal dictionaries": (counting(lambda d: d == {0: 3, 1: 3, 2: 3}), 1),
    "a constant that equals a dictionary": (counting(lambda d: d != {0: 3} and d == {}), 1),
    "a dictionary that equals itself": (counting(lambda d: d == d), 1),
    "equal dictionaries of defaults": (counting(lambda d: d == {}, lambda: defaultdict(int)), 1),
    "equal sets": (adding(lambda s: s == {0, 1, 2}), 1),
    "a set and a frozen one": (adding(lambda s: s != frozenset([0])), 1),
    "a set in words": (adding(lambda s: str(s)), 6),
    "equal dictionaries of lists": (counting(lambda d: {**d, 4: []} == d, rounds=1), 6),
    "an ordered dictionary": (counting(lambda d: d == OrderedDict(), OrderedDict, rounds=1), 6),
    "dictionary gone through": (counting(lambda d: list(d), rounds=1), 6),
    "item taken from a dictionary": (counting(lambda d: d.popitem(), rounds=1), 6),
    "semaphore for all": (taking(4, 4), 1),
    "bounded semaphore for all": (taking(4, 4, threading.BoundedSemaphore), 1),
    "semaphore for one": (taking(1, 3), 6),
    "cache of four keys": (asking([1, 2, 3, 4], maxsize=None), 1),
    "cache with room": (asking([1, 2, 3, 4]), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_the_number_of_orders_that_somebody_can_tell_apart(name: str) -> None:
    test, executions = COUNTS[name]
    result = treadle.explore(test)
    assert (result.executions, result.failures) == (executions, [])


def test_a_semaphore_that_may_run_out() -> None:
    """Nobody waits in the natural execution; in others the third thread does."""
    assert treadle.explore(taking(2, 3)).executions > 6


def test_two_units_each_of_two_are_a_deadlock() -> None:
    def test() -> None:
        semaphore = threading.Semaphore(2)

        def work() -> None:
            semaphore.acquire()
            semaphore.acquire()
            semaphore.release(2)

        together(work, work)

    assert [failure.kind for failure in treadle.explore(test).failures] == ["deadlock"]


def test_a_unit_that_another_gives_back() -> None:
    """The bound of the semaphore is kept in one order only."""

    def test() -> None:
        semaphore = threading.BoundedSemaphore(2)

        def take() -> None:
            semaphore.acquire()

        together(take, semaphore.release)

    assert [failure.kind for failure in treadle.explore(test).failures] == ["exception"]


def test_a_full_cache_forgets_by_order() -> None:
    outcomes: set[Any] = set()

    def test() -> None:
        calls: list[int] = []

        @functools.lru_cache(maxsize=2)
        def double(key: int) -> int:
            calls.append(key)
            return key * 2

        together(lambda: double(1), lambda: double(2), lambda: double(3))
        double(1)
        outcomes.add(len(calls))

    assert treadle.explore(test).ok
    assert outcomes == {3, 4}


def test_who_looks_at_a_whole_cache_sees_an_order() -> None:
    seen: set[int] = set()

    def test() -> None:
        @functools.cache
        def double(key: int) -> int:
            return key * 2

        together(
            lambda: double(1), lambda: double(2), lambda: seen.add(double.cache_info().currsize)
        )

    assert treadle.explore(test).ok
    assert seen == {0, 1, 2}


OPERATIONS = [
    "items.append({n})", "seen.append(len(items))", "seen.append(sum(items))",
    "seen.append(sorted(items))", "seen.append(items[-1] if items else None)",
    "counts[{n}] = counts.get({n}, 0) + 1", "counts.pop({n}, None)",
    "seen.append(sum(counts.values()))", "seen.append(len(counts))", "seen.append(list(counts))",
    "seen.append(sorted(counts))", "semaphore.acquire()", "semaphore.release()",
    "seen.append(semaphore.acquire(blocking=False))", "seen.append(cached({n}))",
    "seen.append(cached.cache_info().currsize)", "items.append({n} / 2)",
    "seen.append(counts == {{1: 1, 2: 1}})", "seen.append({{{n}: 1}} != counts)", "marks.add({n})",
    "marks.discard({n})", "seen.append(marks == {{1, 2}})", "seen.append(marks != {{{n}}})",
    "seen.append(list(marks))",
]  # fmt: skip


def random_program(seed: int, folder: Path) -> Any:
    """Return a module with a program of two or three threads, which tells what each saw, and what
    is left; each has a list of its own for what it sees.
    """
    drawn = random.Random(seed)
    threads = []
    for number in range(drawn.choice([2, 2, 3])):
        lines = [drawn.choice(OPERATIONS).format(n=drawn.choice([1, 2])) for _ in range(2)]
        body = "".join(f"\n        {line}" for line in lines)
        threads.append(f"    def work{number}(seen=views[{number}]):{body}\n")
    bodies = ", ".join(f"work{number}" for number in range(len(threads)))
    name = f"random_program_{seed}"
    (folder / f"{name}.py").write_text(
        "import functools, threading\n"
        "from together import together\n"
        "def test():\n"
        "    items, counts, marks, views = [], {}, set(), [[], [], []]\n"
        f"    semaphore = threading.Semaphore({drawn.choice([1, 2, 3])})\n"
        f"    cached = functools.lru_cache(maxsize={drawn.choice([None, 2, 8])})(lambda n: n * 2)\n"
        f"{''.join(threads)}"
        f"    together({bodies})\n"
        f"    left = {drawn.choice(['sorted(map(str, items))', 'len(items)', 'items'])}\n"
        "    see(repr((views, left)))\n"
    )
    return importlib.import_module(name)


def outcomes_of(module: Any, algorithm: str) -> tuple[set[str], set[str]] | None:
    found: set[str] = set()
    module.see = found.add
    result = treadle.explore(
        module.test, algorithm, stop_on_failure=False, max_executions=1500, restore=False
    )
    if not result.complete:
        return None
    return found, {failure.kind for failure in result.failures}


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_outcome_is_lost(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    compared = 0
    for seed in range(first, first + 20):
        module = random_program(seed, tmp_path)
        everything = outcomes_of(module, "exhaustive")
        if everything is not None:
            compared += 1
            for algorithm in ("optimal", "source"):
                assert outcomes_of(module, algorithm) == everything, seed
    assert compared > 10


def fill(found: Any) -> None:
    if isinstance(found, set):
        found.add(1)
    else:
        found[1] = 1


def change(found: Any) -> None:
    if isinstance(found, set):
        found.discard(0)
    else:
        found[0] = 1


@pytest.mark.parametrize("make", [lambda: {0: 0}, lambda: {0}, lambda: defaultdict(int, {0: 0})])
@pytest.mark.parametrize("act", [fill, change])
@pytest.mark.parametrize("turned", [False, True])
def test_who_compares_finds_what_others_have_done_or_not(
    make: Body, act: Callable[[Any], None], turned: bool
) -> None:
    seen = set()

    def test() -> None:
        found, before = make(), make()
        together(
            lambda: act(found),
            lambda: seen.add((before == found, before != found) if turned else found == before),
        )

    assert treadle.explore(test).ok
    parts = {one for each in seen for one in (each if isinstance(each, tuple) else [each])}
    assert parts == {False, True}
    assert len(seen) == (3 if turned else 2)

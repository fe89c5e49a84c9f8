"""C code that calls code under test: others run meanwhile, and what it goes on with is a step.

The programs are run by real threads as well, with a switch forced at every place.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

import real_threads
import treadle
from algorithms import covering
from differential import reached
from differential_programs import Program

LEFT = "[K3, K2]"
CASES = [
    ("numbers", "x.sort(key=lambda n: -n)", "len(x)",
     {f"([None, {n}], [3, 2, 1])" for n in (0, 3)}, 3),
    ("list", "x.sort()", "x.append(K(5))",
     {"([None, None], [K1, K2, K3, K5])", "(['ValueError', None], [K1, K2, K3])"}, 3),
    ("list", "K(2) in x", "x.pop(0)", {f"([{got}, K1], {LEFT})" for got in (True, False)}, 5),
    ("list", "x.index(K(2))", "x.pop(0)",
     {f"([{got}, K1], {LEFT})" for got in (1, 2, "'ValueError'")}, 5),
    ("list", "x.count(K(2))", "x.pop(0)", {f"([{got}, K1], {LEFT})" for got in (0, 1)}, 5),
    ("list", "x.remove(K(2))", "x.pop(0)",
     {"([None, K1], [K3])", f"([None, K1], {LEFT})", f"(['ValueError', K1], {LEFT})"}, 5),
    ("list", "repr(x)", "x.clear()",
     {f"(['[{got}]', None], [])" for got in ("", "K1", "K1, K3", "K1, K3, K2")}, 5),
    ("list", "sorted(x, key=number)", "x.clear()",
     {f"([{got}, None], [])" for got in ("[]", "[K1, K2, K3]")}, 2),
    ("list", "pickle.loads(pickle.dumps(x))", "x.pop(0)", None, None),
    ("list", "heapq.heappush(x, K(0))", "len(x)",
     {f"([None, {n}], [K0, K1, K2, K3])" for n in (3, 4)}, 4),
    ("list", "heapq.heappop(x)", "x.append(K(5))",
     {"([K1, None], [K2, K3, K5])", "(['RuntimeError', None], [K3, K2, K5])"}, 3),
    ("numbers", "bisect.insort(x, 2, key=lambda n: n)", "x.insert(0, 4)",
     {f"([None, None], [{left}])" for left in ("2, 4, 1, 3, 2", "4, 1, 2, 3, 2", "4, 2, 1, 3, 2")},
     5),
    ("numbers", "x.extend(n for n in (4, 5))", "len(x)",
     {f"([None, {n}], [1, 3, 2, 4, 5])" for n in (3, 4, 5)}, 3),
    ("dict", "max(x, key=number)", "x[K(3)] = 3",
     {f"([{got}, None], {{K1: 1, K2: 2, K3: 3}})" for got in ("K2", "K3", "'RuntimeError'")}, 10),
    ("dict", "x.update(pairs(3, 4))", "len(x)",
     {f"([None, {n}], {{K1: 1, K2: 2, K3: 3, K4: 4}})" for n in (2, 3, 4)}, 7),
    ("dict", "x.setdefault(K(3), 3)", "x.setdefault(K(3), 4)",
     {f"([{n}, {n}], {{K1: 1, K2: 2, K3: {n}}})" for n in (3, 4)}, 6),
    ("dict", "x[K(3)] = 3", "x.pop(K(1))", {"([None, 1], {K2: 2, K3: 3})"}, 10),
    ("set", "x.add(K(3))", "x.discard(K(1))", {"([None, None], {K2, K3})"}, 6),
    ("OrderedDict", "[k for k in x]", "x.popitem()", None, None),
    ("deque", "x.remove(K(2))", "x.append(K(5))",
     {"([None, None], deque([K1, K3, K5]))", "(['IndexError', None], deque([K1, K3, K2, K5]))"}, 5),
]  # fmt: skip
"""What is shared, what two threads do with it, all that this leads to, and how many classes.

None stands for what real threads show, which is not the same on every Python.
"""


@pytest.mark.parametrize(("kind", "one", "two", "outcomes", "executions"), CASES)
def test_every_outcome_is_reached_and_no_other(
    kind: str, one: str, two: str, outcomes: set[str] | None, executions: int | None
) -> None:
    program = Program(kind, one, two)
    shown = set(real_threads.outcomes(program, is_gil=True))
    assert shown == outcomes or (outcomes is None and len(shown) > 2)
    for granularity in ("gil", "access"):
        found, result = reached(program, "optimal", granularity, 1000)
        assert found == shown
        assert result.complete
        assert result.executions == executions or executions is None


ALL_AGREE = [case[:3] for case in CASES if case[1] in ("x.sort()", "K(2) in x", "x.remove(K(2))")]


@pytest.mark.parametrize("algorithm", [name for name in covering() if name != "optimal"])
@pytest.mark.parametrize(("kind", "one", "two"), ALL_AGREE)
def test_all_algorithms_agree_with_a_global_lock(
    kind: str, one: str, two: str, algorithm: str
) -> None:
    program = Program(kind, one, two)
    found, result = reached(program, algorithm, "gil", 2000)
    assert result.complete
    assert found == reached(program, "optimal", "gil", 2000)[0]


def test_sorting_an_ordered_dictionary_takes_its_keys_one_by_one() -> None:
    program = Program("OrderedDict", "sorted(x, key=number)", "x.clear()")
    shown = set(real_threads.outcomes(program, is_gil=True))
    assert any("KeyError" in one for one in shown)
    for granularity in ("gil", "access"):
        assert reached(program, "optimal", granularity, 1000)[0] >= shown


def together(*functions: Callable[[], object]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("granularity", ["gil", "access"])
@pytest.mark.parametrize("factory", [threading.RLock, threading.Event, lambda: [0]])
def test_a_factory_in_python_makes_two_objects_for_one_key(factory: Any, granularity: str) -> None:
    def test() -> None:
        found: Any = defaultdict(factory)
        got = [None, None]

        def look(me: int) -> None:
            got[me] = found[1]

        together(lambda: look(0), lambda: look(1))
        assert got[0] is got[1]

    assert treadle.explore(test, granularity=granularity).failures


@pytest.mark.parametrize("factory", [list, dict, threading.Lock])
def test_a_factory_in_c_makes_one_with_a_global_lock(factory: Any) -> None:
    def test() -> None:
        found: Any = defaultdict(factory)
        got = [None, None]

        def look(me: int) -> None:
            got[me] = found[1]

        together(lambda: look(0), lambda: look(1))
        assert got[0] is got[1]

    assert treadle.explore(test, granularity="gil").ok


class Odd:
    """Raises when it is compared with itself."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __lt__(self, other: Odd) -> bool:
        if self.number == other.number:
            raise ArithmeticError
        return self.number < other.number


def test_a_sort_that_fails_puts_the_items_back() -> None:
    def test() -> None:
        items = [Odd(2), Odd(1), Odd(1)]
        seen = []

        def sort() -> None:
            with pytest.raises(ArithmeticError):
                items.sort()

        together(sort, lambda: seen.append(len(items)))
        assert len(items) == 3
        assert seen == [3]

    result = treadle.explore(test, stop_on_failure=False)
    assert result.complete
    assert {failure.message[:33] for failure in result.failures} == {
        "AssertionError: assert [0] == [3]"
    }


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("key", [None, lambda pair: pair[0].number])
def test_sorting_is_stable(key: Any, reverse: bool) -> None:
    def test() -> None:
        pairs = [(Odd(number), place) for place, number in enumerate((3, 1, 3, 2, 1))]
        numbers = [(pair[0].number, pair[1]) for pair in pairs]
        if key is None:
            pairs = [(Odd(number * 10 + place), place) for number, place in numbers]
            numbers = [(number * 10 + place, place) for number, place in numbers]
        together(lambda: pairs.sort(key=key or first, reverse=reverse))
        assert [(pair[0].number, pair[1]) for pair in pairs] == sorted(
            numbers, key=lambda pair: pair[0], reverse=reverse
        )

    assert treadle.explore(test).ok


def first(pair: Any) -> Any:
    return pair[0]


def test_operators_as_functions_write() -> None:
    program = Program("list", "operator.imul(x, 2)", "len(x)")
    found, _ = reached(program, "optimal", "access", 100)
    assert found == {f"([None, {n}], [K1, K3, K2, K1, K3, K2])" for n in (3, 6)}


class Flag:
    is_set = False


class Looking:
    """Looks at a flag when it is hashed."""

    def __init__(self, flag: Flag, saw: list[bool]) -> None:
        self.flag = flag
        self.saw = saw

    def __hash__(self) -> int:
        self.saw.append(self.flag.is_set)
        return 1


@pytest.mark.parametrize("wrap", [lambda key: key, lambda key: (key, 1)])
def test_a_key_is_looked_up_after_it_was_hashed(wrap: Callable[[Any], Any]) -> None:
    outcomes = set()

    def test() -> None:
        flag = Flag()
        saw: list[bool] = []
        key = Looking(flag, saw)
        found = {wrap(key): 1}
        saw.clear()
        got: list[bool] = []

        def clear() -> None:
            flag.is_set = True
            found.clear()

        # A new tuple: since 3.14 one that was hashed knows its hash.
        together(lambda: got.append(wrap(key) in found), clear)
        with treadle.atomic():
            outcomes.add((saw[0], got[0]))

    assert treadle.explore(test).ok
    assert outcomes == {(False, True), (False, False), (True, True), (True, False)}

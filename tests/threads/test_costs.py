"""Costs that must not grow where nothing is shared: counted work, never time."""

from __future__ import annotations

import gc
import random
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest
from greenlet import greenlet

import treadle
from treadle.python.host import collector
from treadle.python.instrument import scopes
from treadle.python.instrument.loaded_modules import LoadedModules
from treadle.python.sharing import nested
from treadle.python.sharing.namespaces import instrumented


class Entry:
    def __init__(self, number: int) -> None:
        self.number = number
        self.next: Entry | None = None


registry: dict[int, Entry] = {}


def add() -> None:
    registry[0].number += 1


def two_threads() -> None:
    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def calls_in(function: Callable[[], Any]) -> int:
    """Return how many functions are called or generators resumed."""
    calls = 0

    def count(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


@pytest.fixture
def entries() -> Any:
    registry[0] = Entry(0)
    treadle.explore(two_threads)  # rewrites the code, once
    yield registry
    registry.clear()


def test_publishing_a_large_dictionary_is_linear(entries: dict[int, Entry]) -> None:
    work = []
    for size in (10, 400, 800, 1600):  # the first costs more
        entries.clear()
        entries.update((number, Entry(number)) for number in range(size + 1))
        work.append(calls_in(lambda: treadle.explore(two_threads)))
    assert 0 < work[3] - work[2] < 2.5 * (work[2] - work[1])  # twice as many more, twice the work


def test_publishing_a_long_chain_ends_and_is_linear(entries: dict[int, Entry]) -> None:
    work = []
    for size in (10, 500, 1000, 2000):  # the first costs more
        entries.clear()
        entries[0] = last = Entry(0)
        for number in range(size):
            last.next = last = Entry(number)  # type: ignore[assignment]
        results = []
        work.append(calls_in(lambda: results.append(treadle.explore(two_threads))))  # noqa: B023
        assert results[0].executions == 4
    assert 0 < work[3] - work[2] < 2.5 * (work[2] - work[1])  # twice as many more, twice the work


def greenlets() -> list[greenlet]:
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, greenlet)]


def new_since(before: list[greenlet]) -> list[greenlet]:
    """Return those that were not there before; of an older test's, some may have gone meanwhile."""
    return [one for one in greenlets() if one not in before]


def test_no_greenlet_is_left_behind(entries: dict[int, Entry]) -> None:
    assert len(entries) == 1
    before = greenlets()
    for _ in range(5):
        treadle.explore(two_threads)
    assert new_since(before) == []


def test_no_greenlet_is_left_behind_by_deadlocks() -> None:
    def test() -> None:
        locks = [threading.Lock(), threading.Lock()]

        def take(first: int) -> None:
            with locks[first], locks[1 - first]:
                pass

        threads = [threading.Thread(target=take, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    before = greenlets()
    assert treadle.explore(test).failures[0].kind == "deadlock"
    assert new_since(before) == []


def test_what_explorations_leave_does_not_pile_up(entries: dict[int, Entry]) -> None:
    assert len(entries) == 1
    treadle.explore(two_threads)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(200):  # nobody calls the collector but Treadle and Python
        treadle.explore(two_threads)
    assert len(gc.get_objects()) - before < 100_000


def test_an_exploration_looks_at_all_objects_once(
    entries: dict[int, Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(entries) == 1
    looked = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            if name in ("get_referrers", "get_objects"):
                looked.append(name)
            return getattr(gc, name)

    monkeypatch.setattr(collector, "gc", Counting())
    treadle.explore(two_threads)
    assert len(looked) == 1


def test_looking_for_many_and_for_few_finds_the_same() -> None:
    class Kind:
        pass

    spaces: list[dict[str, Any]] = [{} for _ in range(50)]
    functions = [types.FunctionType(add.__code__, space) for space in spaces]
    instance = Kind()
    for some in (1, 50):
        found = collector.functions_and_instances(spaces[:some], [Kind])
        expected = [*functions[:some], instance]
        assert sorted(map(id, found)) == sorted(map(id, expected))


def test_names_of_classes_are_looked_for_once_for_all_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []
    original = scopes.Scopes._class_names

    def class_names(self: scopes.Scopes) -> set[str]:
        looked.append(1)
        return original(self)

    monkeypatch.setattr(scopes.Scopes, "_class_names", class_names)
    treadle.explore(two_threads, instrument=["json", "html", "email"])
    assert len(looked) <= 3


def test_modules_are_looked_at_again_if_one_is_new_or_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = LoadedModules()
    first, second = types.ModuleType("newcomer"), types.ModuleType("newcomer")
    assert "newcomer" not in loaded.under_test(("newcomer",))
    for module in (first, second):
        monkeypatch.setitem(sys.modules, "newcomer", module)
        assert loaded.under_test(("newcomer",))["newcomer"] is vars(module)
    assert "newcomer" not in loaded.under_test(())


def test_what_is_known_about_classes_is_forgotten_with_new_namespaces() -> None:
    instrumented.about_classes["something"] = 1
    instrumented.update([])
    assert not instrumented.about_classes


def test_what_a_call_is_taken_to_touch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def test() -> None:
        items = [[number] for number in range(60)]
        thread = threading.Thread(target=lambda: random.choice(items))
        thread.start()
        thread.join()
        items.append([0])

    assert treadle.explore(test).escapes == []
    monkeypatch.setattr(nested, "MOST_OBJECTS", 50)
    (said,) = treadle.explore(test).escapes
    assert "only 10,000 objects are looked at" in said


def test_what_hangs_on_a_private_object_is_bounded_and_what_is_near_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Client:
        def __init__(self) -> None:
            self.near = [0]
            self.model = [{"shape": [{"member": number}]} for number in range(100)]
            self.far = [[self.model]]

    client = Client()
    assert nested.held_by([client], {id(client.near)}) == [client.near]
    assert nested.held_by([client], {id(client.model[7])}) == [client.model[7]]
    monkeypatch.setattr(nested, "MOST_OBJECTS", 50)
    assert nested.held_by([client], {id(client.near)}) == [client.near]
    assert nested.held_by([client], {id(client.model[7]["shape"][0])}) == []

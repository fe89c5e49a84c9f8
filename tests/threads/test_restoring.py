"""What an execution changes in modules and classes is undone before the next one."""

from __future__ import annotations

import array
import collections
import functools
import io
import itertools
import logging
import queue
import re
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from together import together

import treadle

Body = Callable[[], None]


class Registered:
    made: ClassVar[list[Registered]] = []
    count = 0
    by_name: ClassVar[dict[str, dict[str, Registered]]] = {"all": {}}

    def __init__(self, name: str) -> None:
        Registered.count += 1
        self.made.append(self)
        self.by_name["all"][name] = self


class Single:
    instance: ClassVar[Single | None] = None

    def __new__(cls) -> Single:
        if cls.instance is None:
            cls.instance = super().__new__(cls)
        return cls.instance


class Slotted:
    __slots__ = ("late", "number")

    def __init__(self) -> None:
        self.number = 0


def counting() -> Callable[[], int]:
    number = 0

    def count() -> int:
        nonlocal number
        number += 1
        return number

    return count


def numbers_for_ever() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


@functools.lru_cache(maxsize=4)
def limited(key: int) -> list[int]:
    return [key]


@functools.cache
def unlimited(key: int) -> list[int]:
    return [key]


@functools.lru_cache(maxsize=4)
def filled(key: int) -> list[int]:
    return [key]


def remembering(value: int, seen: list[int] = []) -> int:  # noqa: B006
    seen.append(value)
    return len(seen)


class State:
    """What the module keeps, so that a test can look at all of it."""

    locks: ClassVar[dict[str, Any]] = collections.defaultdict(threading.Lock)
    numbers = itertools.count(1)
    slotted = Slotted()
    items: ClassVar[collections.deque[int]] = collections.deque([0], maxlen=3)
    ordered: ClassVar[collections.OrderedDict[str, int]] = collections.OrderedDict(
        first=1, second=2
    )
    counted: ClassVar[collections.Counter[str]] = collections.Counter("a")
    data = bytearray(b"ab")
    array = array.array("i", [1, 2])
    chosen: ClassVar[set[Any]] = {1, 2}
    weak: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    waiting: queue.Queue[int] = queue.Queue()
    stacked: queue.LifoQueue[int] = queue.LifoQueue()
    nested: ClassVar[list[Any]] = [{"deep": [0]}]


counter = 0
pool: dict[str, int] | None = None
count_up = counting()
endless = numbers_for_ever()
local = threading.local()
local.seen = [0]
unlimited(0)
filled(0)


def increment_a_global() -> None:
    def work() -> None:
        global counter
        counter += 1
        seen[counter] = 1

    seen: dict[int, int] = {}
    together(work, work)
    assert counter <= 2


def make_a_pool() -> None:
    def work() -> None:
        global pool
        if pool is None:
            pool = {"n": 0}
        pool["n"] += 1

    together(work, work)


def name_a_new_global() -> None:
    def work() -> None:
        globals()["fresh"] = globals().get("fresh", 0) + 1
        seen[globals()["fresh"]] = 1

    seen: dict[int, int] = {}
    together(work, work)


def register() -> None:
    together(lambda: Registered("a"), lambda: Registered("b"))
    assert len(Registered.made) == len(Registered.by_name["all"]) == 2


def make_a_singleton() -> None:
    together(Single, Single)


def set_an_attribute_of_a_class() -> None:
    def work(name: str) -> None:
        assert not hasattr(Slotted, name)
        setattr(Slotted, name, 1)

    together(lambda: work("a"), lambda: work("b"))


def set_slots() -> None:
    def work() -> None:
        assert not hasattr(State.slotted, "late")
        State.slotted.number += 1

    together(work, work)
    State.slotted.late = 1
    assert State.slotted.number <= 2


def set_an_attribute_of_a_function() -> None:
    function: Any = set_an_attribute_of_a_function
    seen: dict[int, int] = {}

    def work() -> None:
        function.calls = getattr(function, "calls", 0) + 1
        seen[function.calls] = 1

    together(work, work)


def close_over_a_number() -> None:
    seen: dict[int, int] = {}
    together(lambda: seen.setdefault(count_up()), lambda: seen.setdefault(count_up()))
    assert max(seen) == 2 or len(seen) == 1


def change_a_default() -> None:
    seen: dict[int, int] = {}
    together(lambda: seen.setdefault(remembering(1)), lambda: seen.setdefault(remembering(2)))
    assert max(seen) <= 2


def make_locks() -> None:
    seen: collections.Counter[str] = collections.Counter()

    def work() -> None:
        with State.locks["a"]:
            seen["a"] += 1

    together(work, work)


def take_numbers() -> None:
    orders: dict[int, str] = {}

    def place(what: str) -> None:
        orders[next(State.numbers)] = what

    together(lambda: place("tea"), lambda: place("milk"))
    assert sorted(orders) == [1, 2]


def ask_caches() -> None:
    together(lambda: limited(1), lambda: unlimited(1), lambda: unlimited(0))
    assert limited.cache_info().misses == 1
    assert unlimited.cache_info().currsize == 2


def change_containers() -> None:
    def work(key: int) -> None:
        State.items.append(key)
        State.counted["b"] += 1
        State.data.append(key)
        State.array.append(key)
        State.chosen.add((key, "new"))

    together(lambda: work(1), lambda: work(2))
    State.ordered.move_to_end("first")
    State.ordered["third"] = 3
    State.nested[0]["deep"].append(1)
    assert [len(State.items), len(State.data), len(State.array), len(State.chosen)] == [3, 4, 4, 4]
    assert list(State.ordered) == ["second", "first", "third"]
    assert State.nested == [{"deep": [0, 1]}]


def fill_queues() -> None:
    together(lambda: State.waiting.put(1), lambda: State.waiting.put(2))
    State.stacked.put(3)
    assert (State.waiting.qsize(), State.stacked.qsize()) == (2, 1)
    assert State.waiting.unfinished_tasks == 2


def refer_weakly() -> None:
    thing = Registered("weak")
    thing.itself = thing  # type: ignore[attr-defined]
    State.weak.add(thing)
    together(lambda: None, lambda: None)
    assert len(State.weak) == 1


def keep_for_the_thread() -> None:
    local.number = getattr(local, "number", 0) + 1
    local.seen.append(1)
    seen: dict[int, int] = {}
    together(lambda: seen.setdefault(getattr(local, "number", 0)), lambda: None)
    assert (local.number, len(local.seen)) == (1, 2)


PROGRAMS: list[tuple[Body, int]] = [
    (increment_a_global, 14),
    (make_a_pool, 18),
    (name_a_new_global, 14),
    (register, 8),
    (make_a_singleton, 4),
    (set_an_attribute_of_a_class, 1),
    (set_slots, 4),
    (set_an_attribute_of_a_function, 14),
    (close_over_a_number, 14),
    (change_a_default, 8),
    (make_locks, 4),
    (take_numbers, 2),
    (ask_caches, 2),
    (change_containers, 2),
    (fill_queues, 2),
    (refer_weakly, 1),
    (keep_for_the_thread, 1),
]


def seen_from_outside() -> str:
    """Return all state of this module in words."""
    classes = [
        sorted((name, repr(value)) for name, value in vars(kind).items() if name[:2] != "__")
        for kind in (Registered, Single, Slotted, State)
    ]
    names = ("counter", "pool", "fresh")
    shown = [globals().get(name, "none") for name in names]
    slots = [getattr(State.slotted, name, "none") for name in ("number", "late")]
    caches = [limited.cache_info().currsize, unlimited.cache_info().currsize]
    queues = [list(State.waiting.queue), list(State.stacked.queue), State.waiting.unfinished_tasks]
    return repr((classes, shown, slots, caches, queues, vars(local), remembering.__defaults__))


@pytest.mark.parametrize("program", [program for program, _ in PROGRAMS])
def test_every_execution_begins_alike(program: Body) -> None:
    before = seen_from_outside()
    result = treadle.explore(program)
    assert result.failures == []
    assert result.complete
    assert seen_from_outside() == before
    assert count_up.__closure__ is not None
    assert count_up.__closure__[0].cell_contents == 0


@pytest.mark.parametrize("program", [increment_a_global, register, take_numbers, make_locks])
def test_on_request_nothing_is_undone(program: Body) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(State, "locks", collections.defaultdict(threading.Lock))
        patch.setattr(State, "numbers", itertools.count(1))
        patch.setattr(Registered, "made", [])
        patch.setattr(Registered, "by_name", {"all": {}})
        patch.setitem(globals(), "counter", 0)
        result = treadle.explore(program, restore=False)
    assert [failure.kind for failure in result.failures][:1] in (["nondeterminism"], ["assertion"])


def test_what_a_test_closes_over_is_not_undone() -> None:
    seen: list[int] = []
    number = 0

    def test() -> None:
        nonlocal number
        number += 1
        seen.append(number)
        together(lambda: None, lambda: None)

    assert treadle.explore(test).ok
    assert len(seen) == number > 1


def test_a_class_that_a_test_closes_over_is_undone() -> None:
    class Plugins:
        found: ClassVar[list[str]] = []
        count = 0

    def test() -> None:
        def load(name: str) -> None:
            Plugins.found.append(name)
            Plugins.count += 1

        together(lambda: load("a"), lambda: load("b"))
        assert len(Plugins.found) == 2

    assert treadle.explore(test).ok
    assert (Plugins.found, Plugins.count) == ([], 0)


def test_a_replay_begins_alike() -> None:
    def test() -> None:
        def work() -> None:
            global counter
            value = counter
            counter = value + 1

        together(work, work)
        assert counter == 2

    [failure] = treadle.explore(test).failures
    for _ in range(2):
        again = treadle.replay(test, failure.token)
        assert again is not None
        assert again.kind == "assertion"
    assert counter == 0


def test_what_cannot_be_undone_is_named_with_its_line() -> None:
    def test() -> None:
        seen: dict[int, str] = {}

        def take() -> None:
            seen[next(endless)] = "a"

        together(take)

    [failure] = treadle.explore(test).failures
    assert failure.kind == "nondeterminism"
    line = test.__code__.co_firstlineno + 4
    assert f"test_restoring.py:{line}; then write seen[" in failure.message
    assert (
        f"executions change and do not undo: endless (tests/threads/test_restoring.py:{line})"
        in (failure.message)
    )


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive"])
@pytest.mark.parametrize("first", range(2, 9))
def test_who_ends_earlier_than_before_is_named_with_a_line(first: int, algorithm: str) -> None:
    numbers = numbers_for_ever()

    def test() -> None:
        seen = []

        def work() -> None:
            seen.append(0)
            if next(numbers) >= first:
                return
            seen.append(1)

        together(work, lambda: seen.append(2))
        assert len(seen) > 1

    found = treadle.explore(test, algorithm)
    last = test.__code__.co_firstlineno + 5
    for failure in found.failures:
        assert failure.kind == "nondeterminism"
        where, _, said = failure.message.partition("before (")[2].partition("; then ")
        assert said.partition(")")[0]
        assert ", now " in said
        file, _, line = where.removeprefix("after ").rpartition(":")
        assert file.endswith("test_restoring.py")
        assert int(line) in (last - 1, last, last + 1, last + 2, last + 4)


def test_a_cache_with_a_limit_that_was_not_empty_is_left_alone() -> None:
    def test() -> None:
        together(lambda: filled(0), lambda: filled(0))

    assert treadle.explore(test).ok
    assert filled.cache_info().currsize == 1


# Tables of the whole process


class Heard(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        del record


def add_handler() -> None:
    logger = logging.getLogger("treadle.tests.restoring")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)
    logger.addHandler(Heard())
    logger.setLevel(logging.DEBUG)


def set_root() -> None:
    assert logging.root.manager.disable == 0
    assert not any(isinstance(one, Heard) for one in logging.root.handlers)
    logging.root.addHandler(Heard())
    logging.disable(logging.INFO)


def add_finder() -> None:
    class Finder:
        def find_spec(self, *_: object) -> None:
            return None

    assert not any(type(finder).__name__ == "Finder" for finder in sys.meta_path)
    sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]


def look_elsewhere() -> None:
    assert "elsewhere" not in sys.path
    sys.path = [*sys.path, "elsewhere"]


def ignore_a_warning() -> None:
    assert not any(isinstance(one[1], re.Pattern) for one in warnings.filters if one[0] == "once")
    warnings.filterwarnings("once", message="of this test only")


def redirect() -> None:
    assert not hasattr(sys.stdout, "of_this_test")
    sys.stdout = Output()


class Output(io.StringIO):
    of_this_test = True


@pytest.mark.parametrize(
    "change", [add_handler, set_root, add_finder, look_elsewhere, ignore_a_warning, redirect]
)
def test_tables_of_the_process_are_put_back(change: Body) -> None:
    def test() -> None:
        change()
        together(lambda: None, lambda: None)

    for _ in range(2):
        result = treadle.explore(test)
        assert (result.ok, result.executions) == (True, 1)


def renamed() -> None:
    """A plain name."""


def test_what_c_keeps_of_functions_is_undone() -> None:
    def test() -> None:
        assert (renamed.__name__, renamed.__defaults__) == ("renamed", None)
        renamed.__name__ = renamed.__qualname__ = "other"
        renamed.__doc__, renamed.__defaults__ = None, ()
        together(lambda: None, lambda: None)

    assert treadle.explore(test).ok
    assert (renamed.__name__, renamed.__doc__) == ("renamed", "A plain name.")

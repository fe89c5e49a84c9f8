"""Objects of classes that are not instrumented: one step per operation, and never a false pass."""

from __future__ import annotations

import array
import collections
import ctypes
import inspect
import logging
import threading
import traceback
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cachetools
import pytest
from of_others import modules_of_others

import treadle

LIBRARY = """
class Box:
    def __init__(self): self.v = 0; self.items = []
    def __enter__(self): self.v += 1; return self
    def __exit__(self, *error): self.v += 1
    def __call__(self, n=1): self.v += n; return self.v
    def __neg__(self): return -self.v
    def __iadd__(self, n): self.v += n; return self
    def __add__(self, n): return self.v + n
    def __eq__(self, other): return self.v == other
    __hash__ = None
    def __str__(self): return str(self.v)
    def __truediv__(self, n): return self.v / n
    def __reversed__(self): return iter([self.v])
    @property
    def size(self): return self.v
    @size.setter
    def size(self, n): self.v = n
    @size.deleter
    def size(self): self.v = 7
    def grow(self): self.v += 1

class Lazy:
    def __init__(self): object.__setattr__(self, "d", {})
    def __getattr__(self, name): return self.d.get(name, 0)
    def __setattr__(self, name, value): self.d[name] = value

class Count:
    n = 0
    def __iter__(self): return self
    def __next__(self): self.n += 1; return self.n

class Slotted:
    __slots__ = ("v",)
    def __init__(self): self.v = 0
    def __setitem__(self, key, value): self.v = value
    def __getitem__(self, key): return self.v

class Missing(dict):
    def __missing__(self, key): self[key] = 5; return 5
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A module that lies where the code of others does."""
    sources = {"library_of_others": LIBRARY}
    with modules_of_others(tmp_path_factory.mktemp("env"), sources) as module:
        yield module


def empty_cache() -> Any:
    return cachetools.LRUCache(maxsize=2)


def put(shared: Any) -> None:
    shared[1] = 2


def enter(shared: Any) -> None:
    with shared:
        pass


def add(shared: Any, amount: int = 1) -> None:
    shared += amount


def resize(shared: Any) -> None:
    shared.size = 3


def unsize(shared: Any) -> None:
    del shared.size


def assign(shared: Any) -> None:
    shared.x = 3


def grow(shared: Any) -> None:
    shared.grow()


class Mine(collections.UserDict):  # type: ignore[type-arg]
    """Under test, with special methods that are not."""

    def peek(self) -> int:
        return len(self.data)


class Value:
    """Something that can be referred to weakly."""


value = Value()


def remember(shared: Any) -> None:
    shared[1] = value


def buffer_and_view() -> Any:
    buffer = bytearray(2)
    return types.SimpleNamespace(buffer=buffer, view=memoryview(buffer))


Case = tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]
USER_DICT = collections.UserDict
# What is shared, how one thread changes it, how the other looks at it.
CASES: dict[str, Case] = {
    "item of cache": (empty_cache, put, lambda cache: 1 in cache),
    "method": (empty_cache, lambda cache: cache.setdefault(1, 2), lambda cache: cache.get(1)),
    "length of cache": (empty_cache, put, len),
    "list of cache": (empty_cache, put, list),
    "property of cache": (empty_cache, put, lambda cache: cache.currsize),
    "truth": (empty_cache, put, lambda cache: "full" if cache else "empty"),
    "not": (USER_DICT, put, lambda shared: not shared),
    "in": (USER_DICT, put, lambda shared: 1 in shared),
    "item": (lambda: USER_DICT({1: 0}), put, lambda shared: shared[1]),
    "loop": (USER_DICT, put, lambda shared: [key for key in shared]),  # noqa: C416
    "items": (lambda: USER_DICT({1: 0}), put, lambda shared: [v for _, v in shared.items()]),
    "iterator": (lambda: USER_DICT({1: 0}), put, lambda shared: shared[next(iter(shared))]),
    "unpacking": (USER_DICT, put, lambda shared: [*shared]),
    "keywords": (USER_DICT, lambda shared: shared.update(a=1), lambda shared: dict(**shared)),
    "arguments": (USER_DICT, put, lambda shared: (lambda *keys: keys)(*shared)),
    "enumerate": (USER_DICT, put, lambda shared: list(enumerate(shared))),
    "map": (USER_DICT, put, lambda shared: list(map(str, shared))),
    "operator": (
        collections.UserList,
        lambda shared: shared.append(1),
        lambda shared: len(shared + [2]),  # noqa: RUF005 - an operator is meant
    ),
    "chain": (collections.ChainMap, put, lambda shared: 1 in shared),
    "weak": (weakref.WeakValueDictionary, remember, lambda shared: 1 in shared),
    "inherited": (Mine, put, lambda shared: 1 in shared),
    "inherited, own look": (Mine, put, Mine.peek),
    "inherited, data": (Mine, put, lambda shared: len(shared.data)),
    "array": (lambda: array.array("i", [0, 0]), put, lambda shared: shared[1]),
    "C array": (lambda: (ctypes.c_int * 2)(), put, lambda shared: shared[1]),
    "C value": (
        ctypes.c_int,
        lambda shared: setattr(shared, "value", 3),
        lambda shared: shared.value,
    ),
    "view": (lambda: memoryview(bytearray(2)), put, lambda shared: shared[1]),
    "view and buffer": (buffer_and_view, lambda s: put(s.view), lambda s: s.buffer[1]),
    "view of buffer": (lambda: bytearray(2), lambda s: put(memoryview(s)), lambda s: s[1]),
}
OF_LIBRARY: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "words": ("Box", grow, lambda box: f"{box}"),
    "str": ("Box", grow, str),
    "percent": ("Box", grow, lambda box: "%s" % box),  # noqa: UP031
    "format": ("Box", grow, lambda box: "{}".format(box)),  # noqa: UP032
    "with": ("Box", enter, lambda box: box.size),
    "call": ("Box", lambda box: box(), lambda box: box.size),
    "negative": ("Box", grow, lambda box: -box),
    "in place": ("Box", add, lambda box: box.size),
    "add": ("Box", grow, lambda box, n=2: box + n),
    "divide": ("Box", grow, lambda box, n=2: box / n),
    "equal": ("Box", grow, lambda box, n=0: box == n),
    "reversed": ("Box", grow, lambda box: list(reversed(box))),
    "property": ("Box", grow, lambda box: box.size),
    "property set": ("Box", resize, lambda box: box.size),
    "property set, attribute": ("Box", resize, lambda box: box.v),
    "property deleted": ("Box", unsize, lambda box: box.size),
    "getattr": ("Box", grow, lambda box: getattr(box, "size")),  # noqa: B009
    "any attribute": ("Lazy", assign, lambda lazy: lazy.x),
    "next": ("Count", next, next),
    "loop of iterator": ("Count", next, lambda count: [n for n, _ in zip(count, "a")]),  # noqa: B905
    "slots": ("Slotted", put, lambda slotted: slotted[1]),
    "missing": ("Missing", lambda missing: missing[1], len),
}


def outcomes(make: Callable[[], Any], change: Callable[[Any], Any], look: Any) -> set[str]:
    """Return what the second thread sees, in the executions that count."""
    seen: list[str] = []

    def test() -> None:
        shared = make()
        found: list[Any] = []
        threads = [
            threading.Thread(target=lambda: change(shared)),
            threading.Thread(target=lambda: found.append(look(shared))),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with treadle.atomic():
            seen.append(repr(found[0]) if found else "nothing")

    result = treadle.explore(test, stop_on_failure=False, thread_exceptions=False)
    assert result.complete
    return set(seen[-result.executions :])  # those before are of explorations that began anew


@pytest.mark.parametrize("name", CASES)
def test_both_orders_are_seen(name: str) -> None:
    assert len(outcomes(*CASES[name])) > 1


@pytest.mark.parametrize("name", OF_LIBRARY)
def test_both_orders_are_seen_of_a_library(library: Any, name: str) -> None:
    kind, change, look = OF_LIBRARY[name]
    assert len(outcomes(getattr(library, kind), change, look)) > 1


def test_a_change_during_a_loop_is_found() -> None:
    def test() -> None:
        shared: Any = collections.UserDict({1: 1})
        thread = threading.Thread(target=lambda: shared.update({2: 2}))
        thread.start()
        for _ in shared:
            pass
        thread.join()

    result = treadle.explore(test)
    assert "changed size" in str(result.failures[0])


def test_only_readers_of_immutable_objects_are_no_steps() -> None:
    import datetime
    import decimal
    import fractions

    for shared in (decimal.Decimal(1), fractions.Fraction(1, 2), datetime.timedelta(1), Path("a")):

        def test(shared: Any = shared) -> None:
            threads = [
                threading.Thread(target=lambda: (f"{shared}", shared == shared, hash(shared)))
                for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        result = treadle.explore(test)
        assert result.ok
        assert result.executions == 1
        assert not result.notes


@pytest.mark.parametrize(
    "log",
    [
        lambda: logging.getLogger("bank").warning("overdrawn"),
        lambda: logging.getLogger("bank").log(logging.ERROR, "%s", "overdrawn"),
        lambda: logging.LoggerAdapter(logging.getLogger("bank"), {}).error("overdrawn"),
        lambda: logging.warning("overdrawn"),
        lambda: logging.getLogger("bank").warning("overdrawn", stacklevel=1),
    ],
)
def test_a_log_record_names_the_line_that_asked_for_it(
    log: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    def body() -> None:
        thread = threading.Thread(target=log)
        thread.start()
        thread.join()

    assert treadle.explore(body).ok
    assert {(record.filename, record.lineno, record.funcName) for record in caplog.records} == {
        (Path(__file__).name, log.__code__.co_firstlineno, "<lambda>")
    }


def test_who_asks_for_the_frame_of_its_caller_gets_it() -> None:
    seen = []

    def body() -> None:
        account = [0]
        thread = threading.Thread(target=account.append, args=[1])
        thread.start()
        frame = inspect.currentframe()
        assert frame is not None
        seen.append(frame.f_code.co_name)
        seen.append(inspect.stack()[0].function)
        seen.append(traceback.extract_stack(limit=1)[0].name)
        thread.join()

    assert treadle.explore(body).ok
    assert set(seen) == {"body"}


def test_uninstrumented_code_is_noted() -> None:
    def test() -> None:
        cache = empty_cache()
        thread = threading.Thread(target=lambda: cache.setdefault(1, 2))
        thread.start()
        cache.get(1)
        thread.join()

    notes = treadle.explore(test).notes
    assert any("cachetools" in note for note in notes)


def test_a_thread_that_only_runs_library_code_is_noted_as_such() -> None:
    def test() -> None:
        cache = empty_cache()
        thread = threading.Thread(target=cache.setdefault, args=(1, 2))
        thread.start()
        thread.join()

    (note,) = treadle.explore(test).notes
    assert "setdefault ran uninstrumented on shared objects as a thread's function, as " in note


def test_operators_and_properties_are_noted_with_their_place() -> None:
    def test() -> None:
        shared: Any = collections.UserDict()
        cache = empty_cache()

        def change() -> None:
            shared[1] = 2
            cache.maxsize  # noqa: B018

        thread = threading.Thread(target=change)
        thread.start()
        thread.join()

    notes = [note for note in treadle.explore(test).notes if Path(__file__).name in note]
    for name in ("UserDict.__setitem__", "maxsize"):
        assert sum(name in note for note in notes) == 1, notes

"""What C code and libraries look into, call, or set, of what they are given by a thread.

Each program has exactly the outcomes that real threads have: one thread changes something, and the
other one has C code, or a library, look at it, call it or change it.
"""

from __future__ import annotations

import contextlib
import contextvars
import csv
import dataclasses
import enum
import functools
import inspect
import io
import itertools
import json
import marshal
import math
import operator
import os.path
import re
import sched
import struct
import sys
import threading
import time
import types
import unittest
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from together import Look, looking, outcomes, together

import treadle
from differential import REDUCTIONS


class Box:
    def __init__(self, n: Any = 0) -> None:
        self.n = n


class Pair(tuple[int, ...]):
    def __new__(cls, items: Any) -> Pair:
        return super().__new__(cls, items)


class Words(str):
    def __new__(cls, items: Any) -> Words:
        return str.__new__(cls, items)


def _beside_append(items: Any, look: Callable[[Any], Any]) -> Look:
    return lambda: items.append(3), lambda: look(items)


def _beside_a_byte(look: Callable[[bytearray], Any]) -> Look:
    data = bytearray(b"ab")
    return lambda: data.__setitem__(0, 120), lambda: look(data)


LOOKING_INTO: dict[str, tuple[Callable[[], Look], list[Any]]] = {
    "math.fsum": (lambda: _beside_append([1.0], math.fsum), [1.0, 4.0]),
    "math.prod": (lambda: _beside_append([2], math.prod), [2, 6]),
    "marshal.dumps": (
        lambda: _beside_append([1], lambda x: len(marshal.loads(marshal.dumps([x]))[0])), [1, 2]
    ),
    "sys.getsizeof": (
        lambda: _beside_append([], lambda x: sys.getsizeof(x) > sys.getsizeof([])), [False, True]
    ),
    "commonpath": (lambda: _paths(), ["/", "/a"]),
    "an enumeration": (lambda: _names(), [1, 2]),
    "tuple.__new__": (lambda: _beside_append([1], lambda x: len(Pair(x))), [1, 2]),
    "str.__new__": (lambda: _beside_append([1], lambda x: str(Words(x))), ["[1]", "[1, 3]"]),
    "bytes.__new__": (lambda: _beside_append([1], lambda x: bytes.__new__(bytes, x)),
                      [b"\1", b"\1\3"]),
    "the sum of a start": (lambda: _beside_append([1], lambda x: sum([[0]], start=x)),
                           [[1, 0], [1, 3, 0]]),
    "__or__ of a new set": (lambda: _added(), [1, 2]),
    "__eq__ of a new dictionary": (lambda: _items(), [False, True]),
    "__mod__ of a string": (lambda: _beside_append([1], lambda x: "%s".__mod__((x,))),
                            ["[1]", "[1, 3]"]),
    "a buffer to find": (lambda: _beside_a_byte(lambda data: b"xbab".find(data)), [0, 2]),
    "a buffer to replace": (lambda: _beside_a_byte(lambda data: b"ab".replace(data, b"")),
                            [b"", b"ab"]),
    "the text of a match": (lambda: _matched(), [b"aa", b"xa"]),
    "a new counter": (lambda: _counted(), [1, 2]),
    "the namespace of a class": (lambda: _namespace(), [False, True]),
    "what an iterator has left": (
        lambda: _beside_append([1], lambda x: operator.length_hint(iter(x))), [1, 2]
    ),
}  # fmt: skip
"""One thread changes something, another one has C code look into it; what that finds."""


def _names() -> Look:
    names = ["A"]
    return lambda: names.append("B"), lambda: len(enum.Enum("Letter", names))  # type: ignore[misc]


def _paths() -> Look:
    paths = ["/a"]
    return lambda: paths.append("/b"), lambda: os.path.commonpath(paths)


def _added() -> Look:
    items = {1}
    return lambda: items.add(2), lambda: len(set().__or__(items))


def _items() -> Look:
    items = {1: 1}
    return lambda: items.update({2: 2}), lambda: {1: 1}.__eq__(items)


def _matched() -> Look:
    data = bytearray(b"aa")
    found: Any = re.match(b"a+", data)
    return lambda: data.__setitem__(0, 120), lambda: bytes(found.group())


def _counted() -> Look:
    items = ["a"]

    def look() -> int:
        found: Counter[str] = Counter()
        found.update(items)
        return len(found)

    return lambda: items.append("b"), look


def _namespace() -> Look:
    namespace: dict[str, Any] = {}
    return lambda: namespace.update(b=1), lambda: hasattr(type("Made", (), namespace), "b")


@pytest.mark.parametrize("name", LOOKING_INTO)
def test_c_code_looks_into_what_others_change(name: str) -> None:
    make, expected = LOOKING_INTO[name]
    assert looking(make) == set(map(repr, expected))


# Functions in C that are called by C, or by a library


def called_by_operator() -> Look:
    items: list[int] = []
    return lambda: operator.call(items.append, 1), lambda: len(items)


def called_in_a_context() -> Look:
    items: list[int] = []
    return lambda: contextvars.copy_context().run(items.append, 1), lambda: len(items)


def called_by_a_stack() -> Look:
    items: list[int] = []

    def change() -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(items.append, 1)

    return change, lambda: len(items)


def called_by_a_scheduler() -> Look:
    items: list[int] = []

    def change() -> None:
        scheduler = sched.scheduler(time.monotonic, time.sleep)
        scheduler.enter(0, 1, items.append, (1,))
        scheduler.run()

    return change, lambda: len(items)


def called_by_a_future() -> Look:
    items: list[Any] = []

    def change() -> None:
        future: Future[int] = Future()
        future.add_done_callback(items.append)
        future.set_result(1)

    return change, lambda: len(items)


def called_by_a_generic_function() -> Look:
    items: list[Any] = []
    generic = functools.singledispatch(items.append)
    return lambda: generic("a"), lambda: len(items)


def registered_with_a_generic_function() -> Look:
    items: list[Any] = []
    generic = functools.singledispatch(print)
    generic.register(int, items.append)
    return lambda: generic(1), lambda: len(items)


def registered_by_a_decorator() -> Look:
    items: list[Any] = []
    generic = functools.singledispatch(print)
    generic.register(int)(items.append)
    return lambda: generic(1), lambda: len(items)


def called_by_a_barrier() -> Look:
    items = [1]
    barrier = threading.Barrier(1, action=items.clear)
    return barrier.wait, lambda: len(items)


def called_by_a_cached_property() -> Look:
    items: list[Any] = []

    class Cached:
        value = functools.cached_property(items.append)

    return lambda: Cached().value, lambda: len(items)


def written_by_a_writer() -> Look:
    stream = io.StringIO()

    def change() -> None:
        writer = csv.writer(stream)
        writer.writerow([])

    return change, lambda: len(stream.getvalue()) // 2


def closed_behind() -> Look:
    stream = io.StringIO()

    def change() -> None:
        with contextlib.closing(stream):
            pass

    return change, lambda: int(stream.closed)


def redirected() -> Look:
    stream = io.StringIO()

    def change() -> None:
        with contextlib.redirect_stdout(stream):
            print("a", end="")

    return change, lambda: len(stream.getvalue())


def added_to_a_test_case() -> Look:
    case = unittest.TestCase()
    return lambda: case.addCleanup(print), lambda: len(case._cleanups)  # type: ignore[attr-defined]


def given_defaults() -> Look:
    bound = inspect.signature(lambda a=1: a).bind()
    return bound.apply_defaults, lambda: len(bound.arguments)


def taken_from_an_unpacking_iterator() -> Look:
    parts = struct.iter_unpack("<B", b"ab")
    return lambda: next(parts), lambda: next(parts)[0] - ord("a")


@pytest.mark.parametrize(
    "make",
    [
        called_by_operator, called_in_a_context, called_by_a_stack, called_by_a_scheduler,
        called_by_a_future, called_by_a_generic_function, registered_with_a_generic_function,
        registered_by_a_decorator, called_by_a_barrier,
        called_by_a_cached_property,
        written_by_a_writer, closed_behind, redirected, added_to_a_test_case, given_defaults,
        taken_from_an_unpacking_iterator,
    ],
)  # fmt: skip
def test_who_looks_sees_it_before_or_after(make: Callable[[], Look]) -> None:
    assert looking(make) == {"0", "1"}


# Libraries that set attributes of what they are given


def made_a_data_class() -> Look:
    class Point:
        x: int = 0

    return lambda: dataclasses.dataclass(Point), lambda: "__eq__" in vars(Point)


def put_in_order() -> Look:
    class Least:
        def __lt__(self, other: object) -> bool:
            return True

    return lambda: functools.total_ordering(Least), lambda: "__gt__" in vars(Least)


def wrapped() -> Look:
    def one() -> None: ...
    def two() -> None: ...

    return lambda: functools.update_wrapper(one, two), lambda: one.__name__ == "two"


def made_final() -> Look:
    def one() -> None: ...

    def change() -> None:
        one.__isabstractmethod__ = True  # type: ignore[attr-defined]

    return change, lambda: hasattr(one, "__isabstractmethod__")


def replaced_attributes() -> Look:
    box = Box(1)

    def change() -> None:
        box.__dict__ = {"n": 2}

    return change, lambda: vars(box)["n"] == 2


def names_of_a_class() -> Look:
    class Empty:
        pass

    def change() -> None:
        Empty.n = 1  # type: ignore[attr-defined]

    return change, lambda: "n" in dir(Empty)


@pytest.mark.parametrize(
    "make",
    [made_a_data_class, put_in_order, wrapped, made_final, replaced_attributes, names_of_a_class],
)
def test_attributes_that_are_set_out_of_sight(make: Callable[[], Look]) -> None:
    assert looking(make) == {"False", "True"}


def test_a_name_is_set_before_what_is_wrapped() -> None:
    """`update_wrapper` sets `__name__`, `__doc__` and `__wrapped__`, in this order."""

    def program() -> Any:
        def one() -> None: ...
        def two() -> None:
            """Said of itself."""

        seen: list[Any] = []

        def look() -> None:
            seen.append(hasattr(one, "__wrapped__"))
            seen.append(one.__name__)

        together(lambda: functools.update_wrapper(one, two), look)
        return seen

    assert outcomes(program) == {"[False, 'one']", "[False, 'two']", "[True, 'two']"}


# Objects that are entered, or taken from, once


@pytest.mark.parametrize("algorithm", ["exhaustive", *REDUCTIONS])
def test_a_context_manager_that_is_used_up(algorithm: str) -> None:
    def program() -> Any:
        @contextlib.contextmanager
        def manage() -> Any:
            yield

        manager, got = manage(), []

        def use(me: str) -> None:
            try:
                with manager:
                    got.append(me)
            except AttributeError:
                pass

        together(lambda: use("a"), lambda: use("b"))
        return got

    assert outcomes(program, algorithm) == {"['a']", "['b']"}


def test_a_group_ends_when_its_iterator_goes_on() -> None:
    def program() -> Any:
        groups = itertools.groupby([1, 1, 2])
        found: list[Any] = [None, None]

        def take() -> None:
            key, group = next(groups)
            found[0] = key, len(list(group))

        def go_on() -> None:
            found[1] = next(groups)[0]

        together(take, go_on)
        return found

    assert outcomes(program) == {"[(1, 2), 2]", "[(1, 0), 2]", "[(2, 1), 1]"}


def test_a_cache_keeps_its_result_after_its_function_has_returned() -> None:
    def program() -> Any:
        factor, found = Box(1), [0, 0]

        @functools.cache
        def times(n: int) -> int:
            product: int = n * factor.n
            return product

        def change() -> None:
            factor.n = 5
            found[1] = times(2)

        together(lambda: found.__setitem__(0, times(2)), change)
        return found

    assert outcomes(program) == {"[2, 2]", "[2, 10]", "[10, 10]"}


def test_a_weak_proxy_of_a_thread_leads_to_what_is_shared() -> None:
    def test() -> None:
        box = Box()

        def count() -> None:
            weakref.proxy(box).n += 1

        together(count, count)
        assert box.n == 2

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


def test_a_hook_in_c_of_a_library_is_noted() -> None:
    """What `json.loads` calls belongs to its step, and touches the list."""

    def look() -> Look:
        items: list[Any] = []
        return lambda: json.loads('[{"a": 1}]', object_hook=items.append), lambda: len(items)

    assert looking(look) == {"0", "1"}


def test_methods_in_c_are_found_in_partial_calls() -> None:
    """`functools.partial` of a library's argument leads to what it calls."""

    def look() -> Look:
        items: list[Any] = []
        hook = functools.partial(items.append)
        assert isinstance(items.append, types.BuiltinFunctionType)
        return lambda: json.loads("[{}]", object_hook=hook), lambda: len(items)

    assert looking(look) == {"0", "1"}

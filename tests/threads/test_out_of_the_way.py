"""Races in places where few look: flags of contexts, patched dictionaries, views, registries.

Each program has exactly the outcomes that real threads have: one thread changes something and the
other one looks, or both count it up.
"""

from __future__ import annotations

import array
import ast
import base64
import bisect
import codecs
import collections
import configparser
import contextvars
import copy
import csv
import ctypes
import dataclasses
import decimal
import functools
import graphlib
import hashlib
import heapq
import inspect
import io
import itertools
import logging
import mmap
import operator
import os
import random
import re
import statistics
import string
import struct
import types
import unittest.mock
import urllib.parse
import weakref
import xml.etree.ElementTree as ET
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from together import Look, looking, outcomes, together

from differential import compare
from differential_programs import Program


class Box:
    def __init__(self, n: Any = 0) -> None:
        self.n = n


@dataclasses.dataclass
class Point:
    x: int = 0


def flags_of_a_context() -> Look:
    context = decimal.Context()
    flags = context.flags  # taken before, and kept
    return (
        lambda: context.divide(decimal.Decimal(1), 3),
        lambda: bool(flags[decimal.Inexact]),
    )


def flags_as_a_mapping() -> Look:
    context = decimal.Context()
    flags = context.flags
    return lambda: context.sqrt(decimal.Decimal(2)), lambda: any(flags.values())


def cleared_flags() -> Look:
    context = decimal.Context(flags=[decimal.Inexact])
    flags = context.flags
    return context.clear_flags, lambda: bool(flags[decimal.Inexact])


def seed_of_a_generator() -> Look:
    numbers, other = random.Random(1), random.Random(5)
    first = other.random()
    return lambda: numbers.seed(5), lambda: numbers.random() == first


def patched_items() -> Look:
    settings = {"a": 1}

    def patch() -> None:
        with unittest.mock.patch.dict(settings, a=2):
            pass

    return patch, lambda: settings["a"]


def patched_by_a_decorator() -> Look:
    settings = {"a": 1}
    return unittest.mock.patch.dict(settings, a=2)(lambda: None), lambda: settings["a"]


def positive_counts() -> Look:
    counts = Counter(a=1)
    return lambda: counts.update(a=4), lambda: (+counts)["a"]


def negative_counts() -> Look:
    counts = Counter(a=1)
    return lambda: counts.subtract({"a": 4}), lambda: (-counts)["a"]


def chained_lists() -> Look:
    first, second = ["a"], ["b"]
    return second.clear, lambda: list(itertools.chain(first, second))


def chained_with_a_dictionary() -> Look:
    first, second = ["a"], {"b": 0}

    def change() -> None:
        second["c"] = 0
        first.append("x")

    def look() -> list[str]:
        seen: list[str] = []
        try:
            seen.extend(itertools.chain(first, second))
        except RuntimeError:
            seen.append("changed")
        return seen

    return change, look


def view_and_base() -> Look:
    data = bytearray(1)
    view: Any = memoryview(data)
    return lambda: operator.setitem(view, 0, 7), lambda: data[0]


def packed_into() -> Look:
    data, layout = bytearray(4), struct.Struct("<i")
    return lambda: layout.pack_into(data, 0, 7), lambda: layout.unpack_from(data)[0]


def written_through() -> Look:
    raw = io.BytesIO()
    text = io.TextIOWrapper(raw, write_through=True)
    return lambda: text.write("x"), raw.getvalue


def moved_to_the_end() -> Look:
    order = OrderedDict(a=1, b=2)
    return lambda: order.move_to_end("a"), lambda: list(order.copy())


def keys_as_a_set() -> Look:
    items = {"a": 1}
    keys = items.keys()
    return lambda: items.update(b=2), lambda: sorted(keys | set())


def union_of_a_proxy() -> Look:
    items = {"a": 1}
    proxy = types.MappingProxyType(items)
    return lambda: items.update(a=2), lambda: proxy | {}


def class_by_its_dictionary() -> Look:
    class Settings:
        n = 0

    return lambda: setattr(Settings, "n", 1), lambda: Settings.__dict__["n"]


def other_bases() -> Look:
    class A:
        v = 1

    class B:
        v = 2

    class C(A):
        pass

    return lambda: setattr(C, "__bases__", (B,)), lambda: C.v


def cause_of_an_exception() -> Look:
    error = ValueError()
    return lambda: setattr(error, "__cause__", KeyError()), lambda: error.__cause__ is None


def matched_class() -> Look:
    box = Box()

    def look() -> str:
        match box:
            case Box(n=0):
                return "zero"
            case _:
                return "other"

    return lambda: setattr(box, "n", 1), look


def unpacked_arguments() -> Look:
    items = [1]

    def number(*found: int) -> int:
        return len(found)

    return lambda: items.append(2), lambda: number(*items)


def template() -> Look:
    names = {"a": 1}
    return lambda: names.update(a=2), lambda: string.Template("$a").substitute(names)


def digest_of_bytes() -> Look:
    data = bytearray(b"a")
    first = hashlib.sha256(b"a").hexdigest()
    return lambda: operator.setitem(data, 0, 98), lambda: hashlib.sha256(data).hexdigest() == first


def updated_digest() -> Look:
    digest = hashlib.sha256()
    first = digest.hexdigest()
    return lambda: digest.update(b"a"), lambda: digest.hexdigest() == first


def sum_of_bytes() -> Look:
    data = bytearray(b"a")
    return lambda: operator.setitem(data, 0, 98), lambda: zlib.crc32(data) == zlib.crc32(b"a")


def encoded_bytes() -> Look:
    data = bytearray(b"a")
    return lambda: operator.setitem(data, 0, 98), lambda: base64.b64encode(data)


def child_of_an_element() -> Look:
    element = ET.Element("r")
    return lambda: ET.SubElement(element, "c"), lambda: len(element)


def members() -> Look:
    box = Box()
    return lambda: setattr(box, "m", 1), lambda: "m" in dict(inspect.getmembers(box))


def names() -> Look:
    box = Box()
    return lambda: setattr(box, "m", 1), lambda: "m" in dir(box)


def copied_deeply() -> Look:
    boxes = {"a": Box()}
    return lambda: setattr(boxes["a"], "n", 1), lambda: copy.deepcopy(boxes)["a"].n


def average() -> Look:
    values = [1, 3]
    return lambda: operator.setitem(values, 0, 5), lambda: statistics.mean(values)


def query() -> Look:
    values = {"a": 1}
    return lambda: values.update(a=2), lambda: urllib.parse.urlencode(values)


def replaced_instance() -> Look:
    point = Point()
    return lambda: setattr(point, "x", 1), lambda: dataclasses.replace(point).x


def equal_instances() -> Look:
    point = Point()
    return lambda: setattr(point, "x", 1), lambda: point == Point()


def namespace() -> Look:
    space = types.SimpleNamespace(v=0)
    return lambda: setattr(space, "v", 1), lambda: space == types.SimpleNamespace(v=0)


def length_hint() -> Look:
    items = [1, 2]
    iterator = iter(items)
    return lambda: items.append(3), lambda: operator.length_hint(iterator)


def weak_members() -> Look:
    box = Box()
    members: weakref.WeakSet[Box] = weakref.WeakSet()
    return lambda: members.add(box), lambda: len(members)


def level() -> Look:
    logger = logging.getLogger("treadle.tests.out_of_the_way")
    logger.setLevel(logging.DEBUG)
    return (
        lambda: logger.setLevel(logging.ERROR),
        lambda: logger.isEnabledFor(logging.INFO),
    )


def insertion_point() -> Look:
    items = [1, 3]
    return lambda: bisect.insort(items, 2), lambda: bisect.bisect(items, 2)


LOOKS: dict[Callable[[], Look], set[Any]] = {
    flags_of_a_context: {False, True},
    flags_as_a_mapping: {False, True},
    cleared_flags: {False, True},
    seed_of_a_generator: {False, True},
    patched_items: {1, 2},
    patched_by_a_decorator: {1, 2},
    positive_counts: {1, 5},
    negative_counts: {0, 3},
    view_and_base: {0, 7},
    packed_into: {0, 7},
    written_through: {b"", b"x"},
    class_by_its_dictionary: {0, 1},
    other_bases: {1, 2},
    cause_of_an_exception: {False, True},
    matched_class: {"zero", "other"},
    unpacked_arguments: {1, 2},
    template: {"1", "2"},
    digest_of_bytes: {False, True},
    updated_digest: {False, True},
    sum_of_bytes: {False, True},
    encoded_bytes: {b"YQ==", b"Yg=="},
    child_of_an_element: {0, 1},
    members: {False, True},
    names: {False, True},
    copied_deeply: {0, 1},
    average: {2, 4},
    query: {"a=1", "a=2"},
    replaced_instance: {0, 1},
    equal_instances: {False, True},
    namespace: {False, True},
    length_hint: {2, 3},
    weak_members: {0, 1},
    level: {False, True},
    insertion_point: {1, 2},
}


@pytest.mark.parametrize("make", LOOKS, ids=lambda make: make.__name__)
def test_both_outcomes_are_seen(make: Callable[[], Look]) -> None:
    assert looking(make) == set(map(repr, LOOKS[make]))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (chained_lists, [["a"], ["a", "b"]]),
        (
            chained_with_a_dictionary,  # whoever sees "x" begins with a dictionary that has "c"
            [
                ["a", "b"],
                ["a", "b", "c"],
                ["a", "b", "changed"],
                ["a", "changed"],
                ["a", "x", "b", "c"],
            ],
        ),
        (moved_to_the_end, [["a", "b"], ["b", "a"]]),
        (keys_as_a_set, [["a"], ["a", "b"]]),
        (union_of_a_proxy, [{"a": 1}, {"a": 2}]),
    ],
)
def test_containers_are_seen_before_and_after(
    make: Callable[[], Look], expected: list[object]
) -> None:
    assert looking(make) == set(map(repr, expected))


# Counted up by two threads: one update can be lost


def in_place(held: Any) -> None:
    held.n += 1


def by_a_descriptor() -> Iterator[Any]:
    class Slotted:
        __slots__ = ("n",)
        n: int

    held, slot = Slotted(), Slotted.__dict__["n"]
    held.n = 0
    yield lambda: slot.__set__(held, slot.__get__(held, Slotted) + 1)
    yield held.n


def by_a_cell() -> Iterator[Any]:
    count = 0

    def look() -> int:
        return count

    assert look.__closure__ is not None
    cell = look.__closure__[0]
    yield lambda: setattr(cell, "cell_contents", cell.cell_contents + 1)
    yield cell.cell_contents


def in_a_section() -> Iterator[Any]:
    parser = configparser.ConfigParser()
    parser["s"] = {"n": "0"}
    yield lambda: parser.set("s", "n", str(parser.getint("s", "n") + 1))
    yield parser.getint("s", "n")


def in_an_element() -> Iterator[Any]:
    element = ET.Element("r", n="0")
    yield lambda: element.set("n", str(int(element.get("n", "")) + 1))
    yield int(element.get("n", ""))


def in_a_node() -> Iterator[Any]:
    node: Any = ast.Constant(value=0)

    def count() -> None:
        node.value += 1

    yield count
    yield node.value


def in_shared_memory() -> Iterator[Any]:
    memory: Any = mmap.mmap(-1, 8)
    yield lambda: operator.setitem(memory, 0, memory[0] + 1)
    yield memory[0]


def in_a_number_of_c() -> Iterator[Any]:
    number = ctypes.c_int(0)

    def count() -> None:
        number.value += 1

    yield count
    yield number.value


def in_an_array() -> Iterator[Any]:
    numbers = array.array("i", [0])
    yield lambda: operator.setitem(numbers, 0, numbers[0] + 1)
    yield numbers[0]


def in_keywords() -> Iterator[Any]:
    made: functools.partial[dict[str, int]] = functools.partial(dict, n=0)
    yield lambda: operator.setitem(made.keywords, "n", made.keywords["n"] + 1)
    yield made()["n"]


def in_a_context_variable() -> Iterator[Any]:
    held = Box()
    variable: contextvars.ContextVar[Box] = contextvars.ContextVar("variable")

    def count() -> None:
        variable.set(held)
        in_place(variable.get())

    yield count
    yield held.n


def in_the_environment() -> Iterator[Any]:
    os.environ["TREADLE_OUT_OF_THE_WAY"] = "0"
    name = "TREADLE_OUT_OF_THE_WAY"
    yield lambda: operator.setitem(os.environ, name, str(int(os.environ[name]) + 1))
    yield int(os.environ[name])


def in_a_chain_of_maps() -> Iterator[Any]:
    maps = collections.ChainMap({}, {"n": 0})
    yield lambda: operator.setitem(maps, "n", maps["n"] + 1)
    yield maps["n"]


def behind_a_weak_reference() -> Iterator[Any]:
    held = Box()
    weak = weakref.ref(held)
    yield lambda: in_place(weak())
    yield held.n


def by_a_substitution() -> Iterator[Any]:
    held = Box()

    def replaced(_: object) -> str:
        in_place(held)
        return ""

    yield lambda: re.sub("a", replaced, "a")
    yield held.n


COUNTS = (
    by_a_descriptor, by_a_cell, in_a_section, in_an_element, in_a_node, in_shared_memory,
    in_a_number_of_c, in_an_array, in_keywords, in_a_context_variable, in_the_environment,
    in_a_chain_of_maps, behind_a_weak_reference, by_a_substitution,
)  # fmt: skip


@pytest.mark.parametrize("make", COUNTS, ids=lambda make: make.__name__)
def test_a_lost_update_is_seen(make: Callable[[], Iterator[Any]]) -> None:
    def program() -> Any:
        steps = make()
        count = next(steps)
        together(count, count)
        return next(steps)

    assert outcomes(program) == {"1", "2"}


# What two threads share and take from in turns


def _without_address(value: Any) -> str:
    return str(value).partition(" object at ")[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: csv.reader(io.StringIO("1\n2\n")),
        lambda: re.finditer(r"\d", "12"),
        lambda: itertools.groupby([1, 2]),
        lambda: zip([1, 2], [1, 2], strict=True),
        lambda: itertools.islice(itertools.count(), 2),
        lambda: iter(codecs.iterdecode([b"1", b"2"], "ascii")),
        lambda: iter(graphlib.TopologicalSorter({2: {1}}).static_order()),
    ],
)
def test_either_thread_is_first(make: Callable[[], Iterator[Any]]) -> None:
    first, second = (_without_address(value) for value in itertools.islice(make(), 2))

    def program() -> tuple[str, str]:
        source, taken = make(), {}

        def take(name: str) -> None:
            taken[name] = _without_address(next(source))

        together(lambda: take("a"), lambda: take("b"))
        return taken["a"], taken["b"]

    assert outcomes(program) == {repr((first, second)), repr((second, first))}


# Methods of libraries that are called as methods under test are


class Namesake:
    """Has methods that are called like those of others, and are never called."""

    def shuffle(self) -> None: ...

    def pack_into(self) -> None: ...

    def __get__(self, *_: object) -> None: ...

    def readinto(self) -> None: ...

    def heappush(self) -> None: ...


class Shuffler:
    """Has a method of a library in an attribute."""

    def __init__(self) -> None:
        self.shuffle = random.Random(3).shuffle


class Derived(random.Random):
    """Inherits a method of a library."""


SHUFFLED = [1, 2, 3]
random.Random(3).shuffle(SHUFFLED)


def by_a_generator() -> Look:
    items = [1, 2, 3]

    def change() -> None:
        numbers = random.Random(3)
        numbers.shuffle(items)

    return change, lambda: items == SHUFFLED


def by_an_attribute() -> Look:
    items = [1, 2, 3]

    def change() -> None:
        shuffler = Shuffler()
        shuffler.shuffle(items)

    return change, lambda: items == SHUFFLED


def by_what_is_inherited() -> Look:
    items = [1, 2, 3]

    def change() -> None:
        numbers = Derived(3)
        numbers.shuffle(items)

    return change, lambda: items == SHUFFLED


def by_a_struct() -> Look:
    data = bytearray(4)

    def change() -> None:
        layout = struct.Struct("<i")
        layout.pack_into(data, 0, 1)

    return change, lambda: data[0] == 1


def by_a_stream() -> Look:
    data = bytearray(1)

    def change() -> None:
        stream = io.BytesIO(b"a")
        stream.readinto(data)

    return change, lambda: data == b"a"


def by_a_module() -> Look:
    items = [1]

    def change() -> None:
        heapq.heappush(items, 0)

    return change, lambda: len(items) == 2


@pytest.mark.parametrize(
    "make",
    [
        by_a_generator, by_an_attribute, by_what_is_inherited, by_a_struct, by_a_stream,
        by_a_module,
    ],
)  # fmt: skip
def test_a_method_is_not_known_by_its_name(make: Callable[[], Look]) -> None:
    assert looking(make) == {"False", "True"}


# Programs that real threads told apart, and an exploration did not


@pytest.mark.parametrize(
    "program",
    [
        Program("list", "bisect.insort(x, K(2), key=number)", "x[:] = keys(5, 6)"),
        Program("OrderedDict", "x.popitem()", "list(reversed(x))"),
        Program("OrderedDict", "x.pop(K(1))", "list(reversed(x))"),
        Program("OrderedDict", "del x[K(1)]", "list(reversed(x))"),
        Program("Counter", "x.clear()", "+x"),
        Program("dict", "x.pop(K(1))", "list(itertools.chain(x, x))"),
        Program("bytes", "x.append(4)", "x[:] = (n for n in (4, 5))"),
    ],
    ids=str,
)
def test_what_real_threads_showed_is_reached(program: Program) -> None:
    found = compare(program)
    assert found.wrong == []
    assert found.complete


def test_a_slice_cannot_be_replaced_by_what_is_no_iterable() -> None:
    """C code says so, in its own words."""

    def told(items: Any) -> str:
        try:
            items[:] = object()
        except TypeError as error:
            return str(error)
        return ""

    def program() -> str:
        items, found = [1], []
        together(lambda: found.append(told(items)), lambda: len(items))
        return found[0]

    assert told([1])
    assert outcomes(program) == {repr(told([1]))}

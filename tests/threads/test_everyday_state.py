"""State that everyday code keeps in other places than lists and dictionaries.

Each program has all outcomes that real threads have; with a lock there is one. The programs are
small: two threads change something, or one changes it and the other one looks.
"""

from __future__ import annotations

import argparse
import array
import builtins
import collections
import contextlib
import copy
import csv
import dataclasses
import decimal
import enum
import functools
import inspect
import io
import itertools
import json
import logging
import operator
import pickle
import random
import re
import string
import struct
import threading
import types
import typing
import weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from together import outcomes, together

import treadle

Body = Callable[[], Any]

PROGRAMS: dict[str, tuple[Body, set[str]]] = {}


def program(*expected: Any) -> Callable[[Body], Body]:
    def register(make: Body) -> Body:
        PROGRAMS[make.__name__] = make, set(map(repr, expected))
        return make

    return register


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_outcome_is_seen(name: str) -> None:
    make, expected = PROGRAMS[name]
    assert outcomes(make) == expected


def seen(change: Body, look: Body) -> Any:
    """Run both, and return what was seen, or which error."""
    found: list[Any] = []

    def try_to_look() -> None:
        try:
            found.append(look())
        except Exception as error:
            found.append(type(error).__name__)

    together(change, try_to_look)
    return found[0]


def twice(body: Body) -> None:
    together(body, body)


class Box:
    n = 0


# Containers


@program(1, 2)
def items_of_an_array() -> int:
    numbers = array.array("i", [0])

    def up() -> None:
        numbers[0] += 1

    twice(up)
    return numbers[0]


@program([0, 0], [0, 1])
def length_of_an_array() -> list[int]:
    numbers = array.array("i")
    twice(lambda: numbers.append(len(numbers)))
    return list(numbers)


@program(1, 2)
def chain_of_maps() -> int:
    chain = ChainMap({}, {"n": 0})

    def up() -> None:
        chain["n"] = chain["n"] + 1

    twice(up)
    return chain["n"]


@program(0, 1)
def below_in_a_chain_of_maps() -> Any:
    low = {"n": 0}
    chain: ChainMap[str, int] = ChainMap({}, low)
    return seen(lambda: low.update(n=1), lambda: chain["n"])


@program(0, 1)
def maps_of_a_chain() -> Any:
    chain: ChainMap[str, int] = ChainMap({"n": 0})
    return seen(lambda: chain.maps.insert(0, {"n": 1}), lambda: chain["n"])


@program("abc", "bca")
def order_of_a_dictionary() -> Any:
    ordered = OrderedDict.fromkeys("abc")
    return seen(lambda: ordered.move_to_end("a"), lambda: "".join(list(ordered)))


@program(1, 2)
def dictionary_in_python() -> int:
    held = UserDict(n=0)

    def up() -> None:
        held["n"] += 1

    twice(up)
    return held["n"]


@program(1, 2)
def list_in_python() -> int:
    held: UserList[int] = UserList()

    def first() -> None:
        if not held:
            held.append(1)

    twice(first)
    return len(held)


@program(1, 2)
def weak_values() -> int:
    made: list[Box] = []
    known: weakref.WeakValueDictionary[str, Box] = weakref.WeakValueDictionary()

    def get() -> None:
        if "k" not in known:
            made.append(Box())
            known["k"] = made[-1]

    twice(get)
    return len(made)


@program(1, 2)
def weak_keys() -> int:
    key = Box()
    counts: weakref.WeakKeyDictionary[Box, int] = weakref.WeakKeyDictionary({key: 0})

    def up() -> None:
        counts[key] += 1

    twice(up)
    return counts[key]


@program(1, 2)
def weak_set() -> int:
    box, added = Box(), []
    known: weakref.WeakSet[Box] = weakref.WeakSet()

    def add() -> None:
        if box not in known:
            known.add(box)
            added.append(1)

    twice(add)
    return len(added)


@program(0, 1)
def view_of_memory() -> Any:
    data = bytearray(1)
    view = memoryview(data)

    def change() -> None:
        view[0] = 1

    return seen(change, lambda: data[0])


@program(0, 7)
def packed_into_a_buffer() -> Any:
    data = bytearray(4)
    return seen(
        lambda: struct.pack_into("<i", data, 0, 7), lambda: struct.unpack_from("<i", data)[0]
    )


@program(b"aa", b"xa")
def buffer_of_a_stream() -> Any:
    stream = io.BytesIO(b"aa")
    view = stream.getbuffer()

    def change() -> None:
        view[0:1] = b"x"

    try:
        return seen(change, lambda: bytes(view))
    finally:
        view.release()


@program(False, True)
def view_of_keys() -> Any:
    held: dict[str, int] = {}
    keys = held.keys()
    return seen(lambda: held.update(a=1), lambda: "a" in keys)


@program(0, 1)
def read_only_view() -> Any:
    held = {"n": 0}
    view = types.MappingProxyType(held)
    return seen(lambda: held.update(n=1), lambda: view["n"])


@program([1], [1, 1])
def list_in_a_named_tuple() -> list[int]:
    pair: Any = collections.namedtuple("pair", "items")([])

    def first() -> None:
        if not pair.items:
            pair.items.append(1)

    twice(first)
    return list(pair.items)


@program(1, 2)
def object_in_a_frozen_set() -> int:
    held = frozenset([Box()])

    def up() -> None:
        for box in held:
            box.n += 1

    twice(up)
    return next(iter(held)).n


@program([2, 1], [2, 2], [1, 2])
def swapped_items() -> list[int]:
    pair = [1, 2]

    def swap() -> None:
        pair[0], pair[1] = pair[1], pair[0]

    twice(swap)
    return pair


@program((0, 1), (1, 0))
def counted_by_a_counter() -> tuple[int, int]:
    letters: Counter[str] = Counter()
    first: list[int] = []

    def up() -> None:
        first.append(letters["a"])
        letters["a"] = 1

    twice(up)
    return (0, 1) if first == [0, 1] else (1, 0) if first == [0, 0] else (9, 9)


@program(3, 2)
def a_hint_of_the_length() -> Any:
    held = [1, 2]
    return seen(lambda: held.append(3), lambda: operator.length_hint(held))


# Attributes


@program(1, 2)
def attributes_of_a_namespace() -> int:
    space = types.SimpleNamespace(n=0)

    def up() -> None:
        space.n += 1

    twice(up)
    return int(space.n)


@program(1, 2)
def namespace_of_arguments() -> int:
    space = argparse.Namespace(n=0)

    def up() -> None:
        space.n += 1

    twice(up)
    return int(space.n)


@dataclasses.dataclass(slots=True)
class Slots:
    n: int = 0
    items: list[int] = dataclasses.field(default_factory=list)


@program(1, 2)
def slots_of_a_data_class() -> int:
    held = Slots()

    def up() -> None:
        held.n += 1

    twice(up)
    return held.n


class Colour(enum.Enum):
    RED = 1


@program(1, 2)
def attribute_of_a_member() -> int:
    Colour.RED.count = 0  # type: ignore[attr-defined]

    def up() -> None:
        Colour.RED.count += 1  # type: ignore[attr-defined]

    twice(up)
    return Colour.RED.count  # type: ignore[attr-defined, no-any-return]


class Word(str):
    n = 0


@program(1, 2)
def attribute_of_a_string() -> int:
    word = Word("a")

    def up() -> None:
        word.n += 1

    twice(up)
    return word.n


@program(1, 2)
def attribute_of_a_function() -> int:
    def up() -> None:
        up.n += 1  # type: ignore[attr-defined]

    up.n = 0  # type: ignore[attr-defined]
    twice(up)
    return up.n  # type: ignore[attr-defined, no-any-return]


@program(1, 2)
def content_of_a_cell() -> Any:
    n = 1
    cell = (lambda: n).__closure__[0]  # type: ignore[index]

    def change() -> None:
        cell.cell_contents = 2

    return seen(change, lambda: n)


@program(1, 2)
def defaults_of_a_function() -> Any:
    def f(n: int = 1) -> int:
        return n

    def change() -> None:
        f.__defaults__ = (2,)

    return seen(change, f)


@program(1, 2)
def class_of_an_object() -> Any:
    class One:
        def m(self) -> int:
            return 1

    class Two(One):
        def m(self) -> int:
            return 2

    held = One()

    def change() -> None:
        held.__class__ = Two

    return seen(change, lambda: held.m())


@program(1, 2)
def bases_of_a_class() -> Any:
    class One:
        v = 1

    class Two:
        v = 2

    class Both(One):
        pass

    def change() -> None:
        Both.__bases__ = (Two,)

    return seen(change, lambda: Both.v)


@program(0, 1)
def dictionary_of_an_object() -> Any:
    box = Box()
    box.n = 0

    def change() -> None:
        box.__dict__ = {"n": 1}

    return seen(change, lambda: box.n)


class Kept:
    """A descriptor with one value for all."""

    def __init__(self) -> None:
        self.value = 0

    def __get__(self, obj: Any, kind: Any = None) -> int:
        return self.value

    def __set__(self, obj: Any, value: int) -> None:
        self.value = value


@program(1, 2)
def value_of_a_descriptor() -> int:
    class Owner:
        n = Kept()

    one, other = Owner(), Owner()

    def up(owner: Owner) -> None:
        owner.n += 1

    together(lambda: up(one), lambda: up(other))
    return one.n


# Classes and what they register


class Single(type):
    made: typing.ClassVar[dict[type, Any]] = {}

    def __call__(cls) -> Any:
        if cls not in Single.made:
            Single.made[cls] = super().__call__()
        return Single.made[cls]


@program(False, True)
def made_by_a_metaclass() -> bool:
    Single.made.clear()

    class Only(metaclass=Single):
        pass

    got: list[Any] = []
    twice(lambda: got.append(Only()))
    return got[0] is got[1]


class Plugin:
    known: typing.ClassVar[list[type]] = []

    def __init_subclass__(cls) -> None:
        if not Plugin.known:
            Plugin.known.append(cls)


@program(1, 2)
def registered_subclasses() -> int:
    Plugin.known.clear()

    def define() -> None:
        class Mine(Plugin):
            pass

    twice(define)
    return len(Plugin.known)


class Named:
    names: typing.ClassVar[list[str]] = []

    def __set_name__(self, owner: type, name: str) -> None:
        self.names.append(name)


@program(0, 1)
def names_of_fields() -> Any:
    Named.names.clear()

    def define() -> None:
        class Mine:
            x = Named()

    return seen(define, lambda: len(Named.names))


class Lazy(type):
    def __getattr__(cls, name: str) -> Any:
        value = object()
        setattr(cls, name, value)
        return value


@program(False, True)
def attributes_that_a_metaclass_makes() -> bool:
    class Mine(metaclass=Lazy):
        pass

    got: list[Any] = []
    twice(lambda: got.append(Mine.thing))
    return got[0] is got[1]


class Described:
    x: int


def described(x: int) -> None:
    """Have an annotation."""


@program(1, 2)
def annotations_of_a_class() -> Any:
    Described.__annotations__.pop("y", None)

    def change() -> None:
        Described.__annotations__["y"] = str

    try:
        return seen(change, lambda: len(typing.get_type_hints(Described)))
    finally:
        Described.__annotations__.pop("y", None)


@program(1, 2)
def count_in_annotations() -> Any:
    Described.__annotations__["n"] = 0

    def up() -> None:
        Described.__annotations__["n"] += 1

    try:
        twice(up)
        return Described.__annotations__["n"]
    finally:
        del Described.__annotations__["n"]


@program("(x: int) -> None", "(x: str) -> None")
def annotations_of_a_function() -> Any:
    described.__annotations__.update({"x": int, "return": None})

    def change() -> None:
        described.__annotations__["x"] = str

    return seen(change, lambda: str(inspect.signature(described)))


# What is gone through


def count() -> Iterator[int]:
    yield from itertools.count(1)


@program(1, 2, "ValueError")
def a_generator() -> Any:
    numbers = count()
    return seen(lambda: take(numbers), lambda: next(numbers))


def take(numbers: Iterator[Any]) -> None:
    with contextlib.suppress(ValueError):
        next(numbers)


SHARED_ITERATORS: dict[str, Callable[[], Iterator[Any]]] = {
    "count": itertools.count,
    "cycle": lambda: itertools.cycle([0, 1]),
    "list": lambda: iter([0, 1]),
    "reversed": lambda: reversed([1, 0]),
    "dict": lambda: iter({0: "a", 1: "b"}),
    "zip": lambda: (first for first in [0, 1]),
    "enumerate": lambda: map(operator.itemgetter(0), enumerate("ab")),
    "map": lambda: map(int, "01"),
    "filter": lambda: filter(lambda n: n >= 0, [0, 1]),
    "islice": lambda: itertools.islice([0, 1], 2),
    "chain": lambda: itertools.chain([0], [1]),
    "accumulate": lambda: itertools.accumulate([0, 1]),
    "starmap": lambda: itertools.starmap(int, [("0",), ("1",)]),
    "matches": lambda: map(int, map(re.Match.group, re.finditer("[01]", "0 1"))),
    "lines": lambda: map(int, io.StringIO("0\n1\n")),
    "rows": lambda: map(int, map(operator.itemgetter(0), csv.reader(["0", "1"]))),
}


@pytest.mark.parametrize("name", SHARED_ITERATORS)
def test_an_iterator_that_threads_share(name: str) -> None:
    def who_gets_what() -> Any:
        iterator = SHARED_ITERATORS[name]()
        return seen(lambda: take(iterator), lambda: next(iterator))

    assert {"0", "1"} <= outcomes(who_gets_what) <= {"0", "1", "'ValueError'"}


# What libraries hold


@program(1, 2)
def content_of_a_cache() -> int:
    calls = []

    @functools.lru_cache
    def slow(n: int) -> int:
        calls.append(n)
        return n

    twice(lambda: slow(1))
    return len(calls)


@program(0, 1)
def size_of_a_cache() -> Any:
    @functools.lru_cache
    def slow(n: int) -> int:
        return n

    return seen(lambda: slow(1), lambda: slow.cache_info().currsize)


@program([], [1])
def callbacks_of_a_stack() -> Any:
    called: list[int] = []
    stack = contextlib.ExitStack()
    together(lambda: stack.callback(called.append, 1), stack.close)
    return called


@program("0.3333", "0.33")
def precision_of_a_context() -> Any:
    context = decimal.Context(prec=4)

    def change() -> None:
        context.prec = 2

    return seen(change, lambda: str(context.divide(1, 3)))


@program(False, True)
def flags_of_a_context() -> Any:
    context = decimal.Context(prec=2, traps=[])
    return seen(lambda: context.divide(1, 3), lambda: context.flags[decimal.Inexact])


@program(28, 3)
def default_context() -> Any:
    before = decimal.DefaultContext.prec

    def change() -> None:
        decimal.DefaultContext.prec = 3

    try:
        return seen(change, lambda: decimal.getcontext().prec)
    finally:
        decimal.DefaultContext.prec = before


@program("a", "b")
def generator_of_random_numbers() -> Any:
    numbers = random.Random(1)
    first = random.Random(1).random()
    return seen(numbers.random, lambda: "a" if numbers.random() == first else "b")


@program(False, True)
def the_dictionary_of_loggers() -> Any:
    loggers = logging.root.manager.loggerDict
    loggers.pop("treadle_test", None)
    try:
        return seen(
            lambda: logging.getLogger("treadle_test"),
            lambda: "treadle_test" in logging.root.manager.loggerDict,
        )
    finally:
        loggers.pop("treadle_test", None)


@program(0, 2)
def children_among_the_loggers() -> Any:
    loggers = logging.Logger.manager.loggerDict

    def mine() -> list[str]:
        return [name for name in list(loggers) if name.startswith("treadle_test")]

    for name in mine():
        del loggers[name]
    try:
        return seen(lambda: logging.root.getChild("treadle_test.child"), lambda: len(mine()))
    finally:
        for name in mine():
            del loggers[name]


@program(0, 1)
def notes_of_an_exception() -> Any:
    error = ValueError()
    return seen(lambda: error.add_note("a"), lambda: len(getattr(error, "__notes__", ())))


@program(1, 2)
def a_note_that_is_added_once() -> int:
    error = ValueError()

    def add() -> None:
        if not getattr(error, "__notes__", None):
            error.add_note("a")

    twice(add)
    return len(error.__notes__)


@program("a", "b")
def a_builtin_that_is_replaced() -> Any:
    before = builtins.input
    builtins.input = lambda *_: "a"

    def change() -> None:
        builtins.input = lambda *_: "b"

    try:
        return seen(change, lambda: input())
    finally:
        builtins.input = before


@program(1, 2)
def a_name_for_all_modules() -> int:
    builtins.treadle_count = 0  # type: ignore[attr-defined]

    def up() -> None:
        before = treadle_count  # type: ignore[name-defined] # noqa: F821
        builtins.treadle_count = before + 1  # type: ignore[attr-defined]

    try:
        twice(up)
        return int(treadle_count)  # type: ignore[name-defined] # noqa: F821
    finally:
        del builtins.treadle_count  # type: ignore[attr-defined]


# Shared objects inside of new ones


@dataclasses.dataclass
class Pair:
    x: int
    y: list[int]


class Holder:
    def __init__(self, held: list[int]) -> None:
        self.held = held


class SlotHolder:
    __slots__ = ("held",)

    def __init__(self, held: list[int]) -> None:
        self.held = held


INSIDE: dict[str, Callable[[list[int]], Any]] = {
    "asdict": lambda held: len(dataclasses.asdict(Pair(1, held))["y"]),
    "replace": lambda held: len(copy.deepcopy(dataclasses.replace(Pair(1, held), x=2)).y),
    "deepcopy": lambda held: len(copy.deepcopy(Holder(held)).held),
    "deepcopy of slots": lambda held: len(copy.deepcopy(SlotHolder(held)).held),
    "pickle": lambda held: len(pickle.loads(pickle.dumps(Holder(held))).held),
    "pickle of a list": lambda held: len(pickle.loads(pickle.dumps([held]))[0]),
    "words of a namespace": lambda held: repr(types.SimpleNamespace(a=held)).count("0"),
    "comparison": lambda held: 1 + (types.SimpleNamespace(a=held) != types.SimpleNamespace(a=[0])),
    "words of an error": lambda held: repr(ValueError(held)).count("0"),
    "json": lambda held: json.dumps({"a": held}).count("0"),
    "json by default": lambda held: json.dumps(Holder(held), default=vars).count("0"),
    "field of a format": lambda held: f"{Holder(held).held}".count("0"),
    "formatter": lambda held: string.Formatter().format("{0.held}", Holder(held)).count("0"),
    "template": lambda held: string.Template("$a").substitute({"a": held}).count("0"),
    "row": lambda held: _row([held]).count("0"),
}


def _row(rows: Any) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("name", INSIDE)
def test_what_a_new_object_holds_is_seen(name: str) -> None:
    look = INSIDE[name]

    def change_and_look() -> Any:
        held = [0]
        return seen(lambda: held.append(0), lambda: look(held))

    assert outcomes(change_and_look) == {"1", "2"}


# No false alarm


RIGHT: dict[str, tuple[Body, Callable[[Any], None], Callable[[Any], Any], Any]] = {
    "array": (lambda: array.array("i", [0]), lambda a: a.__setitem__(0, a[0] + 1), list, [2]),
    "chain": (lambda: ChainMap({"n": 0}), lambda m: m.update(n=m["n"] + 1), dict, {"n": 2}),
    "user": (lambda: UserDict(n=0), lambda d: d.update(n=d["n"] + 1), dict, {"n": 2}),
    "deque": (deque, lambda d: d.append(len(d)), list, [0, 1]),
    "default": (lambda: defaultdict(list), lambda d: d["a"].append(1), dict, {"a": [1, 1]}),
    "namespace": (
        lambda: types.SimpleNamespace(n=0), lambda s: setattr(s, "n", s.n + 1), vars, {"n": 2},
    ),
    "slots": (Slots, lambda s: setattr(s, "n", s.n + 1), lambda s: s.n, 2),
    "context": (
        lambda: decimal.Context(prec=2), lambda c: setattr(c, "prec", c.prec + 1),
        lambda c: c.prec, 4,
    ),
    "notes": (ValueError, lambda e: e.add_note("a"), lambda e: len(e.__notes__), 2),
    "stack": (
        contextlib.ExitStack, lambda s: s.callback(int), lambda s: len(s._exit_callbacks), 2,
    ),
    "counter": (Counter, lambda c: c.update("a"), dict, {"a": 2}),
    "iterator": (itertools.count, next, next, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_with_a_lock_there_is_one_outcome(name: str) -> None:
    make, change, look, expected = RIGHT[name]

    def guarded() -> Any:
        held, lock = make(), threading.Lock()

        def body() -> None:
            with lock:
                change(held)

        twice(body)
        return look(held)

    assert outcomes(guarded) == {repr(expected)}


# What is refused, and what is named


def test_a_builtin_that_treadle_needs_cannot_be_replaced() -> None:
    def test() -> None:
        before = builtins.len

        def change() -> None:
            builtins.len = lambda _: 42

        try:
            together(change, lambda: len([]))
        finally:
            builtins.len = before

    with pytest.raises(treadle.TreadleError, match=r"replaces builtins\.len, which Treadle itself"):
        treadle.explore(test)
    assert len([]) == 0


def test_defaults_by_keyword_are_named() -> None:
    def test() -> None:
        def f(*, n: int = 1) -> int:
            return n

        def change() -> None:
            f.__kwdefaults__["n"] = 2  # type: ignore[index]

        together(change, f)

    result = treadle.explore(test)
    assert any("function.__kwdefaults__() at" in note for note in result.notes)

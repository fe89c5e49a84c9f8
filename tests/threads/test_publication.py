"""What threads can reach by detours is shared as well: exact counts of lost updates.

In each program two threads run the same code, which increments something once. The two reads and
the two writes have four orders that make a difference, and in two of them an update is lost.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import sys
import threading
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import treadle

Body = Callable[[], Any]
Program = Callable[[], tuple[Body, Callable[[], int]]]
"""Returns what both threads run, and what tells the count at the end."""

PROGRAMS: dict[str, Program] = {}


def program(make: Program) -> Program:
    PROGRAMS[make.__name__] = make
    return make


def explored(make: Callable[[], tuple[list[Body], Body]], algorithm: str) -> tuple[int, set[Any]]:
    """Explore a program; return the number of executions, and what there is at the end."""
    finals: set[Any] = set()

    def test() -> None:
        bodies, final = make()
        threads = [threading.Thread(target=body) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with treadle.atomic():
            finals.add(final())

    result = treadle.explore(test, algorithm=algorithm)
    assert result.complete, result
    assert not result.failures
    return result.executions, finals


@program
def call() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __call__(self) -> None:
            hits["n"] += 1

    return Thing(), lambda: hits["n"]


@program
def init() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __init__(self) -> None:
            hits["n"] += 1

    return Thing, lambda: hits["n"]


@program
def new() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __new__(cls) -> Any:
            hits["n"] += 1
            return super().__new__(cls)

    return Thing, lambda: hits["n"]


@program
def getitem() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __getitem__(self, key: int) -> int:
            hits["n"] += 1
            return key

    return lambda: Thing()[0], lambda: hits["n"]


@program
def iteration() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __iter__(self) -> Any:
            hits["n"] += 1
            return iter(())

    return lambda: list(Thing()), lambda: hits["n"]


@program
def length() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __len__(self) -> int:
            hits["n"] += 1
            return 0

    return lambda: len(Thing()), lambda: hits["n"]


@program
def equality() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __eq__(self, other: object) -> bool:
            hits["n"] += 1
            return True

    return lambda: Thing() == 1, lambda: hits["n"]


@program
def hashing() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __hash__(self) -> int:
            hits["n"] += 1
            return 1

    return lambda: {Thing()}, lambda: hits["n"]


@program
def missing_attribute() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __getattr__(self, name: str) -> int:
            hits["n"] += 1
            return 1

    return lambda: Thing().x, lambda: hits["n"]


@program
def init_subclass() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __init_subclass__(cls) -> None:
            hits["n"] += 1

    return lambda: type("Derived", (Thing,), {}), lambda: hits["n"]


@program
def property_getter() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        @property
        def x(self) -> int:
            hits["n"] += 1
            return 1

    return lambda: Thing().x, lambda: hits["n"]


@program
def static_method() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        @staticmethod
        def hit() -> None:
            hits["n"] += 1

    return lambda: Thing.hit(), lambda: hits["n"]


@program
def class_method() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        @classmethod
        def hit(cls) -> None:
            hits["n"] += 1

    return lambda: Thing.hit(), lambda: hits["n"]


@program
def abstract_base() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing(abc.ABC):
        def hit(self) -> None:
            hits["n"] += 1

        @abc.abstractmethod
        def name(self) -> str: ...

    class Derived(Thing):
        def name(self) -> str:
            return "derived"

    return Derived().hit, lambda: hits["n"]


@program
def base() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def hit(self) -> None:
            hits["n"] += 1

    class Derived(Thing):
        pass

    return Derived().hit, lambda: hits["n"]


@program
def metaclass() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing(type):
        def hit(cls) -> None:
            hits["n"] += 1

    class Derived(metaclass=Thing):
        pass

    return lambda: Derived.hit(), lambda: hits["n"]


@program
def descriptor() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __get__(self, owner: object, kind: type) -> int:
            hits["n"] += 1
            return 1

    class Holder:
        x = Thing()

    return lambda: Holder().x, lambda: hits["n"]


@program
def dataclass_post_init() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    @dataclasses.dataclass
    class Thing:
        def __post_init__(self) -> None:
            hits["n"] += 1

    return Thing, lambda: hits["n"]


@program
def dataclass_factory() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    def fresh() -> int:
        hits["n"] += 1
        return 0

    @dataclasses.dataclass
    class Thing:
        x: int = dataclasses.field(default_factory=fresh)

    return Thing, lambda: hits["n"]


@program
def setter() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        @property
        def x(self) -> int:
            return 1

        @x.setter
        def x(self, value: int) -> None:
            hits["n"] += value

    return lambda: setattr(Thing(), "x", 1), lambda: hits["n"]


@program
def context_manager() -> tuple[Body, Callable[[], int]]:
    hits = {"n": 0}

    class Thing:
        def __enter__(self) -> None:
            hits["n"] += 1

        def __exit__(self, *error: object) -> None:
            pass

    def enter() -> None:
        with Thing():
            pass

    return enter, lambda: hits["n"]


@program
def attribute_of_base() -> tuple[Body, Callable[[], int]]:
    class Base:
        stats: typing.ClassVar = {"n": 0}

    class Derived(Base):
        def hit(self) -> None:
            self.stats["n"] += 1

    return Derived().hit, lambda: Base.stats["n"]


@program
def special_attribute() -> tuple[Body, Callable[[], int]]:
    class Thing:
        __stats__: typing.ClassVar = {"n": 0}

        def hit(self) -> None:
            self.__stats__["n"] += 1

    return Thing().hit, lambda: Thing.__stats__["n"]


@program
def attribute_of_metaclass() -> tuple[Body, Callable[[], int]]:
    class Meta(type):
        total = 0

    class Thing(metaclass=Meta):
        pass

    def hit() -> None:
        Meta.total = Thing.total + 1

    return hit, lambda: Thing.total


@program
def new_named_tuple() -> tuple[Body, Callable[[], int]]:
    kind: Any = collections.namedtuple("Pair", "stats other")
    pair = kind({"n": 0}, 1)
    assert kind.__module__ == __name__

    def hit() -> None:
        pair.stats["n"] += 1

    return hit, lambda: pair.stats["n"]


@program
def new_class_by_a_method_of_type() -> tuple[Body, Callable[[], int]]:
    class Meta(type):
        pass

    def hit(self: Any) -> None:
        self.n += 1

    kind: Any = type.__call__(Meta, "Counter", (), {"n": 0, "hit": hit})
    assert kind.__module__ == __name__
    counter = kind()
    return counter.hit, lambda: counter.n


@program
def new_enumeration() -> tuple[Body, Callable[[], int]]:
    kind: Any = enum.Enum("Colour", "RED GREEN")
    kind.RED.hits = 0

    def hit() -> None:
        kind.RED.hits += 1

    return hit, lambda: kind.RED.hits


@program
def new_module() -> tuple[Body, Callable[[], int]]:
    module: Any = types.ModuleType("plugin")
    module.stats = {"n": 0}

    def hit() -> None:
        module.stats["n"] += 1

    return hit, lambda: module.stats["n"]


@program
def attribute_of_new_module() -> tuple[Body, Callable[[], int]]:
    module: Any = types.ModuleType("plugin")
    module.n = 0

    def hit() -> None:
        module.n += 1

    return hit, lambda: module.n


class Subscriber:
    """Somebody who is told about events."""

    def __init__(self) -> None:
        self.got = 0

    def hit(self) -> None:
        self.got += 1


@program
def weak_reference() -> tuple[Body, Callable[[], int]]:
    subscriber = Subscriber()
    reference: Any = weakref.ref(subscriber)
    return lambda: reference().hit(), lambda: subscriber.got


@program
def weak_parent() -> tuple[Body, Callable[[], int]]:
    class Node:
        def __init__(self, parent: Any = None) -> None:
            self.n = 0
            self.parent: Any = parent and weakref.ref(parent)

        def hit(self) -> None:
            self.parent().n += 1

    root = Node()
    return Node(root).hit, lambda: root.n


@program
def weak_method() -> tuple[Body, Callable[[], int]]:
    subscriber = Subscriber()
    method: Any = weakref.WeakMethod(subscriber.hit)
    return lambda: method()(), lambda: subscriber.got


@program
def weak_proxy() -> tuple[Body, Callable[[], int]]:
    subscriber = Subscriber()
    proxy = weakref.proxy(subscriber)

    def hit() -> None:
        proxy.got += 1

    return hit, lambda: subscriber.got


@program
def weak_proxy_of_list() -> tuple[Body, Callable[[], int]]:
    numbers = type("Numbers", (list,), {})([0])
    proxy: Any = weakref.proxy(numbers)

    def hit() -> None:
        proxy[0] += 1

    return hit, lambda: int(numbers[0])


class Watched:
    """A class that says itself how its attributes are found."""

    def __init__(self) -> None:
        self.n = 0

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("algorithm", ["optimal", "sleep"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_update_is_lost_in_two_of_four_executions(name: str, algorithm: str) -> None:
    def make() -> tuple[list[Body], Body]:
        hit, count = PROGRAMS[name]()
        return [hit, hit], count

    assert explored(make, algorithm) == (4, {1, 2})


def hit_all(subscribers: Any) -> None:
    for one in list(subscribers):
        one.hit()


WEAK_CONTAINERS: dict[str, tuple[Callable[[Subscriber], Any], Callable[[Any], None]]] = {
    "set": (lambda one: weakref.WeakSet([one]), hit_all),
    "values": (lambda one: weakref.WeakValueDictionary({1: one}), lambda found: found[1].hit()),
    "keys": (lambda one: weakref.WeakKeyDictionary({one: 1}), hit_all),
}


@pytest.mark.parametrize("name", WEAK_CONTAINERS)
def test_what_a_weak_container_holds_is_shared(name: str) -> None:
    contain, hit = WEAK_CONTAINERS[name]

    def make() -> tuple[list[Body], Body]:
        subscriber = Subscriber()
        container = contain(subscriber)
        return [lambda: hit(container)] * 2, lambda: subscriber.got

    # The library's code is one step, taken to change the container: one of two is the first.
    assert explored(make, "optimal") == (8, {1, 2})


def test_what_a_finalizer_calls_is_shared() -> None:
    def make() -> tuple[list[Body], Body]:
        hits = {"n": 0}
        subscribers = [Subscriber(), Subscriber()]

        def count() -> None:
            hits["n"] += 1

        first, second = (weakref.finalize(one, count) for one in subscribers)
        return [lambda: first(), lambda: second()], lambda: (len(subscribers), hits["n"])

    assert explored(make, "optimal") == (4, {(2, 1), (2, 2)})


def test_a_dead_reference_leads_nowhere() -> None:
    def make() -> tuple[list[Body], Body]:
        reference = weakref.ref(Subscriber())
        proxy = weakref.proxy(Subscriber())

        def look() -> None:
            assert reference() is None
            with pytest.raises(ReferenceError):
                proxy.hit()

        return [look, look], lambda: None

    assert explored(make, "optimal") == (1, {None})


def test_a_cached_property_has_a_lock_up_to_python_3_11() -> None:
    def make() -> tuple[list[Body], Body]:
        hits = {"n": 0}

        class Thing:
            @functools.cached_property
            def x(self) -> int:
                hits["n"] += 1
                return 1

        return [lambda: Thing().x] * 2, lambda: hits["n"]

    locked = (2, {2})
    assert explored(make, "optimal") == (locked if sys.version_info < (3, 12) else (4, {1, 2}))


def test_a_class_may_say_how_its_attributes_are_found() -> None:
    def make() -> tuple[list[Body], Body]:
        watched = Watched()
        seen: list[int] = []

        def write() -> None:
            watched.n = 1

        return [write, lambda: seen.append(watched.n)], lambda: seen[0]

    # The hook before the attribute is a read, and `object.__getattribute__` is another one.
    assert explored(make, "optimal") == (3, {0, 1})


def test_an_object_that_says_how_its_attributes_are_found_goes_everywhere() -> None:
    def make() -> tuple[list[Body], Body]:
        watched = Watched()
        keys = {watched: 1}
        items = [watched]

        def use() -> None:
            assert keys[watched] == 1
            assert watched in items
            assert [one for one in items if one] == list(items)
            assert f"{watched}{items!r}" != str(watched)
            assert isinstance(watched, Watched)

        return [use, use], lambda: None

    assert explored(make, "optimal") == (1, {None})


GENERATORS: dict[str, tuple[Callable[[list[int]], Any], int]] = {
    "list": (lambda numbers: (one for one in numbers), 3),
    "filter": (lambda numbers: (one for one in numbers if one), 3),
    "nested": (lambda numbers: (one for row in [numbers] for one in row), 4),
    "index": (lambda numbers: (numbers[index] for index in range(1)), 2),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_made_before_its_list_is_shared(name: str) -> None:
    make_generator, expected = GENERATORS[name]

    def make() -> tuple[list[Body], Body]:
        numbers = [0]
        generator = make_generator(numbers)
        seen: list[int] = []

        def write() -> None:
            numbers[0] = 1

        return [write, lambda: seen.append(sum(generator))], lambda: seen[0]

    assert explored(make, "optimal") == (expected, {0, 1})


class Pair(tuple[int, int]):
    """A tuple with attributes."""

    me: Pair


def test_a_tuple_that_refers_to_itself() -> None:
    class Box:
        count = 0

    def test() -> int:
        box = Box()
        pair = box.pair = Pair((1, 2))  # type: ignore[attr-defined]
        pair.me = pair

        def count() -> None:
            box.count += 1

        thread = threading.Thread(target=count)
        thread.start()
        count()
        thread.join()
        return box.count

    result = treadle.explore(test)
    assert (result.complete, result.executions, result.failures) == (True, 4, [])

"""What classes, modules, functions and closures of libraries keep that are not instrumented."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from of_others import modules_of_others
from together import outcomes, together

import treadle
from treadle.python.accesses import keeping

SETTINGS = """
value = 0

class Holder:
    value = 0

holder = Holder()
"""
LIBRARY = """
import settings_that_others_keep as settings

class Counter:
    n = 0
    items = {}
    limit = None

    def __init__(self):
        self.limit = 3

    @classmethod
    def of_cls(cls):
        cls.n += 1

    def of_type(self):
        type(self).n = type(self).n + 1

    def of_variable(self):
        kind = type(self)
        kind.n += 1

    def of_class(self):
        self.__class__.n += 1

    def of_compiler(self):
        __class__.n += 1

    def by_itself(self):
        self.of_type()

    @staticmethod
    def static():
        Counter.n += 1

    def set_limit(self, limit):
        self.limit = limit

class Made:
    def __init__(self):
        Counter.n += 1

class New:
    def __new__(cls):
        Counter.n += 1
        return super().__new__(cls)

class Meta(type):
    def __call__(cls):
        Counter.n += 1
        return super().__call__()

class OfMeta(metaclass=Meta):
    pass

def named():
    Counter.n = Counter.n + 1

def by_setattr():
    setattr(Counter, "n", Counter.n + 1)

def calls():
    Counter.static()

def makes():
    Made()

def helper(kind):
    kind.n += 1

def gives():
    helper(Counter)

def item():
    Counter.items[1] = 1
    Counter.items.setdefault(2, 1)

def item_by_name():
    items = Counter.items
    items[1] = 1

def generator():
    yield
    Counter.n += 1

def module():
    settings.value += 1

def held():
    settings.holder.value += 1

def imported():
    from settings_that_others_keep import holder
    holder.value += 1

def function():
    function.n += 1

def around():
    n = 0
    found = []
    def change():
        nonlocal n
        n += 1
    def add():
        found.append(1)
    def look():
        return n, len(found)
    def reset():
        nonlocal n
        n = 0
        found.clear()
    return change, add, look, reset

change, add, look_around, reset_around = around()

def look():
    kept = (Counter.n, len(Counter.items), settings.value, settings.holder.value, function.n)
    return sum((*kept, *look_around()))

def reset():
    Counter.n = settings.value = settings.holder.value = function.n = 0
    Counter.items.clear()
    reset_around()

def local():
    counter = Counter()
    counter.limit = 5
    found = {}
    found[Counter] = counter.limit
    found.setdefault(settings.value, []).append(counter)
    return isinstance(counter, Counter) and Counter.limit is None
"""
CALLS: dict[str, Callable[[Any], object]] = {
    "named()": lambda of: of.named(),
    "Counter.of_cls()": lambda of: of.Counter.of_cls(),
    "Counter().of_type()": lambda of: of.Counter().of_type(),
    "Counter().of_variable()": lambda of: of.Counter().of_variable(),
    "Counter().of_class()": lambda of: of.Counter().of_class(),
    "Counter().of_compiler()": lambda of: of.Counter().of_compiler(),
    "Counter().by_itself()": lambda of: of.Counter().by_itself(),
    "Counter.static()": lambda of: of.Counter.static(),
    "Made()": lambda of: of.Made(),
    "New()": lambda of: of.New(),
    "OfMeta()": lambda of: of.OfMeta(),
    "by_setattr()": lambda of: of.by_setattr(),
    "calls()": lambda of: of.calls(),
    "makes()": lambda of: of.makes(),
    "gives()": lambda of: of.gives(),
    "item_by_name()": lambda of: of.item_by_name(),
    "list(generator())": lambda of: list(of.generator()),
    "module()": lambda of: of.module(),
    "held()": lambda of: of.held(),
    "imported()": lambda of: of.imported(),
    "function()": lambda of: of.function(),
    "change()": lambda of: of.change(),
    "add()": lambda of: of.add(),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A module that lies where the code of others does."""
    sources = {"settings_that_others_keep": SETTINGS, "counters_of_others": LIBRARY}
    with modules_of_others(tmp_path_factory.mktemp("others"), sources) as module:
        yield module


@pytest.mark.parametrize("call", CALLS)
def test_what_a_library_keeps_is_seen_before_and_after_a_call(library: Any, call: str) -> None:
    change = CALLS[call]

    def test() -> list[int]:
        library.function.n = 0
        library.reset()
        seen: list[int] = []
        together(lambda: change(library), lambda: seen.append(library.look()))
        return seen

    assert outcomes(test) == {"[0]", "[1]"}


def test_an_item_of_a_dictionary_of_a_class(library: Any) -> None:
    def test() -> list[int]:
        library.function.n = 0
        library.reset()
        seen: list[int] = []
        together(library.item, lambda: seen.append(library.look()))
        return seen

    assert outcomes(test) == {"[0]", "[2]"}


def test_objects_that_a_library_makes_and_classes_that_nobody_assigns(library: Any) -> None:
    def test() -> None:
        together(library.local, lambda: library.Counter().set_limit(2))

    result = treadle.explore(test)
    assert (result.ok, result.executions, result.notes) == (True, 1, [])


def test_code_whose_first_argument_is_an_empty_tuple_is_read() -> None:
    def code() -> int:
        return len(())

    assert not keeping.changes(code, None)

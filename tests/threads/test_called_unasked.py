"""Code of libraries that nobody calls by its name: operators, properties, making a class.

It changes what its library keeps, for an object that no other thread has. Whoever looks at that,
by a function or directly, sees it before and after.
"""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from of_others import modules_of_others
from together import outcomes, together

import treadle

OPERATORS = (
    "add", "iadd", "getitem", "setitem", "delitem", "contains", "bool", "iter", "call", "eq", "lt",
    "neg", "str", "format", "round", "abs", "next", "copy", "reduce", "enter", "hash", "len",
)  # fmt: skip
RESULTS = {
    "contains": "True", "bool": "True", "iter": "iter(())", "len": "3", "str": "'x'",
    "format": "'x'", "hash": "1", "reduce": "(int, ())",
}  # fmt: skip
"""What special methods have to return; the others return None."""
METHOD = """
    def __{name}__(self, *_):
        Counter.n += 1
        return {result}
"""
LIBRARY = """
class Counter:
    n = 0
    names = []
{methods}
    def __exit__(self, *error):
        pass

    @property
    def size(self):
        Counter.n += 1

    @size.setter
    def size(self, size):
        Counter.n += 1

    def __getattr__(self, name):
        if name != "other":
            raise AttributeError(name)
        Counter.n += 1

class Field:
    def __set_name__(self, owner, name):
        Counter.n += 1

    def __get__(self, obj, kind):
        Counter.n += 1

    def __set__(self, obj, value):
        Counter.n += 1

class Base:
    def __init_subclass__(cls):
        Counter.n += 1

class Meta(type):
    def __new__(meta, name, bases, namespace):
        Counter.n += 1
        return super().__new__(meta, name, bases, namespace)

class Plain:
    def __init__(self):
        self.n = 0

    def __len__(self):
        self.n += 1
        return self.n

class OfMeta(metaclass=Meta):
    pass

class Alone:
    def __init__(self):
        self.n = 0

    def __abs__(self):
        self.n = 1
        return 1

    def __hash__(self):
        self.n = 1
        return 1

class Zone:
    times = [1, 2]

    def __init__(self):
        self.infos = dict()

    def __len__(self):
        return self.times[0]

    def put(self, n):
        self.infos[n] = n

made_before = Counter()
zone_made_before = Zone()

def zone():
    return zone_made_before

def new_zone():
    return Zone()

def make():
    return Counter()

def look():
    return Counter.n

def increment():
    Counter.n += 1
"""


def _source() -> str:
    methods = [METHOD.format(name=name, result=RESULTS.get(name)) for name in OPERATORS]
    return LIBRARY.format(methods="".join(methods))


def _with(manager: Any) -> None:
    with manager:
        pass


def _if(value: Any) -> bool:
    if value:  # noqa: SIM103
        return True
    return False


def _set(obj: Any) -> None:
    obj.size = 1


def _class_with(of: Any) -> None:
    class _Has:
        field = of.Field()


def _subclass(of: Any) -> None:
    class _Sub(of.Base):  # type: ignore[misc]
        pass


def _by_metaclass(of: Any) -> None:
    class _Made(metaclass=of.Meta):
        pass


def _subclass_of_made(of: Any) -> None:
    class _Made(of.OfMeta):  # type: ignore[misc]
        pass


def _own(of: Any) -> Any:
    class Own(of.Counter):  # type: ignore[misc]
        pass

    return Own()


def _iadd(counter: Any) -> None:
    counter += 1


def _delete(counter: Any) -> None:
    del counter[1]


CALLS: dict[str, Callable[[Any], object]] = {
    "len": lambda of: len(of.Counter()),
    "+": lambda of: of.Counter() + 1,
    "+=": lambda of: _iadd(of.Counter()),
    "[]": lambda of: of.Counter()[1],
    "[]=": lambda of: operator.setitem(of.Counter(), 1, 1),
    "del": lambda of: _delete(of.Counter()),
    "in": lambda of: 1 in of.Counter(),
    "if": lambda of: _if(of.Counter()),
    "for": lambda of: [one for one in of.Counter()],  # noqa: C416
    "()": lambda of: of.Counter()(),
    "==": lambda of: of.Counter() == 1,
    "<": lambda of: of.Counter() < 1,
    "-": lambda of: -of.Counter(),
    "str": lambda of: str(of.Counter()),
    "f-string": lambda of: f"{of.Counter()}",
    "%": lambda of: "%s" % of.Counter(),  # noqa: UP031
    "round": lambda of: round(of.Counter()),
    "abs": lambda of: abs(of.Counter()),
    "hash": lambda of: hash(of.Counter()),
    "next": lambda of: next(of.Counter()),
    "sorted": lambda of: sorted([of.Counter(), of.Counter()]),
    "copy": lambda of: copy.copy(of.Counter()),
    "pickle": lambda of: pickle.dumps(of.Counter()),
    "with": lambda of: _with(of.Counter()),
    "property": lambda of: of.Counter().size,
    "setter": lambda of: _set(of.Counter()),
    "getattr": lambda of: getattr(of.Counter(), "size"),  # noqa: B009
    "__getattr__": lambda of: of.Counter().other,
    "result": lambda of: len(of.make()),
    "own class": lambda of: len(_own(of)),
    "__set_name__": _class_with,
    "__init_subclass__": _subclass,
    "by type": lambda of: type("Sub", (of.Base,), {}),
    "metaclass": _by_metaclass,
    "inherited metaclass": _subclass_of_made,
    "field by type": lambda of: type("Has", (), {"field": of.Field()}),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A module that lies where the code of others does."""
    sources = {"called_unasked_by_others": _source()}
    with modules_of_others(tmp_path_factory.mktemp("unasked"), sources) as module:
        yield module


def seen(library: Any, change: Callable[[Any], object], look: Callable[[], int]) -> set[str]:
    """Return what a thread sees of the count while another one changes it."""

    def test() -> int:
        library.Counter.n = 0
        found: list[int] = []
        together(lambda: change(library), lambda: found.append(look()))
        return found[0]

    return outcomes(test)


@pytest.mark.parametrize("call", CALLS)
def test_what_code_changes_that_nobody_calls_is_seen(library: Any, call: str) -> None:
    found = seen(library, CALLS[call], library.look)
    assert {"0", "1"} <= found | {"1" for one in found if one == "2"}
    assert len(found) > 1


@pytest.mark.parametrize("call", ["len", "with", "property", "metaclass", "__set_name__"])
def test_it_is_seen_without_a_call_of_the_library(library: Any, call: str) -> None:
    assert seen(library, CALLS[call], lambda: library.Counter.n) == {"0", "1"}


def test_a_class_that_a_function_changes_is_looked_at_directly(library: Any) -> None:
    found = seen(library, lambda of: of.increment(), lambda: library.Counter.n)
    assert found == {"0", "1"}


def test_descriptors_of_libraries_in_classes_under_test(library: Any) -> None:
    class Has:
        field = library.Field()

    def store(of: Any) -> None:
        Has().field = of

    assert seen(library, lambda _: Has().field, library.look) == {"0", "1"}
    assert seen(library, store, library.look) == {"0", "1"}


@pytest.mark.parametrize("function", [abs, hash])
def test_what_a_built_in_function_asks_of_a_shared_object(
    library: Any, function: Callable[[Any], int]
) -> None:
    def test() -> int:
        shared = library.Alone()
        found: list[int] = []
        together(lambda: function(shared), lambda: found.append(shared.n))
        return found[0]

    assert outcomes(test) == {"0", "1"}


def test_a_namespace_that_threads_share_is_named() -> None:
    shared: dict[str, Any] = {}

    class Shares(type):
        @classmethod
        def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> dict[str, Any]:
            return shared

    def make() -> None:
        class Made(metaclass=Shares):
            n = 1

    def test() -> None:
        shared.clear()
        found: list[bool] = []
        together(make, lambda: found.append("n" in shared))
        assert not found[0]

    result = treadle.explore(test)
    assert [failure.kind for failure in result.failures] == ["assertion"]
    assert any("stores its names in a dictionary that threads share" in one for one in result.notes)


def test_objects_that_change_nothing_but_themselves_are_no_steps(library: Any) -> None:
    result = treadle.explore(lambda: together(*[lambda: len(library.Plain())] * 2))
    assert (result.ok, result.executions, result.notes) == (True, 1, [])


def test_what_is_held_late_leaves_objects_their_names(library: Any) -> None:
    """The first execution gets hold of what a class keeps after it met an object of that class."""

    class Box:
        zone: Any

    def test() -> None:
        box = Box()
        library.zone()

        def put() -> None:
            box.zone = library.zone()
            box.zone.put(1)

        together(put, put)

    result = treadle.explore(test)
    assert (result.ok, result.failures, result.executions) == (True, [], 10)


def test_what_another_order_gets_hold_of_leaves_objects_their_names(library: Any) -> None:
    """What a class keeps is held in some executions only, and those are not the first."""

    class Box:
        is_made = False
        found: list[int]

    def test() -> None:
        box = Box()
        box.found = []

        def make() -> None:
            library.new_zone()
            box.found = []
            box.found.append(1)
            box.is_made = True

        def look() -> None:
            if not box.is_made:
                library.Zone.times  # noqa: B018
            len(box.found)

        together(make, look)

    result = treadle.explore(test)
    assert (result.ok, result.failures, result.executions) == (True, [], 4)

"""Accesses that hid from the rewriter: each program has all outcomes that real threads have."""

from __future__ import annotations

import collections
import functools
import io
import itertools
import operator
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from together import outcomes, together

Body = Callable[[], Any]


class Count:
    def __init__(self) -> None:
        self.n = 0

    def up(self) -> None:
        self.n += 1


PROGRAMS: dict[str, tuple[Callable[[], Any], set[Any]]] = {}


def program(*expected: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS[make.__name__] = make, set(expected)
        return make

    return register


@pytest.mark.parametrize("algorithm", ["optimal", "sleep"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_outcome_is_seen(name: str, algorithm: str) -> None:
    make, expected = PROGRAMS[name]
    assert outcomes(make, algorithm) == set(map(repr, expected))


def changed_and_seen(change: Body, look: Body) -> Any:
    """Run both, and return what was seen."""
    found: list[Any] = []
    together(change, lambda: found.append(look()))
    return found[0]


# Results of operators


class Shelf:
    """Whose operators return what it holds."""

    def __init__(self) -> None:
        self.items = [0]

    def __add__(self, other: Any) -> list[int]:
        return self.items

    def __or__(self, other: Any) -> list[int]:
        return self.items

    def __eq__(self, other: object) -> Any:
        return self.items

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Any:
        return self.items

    def __neg__(self) -> list[int]:
        return self.items


def _assign_first(items: list[int]) -> None:
    items[0] = 1


@program(0, 1)
def item_of_a_sum() -> Any:
    shelf = Shelf()
    return changed_and_seen(lambda: _assign_first(shelf.items), lambda: (shelf + 1)[0])


@program(0, 1)
def item_of_a_union() -> Any:
    shelf, other = Shelf(), Shelf()
    return changed_and_seen(lambda: _assign_first(shelf.items), lambda: (shelf | other)[0])


@program(0, 1)
def item_of_a_comparison() -> Any:
    shelf, other = Shelf(), Shelf()
    return changed_and_seen(lambda: _assign_first(shelf.items), lambda: (shelf == other)[0])


@program(True, False)
def truth_of_a_comparison() -> Any:
    shelf, other = Shelf(), Shelf()

    def look() -> bool:
        if shelf < other:  # noqa: SIM103
            return True
        return False

    return changed_and_seen(shelf.items.clear, look)


@program(0, 1)
def loop_over_a_sum() -> Any:
    shelf = Shelf()

    def look() -> int:
        for item in shelf + 1:
            return item
        return -1

    return changed_and_seen(lambda: _assign_first(shelf.items), look)


@program((0,), (1,))
def a_sum_unpacked() -> Any:
    shelf = Shelf()
    return changed_and_seen(lambda: _assign_first(shelf.items), lambda: (*(shelf + 1),))


@program(0, 1)
def sum_of_a_negation() -> Any:
    shelf = Shelf()
    return changed_and_seen(lambda: _assign_first(shelf.items), lambda: sum(-shelf))


# Constant operands


@program(True, False)
def equal_to_a_constant() -> Any:
    buffer = bytearray()
    return changed_and_seen(lambda: buffer.append(1), lambda: buffer == b"")


@program(True, False)
def constant_equal_to_it() -> Any:
    buffer = bytearray()
    return changed_and_seen(lambda: buffer.append(1), lambda: b"" != buffer)  # noqa: SIM300


@program(True, False)
def less_than_a_constant() -> Any:
    buffer = bytearray(b"a")
    return changed_and_seen(lambda: buffer.insert(0, 99), lambda: buffer < b"b")


@program(True, False)
def a_tuple_equal_to_a_constant() -> Any:
    buffer = bytearray()
    return changed_and_seen(lambda: buffer.append(1), lambda: (buffer, 1) == (b"", 1))


@program(True, False)
def a_string_of_a_library() -> Any:
    text = collections.UserString("a")
    return changed_and_seen(lambda: setattr(text, "data", "b"), lambda: text == "a")


@program("a1", "b1")
def a_string_of_a_library_formatted() -> Any:
    text = collections.UserString("a%d")
    return changed_and_seen(lambda: setattr(text, "data", "b%d"), lambda: str(text % 1))


@program(b"x", b"\x01x")
def a_constant_added() -> Any:
    buffer = bytearray()
    return changed_and_seen(lambda: buffer.append(1), lambda: bytes(buffer + b"x"))


@program(b"<>", b"<\x01>")
def a_constant_formatted() -> Any:
    buffer = bytearray()
    return changed_and_seen(lambda: buffer.append(1), lambda: b"<%b>" % buffer)


# Methods whose owner is published while the arguments are evaluated


def _spawn(body: Body) -> threading.Thread:
    thread = threading.Thread(target=body)
    thread.start()
    return thread


@program(0, 1)
def list_published_by_its_argument() -> Any:
    threads: list[Any] = []
    seen: list[int] = []
    threads.append(_spawn(lambda: seen.append(len(threads))))
    threads[0].join()
    return seen[0]


class Crew:
    def __init__(self) -> None:
        self.members: list[Any] = []
        self.seen = -1

    def _look(self) -> None:
        self.seen = len(self.members)

    @property
    def member(self) -> threading.Thread:
        return _spawn(self._look)

    def __pos__(self) -> threading.Thread:
        return _spawn(self._look)

    def __getitem__(self, index: int) -> threading.Thread:
        return _spawn(self._look)


def _joined(crew: Crew) -> int:
    crew.members[0].join()
    return crew.seen


@program(0, 1)
def list_published_by_a_property() -> Any:
    crew = Crew()
    crew.members.append(crew.member)
    return _joined(crew)


@program(0, 1)
def list_published_by_an_operator() -> Any:
    crew = Crew()
    crew.members.append(+crew)
    return _joined(crew)


@program(0, 1)
def list_published_by_an_item() -> Any:
    crew = Crew()
    crew.members.append(crew[0])
    return _joined(crew)


@program(0, 1)
def set_published_by_its_argument() -> Any:
    threads: set[Any] = set()
    seen: list[int] = []
    threads.add(_spawn(lambda: seen.append(len(threads))))
    next(iter(threads)).join()
    return seen[0]


@program(None, 1)
def dict_published_by_its_argument() -> Any:
    found: dict[str, Any] = {}
    seen: list[Any] = []

    def start() -> int:
        found["thread"] = _spawn(lambda: seen.append(found.get("a")))
        return 1

    found.setdefault("a", start())
    found["thread"].join()
    return seen[0]


# Callables that C code calls


@program(((1,), (2,)), ((2,), (1,)), ((1, 2), ()), ((), (1, 2)))
def sentinel() -> Any:
    stack = [0, 2, 1]
    taken: tuple[list[int], list[int]] = ([], [])

    def take(mine: list[int]) -> None:
        for item in iter(stack.pop, 0):
            mine.append(item)
            if not stack or stack[-1] == 0:
                return

    stack[:0] = [0, 0]
    together(lambda: take(taken[0]), lambda: take(taken[1]))
    return tuple(taken[0]), tuple(taken[1])


@program((1, 0), (0, 1))
def map_of_a_method_made_early() -> Any:
    """The list is published after `map` was given its method."""
    stack = [0, 1]
    popped = map(stack.pop, [-1])
    seen: list[int] = []
    other = threading.Thread(target=lambda: seen.append(stack.pop()))
    other.start()
    mine = next(popped)
    other.join()
    return mine, seen[0]


@program((1, 0), (0, 1))
def accumulate_of_a_method() -> Any:
    stack = [0, 1]

    def pop(*_: int) -> int:
        return stack.pop()

    seen: list[int] = []
    other = threading.Thread(target=lambda: seen.append(stack.pop()))
    other.start()
    mine = list(itertools.accumulate([9, 9], pop))[1]
    other.join()
    return mine, seen[0]


# What classes hold, read through instances that nobody else has


class Shape:
    sides = 3

    def name(self) -> str:
        return "shape"

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True

    def __add__(self, other: Any) -> int:
        return 1

    def __getitem__(self, key: Any) -> int:
        return 1

    def __contains__(self, key: Any) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        return iter([1])

    def __eq__(self, other: object) -> Any:
        return 1

    __hash__ = None  # type: ignore[assignment]

    def __call__(self) -> int:
        return 1

    def __enter__(self) -> int:
        return 1

    def __exit__(self, *_: Any) -> None:
        pass

    def __str__(self) -> str:
        return "1"


def _entered(shape: Any) -> Any:
    with shape as found:
        return found


SPECIAL: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "__len__": (lambda _: 2, lambda shape: len(shape) == 2),
    "__bool__": (lambda _: False, lambda shape: not shape),
    "__add__": (lambda *_: 2, lambda shape: shape + shape == 2),
    "__getitem__": (lambda *_: 2, lambda shape: shape[0] == 2),
    "__contains__": (lambda *_: False, lambda shape: 0 not in shape),
    "__iter__": (lambda _: iter([2]), lambda shape: [*shape] == [2]),
    "__eq__": (lambda *_: 2, lambda shape: (shape == shape) == 2),
    "__call__": (lambda _: 2, lambda shape: shape() == 2),
    "__enter__": (lambda _: 2, lambda shape: _entered(shape) == 2),
    "__str__": (lambda _: "2", lambda shape: f"{shape}" == "2"),
    "name": (lambda _: "2", lambda shape: shape.name() == "2"),
}


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("name", SPECIAL)
def test_methods_that_are_replaced(name: str, is_shared: bool) -> None:
    """Somebody replaces a method; who has an instance may find the old one or the new one."""
    new, look = SPECIAL[name]

    def test() -> Any:
        kind: Any = type("Kind", (Shape,), {})
        found: list[bool] = []
        shared = kind() if is_shared else None

        def body() -> None:
            found.append(look(shared if is_shared else kind()))

        together(lambda: setattr(kind, name, new), body)
        return found[0]

    assert outcomes(test) == {"False", "True"}


@program(("shape", "shape"), ("shape", "new"))
def a_method_that_was_called_before() -> Any:
    class Local(Shape):
        def describe(self) -> str:
            return "shape"

    def change() -> None:
        Local.describe = lambda _: "new"  # type: ignore[method-assign,assignment]

    before = Local().describe()
    return before, changed_and_seen(change, lambda: Local().describe())


@program("shape", "new")
def a_method_assigned_in_the_code() -> Any:
    class Local(Shape):
        def describe(self) -> str:
            return "shape"

    def change() -> None:
        Local.describe = lambda _: "new"  # type: ignore[method-assign,assignment]

    return changed_and_seen(change, lambda: Local().describe())


@program(None, 4)
def an_attribute_that_no_class_had() -> Any:
    class Local:
        pass

    def change() -> None:
        Local.corners = 4  # type: ignore[attr-defined]

    return changed_and_seen(change, lambda: getattr(Local(), "corners", None))


@program(1, 2)
def code_of_a_function() -> Any:
    def one() -> int:
        return 1

    def two() -> int:
        return 2

    def change() -> None:
        one.__code__ = two.__code__

    return changed_and_seen(change, lambda: one())


@program(1, 2)
def defaults_of_a_function() -> Any:
    def one(n: int = 1) -> int:
        return n

    def change() -> None:
        one.__defaults__ = (2,)

    return changed_and_seen(change, lambda: one())


@program(1, 2)
def defaults_by_setattr() -> Any:
    def one(n: int = 1) -> int:
        return n

    return changed_and_seen(lambda: setattr(one, "__defaults__", (2,)), lambda: one())


# Namespaces

limit = 0
late = 0


def _reset() -> None:
    globals()["limit"] = 0
    globals().pop("fresh", None)


@program(0, 1)
def a_global_by_globals() -> Any:
    _reset()
    return changed_and_seen(lambda: globals().__setitem__("limit", 1), lambda: limit)


@program(0, 1)
def a_global_by_update() -> Any:
    _reset()
    return changed_and_seen(lambda: globals().update(limit=1), lambda: limit)


@program(0, 1)
def a_global_by_setattr() -> Any:
    _reset()
    module = sys.modules[__name__]
    return changed_and_seen(lambda: setattr(module, "limit", 1), lambda: limit)


@program(0, 1)
def a_global_by_vars() -> Any:
    _reset()
    module = sys.modules[__name__]
    return changed_and_seen(lambda: operator.setitem(vars(module), "limit", 1), lambda: limit)


@program(0, 1)
def a_global_by_exec() -> Any:
    _reset()
    return changed_and_seen(lambda: exec("global limit; limit = 1"), lambda: limit)


@program(False, True)
def a_global_that_appears() -> Any:
    _reset()
    return changed_and_seen(lambda: globals().__setitem__("fresh", 1), lambda: "fresh" in globals())


@program(1, 2)
def an_object_in_a_global() -> Any:
    globals()["late"] = Count()
    together(lambda: late.up(), lambda: late.up())  # type: ignore[attr-defined]
    return late.n  # type: ignore[attr-defined]


@program(1, 2)
def names_of_a_namespace() -> Any:
    namespace = {"n": 0}
    together(*[lambda: exec("n += 1", namespace)] * 2)
    return namespace["n"]


@program(1, 2)
def names_of_local_variables() -> Any:
    namespace = {"n": 0}
    together(*[lambda: exec("n += 1", {}, namespace)] * 2)
    return namespace["n"]


@program(1, 2)
def globals_of_executed_functions() -> Any:
    namespace: dict[str, Any] = {}
    exec("n = 0\ndef up():\n    global n\n    n += 1", namespace)
    together(namespace["up"], namespace["up"])
    return namespace["n"]


@program(0, 1)
def globals_of_an_executed_function_and_its_dictionary() -> Any:
    namespace: dict[str, Any] = {}
    exec("n = 0\ndef look():\n    return n", namespace)
    return changed_and_seen(lambda: namespace.update(n=1), namespace["look"])


@program(0, 1)
def evaluated() -> Any:
    namespace = {"n": 0}
    return changed_and_seen(lambda: namespace.update(n=1), lambda: eval("n", namespace))


# Attributes of objects in C


@program(False, True)
def whether_a_stream_is_closed() -> Any:
    stream = io.StringIO()
    return changed_and_seen(stream.close, lambda: stream.closed)


@program(False, True)
def whether_a_buffer_is_closed() -> Any:
    stream = io.BytesIO()
    return changed_and_seen(stream.close, lambda: getattr(stream, "closed"))  # noqa: B009


@program(True, False)
def whether_a_generator_has_ended() -> Any:
    numbers = iter(())
    generator = (n for n in numbers)
    return changed_and_seen(lambda: next(generator, None), lambda: generator.gi_frame is not None)


@program(0, 1)
def keywords_of_a_partial() -> Any:
    call = functools.partial(dict, n=0)
    return changed_and_seen(lambda: call.keywords.update(n=1), lambda: call()["n"])


@program(1, 2)
def an_attribute_of_a_partial() -> Any:
    call: Any = functools.partial(dict)
    call.n = 0

    def up() -> None:
        call.n += 1

    together(up, up)
    return call.n


class Point(tuple[int, int]):
    """A tuple with attributes."""

    n = 0


@program(1, 2)
def an_attribute_of_a_tuple() -> Any:
    point = Point((1, 2))
    point.n = 0

    def up() -> None:
        point.n += 1

    together(up, up)
    return point.n


# Classes that classes know


@program(0, 1)
def subclasses() -> Any:
    class Base:
        pass

    kept: list[type] = []

    def define() -> None:
        class Plugin(Base):
            pass

        kept.append(Plugin)

    return changed_and_seen(define, lambda: len(Base.__subclasses__()))


@program(0, 1)
def subclasses_by_type() -> Any:
    class Base:
        pass

    kept: list[type] = []

    def define() -> None:
        kept.append(type("Plugin", (Base,), {}))

    return changed_and_seen(define, lambda: len(Base.__subclasses__()))


@program(1, 2)
def an_attribute_of_a_subclass() -> Any:
    class Base:
        pass

    together(lambda: Base)
    kept = type("Plugin", (Base,), {"n": 0})

    def up() -> None:
        Base.__subclasses__()[0].n += 1  # type: ignore[attr-defined]

    together(up, up)
    return kept.n  # type: ignore[attr-defined]


# Factories


@program(1, 2)
def factory_in_python() -> Any:
    """Both may find the key missing; then the later object replaces the other."""
    shared: Any = defaultdict(Count)

    def up() -> None:
        shared["a"].n += 1

    together(up, up)
    return shared["a"].n


@program((2, 0), (1, 1))
def one_of_two_objects_is_lost() -> Any:
    made: list[Count] = []

    class Kept(Count):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    shared: Any = defaultdict(Kept)

    def up() -> None:
        with lock:
            pass
        found = shared["a"]
        with lock:
            found.n += 1

    lock = threading.Lock()
    together(up, up)
    final = shared["a"].n
    return final, sum(one.n for one in made) - final


@program((1,), (1, 1))
def factory_in_c() -> Any:
    """There is one list, and both look before they add."""
    shared: Any = defaultdict(list)

    def once() -> None:
        if not shared["a"]:
            shared["a"].append(1)

    together(once, once)
    return tuple(shared["a"])


@program((1,), (1, 1))
def factory_by_getitem() -> Any:
    shared: Any = defaultdict(list)

    def once() -> None:
        if not shared.__getitem__("a"):
            operator.getitem(shared, "a").append(1)

    together(once, once)
    return tuple(shared["a"])


@program(1, 2)
def what_a_factory_returns() -> Any:
    """It returns the same object to both."""
    only = Count()
    shared: Any = defaultdict(lambda: only)

    def up(key: str) -> None:
        shared[key].n += 1

    together(lambda: up("a"), lambda: up("b"))
    return only.n


@program(1, 2)
def factory_by_a_template() -> Any:
    shared: Any = defaultdict(Count)
    together(lambda: shared)
    assert "{a}".format_map(shared)
    assert "%(b)s" % shared  # noqa: UP031
    together(lambda: shared["a"].up(), lambda: shared["a"].up())
    together(lambda: shared["b"].up(), lambda: shared["b"].up())
    return min(shared["a"].n, shared["b"].n)


@program(0, "missing")
def a_factory_that_is_taken_away() -> Any:
    shared: Any = defaultdict(int)

    def look() -> Any:
        try:
            return shared["a"]
        except KeyError:
            return "missing"

    return changed_and_seen(lambda: setattr(shared, "default_factory", None), look)


# Iterators that remember


@program(1, 2)
def tee() -> Any:
    first, second = itertools.tee(Count() for _ in range(1))
    found: list[Count] = []

    def up(source: Iterator[Count]) -> None:
        count = next(source)
        found.append(count)
        count.n += 1

    together(lambda: up(first))
    third = threading.Thread(target=lambda: up(second))
    third.start()
    found[0].n += 1
    third.join()
    return found[0].n - 1


def _taken_twice(source: Iterator[Count]) -> int:
    """Two threads take the same object, one after the other."""
    lock = threading.Lock()
    found = []

    def up() -> None:
        with lock:
            count = next(source)
        count.n += 1
        found.append(count)

    together(up, up)
    return found[0].n


@program(1, 2)
def cycle() -> Any:
    return _taken_twice(itertools.cycle(Count() for _ in range(1)))


@program(1, 2)
def cycle_of_a_map() -> Any:
    return _taken_twice(itertools.cycle(map(_count, [0])))


@program(1, 2)
def chain_of_a_map() -> Any:
    return _taken_twice(itertools.chain.from_iterable(map(_two_counts, [0])))


def _count(n: int) -> Count:
    found = Count()
    found.n = n
    return found


def _two_counts(n: int) -> list[Count]:
    return [_count(n)] * 2


@program(1, 2)
def yielded_twice() -> Any:
    def same() -> Iterator[Count]:
        yield from [Count()] * 2

    return _taken_twice(same())


@program(0, 1)
def a_variable_of_a_generators_function() -> Any:
    total = 0

    def numbers() -> Iterator[int]:
        nonlocal total
        total = 1
        yield 1

    source = numbers()
    thread = threading.Thread(target=lambda: next(source))
    thread.start()
    seen = total
    thread.join()
    return seen


@program(0, 1)
def a_global_in_the_body_of_a_class() -> Any:
    _reset()

    def look() -> int:
        class Local:
            n = limit

        return Local.n

    return changed_and_seen(lambda: globals().update(limit=1), look)

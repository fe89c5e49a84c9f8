"""Ways to store an object × ways to reach it again: a race on the object is seen in each cell.

An object is put into something that others have already, by C code. Then two threads reach it there
and increment its count, once each: two reads and two writes, of which four orders make a
difference; in two of them an update is lost.
"""

from __future__ import annotations

import bisect
import copy
import dataclasses
import functools
import heapq
import itertools
import operator
import random
import types
from collections import ChainMap, OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from together import outcomes, together


class Stats:
    """What is stored."""

    kind = "stats"

    def __init__(self, n: int = 0) -> None:
        self.n = n

    def __lt__(self, other: Stats) -> bool:
        return False  # the order of addresses would be another one in each execution

    def __call__(self) -> Stats:
        return self


@dataclasses.dataclass(eq=False)
class Data:
    """Is stored as well."""

    n: int = 0


class Slotted:
    """Has a slot."""

    __slots__ = ("stats",)


class Holder:
    """Has attributes."""


class Pairs:
    """A mapping in Python."""

    def keys(self) -> Iterator[str]:
        yield "a"

    def __getitem__(self, key: str) -> Stats:
        return Stats()


class Rows:
    """A sequence in Python."""

    def __getitem__(self, index: int) -> Stats:
        if index:
            raise IndexError
        return Stats()


class Backwards(list[Any]):
    """A list that is gone through otherwise."""

    def __iter__(self) -> Iterator[Any]:
        yield Stats()


def one() -> Iterator[Stats]:
    """Make one, when it is asked for."""
    yield Stats()


def pair() -> Iterator[tuple[str, Stats]]:
    """Make one, with a key."""
    yield "a", Stats()


def count_up(reach: Callable[[Any], Any], shared: Any) -> None:
    """Increment the count of what is reached."""
    stats = reach(shared)
    stats.n += 1


def race(make: Callable[[], Any], store: Callable[[Any], Any], reach: Callable[[Any], Any]) -> None:
    """Store something in what is shared; two threads change it."""

    def program() -> Any:
        shared = make()
        together(lambda: shared)
        store(shared)
        together(lambda: count_up(reach, shared), lambda: count_up(reach, shared))
        return reach(shared).n

    assert outcomes(program) == {"1", "2"}


Store = Callable[[Any], Any]


def _slice(x: Any, values: Any) -> None:
    x[:] = values


def _add(x: Any, values: Any) -> None:
    x += values


def _or(x: Any, values: Any) -> None:
    x |= values


def _first_slot(x: Any, values: Any) -> None:
    x.append(None)
    x[0::2] = values


INTO_LISTS: dict[str, Store] = {
    "append": lambda x: x.append(Stats()),
    "extend list": lambda x: x.extend([Stats()]),
    "extend generator": lambda x: x.extend(one()),
    "extend expression": lambda x: x.extend(Stats() for _ in range(1)),
    "extend map": lambda x: x.extend(map(Stats, [0])),
    "extend map of C": lambda x: x.extend(map(operator.itemgetter(0), [(Stats(),)])),
    "extend filter": lambda x: x.extend(filter(None, [Stats()])),
    "extend iter": lambda x: x.extend(iter([Stats()])),
    "extend reversed": lambda x: x.extend(reversed([Stats()])),
    "extend chain": lambda x: x.extend(itertools.chain([Stats()])),
    "extend chain of generators": lambda x: x.extend(itertools.chain.from_iterable([one()])),
    "extend islice": lambda x: x.extend(itertools.islice(one(), 1)),
    "extend repeat": lambda x: x.extend(itertools.repeat(Stats(), 1)),
    "extend starmap": lambda x: x.extend(itertools.starmap(Stats, [(0,)])),
    "extend accumulate": lambda x: x.extend(itertools.accumulate([Stats()])),
    "extend tee": lambda x: x.extend(itertools.tee(one())[1]),
    "extend sentinel": lambda x: x.extend(iter([None, Stats()].pop, None)),
    "extend values": lambda x: x.extend({1: Stats()}.values()),
    "extend keys": lambda x: x.extend({Stats(): 1}.keys()),
    "extend ordered": lambda x: x.extend(OrderedDict(a=Stats()).values()),
    "extend deque": lambda x: x.extend(deque([Stats()])),
    "extend set": lambda x: x.extend({Stats()}),
    "extend dict": lambda x: x.extend({Stats(): 1}),
    "extend sequence": lambda x: x.extend(Rows()),
    "extend own list": lambda x: x.extend(Backwards()),
    "extend unbound": lambda x: list.extend(x, one()),
    "extend partial": lambda x: functools.partial(x.extend, one())(),
    "add list": lambda x: _add(x, [Stats()]),
    "add generator": lambda x: _add(x, one()),
    "add map": lambda x: _add(x, map(Stats, [0])),
    "add reversed": lambda x: _add(x, reversed([Stats()])),
    "operator.iadd": lambda x: operator.iadd(x, one()),
    "insert": lambda x: x.insert(0, Stats()),
    "slice list": lambda x: _slice(x, [Stats()]),
    "slice generator": lambda x: _slice(x, one()),
    "slice map": lambda x: _slice(x, map(Stats, [0])),
    "slice iter": lambda x: _slice(x, iter([Stats()])),
    "slice with step": lambda x: _first_slot(x, one()),
    "operator.setitem": lambda x: operator.setitem(x, slice(0, 0), one()),
    "__setitem__": lambda x: x.__setitem__(slice(0, 0), map(Stats, [0])),
    "__init__": lambda x: x.__init__(one()),
    "__iadd__": lambda x: x.__iadd__(one()),
    "heappush": lambda x: heapq.heappush(x, Stats()),
    "insort": lambda x: bisect.insort(x, Stats()),
    "insort by name": lambda x: bisect.insort(a=x, x=Stats(), key=id),
    "map of append": lambda x: list(map(x.append, one())),
    "methodcaller": lambda x: operator.methodcaller("extend", one())(x),
    "unpacked": lambda x: x.extend([*one()]),
}
FROM_LISTS: dict[str, Callable[[Any], Any]] = {
    "x[0]": lambda x: x[0],
    "x[-1]": lambda x: x[-1],
    "first of a slice": lambda x: x[:][0],
    "loop": lambda x: [item for item in x][0],  # noqa: C416, RUF015
    "next": lambda x: next(iter(x)),
    "unpacked": lambda x: [*x][0],  # noqa: RUF015
    "assigned": lambda x: (lambda first, *_: first)(*x),
    "copy": lambda x: x.copy()[0],
    "copied": lambda x: copy.copy(x)[0],
    "list": lambda x: list(x)[0],  # noqa: RUF015
    "map": lambda x: next(map(lambda item: item, x)),  # noqa: C417
    "filter": lambda x: next(filter(None, x)),
    "zip": lambda x: next(zip(x, x, strict=True))[1],
    "enumerate": lambda x: next(enumerate(x))[1],
    "reversed": lambda x: next(reversed(x)),
    "chain": lambda x: next(itertools.chain(x)),
    "islice": lambda x: next(itertools.islice(x, 1)),
    "sorted": lambda x: sorted(x, key=id)[0],
    "min": lambda x: min(x, key=lambda item: item.kind),
    "max": lambda x: max(x),
    "reduce": lambda x: functools.reduce(max, x),
    "itemgetter": lambda x: operator.itemgetter(0)(x),
    "getitem": lambda x: operator.getitem(x, 0),
    "nsmallest": lambda x: heapq.nsmallest(1, x)[0],
    "choice": lambda x: random.choice(x),
    "plus": lambda x: (x + [])[0],  # noqa: RUF005
    "times": lambda x: (x * 2)[1],
    "pattern": lambda x: _first_by_pattern(x),
    "any": lambda x: [item for item in x if any([item])][0],  # noqa: RUF015
    "called": lambda x: [item() for item in x][0],  # noqa: RUF015
    "popped and put back": lambda x: _borrow(x),
}


def _first_by_pattern(x: Any) -> Any:
    match x:
        case [first, *_]:
            return first


def _borrow(x: list[Any]) -> Any:
    stats = x[0]
    x.reverse()
    return stats


INTO_DICTS: dict[str, Store] = {
    "item": lambda x: x.__setitem__("a", Stats()),
    "update pairs": lambda x: x.update([("a", Stats())]),
    "update lists": lambda x: x.update([["a", Stats()]]),
    "update zip": lambda x: x.update(zip(["a"], [Stats()], strict=True)),
    "update generator": lambda x: x.update(pair()),
    "update expression": lambda x: x.update((key, Stats()) for key in "a"),
    "update keywords": lambda x: x.update(a=Stats()),
    "update list by keyword": lambda x: x.update(a=Data()),
    "update dict": lambda x: x.update({"a": Stats()}),
    "update view": lambda x: x.update({"a": Stats()}.items()),
    "update mapping": lambda x: x.update(Pairs()),
    "update proxy": lambda x: x.update(types.MappingProxyType({"a": Stats()})),
    "update chain map": lambda x: x.update(ChainMap({"a": Stats()})),
    "update both": lambda x: x.update(pair(), b=Stats()),
    "or dict": lambda x: _or(x, {"a": Stats()}),
    "or pairs": lambda x: _or(x, [("a", Stats())]),
    "or generator": lambda x: _or(x, pair()),
    "or zip": lambda x: _or(x, zip(["a"], [Stats()], strict=True)),
    "operator.ior": lambda x: operator.ior(x, pair()),
    "setdefault": lambda x: x.setdefault("a", Stats()),
    "__init__": lambda x: x.__init__(pair()),
    "dict.update": lambda x: dict.update(x, pair()),
    "dict.__setitem__": lambda x: dict.__setitem__(x, "a", Stats()),
    "fromkeys": lambda x: x.update(dict.fromkeys(["a"], Stats())),
    "methodcaller": lambda x: operator.methodcaller("update", pair())(x),
    "setitem": lambda x: operator.setitem(x, "a", Stats()),
    "exec": lambda x: exec("a = Stats()", {"Stats": Stats}, x),
    "exec update": lambda x: exec("x.update(pair())", {"x": x, "pair": pair}),
}
FROM_DICTS: dict[str, Callable[[Any], Any]] = {
    'x["a"]': lambda x: x["a"],
    "get": lambda x: x.get("a"),
    "values": lambda x: next(iter(x.values())),
    "items": lambda x: next(iter(x.items()))[1],
    "loop": lambda x: [x[key] for key in x][0],  # noqa: RUF015
    "setdefault": lambda x: x.setdefault("a", None),
    "copy": lambda x: x.copy()["a"],
    "merged": lambda x: {**x}["a"],
    "or": lambda x: (x | {})["a"],
    "keywords": lambda x: (lambda a, **_: a)(**x),
    "itemgetter": lambda x: operator.itemgetter("a")(x),
    "mapped": lambda x: next(map(x.get, ["a"])),
    "min": lambda x: min(x.values(), key=lambda item: item.kind),
    "eval": lambda x: eval("a", {}, x),
    "pattern": lambda x: _by_key(x),
    "chain map": lambda x: ChainMap({}, x)["a"],
}


def _by_key(x: Any) -> Any:
    match x:
        case {"a": found}:
            return found


INTO_SETS: dict[str, Store] = {
    "add": lambda x: x.add(Stats()),
    "update list": lambda x: x.update([Stats()]),
    "update generator": lambda x: x.update(one()),
    "update several": lambda x: x.update([], one()),
    "update map": lambda x: x.update(map(Stats, [0])),
    "update iter": lambda x: x.update(iter([Stats()])),
    "update keys": lambda x: x.update({Stats(): 1}),
    "or": lambda x: _or(x, {Stats()}),
    "symmetric difference": lambda x: x.symmetric_difference_update(one()),
    "operator.ior": lambda x: operator.ior(x, {Stats()}),
    "xor": lambda x: operator.ixor(x, {Stats()}),
    "unbound": lambda x: set.update(x, one()),
    "__init__": lambda x: x.__init__(one()),
}
FROM_SETS: dict[str, Callable[[Any], Any]] = {
    "loop": lambda x: [item for item in x][0],  # noqa: C416, RUF015
    "next": lambda x: next(iter(x)),
    "unpacked": lambda x: [*x][0],  # noqa: RUF015
    "sorted": lambda x: sorted(x, key=id)[0],
    "copy": lambda x: next(iter(x.copy())),
    "union": lambda x: next(iter(x | set())),
    "list": lambda x: list(x)[0],  # noqa: RUF015
}
INTO_DEQUES: dict[str, Store] = {
    "append": lambda x: x.append(Stats()),
    "appendleft": lambda x: x.appendleft(Stats()),
    "extend list": lambda x: x.extend([Stats()]),
    "extend generator": lambda x: x.extend(one()),
    "extend map": lambda x: x.extend(map(Stats, [0])),
    "extendleft": lambda x: x.extendleft(one()),
    "extendleft iter": lambda x: x.extendleft(iter([Stats()])),
    "add": lambda x: _add(x, one()),
    "add list": lambda x: _add(x, [Stats()]),
    "insert": lambda x: x.insert(0, Stats()),
    "__init__": lambda x: x.__init__(one()),
}
FROM_DEQUES: dict[str, Callable[[Any], Any]] = {
    "x[0]": lambda x: x[0],
    "loop": lambda x: [item for item in x][0],  # noqa: C416, RUF015
    "reversed": lambda x: next(reversed(x)),
    "rotated": lambda x: _rotate(x),
    "copy": lambda x: x.copy()[0],
}


def _rotate(x: Any) -> Any:
    x.rotate(1)
    return x[0]


INTO_OBJECTS: dict[str, Store] = {
    "attribute": lambda x: setattr(x, "stats", Stats()),
    "__dict__ item": lambda x: x.__dict__.__setitem__("stats", Stats()),
    "__dict__ update": lambda x: x.__dict__.update(stats=Stats()),
    "__dict__ pairs": lambda x: x.__dict__.update([("stats", Stats())]),
    "__dict__ generator": lambda x: x.__dict__.update((name, Stats()) for name in ["stats"]),
    "__dict__ or": lambda x: operator.ior(x.__dict__, {"stats": Stats()}),
    "vars": lambda x: vars(x).update(stats=Stats()),
    "vars item": lambda x: operator.setitem(vars(x), "stats", Stats()),
    "vars setdefault": lambda x: vars(x).setdefault("stats", Stats()),
    "object.__setattr__": lambda x: object.__setattr__(x, "stats", Stats()),
    "bound __setattr__": lambda x: x.__setattr__("stats", Stats()),
    "map of setattr": lambda x: list(map(setattr, [x], ["stats"], [Stats()])),
    "partial setattr": lambda x: functools.partial(setattr, x, "stats")(Stats()),
}
FROM_OBJECTS: dict[str, Callable[[Any], Any]] = {
    "attribute": lambda x: x.stats,
    "getattr": lambda x: getattr(x, "stats"),  # noqa: B009
    "vars": lambda x: vars(x)["stats"],
    "__dict__": lambda x: x.__dict__["stats"],
    "attrgetter": lambda x: operator.attrgetter("stats")(x),
    "values": lambda x: list(x.__dict__.values())[0],  # noqa: RUF015
    "raw": lambda x: object.__getattribute__(x, "stats"),
}
INTO_SLOTS: dict[str, Store] = {
    "attribute": lambda x: setattr(x, "stats", Stats()),
    "__set__": lambda x: Slotted.stats.__set__(x, Stats()),  # type: ignore[attr-defined]
    "descriptor": lambda x: type(x).__dict__["stats"].__set__(x, Stats()),
    "unbound": lambda x: types.MemberDescriptorType.__set__(Slotted.stats, x, Stats()),  # type: ignore[attr-defined]
    "object.__setattr__": lambda x: object.__setattr__(x, "stats", Stats()),
}
FROM_SLOTS: dict[str, Callable[[Any], Any]] = {
    "attribute": lambda x: x.stats,
    "__get__": lambda x: Slotted.stats.__get__(x),  # type: ignore[attr-defined]
}


def _new_class() -> Any:
    return type("New", (), {})


INTO_CLASSES: dict[str, Store] = {
    "attribute": lambda x: setattr(x, "stats", Stats()),
    "type.__setattr__": lambda x: type.__setattr__(x, "stats", Stats()),
    "bound": lambda x: type(x).__setattr__(x, "stats", Stats()),
    "subclass": lambda x: setattr(x, "stats", type("Sub", (x,), {"n": 0})),
}
FROM_CLASSES: dict[str, Callable[[Any], Any]] = {
    "attribute": lambda x: x.stats,
    "instance": lambda x: x().stats,
    "vars": lambda x: vars(x)["stats"],
    "type.__getattribute__": lambda x: type.__getattribute__(x, "stats"),
}
FACTORIES: dict[str, Callable[[], Any]] = {
    "class": lambda: Stats,
    "data class": lambda: Data,
    "partial": lambda: functools.partial(Stats, 0),
    "function": lambda: lambda: Stats(),
    "method": lambda: Stats().__call__,
    "object": lambda: Stats(),
    "C": lambda: types.SimpleNamespace,
}
FROM_FACTORIES: dict[str, Callable[[Any], Any]] = {
    'x["a"]': lambda x: x["a"],
    "get": lambda x: x.get("a"),
    "getitem": lambda x: operator.getitem(x, "a"),
    "values": lambda x: list(x.values())[0],  # noqa: RUF015
}

TABLE = {
    "list": (list, INTO_LISTS, FROM_LISTS),
    "dict": (dict, INTO_DICTS, FROM_DICTS),
    "ordered dict": (OrderedDict, INTO_DICTS, FROM_DICTS),
    "set": (set, INTO_SETS, FROM_SETS),
    "deque": (deque, INTO_DEQUES, FROM_DEQUES),
    "object": (Holder, INTO_OBJECTS, FROM_OBJECTS),
    "slot": (Slotted, INTO_SLOTS, FROM_SLOTS),
    "class": (_new_class, INTO_CLASSES, FROM_CLASSES),
}
CELLS = [
    pytest.param(make, into, out, id=f"{kind}: {stored}, {reached}")
    for kind, (make, stores, reaches) in TABLE.items()
    for number, (stored, into) in enumerate(stores.items())
    for place, (reached, out) in enumerate(reaches.items())
    # each way to store by the first way to reach, and the other way round
    if number == 0 or place == 0
]
EVERY_CELL = [
    pytest.param(make, into, out, id=f"{kind}: {stored}, {reached}")
    for kind, (make, stores, reaches) in TABLE.items()
    for stored, into in stores.items()
    for reached, out in reaches.items()
]


@pytest.mark.parametrize(("make", "store", "reach"), CELLS)
def test_what_c_code_stores_is_shared(make: Any, store: Store, reach: Any) -> None:
    race(make, store, reach)


@pytest.mark.minutes
@pytest.mark.parametrize(("make", "store", "reach"), EVERY_CELL)
def test_every_way_to_store_and_to_reach(make: Any, store: Store, reach: Any) -> None:
    race(make, store, reach)


LOOKING: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x[0] if x else None,
    "dict": lambda x: x.get("a"),
    "deque": lambda x: x[0] if x else None,
    "object": lambda x: getattr(x, "stats", None),
    "slot": lambda x: getattr(x, "stats", None),
}
"""How to look whether something is stored yet."""


@pytest.mark.parametrize(
    ("kind", "stored"), [(kind, stored) for kind in LOOKING for stored in TABLE[kind][1]]
)
def test_what_a_thread_stores_is_shared_at_once(kind: str, stored: str) -> None:
    """One thread stores and counts, another counts if there is something: it may lose an update."""
    make, stores, _ = TABLE[kind]

    def program() -> Any:
        shared: Any = make()
        found: list[Any] = []

        def store() -> None:
            stores[stored](shared)
            LOOKING[kind](shared).n += 1

        def look() -> None:
            stats = LOOKING[kind](shared)
            if stats is not None:
                stats.n += 1
                found.append(stats)

        together(store, look)
        return LOOKING[kind](shared).n, len(found)

    assert outcomes(program) == {"(1, 0)", "(1, 1)", "(2, 1)"}

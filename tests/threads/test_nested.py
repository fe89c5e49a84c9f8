"""C code that looks into what it is given: one thread changes something, another looks, once each.

Whoever of the two comes first decides what is seen. So there are two executions, and two outcomes.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import itertools
import random
import re
import struct
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import treadle

Body = Callable[[], Any]
Case = Callable[[], tuple[Body, Body]]


class Pair(NamedTuple):
    """A tuple with names."""

    number: int
    items: list[int]


class Holder:
    """An object with attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def outcomes(make: Case, algorithm: str) -> tuple[int, set[str]]:
    """Return the number of executions, and what the second thread saw in them."""
    seen: set[str] = set()

    def test() -> None:
        change, look = make()
        found = []
        threads = [
            threading.Thread(target=change),
            threading.Thread(target=lambda: found.append(look())),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with treadle.atomic():
            seen.add(repr(found[0]))

    result = treadle.explore(test, algorithm=algorithm, max_executions=100)
    assert result.complete, result
    return result.executions, seen


def growing(look: Callable[[list[int]], Any], *expected: Any) -> Any:
    """One thread adds 2 to the list `[1]`."""

    def make() -> tuple[Body, Body]:
        shared = [1]
        return lambda: shared.append(2), lambda: look(shared)

    return make, expected


def failing(look: Callable[[Exception], Any], *expected: Any) -> Any:
    """One thread adds 2 to the list `[1]` that an exception carries."""

    def make() -> tuple[Body, Body]:
        shared = ValueError([1])
        return lambda: shared.args[0].append(2), lambda: look(shared)

    return make, expected


def filling(look: Callable[[dict[str, list[int]]], Any], *expected: Any) -> Any:
    """One thread adds 2 to the empty list in a dictionary."""

    def make() -> tuple[Body, Body]:
        shared: dict[str, list[int]] = {"a": []}
        return lambda: shared["a"].append(2), lambda: look(shared)

    return make, expected


def assigning(look: Callable[[list[list[int]]], Any], *expected: Any) -> Any:
    """One thread makes the list `[[1, 0], [2, 1]]` begin with `[3, 0]`."""

    def make() -> tuple[Body, Body]:
        shared = [[1, 0], [2, 1]]
        first = shared[0]
        return lambda: first.__setitem__(0, 3), lambda: look(shared)

    return make, expected


def mapping(look: Callable[[dict[Any, int]], Any], *expected: Any) -> Any:
    """One thread makes the value of 97 in a dictionary 98, from 99."""

    def make() -> tuple[Body, Body]:
        shared = {97: 99}
        return lambda: shared.__setitem__(97, 98), lambda: look(shared)

    return make, expected


def in_bytes(look: Callable[[bytearray], Any], *expected: Any) -> Any:
    """One thread turns `0` into `1`."""

    def make() -> tuple[Body, Body]:
        shared = bytearray(b"0")
        return lambda: shared.__setitem__(0, 49), lambda: look(shared)

    return make, expected


def of_object(look: Callable[[Any], Any], kind: Any, *expected: Any) -> Any:
    """One thread assigns the attribute `a` of something, 0 before."""

    def make() -> tuple[Body, Body]:
        shared = kind(a=0)
        return lambda: setattr(shared, "a", 1), lambda: look(shared)

    return make, expected


def sorted_in_place(lists: list[list[int]]) -> int:
    """Sort a list of one's own that holds shared lists."""
    own = [lists[0], lists[1]]
    own.sort()
    return own[0][1]


def into_own_slice(shared: list[int]) -> list[int]:
    """Copy a shared list into a list of one's own."""
    own: list[int] = []
    own[:] = shared
    return own


def replaced(shared: Any) -> int:
    """Call a function of a module that is imported here, with the name of a method of `str`."""
    import dataclasses as imported

    copied: Any = imported.replace(shared)
    return copied.a  # type: ignore[no-any-return]


@dataclasses.dataclass
class Record:
    """A dataclass."""

    a: int


def proxied(look: Callable[[Any], Any], *expected: Any) -> Any:
    """One thread adds a key to what a mapping proxy shows."""

    def make() -> tuple[Body, Body]:
        shared = {"a": 0}
        proxy = types.MappingProxyType(shared)
        return lambda: shared.__setitem__("b", 1), lambda: look(proxy)

    return make, expected


def of_class(look: Callable[[Any], Any], *expected: Any) -> Any:
    """One thread assigns an attribute of a class."""

    def make() -> tuple[Body, Body]:
        class Kind:
            a = 0

        return lambda: setattr(Kind, "a", 1), lambda: look(Kind)

    return make, expected


CASES: dict[str, Any] = {
    # Operators on containers that nobody else has
    "tuple equality": growing(lambda s: (s, 1) == ([1], 1), True, False),
    "tuple on the right": growing(lambda s: ([1],) == (s,), True, False),  # noqa: SIM300
    "list equality": growing(lambda s: [s, 1] == [[1], 1], True, False),
    "dict equality": growing(lambda s: {"a": s} == {"a": [1]}, True, False),
    "named tuple equality": growing(lambda s: Pair(0, s) == Pair(0, [1]), True, False),
    "order": assigning(lambda s: (s[0],) < ([2],), True, False),
    "variable on the left": growing(lambda s: [t == ([1],) for t in [(s,)]], [True], [False]),
    "percent": growing(lambda s: "".join(["%", "s"]) % (s,), "[1]", "[1, 2]"),
    "slice assignment": growing(into_own_slice, [1], [1, 2]),
    # In words
    "f-string": growing(lambda s: f"{(s,)}", "([1],)", "([1, 2],)"),
    "repr": growing(lambda s: repr((s,)), "([1],)", "([1, 2],)"),
    "str of a named tuple": growing(
        lambda s: str(Pair(0, s)), "Pair(number=0, items=[1])", "Pair(number=0, items=[1, 2])"
    ),
    "format of a part": of_object(lambda o: "{.a}".format(o), Holder, "0", "1"),  # noqa: UP032
    "repr of a namespace": of_object(
        repr, types.SimpleNamespace, "namespace(a=0)", "namespace(a=1)"
    ),
    "namespace equality": of_object(
        lambda o: o == types.SimpleNamespace(a=0), types.SimpleNamespace, True, False
    ),
    "str of an exception": failing(str, "[1]", "[1, 2]"),
    # Going through
    "any of values": filling(lambda s: any(s.values()), False, True),
    "all of a generator": filling(lambda s: all(x for x in s.values()), False, True),
    "any of a tuple": filling(lambda s: any((s["a"],)), False, True),
    "any by name": filling(lambda s: [f(s.values()) for f in (any,)], [False], [True]),
    "filter": filling(lambda s: len(list(filter(None, s.values()))), 0, 1),
    "map bool": filling(lambda s: list(map(bool, s.values())), [False], [True]),
    "sorted generator": assigning(lambda s: sorted(x for x in s)[0][1], 0, 1),
    "min of a list": assigning(lambda s: min([s[0], s[1]])[1], 0, 1),
    "min of two": assigning(lambda s: min(s[0], s[1])[1], 0, 1),
    "min of three": assigning(lambda s: min(s[0], s[1], [9])[1], 0, 1),
    "sort": assigning(sorted_in_place, 0, 1),
    "sum of lists": assigning(lambda s: sum((s[0], s[1]), []), [1, 0, 2, 1], [3, 0, 2, 1]),  # noqa: RUF017
    # Membership
    "in list": assigning(lambda s: [1, 0] in s, True, False),
    "in own tuple": assigning(lambda s: [1, 0] in (s[0], s[1]), True, False),
    "in values": filling(lambda s: [] in s.values(), True, False),
    "count": assigning(lambda s: s.count([1, 0]), 1, 0),
    "count in one's own": assigning(lambda s: [s[0]].count([1, 0]), 1, 0),
    # Methods in C of classes, and of objects that nobody else has
    "fromkeys": growing(lambda s: list(dict.fromkeys(s)), [1], [1, 2]),
    "from_iterable": filling(lambda s: list(itertools.chain.from_iterable(s.values())), [], [2]),
    "from_bytes": in_bytes(lambda b: int.from_bytes(b, "big"), 48, 49),
    "join": in_bytes(lambda b: b"".join([b]), b"0", b"1"),
    "pattern": in_bytes(lambda b: re.compile(b"1").match(b) is None, True, False),
    "unpack": in_bytes(lambda b: struct.Struct("B").unpack(b), (48,), (49,)),
    "write": in_bytes(lambda b: (own := io.BytesIO()).write(b) and own.getvalue(), b"0", b"1"),
    "int": in_bytes(int, 0, 1),
    "float": in_bytes(lambda b: float(b), 0.0, 1.0),
    "translate": mapping(lambda d: "a".translate(d), "c", "b"),
    # Libraries
    "choice": growing(lambda s: random.choice(s) * 0, 0),
    "sample": growing(lambda s: random.sample(s, 1)[0] * 0, 0),
    "replace": of_object(replaced, Record, 0, 1),
    "getmembers": of_object(lambda o: dict(inspect.getmembers(o))["a"], Holder, 0, 1),
    "dir": of_object(lambda o: "a" in dir(o), lambda **_: Holder(), False, True),
    # Mapping proxies
    "proxy length": proxied(len, 1, 2),
    "proxy membership": proxied(lambda m: "b" in m, False, True),
    "proxy get": proxied(lambda m: m.get("b"), None, 1),
    "proxy list": proxied(list, ["a"], ["a", "b"]),
    "proxy made later": growing(lambda s: len(types.MappingProxyType({"a": s})["a"]), 1, 2),
    "dict of a class": of_class(lambda kind: kind.__dict__["a"], 0, 1),
    "vars of a class": of_class(lambda kind: vars(kind).get("a"), 0, 1),
}


@pytest.mark.parametrize("algorithm", ["optimal", "sleep"])
@pytest.mark.parametrize("name", CASES)
def test_both_orders_are_seen(name: str, algorithm: str) -> None:
    make, expected = CASES[name]
    executions = 3 if name == "replace" else 2  # which goes on after it made the new one
    assert outcomes(make, algorithm) == (executions, {repr(value) for value in expected})


def test_shuffle_writes() -> None:
    def make() -> tuple[Body, Body]:
        shared = [1, 1]
        return lambda: random.shuffle(shared), lambda: shared[0]

    assert outcomes(make, "optimal") == (2, {"1"})


def test_nothing_shared_is_no_event() -> None:
    """What looks into containers without anything shared in them makes no steps."""

    def look() -> Any:
        own = [[1, 0], [2, 1]]
        own.sort()
        return (own, 1) == ([], 1), any(own), sorted(x for x in own), f"{own}", [1, 0] in own

    def make() -> tuple[Body, Body]:
        shared = [1]
        return lambda: shared.append(2), look

    executions, seen = outcomes(make, "optimal")
    assert (executions, len(seen)) == (1, 1)


def test_hashing_looks_at_one_element() -> None:
    """A set finds a tuple without a look at the others."""

    def make() -> tuple[Body, Body]:
        shared = {(1, 2), (3, 4)}
        return lambda: shared.remove((1, 2)), lambda: (3, 4) in shared

    assert outcomes(make, "optimal") == (1, {"True"})

"""Decorators that touch what threads share: they are called as every other function is."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable
from typing import Any

import pytest
from together import Look, looking

from treadle.python.instrument.decode import decoded
from treadle.python.instrument.opcodes import NULL_LAST


def appended() -> Look:
    items: list[Any] = []

    def define() -> None:
        @items.append
        def one() -> None: ...

    return define, lambda: len(items)


def appended_closure() -> Look:
    items: list[Any] = []
    k = 1

    def define() -> None:
        @items.append
        def one(by: int = 2) -> int:
            return by + k

    return define, lambda: len(items)


def registered() -> Look:
    @functools.singledispatch
    def name(_: object) -> str:
        return "object"

    def define() -> None:
        @name.register
        def of_int(_: int) -> str:
            return "int"

    return define, lambda: name(1)


def by_a_function() -> Look:
    found: dict[str, Any] = {}

    def keep(function: Any) -> Any:
        found[function.__name__] = function
        return function

    def define() -> None:
        @keep
        def one() -> None: ...

    return define, lambda: "one" in found


def with_arguments() -> Look:
    found: dict[str, Any] = {}

    def define() -> None:
        @functools.partial(found.setdefault, "one")
        def one() -> None: ...

    return define, lambda: "one" in found


def above_a_class() -> Look:
    items: list[Any] = []

    def define() -> None:
        @items.append
        class One: ...

    return define, lambda: len(items)


def base(n: int = 0) -> Callable[[], type]:
    return lambda: Exception if n else object


def above_a_class_with_bases() -> Look:
    items: list[Any] = []
    bases = (ValueError,)

    def define() -> None:
        @items.append
        class One(base()()): ...  # type: ignore[misc]

        @items.append
        class Two(*bases, metaclass=type if items else type(One)): ...  # type: ignore[misc, metaclass]

    return define, lambda: len(items)


def stacked() -> Look:
    items: list[Any] = []

    def keep(function: Any) -> Any:
        items.append(function)
        return function

    def define() -> None:
        @items.append
        @keep
        @functools.lru_cache(maxsize=1)
        @keep
        def one() -> None: ...

    return define, lambda: len(items)


def stacked_above_a_class() -> Look:
    items: list[Any] = []

    def define() -> None:
        @items.append
        @functools.total_ordering
        class One:
            def __lt__(self, other: object) -> bool:
                return False

    return define, lambda: len(items)


def above_a_coroutine_function() -> Look:
    items: list[Any] = []

    def define() -> None:
        @items.append
        async def one() -> None: ...

    return define, lambda: len(items)


def in_a_class() -> Look:
    items: list[Any] = []

    def define() -> None:
        class One:
            @items.append
            def one(self) -> None: ...

    return define, lambda: len(items)


LOOKS: dict[Callable[[], Look], set[Any]] = {
    appended: {0, 1},
    appended_closure: {0, 1},
    registered: {"object", "int"},
    by_a_function: {False, True},
    with_arguments: {False, True},
    above_a_class: {0, 1},
    above_a_class_with_bases: {0, 1, 2},
    stacked: {0, 1, 2, 3},
    stacked_above_a_class: {0, 1},
    above_a_coroutine_function: {0, 1},
    in_a_class: {0, 1},
}


@pytest.mark.parametrize("make", LOOKS, ids=lambda make: make.__name__)
def test_what_a_decorator_does_is_a_step(make: Callable[[], Look]) -> None:
    assert looking(make) == set(map(repr, LOOKS[make]))


GENERIC = """
def appended():
    items = []
    def define():
        @items.append
        def one[T](x: T, by=1) -> T: ...
        @items.append
        class Two[T](list[T]): ...
    return define, lambda: len(items)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 has type parameters")
def test_above_what_has_type_parameters() -> None:
    names: dict[str, Any] = {}
    exec(compile(GENERIC, __file__, "exec"), names)  # which older Pythons cannot read
    define, look = names["appended"]()
    argument = 0 if NULL_LAST else 1
    assert counts_of_calls(define)[1::2] == [argument, argument]
    define()
    assert look() == 2


def counts_of_calls(function: Any) -> list[Any]:
    """Return how many arguments each call of a function has, as the rewriter sees it."""
    items: Any = decoded(function.__code__)
    return [i.arg for i in items if getattr(i, "name", "") == "CALL"]


def called_at_once() -> Any:
    """Calls without arguments that are no decorators, whatever comes before them."""
    one = (lambda: base)()()()

    class Two(base(1)(), one): ...  # type: ignore[misc, valid-type]

    return (
        Two,
        base
        ()
        (),
    )  # fmt: skip


def test_calls_without_arguments_stay_what_they_are() -> None:
    plain = [i.arg for i in dis.get_instructions(called_at_once) if i.opname == "CALL"]
    assert counts_of_calls(called_at_once) == plain

"""Which class an object has, and which classes count as another's: both may change meanwhile."""

from __future__ import annotations

import abc
import collections.abc
import functools
import sys
from collections.abc import Callable
from typing import Any

import pytest
from together import outcomes, together

import treadle

Look = Callable[[Any], Any]


class First:
    def __len__(self) -> int:
        return 1

    def __add__(self, other: Any) -> int:
        return 1

    def __call__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "1"


class Second:
    def __len__(self) -> int:
        return 2

    def __add__(self, other: Any) -> int:
        return 2

    def __call__(self) -> int:
        return 2

    def __str__(self) -> str:
        return "2"


def matched(x: Any) -> int:
    match x:
        case First():
            return 1
        case _:
            return 2


def number(is_first: bool) -> int:
    return 1 if is_first else 2


LOOKS: dict[str, Look] = {
    "isinstance": lambda x: number(isinstance(x, First)),
    "isinstance of several": lambda x: number(isinstance(x, (int, First))),
    "isinstance by another name": lambda x, ask=isinstance: number(ask(x, First)),
    "isinstance of elements": lambda x: number(all(isinstance(one, First) for one in [x])),
    "issubclass": lambda x: number(issubclass(type(x), First)),
    "type": lambda x: number(type(x) is First),
    "type, mapped": lambda x: number([*map(type, [x])] == [First]),
    "__class__": lambda x: number(x.__class__ is First),
    "a partial": lambda x: number(functools.partial(isinstance, x)(First)),
    "a pattern": matched,
    "len": len,
    "an operator": lambda x: x + 1,
    "a call": lambda x: x(),
    "words": lambda x: int(f"{x}"),
}


def assigned(assign: Callable[[Any], Any], look: Look) -> Any:
    shared, seen = First(), []
    together(lambda: assign(shared), lambda: seen.append(look(shared)))
    return seen[0]


def assign_class(x: Any) -> None:
    x.__class__ = Second


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_class_that_is_assigned(look: Look) -> None:
    assert outcomes(lambda: assigned(assign_class, look)) == {"1", "2"}


@pytest.mark.parametrize(
    "assign",
    [
        lambda x: setattr(x, "__class__", Second),
        lambda x: object.__setattr__(x, "__class__", Second),
    ],
)
def test_ways_to_assign_a_class(assign: Callable[[Any], Any]) -> None:
    assert outcomes(lambda: assigned(assign, LOOKS["isinstance"])) == {"1", "2"}


def test_who_looks_at_another_object_does_not_mind() -> None:
    def test() -> None:
        one, other = First(), First()
        together(lambda: assign_class(one), lambda: isinstance(other, First) and type(other))

    assert treadle.explore(test).executions == 1


# What is registered


class Base(abc.ABC):  # noqa: B024
    pass


class Derived(Base):
    pass


def seen_of(change: Callable[[], Any], look: Callable[[], Any]) -> Any:
    seen: list[Any] = []
    together(change, lambda: seen.append(look()))
    return seen[0]


REGISTERED: dict[str, Callable[[type, Any, Any], tuple[Callable[[], Any], Callable[[], Any]]]] = {
    "isinstance": lambda one, base, _: (
        lambda: base.register(one),
        lambda: isinstance(one(), base),
    ),
    "a base of it": lambda one, base, derived: (
        lambda: derived.register(one),
        lambda: issubclass(one, base),
    ),
    "of several": lambda one, base, _: (
        lambda: base.register(one),
        lambda: issubclass(one, (int, base)),
    ),
    "a union": lambda one, base, _: (
        lambda: abc.ABCMeta.register(base, one),
        lambda: issubclass(one, int | base),
    ),
    "of a module": lambda one, *_: (lambda: Derived.register(one), lambda: issubclass(one, Base)),
    "of a library": lambda one, *_: (
        lambda: collections.abc.Sequence.register(one),
        lambda: isinstance(one(), collections.abc.Sequence),
    ),
}


@pytest.mark.parametrize("make", REGISTERED.values(), ids=REGISTERED)
def test_a_class_that_is_registered(make: Callable[..., Any]) -> None:
    def program() -> Any:
        class One:
            pass

        class Local(abc.ABC):  # noqa: B024
            pass

        class LocalDerived(Local):
            pass

        return seen_of(*make(One, Local, LocalDerived))

    assert outcomes(program) == {"False", "True"}


def test_a_generic_function_gets_one_more() -> None:
    def program(look: Callable[[Any], Any]) -> Any:
        generic = functools.singledispatch(lambda _: "any")
        return seen_of(lambda: generic.register(int, lambda _: "int"), lambda: look(generic))

    looks: list[Callable[[Any], Any]] = [
        lambda generic: generic(1),
        lambda generic: generic.dispatch(int)(1),
        lambda generic: next(map(generic, [1])),
    ]
    for look in looks:
        assert outcomes(functools.partial(program, look)) == {"'any'", "'int'"}


def test_a_generic_method_gets_one_more() -> None:
    def program() -> Any:
        class Generic:
            @functools.singledispatchmethod
            def say(self, _: Any) -> str:
                return "any"

        def change() -> None:
            Generic.say.register(int, lambda _self, _: "int")

        return seen_of(change, lambda: Generic().say(1))

    if sys.version_info < (3, 14):
        assert outcomes(program) == {"'any'", "'int'"}
    else:
        assert any("singledispatchmethod" in note for note in treadle.explore(program).notes)

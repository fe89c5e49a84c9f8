"""Which front end is for what, what a file means by its variables, and what would not run."""

from __future__ import annotations

import functools
import types
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.core.errors import TreadleBug
from treadle.core.front_end import FrontEnd
from treadle.session.front_ends import (
    FRONT_ENDS,
    front_end_of,
    front_end_of_file,
    made_by_a_function,
    meant_in,
)

MODEL = treadle.model.Program()


def plain() -> None: ...


def with_parameter(x: int) -> None: ...


def with_default(x: int = 0) -> None: ...


def generator() -> Iterator[None]:
    yield


async def coroutine() -> None: ...


async def asynchronous_generator() -> AsyncIterator[None]:
    yield


class Caller:
    def __call__(self) -> None: ...

    def method(self) -> None: ...


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (plain, "threads"),
        (lambda: None, "threads"),
        (functools.partial(with_parameter, 1), "threads"),
        (Caller(), "threads"),
        (Caller().method, "threads"),
        (print, "threads"),
        (coroutine, "tasks"),
        (functools.partial(coroutine), "tasks"),
        (MODEL, "model"),
    ],
)
def test_who_is_asked(target: object, name: str) -> None:
    assert front_end_of(target).name == name
    assert made_by_a_function(target) == (name in ("model", "tasks"))


@pytest.mark.parametrize("target", [None, 3, "f.py::test", [plain], types])
def test_what_nobody_explores(target: object) -> None:
    with pytest.raises(treadle.TreadleError) as caught:
        treadle.explore(target)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"cannot explore {type(target).__name__} objects: give a function without parameters that "
        f"uses threads, or a coroutine function without parameters, or a network "
        f"(treadle.networks), or a treadle.actors.Program, or a treadle.model.Program"
    )


# Variables of a file


def in_this_file(**variables: object) -> list[str]:
    return meant_in(variables, __name__)


def test_functions_that_may_be_tests() -> None:
    variables: dict[str, Any] = {
        "plain": plain,
        "_private": plain.__class__(plain.__code__, {"__name__": __name__}),
        "with_parameter": with_parameter,
        "with_default": with_default,
        "generator": generator,
        "coroutine": coroutine,
        "Caller": Caller,
        "instance": Caller(),
        "imported": functools.wraps,
        "module": types,
        "number": 3,
    }
    assert in_this_file(**variables) == ["plain"]


def test_programs_come_before_functions() -> None:
    assert in_this_file(plain=plain, model=MODEL, number=3) == ["model"]
    assert in_this_file(number=3) == []


def test_a_program_with_two_names_is_one_program() -> None:
    assert in_this_file(model=MODEL, same=MODEL) == ["same"]
    assert in_this_file(model=MODEL, other=treadle.model.Program()) == ["model", "other"]


# Functions that would not run


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (asynchronous_generator, "'asynchronous_generator' is an asynchronous generator: give a"),
        (generator, "'generator' is a process, not a program: add it to a treadle.model.Program"),
        (Caller, "'Caller' is a class: give a function; pytest runs the methods of classes"),
        (with_parameter, "the test must take no arguments: give a function without parameters"),
    ],
)
def test_refusals(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(treadle.TreadleError, match=words):
        treadle.explore(function)
    if function is generator:  # a decorator may run it
        assert treadle.explore(functools.wraps(function)(lambda: list(function()))).ok
    elif function is not with_parameter:
        wrapped = functools.wraps(function)(lambda: None)
        with pytest.raises(treadle.TreadleError, match=words):
            FRONT_ENDS["threads"].refuse(wrapped)


@pytest.mark.parametrize(
    ("function", "kind"),
    [(coroutine, "coroutine"), (generator, "generator"), (asynchronous_generator, "async_gen")],
)
def test_what_a_test_returned_and_nobody_ran(function: Callable[..., Any], kind: str) -> None:
    with pytest.raises(treadle.TreadleError, match=f"the test returned a {kind}.*, which nobody"):
        treadle.explore(lambda: function())


@pytest.mark.parametrize(
    ("package", "hint"),
    [
        ("treadel", "did you mean 'treadle'?"),
        ("qqqqqqqqqqqq", "give the name to import it by"),
        ("", "give the name to import it by"),
    ],
)
def test_packages_that_are_not_there(package: str, hint: str) -> None:
    with pytest.raises(treadle.TreadleError) as caught:
        treadle.explore(plain, instrument=[package])
    assert str(caught.value) == (f"instrument: there is no module or package {package!r}: {hint}")


# What a front end is without anything of its own


class Bare(FrontEnd):
    name, targets = "bare", "something bare"


def test_a_bare_front_end() -> None:
    bare = Bare()
    assert not bare.recognises(MODEL)
    assert not bare.is_meant("model", MODEL, __name__)
    assert (bare.options, bare.granularities, bare.kinds, bare.suffixes) == ({}, ("",), (), ())
    with pytest.raises(TreadleBug, match="bare programs are opened as they are"):
        bare.opened(3, {})
    with pytest.raises(
        treadle.TreadleError, match=r"x.bare: bare programs are not read from files"
    ):
        bare.load(Path("x.bare"), "")


def test_files_in_a_language_of_nobody() -> None:
    assert front_end_of_file(".promela") is None
    assert front_end_of_file("") is None

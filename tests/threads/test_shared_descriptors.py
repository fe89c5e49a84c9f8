"""Descriptors of files that threads share: who closes one, or makes it another file's, is seen."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from together import outcomes, together

import treadle


@contextlib.contextmanager
def a_file() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text("old")
        yield str(path)


def read(descriptor: int) -> str:
    try:
        return os.read(descriptor, 3).decode()
    except OSError:
        return "closed"


def closed_meanwhile() -> str:
    seen = []
    with a_file() as path:
        descriptor = os.open(path, os.O_RDONLY)
        together(lambda: os.close(descriptor), lambda: seen.append(read(descriptor)))
    return seen[0]


def closed_twice() -> str:
    seen = []

    def close(name: str) -> None:
        try:
            os.close(descriptor)
        except OSError:
            return
        seen.append(name)

    with a_file() as path:
        descriptor = os.open(path, os.O_RDONLY)
        together(lambda: close("first"), lambda: close("second"))
    return seen[0]


def another_file_meanwhile() -> str:
    seen = []
    with a_file() as path, a_file() as other:
        Path(other).write_text("new")
        one, two = os.open(path, os.O_RDONLY), os.open(other, os.O_RDONLY)
        together(lambda: os.dup2(two, one), lambda: seen.append(read(one)))
        os.close(one)
        os.close(two)
    return seen[0]


def copied_meanwhile() -> str:
    seen = []

    def copy() -> None:
        try:
            os.close(os.dup(descriptor))
        except OSError:
            seen.append("closed")
        else:
            seen.append("copied")

    with a_file() as path:
        descriptor = os.open(path, os.O_RDONLY)
        together(lambda: os.close(descriptor), copy)
    return seen[0]


def closed_by_its_file() -> str:
    seen = []
    with a_file() as path, Path(path).open("rb", buffering=0) as file:
        descriptor = file.fileno()
        together(file.close, lambda: seen.append(read(descriptor)))
    return seen[0]


def closed_under_its_file() -> str:
    seen = []

    def look() -> None:
        try:
            seen.append(file.read(3).decode())
        except OSError:
            seen.append("closed")

    with a_file() as path:
        descriptor = os.open(path, os.O_RDONLY)
        file: Any = open(descriptor, "rb", buffering=0, closefd=False)  # noqa: SIM115
        together(lambda: os.close(descriptor), look)
    return seen[0]


OUTCOMES: dict[Callable[[], str], set[str]] = {
    closed_meanwhile: {"'old'", "'closed'"},
    closed_twice: {"'first'", "'second'"},
    another_file_meanwhile: {"'old'", "'new'"},
    copied_meanwhile: {"'copied'", "'closed'"},
    closed_by_its_file: {"'old'", "'closed'"},
    closed_under_its_file: {"'old'", "'closed'"},
}


@pytest.mark.parametrize("program", OUTCOMES, ids=lambda program: program.__name__)
def test_both_orders_are_seen(program: Callable[[], str]) -> None:
    assert outcomes(program) == OUTCOMES[program]


def test_descriptors_of_ones_own_are_nobody_elses_business() -> None:
    def test() -> None:
        def look(path: str) -> None:
            descriptor = os.open(path, os.O_RDONLY)
            assert read(descriptor) == "old"
            os.close(descriptor)

        with a_file() as path, a_file() as other:
            together(lambda: look(path), lambda: look(other))

    result = treadle.explore(test)
    assert result.ok
    assert result.executions == 1
    assert not result.escapes


def test_a_row_of_descriptors_that_is_closed_is_named() -> None:
    def test() -> None:
        with a_file() as path:
            descriptor = os.open(path, os.O_RDONLY)
            together(lambda: os.closerange(descriptor, descriptor + 1), int)

    (named,) = treadle.explore(test).escapes
    assert named.startswith("os.closerange() at ")

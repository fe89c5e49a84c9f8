"""Values, places and exceptions in words: short, and never an error, whatever is to be said."""

from __future__ import annotations

import collections
import itertools
import os
import re
import sys
import tempfile
import threading
import types
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core import words
from treadle.core.events import Mode
from treadle.core.failure import error_in_words, without_addresses
from treadle.core.records import FrameRecord
from treadle.core.words import (
    OPERATIONS,
    UNKNOWN,
    Said,
    brief,
    exception_in_words,
    frames_in_words,
    place_in_words,
    value_in_words,
)

LONGEST = 80
"""Characters of a value in a report."""


class Plain:
    pass


class Broken:
    def __repr__(self) -> str:
        raise LookupError("no")


class Verbose:
    def __repr__(self) -> str:
        return "word " * 100


class Placed:
    def __repr__(self) -> str:
        return "<Placed at 0x7f00 in a row>"


class Named(threading.Thread):
    pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (3, "3"),
        ("a'b", '"a\'b"'),
        ([1, [2, [3]]], "[1, [2, [3]]]"),
        ({"k": (1,)}, "{'k': (1,)}"),
        ({3, 1, 2}, "{1, 2, 3}"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, ...]"),
        ([[[[[1]]]]], "[[[[[...]]]]]"),
        (collections.deque([1, 2]), "deque([1, 2])"),
        (Plain(), "<Plain>"),
        (Broken(), "<Broken, its repr raises LookupError>"),
        ([Broken(), Plain()], "[<Broken, its repr raises LookupError>, <Plain>]"),
        (Verbose(), "word word word word word word word wo..."),
        (Placed(), "<Placed in a row>"),
        (threading.Thread(name="worker"), "<Thread worker>"),
        (Named(name="mine"), "<Named mine>"),
        ("x" * 41, "'" + "x" * 17 + "..." + "x" * 18 + "'"),
        (ValueError("no"), "ValueError('no')"),
    ],
)
def test_values(value: object, text: str) -> None:
    assert brief(value) == text


@pytest.mark.parametrize("name", ["array", "deque", "dict", "frozenset", "list", "set", "str"])
def test_a_class_that_is_only_called_like_a_container(name: str) -> None:
    value = type(name, (), {})()
    assert brief(value) == f"<{name}>"
    assert brief([value]) == f"[<{name}>]"


def test_a_number_of_more_digits_than_python_writes() -> None:
    huge = 10 ** (sys.get_int_max_str_digits() + 1)
    text = brief(huge)
    assert "int" in text  # later Pythons say how many digits it has
    assert brief({"huge": huge}) == f"{{'huge': {text}}}"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner)
        | st.frozensets(st.text())
    ),
    max_leaves=20,
)


@given(value=values)
def test_no_value_is_long_or_breaks_a_line(value: object) -> None:
    text = brief(value)
    assert 0 < len(text) <= LONGEST
    assert len(text.splitlines()) == 1


@given(
    value=st.one_of(st.integers(-(10**9), 10**9), st.text(st.characters(codec="ascii"), max_size=9))
)
def test_what_is_short_is_said_in_full(value: object) -> None:
    if len(repr(value)) <= 40:
        assert brief(value) == repr(value)
        assert brief([value]) == repr([value])


def test_unknown_values_and_those_that_are_in_words_already() -> None:
    assert value_in_words(UNKNOWN, repr) == ""
    assert value_in_words(Said("a lock"), repr) == "a lock"
    assert value_in_words("a lock", repr) == "'a lock'"
    assert value_in_words(None, repr) == "None"
    assert repr(UNKNOWN) == "UNKNOWN"


def test_modes_that_are_no_deed_have_no_word() -> None:
    silent = {mode.name for mode in Mode} - {mode.name for mode in OPERATIONS}
    assert "READ" not in silent
    assert {"WATCH", "OPEN", "SWAP"} <= silent
    assert all(re.fullmatch("[a-z ]+", word) for word in OPERATIONS.values())


# Exceptions


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (AssertionError("a\nb"), "AssertionError: a\nb"),
        (Mute(), "Mute: (its __str__ raises RuntimeError)"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (
            BaseExceptionGroup("all", [ExceptionGroup("two", [Mute(), OSError(2)]), SystemExit()]),
            "BaseExceptionGroup: all (ExceptionGroup: two (Mute: (its __str__ raises RuntimeError)"
            "; OSError: 2); SystemExit)",
        ),
    ],
)
def test_exceptions(error: BaseException, text: str) -> None:
    assert error_in_words(error) == text
    assert exception_in_words(error) == text.splitlines()[0]


@given(number=st.integers(0, 2**64), before=st.text(st.characters(exclude_characters="0x")))
def test_addresses_are_left_out_and_nothing_else(number: int, before: str) -> None:
    assert without_addresses(f"{before}<A at {number:#x}>") == f"{before}<A>"
    assert without_addresses(f"{before}<A at {number}>") == f"{before}<A at {number}>"


# Places


def test_places_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_in_words((str(tmp_path / "a" / "b.py"), 3)) == f"a{os.sep}b.py:3"
    assert place_in_words((str(tmp_path.parent / "b.py"), 3)) == f"{tmp_path.parent / 'b.py'}:3"
    assert place_in_words((f"{tmp_path}x/b.py", 3)) == f"{tmp_path}x/b.py:3"
    assert place_in_words(("<string>", 1)) == "<string>:1"
    assert place_in_words(None) == ""


def test_a_program_may_remove_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tempfile.mkdtemp()
    monkeypatch.chdir(gone)
    Path(gone).rmdir()
    assert place_in_words(("/a/b.py", 3)) == "/a/b.py:3"


# Frames


def frame_with(**variables: object) -> types.FrameType:
    """Return the frame of a user's function that has these variables."""
    source = f"def function({', '.join(variables)}): return frame()"
    namespace: dict[str, object] = {"frame": sys._getframe, "__name__": "bank"}
    exec(compile(source, "/bank.py", "exec"), namespace)
    return namespace["function"](**variables)  # type: ignore[operator]


def test_variables_of_a_frame_without_code() -> None:
    frame = frame_with(x=1, s="t", f=frame_with, c=Plain, m=os, b=Broken())
    assert frames_in_words("p", [(frame, 12)]) == [
        FrameRecord(
            "p",
            "function",
            "/bank.py:12",
            (("x", "1"), ("s", "'t'"), ("b", "<Broken, its repr raises LookupError>")),
        )
    ]


def test_variables_can_be_hidden_and_said_otherwise() -> None:
    hidden = object()
    frame = frame_with(x=hidden, y=2)
    (record,) = frames_in_words("p", [(frame, 1)], hidden=hidden, say=lambda value: f"~{value}")
    assert record.variables == (("y", "~2"),)


# Objects whose `__repr__` takes long


class Counting:
    """Its text is made in many lines of Python."""

    def __repr__(self) -> str:
        return f"the sum is {sum(number for number in range(10))}"


@pytest.mark.parametrize(
    ("second_each_look", "used_each_look", "text"),
    [
        (0.0, 0.0, "the sum is 45"),
        (0.1, 0.001, "the sum is 45"),  # a busy machine: the processor is somebody else's
        (0.3, 0.3, "<Counting, its repr takes too long>"),
        (2.0, 0.001, "<Counting, its repr takes too long>"),  # it waits for something
    ],
)
def test_texts_that_take_long_are_cut_off_by_processor_time(
    second_each_look: float, used_each_look: float, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_now", partial(next, itertools.count(0, second_each_look)))
    monkeypatch.setattr(words, "_used", partial(next, itertools.count(0, used_each_look)))
    monkeypatch.setattr(words, "_slow", [])
    assert words.brief(Counting()) == text

"""Tokens: what is written can be read, and what is damaged says so."""

from __future__ import annotations

import base64
import string
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle
from racy_model import racy
from treadle.core.events import Mode, code
from treadle.core.failure import KINDS, Failure
from treadle.core.happens_before import Trace
from treadle.core.schedule import Schedule
from treadle.findings.tokens import Recipe, is_token, read_token, token_of, write_token
from treadle.model import Program

ALPHABET = string.ascii_letters + string.digits + "-_"

names = st.one_of(
    st.sampled_from(["p", "q", "main", "main.1", "main.2", "main.1.3", "main?1", "main.01"]),
    st.text(max_size=6),
    st.lists(st.integers(0, 300), max_size=3).map(lambda path: ".".join(map(str, ["main", *path]))),
)
schedules = st.builds(
    lambda runs, knowledge: Schedule((name for name, n in runs for _ in range(n)), knowledge),
    st.lists(st.tuples(names, st.integers(1, 200)), max_size=12),
    st.lists(st.text(max_size=12), max_size=3),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "instrument": st.lists(st.text(max_size=10), min_size=1, max_size=2).map(tuple),
        "races": st.just(True),
        "thread_exceptions": st.just(False),
    },
)


@st.composite
def recipes(draw: Any) -> Recipe:
    granularity = draw(st.sampled_from(["", "access", "gil"]))
    gil = {"granularity": "gil"} if granularity == "gil" else {}
    return Recipe(
        draw(st.sampled_from([*KINDS, "quiet"])),
        draw(st.binary(min_size=3, max_size=3)),
        draw(schedules),
        granularity,
        draw(options) | gil,
        draw(st.binary(max_size=32)),
        draw(st.sampled_from(["", "model", "threads", "actors"])),
    )


@given(recipe=recipes())
def test_what_was_written_is_read(recipe: Recipe) -> None:
    token = write_token(recipe)
    assert set(token) <= set(ALPHABET)
    assert is_token(token)
    again = read_token(f" {token}\n")
    assert again == recipe
    assert again.schedule.knowledge == recipe.schedule.knowledge


@given(recipe=recipes(), data=st.data())
def test_no_character_can_be_changed(recipe: Recipe, data: st.DataObject) -> None:
    token = write_token(recipe)
    at = data.draw(st.integers(3, len(token) - 1))
    other = data.draw(st.sampled_from(ALPHABET.replace(token[at], "")))
    with pytest.raises(treadle.TreadleError, match="this token is damaged"):
        read_token(token[:at] + other + token[at + 1 :])


@given(recipe=recipes(), data=st.data())
def test_no_character_can_be_missing_or_added(recipe: Recipe, data: st.DataObject) -> None:
    token = write_token(recipe)
    end = data.draw(st.integers(3, len(token) - 1))
    for damaged in (token[:end], token + "A", token[: end + 1] + token[end:]):
        with pytest.raises(treadle.TreadleError, match="this token is damaged"):
            read_token(damaged)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is no token: one begins with t2_, copy it whole"),
        ("p*2 q", "'p.2 q' is no token"),
        ("t1_", "this token is damaged"),
        ("t3_AAAA", "this token has format 3, and this version of Treadle reads formats up to 2"),
        ("T1_AAAA", "is no token"),
    ],
)
def test_what_is_no_token(text, words):
    with pytest.raises(treadle.TreadleError, match=words):
        read_token(text)


def whole(content: bytes, version: int = 2) -> str:
    """Return a token with a right checksum, whatever it says."""
    checked = zlib.crc32(content).to_bytes(4, "big") + content
    return f"t{version}_" + base64.urlsafe_b64encode(checked).decode().rstrip("=")


@given(content=st.binary(min_size=4, max_size=40), version=st.sampled_from([1, 2]))
def test_nonsense_with_a_checksum_is_an_error_or_a_recipe(content: bytes, version: int) -> None:
    said = ""
    try:
        read_token(whole(content, version))
    except treadle.TreadleError as error:
        said = str(error)
    assert not said or said.startswith("cannot read this token, although it is whole: ")


def test_a_token_cannot_ask_for_endless_memory():
    huge = b"\x00abc" + b"\x01\x01\x01" + b"\xff\xff\xff\xff\x7f"
    with pytest.raises(treadle.TreadleError, match="it stands for more than 10,000,000 steps"):
        read_token(whole(huge, version=1))


def test_tokens_of_format_1_are_still_read():
    recipe = read_token("t1_dp3b5QDifVkDAAFwAAFxAAVjaGVjawQABAAFmlB_uxGi")
    assert (recipe.front_end, recipe.kind, recipe.granularity) == ("model", "assertion", "")
    assert str(recipe.schedule) == "p q*2 p check*2"
    (failure,) = treadle.explore(racy()).failures
    assert recipe.expects(failure)
    assert recipe == read_token(failure.token)


def test_format_1_knew_two_granularities():
    body = b"abc" + b"\x0e" + b'{"races":true}' + b"\x01\x01" + b"\x01\x00"
    access, gil = (read_token(whole(bytes([0x24 | g << 3]) + body, version=1)) for g in (1, 2))
    assert (access.front_end, access.kind, access.granularity) == ("threads", "race", "access")
    assert (access.options, access.schedule) == ({"races": True}, ("main",))
    assert (gil.granularity, gil.options) == ("gil", {"granularity": "gil", "races": True})


# Of failures


def test_the_token_of_a_failure():
    (failure,) = treadle.explore(racy()).failures
    assert failure.token == "t2_LF3bgADifVkCBgEAAwABcAABcQAFY2hlY2sEAAQABZpQf7sRog"
    recipe = read_token(failure.token)
    assert recipe.schedule == failure.schedule
    assert recipe.expects(failure)
    assert len(recipe.prints) == len(failure.schedule) == 6


def test_twenty_steps_take_less_than_a_hundred_characters():
    steps = [f"main.{1 + number * number % 3}" for number in range(20)]
    prints = bytes(number * 89 % 256 for number in range(20))
    recipe = Recipe("exception", b"abc", Schedule(steps), "access", {}, prints)
    assert len(write_token(recipe)) < 80


def test_steps_after_the_failing_one_are_left_out():
    failure = Failure("assertion", "x", Schedule(["p", "q", "p", "p"]), 1)
    assert read_token(token_of(failure)).schedule == ("p", "q")


def test_addresses_and_what_pytest_adds_do_not_matter():
    def token(kind: str, message: str) -> str:
        return token_of(Failure(kind, message, Schedule(["p"]), 0))

    assert token("exception", "KeyError: <A at 0x1a>") == token("exception", "KeyError: <A at 0x2>")
    assert token("exception", "KeyError: 1") != token("exception", "KeyError: 2")
    said = "AssertionError: lost\nassert 1 == 2\n +  where 1 = s.x"
    assert token("assertion", said) == token("assertion", "AssertionError: lost")
    added = "AssertionError: assert 1 == 2"
    assert token("assertion", added) == token("assertion", "AssertionError")
    assert token("assertion", said) != token("assertion", added)


def test_a_deadlock_is_told_by_its_waits_in_any_order():
    one, other = (
        treadle.core.records.Wait("p", "a", ("q",)),
        treadle.core.records.Wait("q", "b", ("p",)),
    )
    tokens = {
        token_of(Failure("deadlock", "", Schedule(["p"]), 1, waits=waits))
        for waits in ((one, other), (other, one))
    }
    assert len(tokens) == 1


@pytest.mark.parametrize(("length", "stretch"), [(1, 1), (32, 1), (33, 2), (100, 4)])
def test_prints_are_spread_over_long_schedules(length, stretch):
    program = Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Iterator[None]:
        for number in range(length):
            s.x = number
            yield

    def trace_of(other_at: int) -> Trace:
        trace = Trace(program.vocabulary)
        run = program.start()
        for number in range(length):
            codes = run.step(0)
            y = code(program.vocabulary.location("y", "y"), Mode.WRITE)
            trace.append(0, (y,) if number == other_at else codes)
        run.close()
        return trace

    schedule = Schedule(["p"] * length)
    failure = Failure("assertion", "x", schedule, length - 1)
    recipe = read_token(token_of(failure, trace_of(-1)))
    assert recipe.first_difference(trace_of(-1)) is None
    for at in range(length):
        first, end = recipe.first_difference(trace_of(at))
        assert first <= at < end
        assert end - first <= stretch

"""Loops around what changes unseen: they are at their end some day, so they are no livelocks."""

from __future__ import annotations

import contextvars
import io
import itertools
import random
import re
import secrets
import shlex
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import pytest

import treadle


class Box:
    looked_at = 0


def chance() -> Callable[[], Any]:
    return lambda: random.random() < 0.7


def own_generator() -> Callable[[], Any]:
    generator = random.Random(3)
    return lambda: generator.random() < 0.7


def shuffled() -> Callable[[], Any]:
    cards = [0, 1, 2]

    def shuffle() -> bool:
        random.shuffle(cards)
        return cards != [2, 0, 1]

    return shuffle


def secret() -> Callable[[], Any]:
    return lambda: secrets.randbelow(4)


def unique() -> Callable[[], Any]:
    return lambda: uuid.uuid4().bytes[0] > 80


def lines() -> Callable[[], Any]:
    stream = io.StringIO("a\nb\nc\n")
    return lambda: stream.readline()


def matches() -> Callable[[], Any]:
    scanner: Any = re.compile("a").scanner("aaa")  # type: ignore[attr-defined]
    return lambda: scanner.match()


def words() -> Callable[[], Any]:
    reader = shlex.shlex("a b c")
    return lambda: reader.get_token()


def compressed() -> Callable[[], Any]:
    stream = zlib.decompressobj()
    stream.decompress(zlib.compress(b"abc"), 1)
    return lambda: stream.decompress(stream.unconsumed_tail, 1) and stream.unconsumed_tail


def mocked() -> Callable[[], Any]:
    answers: Any = mock.Mock(side_effect=[1, 1, 0])
    return lambda: answers()


def bound_next() -> Callable[[], Any]:
    following = iter([1, 1, 0]).__next__
    return lambda: following()


def bound_pop() -> Callable[[], Any]:
    pop = [0, 1, 1].pop
    return lambda: pop()


def contextual() -> Callable[[], Any]:
    left = contextvars.ContextVar("left", default=3)

    def count() -> int:
        left.set(left.get() - 1)
        return left.get()

    return count


def printed() -> Callable[[], Any]:
    stream = io.StringIO()

    def write() -> bool:
        print("x", file=stream)
        return len(stream.getvalue()) < 6

    return write


CHANGING = [
    chance, own_generator, shuffled, secret, unique, lines, matches, words, compressed, mocked,
    bound_next, bound_pop, contextual, printed,
]  # fmt: skip


@pytest.mark.parametrize("make", CHANGING)
def test_a_loop_around_hidden_state_is_no_livelock(make: Callable[[], Any]) -> None:
    def test() -> None:
        box = Box()

        def work() -> None:
            goes_on = make()
            while goes_on():
                box.looked_at  # noqa: B018  # an event, so that the rounds are compared

        def write() -> None:
            box.looked_at = 1

        threads = [threading.Thread(target=one) for one in (work, write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = treadle.explore(test)
    assert result.ok, str(result.failures)


def jitter() -> None:
    time.sleep(random.uniform(0.01, 0.1))


def format_words() -> None:
    f"{sorted([2, 1])} {re.match('a', 'b')} {max(1, 2)}".split(",")


def digest() -> None:
    zlib.crc32(b"x")
    list(itertools.chain([1], [2]))


@pytest.mark.parametrize("meanwhile", [jitter, format_words, digest])
@pytest.mark.parametrize("ends", [True, False])
def test_a_loop_that_polls_and_knows_nothing_still_waits(
    meanwhile: Callable[[], None], ends: bool
) -> None:
    def test() -> None:
        box = Box()
        other = threading.Thread(target=setattr, args=(box, "looked_at", int(ends)))
        other.start()
        while not box.looked_at:
            meanwhile()
        other.join()

    result = treadle.explore(test)
    assert result.ok is ends
    assert [failure.kind for failure in result.failures] == ([] if ends else ["livelock"])


def pulled() -> Iterator[Any]:
    parser = ElementTree.XMLPullParser(["start"])
    parser.feed("<a><b/><c/>")
    return parser.read_events()


def test_a_parser_with_open_elements_is_shared() -> None:
    def test() -> None:
        events = pulled()

        def work() -> None:
            assert [element.tag for _, element in events] == ["a", "b", "c"]

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert treadle.explore(test).ok

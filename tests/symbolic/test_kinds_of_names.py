"""Kinds where one could take names for each other, and values that only look like others."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from executing import Execution, code_of, context_of

from treadle.actors import Actor, pause
from treadle.symbolic.kinds import Kinds


class Pair(NamedTuple):
    x: int
    y: int


class Peer(Actor):
    async def hello(self):
        return 1


class Names(Actor):
    def __init__(self):
        self.peers, self.numbers, self.words = [], [], []
        self.low, self.high, self.out, self.parts = "", 0, 0, ()

    async def greets(self):
        for peer in self.peers:
            peer.hello.send()

    async def counts(self):
        for number in self.numbers:
            self.high += number

    async def reads(self):
        for word in self.words:
            if word == "x":
                self.low = word

    async def orders(self, text):
        return text < "m"

    async def orders_field(self, text):
        return self.low <= text

    async def collects(self, a):
        futures, results = [], []
        futures.append(a.hello.send())
        results.append(futures[0].get())
        self.high = results[0]

    async def is_text(self):
        self.parts = (isinstance(self.low, str), isinstance(self.low, int))

    async def pairs(self, n):
        pair = Pair(n + 0, 2)
        _, second = pair
        self.parts = (pair[1], second, pair == (n + 0, 2), len(pair))

    async def grows(self):
        self.numbers = [1]
        for number in self.numbers:
            self.out = number
            await pause()

    async def adds(self):
        self.numbers.append(2)

    async def measures(self, text):
        self.out = int(text) if text == "x" else 0


@pytest.fixture(scope="module")
def kinds() -> Kinds:
    return Kinds(code_of(Names, Peer))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("peers", "list of Peer"),
        ("numbers", "list of int"),
        ("words", "list of str"),
        ("low", "str"),
        ("high", "int"),
    ],
)
def test_empty_lists_of_one_initialiser_are_not_one(kinds: Kinds, name: str, kind: str):
    assert str(kinds.of_field(Names, name)) == kind


@pytest.mark.parametrize(("method", "name"), [("orders", "text"), ("orders_field", "text")])
def test_what_is_compared_with_a_text_is_one(kinds: Kinds, method: str, name: str):
    assert str(kinds.of_parameter(Names, method, name)) == "str"


def run(*methods: str) -> Execution:
    execution = Execution(context_of((Names, methods)), [Peer])
    execution.check_for_real()
    return execution


def outs(execution: Execution, name: str = "parts") -> list[object]:
    return [fields[name] for fields in execution.fields("Names1")]


def test_texts_are_no_numbers():
    assert outs(run("is_text")) == [(True, False)]


def test_named_tuples_are_tuples():
    assert outs(run("pairs")) == [(2, 2, True, 2)]


def test_futures_and_their_results_are_told_apart():
    assert run("collects").ends == ["end"]


def test_a_list_that_grows_while_it_is_gone_through():
    """What another task appends in a pause is gone through, too."""
    assert set(outs(run("grows", "adds"), "out")) == {1, 2}


def test_the_number_behind_a_text_is_not_its_value():
    assert run("measures").search.limits <= {"int of a text is not followed"}

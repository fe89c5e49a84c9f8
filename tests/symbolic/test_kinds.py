"""Kinds of fields and parameters, from how they are used and from annotations."""

from __future__ import annotations

import pytest
from executing import code_of

from treadle.actors import Actor
from treadle.papers.lopstr17_programs import Database
from treadle.papers.thesis_actors import Cell, Factory, Feeder, Node, Worker
from treadle.symbolic.kinds import Kind, Kinds


class Peer(Actor):
    def __init__(self):
        self.n = 0

    async def hello(self):
        return 1


class Other(Actor):
    async def hello(self):
        return 2

    async def only_here(self, x):
        return x


class Uses(Actor):
    declared: int

    def __init__(self, given):
        self.given = given
        self.name = "nobody"
        self.flag = False
        self.items = []
        self.pair = (1, 2)
        self.table = {}
        self.members = set()
        self.maybe = None
        self.future = None

    async def send(self, a, b, c):
        a.hello.send()
        b.only_here.send(c)
        self.future = a.hello.send()

    async def compute(self, n, m, text, flag):
        total = n + 1
        if m > total and flag:
            self.flag = flag
        if text == "x":
            self.name = text

    async def lists(self, xs, x, y):
        xs.append(x)
        for each in self.items:
            each.hello.send()
        if y in self.items:
            return len(xs)
        return xs[0]

    async def tables(self, d, s):
        self.table = d
        self.members = s
        return d.get(1)

    async def nothing(self, unused):
        self.maybe = self.given if self.given is not None else None

    async def annotated(self, p: Peer, q: Peer | None, i: int, xs: list[int], t: tuple[str, ...]):
        pass

    async def me(self):
        self.maybe = self

    async def passes(self, z):
        self.send.send(z, z, 1)


@pytest.fixture(scope="module")
def kinds() -> Kinds:
    return Kinds(code_of(Uses, Peer, Other))


@pytest.mark.parametrize(
    ("method", "name", "kind"),
    [
        ("send", "a", "Other"),
        ("send", "b", "Other"),
        ("send", "c", "int"),
        ("compute", "n", "int"),
        ("compute", "m", "int"),
        ("compute", "text", "str"),
        ("compute", "flag", "bool"),
        ("lists", "y", "Peer or Other"),
        ("nothing", "unused", "any"),
        ("annotated", "p", "Peer"),
        ("annotated", "q", "Peer or None"),
        ("annotated", "i", "int"),
        ("annotated", "xs", "list of int"),
        ("annotated", "t", "tuple of str"),
        ("passes", "z", "Other"),
        ("tables", "d", "dict"),
        ("tables", "s", "set"),
    ],
)
def test_parameters(kinds: Kinds, method: str, name: str, kind: str):
    assert str(kinds.of_parameter(Uses, method, name)) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("name", "str"),
        ("flag", "bool"),
        ("items", "list of Peer or Other"),
        ("pair", "tuple of int"),
        ("table", "dict"),
        ("members", "set"),
        ("declared", "int"),
        ("future", "future or None"),
    ],
)
def test_fields(kinds: Kinds, name: str, kind: str):
    assert str(kinds.of_field(Uses, name)) == kind


def test_the_database_and_its_worker():
    kinds = Kinds(code_of(Database, Worker))
    assert kinds.of_field(Database, "client") == Kind("actor", (Worker,), is_nullable=True)
    assert str(kinds.of_field(Database, "connected")) == "int"
    assert str(kinds.of_parameter(Worker, "work", "db")) == "Database"
    assert str(kinds.of_parameter(Database, "register", "w")).startswith("Worker")
    assert kinds.of_parameter(Worker, "ping", "n").name == "int"


def test_a_pipeline_and_a_factory():
    kinds = Kinds(code_of(Cell, Feeder, Node, Factory))
    assert str(kinds.of_field(Cell, "next")) == "Cell or None"
    assert kinds.of_field(Cell, "value").name == "int"
    assert str(kinds.of_parameter(Feeder, "feed", "items")) == "tuple of int or None"
    assert str(kinds.of_field(Factory, "first")) == "Node or None"
    assert str(kinds.of_parameter(Factory, "pairs", "node")) == "Node or None"


def test_code_that_cannot_be_reached_says_nothing():
    """The end of a method returns None, but `connect` never comes to it."""
    kinds = Kinds(code_of(Database))
    assert not kinds.of_field(Database, "connected").is_nullable


class Nested(Actor):
    def __init__(self):
        self.rows = []

    async def add(self, row):
        row.append(row)
        self.rows.append(row)


def test_kinds_that_contain_themselves_end():
    assert str(Kinds(code_of(Nested)).of_field(Nested, "rows")).startswith("list of list")

"""Dictionaries and counters of models: what a solver finds, against execution; and exploring."""

from __future__ import annotations

import enum
from typing import Any

import pytest

import treadle
from boxes import Block, Pair
from treadle.core.listed import Untranslated
from treadle.model import Counter, Program

KEYS = (0, 1, 2)
TABLES = ({}, {0: 0}, {0: 1}, {1: 0}, {0: 0, 1: 1}, {2: 1, 0: 1}, {1: 1})
VALUES = (0, 1)
PUT = Block("s.d[k] = v", {"k": KEYS, "v": VALUES})
GET = Block("seen = s.d[k]", {"k": KEYS}, after="yield\ns.x = seen")
GET_OR = Block("seen = s.d.get(k, -1)", {"k": KEYS}, after="yield\ns.x = seen")
GET_NONE = Block("seen = s.d.get(k)", {"k": KEYS}, after="yield\ns.x = seen")
HAS = Block("s.x = 1 if k in s.d else 2", {"k": KEYS})
HAS_NOT = Block("if k not in s.d:\n    s.d[k] = v", {"k": KEYS, "v": VALUES})
ADD = Block("s.d[k] += v", {"k": KEYS, "v": VALUES})
MOVE = Block("s.d[k] = s.d[j]", {"k": KEYS, "j": KEYS})
UNTIL = Block("s.x = s.d[k]", {"k": KEYS}, before="yield s.until(lambda: k in s.d)")
ONE = Block("s.d[0] = s.x")
TWO = Block("s.d[1] = 5")
TEXT = Block("s.d['a'] = v", {"v": VALUES})
BOX: dict[str, Any] = {"x": (0, 1), "d": TABLES}
PAIRS = {
    "put put": (PUT, PUT, {"first.k != second.k", "first.v == second.v"}),
    "put get": (PUT, GET, {"first.k != second.k", "second.k in s.d and first.v == s.d[second.k]"}),
    "put get_or": (PUT, GET_OR, None),
    "put get_none": (PUT, GET_NONE, None),
    "put has": (PUT, HAS, {"first.k != second.k", "second.k in s.d"}),
    "put has_not": (PUT, HAS_NOT, None),
    "has_not twice": (HAS_NOT, HAS_NOT, None),
    "add twice": (ADD, ADD, None),
    "add put": (ADD, PUT, None),
    "add get": (ADD, GET, None),
    "move twice": (MOVE, MOVE, None),
    "move add": (MOVE, ADD, None),
    "until put": (UNTIL, PUT, None),
    "until add": (UNTIL, ADD, None),
    "one key, any key": (ONE, PUT, None),
    "a text, any key": (TEXT, PUT, {"True"}),
    "a text twice": (TEXT, TEXT, {"first.v == second.v"}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_dictionary(name: str) -> None:
    first, second, expected = PAIRS[name]
    found, commuting = Pair(first, second, {"x": 0, "d": {}}).check(BOX)
    assert found.exact
    assert commuting
    if expected is not None:
        assert set(found.constraints) == expected


def test_keys_that_are_told_apart_by_the_code_are_not_asked_about() -> None:
    assert Pair(ONE, TWO, {"x": 0, "d": {}}).listed().constraints == ()


COUNT = Block("s.hits.add(v)", {"v": VALUES})
COUNT_AND = Block("s.hits.add(1)\ns.x += 1")
LOOK = Block("s.x = s.hits.value")
LIMIT = Block("if s.hits.value < 2:\n    s.hits.add(1)")
NEXT = Block("s.x = s.hits.next()")
NEXT_TWO = Block("mine = s.hits.next(2)", after="yield\ns.x = mine")
COUNTERS = {
    "add and all else, twice": (COUNT_AND, COUNT_AND, {"True"}),
    "add, look": (COUNT, LOOK, {"first.v == 0"}),
    "add, limit": (COUNT, LIMIT, None),
    "limit twice": (LIMIT, LIMIT, None),
    "next twice": (NEXT, NEXT, {"True"}),  # the second one stores, whoever it is
    "next of two, twice": (NEXT_TWO, NEXT_TWO, set()),
    "next, add": (NEXT, COUNT, {"second.v == 0"}),
    "next, limit": (NEXT, LIMIT, None),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_a_counter(name: str) -> None:
    first, second, expected = COUNTERS[name]
    box = {"x": (0, 1), "hits": [Counter(value) for value in (-1, 0, 1, 2, 3)]}
    found, _ = Pair(first, second, {"x": 0, "hits": Counter(0)}).check(box)
    assert found.exact
    if expected is not None:
        assert set(found.constraints) == expected


@pytest.mark.parametrize(
    ("first", "second"), [(Counter(0.0), COUNT), (Counter(0), Block("s.hits.add(0.5)"))]
)
def test_a_counter_of_fractions_is_not_followed(first: Counter, second: Block) -> None:
    program = Pair(Block("s.hits.add(0.1)\ns.x = s.hits.value"), second, {"x": 0, "hits": first})
    found = list(program.program().list_constraints("synthesised"))
    assert any(isinstance(one, Untranslated) for one in found)
    assert not any(getattr(one, "constraints", ()) for one in found)


# Exploring


def tables(*puts: tuple[int, int], look: int | None = None) -> Program:
    """Puts into a table, each a process; one may look at a key; both are counted."""
    program = Program("tables", d={}, hits=Counter(0), seen=0)

    def put(s: Any, key: int, value: int) -> Any:
        yield
        s.d[key] = value
        s.hits.add(1)

    def find(s: Any, key: int) -> Any:
        yield
        s.seen = s.d.get(key, 0)

    for position, each in enumerate(puts):
        program.process(put, *each, name=f"put{position}")
    if look is not None:
        program.process(find, look)
    return program


@pytest.mark.parametrize("algorithm", ["constrained", "optimal-constrained"])
@pytest.mark.parametrize(
    ("puts", "look", "before", "after"),
    [
        (((1, 1), (2, 2), (3, 3)), None, 6, 1),
        (((1, 1), (2, 2), (3, 3)), 2, 12, 2),
        (((1, 1), (1, 2), (1, 1)), None, 6, 4),
    ],
)
def test_what_it_saves(algorithm: str, puts: Any, look: Any, before: int, after: int) -> None:
    def ends(name: str, mode: str) -> tuple[int, set[Any]]:
        program = tables(*puts, look=look)
        found = set()

        @program.finally_
        def collect(s: Any) -> None:
            found.add((s.seen, s.hits.value, *(s.d.get(key) for key in range(4))))

        result = treadle.explore(program, name, constraints=mode)
        assert result.ok
        return result.executions, found

    plain, constrained = ends("optimal", "none"), ends(algorithm, "synthesised")
    assert plain[1] == constrained[1]
    assert plain[0] == ends("optimal-constrained", "none")[0] == before
    assert constrained[0] <= after
    assert algorithm == "constrained" or constrained[0] == after


def test_who_sees_the_order_of_keys_makes_it_count() -> None:
    program = tables((1, 1), (2, 2))
    orders = set()

    @program.finally_
    def collect(s: Any) -> None:
        orders.add(tuple(s.d))

    result = treadle.explore(program, "optimal-constrained", constraints="synthesised")
    assert orders == {(1, 2), (2, 1)}
    assert "somebody may see in which order keys came into s.d" in " ".join(result.notes)


def test_who_does_not_see_the_order_of_keys_may_look() -> None:
    program = tables((1, 1), (2, 2))

    @program.finally_
    def check(s: Any) -> None:
        assert (len(s.d), sorted(s.d), set(s.d)) == (2, [1, 2], {1, 2})
        assert 1 in s.d
        assert s.d[2] == s.d.get(2)

    result = treadle.explore(program, "optimal-constrained", constraints="synthesised")
    assert result.executions == 1


def test_a_process_that_goes_over_the_keys_sees_their_order() -> None:
    program = tables((1, 1), (2, 2))
    orders = set()

    def goes_over(s: Any) -> Any:
        yield
        orders.add(tuple(s.d))

    program.process(goes_over)
    program.independent("put", "put")
    result = treadle.explore(program, "optimal-constrained")
    assert [failure.kind for failure in result.failures] == ["constraint"]
    assert "s.d differs" in result.failures[0].message


def test_declared_blocks_of_any_key_conflict_with_all_others() -> None:
    """A declared pair speaks of these blocks alone: who is not declared sees all that they do."""
    program = Program("any key", d={0: 0, 1: 0}, x=0)

    def bump(s: Any, keys: Any) -> Any:
        yield
        key = keys[0]
        s.d[key] = s.d[key] + 1

    def look(s: Any, key: int) -> Any:
        yield
        s.x = s.d[key]

    ends = set()
    for number in (0, 0, 1):
        program.process(bump, (number,))
    program.process(look, 0)
    program.independent("bump", "bump")
    program.finally_(lambda s: ends.add((s.x, s.d[0], s.d[1])))
    for algorithm in ("optimal", "constrained", "optimal-constrained"):
        ends.clear()
        result = treadle.explore(program, algorithm)
        assert result.ok
        assert ends == {(0, 2, 1), (1, 2, 1), (2, 2, 1)}


def test_a_check_that_is_added_later_may_see_the_order_of_keys() -> None:
    program = tables((1, 1), (2, 2))
    found = treadle.explore(program, "optimal-constrained", constraints="synthesised")
    assert found.executions == 1
    orders = set()

    @program.finally_
    def collect(s: Any) -> None:
        orders.add(tuple(s.d))

    found = treadle.explore(program, "optimal-constrained", constraints="synthesised")
    assert found.executions == 2
    assert orders == {(1, 2), (2, 1)}


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize("algorithm", ["constrained", "optimal-constrained"])
def test_what_has_a_value_is_no_counter(algorithm: str) -> None:
    """The kind of `s.level.value` is that of nothing that the source says."""
    program = Program("level", level=Level.LOW, x=Level.HIGH, y=0)

    def take(s: Any) -> Any:
        yield
        s.x = s.level.value

    def look(s: Any) -> Any:
        yield
        if s.x == 1:
            s.y += 1

    program.process(take)
    program.process(look, name="look1")
    program.process(look, name="look2")
    ends = set()
    program.finally_(lambda s: ends.add(s.y))
    assert treadle.explore(program, algorithm, constraints="synthesised").ok
    assert ends == {0, 1, 2}

"""What was found is known by the code of both blocks, and by all that it depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from boxes import Block, Pair
from treadle.smt import cache, place

LIMITED = "if s.x < limit:\n    s.x += 1"


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_known", {})
    monkeypatch.setattr(place, "_directory", None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of what the solver is asked."""
    questions: list[Any] = []
    synthesise = cache.synthesise

    def counted(*args: Any, **named: Any) -> Any:
        questions.append(args)
        return synthesise(*args, **named)

    monkeypatch.setattr(cache, "synthesise", counted)
    return questions


def pair(text: str = LIMITED, limit: object = 2, x: object = 0) -> Pair:
    block = Block(text, names={"limit": limit})
    return Pair(block, block, {"x": x})


def test_the_same_code_is_asked_about_once(asked: list[Any]) -> None:
    first = pair().listed()
    assert pair().listed() == first
    assert len(asked) == 1


@pytest.mark.parametrize(
    "other",
    [
        pair(limit=3),
        pair(limit=True),
        pair(LIMITED.replace("<", "<=")),
        pair(x=None),
        pair(x=True),
    ],
    ids=["constant", "kind of constant", "code", "kind of value", "truth value"],
)
def test_what_an_answer_depends_on_makes_a_difference(other: Pair, asked: list[Any]) -> None:
    pair().listed()
    other.listed()
    assert len(asked) == 2


def test_where_the_code_stands_makes_none(asked: list[Any]) -> None:
    pair().listed()
    moved = Block("\n\n" + LIMITED.replace("\n", "\n\n"), names={"limit": 2})
    Pair(moved, moved, {"x": 0}).listed()
    assert len(asked) == 1


def test_another_block_of_the_same_function(asked: list[Any]) -> None:
    twice = Block("s.x += 1", after="yield\ns.x += 1")
    program = Pair(twice, twice, {"x": 0}).program()
    found = list(program.list_constraints("synthesised"))
    assert len(found) == 4
    assert len(asked) == 4


def test_nothing_is_written_unless_somebody_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pair().listed()
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_found_by_the_next_process(
    tmp_path: Path, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.keep_in(tmp_path / "kept")
    first = pair().listed()
    monkeypatch.setattr(cache, "_known", {})
    assert pair().listed() == first
    assert len(asked) == 1
    [file] = (tmp_path / "kept" / "constraints").iterdir()
    for text in ("", "{", "[]", "{}", '{"constraints": ["s.x <"]}'):
        file.write_text(text)
        monkeypatch.setattr(cache, "_known", {})
        assert pair().listed().constraints == first.constraints
    assert len(asked) == 6


def test_a_place_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place.keep_in(tmp_path / "file")
    assert pair().listed().exact


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("True", True),
        ("s.x > 0 and first.k != second.k", True),
        ("s.a[first.k] is not None and merge(s.x, 1) == merge(1, s.x)", True),
        ("type(s.x) is int", True),
        ("(s.x // 2) % 3 >= -1", True),
        ("not s.b", True),
        ("s.x = 1", False),
        ("s.__class__", False),
        ("__import__('os')", False),
        ("s.x.run()", False),
        ("[s.x]", False),
        ("lambda: 1", False),
        ("(i for i in s.x)", False),
        ("f'{s.x}'", False),
    ],
)
def test_what_is_a_constraint(text: str, is_one: bool) -> None:
    assert cache._is_harmless(text) == is_one

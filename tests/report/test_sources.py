"""The source around the lines of an execution."""

from __future__ import annotations

import linecache
from pathlib import Path
from textwrap import dedent

import pytest

from treadle.report.sources import Piece, sources_of

TEXT = dedent(
    """\
    import threading


    def first():
        return 1


    @decorated
    def second():
        x = 1

        def inner():
            return x

        return inner


    class Third:
        def method(self):
            return 3


    VALUE = 4
    """
)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "code.py"
    path.write_text(TEXT)
    linecache.checkcache()
    return str(path)


def lines_of(pieces: list[Piece]) -> list[tuple[int, int]]:
    return [(piece.first, piece.first + len(piece.lines) - 1) for piece in pieces]


def test_a_function_is_shown_as_a_whole(file: str) -> None:
    found = sources_of([f"{file}:5"])
    assert found == {file: [Piece(4, ("def first():", "    return 1"))]}


def test_with_its_decorators_and_what_is_around_it(file: str) -> None:
    found = sources_of([f"{file}:13"])
    assert lines_of(found[file]) == [(8, 15)], "the outermost function"
    assert found[file][0].lines[0] == "@decorated"


def test_pieces_that_are_near_each_other_are_one(file: str) -> None:
    assert lines_of(sources_of([f"{file}:5", f"{file}:10"])[file]) == [(4, 15)]
    assert lines_of(sources_of([f"{file}:5", f"{file}:20"])[file]) == [(4, 5), (18, 20)]


def test_a_line_outside_of_functions_has_some_around_it(file: str) -> None:
    (piece,) = sources_of([f"{file}:23"])[file]
    assert piece.first == 15
    assert piece.lines[-1] == "VALUE = 4"


def test_a_large_function_is_shown_in_part(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_text("def large():\n" + "    x = 1\n" * 200)
    assert lines_of(sources_of([f"{path}:100"])[str(path)]) == [(92, 108)]


def test_what_is_no_python_is_shown_in_part(tmp_path: Path) -> None:
    path = tmp_path / "model.abs"
    path.write_text("module M;\n" + "class C { }\n" * 30)
    assert lines_of(sources_of([f"{path}:2"])[str(path)]) == [(1, 10)]


def test_what_cannot_be_read_is_left_out() -> None:
    assert sources_of(["nowhere.py:3", "", "x", "x:y", "<string>:1"]) == {}


def test_a_line_that_is_gone_is_left_out(file: str) -> None:
    assert sources_of([f"{file}:900"]) == {}

"""ABS programs as text, for tests."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import treadle
from treadle.actors.abs.declarations import CALLED, Declarations
from treadle.actors.abs.errors import AbsError, Source
from treadle.actors.abs.expressions import Expressions
from treadle.actors.abs.loading import load
from treadle.actors.abs.parse import parse, parse_part
from treadle.actors.abs.scope import Body, Scope


def program(directory: Path, text: str, name: str = "", file: str = "model.abs") -> Any:
    """Return the program of a text."""
    path = directory / file
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return load(path, name)[1]


def explored(directory: Path, text: str, algorithm: str = "optimal", **options: Any) -> Any:
    """Explore the program of a text completely."""
    return treadle.explore(program(directory, text), algorithm, stop_on_failure=False, **options)


def holds(directory: Path, text: str) -> None:
    """Check that all assertions hold, and that they were reached: negated, each one fails.

    Assertions in the text are written with parentheses.
    """
    result = explored(directory, text)
    assert [failure.message for failure in result.failures] == []
    parts = text.split("assert (")
    assert len(parts) > 1, "nothing is asserted"
    for at in range(1, len(parts)):
        other = "assert (".join(parts[:at]) + "assert !(" + "assert (".join(parts[at:])
        kinds = {failure.kind for failure in explored(directory, other).failures}
        assert kinds == {"assertion"}, f"assertion {at} is never tested"


def in_main(directory: Path, statements: str, before: str = "") -> None:
    """Check that the assertions of some statements hold, in a main block."""
    holds(directory, f"module Test;\n{before}\n{{\n{textwrap.dedent(statements)}\n}}\n")


def evaluated(text: str) -> Any:
    """Return the value of an expression."""
    source = Source(Path("expression.abs"), text)
    declared = Declarations(source, parse(Source(Path("empty.abs"), "")))
    node = parse_part(source, text, "expression", 1, 1)
    made = Expressions(declared).expression(node, Scope(Body("")))
    code = compile(ast.fix_missing_locations(ast.Expression(made)), "expression.abs", "eval")
    return eval(code, {name: value for module in CALLED for name, value in vars(module).items()})


def refused(directory: Path, text: str, name: str = "") -> str:
    """Return what is said of a program that is refused, without its path."""
    try:
        program(directory, text, name)
    except AbsError as error:
        return str(error).removeprefix(f"{directory / 'model.abs'}:")
    raise AssertionError("it was not refused")

"""From a function to its definition: by its name and line, or from a tree that is remembered."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import Any

from treadle.analyses.sources import definition_of, remember


def plain(a: int, *rest: int, b: int = 1, **others: int) -> None: ...


class Outer:
    def method(self) -> Callable[..., Any]:
        def inner(x: int) -> int:
            return x

        return inner

    class Inner:
        def method(self) -> None: ...


def wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


@wrapping
def wrapped() -> None: ...


def name_and_line(function: Any) -> tuple[str, int] | None:
    assert isinstance(function, FunctionType)
    found = definition_of(function)
    return None if found is None else (found.name, found.lineno)


def test_functions_are_found_by_name_and_place() -> None:
    for function in (plain, Outer.method, Outer.Inner.method, Outer().method()):
        assert name_and_line(function) == (function.__name__, function.__code__.co_firstlineno)


def test_a_wrapper_is_itself() -> None:
    found = name_and_line(wrapped)
    assert found is not None
    assert found[0] == "wrapper", "what it wraps may be called otherwise, or not at all"


def test_a_lambda_has_no_definition() -> None:
    assert definition_of(lambda: 1) is None  # type: ignore[arg-type]


def made(text: str, file: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def test_a_file_that_has_changed_is_read_again() -> None:
    file = "<changing>"
    texts = ["def f(a): return a\n", "def f(a): return a + 1\n", "def f(a, b): return b\n"]
    for text in texts:
        function = made(text, file)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        found = definition_of(function)
        assert found is not None
        assert ast.unparse(found).split(": ")[0] == text.split(":")[0] + ":\n    return " + (
            text.split("return ")[1].strip()
        )
    assert definition_of(made(texts[0], file)) is None, "other parameters: a newer file"


def test_what_is_no_python_has_no_definitions() -> None:
    file = "<no python>"
    linecache.cache[file] = (1, None, ["this is not Python\n"], file)
    assert definition_of(made("def f(): pass", file)) is None


def test_generated_code_is_remembered() -> None:
    tree = ast.parse("def f(a): return a")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.arg):
            node.lineno, node.end_lineno = 7, 7
    remember("<generated>", tree)
    space: dict[str, Any] = {}
    exec(compile(tree, "<generated>", "exec"), space)
    assert name_and_line(space["f"]) == ("f", 7)

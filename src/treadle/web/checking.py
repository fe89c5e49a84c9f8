"""Looking at a text without running it: the first mistake in it, and the programs that it has."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from treadle.core.errors import TreadleError
from treadle.session.front_ends import front_end_of_file

Json = dict[str, Any]


def checked(text: str, file: str) -> Json:
    """Return the mistake of a text if there is one, and its programs, each with its parameters.

    >>> checked("def p(:", "a.py")
    {'error': {'line': 1, 'text': 'invalid syntax'}, 'programs': []}
    >>> checked("def barber(n, fast=True): ...", "a.py")["programs"][0]["call"]
    'barber({0}, {1})'
    """
    programs, error = _python(text) if file.endswith(".py") else _other(text, file)
    return {"error": error, "programs": programs}


def line_of(message: str, file: str) -> int:
    """Return the line of a file that a message names, the last one; 0 if it names none.

    >>> line_of("a.py raises: no (a.py:3)", "a.py")
    3
    """
    found = re.findall(rf"{re.escape(file)}:(\d+)", message)
    return int(found[-1]) if found else 0


def _program(name: str, parameters: Sequence[tuple[str, str]] = (), made: int = 0) -> Json:
    """Return a program: how it is called, and its parameters with what they are by default.

    `made` is how many of the parameters are those of the class of a method.
    """
    holes = [f"{{{at}}}" for at in range(len(parameters))]
    call = name
    if parameters:
        of_class, _, method = name.rpartition(".")
        before = f"{of_class}({', '.join(holes[:made])})." if made else name[: -len(method)]
        call = f"{before}{method}({', '.join(holes[made:])})"
    asked = [{"name": one, "usual": usual} for one, usual in parameters]
    return {"name": name, "call": call, "parameters": asked}


# Python


def _python(text: str) -> tuple[list[Json], Json | None]:
    try:
        return _functions(ast.parse(text)), None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        return [], {"line": line, "text": getattr(error, "msg", "") or str(error)}


def _functions(tree: ast.Module) -> list[Json]:
    found = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(_program(node.name, _parameters(node.args)))
        elif isinstance(node, ast.Assign):
            found += [_program(one.id) for one in node.targets if isinstance(one, ast.Name)]
    return found


def _parameters(arguments: ast.arguments) -> list[tuple[str, str]]:
    every = [*arguments.posonlyargs, *arguments.args]
    usual = [ast.unparse(one) for one in arguments.defaults]
    missing = [""] * (len(every) - len(usual))
    return [(one.arg, said) for one, said in zip(every, missing + usual, strict=True)]


# Other languages


def _other(text: str, file: str) -> tuple[list[Json], Json | None]:
    reader = front_end_of_file(Path(file).suffix)
    if reader is None:
        return [], {"line": 1, "text": f"{file}: a name that ends in .py or .abs is needed"}
    with TemporaryDirectory(prefix="treadle-web-") as folder:
        path = Path(folder) / Path(file).name
        path.write_text(text, "utf-8")
        try:
            code = reader.code(path)
        except TreadleError as error:
            said = str(error)
            line = line_of(said, path.name) or 1
            return [], {"line": line, "text": said.replace(f"{folder}/", "")}
    return _methods(code), None


def _methods(code: ModuleType) -> list[Json]:
    """Return the main program, if there is one, and the methods that can be one."""
    found = [_program("main")] if hasattr(code, "main") else []
    for cls in vars(code).values():
        if not inspect.isclass(cls) or cls.__module__ != code.__name__:
            continue
        of_class = _names(cls.__init__) if "__init__" in vars(cls) else []
        for name in vars(cls):
            method = getattr(cls, name)  # an actor's methods are descriptors
            if inspect.iscoroutinefunction(method):
                parameters = [(one, "") for one in (*of_class, *_names(method))]
                found.append(_program(f"{cls.__name__}.{name}", parameters, len(of_class)))
    return found


def _names(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)[1:]

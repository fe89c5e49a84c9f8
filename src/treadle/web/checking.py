"""Looking at a text without running it: its colours, and the first mistake in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treadle.core.errors import TreadleError
from treadle.report.html.source import coloured
from treadle.session.front_ends import front_end_of_file


def checked(text: str, file: str) -> dict[str, Any]:
    """Return the lines of a text in colour, its mistake if there is one, and its functions.

    >>> checked("def p(:", "a.py")["error"]
    {'line': 1, 'text': 'invalid syntax'}
    """
    lines = [str(coloured(line)) for line in text.split("\n")]
    names, error = _python(text) if file.endswith(".py") else _other(text, file)
    return {"lines": lines, "error": error, "names": names}


def line_of(message: str, file: str) -> int:
    """Return the line of a file that a message names, the last one; 0 if it names none.

    >>> line_of("a.py raises: no (a.py:3)", "a.py")
    3
    """
    found = re.findall(rf"{re.escape(file)}:(\d+)", message)
    return int(found[-1]) if found else 0


def _python(text: str) -> tuple[list[str], dict[str, Any] | None]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        return [], {"line": line, "text": getattr(error, "msg", "") or str(error)}
    names = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parameters = [one.arg for one in node.args.args]
            names.append(f"{node.name}({', '.join(parameters)})" if parameters else node.name)
        elif isinstance(node, ast.Assign):
            names += [one.id for one in node.targets if isinstance(one, ast.Name)]
    return names, None


def _other(text: str, file: str) -> tuple[list[str], dict[str, Any] | None]:
    reader = front_end_of_file(Path(file).suffix)
    if reader is None:
        return [], {"line": 1, "text": f"{file}: a name that ends in .py or .abs is needed"}
    with TemporaryDirectory(prefix="treadle-web-") as folder:
        path = Path(folder) / Path(file).name
        path.write_text(text, "utf-8")
        try:
            reader.code(path)
        except TreadleError as error:
            said = str(error)
            return [], {
                "line": line_of(said, path.name) or 1,
                "text": said.replace(f"{folder}/", ""),
            }
    return [], None

"""A test case as source: a program that restores the context, and a test that runs it in order.

The program can be run by itself (`treadle run`), the test is one for pytest: both are ordinary
Python that people read, change and keep.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path as File
from textwrap import indent, wrap
from typing import ClassVar

from treadle.symbolic.concrete import Concrete, RestoredActor
from treadle.symbolic.values import ANY, Reference, Value

_WIDTH = 96


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """Where a class comes from: a file, and its name there."""

    name: str
    file: str
    path: str
    """The dotted name in the file; empty if the class is made inside of a function."""


@dataclasses.dataclass(frozen=True, slots=True)
class TestCase:
    """A concrete execution, ready to be written down."""

    __test__: ClassVar[bool] = False
    """It is no class of tests, whatever pytest makes of its name."""
    name: str
    words: str
    """What happens, for people."""
    kind: str
    """How it ends: `deadlock`, `stuck`, `exception`, `assertion` or `end`."""
    context: str
    program: str
    """The source of the program that makes the context."""
    schedule: tuple[str, ...]
    origins: tuple[Origin, ...]
    constraints: tuple[str, ...]
    table: tuple[str, ...]
    """The interleaving, a line for each macro-step."""

    def shown(self, output: str, directory: File | None = None) -> str:
        """Return what was asked for of the path: its test, its condition, or both."""
        if output == "tests":
            return self.source(directory)
        conditions = "\n".join(self.constraints) or "whatever the values"
        if output == "constraints":
            return f"{conditions}\n"
        commented = indent(conditions, "#   ")
        return f"{self.source(directory)}\n# The path is taken if\n{commented}\n"

    def source(self, directory: File | None = None) -> str:
        """Return a file for pytest; it loads the program's code from where that is.

        Without a directory, it is to be kept beside the code.
        """
        files = list(dict.fromkeys(origin.file for origin in self.origins))
        steps = "\n".join(f"    {_quoted(line)}," for line in self.schedule)
        return "\n".join(
            [
                _docstring(f"A test case that Treadle generated: {self.kind} of {self.name}."),
                "",
                "from pathlib import Path",
                "",
                "from treadle.actors import ANY, follow, load, program, restore",
                "",
                "_HERE = Path(__file__).parent",
                *(
                    f"{_module(number)} = load(_HERE / {_quoted(_relative(file, directory))})"
                    for number, file in enumerate(files)
                ),
                *(_class_line(origin, files.index(origin.file)) for origin in self.origins),
                "",
                "",
                self.program,
                "",
                "SCHEDULE = [",
                steps,
                "]",
                "",
                "",
                f"def test_{self.name}():",
                indent(_docstring(_sentence(self.words)), "    "),
                f"    assert follow({self.name}, SCHEDULE).kind == {_quoted(self.kind)}",
                "",
            ]
        )


def _module(number: int) -> str:
    return "code" if number == 0 else f"code{number + 1}"


def _class_line(origin: Origin, number: int) -> str:
    if not origin.path:
        return f"{origin.name} = ...  # made inside of a function of {File(origin.file).name}"
    return f"{origin.name} = {_module(number)}.{origin.path}"


def _relative(file: str, directory: File | None) -> str:
    if directory is None:
        return File(file).name
    return File(os.path.relpath(file, directory)).as_posix()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _sentence(words: str) -> str:
    return f"{words}."


def _docstring(words: str) -> str:
    text = words.replace("\\", "\\\\").replace('"""', "'''")
    if len(text) <= _WIDTH - 10:
        return f'"""{text}"""'
    first, *rest = wrap(text, _WIDTH - 10)
    return "\n".join([f'"""{first}', *rest, '"""'])


def program_source(name: str, words: str, concrete: Concrete) -> str:
    """Return the source of a program that makes a context."""
    writer = _Writer(concrete.actors)
    lines = [*writer.restorations(), *writer.sends(concrete)]
    body = "\n".join(lines) or "pass"
    docstring = indent(_docstring(_sentence(words)), "    ")
    return f"@program\ndef {name}():\n{docstring}\n{indent(body, '    ')}\n"


class _Writer:
    """Writes values as source."""

    def __init__(self, actors: Iterable[RestoredActor]) -> None:
        self._actors = list(actors)
        self._names = {actor.name: variable_of(actor.label) for actor in self._actors}

    def restorations(self) -> list[str]:
        """Return the lines that restore all actors; those that know each other in two steps."""
        lines, later = [], []
        there: set[str] = set()
        for actor in self._actors:
            now = {n: v for n, v in actor.fields.items() if self._references(v) <= there}
            variable = self._names[actor.name]
            lines.append(f"{variable} = restore({self._call(actor.cls.__name__, now)})")
            there.add(actor.name)
            rest = {n: v for n, v in actor.fields.items() if n not in now}
            if rest:
                later.append(f"restore({self._call(variable, rest)})")
        return lines + later

    def sends(self, concrete: Concrete) -> list[str]:
        """Return the lines that send all tasks."""
        return [
            f"{self._names[task.actor]}.{task.method}.send("
            f"{', '.join(map(self.literal, task.arguments.values()))})"
            for task in concrete.tasks
        ]

    def _call(self, first: str, fields: dict[str, Value]) -> str:
        return ", ".join([first, *(f"{name}={self.literal(v)}" for name, v in fields.items())])

    def _references(self, value: Value) -> set[str]:
        if isinstance(value, Reference):
            return {value.name}
        if isinstance(value, list | tuple | set):
            return set[str]().union(*map(self._references, value))
        if isinstance(value, dict):
            return self._references([*value, *value.values()])
        return set()

    def literal(self, value: Value) -> str:
        """Return a value as source."""
        match value:
            case Reference(name):
                return self._names[name]
            case list():
                return f"[{', '.join(map(self.literal, value))}]"
            case tuple():
                comma = "," if len(value) == 1 else ""
                return f"({', '.join(map(self.literal, value))}{comma})"
            case dict():
                pairs = (f"{self.literal(k)}: {self.literal(v)}" for k, v in value.items())
                return f"{{{', '.join(pairs)}}}"
            case enum.Enum():
                return f"{type(value).__name__}.{value.name}"
            case _ if value is ANY:
                return "ANY"
        return repr(value)


def variable_of(label: str) -> str:
    """Return a name for an actor: `DBServer1` is `db_server1`.

    >>> variable_of("Worker2"), variable_of("DBServer1")
    ('worker2', 'db_server1')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", label).lower()

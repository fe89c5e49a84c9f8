"""What server and worker say to each other: JSON, one object on each line.

The server sends one `Wish`. The worker answers with any number of `progress` lines and one last
line, `result` or `error`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

OFF = "off"
"""What guidance is if nobody wants any."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody applied."""

    file: str
    """The file's name, in the directory in which the worker runs."""
    program: str = ""
    """Which program of the file; empty if it has only one."""
    options: dict[str, str] = field(default_factory=dict)
    """Options that were set, by name, as words on a command line."""
    guided: str = OFF
    """`off`, or a criterion of deadlock-guided testing."""
    contexts: int = 0
    """Tasks of each method in generated contexts; 0: the program itself."""
    memory: int = 0
    """Megabytes that the worker may have."""
    seconds: float = 0.0
    """Processor time that it may have."""
    project: str = ""
    """The directory whose settings hold: its `pyproject.toml`, or one above it."""
    places: tuple[str, ...] = ()
    """Directories that the program may import from."""

    @property
    def target(self) -> str:
        """What a command line would call it."""
        return f"{self.file}::{self.program}" if self.program else self.file

    def line(self) -> str:
        """Return it as a line."""
        return json.dumps(asdict(self)) + "\n"


def read_wish(line: str) -> Wish:
    """Read a wish.

    >>> read_wish(Wish("a.py", "p", {"seed": "3"}).line()).target
    'a.py::p'
    """
    return Wish(**json.loads(line))


def message(kind: str, content: Any) -> str:
    """Return a line of the worker.

    >>> message("progress", "3 executions")
    '{"progress": "3 executions"}\\n'
    """
    return json.dumps({kind: content}) + "\n"

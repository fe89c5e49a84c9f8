"""Random programs of actors, as Python source: sends, gets, awaits, conditions, pauses, branches.

Methods are numbered, and send only methods with a larger number, so that every program ends. Each
takes the same three actors, and passes them on.
"""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
from pathlib import Path
from textwrap import indent
from typing import Any

from hypothesis import strategies as st

from treadle.actors import Program

CLASSES = ("One", "Two")
METHODS = 4
_HEAD = "from treadle.actors import Actor, pause, until\n\n\n"
_numbers = itertools.count()
_directory = tempfile.TemporaryDirectory()

fields = st.sampled_from(("f", "g"))
small = st.integers(0, 2)


def _send(level: int) -> st.SearchStrategy[str]:
    method = st.integers(level + 1, METHODS - 1)
    return st.builds(
        "{}.m{}.send(a, b, c)".format, st.sampled_from(("a", "b", "c", "self")), method
    )


def _simple(level: int, d: bool) -> st.SearchStrategy[str]:
    writes = [
        st.builds("self.{} = {}".format, fields, small),
        st.builds("self.{} += {}".format, fields, st.integers(1, 2)),
        st.builds("self.{} = self.{} * 2".format, fields, fields),
    ]
    if d:
        writes += [
            st.builds("self.d[self.{} % 2] = self.{}".format, fields, fields),
            st.just("self.f = len(self.d)"),
            st.builds("self.g = self.d.get({}, 0)".format, small),
        ]
    if level + 1 >= METHODS:
        return st.one_of(writes)
    send = _send(level)
    return st.one_of(
        *writes,
        send,
        st.builds("{}.get()".format, send),
        st.builds("await {}".format, send),
        st.builds("h = {}".format, send),
        st.just("if h: await h"),
        st.just("if h: h.get()"),
        st.builds("self.f += {}.get()".format, send),
    )


def _statement(level: int, d: bool, conditions: bool) -> st.SearchStrategy[str]:
    simple = _simple(level, d)
    if not conditions:
        return simple
    return st.one_of(
        simple,
        simple,
        simple,
        st.builds("await until(lambda: self.{} > {})".format, fields, st.integers(0, 1)),
        st.just("await pause()"),
        st.builds("if self.{} > {}:\n    {}\nelse:\n    {}".format, fields, small, simple, simple),
    )


@st.composite
def sources(draw: Any, conditions: bool = True) -> str:
    """Return the source of a program; its main function is `main`."""
    text = _HEAD
    d = draw(st.booleans())
    for name in CLASSES:
        text += f"class {name}(Actor):\n    def __init__(self):\n"
        text += "        self.f, self.g = 0, 1\n"
        text += "        self.d = {}\n\n" if d else "\n"
        for level in range(METHODS):
            body = draw(st.lists(_statement(level, d, conditions), min_size=1, max_size=2))
            lines = "\n".join(["h = None", *body, f"return self.{draw(fields)}"])
            text += f"    async def m{level}(self, a, b, c):\n{indent(lines, ' ' * 8)}\n\n"
    text += "\ndef main():\n    a, b = One(), Two()\n"
    text += f"    c = {draw(st.sampled_from(('One()', 'Two()', 'a')))}\n"
    for _ in range(draw(st.integers(1, 2))):
        receiver = draw(st.sampled_from(("a", "b", "c")))
        text += f"    {receiver}.m{draw(st.integers(0, 1))}.send(a, b, c)\n"
    return text


def main_of(source: str) -> Any:
    """Return the main function of a program."""
    path = Path(_directory.name) / f"random_actors_{next(_numbers)}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def program_of(source: str, **options: Any) -> Program:
    """Return a program of its source."""
    program = Program(main_of(source), **options)
    program.remembers = True
    return program

"""From an ABS file to a program of actors.

The main block is the program, or a method under test: `Class.m(1, 2)` makes an object of the class
and calls the method; `Class(3).m()` if the class has parameters.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from treadle.actors.abs.errors import Source
from treadle.actors.abs.translate import MAIN, Translation, translate
from treadle.actors.programs import Program
from treadle.analyses.sources import remember
from treadle.core.errors import TreadleError

_METHOD = re.compile(
    r"(?P<object>[A-Z][\w'.]*(\(.*\))?)\.(?P<method>[a-z][\w']*)(\((?P<args>.*)\))?", re.S
)


def load(path: Path, name: str) -> tuple[str, Program]:
    """Read a file; return its program, and what that is called."""
    translation = read(path)
    if name in ("", MAIN):
        if not translation.declared.mains:
            first = next(iter(translation.declared.classes), None)
            example = f"{first.name}.{next(iter(first.methods), 'm')}" if first else "Class.m"
            translation.source.refuse_at(
                max(1, len(translation.source.text.splitlines())),
                1,
                f"there is no main block: add one, or choose a method with --method {example}",
            )
        name = MAIN
    else:
        translation = _with_main(translation, name)
    return name, _program(translation, name)


def read(path: Path) -> Translation:
    """Translate a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TreadleError(f"{path} is not text in UTF-8: {error}; save it as such") from error
    return translate(Source(path, text))


def _with_main(translation: Translation, name: str) -> Translation:
    """Return a translation whose main block calls the method under test."""
    wanted = _METHOD.fullmatch(name.strip())
    if wanted is None:
        raise TreadleError(f"{name!r} is no method of {translation.source.path}: give Class.method")
    made, method, given = wanted["object"], wanted["method"], wanted["args"] or ""
    made = made if made.endswith(")") else f"{made}()"
    path = translation.source.path
    # The text of the main block stands behind the file, so that errors in it show it.
    text = f"{translation.source.text.rstrip()}\n\n{{ (new {made})!{method}({given}); }}\n"
    return translate(Source(path, text))


def module_of(path: Path) -> ModuleType:
    """Return the code of a file: its classes are attributes, and `main` if there is a block."""
    return _module(read(path))


def _program(translation: Translation, name: str) -> Program:
    """Compile a translation, and make a program of its main function."""
    program: Program = getattr(_module(translation), MAIN)
    program.name = name
    return program


def _module(translation: Translation) -> ModuleType:
    file = str(translation.source.path.resolve())
    module = ModuleType(f"treadle_target_{translation.source.path.stem}")
    module.__file__ = file
    remember(file, translation.tree)
    exec(compile(translation.tree, file, "exec", dont_inherit=True), vars(module))
    return module

"""What a front end is: it recognises what can be explored, and makes a program of it.

A front end derives from `FrontEnd` and is added to `treadle.session.front_ends.FRONT_ENDS`; then
`explore`, the command line, pytest, tokens and reports know it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from treadle.core.deadlocks import Candidates
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.options import Option
from treadle.core.program import Program


class FrontEnd:
    """One kind of things to explore."""

    name: ClassVar[str]
    """By which tokens and results call it."""
    targets: ClassVar[str]
    """What it explores, in words for errors: `a treadle.model.Program`."""
    options: ClassVar[Mapping[str, Option]] = {}
    """The options that only such programs take, beyond those of every search."""
    granularities: ClassVar[tuple[str, ...]] = ("",)
    """What a step can be, by name; the empty name if there is nothing to choose."""
    kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of failures beyond those that the search itself knows."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Of files in a language of its own, which `load` reads: `.abs`."""
    takes_any_function: ClassVar[bool] = False
    """Whether it is asked last, since it cannot tell its functions from those of others."""

    def recognises(self, target: object) -> bool:
        """Tell whether something is for this front end: by default, one of its programs."""
        return isinstance(target, Program) and target.front_end == self.name

    def opened(self, target: Any, options: Mapping[str, Any]) -> AbstractContextManager[Program]:
        """Make a program of a target and take control of it, until the context is left.

        `options` are values for all that the front end declares.
        """
        raise TreadleBug(f"{self.name} programs are opened as they are: {target!r}, {options}")

    def with_options(self, program: Program, given: Mapping[str, Any]) -> Program:
        """Return a program that is made already with options that were given for it, which win.

        By default they are refused: such a program has been told how it is run.
        """
        for name in given:
            raise TreadleError(
                f"{name} decides how {program.name} is made: give it there, not to `explore`"
            )
        return program

    def refuse(self, function: Any) -> None:
        """Raise a `TreadleError` if a function of this front end would not run as a test."""

    def is_meant(self, name: str, value: object, module: str) -> bool:
        """Tell whether a variable of a module is a program that somebody may want to run."""
        del name, module
        return self.recognises(value)

    def deadlock_candidates(self, program: Any, sensitivity: int) -> Candidates:
        """Analyse a program for deadlock cycles; `sensitivity` tells how finely."""
        del program, sensitivity
        raise TreadleError(
            f"deadlock cycles of {self.targets} are not looked for yet: give a program of actors, "
            f"FILE.py::NAME or FILE.abs"
        )

    def code(self, path: Path) -> ModuleType:
        """Read a file in the front end's own language without a main program; return its code."""
        raise TreadleError(f"{path}: {self.name} programs are not read from files")

    def load(self, path: Path, name: str) -> tuple[str, object]:
        """Read a file in the front end's own language; return a program and what it is called."""
        raise TreadleError(f"{path}: {self.name} programs are not read from files ({name!r})")

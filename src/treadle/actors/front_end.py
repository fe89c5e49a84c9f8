"""Actors as a front end. This file is light: it does not load the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from treadle.actors.options import ActorOptions
from treadle.core.deadlocks import Candidates
from treadle.core.front_end import FrontEnd
from treadle.core.options import declared_in
from treadle.core.program import Program

if TYPE_CHECKING:
    from treadle.actors.programs import Program as ActorProgram


class Actors(FrontEnd):
    """Programs of actors."""

    name = "actors"
    targets = "a treadle.actors.Program"
    options = declared_in(ActorOptions)
    kinds = ("stuck",)
    suffixes = (".abs",)

    def with_options(self, program: Program, given: Mapping[str, Any]) -> Program:
        """Return the program with options that were given for it, which win."""
        return cast("ActorProgram", program).with_options(given) if given else program

    def deadlock_candidates(self, program: Program, sensitivity: int) -> Candidates:
        """Analyse a program for deadlock cycles."""
        from treadle.actors.deadlocks import candidates_of

        return candidates_of(cast("ActorProgram", program), sensitivity)

    def code(self, path: Path) -> ModuleType:
        """Read an ABS file; its classes are attributes."""
        from treadle.actors.abs.loading import module_of

        return module_of(path)

    def load(self, path: Path, name: str) -> tuple[str, object]:
        """Read an ABS file; its program is the main block, or the method that the name calls."""
        from treadle.actors.abs.loading import load

        return load(path, name)


ACTORS = Actors()

"""Actors as a front end. This file is light: it does not load the runtime."""

from __future__ import annotations

from treadle.core.front_end import FrontEnd


class Actors(FrontEnd):
    """Programs of actors."""

    name = "actors"
    targets = "a treadle.actors.Program"
    kinds = ("stuck",)


ACTORS = Actors()

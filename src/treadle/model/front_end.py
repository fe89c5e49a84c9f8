"""Models as a front end. This file is light: it does not load the model kit."""

from __future__ import annotations

from treadle.core.front_end import FrontEnd


class Models(FrontEnd):
    """Programs of the model kit, which are programs already."""

    name = "model"
    targets = "a treadle.model.Program"
    kinds = ("constraint",)


MODELS = Models()

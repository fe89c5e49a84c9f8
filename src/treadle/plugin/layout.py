"""How the reports of one pytest session are laid out: as wide as its terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from treadle.core.failure import Failure
from treadle.report.failure import lines_of
from treadle.report.line import WIDEST, WIDTH, Line, Marks, marks_for, wrapped


@dataclass(frozen=True, slots=True)
class Layout:
    """What reports look like."""

    width: int
    marks: Marks
    with_locals: bool

    @classmethod
    def of(cls, config: pytest.Config) -> Layout:
        """Return the layout that suits a session."""
        return cls(
            min(_width_of(config), WIDEST),
            marks_for(getattr(sys.__stdout__, "encoding", None)),  # `sys.stdout` is captured
            config.getoption("treadle_locals"),
        )

    def failure(self, failure: Failure) -> list[Line]:
        """Return the report of a failure without the traceback, which pytest shows itself."""
        return lines_of(
            failure,
            width=self.width,
            marks=self.marks,
            locals=self.with_locals,
            traceback=False,
        )

    def remark(self, text: str) -> list[Line]:
        """Return what else there is to say, in lines."""
        return wrapped(text, width=self.width)


def _width_of(config: pytest.Config) -> int:
    """Return how wide the terminal is; a worker of pytest-xdist was told so when it started."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        width: int = config.get_terminal_writer().fullwidth
        return width
    told: int = getattr(config, "workerinput", {}).get("treadle_width", WIDTH)
    return told

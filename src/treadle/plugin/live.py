"""The line that tells how far the exploration of a test is, behind pytest's own line."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.explore.progress import Progress
from treadle.report.live import progress_in_words

_SAVE, _RESTORE, _ERASE = "\x1b7", "\x1b8", "\x1b[K"
"""Terminal sequences: remember the position, go back to it, erase to the end of the line."""


class LiveTail:
    """A `Listener` that writes behind the cursor and leaves it where it is."""

    interval = 0.2

    def __init__(self, config: pytest.Config, reporter: Any) -> None:
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._writer = reporter._tw
        self._is_shown = False

    def __call__(self, progress: Progress) -> None:
        """Show progress, or remove the line at the end; called by the search."""
        if progress.final:
            if self._is_shown:
                self._write(_ERASE)
        elif progress.seconds >= self.interval:
            room = self._writer.fullwidth - self._writer.width_of_current_line - 2
            text = progress_in_words(progress)[: max(room, 0)]
            self._write(f"{_SAVE} {text}{_ERASE}{_RESTORE}")
            self._is_shown = True

    def _write(self, text: str) -> None:
        if self._capture is None:
            self._really_write(text)
        else:
            with self._capture.global_and_fixture_disabled():
                self._really_write(text)

    def _really_write(self, text: str) -> None:
        self._writer._file.write(text)
        self._writer.flush()


def live_tail(config: pytest.Config) -> LiveTail | None:
    """Return a live line, if this process has a terminal and the user wants to see things."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not reporter.isatty or reporter.verbosity < 0:
        return None
    return LiveTail(config, reporter)

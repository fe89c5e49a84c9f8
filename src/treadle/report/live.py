"""One line on the terminal that tells how far a running search is."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.text import Text

from treadle.core.counting import count
from treadle.explore.progress import Estimate, Progress


class LiveLine:
    """A `Listener` that keeps one line up to date, and removes it at the end.

    It shows nothing if the console is no terminal or the search is over at once. It keeps the last
    progress that it was told, so that an interrupted search can still say how far it came.
    """

    interval = 0.2

    def __init__(self, console: Console, *, label: str = "") -> None:
        self.last: Progress | None = None
        self._console = console
        self._label = label
        self._live: Live | None = None

    def __call__(self, progress: Progress) -> None:
        """Show progress; called by the search."""
        self.last = progress
        if progress.final:
            self._stop()
        elif self._console.is_terminal and progress.seconds >= self.interval:
            self._show(progress)

    def _show(self, progress: Progress) -> None:
        line = Text(
            "  ".join(filter(None, [self._label, progress_in_words(progress)])),
            no_wrap=True,
            overflow="ellipsis",
        )
        if self._live is None:
            # No refresh thread: it would take time from the search.
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(line, refresh=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def progress_in_words(progress: Progress) -> str:
    """Return executions, rate, depth, what is left and failures, as one line."""
    parts = [count(progress.executions, "execution")]
    if progress.blocked:
        parts.append(f"{progress.blocked:,} blocked")
    if progress.workers > 1:
        parts.append(f"{progress.workers} workers")
    parts.append(f"{progress.rate:,.0f}/s")
    if progress.depth:
        parts.append(f"depth {progress.depth}")
    if progress.estimate is not None and progress.estimate.done < 1:
        parts.append(_estimate_in_words(progress.estimate))
    if progress.failures:
        parts.append(f"{progress.failures} failure{'s' if progress.failures > 1 else ''}")
    return ", ".join(parts)


def _estimate_in_words(estimate: Estimate) -> str:
    """Return the share that is done; branches not discovered yet can only make it smaller."""
    if estimate.is_rough:
        return f"about {estimate.done:.0%} of ~{estimate.executions:,.0f}"
    return (
        f"at most {estimate.done:.1%} of ~{estimate.executions:,.0f} "
        f"({estimate.low:,.0f} to {estimate.high:,.0f})"
    )

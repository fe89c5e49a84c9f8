"""A result as Markdown, to paste into an issue: what failed, how to replay it, with which versions.

What is laid out for people with a terminal stays as it is, in code blocks.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence

from treadle.core.failure import Failure
from treadle.core.result import Result
from treadle.core.version import __version__
from treadle.report.failure import lines_of
from treadle.report.line import ASCII, plain
from treadle.report.text import result_in_words, verdict_in_words


def report_in_markdown(result: Result, target: str, replays: Sequence[str] = ()) -> str:
    """Return a report; `replays` are the commands that replay the failures."""
    parts = [f"# {_in_a_line(verdict_in_words(result, target=target))}", _versions()]
    for failure, command in zip(result.failures, replays, strict=True):
        parts += _failure(failure, command)
    parts += ["## Exploration", _block("text", result_in_words(result, target=target))]
    return "\n\n".join(parts) + "\n"


def _failure(failure: Failure, command: str) -> list[str]:
    headline, _, report = plain(lines_of(failure, marks=ASCII)).partition("\n\n")
    return [f"## {_in_a_line(headline)}", "To replay it:", _block("sh", command)] + (
        ["How it came to that:", _block("text", report)] if report else []
    )


def _versions() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"Treadle {__version__}, {python}, {platform.system()} {platform.machine()}"


def _in_a_line(text: str) -> str:
    """Return text as one line that Markdown shows as it is."""
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", " ".join(text.split()))


def _block(language: str, text: str) -> str:
    """Return text as a code block, between more backticks than it has itself."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"

"""Colour, where the console wants it: on terminals, unless NO_COLOR is set, or FORCE_COLOR is."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.text import Text

from treadle.report.line import Line

_STYLES = {
    "VERIFIED": "bold green",
    "FAILED": "bold red",
    "INCOMPLETE": "bold yellow",
    "DISAGREEMENT": "bold red",
    "Replay:": "cyan",
}
"""What a line begins with, and how it is shown."""


def print_words(console: Console, words: str) -> None:
    """Print text line by line, each in the colour that its first word asks for."""
    for line in words.splitlines():
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        console.print(Text(line, style=style), soft_wrap=True, highlight=False)


def renderable(lines: Iterable[Line]) -> RenderableType:
    """Return lines for `rich` to print, each as one line, however wide the terminal is."""
    return Group(*map(_text, lines))


def coloured(lines: Iterable[Line]) -> str:
    """Return lines with the sequences that make a terminal show them in colour."""
    written = StringIO()
    console = Console(file=written, force_terminal=True, color_system="standard")
    console.print(renderable(lines), highlight=False, soft_wrap=True, end="")
    return written.getvalue().rstrip("\n")


def _text(line: Line) -> Text:
    text = Text(no_wrap=True, overflow="ignore")
    for words, style in line:
        text.append(words, style=style or None)
    text.rstrip()
    return text

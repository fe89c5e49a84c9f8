"""Colour for plain text, where the console wants it: terminals, unless NO_COLOR is set."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

_STYLES = {
    "VERIFIED": "bold green",
    "FAILED": "bold red",
    "INCOMPLETE": "bold yellow",
    "Assertion": "bold red",
    "Exception": "bold red",
    "Deadlock": "bold red",
    "Budget": "bold red",
    "Nondeterminism": "bold red",
    "DISAGREEMENT": "bold red",
    ">": "red",
    "Replay:": "cyan",
}
"""What a line begins with, and how it is shown."""


def print_words(console: Console, words: str) -> None:
    """Print text line by line, each in the colour that its first word asks for."""
    for line in words.splitlines():
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        console.print(Text(line, style=style), soft_wrap=True, highlight=False)

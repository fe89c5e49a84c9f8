"""Numbers, texts and names of processes as bytes, for tokens.

Numbers take seven bits per byte. Names of threads are numbers, too: `main.2` is child 2 of `main`.
"""

from __future__ import annotations

from collections.abc import Sequence

_LITERAL, _MAIN, _CHILD = 0, 1, 2
"""How a name is written: as text; `main`; from here on, as the child of an earlier name."""


def names_in(processes: Sequence[str]) -> list[str]:
    """Return the names that a schedule needs, each after the one that it is a child of."""
    names: dict[str, None] = {}
    for name in dict.fromkeys(processes):
        parts = name.split(".")
        if _is_path(name):
            names.update((".".join(parts[:upto]), None) for upto in range(1, len(parts)))
        names[name] = None
    return list(names)


def _is_path(name: str) -> bool:
    """Tell whether a name is `main`, or `main.` and numbers written in the usual way."""
    first, *numbers = name.split(".")
    return first == "main" and all(_is_number(number) for number in numbers)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and str(int(text)) == text


class Writer:
    """Adds one value after the other to bytes."""

    def __init__(self) -> None:
        self.content = bytearray()

    def number(self, number: int) -> None:
        """Add a number, the lowest seven bits first."""
        while number > 0x7F:
            self.content.append(number & 0x7F | 0x80)
            number >>= 7
        self.content.append(number)

    def text(self, text: str) -> None:
        """Add a text."""
        encoded = text.encode("utf-8", "surrogatepass")
        self.number(len(encoded))
        self.content += encoded

    def word(self, word: str, known: Sequence[str]) -> None:
        """Add a word: its place in a list, or itself if it is not there."""
        if word in known:
            self.number(known.index(word) + 1)
        else:
            self.number(0)
            self.text(word)

    def name(self, name: str, earlier: Sequence[str]) -> None:
        """Add the name of a process."""
        if not _is_path(name):
            self.number(_LITERAL)
            self.text(name)
        elif name == "main":
            self.number(_MAIN)
        else:
            parent, _, number = name.rpartition(".")
            self.number(_CHILD + earlier.index(parent))
            self.number(int(number))


class Reader:
    """Takes one value after the other from bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self) -> int:
        """Take a number."""
        number = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def text(self) -> str:
        """Take a text."""
        end = self.number() + self._at
        if end > len(self._content):
            raise ValueError("a text is longer than the token")
        text = self._content[self._at : end].decode("utf-8", "surrogatepass")
        self._at = end
        return text

    def word(self, known: Sequence[str]) -> str:
        """Take a word: one of a list, or any other."""
        place = self.number()
        return known[place - 1] if place else self.text()

    def name(self, earlier: Sequence[str]) -> str:
        """Take the name of a process."""
        way = self.number()
        if way == _LITERAL:
            return self.text()
        if way == _MAIN:
            return "main"
        return f"{earlier[way - _CHILD]}.{self.number()}"

    def rest(self) -> bytes:
        """Take all that is left."""
        return self._content[self._at :]

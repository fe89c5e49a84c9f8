"""Options, each declared once: its values, its default, a line of help.

An option is declared where it is at home, as a key of a `TypedDict`:

    class ThreadOptions(TypedDict, total=False):
        races: Annotated[bool, Option(FLAG, default=False, help="Report data races as failures.")]

`declared_in` reads such a class. `treadle.explore`, `check`, settings, the command line, pytest and
tokens are all fed from that; type checkers read the same class.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, get_type_hints

from treadle.core.errors import TreadleError

NONE = "none"
"""What stands for no value on a command line."""


class Values(ABC):
    """What an option can be."""

    can_be_none = False
    metavar = ""
    """What stands for a value in help texts."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What a value must be: `a whole number above 0`."""

    @abstractmethod
    def admits(self, value: object) -> bool:
        """Tell whether a value is one of these, `None` aside."""

    def stored(self, value: Any) -> Any:
        """Return a value as it is kept, if it is admitted."""
        return value

    @abstractmethod
    def parsed(self, text: str) -> object:
        """Return what a word on a command line means; raise `ValueError` if nothing."""

    def refusal(self, name: str, value: object) -> str:
        """Return why a value is none of these."""
        none = ", or false for none" if self.can_be_none else ""
        return f"{name} must be {self.in_words}{none}, not {value!r}"


class Flag(Values):
    """Yes or no."""

    in_words = "true or false"

    def admits(self, value: object) -> bool:
        """Tell whether it is a truth value."""
        return isinstance(value, bool)

    def parsed(self, text: str) -> object:
        """Refuse: flags have no value on a command line."""
        raise ValueError(text)


@dataclass(frozen=True)
class Number(Values):
    """A number, perhaps whole, perhaps above zero."""

    kind: type[int] | type[float] = int
    above_zero: bool = False
    unit: str = ""
    can_be_none: bool = False
    metavar: str = "N"
    from_zero: bool = False

    @property
    def in_words(self) -> str:
        """Return what sort of number it must be."""
        what = "a whole number" if self.kind is int else "a number"
        unit = f" of {self.unit}" if self.unit else ""
        bound = " above 0" if self.above_zero else ", 0 or more" if self.from_zero else ""
        return f"{what}{unit}{bound}"

    def admits(self, value: object) -> bool:
        """Tell whether it is such a number."""
        kinds = (int,) if self.kind is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return False
        return value > 0 if self.above_zero else value >= 0 or not self.from_zero

    def parsed(self, text: str) -> object:
        """Return a number."""
        return self.kind(text)


class OneOf(Values):
    """One of several names; which, may be asked when it is needed."""

    metavar = "NAME"

    def __init__(self, names: Iterable[str] | Callable[[], Iterable[str]]) -> None:
        self._names = names

    @property
    def names(self) -> list[str]:
        """The names."""
        return list(self._names() if callable(self._names) else self._names)

    @property
    def in_words(self) -> str:
        """Return the list."""
        return f"one of {', '.join(self.names)}"

    def admits(self, value: object) -> bool:
        """Tell whether it is one of the names."""
        return value in self.names

    def parsed(self, text: str) -> object:
        """Return the name."""
        return text

    def refusal(self, name: str, value: object) -> str:
        """Return which names there are."""
        close = difflib.get_close_matches(str(value), self.names, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return f"unknown {name} {value!r}: choose {self.in_words}{hint}"


class Names(Values):
    """Any number of names; on a command line the option is given once for each."""

    def __init__(self, of: str, example: str, metavar: str) -> None:
        self._of = of
        self._example = example
        self.metavar = metavar

    @property
    def in_words(self) -> str:
        """Return what the names are of."""
        return f"a list of {self._of}, like {self._example}"

    def admits(self, value: object) -> bool:
        """Tell whether these are names."""
        return isinstance(value, tuple) and all(isinstance(name, str) for name in value)

    def stored(self, value: Any) -> Any:
        """Return any collection as a tuple; a text is none."""
        is_collection = isinstance(value, Iterable) and not isinstance(value, str)
        return tuple(value) if is_collection else value

    def parsed(self, text: str) -> object:
        """Return one of the names."""
        return text


class Directory(Values):
    """A directory, or none."""

    in_words = "a directory"
    can_be_none = True
    metavar = "DIRECTORY"

    def admits(self, value: object) -> bool:
        """Tell whether it is a path."""
        return isinstance(value, str) and bool(value)

    def parsed(self, text: str) -> object:
        """Return the path."""
        return text


class CountOr(Values):
    """A whole number above 0, or a word that stands for one."""

    metavar = "N"

    def __init__(self, word: str) -> None:
        self._word = word

    @property
    def in_words(self) -> str:
        """Return both."""
        return f"a whole number above 0, or {self._word!r}"

    def admits(self, value: object) -> bool:
        """Tell whether it is the word, or such a number."""
        return value == self._word or COUNT.admits(value)

    def parsed(self, text: str) -> object:
        """Return the word, or a number."""
        return text if text == self._word else int(text)


class File(Values):
    """A file, or none."""

    in_words = "a file"
    can_be_none = True
    metavar = "FILE"

    def admits(self, value: object) -> bool:
        """Tell whether it is a path."""
        return isinstance(value, str) and bool(value)

    def stored(self, value: Any) -> Any:
        """Return a path as a text."""
        return str(value) if isinstance(value, PurePath) else value

    def parsed(self, text: str) -> object:
        """Return the path."""
        return text


class Engine(Values):
    """Something that can be given work: by name, or an object with `submit`."""

    in_words = "an executor with `submit`, 'ray', 'ray://HOST:PORT' or 'dask://HOST:PORT'"
    can_be_none = True
    metavar = "ENGINE"

    def admits(self, value: object) -> bool:
        """Tell whether it is the name of an engine that is known, or something like one."""
        if isinstance(value, str):
            return value == "ray" or value.startswith(("ray://", "dask://"))
        return callable(getattr(value, "submit", None))

    def parsed(self, text: str) -> object:
        """Return the name."""
        return text


class Either(Values):
    """What several front ends mean by one name: each refuses what is not for it later."""

    def __init__(self, values: Sequence[Values]) -> None:
        self.different = values
        self.can_be_none = any(one.can_be_none for one in values)
        self.metavar = values[0].metavar

    @property
    def in_words(self) -> str:
        """Return all that it can be, each name once."""
        named = [one for one in self.different if isinstance(one, OneOf)]
        all_names = OneOf(dict.fromkeys(name for one in named for name in one.names))
        words = ((all_names if one in named else one).in_words for one in self.different)
        return ", or ".join(dict.fromkeys(words))

    def admits(self, value: object) -> bool:
        """Tell whether one of them admits it."""
        return any(one.admits(value) for one in self.different)

    def stored(self, value: Any) -> Any:
        """Return it as the first that admits it keeps it."""
        for one in self.different:
            if one.admits(one.stored(value)):
                return one.stored(value)
        return value

    def parsed(self, text: str) -> object:
        """Return what the first makes of it that admits it."""
        for one in self.different:
            with suppress(ValueError):
                value = one.parsed(text)
                if one.admits(value):
                    return value
        raise ValueError(text)


FLAG = Flag()
COUNT = Number(above_zero=True)
COUNT_OR_NONE = Number(above_zero=True, can_be_none=True)
SECONDS_OR_NONE = Number(
    float, above_zero=True, unit="seconds", can_be_none=True, metavar="SECONDS"
)


@dataclass(frozen=True)
class Option:
    """Something that can be asked of an exploration."""

    values: Values
    default: Any
    help: str
    """One sentence for help texts."""
    off: str = ""
    """The flag that switches it off, if `no-` before the name is not how one would say it."""
    in_tokens: bool = True
    """Of a front end's option: whether it decides what an execution does, so that tokens know."""
    name: str = ""
    """The key under which it was declared."""

    @property
    def flag(self) -> str:
        """The name on a command line, without what comes before it: `max-steps`."""
        return self.name.replace("_", "-")

    @property
    def off_flag(self) -> str:
        """The name of the flag that switches it off."""
        return self.off or f"no-{self.flag}"

    def read(self, value: object, where: str = "") -> Any:
        """Return a value as it is kept; refuse others, naming `where` they came from.

        `False` stands for none where there may be none: TOML has no other word for it.
        """
        if self.values.can_be_none and (value is None or value is False):
            return None
        stored = self.values.stored(value)
        if not self.values.admits(stored):
            raise TreadleError(where + self.values.refusal(self.name, stored))
        return stored

    def parsed(self, text: str) -> Any:
        """Return what a word on a command line means: `none` lifts a limit; else `ValueError`."""
        if self.values.can_be_none and text == NONE:
            return False
        return self.values.parsed(text)

    def meant(self, text: str) -> Any:
        """Return what a word means; the word itself if it means nothing, which `read` refuses."""
        try:
            return self.parsed(text)
        except ValueError:
            return text


def declared_in(options: type[Any]) -> dict[str, Option]:
    """Return the options that a `TypedDict` declares, by name."""
    hints = get_type_hints(options, include_extras=True)
    return {
        name: replace(next(m for m in hint.__metadata__ if isinstance(m, Option)), name=name)
        for name, hint in hints.items()
    }


def merged(options: Sequence[Option]) -> Option:
    """Return what front ends that use the same name have in common."""
    different = list(dict.fromkeys(option.values for option in options))
    if len(different) == 1:
        return options[0]
    return replace(options[0], values=Either(different))


def find_option(known: Mapping[str, Option], name: str, where: str = "") -> Option:
    """Return the option of a name; refuse one that is not there."""
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}"
    raise TreadleError(f"{where}unknown setting {name!r}: {hint}")

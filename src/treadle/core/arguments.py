"""Options as words on a command line: the one place that knows which sort of option is written how.

`treadle` (click) and pytest (argparse) each say in their own terms what an `Argument` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from treadle.core.options import CountOr, Directory, Either, Flag, Names, Number, OneOf, Option


class Takes(Enum):
    """What follows the name of an option."""

    NOTHING = auto()
    ONE_WORD = auto()
    ONE_WORD_EACH_TIME = auto()
    """It may be given more than once."""


@dataclass(frozen=True)
class Argument:
    """How an option is written."""

    option: Option
    takes: Takes = Takes.ONE_WORD
    choices: Sequence[str] = ()
    """What the word can be; anything, if there are none."""
    number: type[int] | type[float] | None = None
    """Which sort of number the word is, if it is one."""
    is_meant: bool = False
    """Whether it takes `Option.meant` to tell what the word means: it may be of several kinds."""
    can_be_switched_off: bool = False
    """Whether there is a flag for the opposite."""

    @property
    def metavar(self) -> str:
        """What stands for the word in help texts."""
        return "" if self.choices else self.option.values.metavar

    @property
    def off_flag(self) -> str:
        """The flag for the opposite; empty if there is none."""
        return self.option.off_flag if self.can_be_switched_off else ""


def argument(option: Option) -> Argument:
    """Return how an option is written."""
    match option.values:
        case Flag():
            return Argument(option, Takes.NOTHING, can_be_switched_off=True)
        case Number() as values:
            return Argument(option, number=values.kind)
        case OneOf() as values:
            return Argument(option, choices=values.names)
        case Names():
            return Argument(option, Takes.ONE_WORD_EACH_TIME)
        case Directory():
            return Argument(option, can_be_switched_off=True)
        case Either() | CountOr():
            return Argument(option, is_meant=True)
        case _:
            return Argument(option)

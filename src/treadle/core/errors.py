"""Errors of the caller and bugs of Treadle; findings about a program are no errors.

    Exception
    ├── TreadleError          what the caller can mend; each message says how
    │   ├── ScheduleMismatch  a schedule that does not fit the program
    │   └── CannotBeExplored  a test that waits for what Treadle does not control
    └── TreadleBug            an invariant of Treadle does not hold: please report it

What an exploration finds in the program under test is a `treadle.Failure` in its result.
"""

from __future__ import annotations


class TreadleError(Exception):
    """Treadle was asked for something that it cannot do; the message says what to do instead."""


class ScheduleMismatch(TreadleError):
    """A schedule names a step that the program cannot take."""


class CannotBeExplored(TreadleError):
    """A test does what cannot be controlled; that is no finding about it."""


class TreadleBug(Exception):
    """An invariant of Treadle itself is broken; never a finding about the user's program."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}\nThis is a bug of Treadle, not of your program: please report it."
        )

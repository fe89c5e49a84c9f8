"""How much the analysis does at most: it has to end on any package, and says so if it was cut.

Effort is counted in steps and not in seconds, so that the same source has the same result.
"""

from __future__ import annotations


class TooMuch(Exception):
    """The effort is spent."""


class Effort:
    """Counts the work of one phase."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.is_spent = False

    def spend(self, steps: int) -> None:
        """Take note of some work; raise `TooMuch` if that is more than there is to be."""
        self._left -= steps
        if self._left < 0 and not self.is_spent:
            self.is_spent = True
            raise TooMuch

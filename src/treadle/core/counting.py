"""Numbers of things in words."""

from __future__ import annotations


def count(number: int, one: str, many: str = "") -> str:
    """Return a number and what is counted.

    >>> count(1, "step"), count(1200, "step"), count(2, "switch", "switches")
    ('1 step', '1,200 steps', '2 switches')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"

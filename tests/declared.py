"""What front ends declare: the schema of reports has to list it."""

from __future__ import annotations

from treadle.core.failure import KINDS
from treadle.session.front_ends import FRONT_ENDS


def kinds() -> tuple[str, ...]:
    """Return all kinds of failures: the search's, and those of front ends."""
    declared = [kind for front_end in FRONT_ENDS.values() for kind in front_end.kinds]
    return tuple(dict.fromkeys([*KINDS, *declared]))


def granularities() -> tuple[str, ...]:
    """Return all granularities that front ends know."""
    known = [name for front_end in FRONT_ENDS.values() for name in front_end.granularities]
    return tuple(dict.fromkeys(known))

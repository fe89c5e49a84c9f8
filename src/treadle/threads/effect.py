"""What a step of a thread sees and leaves behind, as far as two orders can be compared by it.

The frames of a suspended thread do not show what is on their stacks. But a thread is deterministic:
where it stands after some steps follows from where it stood before and from the values that these
steps returned to it. So a read's effect is the value that it returns, whatever the thread does with
it. Compared are values of attributes, closure variables and globals; what a step touches besides
them (a lock, the content of a container, a class) is equal to nothing.

A published object is compared by its name, which is the same in every execution, because what it
holds has locations of its own; an object that cannot be named is equal to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.events import Codes, Mode, location_of, mode_of
from treadle.result import error_in_words
from treadle.threads.shared import CellTable, ObjectTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.threads.run import ThreadRun

_PLAIN = (int, str, bytes, bool, type(None))


class Incomparable:
    """Equal to nothing, not even to itself."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


def seen_by(run: ThreadRun, codes: Codes) -> object:
    """Return what a step that is about to make these accesses will see."""
    if any(mode_of(access) not in (Mode.READ, Mode.WRITE) for access in codes):
        return Incomparable()
    return values_at(run, [location_of(a) for a in codes if mode_of(a) is Mode.READ])


def effect(run: ThreadRun, processes: Sequence[int], locations: Sequence[int]) -> object:
    """Return which threads have ended, and how, and the values of locations."""
    alive = run.scheduler.alive
    crashes = [
        (crash.process, type(crash.exception), error_in_words(crash.exception))
        for crash in run.crashes
        if crash.process in processes
    ]
    return [process in alive for process in processes], crashes, values_at(run, locations)


def values_at(run: ThreadRun, locations: Iterable[int]) -> list[object]:
    """Return the comparable values of locations."""
    wanted = set(locations)
    if not wanted:
        return []
    shared = run.program.shared
    found: dict[int, object] = {}
    for value in shared.objects():
        table = shared.published.get(id(value))
        if isinstance(table, CellTable):
            location = shared.known_location((table.key, "cell"))
            if location in wanted:
                found[location] = _comparable(run, _content(value, table))
        elif type(table) is ObjectTable:
            attributes = _attributes(value)
            for location, name in shared.known_attributes(table.key):
                if location in wanted:
                    found[location] = _comparable(run, attributes.get(name, "missing"))
    return [found.get(location, Incomparable()) for location in sorted(wanted)]

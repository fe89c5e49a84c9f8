"""Happens-before modulo observability (seed 000, section 4.1; Aronis et al., TACAS 2018).

Two steps that only overwrite a location are ordered if and only if somebody looks at it later and
could tell. So the accesses of a location fall into segments: some overwriting steps, then some that
look at it, and so on. The last write of a segment that somebody looks at comes after the others,
which are not ordered among themselves; all of them come before those who look, and those who look
before the next segment. Nothing orders the writes of a last segment that nobody looks at.

A read, or any access that needs the old value, looks. What counts as overwriting is decided with
care: a `STORE` of a location that the same step has not read before, in a step that accesses the
same locations whatever it reads.

A process that waits for a condition at the end of an execution looks at what the condition reads.

A later read orders earlier writes. So nothing of the order is kept from one execution to the next.
"""

from __future__ import annotations

from collections.abc import Iterable

from treadle.events import Codes, Footprint, Mode, Vocabulary, code, location_of, mode_of
from treadle.explore.steps import Step
from treadle.trace import Race, Trace, bits


class ObservedTrace(Trace):
    """A trace with its happens-before order modulo observability."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self._overwrites: dict[Footprint, frozenset[int]] = {}
        self._overwriting: dict[int, int] = {}
        """The mask of the analysed events that overwrite a location, by its writer key."""
        self._observed: dict[Race, tuple[int, ...]] = {}
        """Races that exist because somebody looks: the writer keys of what is looked at."""
        self._waiting: dict[int, Step] = {}
        """Who waits at the end and looks at a location for it, by its writer key."""

    def overwrites(self, footprint: Footprint) -> frozenset[int]:
        """Return the writer keys of the locations that a step overwrites without looking."""
        keys = self._overwrites.get(footprint)
        if keys is None:
            keys = self._overwrites[footprint] = _overwritten(footprint)
        return keys

    def conflicting(self, footprint: Footprint) -> int:
        """Return the mask of the events that are dependent with one more step at the end."""
        mask = self._dependent(footprint)
        self.known_conflicting[footprint] = mask
        return mask

    def observers(self, e: int, last: int) -> list[int]:
        """Return `observers(e, e', E)`: who looks at what both write; none if that does not matter.

        Of those that happen after another observer nothing more is to be learned.
        """
        looking: set[int] = set()
        for key in self._observed.get((e, last), ()):
            looking.update(self._looking(key, last))
        return [
            event
            for event in sorted(looking)
            if not any(self.before[event] >> other & 1 for other in looking if other != event)
        ]

    def waiting(self, e: int, last: int) -> Step | None:
        """Return a process that waits and looks at what both write, as a step that reads it."""
        keys = self._observed.get((e, last), ())
        return next((self._waiting[key] for key in keys if key in self._waiting), None)

    def await_end(self, blocked: Iterable[tuple[int, Codes]]) -> None:
        """Take note of who waits at the end of the execution: that is a way of looking, too."""
        self._waiting.clear()
        for process, codes in blocked:
            footprint = self.vocabulary.footprint(codes)
            locations = sorted(self.vocabulary.awaited_locations(footprint))
            reads = tuple(code(location, Mode.READ) for location in locations)
            step = process, self.vocabulary.footprint(reads)
            self._waiting.update((location * 4 + 1, step) for location in locations)

    def _looking(self, key: int, last: int) -> list[int]:
        """Return the events that look at what `last` wrote, before the next write."""
        location = key & ~3
        readers, writers, adders = (self.touched[location + kind] for kind in range(3))
        later = (writers | adders) >> last + 1 << last + 1
        end = (later & -later).bit_length() - 1 if later else len(self.before)
        found = [event for event in bits(readers >> last + 1 << last + 1) if event < end]
        if later and not self._overwriting.get(key, 0) >> end & 1:
            found.append(end)
        return found

    # Building the order

    def truncate(self, length: int) -> None:
        """Forget all events from index `length` on."""
        for index in range(length, len(self.before)):
            for key in self.overwrites(self.footprints[index]):
                self._overwriting[key] ^= 1 << index
        super().truncate(length)

    def extend(self) -> None:
        """Analyse all events anew, and sort out the races."""
        self._forget_order()
        self._make_room()
        observed = self._observed_writes()
        for index, footprint in enumerate(self.footprints):
            self._add(index, footprint, observed.get(index, ()))

    def _forget_order(self) -> None:
        self.known_conflicting.clear()
        self._overwriting.clear()
        self._observed.clear()
        self.touched = [0] * len(self.touched)
        self.latest = [-1] * len(self.latest)
        self.of_process = [0] * len(self.of_process)
        self.created.clear()
        for analysed in (self.before, self.previous, self.races, self.altered, self.undecided):
            analysed.clear()

    def _observed_writes(self) -> dict[int, list[int]]:
        """Return the writes that are looked at before another one, with their writer keys."""
        observed: dict[int, list[int]] = {}
        is_looked_at = dict.fromkeys(self._waiting, True)
        for index in range(len(self.footprints) - 1, -1, -1):
            footprint = self.footprints[index]
            overwritten = self.overwrites(footprint)
            for key in footprint.own:
                writer = key & ~3 | 1
                if key in overwritten and is_looked_at.get(writer):
                    observed.setdefault(index, []).append(key)
                is_looked_at[writer] = key not in overwritten
        return observed

    def _add(self, index: int, footprint: Footprint, observed: list[int] | tuple[()]) -> None:
        process = self.processes[index]
        last = self.latest[process]
        base = known = self.past_of(process, last, footprint)
        certain = self._dependent(footprint)
        dependent = certain
        for key in observed:
            dependent |= self._overwriting.get(key, 0)
        dependent &= ~known
        found: list[Race] = []
        while dependent:
            event = dependent.bit_length() - 1
            found.append((event, index))
            if not certain >> event & 1:
                self._observed[event, index] = tuple(
                    key for key in observed if self._overwriting.get(key, 0) >> event & 1
                )
            known |= self.before[event]
            dependent &= ~known
        if footprint.guarded and self.judges:
            self._judge(found, index, base)
        else:
            self.races += found
        self._note(index, process, footprint, known)

    def _note(self, index: int, process: int, footprint: Footprint, known: int) -> None:
        """Take note of an analysed event."""
        bit = 1 << index
        self.before.append(known | bit)
        self.previous.append(self.latest[process])
        self.latest[process] = index
        self.of_process[process] |= bit
        for key in footprint.own:
            self.touched[key] |= bit
        for key in self.overwrites(footprint):
            self._overwriting[key] = self._overwriting.get(key, 0) | bit
        for child in footprint.spawns:
            self.created[child] = index

    def _dependent(self, footprint: Footprint) -> int:
        """Return the events that one more step depends on whoever looks later."""
        overwritten = self.overwrites(footprint)
        mask = 0
        for key in footprint.conflicts:
            if key in overwritten:
                mask |= self.touched[key] & ~self._overwriting.get(key, 0)
            else:
                mask |= self.touched[key]
        return mask


def _overwritten(footprint: Footprint) -> frozenset[int]:
    """Return the writer keys of what a step overwrites and has not looked at before."""
    if footprint.guarded:
        return frozenset()
    read: set[int] = set()
    overwritten: set[int] = set()
    for access in footprint.codes:
        location, mode = location_of(access), mode_of(access)
        if mode in (Mode.READ, Mode.WRITE) and location not in overwritten:
            read.add(location)
        elif mode is Mode.STORE and location not in read:
            overwritten.add(location)
    return frozenset(location * 4 + 1 for location in overwritten)

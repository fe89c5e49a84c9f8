"""Happens-before modulo observability (JSS 2023, section 4.1; Aronis et al., TACAS 2018).

Two steps that only overwrite a location are ordered if and only if somebody looks at it later and
could tell. So the accesses of a location fall into segments: some overwriting steps, then some that
look at it, and so on. The last write of a segment that somebody looks at comes after the others,
which are not ordered among themselves; all of them come before those who look, and those who look
before the next segment. Nothing orders the writes of a last segment that nobody looks at.

A read, or any access that needs the old value, looks. What counts as overwriting is decided with
care: a `STORE` of a location that the same step has not read before, in a step that accesses the
same locations whatever it reads.

A process that waits for a condition at the end of an execution looks at what the condition reads.
Where a run stops before its end, nobody knows who would look at what: it is taken as if somebody
looked at everything. So it is if the program really looks at the final state.

A later read orders earlier writes. So what is kept of the order from one execution to the next is
only what comes before the first event, or the first write, that is looked at now and was not then,
or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable

from treadle.core.events import (
    Codes,
    Footprint,
    Mode,
    Vocabulary,
    code,
    location_of_key,
    reader_key,
    writer_key,
)
from treadle.core.happens_before import SOMEBODY, Race, Trace, bits
from treadle.core.steps import Step

Keys = tuple[int, ...]
"""Writer keys of locations."""


class ObservedTrace(Trace):
    """A trace with its happens-before order modulo observability."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self._overwriting: list[int] = []
        """The mask of the analysed events that overwrite a location, by its writer key."""
        self._looked_at: list[Keys] = []
        """What each analysed event overwrites and somebody looks at before the next write."""
        self._observed: dict[Race, Keys] = {}
        """Races that exist because somebody looks: the writer keys of what is looked at."""
        self._waiting: dict[int, Step] = {}
        """Who waits at the end and looks at a location for it, by its writer key."""

    def _dependent_with(self, step: Footprint) -> int:
        return dependent_events(step, self.touched, self._overwriting)

    def observers(self, race: Race) -> list[int]:
        """Return `observers(e, e', E)`: who looks at what both write; none if that does not matter.

        Of those that happen after another observer nothing more is to be learned.
        """
        keys = self._observed.get(race)
        if keys is None:
            return []
        looking = 0
        for key in keys:
            looking |= self._looking(key, race.second)
        return [event for event in bits(looking) if self.before[event] & looking == 1 << event]

    def waiting(self, race: Race) -> Step | None:
        """Return a process that waits and looks at what both write, as a step that reads it."""
        if not self._waiting:
            return None
        keys = self._observed.get(race, ())
        return next((self._waiting[key] for key in keys if key in self._waiting), None)

    def await_end(self, blocked: Iterable[tuple[int, Codes]], *, looks: bool) -> None:
        """Take note of who waits at the end of the execution: that is a way of looking, too.

        Perhaps somebody looks at everything then.
        """
        self._waiting.clear()
        if looks:
            keys = {key for footprint in self.footprints for key in footprint.overwrites}
            look = SOMEBODY, self._reads(set(map(location_of_key, keys)))
            self._waiting.update(dict.fromkeys(keys, look))
            return
        for process, codes in blocked:
            footprint = self.vocabulary.footprint(codes)
            locations = self.vocabulary.awaited_locations(footprint)
            step = process, self._reads(locations)
            self._waiting.update((writer_key(location), step) for location in locations)

    def look_in_vain(self, race: Race, o: int) -> Step:
        """Return an observer as a step that looks at what both write, and goes on waiting."""
        locations = self.vocabulary.awaited_locations(self.footprints[o])
        locations.update(map(location_of_key, self._observed[race]))
        return self.processes[o], self._reads(locations)

    def _reads(self, locations: set[int]) -> Footprint:
        codes = tuple(code(location, Mode.READ) for location in sorted(locations))
        return self.vocabulary.footprint(codes)

    def _looking(self, key: int, last: int) -> int:
        """Return the mask of the events that look at what `last` wrote, before the next write."""
        location = location_of_key(key)
        readers = self.touched[reader_key(location)]
        after = -2 << last
        later = self.writers_of([location]) & after
        if not later:
            return readers & after
        end = later & -later
        found = readers & after & end - 1
        return found if self._overwriting[key] & end else found | end

    # Building the order

    def truncate(self, length: int) -> None:
        """Forget all events from index `length` on."""
        self._forget_writes(length)
        super().truncate(length)

    def _forget_writes(self, length: int) -> None:
        for index in range(length, len(self.before)):
            for key in self.footprints[index].overwrites:
                self._overwriting[key] &= ~(1 << index)
        del self._looked_at[length:]
        if self._observed:
            self._observed = {
                race: keys for race, keys in self._observed.items() if race.second < length
            }

    def extend(self) -> None:
        """Analyse the events anew whose order may have changed, and sort out the races."""
        looked_at = observed_writes(self.footprints, self._waiting)
        analysed = len(self.before)
        kept = 0
        while kept < analysed and looked_at[kept] == self._looked_at[kept]:
            kept += 1
        if kept < analysed:
            tails = self.processes[kept:], self.codes[kept:], self.footprints[kept:]
            self.truncate(kept)
            self.processes += tails[0]
            self.codes += tails[1]
            self.footprints += tails[2]
        self.known.clear()
        self._make_room()
        for index in range(kept, len(self.footprints)):
            self._add(index, self.footprints[index], looked_at[index])
        self._looked_at = looked_at

    def _make_room(self) -> None:
        super()._make_room()
        self._overwriting.extend([0] * (len(self.touched) - len(self._overwriting)))

    def _add(self, index: int, footprint: Footprint, looked_at: Keys) -> None:
        """Analyse the next event."""
        process, before, overwriting = self.processes[index], self.before, self._overwriting
        last = self.latest[process]
        if last >= 0 and footprint.plain:
            base = before[last]
        else:
            base = self.past_of(process, last, footprint)
        known = base
        certain = dependent = dependent_events(footprint, self.touched, overwriting)
        for key in looked_at:
            dependent |= overwriting[key]
        dependent &= ~known
        found: list[Race] = []
        made = tuple.__new__  # half the time of calling `Race`
        while dependent:
            event = dependent.bit_length() - 1
            race = made(Race, (event, index))
            found.append(race)
            if looked_at and not certain >> event & 1:
                self._observed[race] = tuple(
                    [key for key in looked_at if overwriting[key] >> event & 1]
                )
            known |= before[event]
            dependent &= ~known
        if footprint.guarded:
            self._judge(found, index, base)
        else:
            self.races += found
        self._note(index, process, footprint, known)

    def _note(self, index: int, process: int, footprint: Footprint, known: int) -> None:
        """Take note of an analysed event."""
        bit = 1 << index
        self.before.append(known | bit)
        self.latest[process] = index
        self.of_process[process] |= bit
        for key in footprint.own:
            self.touched[key] |= bit
        for key in footprint.overwrites:
            self._overwriting[key] |= bit
        for child in footprint.spawns:
            self.created[child] = index


def dependent_events(footprint: Footprint, touched: list[int], overwriting: list[int]) -> int:
    """Return the mask of the events that one more step depends on whoever looks later."""
    mask = 0
    overwritten = footprint.overwrites
    if not overwritten:  # most steps: `conflicting`, without a call
        for key in footprint.conflicts:
            mask |= touched[key]
        return mask
    for key in footprint.meets:
        if key in overwritten:
            mask |= touched[key] & ~overwriting[key]
        else:
            mask |= touched[key]
    return mask


def observed_writes(footprints: list[Footprint], waiting: Iterable[int] = ()) -> list[Keys]:
    """Return for each event what it overwrites and somebody looks at before another write.

    At what has one of the writer keys `waiting` somebody looks at the end.
    """
    observed: list[Keys] = []
    is_looked_at = dict.fromkeys(waiting, True)
    for footprint in reversed(footprints):
        found: Keys = ()
        for key in footprint.overwrites:
            if is_looked_at.get(key):
                found += (key,)
            is_looked_at[key] = False
        for key in footprint.looks:
            is_looked_at[key] = True
        observed.append(found)
    observed.reverse()
    return observed


def is_looked_at(key: int, later: Iterable[Footprint]) -> bool:
    """Tell whether somebody looks at a location, by its writer key, before it is overwritten."""
    for step in later:
        if key in step.looks:
            return True
        if key in step.overwrites:
            return False
    return False

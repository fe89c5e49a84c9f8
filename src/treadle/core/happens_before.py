"""A trace and its happens-before order, as one integer bit mask per event.

Bit `j` of `before[i]` says that event `j` happens before event `i`; bit `i` itself is set too. For
every mask key (a location and a class of accesses, see `events`) `touched[key]` is the mask of the
events that have it in their footprint. So the events dependent with a new one are a few `|`, and
the races among them fall out while its mask is built: take the latest dependent event that is not
yet known to happen before, it is in a race; then everything that happens before it is known too.

Only new events are analysed: `truncate` undoes the tail of the trace, `extend` analyses what was
appended since.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treadle.core.events import Codes, Footprint, Vocabulary

Race = tuple[int, int]
"""Two events, by index: `(e, e')` with `e ⋖ e'`, and `e'` was not blocked before `e`."""


def bits(mask: int) -> list[int]:
    """Return the indices of the set bits, lowest first.

    >>> bits(0b1101)
    [0, 2, 3]
    """
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


class Trace:
    """The execution under exploration."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._footprint = vocabulary.footprint
        self.known_conflicting: dict[Footprint, int] = {}
        """Answers of `conflicting`; emptied when the analysed events change."""
        self.processes: list[int] = []
        self.codes: list[Codes] = []
        self.footprints: list[Footprint] = []
        self.before: list[int] = []
        """Happens-before masks of the analysed events, each including the event itself."""
        self.previous: list[int] = []
        """For each analysed event, the one before it in the same process, or -1."""
        self.latest: list[int] = []
        """The latest analysed event of each process, or -1, by process number."""
        self.created: dict[int, int] = {}
        """The event that spawned a process."""
        self.of_process: list[int] = []
        """The mask of each process's analysed events, by process number."""
        self.touched: list[int] = []
        self.races: list[Race] = []
        """Reversible races of the analysed events, in the order of their second events."""
        self.altered: list[tuple[int, int, Footprint]] = []
        """Races whose second event, when it comes first, is another one: with this footprint, or
        after less (a take before which another gave back)."""
        self.undecided: list[Race] = []
        """Races that only a run can judge (see `explore.blocking`)."""

    def __len__(self) -> int:
        return len(self.processes)

    def append(self, process: int, codes: Codes) -> Footprint:
        """Add an event; it is analysed by the next `extend`."""
        footprint = self._footprint(codes)
        self.processes.append(process)
        self.codes.append(codes)
        self.footprints.append(footprint)
        return footprint

    def foretell(self, processes: Sequence[int], footprints: Sequence[Footprint]) -> None:
        """Add events that are about to happen."""
        self.processes += processes
        self.footprints += footprints
        self.codes += [footprint.codes for footprint in footprints]

    def happened_otherwise(self, index: int) -> bool:
        """Take over what the last event did, if it is the same for others as what was foretold."""
        footprint = self._footprint(self.codes[index])
        foretold = self.footprints[index]
        if footprint is foretold or footprint.own != foretold.own:
            return False
        self.footprints[index] = footprint
        return True

    def complete(self) -> int:
        """Look the footprints up of events that were added as process and codes; count them."""
        missing = self.codes[len(self.footprints) :]
        self.footprints += map(self._footprint, missing)
        return len(missing)

    def conflicting(self, footprint: Footprint) -> int:
        """Return the mask of the events that are dependent with a footprint."""
        mask = self.known_conflicting[footprint] = self._touching(footprint)
        return mask

    def _touching(self, footprint: Footprint) -> int:
        """Return the mask of the events that are dependent with a footprint, counted anew."""
        mask = 0
        for key in footprint.conflicts:
            mask |= self.touched[key]
        return mask

    def truncate(self, length: int) -> None:
        """Forget all events from index `length` on."""
        touched, of_process, created = self.touched, self.of_process, self.created
        self.known_conflicting.clear()
        kept = (1 << length) - 1
        analysed = slice(length, len(self.before))
        for footprint in set(self.footprints[analysed]):
            for key in footprint.own:
                touched[key] &= kept
            for child in footprint.spawns:
                if created.get(child, -1) >= length:
                    del created[child]
        for process in set(self.processes[analysed]):
            of_process[process] = mask = of_process[process] & kept
            self.latest[process] = mask.bit_length() - 1
        for judged in (self.races, self.altered, self.undecided):
            while judged and judged[-1][1] >= length:
                judged.pop()
        del self.processes[length:], self.codes[length:], self.footprints[length:]
        del self.before[length:], self.previous[length:]

    def extend(self) -> None:
        """Analyse the events added since the last call, and sort out the races they close."""
        touched = self.touched
        self.known_conflicting.clear()
        self._make_room()
        processes, footprints, before = self.processes, self.footprints, self.before
        latest, previous, of_process = self.latest, self.previous, self.of_process
        races = self.races
        for index in range(len(before), len(processes)):
            process = processes[index]
            footprint = footprints[index]
            last = latest[process]
            if last >= 0 and footprint.plain:
                known = before[last]
                dependent = 0
                for key in footprint.conflicts:
                    dependent |= touched[key]
                dependent &= ~known
                while dependent:
                    event = dependent.bit_length() - 1
                    races.append((event, index))
                    known |= before[event]
                    dependent &= ~known
            else:
                known = self._extend_specially(index, process, last, footprint)
            bit = 1 << index
            before.append(known | bit)
            for key in footprint.own:
                touched[key] |= bit
            previous.append(last)
            latest[process] = index
            of_process[process] |= bit

    def _extend_specially(self, index: int, process: int, last: int, footprint: Footprint) -> int:
        """Return what happens before the first event of a process, or before one that is not plain.

        Its races are sorted out, and it is noted which processes it creates.
        """
        known = base = self.past_of(process, last, footprint)
        candidates = []
        dependent = self._touching(footprint) & ~known if footprint.conflicts else 0
        while dependent:
            event = dependent.bit_length() - 1
            candidates.append((event, index))
            known |= self.before[event]
            dependent &= ~known
        if footprint.guarded:
            self._judge(candidates, index, base)
        else:
            self.races += candidates
        for child in footprint.spawns:
            self.created[child] = index
        return known

    def _make_room(self) -> None:
        """Let the tables grow with the vocabulary."""
        vocabulary = self.vocabulary
        self.touched.extend([0] * (vocabulary.mask_keys - len(self.touched)))
        missing = len(vocabulary.process_names) - len(self.latest)
        self.latest.extend([-1] * missing)
        self.of_process.extend([0] * missing)

    def past_of(self, process: int, last: int, footprint: Footprint) -> int:
        """Return what happens before a step whatever it accesses, `last` being its process's last.

        That is the past of its process, of its creation, and of the processes that it joins.
        """
        before = self.before
        if last >= 0:
            base = before[last]
        else:
            creation = self.created.get(process, -1)
            base = before[creation] if creation >= 0 else 0
        for ended in footprint.joins:
            end = self.latest[ended]
            if end >= 0:
                base |= before[end]
        return base

    def _judge(self, candidates: list[Race], index: int, base: int) -> None:
        """Sort the races of a guarded event: impossible to reverse, possible, or undecided.

        A take is dependent with the give that made it possible, but cannot come before it; what it
        can come before is the previous take (section 8.1, algorithms 3 and 4).
        """
        footprint = self.footprints[index]
        blocking = 0
        for taken, given, spare in footprint.takes:
            if not spare:
                blocking |= self.touched[given] & ~self.touched[taken]
        for needed in footprint.needs:
            blocking |= self.touched[needed]
        candidates = [race for race in candidates if not blocking >> race[0] & 1]
        process = self.processes[index]
        retakes = [
            (event, index)
            for event in self.previous_takes(footprint, base, process)
            if (event, index) not in candidates
        ]
        if footprint.swap is not None:
            self._judge_swap(candidates, footprint)
        elif footprint.open or footprint.needs or footprint.awaits:
            awaited = self.writers_of(self.vocabulary.awaited_locations(footprint))
            more = bits(awaited & ~base & ~self.of_process[process])
            self.undecided += dict.fromkeys(
                [*candidates, *retakes, *((event, index) for event in more)]
            )
        else:
            for race in candidates:
                (self.undecided if self._brought(race[0], footprint) else self.races).append(race)
            for race in retakes:
                if self._brought(race[0], footprint):
                    self.undecided.append(race)
                else:
                    self.altered.append((*race, footprint))

    def _brought(self, event: int, footprint: Footprint) -> bool:
        """Tell whether an event may have brought all the units that a step took one of."""
        brings = self.footprints[event].brings
        return bool(brings) and any(taken in brings for taken, _, _ in footprint.takes)

    def _judge_swap(self, candidates: list[Race], footprint: Footprint) -> None:
        """Sort the races of a compare-and-swap by what it would do before the other event.

        Before a successful compare-and-swap the location has the value that it compared with.
        """
        assert footprint.swap is not None
        location, compared = footprint.swap
        for race in candidates:
            other = self.footprints[race[0]]
            if not self.writers_of([location]) >> race[0] & 1:
                self.races.append(race)
            elif other.swap is None:
                self.undecided.append(race)
            elif (other.swap[1] == compared) == footprint.swap_succeeded:
                self.races.append(race)
            else:
                self.altered.append((*race, self.vocabulary.other_outcome(footprint)))

    def writers_of(self, locations: Iterable[int]) -> int:
        """Return the mask of the events that wrote one of these locations."""
        mask = 0
        for location in locations:
            mask |= self.touched[location * 4 + 1] | self.touched[location * 4 + 2]
        return mask

    def previous_takes(self, footprint: Footprint, base: int, process: int) -> list[int]:
        """Return the takes that a blocking event may come before, `base` being its past.

        The latest one is enough if that made it possible; an event that also needs something to
        have been sent may have been disabled by any of them. So may one whose units the latest
        brought along.
        """
        mask = 0
        for taken, _, _ in footprint.takes:
            takes = self.touched[taken]
            latest = takes.bit_length() - 1
            if takes and not footprint.needs and taken not in self.footprints[latest].brings:
                takes = 1 << latest
            mask |= takes
        return bits(mask & ~base & ~self.of_process[process])

    def push_imagined(self, process: int, footprint: Footprint, past: int, within: int) -> int:
        """Add an event that did not happen in this trace, as if after the events of `within`.

        `past` is what happens before it whatever it accesses. It makes the masks answer questions
        about `v = u.p`; `pop_imagined` takes it back.
        """
        self.known_conflicting.clear()
        self._make_room()
        index = len(self.before)
        known = past
        dependent = self._touching(footprint) & within & ~known
        while dependent:
            event = dependent.bit_length() - 1
            known |= self.before[event]
            dependent &= ~known
        self.processes.append(process)
        self.codes.append(footprint.codes)
        self.footprints.append(footprint)
        self.before.append(known | 1 << index)
        self.previous.append(self.latest[process])
        self.latest[process] = index
        self.of_process[process] |= 1 << index
        for key in footprint.own:
            self.touched[key] |= 1 << index
        for child in footprint.spawns:
            self.created.setdefault(child, index)
        return index

    def pop_imagined(self) -> None:
        """Take the last imagined event back."""
        self.truncate(len(self.before) - 1)

    def after_one(self, e: int) -> int:
        """Return the mask of the events that happen after one event."""
        mask = 0
        first, bit = 1 << e, 2 << e
        for past in self.before[e + 1 :]:
            if past & first:
                mask |= bit
            bit <<= 1
        return mask

    def after(self, first: int = 0) -> list[int]:
        """Return, for each event from `first` on, the mask of the events that happen after it."""
        length = len(self.before)
        result = [0] * length
        before = self.before
        # Each event hands its own successors to its direct predecessors, latest first. Bits that
        # another predecessor covers are handed over more than once, which is harmless.
        wanted = -1 << first
        for index in range(length - 1, first, -1):
            bit = 1 << index
            mine = result[index] | bit
            mask = (before[index] ^ bit) & wanted
            while mask:
                event = mask.bit_length() - 1
                result[event] |= mine
                mask &= ~before[event]
        return result

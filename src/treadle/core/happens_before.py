"""A trace and its happens-before order, as one integer bit mask per event.

Bit `j` of `before[i]` says that event `j` happens before event `i`; bit `i` itself is set too. For
every mask key (a location and a class of accesses, see `events`) `touched[key]` is the mask of the
events that have it in their footprint. So the events dependent with a new one are a few `|`, and
the races among them fall out while its mask is built: take the latest dependent event that is not
yet known to happen before, it is in a race; then everything that happens before it is known too.

Only new events are analysed: `truncate` undoes the tail of the trace, `extend` analyses what was
appended since.

The papers' words are methods here: `notdep`, `initials`, weak initials (`obstacles` to being one)
and `~` (`left_of`). A sequence that is part of the trace is a mask of its events.

`depends` is the one question about dependence. Sleep sets, wakeup trees, probes, done and don't-do
sets ask it, and never compare footprints on their own: an order that knows better when steps
commute (observers today, independence constraints tomorrow) answers it in its own way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from treadle.core.events import Codes, Footprint, Vocabulary, adder_key, writer_key

NONE = -1
"""The index of an event that is not there."""

_FEW = 32
"""Entries of tables for each event, up to which emptying them is faster than looking events up."""
EVERYTHING = -1
"""The mask of all events, also of those that are still to come."""

SOMEBODY = -1
"""A process that is none of the program's, and comes last in a sequence that is only imagined."""


Sleep = dict[int, Footprint]
"""A sleep set: processes with the step each would take."""


Edges = dict[int, dict[int, list[tuple[int, int]]]]
"""For processes that have any: by number of a step, the steps `(process, number)` before it."""


class Race(NamedTuple):
    """Two events, by index: `e ⋖ e'`, and `e'` was not blocked before `e`."""

    first: int
    second: int


_second = itemgetter(1)
"""The second event of a race."""


class Altered(NamedTuple):
    """A race whose second event, when it comes first, is another one."""

    first: int
    second: int
    footprint: Footprint
    """What it does then; or the same, after less (a take before which another gave back)."""


def first_closed(races: Sequence[Race | Altered], index: int) -> int:
    """Return which of some races is the first whose second event is at `index` or after it.

    They are in the order of their second events. Looking from the end, one by one, readers(8)
    takes 1.02 times as long.

    >>> first_closed([Race(0, 1), Race(0, 3), Race(2, 3), Race(1, 4)], 3)
    1
    """
    return bisect_left(races, index, key=_second)


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


def lowest(mask: int) -> int:
    """Return the index of the lowest set bit: the first of some events."""
    return (mask & -mask).bit_length() - 1


def conflicting(step: Footprint, touched: Sequence[int]) -> int:
    """Return the mask of the events whose accesses conflict with a step's, by mask key."""
    mask = 0
    for key in step.conflicts:
        mask |= touched[key]
    for writers, value in step.unequal:
        mask |= touched[writers] & ~touched[value]
    return mask


class Trace:
    """The execution under exploration."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._footprint = vocabulary.footprint
        self.known: dict[Footprint, int] = {}
        """Answers of `depends`: who asks often looks here first. Emptied when the events change.

        Without it, readers(13) takes 1.14 times as long under `optimal`."""
        self.processes: list[int] = []
        self.codes: list[Codes] = []
        self.footprints: list[Footprint] = []
        self.before: list[int] = []
        """Happens-before masks of the analysed events, each including the event itself."""
        self.latest: list[int] = []
        """The latest analysed event of each process, or `NONE`, by process number."""
        self.created: dict[int, int] = {}
        """The event that spawned a process."""
        self.of_process: list[int] = []
        """The mask of each process's analysed events, by process number."""
        self.touched: list[int] = []
        self.races: list[Race] = []
        """Reversible races of the analysed events, in the order of their second events."""
        self.altered: list[Altered] = []
        self.edges: Edges = {}
        """Steps that happen before others whatever they access; empty but in a cube."""
        self.undecided: list[Race] = []
        """Races that only a run can judge (see `explore.probing`)."""

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

    # Dependence: the one question

    def depends(self, step: Footprint) -> int:
        """Return the mask of the analysed events that are dependent with one more step."""
        mask = self.known.get(step)
        if mask is None:
            mask = self.known[step] = self._dependent_with(step)
        return mask

    def _dependent_with(self, step: Footprint) -> int:
        """Return the mask of the events that are dependent with a step: those that conflict."""
        return conflicting(step, self.touched)

    def would_depend(self, e: int, process: int, step: Footprint, past: int, within: int) -> bool:
        """Tell whether a step after the events of `within` is dependent with an event before it.

        `past` is what happens before it whatever it accesses.
        """
        del process, past, within
        return step.conflicts_with(self.footprints[e])

    def independent_of(self, step: Footprint, others: Mapping[int, Footprint]) -> Sleep:
        """Return those of some processes' steps that are independent of one (`E ⊢ p♢q`)."""
        own, found = step.own, {}
        for q, other in others.items():
            if other.conflict_set.isdisjoint(own) or (
                other.unequal and not other.conflicts_with(step)
            ):
                found[q] = other
        return found

    # Sequences, in the papers' words

    def notdep(self, e: int) -> int:
        """Return `notdep(e, E)`: the events after `e` that do not happen after it."""
        mask = 0
        first, bit = 1 << e, 2 << e
        for past in self.before[e + 1 :]:
            if not past & first:
                mask |= bit
            bit <<= 1
        return mask

    def initials(self, v: int) -> list[int]:
        """Return `I(v)` (definition 4.1 of "Source Sets"): the events that can come first."""
        before, found, left = self.before, [], v
        while left:
            first = left & -left
            event = first.bit_length() - 1
            if before[event] & v == first:
                found.append(event)
            left ^= first
        return found

    def obstacles(self, process: int, step: Footprint, v: int) -> int:
        """Return events of `v` because of which a process is no weak initial of it; 0 if it is one.

        It is one, `p ∈ WI(v)`, if its first event in `v` is an initial, or if it has none there and
        its step is independent of all (lemma 4.2 of "Source Sets"). Else something of `v` is
        dependent with its step, or the event itself happens after something.
        """
        first = self.of_process[process] & v
        if first:
            first &= -first
            if self.before[first.bit_length() - 1] & v == first:
                return 0
        dependent = self.known.get(step)  # mostly known: no call then
        if dependent is None:
            dependent = self.depends(step)
        return dependent & v or first

    def left_of(self, v: int, process: int, step: Footprint) -> int | None:
        """Return what is left of `v` behind a step `p`; None if they are not consistent.

        `u.p ~ v` (definition 4.5 of "Source Sets") if and only if `p` is a weak initial of what is
        left of `v` behind `u`.
        """
        own = self.of_process[process] & v
        if not own:
            return None if self.depends(step) & v else v
        first = own & -own
        return v ^ first if self.before[first.bit_length() - 1] & v == first else None

    def truncate(self, length: int) -> None:
        """Forget all events from index `length` on."""
        self.known.clear()
        if not length and len(self.touched) < _FEW * len(self.processes):
            self._forget_all()
            return
        touched, of_process, created = self.touched, self.of_process, self.created
        kept = (1 << length) - 1
        analysed = slice(length, len(self.before))
        for footprint in set(self.footprints[analysed]):
            for key in footprint.own:
                touched[key] &= kept
            for child in footprint.spawns:
                if created.get(child, NONE) >= length:
                    del created[child]
        for process in set(self.processes[analysed]):
            of_process[process] = mask = of_process[process] & kept
            self.latest[process] = mask.bit_length() - 1
        for judged in (self.races, self.altered, self.undecided):
            if judged:
                del judged[first_closed(judged, length) :]
        del self.processes[length:], self.codes[length:], self.footprints[length:]
        del self.before[length:]

    def _forget_all(self) -> None:
        """Forget all events, without a look at each of them: who explores zones always does."""
        self.touched[:] = [0] * len(self.touched)
        self.latest[:] = [NONE] * len(self.latest)
        self.of_process[:] = [0] * len(self.of_process)
        self.created.clear()
        for events in (
            self.races, self.altered, self.undecided, self.processes, self.codes, self.footprints,
            self.before,
        ):  # fmt: skip
            events.clear()

    def extend(self) -> None:
        """Analyse the events added since the last call, and sort out the races they close."""
        touched = self.touched
        self.known.clear()
        self._make_room()
        processes, footprints, before = self.processes, self.footprints, self.before
        latest, of_process = self.latest, self.of_process
        races, race_of = self.races, tuple.__new__  # half the time of calling `Race`
        edges = self.edges
        for index in range(len(before), len(processes)):
            process = processes[index]
            footprint = footprints[index]
            last = latest[process]
            if footprint.plain and (
                not edges
                or process not in edges
                or of_process[process].bit_count() not in edges[process]
            ):
                known = before[last] if last >= 0 else self.past_of(process, last, footprint)
                dependent = 0
                for key in footprint.meets:
                    dependent |= touched[key]
                dependent &= ~known
                if dependent and footprint.unequal:
                    dependent = conflicting(footprint, touched) & ~known
                while dependent:
                    event = dependent.bit_length() - 1
                    races.append(race_of(Race, (event, index)))
                    known |= before[event]
                    dependent &= ~known
            else:
                known = self._extend_specially(index, process, last, footprint)
            bit = 1 << index
            before.append(known | bit)
            for key in footprint.own:
                touched[key] |= bit
            latest[process] = index
            of_process[process] |= bit

    def _extend_specially(self, index: int, process: int, last: int, footprint: Footprint) -> int:
        """Return what happens before an event that is not plain.

        Its races are sorted out, and it is noted which processes it creates.
        """
        known = base = self.past_of(process, last, footprint)
        candidates = []
        dependent = self._dependent_with(footprint) & ~known if footprint.accessed else 0
        while dependent:
            event = dependent.bit_length() - 1
            candidates.append(Race(event, index))
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
        missing = vocabulary.mask_keys - len(self.touched)
        if missing:
            self.touched.extend([0] * missing)
        missing = len(vocabulary.process_names) - len(self.latest)
        if missing:
            self.latest.extend([NONE] * missing)
            self.of_process.extend([0] * missing)

    def past_of(self, process: int, last: int, footprint: Footprint) -> int:
        """Return what happens before a step whatever it accesses, `last` being its process's last.

        That is the past of its process, of its creation, and of the processes that it joins.
        """
        before = self.before
        if last >= 0:
            base = before[last]
        else:
            creation = self.created.get(process, NONE)
            base = before[creation] if creation >= 0 else 0
        for ended in footprint.joins:
            end = self.latest[ended]
            if end >= 0:
                base |= before[end]
        if process in self.edges:
            base |= self._past_by_edges(process, last)
        return base

    def previous(self, index: int) -> int:
        """Return the event before another one in the same process, or `NONE`."""
        return (self.of_process[self.processes[index]] & (1 << index) - 1).bit_length() - 1

    def _past_by_edges(self, process: int, last: int) -> int:
        """Return what happens before the step after `last` by edges alone."""
        past = 0
        number = (self.of_process[process] & (2 << last) - 1).bit_count() if last >= 0 else 0
        for first, count in self.edges[process].get(number, ()):
            events = self.of_process[first]
            for _ in range(count):
                events &= events - 1
            if events:
                past |= self.before[lowest(events)]
        return past

    def _judge(self, candidates: list[Race], index: int, base: int) -> None:
        """Sort the races of a guarded event: impossible to reverse, possible, or undecided.

        A take is dependent with the give that made it possible, but cannot come before it; what it
        can come before is the previous take (section 8.1, algorithms 3 and 4).
        """
        footprint = self.footprints[index]
        blocking = 0
        for take in footprint.takes:
            if not take.is_spare:
                blocking |= self.touched[take.given] & ~self.touched[take.taken]
        for needed in footprint.needs:
            blocking |= self.touched[needed]
        candidates = [race for race in candidates if not blocking >> race.first & 1]
        process = self.processes[index]
        retakes = [
            Race(event, index)
            for event in self.previous_takes(footprint, base, process)
            if (event, index) not in candidates
        ]
        if footprint.swap is not None:
            self._judge_swap(candidates, footprint)
        elif footprint.open or footprint.needs or footprint.awaits:
            awaited = self.writers_of(self.vocabulary.awaited_locations(footprint))
            more = bits(awaited & ~base & ~self.of_process[process])
            self.undecided += dict.fromkeys(
                [*candidates, *retakes, *(Race(event, index) for event in more)]
            )
        else:
            for race in candidates:
                brought = self._brought(race.first, footprint)
                (self.undecided if brought else self.races).append(race)
            for race in retakes:
                if self._brought(race.first, footprint):
                    self.undecided.append(race)
                else:
                    self.altered.append(Altered(*race, footprint))

    def _brought(self, event: int, footprint: Footprint) -> bool:
        """Tell whether an event may have brought all the units that a step took one of."""
        brings = self.footprints[event].brings
        return bool(brings) and any(take.taken in brings for take in footprint.takes)

    def _judge_swap(self, candidates: list[Race], footprint: Footprint) -> None:
        """Sort the races of a compare-and-swap by what it would do before the other event.

        Before a successful compare-and-swap the location has the value that it compared with.
        """
        assert footprint.swap is not None
        for race in candidates:
            other = self.footprints[race.first]
            if not self.writers_of([footprint.swap.location]) >> race.first & 1:
                self.races.append(race)
            elif other.swap is None:
                self.undecided.append(race)
            elif (other.swap.compared == footprint.swap.compared) == footprint.swap_succeeded:
                self.races.append(race)
            else:
                self.altered.append(Altered(*race, self.vocabulary.other_outcome(footprint)))

    def writers_of(self, locations: Iterable[int]) -> int:
        """Return the mask of the events that wrote one of these locations."""
        mask = 0
        for location in locations:
            mask |= self.touched[writer_key(location)] | self.touched[adder_key(location)]
        return mask

    def previous_takes(self, footprint: Footprint, base: int, process: int) -> list[int]:
        """Return the takes that a blocking event may come before, `base` being its past.

        The latest one is enough if that made it possible; an event that also needs something to
        have been sent may have been disabled by any of them. So may one whose units the latest
        brought along.
        """
        mask = 0
        for take in footprint.takes:
            takes = self.touched[take.taken]
            latest = takes.bit_length() - 1
            if takes and not footprint.needs and take.taken not in self.footprints[latest].brings:
                takes = 1 << latest
            mask |= takes
        return bits(mask & ~base & ~self.of_process[process])

    def push_imagined(self, process: int, footprint: Footprint, past: int, within: int) -> int:
        """Add an event that did not happen in this trace, as if after the events of `within`.

        `past` is what happens before it whatever it accesses. It makes the masks answer questions
        about `v = u.p`; `pop_imagined` takes it back.
        """
        self.known.clear()
        self._make_room()
        index = len(self.before)
        known = past
        dependent = conflicting(footprint, self.touched) & within & ~known
        while dependent:
            event = dependent.bit_length() - 1
            known |= self.before[event]
            dependent &= ~known
        self.processes.append(process)
        self.codes.append(footprint.codes)
        self.footprints.append(footprint)
        self.before.append(known | 1 << index)
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

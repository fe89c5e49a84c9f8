"""Watching a search: the tree of what it ran and left out, and what it was to reverse.

An `Observer` listens to one search; nothing of the search depends on it. Executions that begin
alike share a way from the root, as a step is determined by its process and what came before it.
What it keeps is bounded: of larger explorations only the beginning is drawn, the rest is counted
where it leaves what is drawn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from treadle.core.events import Codes, mode_of
from treadle.core.exploration import Branch, Counts, Exploration, LeftOut, ReversedPair, Step
from treadle.core.happens_before import Race
from treadle.core.words import OPERATIONS, access_in_words
from treadle.explore.search import Search
from treadle.explore.strategy import BLOCKED, CONSTRAINT, STEPS

MOST_NODES = 20_000
"""Steps that the tree holds."""
MOST_PAIRS = 5_000
"""Pairs of steps that are told apart."""
MOST_SHOWN = 500
"""Pairs that come into the result."""

Event = tuple[int, int, Codes]
"""A step in whatever execution: whose, the how manieth, and what it accesses."""


@dataclass(slots=True)
class _Node:
    """One step, while the tree grows."""

    process: int = -1
    codes: Codes = ()
    nth: int = 0
    """Which one of its process."""
    children: dict[int, _Node] = field(default_factory=dict)
    ending: str = ""
    own: Counts = field(default_factory=Counts)
    """Of executions that end here, or leave here what is drawn."""
    undrawn: int = 0
    left_out: Counter[tuple[int, str]] = field(default_factory=Counter)


class Observer:
    """Takes down what a search does."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._root = _Node()
        self._nodes = 0
        self._pairs: Counter[tuple[Event, Event]] = Counter()
        self._examples: dict[tuple[Event, Event], list[int]] = {}
        self._uncounted = 0
        self._seen = (0, 0)
        self._longest = 0
        search.on_counted = self._take_in
        search.on_left_out = self._leave_out

    # Listening

    def _take_in(self, outcome: int) -> None:
        """Add an execution that was analysed and counted."""
        trace, result = self._search.trace, self._search.result
        node, depth = self._walk(len(trace))
        cut, failing = result.cut - self._seen[0], result.failing - self._seen[1]
        self._seen = result.cut, result.failing
        ending = "ended"
        if outcome == STEPS:
            ending = "budget"
        elif outcome == BLOCKED:
            ending = "blocked"
        elif cut:
            ending = "guidance" if self._search.algorithm.is_guided else "cut"
        counts = Counts(int(ending == "ended"), int(ending == "blocked"), int(cut > 0))
        counts.failing = int(failing > 0)
        node.own.add(counts)
        if depth < len(trace):
            node.undrawn += 1
        else:
            node.ending = "failed" if failing else ending
        self._longest = max(self._longest, len(trace))
        self._count_reversals()
        self._leave_out_commuting()

    def _leave_out(self, depth: int, process: int, why: str) -> None:
        """Add a step that is not explored after some of the current ones."""
        node, reached = self._walk(depth)
        if reached == depth:
            node.left_out[process, why] += 1

    def _walk(self, length: int) -> tuple[_Node, int]:
        """Return the node after some steps of the current execution, as far as there is room."""
        trace, node = self._search.trace, self._root
        taken: Counter[int] = Counter()
        for depth in range(length):
            process = trace.processes[depth]
            child = node.children.get(process)
            if child is None:
                if self._nodes >= MOST_NODES:
                    return node, depth
                self._nodes += 1
                child = _Node(process, trace.codes[depth], taken[process])
                node.children[process] = child
            taken[process] += 1
            node = child
        return node, length

    def _count_reversals(self) -> None:
        """Count the races that the new part of the execution closes."""
        trace, since = self._search.trace, self._search.shared
        events = self._events()
        altered = (Race(race.first, race.second) for race in trace.altered)
        for first, second in (*trace.races, *altered, *trace.undecided):
            if second < since:
                continue
            pair = events[first], events[second]
            if pair in self._pairs or len(self._pairs) < MOST_PAIRS:
                self._pairs[pair] += 1
                self._examples.setdefault(pair, trace.processes[: second + 1])
            else:
                self._uncounted += 1

    def _events(self) -> list[Event]:
        """Return the steps of the current execution, each with which one of its process it is."""
        trace = self._search.trace
        taken: Counter[int] = Counter()
        events = []
        for process, codes in zip(trace.processes, trace.codes, strict=True):
            events.append((process, taken[process], codes))
            taken[process] += 1
        return events

    def _leave_out_commuting(self) -> None:
        """Add the steps that a constraint tells not to reverse although they conflict."""
        trace = self._search.trace
        if self._search.algorithm.without_constraints is None or not len(trace.before):
            return
        for race in _conflicting_pairs(self._search):
            if not trace.before[race.second] >> race.first & 1:
                self._leave_out(race.first, trace.processes[race.second], CONSTRAINT)

    # What comes out

    @property
    def examples(self) -> list[tuple[tuple[Event, Event], list[int]]]:
        """All pairs that were to be reversed, the most frequent ones first.

        Each with the processes that take steps in an execution up to its second step.
        """
        return [(pair, self._examples[pair]) for pair, _ in self._pairs.most_common()]

    def exploration(self, places: Places | None = None) -> Exploration:
        """Return what was seen; `places` says in which lines steps are."""
        places = places or Places()
        vocabulary = self._search.trace.vocabulary
        pairs = [
            ReversedPair(self._step(first, places), self._step(second, places), times)
            for (first, second), times in self._pairs.most_common(MOST_SHOWN)
        ]
        shown = sum(pair.times for pair in pairs)
        return Exploration(
            self._branch(places),
            pairs,
            sorted(set(vocabulary.process_names)),
            list(dict.fromkeys(vocabulary.location_names)),
            self._longest,
            self._uncounted + self._pairs.total() - shown,
        )

    def _step(self, event: Event, places: Places) -> Step:
        process, _, codes = event
        vocabulary = self._search.trace.vocabulary
        words = (
            str(access_in_words(access, vocabulary))
            for access in codes
            if mode_of(access) in OPERATIONS
        )
        said = "; ".join(dict.fromkeys(words))
        return Step(vocabulary.process_names[process], said, places.of(event))

    def _branch(self, places: Places) -> Branch:
        """Return the tree: steps in a row are one branch, and all counts are of whole subtrees."""
        root = Branch()
        made: list[tuple[_Node, Branch]] = [(self._root, root)]
        for node, branch in made:  # it grows meanwhile
            while len(node.children) == 1 and not (node.ending or node.left_out or node.undrawn):
                (node,) = node.children.values()
                branch.steps.append(self._step((node.process, node.nth, node.codes), places))
            self._describe(node, branch)
            for child in node.children.values():
                grown = Branch([self._step((child.process, child.nth, child.codes), places)])
                branch.children.append(grown)
                made.append((child, grown))
        for _, branch in reversed(made):
            for below in branch.children:
                branch.counts.add(below.counts)
        return root

    def _describe(self, node: _Node, branch: Branch) -> None:
        """Take over what is known of the end of a branch."""
        names = self._search.trace.vocabulary.process_names
        branch.ending, branch.undrawn = node.ending, node.undrawn
        branch.counts.add(node.own)
        branch.left_out = [
            LeftOut(names[process], why, times) for (process, why), times in node.left_out.items()
        ]
        branch.counts.left_out += len(branch.left_out)


class Places:
    """In which lines steps are, as far as somebody has looked."""

    def __init__(self) -> None:
        self._exactly: dict[Event, str] = {}
        self._roughly: dict[tuple[int, Codes], str] = {}

    def add(self, event: Event, where: str) -> None:
        """Take note of where a step is."""
        self._exactly.setdefault(event, where)
        self._roughly.setdefault((event[0], event[2]), where)

    def knows(self, event: Event) -> bool:
        """Tell whether somebody looked at this very step."""
        return event in self._exactly

    def of(self, event: Event) -> str:
        """Return where a step is: if nobody looked, where its process did the same before."""
        return self._exactly.get(event) or self._roughly.get((event[0], event[2]), "")


def _conflicting_pairs(search: Search) -> list[Race]:
    """Return the pairs of blocks of code whose accesses conflict; the second one is new."""
    steps = search.trace.footprints
    return [
        Race(first, second)
        for second in range(search.shared, len(search.trace.before))
        if steps[second].block >= 0
        for first in range(second)
        if steps[first].block >= 0 and steps[second].conflicts_with(steps[first])
    ]

"""Eager POR ("Eager POR", ATVA 2016, figure 3): plan all traces of a section in advance.

EPOR is source-DPOR that explores section after section instead of step after step:

- `decide`, `executed` (lines 6 to 8): where nothing is scheduled, a section begins. Its steps are
  taken one after the other, as long as they belong to it (see `section`); its traces are all known
  then (`plan`).
- `follow` (lines 10 to 15): each further execution takes the steps of the next solution, without
  looking for races between them.
- `analyse` (`Race_Detection`, lines 29 to 34): races between events of different sections, reversed
  as in source-DPOR: an initial of `v = notdep(e, E).e'` is added to `backtrack(pre(E, e))`, unless
  one is there or scheduled there.
- `backtrack` (lines 16 to 21): once all that is scheduled after a prefix is explored, so is what
  its backtrack set has; such a step is a section of its own.

Departures from the letter of the paper, which make good what sleep sets promise, one execution per
trace:

- Which linear extension represents a trace is not left open: the solutions of a section are a tree
  with sleep sets (see `plan`), so that "explored from here" means the same for what is scheduled
  and for what is in a backtrack set.
- A process that sleeps when a section begins takes no part in it. The paper schedules it, and
  explores some traces twice.
- Sleep sets inside a section are worked out when an execution leaves it in the middle. At its end
  they are the same after each of its traces.

Why that covers everything. Suppose that no process explored after a prefix `E` can begin `w`, up to
equivalence, nor does one that sleeps there. Each of them is in a race with some event of `w`; take
the one, `q`, whose event `e'` comes last. If `q` and `e'` are of different sections, the race was
reversed, and an initial of what leads to `e'` is explored after `E`. If they are of one section, so
is all that happens before `e'`, for a section's steps are taken without others between them. The
same holds for the other processes in turn, and all these events together begin a trace of the
section. Its solution goes on after `E` with a step that can begin `w`, and that is explored.

`EagerShort` is EPOR-SH (section 4); `EagerAdaptive` chooses the length of a section by its
dependencies, which the paper leaves to future work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import Sleep
from treadle.core.program import CannotStepError, Restart, Run
from treadle.explore.eager.growth import Adaptive, Growth, Short
from treadle.explore.eager.plan import Plan
from treadle.explore.eager.section import Section, Step
from treadle.explore.reversals import reversals
from treadle.explore.strategy import ENDED, Algorithm


@dataclass(slots=True)
class _Node:
    """What races ask for after a prefix of the execution, beyond what is scheduled there."""

    backtrack: list[int] = field(default_factory=list)
    done: Sleep = field(default_factory=dict)
    """Those of them that were explored or sleep here, with the step of each."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A process whose next step may belong to the section that is being made."""

    place: int
    branches: bool
    pins: int
    """Events that have to be pinned then."""


class Eager(Algorithm):
    """Source-DPOR over sections."""

    growth_type: ClassVar[type[Growth]] = Growth
    """What sections grow by."""

    def prepare(self) -> None:
        """Begin with no section."""
        self._growth = self.growth_type()
        self.sections: list[Section] = []
        """The sections of the current execution, some of them left in the middle."""
        self.owners: list[Section] = []
        """For each event the section whose plan tells what is scheduled before it."""
        self.in_plan: list[bool] = []
        """For each event whether it is part of that plan: a branch off it is not."""
        self.nodes: dict[int, _Node] = {}
        """By length of the prefix, where a race asked for something."""
        self._open: Section | None = None
        """The section that is being made."""
        self._sleep: Sleep = {}
        """The sleep set at the end of the execution so far, if no section is being made."""
        self._pins = 0
        self._place = -1
        self._candidates: dict[int, _Candidate] = {}
        """What is known of the next steps of processes while a section is made."""
        self._branch = ENDED
        """The process that begins the execution's new part, if a race asked for it."""
        self._resumed: Section | None = None
        """The section whose next solution the execution has to take."""

    # Exploration

    def follow(self, run: Run) -> int:
        """Take the steps of the next solution of a section; return which one differed, or -1."""
        section, self._resumed = self._resumed, None
        if section is None:
            return -1
        trace = self.search.trace
        shared = len(trace) - section.start
        events = self._plan_of(section).solution[shared:]
        processes = [section.processes[event] for event in events]
        codes = [section.codes[event] for event in events]
        trace.processes += processes
        trace.codes += codes
        trace.footprints += [section.footprints[event] for event in events]
        self.owners += [section] * len(events)
        self.in_plan += [True] * len(events)
        differing = run.replay(processes, codes, len(events))
        if differing >= 0:
            self._doubt(run, section)
            return section.start + shared + differing
        self._sleep = section.sleep_after
        return -1

    def _doubt(self, run: Run, section: Section) -> None:
        """Begin anew if a step was not as planned because of something that nobody foresaw.

        If the steps that the section was made of do no longer what they did, the program is not
        deterministic, and no plan is to blame.
        """
        program, trace = self.search.program, self.search.trace
        processes = trace.processes[: section.start] + section.processes
        codes = trace.codes[: section.start] + section.codes
        recorded = program.start()
        repeats = recorded.replay(processes, codes, len(codes)) < 0
        recorded.close()
        if repeats and program.foresee_less():
            run.close()
            raise Restart

    def decide(self, run: Run, last: int) -> int:
        """Return the next process of the section that is being made, or of a new one."""
        if self._branch >= 0:
            if not run.is_enabled(self._branch):
                raise CannotStepError(self._branch)
            return self._branch
        if self._open is not None:
            process = self._next_of(self._open, run) if self._open.has_room() else ENDED
            if process >= 0:
                return process
            self._close(self._open)
        self._pins, self._place = 0, -1
        process = self.search.choose_awake(run, last, self._sleep)
        if process >= 0:
            foreseen = run.foresee(process)
            self._place = -1 if foreseen is None else foreseen.place
        return process

    def _next_of(self, section: Section, run: Run) -> int:
        """Return a process whose next step certainly belongs to a section, else one whose may."""
        best = pinning = ENDED
        lowest = (0, 0)
        for process in reversed(run.enabled()):
            if not section.may_join(process):
                continue
            candidate = self._candidates.get(process) or self._look_at(process, section, run)
            if not candidate.pins:
                rank = self._growth.rank(section, process, candidate.branches)
                if best < 0 or rank < lowest:
                    best, lowest = process, rank
            elif pinning < 0 and section.can_pin(candidate.pins):
                pinning = process
        chosen = best if best >= 0 else pinning
        if chosen >= 0:
            self._pins, self._place = self._candidates[chosen].pins, self._candidates[chosen].place
        return chosen

    def _look_at(self, process: int, section: Section, run: Run) -> _Candidate:
        """Find out about the next step of a process; it holds until the process takes it."""
        foreseen = run.foresee(process)
        pins = section.pins(process, foreseen)
        if foreseen is None:
            candidate = _Candidate(-1, False, pins)
        else:
            candidate = _Candidate(foreseen.place, foreseen.branches, pins)
        self._candidates[process] = candidate
        return candidate

    def executed(self, process: int, footprint: Footprint) -> None:
        """Add the step to the section that is being made, or begin a new one with it."""
        result = self.search.result
        index = len(self.search.trace) - 1
        if self._branch >= 0:
            self._branched(process, footprint)
            return
        section = self._open
        reading = self.search.program.vocabulary.reading(footprint)
        step = Step(process, footprint, reading, self._place, self._pins)
        if section is not None:
            section.compare(step)
            result.dependency_checks += len(section.processes)
            result.race_checks += len(section.processes)
            if not (section.admits(step) and self._growth.suits(section, step)):
                self._close(section)
                section, step = None, Step(process, footprint, reading, self._place)
        if section is None:
            section = self._open = Section(index, self._sleep)
            self.sections.append(section)
            self._candidates.clear()
        section.add(step)
        self._candidates.pop(process, None)
        self.owners.append(section)
        self.in_plan.append(True)

    def _branched(self, process: int, footprint: Footprint) -> None:
        """Take note of the step that a race asked for: a section of its own (lines 17 to 21)."""
        owner, self._branch = self.sections[-1], ENDED
        self.owners.append(owner)
        self.in_plan.append(False)
        self.nodes[owner.start + owner.length].done[process] = footprint
        self.search.result.dependency_checks += len(self._sleep)
        self._sleep = self.search.trace.independent_of(footprint, self._sleep)

    def _close(self, section: Section) -> None:
        """End the making of a section."""
        section.close()
        self.search.result.dependency_checks += len(section.sleep) * len(section.processes)
        self._sleep = section.sleep_after
        self._open = None

    def _plan_of(self, section: Section) -> Plan:
        if section.plan is None:
            plan = section.make_plan(
                learn=self.search.learn,
                room=self._room() if section.constraints else 1,
                is_over=self.search.is_out_of_time,
            )
            self.search.result.unsatisfiable += plan.unsatisfiable
            return plan
        return section.plan

    def _room(self) -> int:
        """Return how many solutions a plan may list: those that there is room for, and time."""
        wanted = self.search.budget.max_executions
        if wanted is not None and wanted < LISTED:
            return wanted
        return LISTED - sum(other.plan.listed for other in self.sections if other.plan is not None)

    # Race detection

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races that new events close with events of other sections."""
        del outcome
        if self._open is not None:
            self._close(self._open)
        if len(self.sections) == 1 and all(self.in_plan) and not run.blocked():
            return
        shared = self.search.shared
        for race in reversals(self.search, run, since=shared, is_handled=self._is_planned):
            for last in race.lasts:
                self._add_initial(race.e, last, race.upto(last))

    def known_pairs(self, since: int) -> int:
        """Return how many pairs of events are of one section, which end at `since` or later."""
        return sum(
            index - self.owners[index].start
            for index in range(since, len(self.owners))
            if self.in_plan[index]
        )

    def _is_planned(self, e: int, last: int) -> bool:
        """Tell whether a plan has both orders of two events."""
        return self.in_plan[e] and self.in_plan[last] and self.owners[e] is self.owners[last]

    def _add_initial(self, e: int, last: int, v: int) -> None:
        """Make sure that an initial of `v` is explored after `pre(E, e)` (lines 33 and 34).

        One that happens before `e'` is preferred: it leads there, and fewer executions get blocked.
        """
        trace, owner = self.search.trace, self.owners[e]
        before, processes = trace.before, trace.processes
        initials = trace.initials(v)
        found = {processes[event] for event in initials}
        node = self.nodes.get(e)
        if node is not None and not found.isdisjoint(node.backtrack):
            return
        for event in self._plan_of(owner).scheduled(e - owner.start):
            if owner.processes[event] in found:
                return
        leading = next(event for event in initials if before[last] >> event & 1)
        self.nodes.setdefault(e, _Node()).backtrack.append(processes[leading])

    # Backtracking

    def backtrack(self) -> int:
        """Find the deepest prefix after which something is left to explore."""
        while self.sections:
            section = self.sections[-1]
            plan = self._plan_of(section)
            # The next solution leaves this one at a prefix whose own branches come after it.
            scheduled = section.start + plan.shared
            depth = self._branch_off(section, scheduled)
            if depth >= 0:
                return depth
            if plan.shared >= 0:
                plan.advance()
                section.length = len(section.processes)
                self._truncate(scheduled)
                self._resumed = section
                return scheduled
            self.sections.pop()
            self._truncate(section.start - 1)
        return -1

    def _branch_off(self, section: Section, above: int) -> int:
        """Begin what a race asked for after the longest prefix beyond `above`; return that."""
        for depth in sorted(self.nodes, reverse=True):
            if depth <= above:
                break
            node = self.nodes[depth]
            if len(node.backtrack) == len(node.done):
                continue
            sleep = {**section.sleep_at(depth - section.start), **node.done}
            self.search.result.dependency_checks += len(sleep) * (depth - section.start)
            node.done.update((p, sleep[p]) for p in node.backtrack if p in sleep)
            todo = [process for process in node.backtrack if process not in sleep]
            if todo:
                self._branch, self._sleep = todo[0], sleep
                section.length = depth - section.start
                self._truncate(depth)
                return depth
        return -1

    def _truncate(self, length: int) -> None:
        """Forget what is known about the events from index `length` on, and longer prefixes."""
        for depth in [depth for depth in self.nodes if depth > length]:
            del self.nodes[depth]
        del self.owners[max(length, 0) :], self.in_plan[max(length, 0) :]

    def todo(self, depth: int) -> int:
        """Return how many branches still wait at a depth of the current path."""
        node = self.nodes.get(depth, _Node())
        owner = self.owners[depth]
        plan = owner.plan
        taken = depth - owner.start
        scheduled = 0
        if plan is not None and self.in_plan[depth]:
            scheduled = sum(event > plan.solution[taken] for event in plan.scheduled(taken))
        current = self.search.trace.processes[depth]
        waiting = (p for p in node.backtrack if p not in node.done and p != current)
        return scheduled + sum(1 for _ in waiting)


class EagerShort(Eager):
    """EPOR-SH: at most one step of each process that is dependent with others in a section."""

    growth_type: ClassVar[type[Growth]] = Short


class EagerAdaptive(Eager):
    """Short sections where many steps are dependent, longer ones elsewhere."""

    growth_type: ClassVar[type[Growth]] = Adaptive


LISTED = 1 << 18
"""Solutions of all sections of an execution that are listed in advance (about 20 MB)."""

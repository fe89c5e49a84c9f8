"""Loops that wait without blocking: `while not flag: pass`.

An iteration that only read shared locations, changed nothing and left every local variable as it
was will do the same again until somebody writes one of those locations. So after such an iteration
the task waits for that, as if it had blocked. If nobody ever does, that is a livelock.

Rewritten code calls `visit` before each backward jump of a `while` loop; the scheduler writes its
*trail* from the first such visit of an execution on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import FrameType
from typing import Any

from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.core.frames import callers_frame
from treadle.core.records import WaitKind
from treadle.python.runtime import control, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import Abort, Scheduler, is_ready
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import TIME, times

effects: list[bool] = [False]
"""Whether code under test has changed anything, shared or not, since this was last set to False."""

unseen: list[bool] = [False]
"""Whether code under test has called what may depend on things that nobody sees, since then."""

drawn: list[bool] = [False]
"""Whether code under test has drawn random numbers, since then."""

in_vain: list[bool] = [False]
"""Whether the present step was to take something out, and found nothing: it only looked."""

_IDLE = 1000
"""Iterations without any visible access, or that only luck ends, after which a loop is endless."""
_LONG = 5_000
"""Steps without any change after which loops are taken to be endless, if they do not wait."""
_ROUND = 100
"""Steps that an iteration of such a loop takes at most."""
_MOST_VISITS = 10_000
"""Iterations without a step, in an execution that will be repeated with better knowledge."""
_TIRED = 1_000
"""Rounds of loops after which a task lets others go on first."""
_TURNS = 3
"""How often it does that in one execution."""
_HARMLESS = frozenset({Mode.READ, Mode.AWAIT, Mode.NEED, Mode.WATCH, Mode.OPEN})
LINES = "lines"
"""Where an execution keeps the locations that a wait in vain changes and leaves as they were."""
_LOOKS = ("locks that loops take", "looks")
"""What is learned if somebody looks whether a lock is taken that a loop takes again and again."""
_LOOK = "a look at a lock"
_TURN = (Mode.TAKE, Mode.GIVE)
_WRITES = frozenset({Mode.WRITE, Mode.STORE, Mode.ADD, Mode.TAKE, Mode.SPARE, Mode.GIVE})


class Spin(Operation):
    """Wait until somebody else writes one of the locations that the loop read.

    If what the loop does may depend on what nobody sees, too, it goes on when nobody else can, and
    nothing is said about whether it ends.
    """

    __slots__ = ("_from", "_locations", "_may_end", "_trail")

    kind = WaitKind.CHANGE
    spins = True

    def __init__(self, trail: Trail, locations: list[int], start: int, may_end: bool) -> None:
        self._trail = trail
        self._locations = locations
        self._from = start
        self._may_end = may_end

    def ready(self, task: Task) -> bool:
        """Tell whether there was such a write since the iteration began, or nobody goes on."""
        return self.was_written(task) or (self._may_end and _is_alone(task))

    def was_written(self, task: Task) -> bool:
        """Tell whether there was such a write since the iteration began."""
        locations = self._locations
        return any(
            location_of(access) in locations and mode_of(access) in _WRITES
            for other, codes in self._trail.steps[self._from :]
            if other is not task
            for access in codes
        )

    def pending(self, task: Task) -> Codes:
        """Return that it waits for the locations."""
        return tuple(code(location, Mode.AWAIT) for location in self._locations)

    def describe(self) -> str:
        """Name the locations."""
        names = control.the_program().vocabulary.location_names
        found = [names[location] for location in self._locations]
        read = ", ".join(name for name in found if name != _LOOK)
        if not read:
            return "the end of its loop, which reads only what nobody ever changes"
        return f"a change of {read}, which its loop reads again and again"


class Turn(Operation):
    """Go on at any time, but by the natural schedule when nobody else can."""

    __slots__ = ()

    kind = WaitKind.NOTHING

    def ready(self, task: Task) -> bool:
        """Tell that it can go on."""
        del task
        return True

    def deadline(self, task: Task) -> float:
        """Return a moment, as others are to go on first."""
        return task.now

    def pending(self, task: Task) -> Codes:
        """Return nothing: it touches nothing."""
        del task
        return ()

    def describe(self) -> str:
        """Say what it is."""
        return "its turn"

    def failure(self, task: Task) -> str:
        """Return nothing: this is what it wants."""
        del task
        return ""


_asked: list[Task] = []
"""Who asks whether nobody else can go on; meanwhile, others who would do so only then cannot."""


def _is_alone(me: Task) -> bool:
    """Tell whether nobody else can go on, not even by time."""
    if _asked:
        return False
    _asked.append(me)
    try:
        alive = control.the_program().scheduler.alive.values()
        return not any(is_ready(task) for task in alive if task is not me)
    finally:
        _asked.clear()


class Trail:
    """The steps since the first loop of an execution, and who changed something in them.

    What a task changes that only it can reach is no event; `effects` tells of it.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[Task, Codes]] = []
        self._changes: dict[int, int] = {}
        """How often each task has changed something."""
        self._in_the_dark: dict[int, tuple[int, int]] = {}
        """How often, and when last, each task called what may depend on things nobody sees."""
        self._draws: dict[int, int] = {}
        """How often each task has drawn random numbers."""
        self._idle_since: dict[int, int] = {}
        """For each task in a loop, the length of the trail when it last changed something."""
        self._visited: dict[int, int] = {}
        """The length of the trail at each task's last backward jump."""

    def add(self, task: Task, codes: Codes) -> None:
        """Take note of a step that a task has just ended."""
        self.steps.append((task, _as_it_was(codes)))
        in_vain[0] = False
        self._notice(task)

    def _notice(self, task: Task) -> None:
        if effects[0]:
            effects[0] = False
            self._changes[task.number] = self._changes.get(task.number, 0) + 1
        if unseen[0]:
            unseen[0] = False
            self._in_the_dark[task.number] = self.unseen_calls(task) + 1, len(self.steps)
        if drawn[0]:
            drawn[0] = False
            self._draws[task.number] = self.draws(task) + 1

    def visited(self, task: Task, *, is_idle: bool) -> None:
        """Take note of a backward jump, and of whether the iteration left all as it was."""
        self._visited[task.number] = len(self.steps)
        if not is_idle:
            self._idle_since[task.number] = len(self.steps)

    def is_endless(self, ready: list[int], blocked: list[tuple[int, Codes]]) -> bool:
        """Tell whether, for long, all that can take steps were in loops that changed nothing.

        They are where they were, and everything else is: they will do so again. Who could have
        taken a step and was not let, for a lock that was free at times too, may end all that; and
        so may who waits for a moment that has not come in all these steps.
        """
        now = len(self.steps)
        since = now - _LONG
        if since < 0:
            return False
        window = self.steps[since:]
        moved = {task.number for task, _ in window if task.name != TIME}
        given = {
            location_of(access)
            for _, codes in window
            for access in codes
            if mode_of(access) is Mode.GIVE
        }
        could = {
            number for number, codes in blocked if not given.isdisjoint(map(location_of, codes))
        }
        late = {task.number for task in times().waiting()}
        if any(self._in_the_dark.get(number, (0, 0))[1] > since for number in moved):
            return False
        return moved.issuperset({*ready, *could, *late}) and all(
            self._idle_since.get(number, now) <= since
            and self._visited[number] > now - _ROUND
            and _restores([codes for task, codes in window if task.number == number])
            for number in moved
        )

    def was_idle(self, task: Task, at: int) -> bool:
        """Tell whether a task's loops left all as it was from before the trail was so long."""
        return self._idle_since.get(task.number, at) < at

    def unseen_calls(self, task: Task) -> int:
        """Return how often a task called what may depend on things that nobody sees."""
        return self._in_the_dark.get(task.number, (0, 0))[0]

    def draws(self, task: Task) -> int:
        """Return how often a task has drawn random numbers."""
        return self._draws.get(task.number, 0)

    def looks_at(self, lock: int, task: Task) -> bool:
        """Tell whether somebody but this task has looked whether a lock is taken."""
        return any(
            location_of(access) == lock and mode_of(access) not in (Mode.TAKE, Mode.GIVE)
            for other, codes in self.steps
            if other is not task
            for access in codes
        )

    def changes(self, task: Task) -> int:
        """Return how often a task has changed something, as far as it is known at a jump."""
        self._notice(task)
        return self._changes.get(task.number, 0)


@dataclass(slots=True)
class _Visit:
    """How things stood at a loop's last backward jump."""

    frame: FrameType
    values: dict[str, Any]
    at: int
    """Length of the trail."""
    changes: int
    """How often the task had changed something: it may have gone round by another jump since."""
    unseen: int
    """How often the task had called what may depend on things that nobody sees."""
    draws: int
    """How often it had drawn random numbers."""
    idle: int = 0
    """Iterations in a row that did nothing that anybody could see, or that drew and went on."""

    def is_like(self, last: _Visit) -> bool:
        """Tell whether the iteration between two visits left what only its task has as it was."""
        return (
            self.frame is last.frame
            and self.changes == last.changes
            and same_values(last.values, self.values)
        )

    def may_end(self, last: _Visit) -> bool:
        """Tell whether the next round may be the last one, whatever others do.

        The numbers that a task draws are always the same ones: no bad luck lasts so long.
        """
        return self.unseen > last.unseen or (self.draws > last.draws and self.idle < _IDLE)


def visit(site: object) -> None:
    """Wait if the iteration that ends here would only repeat itself."""
    program = slots.program
    if program is None or slots.announce is slots.nothing:
        return
    scheduler, me = program.scheduler, program.scheduler.me
    if me is None or scheduler.aborting:
        return
    if control.collected is not None:
        scheduler.goes_round(site)
        return
    _tire(program, me)
    trail: Trail = scheduler.scratch.get(Trail) or _begin_trail(scheduler)
    frame = callers_frame()
    values = own_values(frame)
    last: _Visit | None = me.scratch.get(site)
    changes = trail.changes(me)
    at, luck = len(trail.steps), (trail.unseen_calls(me), trail.draws(me))
    me.scratch[site] = now = _Visit(frame, values, at, changes, *luck)
    if last is None or not now.is_like(last):
        trail.visited(me, is_idle=False)
        return
    trail.visited(me, is_idle=True)
    locations = _only_read(me, trail, last.at + 1) if len(trail.steps) > last.at else []
    if locations is None and (locations := _only_waited(me, trail, last.at)) is None:
        return
    if not locations or now.draws > last.draws:
        now.idle = last.idle + 1
        if not locations and now.idle < _IDLE:  # it read nothing that ever changes
            return
    _wait(me, Spin(trail, locations, last.at + 1, now.may_end(last)))
    now.at = len(trail.steps)


def _tire(program: slots.Controlled, me: Task) -> None:
    """Let others go on before a loop that has gone round very often, now and then.

    It may be one that counts how often it looks at what another one changes.
    """
    if program.shared.learned:
        _give_up_at_last(program.scheduler)
    rounds = me.scratch[Turn] = me.scratch.get(Turn, 0) + 1
    if rounds % _TIRED == 0 and rounds <= _TURNS * _TIRED:
        control.announce(Turn())
        me.doing = ()


def _wait(me: Task, operation: Spin) -> None:
    """Go on when somebody has written, or nobody else can go on."""
    control.announce(operation)
    joins = () if operation.was_written(me) else times().joins(me)
    me.doing = (*joins, *operation.pending(me))


def _begin_trail(scheduler: Scheduler) -> Trail:
    """Take the steps down from now on."""
    trail = scheduler.scratch[Trail] = Trail()
    scheduler.listen(trail)
    effects[0] = unseen[0] = drawn[0] = in_vain[0] = False
    return trail


def _give_up_at_last(scheduler: Scheduler) -> None:
    """End a loop that goes on and on in an execution that showed what to look at anyway.

    It may do so only because what it writes was not known to matter, and so is no event.
    """
    steps, visits = scheduler.scratch.get("visits", (0, 0))
    visits = visits + 1 if steps == scheduler.steps else 0
    scheduler.scratch["visits"] = scheduler.steps, visits
    if visits > _MOST_VISITS:
        control.the_program().is_cut = True  # what others make of it says nothing
        raise Abort


def own_values(frame: FrameType) -> dict[str, Any]:
    """Return a frame's local variables, but those that inner or enclosing functions share.

    Who assigns one of these changes something, or has an event; and a look at what another task
    assigned would be a read that nobody knows of.
    """
    shared = {*frame.f_code.co_cellvars, *frame.f_code.co_freevars}
    return {name: value for name, value in frame.f_locals.items() if name not in shared}


def same_values(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Tell whether no local variable was bound to another value."""
    return before.keys() == after.keys() and all(
        value is before[name]
        or ((type(value) in ATOMS and type(value) is type(before[name])) and value == before[name])
        for name, value in after.items()
    )


def _only_read(me: Task, trail: Trail, start: int) -> list[int] | None:
    """Return the locations that the iteration read; None if it did anything else.

    Locks that it took and gave back are no difference to anybody: the iteration could have come
    later or be left out. But who finds one taken, and does not wait, sees that.
    """
    accesses = _accesses(me, trail, start)
    locks = _given_back(accesses)
    accesses = [one for one in accesses if location_of(one) not in locks and not _is_look(one)]
    if not all(mode_of(access) in _HARMLESS for access in accesses):
        return None
    return sorted([*_read(accesses), *_looks_that_matter(locks, me, trail)])


def _looks_that_matter(locks: set[int], me: Task, trail: Trail) -> list[int]:
    """Return where others leave that they looked whether locks are taken that the iteration took.

    After each look there may be another iteration: the next one finds the lock taken, or does not.
    That somebody looks is learned, so that other programs have no such accesses.
    """
    shared = control.the_program().shared
    if shared.happens(*_LOOKS):
        return [_looks_at(lock) for lock in locks]
    if any(trail.looks_at(lock, me) for lock in locks):
        shared.note(*_LOOKS)
    return []


def look(codes: Codes) -> Codes:
    """Return what somebody accesses, besides a lock, to see whether it is taken."""
    program = control.the_program()
    if not program.shared.happens(*_LOOKS):
        return ()
    return tuple(code(_looks_at(location_of(one)), Mode.ADD) for one in codes[-1:])


def _looks_at(lock: int) -> int:
    return control.the_program().vocabulary.location(("looks", lock), _LOOK)


def _is_look(access: int) -> bool:
    """Tell whether this is the mark of having looked whether a lock is taken."""
    return control.the_program().vocabulary.location_names[location_of(access)] == _LOOK


def _accesses(me: Task, trail: Trail, start: int) -> list[int]:
    """Return what a task has accessed from some step on."""
    mine = [codes for task, codes in trail.steps[start:] if task is me]
    if isinstance(me.doing, tuple):
        mine.append(_as_it_was(me.doing))
    return [access for codes in mine for access in codes]


def _as_it_was(codes: Codes) -> Codes:
    """Return what the present step turned out to be: who finds nothing to take only looked."""
    return tuple(code(location_of(a), Mode.READ) for a in codes) if in_vain[0] else codes


def found_nothing(announced: Codes) -> None:
    """Take note that what the present step announced, to take something out, changed nothing.

    For races it stays what it was announced as; but a loop that does nothing else waits.
    """
    me = None if slots.program is None else slots.program.scheduler.me
    in_vain[0] = control.collected is None and me is not None and me.doing == announced


def _read(accesses: list[int]) -> list[int]:
    """Return the locations that were read; that it is later changes nothing that a loop reads."""
    time = control.the_program().vocabulary.location(TIME, TIME)
    read = {location_of(a) for a in accesses if mode_of(a) not in (Mode.WATCH, Mode.OPEN)}
    return sorted(read - {time})


def _restores(steps: list[Codes]) -> bool:
    """Tell whether a task only read, took and gave in turn, and stood in lines, in many rounds."""
    lines = control.the_program().scheduler.scratch.get(LINES, set())
    modes = _modes([access for codes in steps for access in codes])
    return all(
        location in lines
        or _HARMLESS.issuperset(found)
        or all({one, other} == {Mode.TAKE, Mode.GIVE} for one, other in pairwise(found))
        for location, found in modes.items()
    )


def _only_waited(me: Task, trail: Trail, start: int) -> list[int] | None:
    """Return the locations that the iteration read if time alone will pass from now on, else None.

    Time passed in it, so nobody else could go on, and nobody did since. If nobody else waits for a
    moment to come, and the iteration before was like this one, the next ones will be, too: it took
    back the locks that it gave away, and left the lines in which it waited in vain.
    """
    others = {task.name for task, _ in trail.steps[start + 1 :] if task is not me}
    if others != {TIME} or not trail.was_idle(me, start) or any(True for _ in times().deadlines()):
        return None
    program = control.the_program()
    accesses = _accesses(me, trail, start + 1)
    restored = _given_back(accesses) | _given_back(accesses, (Mode.GIVE, Mode.TAKE))
    restored |= program.scheduler.scratch.get(LINES, set())
    accesses = [access for access in accesses if location_of(access) not in restored]
    if not all(mode_of(access) in _HARMLESS for access in accesses):
        return None
    return _read(accesses)


def _given_back(accesses: list[int], turn: tuple[Mode, Mode] = _TURN) -> set[int]:
    """Return the locations that were taken and given back, again and again, and nothing else."""
    modes = _modes(accesses)
    return {location for location, found in modes.items() if _in_turn(found, turn)}


def _in_turn(found: list[Mode], turn: tuple[Mode, Mode]) -> bool:
    """Tell whether a lock was taken and given back; who tries and succeeds sets what it is."""
    modes = [Mode.TAKE if mode is Mode.WRITE and Mode.GIVE in found else mode for mode in found]
    return modes == [*turn] * (len(found) // 2)


def _modes(accesses: list[int]) -> dict[int, list[Mode]]:
    """Return how each location was accessed, one after the other; not those that only look."""
    modes: dict[int, list[Mode]] = {}
    for access in accesses:
        if mode_of(access) not in (Mode.OPEN, Mode.WATCH):
            modes.setdefault(location_of(access), []).append(mode_of(access))
    return modes

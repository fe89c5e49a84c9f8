"""May happen in parallel, for actors (after Albert, Flores-Montoya and Genaim).

*Local phase*: for each position of a routine, which tasks it has sent may be there: a map from
atoms to multiplicities. An atom is a set of names that hold the future, a status and the task:

| instruction | effect |
|---|---|
| `v = send` | a new atom: *pending* if the receiver is `this`, else *active*; or now many |
| `v = w` | atoms named w get the name v |
| `await`, `until`, `pause` | pending becomes active |
| `await v`, `get v` | atoms named v of which there is one: finished |
| a call in the same task | the callee's atoms at its end, without names |

What is pending cannot start before the task that sent it lets go of the actor.

*Global phase*: a graph. From active(t) to every point of t, from pending(t) to its entry, from
finished(t) to its exit; from a point to its atoms, and to active(callee) of a call. Two points may
happen in parallel if one is reachable from the other, or both from some point through two different
atoms, or through one of which there are many.

A future that a name got from elsewhere (a parameter, a field, a collection) has a *foreign* atom:
it says nothing of what runs, only whether this task has waited for it already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from treadle.analyses.abstract import ENTRY, EXIT, Point, Routine, tasks_in
from treadle.analyses.ir import (
    Assign,
    Await,
    Expression,
    Get,
    Instruction,
    Local,
    Pause,
    Send,
    This,
    Until,
    assigned,
)
from treadle.analyses.points_to import Effects, PointsTo, callers_in
from treadle.analyses.raising import Raising


class Status(Enum):
    """How far a task is."""

    PENDING = "pending"
    ACTIVE = "active"
    FINISHED = "finished"
    FOREIGN = "foreign"
    """Somebody else sent it, and this task has not waited for it."""
    WAITED_FOR = "waited for"
    """Somebody else sent it, and this task has waited for it."""


_ENDED = {
    Status.PENDING: Status.FINISHED,
    Status.ACTIVE: Status.FINISHED,
    Status.FOREIGN: Status.WAITED_FOR,
}


class Atom(NamedTuple):
    """A task that may be there, and the local names that hold its future."""

    names: frozenset[str]
    status: Status
    task: Routine

    @property
    def is_own(self) -> bool:
        """Whether the task that it belongs to sent it."""
        return self.status not in (Status.FOREIGN, Status.WAITED_FOR)

    @property
    def is_over(self) -> bool:
        """Whether it has ended for certain."""
        return self.status in (Status.FINISHED, Status.WAITED_FOR)


Atoms = Mapping[Atom, bool]
"""Atoms, and whether there may be many of each."""

_NOBODY: Atoms = {}
_NO_NAMES = frozenset[str]()


class LocalPhase:
    """The atoms at each position of each routine."""

    def __init__(self, points_to: PointsTo) -> None:
        self._points_to = points_to
        self.atoms: dict[Routine, dict[int, Atoms]] = {}
        """Before each instruction that can be reached, and at `EXIT`."""
        self.releasing = _releasing(points_to)
        """Routines that may let others in before they end."""
        self.raising = Raising(points_to)
        callers = callers_in(points_to)
        work = dict.fromkeys(points_to.routines)
        while work:
            routine = next(iter(work))
            del work[routine]
            before = self.atoms.get(routine, {}).get(EXIT)
            self.atoms[routine] = self._pass(routine)
            if self.atoms[routine][EXIT] != before:
                work.update(dict.fromkeys(callers.get(routine, ())))

    def _pass(self, routine: Routine) -> dict[int, Atoms]:
        """Go through a routine until its atoms do not change any more."""
        method, effects = routine.method, self._points_to.routines[routine]
        before: dict[int, Atoms] = {0: self._at_entry(routine, effects), EXIT: _NOBODY}
        work = [0]
        while work:
            at = work.pop()
            instruction = method.instructions[at]
            after = self._after(routine, at, instruction, before[at])
            flows = [(to, after) for to in method.successors(at) if to in effects.locals]
            flows += [(onward, join(before[at], after)) for onward in method.handled_at(at)]
            if self.raising.may_leave(routine, at):
                flows.append((EXIT, _without_names(join(before[at], after))))
            for onward, new in flows:
                old = before.get(onward)
                joined = new if old is None else join(old, new)
                if joined != old:
                    before[onward] = joined
                    if onward != EXIT:
                        work.append(onward)
        return before

    def _at_entry(self, routine: Routine, effects: Effects) -> Atoms:
        """Futures that come as parameters: somebody else sent them."""
        return {
            Atom(frozenset({name}), Status.FOREIGN, task): False
            for name, value in effects.locals.get(0, {}).items()
            for task in tasks_in(value)
        }

    def _after(self, routine: Routine, at: int, instruction: Instruction, before: Atoms) -> Atoms:
        effects = self._points_to.routines[routine]
        after = self.during(routine, at, before)
        match instruction:
            case Await(_, Local(name)) | Get(_, Local(name)):
                after = _having_waited(after, name)
            case Assign(copy, Local(name)):
                return _renamed(_forgotten(after, copy), name, copy)
        target = assigned(instruction)
        if target is not None:
            after = _forgotten(after, target)
        for callee in effects.crossing.get(at, ()):
            after = _with(after, Atom(_NO_NAMES, Status.FINISHED, callee))
        for callee in effects.calls.get(at, ()):
            for atom, many in _without_names(self._exit_of(callee)).items():
                after = _with(after, atom, many=many)
        if isinstance(instruction, Send):
            return self._sent(after, routine, at, instruction)
        for task in effects.sends.get(at, ()):  # `run` of a new actor
            after = _with(after, Atom(_NO_NAMES, Status.ACTIVE, task))
        if target is not None:
            for task in tasks_in(effects.results.get(at, frozenset())):
                after = _with(after, Atom(frozenset({target}), Status.FOREIGN, task))
        return after

    def _exit_of(self, callee: Routine) -> Atoms:
        return self.atoms.get(callee, {}).get(EXIT, _NOBODY)

    def _sent(self, before: Atoms, routine: Routine, at: int, send: Send) -> Atoms:
        is_own = isinstance(send.receiver, This) and routine not in self._points_to.elsewhere
        status = Status.PENDING if is_own else Status.ACTIVE
        after = before
        for task in self._points_to.routines[routine].sends.get(at, ()):
            after = _with(after, Atom(frozenset({send.target}), status, task))
        return after

    def during(self, routine: Routine, at: int, before: Atoms | None = None) -> Atoms:
        """Return the atoms while a task is at a position: who lets others in has none pending."""
        atoms = self.atoms[routine].get(at, _NOBODY) if before is None else before
        return _let_in(atoms) if self.lets_in(routine, at) else atoms

    def lets_in(self, routine: Routine, at: int) -> bool:
        """Tell whether a task may release its actor at a position, or in what it calls there."""
        if at < 0 or isinstance(routine.method.instructions[at], Await | Until | Pause):
            return True
        callees = self._points_to.routines[routine].calls.get(at, ())
        return any(callee in self.releasing for callee in callees)

    def held_by(self, point: Point, future: Expression) -> list[Atom]:
        """Return the atoms of a future at a point, if a name holds it."""
        if not isinstance(future, Local):
            return []
        atoms = self.atoms[point.routine].get(point.position, _NOBODY)
        return [atom for atom in atoms if future.name in atom.names]


def _releasing(points_to: PointsTo) -> set[Routine]:
    """Return the routines that may release the actor before they end."""
    callers = callers_in(points_to)
    work = [
        routine
        for routine in points_to.routines
        if any(isinstance(one, Await | Until | Pause) for one in routine.method.instructions)
    ]
    found: set[Routine] = set()
    while work:
        routine = work.pop()
        if routine not in found:
            found.add(routine)
            work += callers.get(routine, [])
    return found


# Maps of atoms


def join(first: Atoms, second: Atoms) -> Atoms:
    """Return the atoms on either of two paths."""
    if first is second:
        return first
    joined = dict(first)
    for atom, many in second.items():
        joined[atom] = joined.get(atom, False) or many
    return joined


def _with(atoms: Atoms, new: Atom, *, many: bool = False) -> Atoms:
    """Add one more: if it is there already, there are many."""
    return {**atoms, new: many or new in atoms}


def _changed(pairs: Iterable[tuple[Atom, bool]]) -> Atoms:
    """Return atoms that were changed: two that are the same now are many."""
    changed: dict[Atom, bool] = {}
    for atom, many in pairs:
        changed[atom] = many or (atom in changed and atom.is_own)
    return changed


def _let_in(atoms: Atoms) -> Atoms:
    """Nothing is pending any more."""
    if not any(atom.status is Status.PENDING for atom in atoms):
        return atoms
    return _changed(
        (atom._replace(status=Status.ACTIVE) if atom.status is Status.PENDING else atom, many)
        for atom, many in atoms.items()
    )


def _without_names(atoms: Atoms) -> Atoms:
    return _changed(
        (atom._replace(names=_NO_NAMES), many) for atom, many in atoms.items() if atom.is_own
    )


def _forgotten(atoms: Atoms, name: str) -> Atoms:
    """A name gets another value."""
    if not any(name in atom.names for atom in atoms):
        return atoms
    return _changed(
        (atom._replace(names=atom.names - {name}), many)
        for atom, many in atoms.items()
        if atom.is_own or atom.names != {name}
    )


def _renamed(atoms: Atoms, name: str, also: str) -> Atoms:
    """What a name holds gets another name too."""
    return _changed(
        (atom._replace(names=atom.names | {also}) if name in atom.names else atom, many)
        for atom, many in atoms.items()
    )


def _having_waited(atoms: Atoms, name: str) -> Atoms:
    return _changed(
        (atom._replace(status=_ENDED.get(atom.status, atom.status)), many)
        if name in atom.names and not many
        else (atom, many)
        for atom, many in atoms.items()
    )


# The global phase


class Parallelism:
    """Which points may happen in parallel; asked about certain ones."""

    def __init__(self, points_to: PointsTo, local: LocalPhase, points: Iterable[Point]) -> None:
        self._points_to = points_to
        self._local = local
        self._bits = {point: 1 << at for at, point in enumerate(dict.fromkeys(points))}
        self._parallel = dict.fromkeys(self._bits, 0)
        self._reached: dict[_Node, int] = {}
        self._reach()
        self._pair()

    def may(self, first: Point, second: Point) -> bool:
        """Tell whether two points may happen in parallel: of two tasks, if they are the same."""
        return bool(self._parallel[first] & self._bits[second])

    def _edges(self, node: _Node) -> Iterator[tuple[_Node, bool]]:
        """Yield where arrows lead, and for atoms whether there may be many."""
        if isinstance(node, Point):
            routine, at = node.routine, node.position
            for atom, many in self._local.during(routine, at).items():
                if atom.is_own:
                    yield (atom.status, atom.task), many
            effects = self._points_to.routines[routine]
            for callee in effects.calls.get(at, ()):
                yield (Status.ACTIVE, callee), False
            for callee in effects.crossing.get(at, ()):
                yield (Status.ACTIVE, callee), False
            return
        status, routine = node
        if status is Status.ACTIVE:
            for at in (ENTRY, EXIT, *self._local.atoms[routine]):
                yield Point(routine, at), False
        else:
            at = ENTRY if status is Status.PENDING else EXIT
            yield Point(routine, at), False

    def _reach(self) -> None:
        """Find for each node the points that are asked about and reachable from it."""
        nodes: dict[_Node, list[_Node]] = {}
        work: list[_Node] = [(Status.ACTIVE, task) for task in self._points_to.tasks]
        while work:
            node = work.pop()
            if node not in nodes:
                nodes[node] = [target for target, _ in self._edges(node)]
                work += nodes[node]
        sources: dict[_Node, list[_Node]] = {node: [] for node in nodes}
        for node, targets in nodes.items():
            for target in targets:
                sources[target].append(node)
        reached = {node: self._own(node) for node in nodes}
        work = list(nodes)
        while work:
            node = work.pop()
            bits = reached[node]
            for source in sources[node]:
                if bits & ~reached[source]:
                    reached[source] |= bits
                    work.append(source)
        self._reached = reached

    def _own(self, node: _Node) -> int:
        return self._bits.get(node, 0) if isinstance(node, Point) else 0

    def _pair(self) -> None:
        """Pair what is reachable from one point, through different atoms."""
        seen: set[tuple[int, tuple[tuple[int, bool], ...]]] = set()
        for node in self._reached:
            if not isinstance(node, Point):
                continue
            own = self._own(node)
            atoms = [(self._reached[target], many) for target, many in self._edges(node)]
            if (own, tuple(atoms)) not in seen:
                seen.add((own, tuple(atoms)))
                self._pair_atoms(own, atoms)
        anywhere = [self._reached[Status.ACTIVE, task] for task in self._points_to.from_anywhere]
        self._pair_atoms(0, [(bits, True) for bits in anywhere])

    def _pair_atoms(self, own: int, atoms: list[tuple[int, bool]]) -> None:
        """Pair what is reachable through different atoms of a point, and with the point itself."""
        for at, (bits, many) in enumerate(atoms):
            others = own | (bits if many else 0)
            for other, (more, _) in enumerate(atoms):
                others |= more if other != at else 0
            self._note(bits, others)
            self._note(own, bits)

    def _note(self, bits: int, others: int) -> None:
        if not others:
            return
        for point, bit in self._bits.items():
            if bits & bit:
                self._parallel[point] |= others


_Node = Point | tuple[Status, Routine]

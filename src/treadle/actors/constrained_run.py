"""A run of actors whose methods may be independent by a constraint.

A step of such a method accesses all that it may access in any state, and only passes the lock of
its actor: it never waits and keeps that. Whether two tasks are independent is asked in a state in
which both are next, and only of two tasks of one actor.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from treadle.actors import control
from treadle.actors.accesses import AccessLevel
from treadle.actors.actor import Actor, body_of
from treadle.actors.constraints import is_field
from treadle.actors.fields import FieldLevel
from treadle.actors.properties import looking
from treadle.actors.run import ActorRun
from treadle.actors.standing import frames_of
from treadle.actors.state import result_of
from treadle.actors.task import Task, Waiting
from treadle.analyses.found import Basis
from treadle.core.constraints import (
    ConstrainedSteps,
    Directed,
    Locals,
    Unordered,
    raised,
    writes,
)
from treadle.core.errors import TreadleError
from treadle.core.events import OPEN, Codes, Mode, code, location_of, mode_of
from treadle.core.failure import error_by_content
from treadle.core.fingerprint import freeze, loops_of
from treadle.core.words import brief
from treadle.smt.values import tag_of

if TYPE_CHECKING:
    from treadle.actors.programs import Program

_OF_FIELDS = ("field", "entry")


class ConstrainedRun(ActorRun, ConstrainedSteps):
    """An execution of a program that has constraints."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.declarations = self._constraints = program.constraints
        self.taken = []

    # Stepping

    def step(self, process: int) -> Codes:
        """Let a task take one step; return what its block may access, if it has constraints."""
        number = self.block_of(process)
        if number < 0:
            taken = super().step(process)
        else:
            task = self.alive[process]
            begins, static = tuple(self._level.begins(task)), self._static_codes(task)
            rest = super().step(process)[len(begins) :]
            kept = [access for access in rest if self._is_kept(task, access)]
            taken = (code(number, Mode.BLOCK), *static, *kept)
        self.taken.append(process)
        return taken

    def _static_codes(self, task: Task) -> Codes:
        """Return what the next step of a task may access in any state."""
        level, lock = self._level, task.group.names
        if isinstance(level, AccessLevel):
            static = FieldLevel.begins(level, task)
        else:
            static = level.begins(task)
        return tuple(lock.passes if access == lock.take else access for access in static)

    def _is_kept(self, task: Task, access: int) -> bool:
        """Tell whether a step says something of itself beyond what its block accesses."""
        if not isinstance(self._level, AccessLevel):
            return True
        if access == OPEN:
            return task.key in self.program.varying
        if mode_of(access) not in (Mode.READ, Mode.WRITE):
            return True
        key = self.program.vocabulary.key_of(location_of(access))
        return not isinstance(key, tuple) or key[0] not in _OF_FIELDS

    # Where tasks stand

    def block_of(self, process: int) -> int:
        """Return the number of the block that a task runs next; -1: no constraint has it."""
        task = self.alive.get(process)
        return -1 if task is None else self._constraints.number_before(task)

    def block_name(self, process: int) -> str:
        """Return what the block is called that a task runs next."""
        return self._constraints.name_before(self.alive[process])

    def process_name(self, process: int) -> str:
        """Return the name of a task."""
        return self.everybody[process].in_words

    def locals_of(self, process: int) -> Locals:
        """Return the parameters and local names of a task."""
        task = self.alive[process]
        signature = inspect.signature(task.function)
        this = next(iter(signature.parameters))
        if task.waiting is Waiting.NEW:
            bound = signature.bind(task.actor, *task.args, **task.kwargs)
            bound.apply_defaults()
            known = dict(bound.arguments)
        else:
            known = dict(frames_of(task)[0].f_locals)
        known.pop(this, None)
        return Locals(**known)

    # The question

    def are_independent(self, first: int, second: int) -> bool:
        """Tell whether the next steps of two tasks of one actor commute here, whatever others do.

        Not if an invariant looks at the actor: it has to hold between the two steps as well.
        """
        one, other = self.alive.get(first), self.alive.get(second)
        if one is None or other is None or one.actor is None or one.actor is not other.actor:
            return False
        name = one.group.names.name
        if any(group == name for found in self.program.watched.values() for group, *_ in found):
            return False
        return super().are_independent(first, second)

    def evaluated(self, directed: Directed, first: int, second: int) -> tuple[bool, frozenset[int]]:
        """Tell whether a constraint holds of the next steps of two tasks, and what it read."""
        declared, actor = directed.declared, self.alive[first].actor
        assert actor is not None
        read: list[int] = []

        def looks_at(group: str, kind: str, name: str) -> None:
            location = ("field", group, kind, name)
            number = self.program.vocabulary.location(location, f"{group}.{name}")
            read.append(code(number, Mode.READ))

        steps = directed.arguments(self.locals_of(first), self.locals_of(second))
        if declared.basis is not None:
            if not (declared.basis.fits(*steps) and _has_kinds(actor, declared.basis)):
                return False, frozenset()
            for name in declared.basis.shared:
                looks_at(body_of(actor).group.names.name, type(actor).__qualname__, name)
        if declared.holds is None:
            return True, frozenset(map(location_of, read))
        before = freeze(body_of(actor).fields)
        control.is_evaluating = True
        try:
            with looking(looks_at):
                value = declared.holds(actor, *steps)
        except TreadleError as error:
            raise writes(declared) from error
        except Exception as error:
            if declared.basis is not None:
                return False, frozenset()  # a field is not there, or a pure function raised it
            raise raised(declared, error) from error
        finally:
            control.is_evaluating = False
        if before == before and freeze(body_of(actor).fields) != before:
            raise writes(declared)
        return self.judged(directed, value, read)

    def may_be_written(self, locations: frozenset[int], others_than: set[int]) -> bool:
        """Tell whether somebody else can change what a constraint read (`static` uniformity)."""
        tasks = [task for task in self.alive.values() if task.number not in others_than]
        if not tasks:
            return False
        written = None if self.program.shared else self._constraints.may_write(tasks)
        if written is None:
            return True
        read = {self.program.vocabulary.key_of(location) for location in locations}
        for actor, field in written:
            group = body_of(actor).group.names.name
            for key in read:
                assert isinstance(key, tuple)
                if key[1:3] == (group, field[0]) and is_field(field, key[3]):
                    return True
        return False

    # The check of what was declared

    def situation(self, first: int, second: int) -> Hashable:
        """Return all that the next steps of two tasks may look at, by value."""
        steps = [
            (
                self.block_of(each),
                freeze(vars(self.locals_of(each))),
                loops_of(self.everybody[each].coroutine),
            )
            for each in (first, second)
        ]
        return tuple(steps), freeze([self._held_by(actor) for actor in self._around(first)])

    def _around(self, process: int) -> list[Actor]:
        """Return the actors whose fields a task may access."""
        group = self.everybody[process].group
        return [actor for actor in self.actors if body_of(actor).group is group]

    def _held_by(self, actor: Actor) -> dict[str, Any]:
        """Return the fields of an actor, in an order that does not tell which one was made first.

        So are the keys of a dictionary whose order nobody looks at.
        """
        found = dict(sorted(body_of(actor).fields.items()))
        for name, value in found.items():
            if isinstance(value, dict) and self._constraints.field_kinds.container(name):
                found[name] = dict(sorted(value.items(), key=lambda item: repr(item[0])))
        return found

    def begun_again(self) -> ConstrainedRun:
        """Return another run that has just begun."""
        return ConstrainedRun(self.program)

    def compared(self, processes: Sequence[int]) -> dict[str, object]:
        """Return what tells this state from others that two tasks may have led to."""
        found: dict[str, object] = {}
        for actor in self._around(processes[0]):
            for name, value in self._held_by(actor).items():
                found[f"{actor!r}.{name}"] = freeze(value)
        for process in processes:
            found[f"how {self.process_name(process)} goes on"] = self._goes_on(process)
        found["failures"] = sorted(
            (self.process_name(crash.process), *error_by_content(crash.exception))
            for crash in self.crashes
        )
        found["the actors that there are"] = Unordered(
            (body_of(actor).kind, freeze(self._held_by(actor))) for actor in self.actors
        )
        return found

    def _goes_on(self, process: int) -> object:
        """Return how a task ended, or where it stands and the locals that it may still look at."""
        task = self.everybody[process]
        if task.error is not None:
            return "ended", error_by_content(task.error)
        if task.has_ended:
            return "ended", result_of(task)
        block = self._constraints.block_before(task)
        waits_for = task.waiting, task.target and task.target.name
        function, wait = block or (None, None)
        if function is None or wait is None:
            return waits_for, [
                (frame.f_code.co_qualname, frame.f_lasti, freeze(dict(frame.f_locals)))
                for frame in frames_of(task)
            ]
        live = self._constraints.methods.live(function, wait)
        known = vars(self.locals_of(process))
        locals_ = {n: freeze(known[n]) for n in known if n in live}
        return waits_for, wait, locals_, loops_of(task.coroutine)

    def state_in_words(self, process: int) -> str:
        """Say what the fields of the actor are."""
        actor = self.everybody[process].actor
        assert actor is not None
        fields = body_of(actor).fields.items()
        return f"{actor!r} has {', '.join(f'{name} = {brief(value)}' for name, value in fields)}"

    def values_in_words(self, process: int) -> dict[str, str]:
        """Say what the fields of the actor are, by name."""
        actor = self.everybody[process].actor
        assert actor is not None
        fields = body_of(actor).fields.items()
        return {f"{actor!r}.{name}": brief(value) for name, value in fields}


def _has_kinds(actor: Actor, basis: Basis) -> bool:
    """Tell whether fields hold values of the kinds that a constraint was found for."""
    fields = body_of(actor).fields
    return all(
        name in fields and tag_of(fields[name]) in kinds for name, kinds in basis.shared.items()
    )

"""A run of a model whose blocks may be independent by a constraint.

A step of such a block accesses all that the block may access in any state: which of it is real
depends on the state, and so would everything that is concluded from it. Whether two steps are
independent is asked in a state in which both are next.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.analyses.found import Basis
from treadle.core.constraints import ConstrainedSteps, Directed, Locals, raised
from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.core.failure import error_by_content
from treadle.core.fingerprint import freeze, loops_of
from treadle.core.program import Run
from treadle.core.words import brief
from treadle.model.alike import alike
from treadle.model.constraints import Standing
from treadle.model.followed import DictPlaces, FollowedDict
from treadle.model.operations import Raised
from treadle.model.run import NOBODY, ModelRun
from treadle.model.state import Array, Counter, Dict
from treadle.smt.values import tag_of

if TYPE_CHECKING:
    from treadle.model.program import Program

_KEPT = frozenset({Mode.AWAIT, Mode.WATCH, Mode.NEED, Mode.SPAWN, Mode.JOIN})
"""What a step says of itself beyond what its block accesses."""


class ConstrainedRun(ModelRun, ConstrainedSteps):
    """An execution of a program that has constraints."""

    steps_plainly: ClassVar[bool] = False

    def __init__(self, program: Program) -> None:
        self.declarations = self._constraints = program.constraints
        self._codes = {number: (function, args) for number, function, args in program.declared}
        self.taken: list[int] = []
        super().__init__(program)

    def step(self, process: int) -> Codes:
        """Let a process take one step; return what its block may access, if it has constraints."""
        standing = self.standing(process)
        number = -1 if standing is None else self._constraints.number_of(standing)
        taken = super().step(process)
        self.taken.append(process)
        if standing is None or number < 0:
            return taken
        kept = [access for access in taken if mode_of(access) in _KEPT]
        return (*self._constraints.static_codes(standing, number), *kept)

    replay = Run.replay
    """Step by step: the quicker way of `ModelRun` knows nothing of static codes."""

    def bind_dict(self, name: str, keys: int, values: dict[Hashable, Any]) -> FollowedDict:
        """Return a shared dictionary that says that some key was accessed."""
        del keys
        return FollowedDict(self, DictPlaces.of(name, self.vocabulary), values)

    # Where processes stand

    def standing(self, process: int) -> Standing | None:
        """Return where a process stands, None if its source is not understood."""
        generator = self._generator(process)
        function, args = self._spawned_code.get(process) or self._codes[process]
        blocks = self._constraints.blocks(function)
        if generator is None or generator.gi_frame is None or blocks is None:
            return None
        if not generator.gi_suspended:
            return Standing(function, args, None)
        offset = generator.gi_frame.f_lasti
        return Standing(function, args, blocks.after[offset]) if offset in blocks.after else None

    def locals_of(self, process: int) -> Locals:
        """Return the local names of a process."""
        generator = self._generator(process)
        frame = generator and generator.gi_frame
        return Locals(**frame.f_locals) if frame else Locals()

    def block_of(self, process: int) -> int:
        """Return the number of the block that a process runs next; -1: no constraint has it."""
        standing = self.standing(process)
        return -1 if standing is None else self._constraints.number_of(standing)

    def block_name(self, process: int) -> str:
        """Return what the block is called that a process runs next."""
        standing = self.standing(process)
        assert standing is not None
        return self._constraints.name_of(standing)

    def process_name(self, process: int) -> str:
        """Return the name of a process."""
        return self.name_of(process)

    # The question

    def evaluated(self, directed: Directed, first: int, second: int) -> tuple[bool, frozenset[int]]:
        """Tell whether a constraint holds of the next steps of two processes, and what it read."""
        holds, basis = directed.declared.holds, directed.declared.basis
        steps = directed.arguments(self.locals_of(first), self.locals_of(second))
        relied_on: Codes = ()
        if basis is not None:
            if not (basis.fits(*steps) and self._has_kinds(basis)):
                return False, frozenset()
            locations = self._constraints.locations(basis.shared)
            relied_on = tuple(code(location, Mode.READ) for location in locations)
        if holds is None:
            return True, frozenset(map(location_of, relied_on))
        before = len(self._log)
        value = self.as_process(NOBODY, holds, self._state, *steps)
        read = (*self._log[before:], *relied_on)
        del self._log[before:]
        if basis is not None and isinstance(value, Raised):
            return False, frozenset()  # a pure function did
        if isinstance(value, Raised):
            raise raised(directed.declared, value.error)
        return self.judged(directed, value, read)

    def _has_kinds(self, basis: Basis) -> bool:
        """Tell whether shared names hold values of the kinds that a constraint was found for."""
        for location in self._constraints.locations(basis.shared):
            kinds = basis.shared[self.program.cells[location][0]]
            [value] = self.program.values_at(self._state, [location])
            if tag_of(value) not in kinds:
                return False
        return True

    def stays(self, directed: Directed, read: frozenset[int], steps: tuple[int, int]) -> bool:
        """Tell whether a constraint goes on to hold, whatever the others do (uniformity).

        Nobody else can change what it read (`static`), or whoever can keeps it true (`keeps`).
        """
        if super().stays(directed, read, steps):
            return True
        basis = directed.declared.basis
        if not self._constraints.keeps or (basis is not None and basis.shared):
            return False  # it relies on more than what it says
        pair = [standing for standing in map(self.standing, steps) if standing is not None]
        one, other = map(self.locals_of, steps)
        return all(
            standing is not None
            and self._constraints.is_kept(
                directed, pair, directed.arguments(one, other), standing, read
            )
            for standing in map(self.standing, [p for p in self._alive if p not in steps])
        )

    def may_be_written(self, locations: frozenset[int], others_than: set[int]) -> bool:
        """Tell whether somebody else can change what a constraint read (`static` uniformity)."""
        for process in self._alive:
            if process not in others_than:
                standing = self.standing(process)
                written = None if standing is None else self._constraints.may_write(standing)
                if written is None or not written.isdisjoint(locations):
                    return True
        return False

    # The check of what was declared

    def situation(self, first: int, second: int) -> Hashable:
        """Return all that the next steps of two processes may look at, by value."""
        places: set[int] = set()
        steps = []
        for process in (first, second):
            standing = self.standing(process)
            assert standing is not None
            places = places.union(*self._constraints.accessed(standing))
            known = sorted(vars(self.locals_of(process)).items())
            loops = loops_of(self._generator(process))
            steps.append((standing.function, standing.origin, str(alike(tuple(known))), loops))
        values = self.program.values_at(self._state, sorted(places))
        return *steps, tuple(sorted(places)), str(alike(tuple(values)))

    def begun_again(self) -> ConstrainedRun:
        """Return another run that has just begun."""
        return ConstrainedRun(self.program)

    def compared(self, processes: Sequence[int]) -> dict[str, object]:
        """Return what tells this state from others that two processes may have led to."""
        found: dict[str, object] = {
            f"s.{name}": self._frozen(name, value)
            for name, value in self.program.shared_values(self._state).items()
        }
        for process in processes:
            found[f"how {self.name_of(process)} goes on"] = self._goes_on(process)
        found["failures"] = sorted(
            (self.name_of(crash.process), *error_by_content(crash.exception))
            for crash in self.crashes
        )
        return found

    def _frozen(self, name: str, value: Any) -> object:
        """Return what a shared value is compared by; the order of keys only if somebody sees it."""
        if isinstance(value, FollowedDict) and not self._constraints.order_is_seen(name):
            return value.in_any_order()
        return freeze(value)

    def _goes_on(self, process: int) -> object:
        """Return where a process stands, and the locals that it may still look at."""
        standing = self.standing(process)
        if standing is None:
            return "ended"
        blocks = self._constraints.blocks(standing.function)
        assert blocks is not None
        live = blocks.live(standing.origin)
        kept = vars(self.locals_of(process)).items()
        locals_ = {name: freeze(value) for name, value in kept if name in live}
        return standing.origin, locals_, loops_of(self._generator(process))

    def state_in_words(self, process: int) -> str:
        """Say what the shared values are."""
        del process
        shared = self.program.shared_values(self._state)
        return ", ".join(f"{name} = {_shown(value)}" for name, value in shared.items())

    def values_in_words(self, process: int) -> dict[str, str]:
        """Say what the shared values are, by name."""
        del process
        shared = self.program.shared_values(self._state)
        return {f"s.{name}": _shown(value) for name, value in shared.items()}


def _shown(value: object) -> str:
    """Return a shared value for people: of what holds data, the data."""
    return brief(value.content if isinstance(value, Array | Dict | Counter) else value)

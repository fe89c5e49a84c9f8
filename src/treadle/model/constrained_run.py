"""A run of a model whose blocks may be independent by a constraint.

A step of such a block accesses all that the block may access in any state: which of it is real
depends on the state, and so would everything that is concluded from it. Whether two steps are
independent is asked in a state in which both are next.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from treadle.core.errors import TreadleError
from treadle.core.events import Codes, Mode, code, mode_of
from treadle.core.fingerprint import freeze
from treadle.core.program import FindingError, Run
from treadle.core.words import brief
from treadle.model.alike import alike
from treadle.model.constraints import Directed, Locals, Standing, locations_in
from treadle.model.operations import Raised
from treadle.model.run import NOBODY, ModelRun
from treadle.model.synthesised import Basis
from treadle.smt.values import tag_of

if TYPE_CHECKING:
    from treadle.model.program import Program

_KEPT = frozenset({Mode.AWAIT, Mode.WATCH, Mode.NEED, Mode.SPAWN, Mode.JOIN})
"""What a step says of itself beyond what its block accesses."""


class ConstrainedRun(ModelRun):
    """An execution of a program that has constraints."""

    def __init__(self, program: Program) -> None:
        self._constraints = program.constraints
        self._codes = {number: (function, args) for number, function, args in program.declared}
        self._taken: list[int] = []
        super().__init__(program)

    def step(self, process: int) -> Codes:
        """Let a process take one step; return what its block may access, if it has constraints."""
        standing = self.standing(process)
        number = -1 if standing is None else self._constraints.number_of(standing)
        taken = super().step(process)
        self._taken.append(process)
        if standing is None or number < 0:
            return taken
        kept = [access for access in taken if mode_of(access) in _KEPT]
        return (*self._constraints.static_codes(standing, number), *kept)

    replay = Run.replay
    """Step by step: the quicker way of `ModelRun` knows nothing of static codes."""

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

    def _locals(self, process: int) -> Locals:
        generator = self._generator(process)
        frame = generator and generator.gi_frame
        return Locals(**frame.f_locals) if frame else Locals()

    # The question

    def are_independent(self, first: int, second: int) -> bool:
        """Tell whether the next steps of two processes commute here, and whatever others do."""
        if not (self.is_enabled(first) and self.is_enabled(second)):
            return False
        one, other = self.standing(first), self.standing(second)
        if one is None or other is None:
            return False
        key = (self._constraints.number_of(one), self._constraints.number_of(other))
        for directed in self._constraints.pairs().get(key, ()):
            holds, read = self._evaluate(directed, first, second)
            if holds and self._stays(directed, read, (first, second)):
                if directed.declared.basis is None:
                    self._check(directed, (first, second), read)
                return True
        return False

    def _evaluate(self, directed: Directed, first: int, second: int) -> tuple[bool, Codes]:
        """Tell whether a constraint holds, and what it read."""
        holds, basis = directed.declared.holds, directed.declared.basis
        steps = directed.arguments(self._locals(first), self._locals(second))
        relied_on: Codes = ()
        if basis is not None:
            if not (basis.fits(*steps) and self._has_kinds(basis)):
                return False, ()
            locations = self._constraints.locations(basis.shared)
            relied_on = tuple(code(location, Mode.READ) for location in locations)
        if holds is None:
            return True, relied_on
        before = len(self._log)
        value = self.as_process(NOBODY, holds, self._state, *steps)
        read = (*self._log[before:], *relied_on)
        del self._log[before:]
        if basis is not None and isinstance(value, Raised):
            return False, ()  # a pure function did
        names = f"{directed.declared.first} and {directed.declared.second}"
        if any(mode_of(access) is not Mode.READ for access in read):
            raise TreadleError(f"the constraint of {names} must only read shared state")
        if isinstance(value, Raised):
            raise TreadleError(f"the constraint of {names} raised {value.error!r}")
        return bool(value), read

    def _has_kinds(self, basis: Basis) -> bool:
        """Tell whether shared names hold values of the kinds that a constraint was found for."""
        for location in self._constraints.locations(basis.shared):
            kinds = basis.shared[self.program.cells[location][0]]
            [value] = self.program.values_at(self._state, [location])
            if tag_of(value) not in kinds:
                return False
        return True

    def _stays(self, directed: Directed, read: Codes, steps: tuple[int, int]) -> bool:
        """Tell whether a constraint goes on to hold, whatever the others do (uniformity).

        Nobody else can change what it read (`static`), or whoever can keeps it true (`keeps`).
        """
        looked_at = locations_in(read)
        if not looked_at:
            return True
        for process in self._alive:
            if process not in steps:
                standing = self.standing(process)
                written = None if standing is None else self._constraints.may_write(standing)
                if written is not None and written.isdisjoint(looked_at):
                    continue
                if standing is None or not self._keeps(directed, steps, standing, looked_at):
                    return False
        return True

    def _keeps(
        self, directed: Directed, steps: tuple[int, int], other: Standing, looked_at: frozenset[int]
    ) -> bool:
        """Tell whether a process that may write what a constraint read keeps it true."""
        if not self._constraints.keeps:
            return False
        basis = directed.declared.basis
        if basis is not None and basis.shared:
            return False  # it relies on more than what it says
        pair = [standing for standing in map(self.standing, steps) if standing is not None]
        given = directed.arguments(*map(self._locals, steps))
        return self._constraints.is_kept(directed, pair, given, other, looked_at)

    # The check of what was declared

    def _check(self, directed: Directed, pair: tuple[int, int], read: Codes) -> None:
        """Run both orders of two steps that are said to commute, once for given values."""
        values = alike(tuple(self.program.values_at(self._state, sorted(locations_in(read)))))
        steps = [alike(tuple(sorted(vars(self._locals(p)).items(), key=str))) for p in pair]
        blocks = tuple((s.function, s.origin) for s in map(self.standing, pair) if s is not None)
        key: Hashable = (directed.declared, blocks, str(values), str(steps))
        if key in self._constraints.checked:
            return
        self._constraints.checked.add(key)
        usual, other = self._after(pair), self._after(pair[::-1])
        if usual != other:
            self._refuse(pair, usual, other)

    def _after(self, order: Sequence[int]) -> dict[str, object]:
        """Return what two steps lead to from here, in an order, by what it is."""
        run = ConstrainedRun(self.program)
        for process in self._taken:
            run.step(process)
        found: dict[str, object] = {}
        for process in order:
            if not run.is_enabled(process):
                found[f"whether {self.name_of(process)} is enabled"] = False
                break
            run.step(process)
        found.update(run.compared(sorted(order)))
        run.drop()
        return found

    def compared(self, processes: Sequence[int]) -> dict[str, object]:
        """Return what tells this state from others that two processes may have led to."""
        found: dict[str, object] = {
            f"s.{name}": freeze(value)
            for name, value in self.program.shared_values(self._state).items()
        }
        for process in processes:
            found[f"how {self.name_of(process)} goes on"] = self._goes_on(process)
        found["failures"] = sorted(
            (self.name_of(crash.process), repr(crash.exception)) for crash in self.crashes
        )
        found["processes that were created"] = sorted(
            (self.name_of(child), repr(self._spawned_code[child])) for child in self._spawned
        )
        return found

    def _goes_on(self, process: int) -> object:
        """Return where a process stands, and the locals that it may still look at."""
        standing = self.standing(process)
        if standing is None:
            return "ended"
        blocks = self._constraints.blocks(standing.function)
        assert blocks is not None
        live = blocks.live(standing.origin)
        kept = vars(self._locals(process)).items()
        return standing.origin, {name: freeze(value) for name, value in kept if name in live}

    def _refuse(
        self, pair: tuple[int, int], usual: dict[str, object], other: dict[str, object]
    ) -> None:
        """Report a constraint that is wrong here."""
        names = [self._constraints.name_of(s) for s in map(self.standing, pair) if s is not None]
        shared = self.program.shared_values(self._state)
        state = ", ".join(f"{name} = {brief(value)}" for name, value in shared.items())
        differs = next(what for what in {**usual, **other} if usual.get(what) != other.get(what))
        raise FindingError(
            "constraint",
            f"{names[0]} and {names[1]} are declared independent, but where {state} they are not: "
            f"{differs} differs when {self.name_of(pair[1])} comes before {self.name_of(pair[0])}",
            [*self._taken, *pair],
        )

"""Do two blocks commute? Both orders, on one path, from the state in which the blocks meet.

They do if each is enabled there and after the other, and both orders lead to the same: shared
values, local names that are still looked at, where both go on, exceptions, created processes.
"Constrained DPOR" (CAV 2018) compares shared values alone, and lets guards out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from treadle.smt.code import Code, Shared
from treadle.smt.execution import Execution, Outcome
from treadle.smt.expressions import COMPOSED
from treadle.smt.on_path import UnsureError, same
from treadle.smt.paths import Path
from treadle.smt.store import Store
from treadle.smt.values import Value

SIDES = ("first", "second")

Ended = tuple[Store, dict[str, Outcome]]
"""What an order of two blocks leaves behind, and what each of them did."""


@dataclass(slots=True)
class Relied:
    """Whose kinds of values a translation relies on, beyond what is certain."""

    shared: set[str] = field(default_factory=set)
    locals: dict[str, set[str]] = field(default_factory=dict)
    """By side."""

    def of(self, side: str) -> set[str]:
        """Return the local names of a side."""
        return self.locals.setdefault(side, set())


class Pair:
    """Two blocks, as they meet."""

    def __init__(
        self, codes: tuple[Code, Code], shared: Mapping[str, Shared], *, crossing: bool = False
    ) -> None:
        self._codes = dict(zip(SIDES, codes, strict=True))
        self._shared = shared
        self._is_crossing = crossing
        self.relied = Relied()

    def commute(self, path: Path) -> bool | None:
        """Tell whether the blocks commute on a path; None if nobody can tell."""
        try:
            return self._commute(path)
        except UnsureError:
            return None

    def _commute(self, path: Path) -> bool:
        usual = self._run(path, SIDES)
        if usual is None:
            return False
        other = self._run(path, SIDES[::-1])
        if other is None:
            return False
        for side in SIDES:
            if not self._alike(path, side, usual[1][side], other[1][side]):
                return False
        if not self._create_the_same(path, usual, other):
            return False
        return usual[0].same_as(other[0])

    def _run(self, path: Path, order: Sequence[str]) -> Ended | None:
        """Run both blocks in an order; None if one is not enabled, now or when its turn comes."""
        store = Store(path, self._shared, self.relied.shared)
        blocks = {side: self._execution(side, path, store) for side in order}
        if not all(block.is_enabled() for block in blocks.values()):
            return None
        outcomes: dict[str, Outcome] = {}
        for side, block in blocks.items():
            if outcomes and not block.is_enabled():
                return None
            outcomes[side] = block.run()
        return store, outcomes

    def _execution(self, side: str, path: Path, store: Store) -> Execution:
        return Execution(self._codes[side], side, path, store, self.relied.of(side))

    def _alike(self, path: Path, side: str, one: Outcome, other: Outcome) -> bool:
        """Tell whether a block ended in the same way in both orders."""
        if (one.ends_at, one.rounds) != (other.ends_at, other.rounds):
            return False
        if not _same_details(path, one.raised, other.raised):
            return False
        if one.ends_at is None:
            return same(path, one.returned, other.returned)
        live = self._codes[side].live(one.ends_at)
        for name in sorted((one.locals.keys() | other.locals.keys()) & live):
            if not self._same_local(path, side, name, one, other):
                return False
        return True

    def _same_local(self, path: Path, side: str, name: str, one: Outcome, other: Outcome) -> bool:
        store = Store(path, self._shared, self.relied.shared)
        before = self._execution(side, path, store)  # in one order it may be what it was
        found = [
            outcome.locals[name] if name in outcome.locals else before.local(name)
            for outcome in (one, other)
        ]
        return same(path, *found)

    # Created processes

    def _create_the_same(self, path: Path, usual: Ended, swapped: Ended) -> bool:
        """Tell whether both orders create the same: each block, or, crossing, both together."""
        one, other = usual[1], swapped[1]
        if all(_same_processes(path, one[side].created, other[side].created) for side in SIDES):
            return True
        if not self._is_crossing or _keeps_a_handle(usual) or _keeps_a_handle(swapped):
            return False
        together = [made for side in SIDES for made in one[side].created]
        others = [made for side in SIDES for made in other[side].created]
        if sorted(str(function) for function, _ in together) != sorted(
            str(function) for function, _ in others
        ):
            return False
        return any(_same_processes(path, together, list(order)) for order in permutations(others))


Created = Sequence[tuple[object, tuple[Value, ...]]]


def _same_processes(path: Path, one: Created, other: Created) -> bool:
    if [(function, len(args)) for function, args in one] != [
        (function, len(args)) for function, args in other
    ]:
        return False
    return all(
        same(path, mine, its)
        for (_, args), (_, others) in zip(one, other, strict=True)
        for mine, its in zip(args, others, strict=True)
    )


def _keeps_a_handle(ended: Ended) -> bool:
    """Tell whether something remembers a process that was created: which one it is, is seen."""
    store, outcomes = ended
    kept = [*store.values()]
    kept += [value for outcome in outcomes.values() for value in outcome.locals.values()]
    return any(value in outcome.handles for outcome in outcomes.values() for value in kept)


def _same_details(path: Path, one: Sequence[Value | str], other: Sequence[Value | str]) -> bool:
    if COMPOSED in one and COMPOSED in other and not _are_the_same(path, one, other):
        raise UnsureError  # the texts may be the same
    return _are_the_same(path, one, other)


def _are_the_same(path: Path, one: Sequence[Value | str], other: Sequence[Value | str]) -> bool:
    if len(one) != len(other):
        return False
    for mine, its in zip(one, other, strict=True):
        if isinstance(mine, Value) and isinstance(its, Value):
            if not same(path, mine, its):
                return False
        elif mine != its:
            return False
    return True

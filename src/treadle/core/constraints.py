"""Independence constraints: how they are declared, asked and checked, whatever the front end.

    @program.independent("put", "get")
    def _(s, first, second):
        return 0 < s.count < s.size

A constraint says where two blocks of code are independent. `ConstrainedSteps` asks it in a state in
which both are next, and checks it there: in a state whose relevant values were not met before, both
orders are run and compared. Processes that the two steps create are compared by what they will do:
which of the two steps creates which may depend on their order (`Together`).
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar

from treadle.core.errors import TreadleError
from treadle.core.events import Codes, Mode, location_of, mode_of
from treadle.core.listed import Constrained, Untranslated
from treadle.core.program import FindingError, Run

Constraint = Callable[[Any, Any, Any], object]
Checked = TypeVar("Checked", bound=Constraint)
Given = TypeVar("Given")
Pair = tuple[int, int]
"""Two blocks, by number."""


class Locals(types.SimpleNamespace):
    """The local names of a step, as a constraint sees them."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A constraint as it was declared: two names of blocks, and where they are independent."""

    first: str
    second: str
    holds: Constraint | None
    """None: in every state."""
    basis: Any = None
    """What it relies on if a solver found it: what that is the front end knows."""
    text: str = ""
    """How Python says it, if a solver found it."""

    @property
    def names(self) -> str:
        """The blocks, for people."""
        return f"{self.first} and {self.second}"


class Directed(NamedTuple):
    """A constraint for two blocks in an order."""

    declared: Declared
    is_swapped: bool

    def arguments(self, first: Given, second: Given) -> tuple[Given, Given]:
        """Return what belongs to two steps in the order in which they were declared."""
        return (second, first) if self.is_swapped else (first, second)


class Together(NamedTuple):
    """What two steps that commute create, by position among the children of each.

    A child is *loose* if in the other order the same process does not create the same.
    """

    of_first: tuple[int, ...]
    of_second: tuple[int, ...]

    @property
    def is_crossing(self) -> bool:
        """Whether it depends on their order which of them creates what."""
        return bool(self.of_first or self.of_second)


class HasBlock(Protocol):
    """A block, and what it is called."""

    @property
    def block(self) -> Hashable:
        """The block without its name."""


Named = TypeVar("Named", bound=HasBlock)


class Declarations(ABC):
    """The constraints of a program."""

    def __init__(self) -> None:
        self.declared: list[Declared] = []
        self.mode = "declared"
        """Which constraints are used: `declared`, `synthesised` or `none`."""
        self.keeps = False
        """Whether a constraint may stay true because others keep it, not only as none writes."""
        self.checked: dict[Hashable, Together] = {}
        """What was found out about two blocks where all that they look at has certain values."""
        self.recovery = "recompute"
        """How runs get back to a state in which a constraint is asked (`explore.constrained`)."""
        self.distrusted: set[Pair] = set()
        """Blocks that are taken for dependent whatever was declared."""
        self._pairs: dict[Pair, list[Directed]] = {}
        self._counted = -1
        """How many were declared when the pairs were made."""

    def declare(self, declared: Declared) -> None:
        """Take note of a constraint."""
        self.declared.append(declared)

    def replace(self, old: Declared, new: Declared) -> None:
        """Take a constraint in place of one that was declared before."""
        position = next(i for i, other in enumerate(self.declared) if other is old)
        self.declared[position] = new
        self._counted = -1

    def choose(self, mode: str, uniformity: str = "static") -> None:
        """Choose which constraints are used from now on, and how it is known that they stay."""
        self.keeps = uniformity == "keeps"
        if mode != self.mode:
            self.mode = mode
            self.forget_pairs()

    @property
    def are_there(self) -> bool:
        """Whether some blocks may be independent although their accesses conflict."""
        return self.mode != "none" and bool(self.pairs())

    def pairs(self) -> dict[Pair, list[Directed]]:
        """Return the constraints of each two blocks, by number."""
        if self._counted != len(self.declared):
            self._counted, self._pairs = len(self.declared), {}
            for declared in self.declared:
                for first in self.numbers_of(declared.first):
                    for second in self.numbers_of(declared.second):
                        self.add_pair(first, second, declared)
            if self.mode == "synthesised":
                self.find_more()
        return self._pairs

    def add_pair(self, first: int, second: int, declared: Declared) -> None:
        """Note a constraint of two blocks, by number."""
        for key, swapped in (((first, second), False), ((second, first), True)):
            self._pairs.setdefault(key, []).append(Directed(declared, swapped))

    def forget_pairs(self) -> None:
        """Have the pairs made anew when they are asked for."""
        self._counted = -1

    @abstractmethod
    def find_more(self) -> None:
        """Add what a solver finds to what is declared."""

    @abstractmethod
    def synthesised(self) -> Iterator[Constrained | Untranslated]:
        """Yield what a solver finds for each two blocks, and then blocks not understood."""

    def without_declared(self, pairs: Iterable[tuple[Named, Named]]) -> list[tuple[Named, Named]]:
        """Return those of some pairs of blocks of which nothing is declared."""
        names = self.names()
        known = {
            frozenset((a, b))
            for declared in self.declared
            for a in names.get(declared.first, ())
            for b in names.get(declared.second, ())
        }
        return [pair for pair in pairs if frozenset(one.block for one in pair) not in known]

    @abstractmethod
    def names(self) -> Mapping[str, Sequence[Hashable]]:
        """Return all names of blocks, with the blocks that have them."""

    def check_names(self) -> None:
        """Refuse what is declared of blocks that there are not."""
        for declared in self.declared:
            self.numbers_of(declared.first)
            self.numbers_of(declared.second)

    def may_commute(self, first: int, second: int) -> bool:
        """Tell whether there is a constraint for two blocks that is relied on."""
        return (first, second) in self.pairs() and (first, second) not in self.distrusted

    def distrust(self, pairs: Iterable[Pair]) -> None:
        """Take blocks for dependent from now on."""
        for first, second in pairs:
            self.distrusted |= {(first, second), (second, first)}

    @abstractmethod
    def numbers_of(self, name: str) -> list[int]:
        """Return the numbers of the blocks that have a name."""


class Independent:
    """What `program.independent(first, second)` returns: a declaration, or a decorator.

    Nothing more has to be said for two blocks that are independent in every state. A function that
    it decorates says where they are; then they are independent only there.
    """

    def __init__(
        self, constraints: Declarations, first: str, second: str, holds: Constraint | None
    ) -> None:
        self._constraints = constraints
        self._everywhere = Declared(first, second, holds)
        constraints.declare(self._everywhere)

    def __call__(self, holds: Checked) -> Checked:
        """Take a function that says where the blocks are independent."""
        first, second = self._everywhere.first, self._everywhere.second
        self._constraints.replace(self._everywhere, Declared(first, second, holds))
        return holds


class Unordered:
    """Values in whatever order."""

    def __init__(self, values: Iterable[object]) -> None:
        self._values = list(values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unordered) and are_same(self._values, other._values)

    __hash__ = None  # type: ignore[assignment]


def are_same(some: Sequence[object], others: Sequence[object]) -> bool:
    """Tell whether the values are the same, in whatever order.

    >>> are_same([1, 2, 2], [2, 1, 2]), are_same([1, 2], [1, 2, 2]), are_same([1, 1], [1, 2])
    (True, False, False)
    """
    left = list(others)
    for value in some:
        if value not in left:
            return False
        left.remove(value)
    return not left


_WHETHER = "whether "
"""Begins what is said of a step that cannot be taken."""


class _Taken(NamedTuple):
    """What two steps led to."""

    facts: dict[str, object]
    children: dict[int, list[tuple[int, object]]]
    """What each of them created: who, and what that will do."""
    words: dict[str, str]
    """What shared values are, as far as they can be shown."""

    @property
    def has_ended(self) -> bool:
        """Whether both steps could be taken."""
        return not any(what.startswith(_WHETHER) for what in self.facts)


class ConstrainedSteps(Run):
    """A run of a program that has constraints."""

    declarations: Declarations
    taken: list[int]
    """Who took a step, one after the other."""

    # What a front end knows

    @abstractmethod
    def block_of(self, process: int) -> int:
        """Return the number of the block that a process runs next; -1: no constraint has it."""

    @abstractmethod
    def block_name(self, process: int) -> str:
        """Return what the block is called that a process runs next."""

    @abstractmethod
    def process_name(self, process: int) -> str:
        """Return the name of a process."""

    @abstractmethod
    def locals_of(self, process: int) -> Locals:
        """Return the local names that the next step of a process can look at."""

    @abstractmethod
    def evaluated(self, directed: Directed, first: int, second: int) -> tuple[bool, frozenset[int]]:
        """Tell whether a constraint holds of the next steps of two processes, and what it read."""

    @abstractmethod
    def may_be_written(self, locations: frozenset[int], others_than: set[int]) -> bool:
        """Tell whether processes other than some may still write one of some locations."""

    @abstractmethod
    def situation(self, first: int, second: int) -> Hashable:
        """Return all that the next steps of two processes may look at, by value."""

    @abstractmethod
    def begun_again(self) -> ConstrainedSteps:
        """Return another run that has just begun."""

    @abstractmethod
    def compared(self, processes: Sequence[int]) -> dict[str, object]:
        """Return what tells this state from others that two processes may have led to."""

    @abstractmethod
    def state_in_words(self, process: int) -> str:
        """Say what the values are that a process shares with others."""

    @abstractmethod
    def values_in_words(self, process: int) -> dict[str, str]:
        """Say what these values are, by what `compared` calls them."""

    # The question

    def are_independent(self, first: int, second: int) -> bool:
        """Tell whether the next steps of two processes commute here, and whatever others do."""
        if not (self.is_enabled(first) and self.is_enabled(second)):
            return False
        key = (self.block_of(first), self.block_of(second))
        if not self.declarations.may_commute(*key):
            return False
        for directed in self.declarations.pairs()[key]:
            holds, read = self.evaluated(directed, first, second)
            if holds and self.stays(directed, read, (first, second)):
                self.together(first, second)
                return True
        return False

    def stays(self, directed: Directed, read: frozenset[int], steps: tuple[int, int]) -> bool:
        """Tell whether a constraint goes on to hold, whatever the others do (uniformity).

        That is so if nobody else may write what it read (`static`).
        """
        del directed
        return not (read and self.may_be_written(read, set(steps)))

    def judged(
        self, directed: Directed, value: object, read: Iterable[int]
    ) -> tuple[bool, frozenset[int]]:
        """Return what a constraint said and read; refuse one that does more than to read."""
        read = tuple(read)
        if any(mode_of(access) is not Mode.READ for access in read):
            raise writes(directed.declared)
        return bool(value), frozenset(map(location_of, read))

    def together(self, first: int, second: int) -> Together:
        """Return what two steps create that commute here by a constraint; check that they do."""
        key = self.situation(first, second)
        found = self.declarations.checked.get(key)
        if found is None:
            usual, other = self._in_order(first, second), self._in_order(second, first)
            if usual.facts != other.facts:
                self._refuse((first, second), usual, other)
            found = Together(_loose(usual, other, first), _loose(usual, other, second))
            self.declarations.checked[key] = found
        return found

    def _in_order(self, *order: int) -> _Taken:
        """Take two steps from here, in an order."""
        run = self.begun_again()
        for process in self.taken:
            run.step(process)
        facts: dict[str, object] = {}
        children: dict[int, list[tuple[int, object]]] = {process: [] for process in order}
        for process in order:
            if not run.is_enabled(process):
                facts[f"{_WHETHER}{self.process_name(process)} is enabled"] = False
                break
            children[process] = [(one, run.newborn(one)) for one in spawned(run.step(process))]
        facts.update(run.compared(sorted(order)))
        born = [content for made in children.values() for _, content in made]
        facts["what they create"] = Unordered(born)
        words = run.values_in_words(order[0])
        run.drop()
        return _Taken(facts, children, words)

    def _refuse(self, pair: tuple[int, int], usual: _Taken, other: _Taken) -> NoReturn:
        """Report a constraint that is wrong here, in an order in which the steps can be taken."""
        if other.has_ended and not usual.has_ended:
            self._refuse(pair[::-1], other, usual)
        first, second = map(self.block_name, pair)
        one, two = usual.facts, other.facts
        whats = sorted({**one, **two}, key=lambda what: not what.startswith(_WHETHER))
        differs = next(what for what in whats if one.get(what) != two.get(what))
        seen = [taken.words[differs] for taken in (other, usual) if differs in taken.words]
        raise FindingError(
            "constraint",
            f"{first} and {second} are {self._said_by(pair)}, but where "
            f"{self.state_in_words(pair[0])} they are not: {differs} differs when "
            f"{self.process_name(pair[1])} comes before {self.process_name(pair[0])}"
            + (f": {seen[0]}, not {seen[1]}" if len(set(seen)) > 1 else ""),
            [*self.taken, *(pair if usual.has_ended else pair[:1])],
        )

    def _said_by(self, pair: tuple[int, int]) -> str:
        """Say who says that two steps are independent."""
        key = self.block_of(pair[0]), self.block_of(pair[1])
        said = [directed.declared for directed in self.declarations.pairs()[key]]
        is_declared = any(one.basis is None for one in said)
        return "declared independent" if is_declared else "independent by what a solver found"


def writes(declared: Declared) -> TreadleError:
    """Return the error of a constraint that writes."""
    return TreadleError(f"the constraint of {declared.names} must only read shared state")


def raised(declared: Declared, error: BaseException) -> TreadleError:
    """Return the error of a constraint that raises an exception."""
    return TreadleError(f"the constraint of {declared.names} raised {error!r}")


def spawned(codes: Codes) -> list[int]:
    """Return the processes that a step created."""
    return [location_of(access) for access in codes if mode_of(access) is Mode.SPAWN]


def _loose(usual: _Taken, other: _Taken, process: int) -> tuple[int, ...]:
    """Return the children of a process, by position, that it does not create in the other order."""
    there = other.children[process]
    return tuple(
        position
        for position, child in enumerate(usual.children[process])
        if position >= len(there) or child != there[position]
    )


def finding_in(
    start: Callable[[], ConstrainedSteps], processes: Sequence[int]
) -> FindingError | None:
    """Return a constraint that does not hold where a schedule ends, if any.

    It is one of the last two steps; or, if each of two disables the other, of the last step and of
    one that can be taken no more.
    """
    for taken, last in ((processes[:-2], processes[-2:]), (processes[:-1], processes[-1:])):
        run = start()
        for process in taken:
            run.step(process)
        run.declarations.checked.clear()
        try:
            for other in last[1:] or [one for one in run.enabled() if one not in last]:
                run.are_independent(last[0], other)
        except FindingError as error:
            return error
        finally:
            run.drop()
    return None

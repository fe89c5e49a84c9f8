"""What an algorithm is: the decisions that the search asks for.

The search (`search.py`) runs executions; an algorithm decides which process comes next in a state
that no execution has reached before, looks at each finished execution, and says where the next one
leaves it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.core.errors import TreadleError
from treadle.core.events import Footprint
from treadle.core.failure import Failure
from treadle.core.happens_before import Trace
from treadle.core.program import Program, Run
from treadle.core.result import Result

if TYPE_CHECKING:
    from treadle.explore.search import Search

# What `decide` returns in place of a process, and how executions end

ENDED = -1
"""No process is enabled."""
BLOCKED = -2
"""All enabled processes are asleep, so everything from here on was explored before."""
STEPS = -3
"""The budget on steps cut the execution."""
DIFFERS = -4
"""Steps that were replayed are not the recorded ones."""
TIME = -5
"""Time was up in the middle of the execution."""
LENGTH = -6
"""It is very long; nothing shows that it is endless."""

# Why a branch is not explored

ASLEEP = "asleep"
"""Everything from there on was explored before."""
FORBIDDEN = "forbidden"
"""Another execution leads to the same state."""
CONSTRAINT = "constraint"
"""It commutes with the step that was taken there, by a constraint that holds."""

AS_PLANNED = -1
"""`follow`: no step differed from its plan."""
EXPLORED = -1
"""`backtrack`: nothing is left to do."""


class Algorithm(ABC):
    """A strategy for `Search`; one small file each."""

    number: int = 0
    """The number of the execution that is run, where these are samples."""

    covers: ClassVar[bool] = True
    """Whether the search is complete when `backtrack` finds nothing more to do."""
    sees_every_order: ClassVar[bool] = True
    """Whether all orders of dependent steps are seen, and not only what they lead to."""
    repeats_classes: ClassVar[bool] = False
    """Whether equivalent executions are explored more than once."""
    never_blocks: ClassVar[bool] = False
    """Whether no execution is begun that turns out to be redundant."""
    knows_values: ClassVar[bool] = True
    """Whether two stores of the same value are independent; not for those that compare states."""
    without_constraints: ClassVar[type[Algorithm] | None] = None
    """What explores a program without independence constraints in its place, if it uses some."""
    is_guided: ClassVar[bool] = False
    """Whether executions are cut on purpose: a search that cut them all is complete then."""
    survives_cuts: ClassVar[bool] = False
    """Whether nothing is lost if an execution ends early: none is planned from its races."""
    divides: ClassVar[bool] = False
    """Whether the counts of a space's parts (`cubes`) add up to those of the whole: no class of its
    executions lies in two of them."""
    divides_itself: ClassVar[bool] = False
    """Whether it can say what is left to explore, and begin with that (`left_over`)."""
    trace_type: ClassVar[type[Trace]] = Trace
    """How the happens-before order is built."""
    name: ClassVar[str] = ""
    """How results call it, if it is not registered but a program's own."""

    @classmethod
    def instead(cls, algorithm: str) -> type[Algorithm]:
        """Return what explores a program that brings this one along, if another one is asked for.

        Refuse, in words, if nothing else makes sense.
        """
        raise TreadleError(
            f"this program is explored by a strategy of its own, {cls.name}: leave algorithm "
            f"out, or choose options with which {algorithm} makes sense"
        )

    @classmethod
    def shrink(cls, program: Program, failure: Failure) -> Failure | None:
        """Return a simpler failure, if schedules cannot be changed step by step; None: they can.

        The default is for all whose executions are interleavings of steps in any order.
        """
        del program, failure
        return None

    def __init__(self, search: Search) -> None:
        self.search = search
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Set the state up that the algorithm keeps along the current path."""

    @abstractmethod
    def decide(self, run: Run, last: int) -> int:
        """Return the process that runs next, `ENDED` or `BLOCKED`."""

    @abstractmethod
    def executed(self, process: int, footprint: Footprint) -> None:
        """Take note of the step that was decided on and executed."""

    def foretell(self) -> bool:
        """Add the planned steps to the trace, if all of them are known before the run.

        Tell whether the default schedule decides after them.
        """
        return False

    def follow(self, run: Run) -> int:
        """Take the steps that are planned here; return which one differed, or `AS_PLANNED`."""
        del run
        return AS_PLANNED

    @property
    def is_free(self) -> bool:
        """Whether the default schedule decides from here to the end of the execution."""
        return False

    def left_alone(self, steps: int) -> None:  # noqa: B027 - only for those that are ever free
        """Take note of steps that the default schedule took where `is_free`."""

    @abstractmethod
    def analyse(self, run: Run, outcome: int) -> None:
        """Look at an execution that ended with `outcome`, and plan others."""

    @abstractmethod
    def backtrack(self) -> int:
        """Return how many steps the next execution shares with this one, or `EXPLORED`."""

    def known_pairs(self, since: int) -> int:
        """Return how many pairs of events it has compared that end at index `since` or later."""
        del since
        return 0

    @abstractmethod
    def todo(self, depth: int) -> int:
        """Return how many branches still wait at a depth of the current path."""

    # For those that divide a space themselves

    def begin_with(self, parts: Sequence[Any]) -> None:
        """Explore only these parts, which another search left over."""
        raise NotImplementedError

    def left_over(self) -> list[Any]:
        """Return what a search that has given up leaves, each a part: plain data, by names."""
        raise NotImplementedError

    def latest_class(self) -> Sequence[str]:
        """Return what tells the class of the latest execution, wherever it was run: any of these.

        Parts may have classes in common: who explores one does not know what others have run.
        """
        raise NotImplementedError

    def violations(self) -> Iterator[str]:
        """Yield what is wrong with the algorithm's sets and trees: nothing, if all is well."""
        return iter(())

    def report(self, result: Result) -> None:  # noqa: B027 - only for those that count something
        """Add to the result what only the algorithm can tell."""

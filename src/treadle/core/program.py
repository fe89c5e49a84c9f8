"""The seam between front ends and the core: a `Program` starts `Run`s, a `Run` takes steps.

A front end derives from these two classes; an algorithm sees nothing else of it. Processes are
numbers of the program's `Vocabulary`, steps are tuples of access codes.

Few members are required (the abstract ones, `name`, `vocabulary`); all others have a default that
is right, if not the fastest or the richest:

- `replay`, `execute` and `finish` are loops over `step`; a front end has its own for speed;
- `records`, `frames` and `where` are for reports, which show bare accesses without them;
- `foresee` is for the eager algorithms, which learn by running where nothing is foreseen;
- `fingerprint`, `watched_step`, `effect` and `values` are for the context-sensitive ones, which
  take nothing for equal that cannot be compared;
- `declarations`, `Run.are_independent` and `Run.together` are for constrained ones: without them
  steps are independent if their accesses are;
- `knowledge`, `know` and `Restart` are for programs that learn what a step is while they run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.core.errors import TreadleError
from treadle.core.events import Codes, Vocabulary
from treadle.core.listed import Constrained, Untranslated
from treadle.core.records import FrameRecord, Graph, StepRecord, Wait

if TYPE_CHECKING:
    from treadle.core.constraints import Declarations, Together
    from treadle.core.happens_before import Edges, Trace


@dataclass(slots=True)
class Crash:
    """A process that ended with an exception: what a run saw of a bug."""

    process: int
    step: int
    """Index of the failing step in the execution."""
    exception: BaseException
    kind: str = ""
    """What sort of failure it is, if the front end declares one for it."""
    is_final: bool = False
    """Whether no process failed, but what should hold of every final state does not."""

    @classmethod
    def of(cls, process: int, step: int, exception: BaseException) -> Crash:
        """Describe a process that ended with an exception, which may say of what kind it is."""
        kind = exception.kind if isinstance(exception, Violation) else ""
        return cls(process, step, exception, kind)


class Violation(AssertionError):
    """A property that does not hold: derived classes say what kind of failure that is."""

    kind: ClassVar[str] = ""


@dataclass(slots=True)
class Ending:
    """How a run stands when no process is enabled any more."""

    crashes: list[Crash] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    """Processes that wait for ever; daemons are left out."""
    is_cut: bool = False
    """Whether the program said that this execution is of no interest."""
    is_unfinished: bool = False
    """Whether somebody was not let go on, for whom others may wait."""
    kind: str = ""
    """What sort of failure it is that processes wait, if the front end declares one for it."""
    message: str = ""
    """What goes wrong when processes wait, if the front end has better words than the waits."""

    @property
    def is_deadlock(self) -> bool:
        """Whether it is a failure that processes wait.

        After a crash others may wait only because of it, unless the front end knows better.
        """
        return bool(self.waits) and (bool(self.kind) or all(c.is_final for c in self.crashes))


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What can be said of the next step of a process before it is taken."""

    place: int
    """Where in the process it begins; steps of the process at the same place have the same one."""
    decisive: frozenset[int]
    """Places of earlier steps of the process whose reads may decide what it accesses.

    That includes whether the process gets there at all. What it reads itself is not meant: a step
    that accesses something else when it reads something else is open."""
    branches: bool
    """Whether what it reads may decide about a later step."""


class CannotStepError(Exception):
    """A process cannot take a step that it took, or would have taken, before: not deterministic."""

    def __init__(self, process: int) -> None:
        super().__init__(process)
        self.process = process


class FindingError(Exception):
    """What a run that was made for another purpose shows is wrong with the program."""

    def __init__(self, kind: str, message: str, processes: Sequence[int]) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.processes = list(processes)
        """Who takes steps, one after the other, so that it shows: the last with the last step."""


class Restart(Exception):
    """A run showed that what its program regards as a step was too coarse: begin anew.

    Raised by `Run.close` or `Program.start`; the program knows better from then on.
    """


class Incomparable:
    """Stands for what cannot be compared: equal to nothing, not even to itself."""

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


AS_RECORDED = -1
"""`Run.replay` and `Run.execute`: no step differs from what was recorded."""


class Run(ABC):
    """One execution of a program, from its initial state, one step at a time."""

    crashes: list[Crash]

    @abstractmethod
    def step(self, process: int) -> Codes:
        """Let an enabled process take one step and return what it accessed.

        Raise `CannotStepError` if it cannot.
        """

    @abstractmethod
    def enabled(self) -> list[int]:
        """Return the processes that can take a step, oldest first."""

    @abstractmethod
    def is_enabled(self, process: int) -> bool:
        """Tell whether a process can take a step; not if there is none of this number, like -1."""

    @abstractmethod
    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the processes that wait, with the accesses that their next step begins with."""

    @abstractmethod
    def ending(self) -> Ending:
        """Describe the final state of a run that has no enabled process."""

    @abstractmethod
    def close(self) -> None:
        """End the run; frees what its processes hold."""

    def drop(self) -> None:
        """End a run that is no part of an exploration: nothing is learned from it."""
        self.close()

    # Many steps at once

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs.

        Go no further then. What the step did, if it could be taken, replaces what was recorded.
        """
        for index in range(length):
            if not self.is_enabled(processes[index]):
                return index
            done = self.step(processes[index])
            if done != codes[index]:
                codes[index] = done
                return index
        return AS_RECORDED

    def execute(self, processes: list[int], codes: list[Codes], limit: int) -> int:
        """Take all recorded steps as `replay` does and, unless one differs, `finish`."""
        differing = self.replay(processes, codes, len(processes))
        if differing == AS_RECORDED:
            self.finish(processes[-1] if processes else -1, limit, processes, codes)
        return differing

    def finish(self, last: int, limit: int, processes: list[int], codes: list[Codes]) -> bool:
        """Go on by the default schedule `stay`, after a step of `last`, to the end of the run.

        Append each step's process and accesses to the lists; stop, and return False, when they
        have `limit` entries.
        """
        while enabled := self.enabled():
            if len(processes) >= limit:
                return False
            last = last if last in enabled else enabled[0]
            codes.append(self.step(last))
            processes.append(last)
        return True

    # For reports

    def led_by(self, trace: Trace, index: int) -> int:
        """Return the step that decides when another one comes: itself, unless a queue does."""
        del trace
        return index

    def is_possible(self, trace: Trace) -> bool:
        """Tell whether a run that is over can be had, by whatever decides who is next."""
        del trace
        return True

    def records(self) -> list[StepRecord] | None:
        """Return the steps in words, of a run started with `detail`; None: there are none."""
        return None

    def frames(self) -> list[FrameRecord]:
        """Return the user's functions that the processes are in; only of a run with `detail`.

        Processes that crashed come first; functions come outermost first.
        """
        return []

    def where(self, process: int) -> str:
        """Return `file:line` of where a process stands; empty if that means nothing."""
        del process
        return ""

    def is_endless(self) -> bool:
        """Tell whether a run of very many steps is taken to be one that never ends."""
        return True

    def family(self, processes: Sequence[int]) -> str:
        """Say what those have in common that took the latest steps, if each takes only a few."""
        del processes
        return ""

    # For eager algorithms

    def foresee(self, process: int) -> Foreseen | None:
        """Say what is known of an enabled process's next step; None: every step may decide it."""
        del process
        return None

    # For context-sensitive algorithms

    def fingerprint(self) -> object:
        """Return a comparable value of the whole state: shared state and every continuation."""
        return Incomparable()

    def watched_step(self, process: int) -> tuple[Codes, object]:
        """Take a step; return what it accessed, and what it saw that `effect` does not show."""
        return self.step(process), Incomparable()

    def effect(self, processes: Sequence[int], locations: Sequence[int]) -> object:
        """Return a comparable value of part of the state: continuations, and values of locations.

        What cannot be compared is equal to nothing, not even to itself.
        """
        del processes, locations
        return Incomparable()

    def newborn(self, process: int) -> object:
        """Return a comparable value of a process that has taken no step: what it will do."""
        del process
        return Incomparable()

    # For constrained algorithms

    def are_independent(self, first: int, second: int) -> bool:
        """Tell whether the next steps of two processes commute here by a constraint that holds.

        And goes on to hold whatever the others do meanwhile ("Constrained Dynamic Partial Order
        Reduction", CAV 2018, definition 3). False if one of them is disabled.
        """
        del first, second
        return False

    def together(self, first: int, second: int) -> Together:
        """Return what two steps create that commute here by a constraint; check that they do."""
        raise NotImplementedError

    def values(self, locations: Sequence[int]) -> list[object]:
        """Return for each location a comparable value of what is there.

        What cannot be compared, or not on its own, is equal to nothing, not even to itself.
        """
        return [Incomparable() for _ in locations]


class Program(ABC):
    """Something that can be run again and again from the same initial state."""

    name: str
    vocabulary: Vocabulary
    front_end: ClassVar[str] = ""
    """The name of the front end that made it, if that is a registered one."""
    strategy: Any = None
    """An `explore.strategy.Algorithm` of the program's own, in place of those by name."""
    is_guided: bool = False
    """Whether runs are cut that do not lead to what is looked for."""
    stops_early: bool = False
    """Whether runs end where their fate is sealed, with steps left that others might need."""
    counts_states: ClassVar[bool] = False
    """Whether results say how many states the tree of executions has."""
    compares_newborn: ClassVar[bool] = False
    """Whether runs can compare processes that were just created (`Run.newborn`)."""
    scope: ClassVar[str] = ""
    """What a verdict is limited to, in words: `for these packets`."""
    returned: object = None
    """What a function returned that was tried out: perhaps the program that is really meant."""

    @abstractmethod
    def start(self, *, detail: bool = False) -> Run:
        """Begin an execution; with `detail`, each step is also recorded in words."""

    def controlled(self) -> AbstractContextManager[object]:
        """Return the context in which executions can be started; entering it twice is harmless."""
        return nullcontext()

    @property
    def looks_at_end(self) -> bool:
        """Whether somebody looks at all that is shared when an execution is over."""
        return False

    # Parts of its space

    edges: Edges = {}  # noqa: RUF012 - nobody changes this one
    """Steps that happen before others whatever they access, if only a part is explored."""

    is_part: ClassVar[bool] = False
    """Whether only a part of the space is explored, so that executions may belong elsewhere."""

    def is_elsewhere(self, run: Run, trace: Trace) -> bool:
        """Tell whether an execution that is over belongs to another part of the space."""
        del run, trace
        return False

    # How it is run

    @property
    def granularity(self) -> str:
        """What a step is, if the program can be run with different ones."""
        return ""

    @property
    def options(self) -> dict[str, object]:
        """Options that it takes to run the program in the same way again."""
        return {}

    def name_values(self, wanted: bool) -> None:  # noqa: B027 - most cannot tell
        """Let steps say which values they store (`Mode.STORED`), or not, from the next run on."""

    # Independence constraints

    def choose_constraints(self, constraints: str, uniformity: str) -> None:
        """Choose which constraints are used, and how it is known that they go on to hold."""
        if self.declarations is not None:
            self.declarations.choose(constraints, uniformity)

    @property
    def declarations(self) -> Declarations | None:
        """What was declared of blocks of code that are independent by what they do, if anything."""
        return None

    @property
    def has_constraints(self) -> bool:
        """Whether some blocks of code may be independent although their accesses conflict."""
        return self.declarations is not None and self.declarations.are_there

    def use_constraints(self, wanted: bool) -> None:  # noqa: B027 - most have none
        """Let steps of such blocks say which one they are (`Mode.BLOCK`), or not, from now on.

        What they access is then all that the block may access in any state.
        """

    def finding_in(self, processes: Sequence[int]) -> FindingError | None:
        """Return what a finished schedule shows is wrong with what was declared, if anything."""
        del processes
        return None

    def list_constraints(self, constraints: str) -> Iterator[Constrained | Untranslated]:
        """Yield what is known of each two blocks that conflict, and blocks not understood."""
        del constraints
        raise TreadleError(f"{self.name} has no blocks that constraints could be about")

    def may_commute(self, first: int, second: int) -> bool:
        """Tell whether there is a constraint for two blocks, by number."""
        return self.declarations is not None and self.declarations.may_commute(first, second)

    # What it learns

    def knowledge(self) -> tuple[str, ...]:
        """Return what was learned beyond the natural execution and decides what is a step."""
        return ()

    def know(self, knowledge: Sequence[str]) -> None:  # noqa: B027 - most have nothing to learn
        """Know what an earlier exploration had learned, and nothing else."""

    def foresee_less(self) -> bool:
        """Trust no guess any more, since one was wrong; return whether any was trusted till now."""
        return False

    # In which order executions are tried

    def preferring(self, choose: Any) -> Any:
        """Return the default schedule to use in place of `choose`: it decides nothing but order."""
        return choose

    # What users should know

    def judge(self, failures: Sequence[Any], *, is_complete: bool) -> list[str]:
        """Return what a search that is over says about what was suspected before, in words."""
        del failures, is_complete
        return []

    def notes(self, *, has_ended: bool) -> list[str]:
        """Return what users should know about the executions so far.

        The search has ended if it has seen everything or found something.
        """
        del has_ended
        return []

    def escapes(self) -> list[str]:
        """Return what the executions so far did that is neither modelled nor seen, in words."""
        return []

    def rests_on(self) -> list[str]:
        """Return what a verdict on the executions so far rests on, in words."""
        return []

    def seen_in(self, run: Run, trace: Any, failure: Any) -> list[str]:
        """Return what else there is to say about a failure, by its run, whose steps are taken."""
        del run, trace, failure
        return []

    def remarks(self, failure: Any) -> list[str]:
        """Return what other runs tell about a failure that was recorded."""
        del failure
        return []

    def graph(self) -> Graph | None:
        """Return what the processes run in, if there is a picture of it: a network."""
        return None

    def restart_if_learned(self) -> None:  # noqa: B027 - most programs learn nothing
        """Begin anew (`Restart`) if the present execution showed something that matters."""

    def not_undone(self) -> list[str]:
        """Return what executions changed and the next ones find so, each with the line."""
        return []

    def not_repeated(self) -> str:
        """Return what the first execution of all did and none has done since: `changed x`."""
        return ""

    def fails_again(self) -> str:
        """Run the first execution of all once more; return how it fails now if it did not then."""
        return ""

    # Copies of this process that explore parts of its space

    def repeated(self) -> tuple[str, ...]:
        """Return what executions here did that the first one of all had done."""
        return ()

    def note_repeated(self, repeated: Sequence[str]) -> None:  # noqa: B027 - most need not know
        """Take note of what executions in other processes did."""

    def rest(self) -> None:  # noqa: B027 - most have no thread of their own
        """End threads of its own for a while, so that the process can be copied."""

    def go_on(self) -> None:  # noqa: B027 - the same
        """Begin them again, here or in a copy."""

"""What an exploration returns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from treadle.core import formats
from treadle.core.exploration import Exploration
from treadle.core.failure import Failure


@dataclass(slots=True)
class Result:
    """What an exploration did and found; prints as a readable summary."""

    program: str
    """The name of the test or model."""
    algorithm: str
    """The name of the algorithm."""
    executions: int = 0
    """Complete executions."""
    blocked: int = 0
    """Executions begun and then found redundant."""
    cut: int = 0
    """Executions that the test itself cut with `treadle.assume`, or that `guided` did."""
    elsewhere: int = 0
    """Executions begun in a part of the space and found to belong to another one: not counted."""
    workers: int = 1
    """How many processes explored."""
    parts: int = 0
    """Parts of the space that were explored apart and are finished; 0 if it was not divided."""
    lost: int = 0
    """Executions of parts that were given up to be divided further: not counted."""
    complete: bool = False
    """Whether the whole space was covered: with no failure, that is a proof."""
    failures: list[Failure] = field(default_factory=list)
    """The first failure of each kind and message."""
    failing: int = 0
    """Findings in all, the same one in another execution included."""
    events: int = 0
    """Steps executed in all."""
    replayed: int = 0
    """Those of them that came back to a branch, compared with the record."""
    probes: int = 0
    """Runs made only to learn whether a blocked step would be enabled in another order."""
    race_checks: int = 0
    """Pairs of events that were looked at for a race."""
    dependency_checks: int = 0
    """Pairs of steps of which it was asked whether they are dependent, sleep sets included."""
    unsatisfiable: int = 0
    """Trace constraint systems without a solution that the eager algorithms made."""
    peak_nodes: int = 0
    """Most steps that the wakeup trees held at once."""
    pairs_asked: int = 0
    """Pairs of steps for which there was a constraint, and it was asked whether it holds."""
    constraints_used: int = 0
    """Those of them that were taken for independent: a constraint held, and goes on to hold."""
    steps_rerun: int = 0
    """Steps run again to come to a state that a constraint was asked about."""
    states_kept: int = 0
    """Most states that were kept at once for such questions."""
    seconds: float = 0.0
    """Wall time of the search."""
    stopped_by: str = ""
    """Why the search ended early, if it did."""
    notes: list[str] = field(default_factory=list)
    """What else users should know, in words."""
    escapes: list[str] = field(default_factory=list)
    """What left Treadle's sight, a sentence each with `file:line`: a proof does not cover it."""
    rests_on: list[str] = field(default_factory=list)
    """What a proof takes for granted, in words: that long waits end last."""
    estimate: float | None = None
    """Estimated number of executions in all, of a search that ended early."""
    scope: str = ""
    """What the verdict is limited to, in words: `for these packets`."""
    states: int | None = None
    """Nodes of the tree of executions, the root left out, if the front end counts them."""
    exploration: Exploration | None = field(default=None, repr=False, compare=False)
    """The tree of executions and what was reversed, if the search was observed."""

    @property
    def ok(self) -> bool:
        """Whether the space was covered and nothing failed."""
        return self.complete and not self.failures

    @property
    def failure_kinds(self) -> Counter[str]:
        """How many different failures of each kind were found."""
        return Counter(failure.kind for failure in self.failures)

    def __str__(self) -> str:
        return formats.TEXT["result"](self)

    def to_html(self) -> str:
        """Return a page to look at, all in one: failures step by step, and what was explored.

        The tree of executions is on it if they were explored with `observe=True`.
        """
        return formats.HTML["result"](self)

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, for notebooks."""
        return formats.HTML["notebook"](self)

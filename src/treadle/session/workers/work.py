"""What is explored in parts, as tasks and coordinators see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from treadle.core.failure import Failure
from treadle.core.program import Program
from treadle.explore.progress import Listener
from treadle.explore.search import Search
from treadle.explore.strategy import Algorithm


class MakeSearch(Protocol):
    """Makes searches that differ in what they explore, and for how long."""

    def __call__(
        self,
        program: Program,
        *,
        max_executions: int | None,
        timeout: float | None,
        samples: range | None = None,
        listener: Listener | None = None,
    ) -> Search:
        """Return a search as the settings want it."""
        ...


@dataclass(slots=True)
class Work:
    """One test under control, and how it is explored."""

    program: Program
    strategy: type[Algorithm]
    algorithm: str
    """The name of the strategy."""
    search: MakeSearch
    rerun: Callable[[Failure], Failure | None]
    """Runs the schedule of a failure again; None if it does not show."""
    max_steps: int
    max_executions: int | None
    timeout: float | None
    stop_on_failure: bool
    test: object = None
    reopened: Callable[[], Program] | None = None
    """Returns the program once control was given back and taken again."""

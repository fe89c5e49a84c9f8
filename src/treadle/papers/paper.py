"""What a paper prints about its benchmarks: programs, rows and tables, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.core.errors import TreadleError
from treadle.core.program import Program

WHOLE_STATES = " comparing whole states"
"""Behind the name of a context-sensitive algorithm: without the refined check of JSS 2023."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A program with a parameter."""

    name: str
    make: Callable[[int], Program]
    classes: Callable[[int], int | None]
    """The exact number of happens-before classes: what algorithms that see each order complete.

    None if nobody has counted them."""
    largest: int | None = None
    """The largest parameter for which the program is defined."""
    fewer: Mapping[str, Callable[[int], int]] = field(default_factory=dict)
    """What algorithms complete that need not see each order, where that is known exactly."""
    schedule: str = ""
    """The default schedule with which the paper's counts come out, if they depend on it."""
    smallest: int = 1
    remark: str = ""
    """Why counts are not those that the paper prints, where they are not."""
    fails: bool = False
    """Whether the program has failures: deadlocks that the paper is about."""
    interleavings: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """The exact numbers of interleavings and of states of their tree, by parameter."""
    counts_new_steps: bool = False
    """Whether its events are steps that were executed for the first time, not repeated."""

    def check(self, n: int) -> None:
        """Refuse a parameter for which there is no such program."""
        least = self.smallest
        if n < least or (self.largest is not None and n > self.largest):
            limits = (
                f"{least} or more"
                if self.largest is None
                else f"between {least} and {self.largest}"
            )
            raise TreadleError(f"{self.name}({n}) does not exist: choose an n that is {limits}")


@dataclass(frozen=True, slots=True)
class Printed:
    """What a paper prints of one algorithm on one program."""

    explored: int | None = None
    """Complete and blocked executions together."""
    time: str = ""
    memory: str = ""
    nodes: int | None = None
    """Nodes of the largest wakeup tree."""
    executions: int | None = None
    """Complete executions."""
    blocked: int | None = None
    """Blocked executions, if the paper counts them apart."""
    dependency_checks: int | None = None
    race_checks: int | None = None
    unsatisfiable: int | None = None
    """Trace constraint systems without a solution."""
    states: int | None = None
    """Nodes of the tree of executions, the root left out."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a paper's table."""

    benchmark: Benchmark
    n: int
    printed: Mapping[str, Printed] = field(default_factory=dict)
    """By algorithm."""
    on_demand: bool = False
    """Whether the row takes too long to be run unless it is asked for."""
    unfinished: frozenset[str] = frozenset()
    """Algorithms that the paper did not see finish, and that are run only when asked for."""

    @property
    def name(self) -> str:
        """The row's name as papers write it, e.g. `readers(13)`."""
        return f"{self.benchmark.name}({self.n})"

    @property
    def expected(self) -> int | None:
        """The exact number of classes: the paper's, or the closed form; None: nobody knows."""
        optimal = self.printed.get("optimal", Printed()).explored
        return self.benchmark.classes(self.n) if optimal is None else optimal

    def fewer(self, algorithm: str) -> int | None:
        """Return the exact number of executions of an algorithm that need not see each order."""
        known = self.benchmark.fewer.get(algorithm)
        return None if known is None else known(self.n)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table of a paper."""

    title: str
    algorithms: tuple[str, ...]
    columns: tuple[str, ...]
    """Groups of columns, one column for each algorithm: names of `treadle.papers.table`."""
    rows: tuple[Row, ...]
    has_lines: bool = False
    """Whether each algorithm has a line of its own, and the groups are ours and the paper's."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose tables can be measured again."""

    name: str
    title: str
    tables: tuple[PaperTable, ...]
    remarks: tuple[str, ...] = ()
    """Why numbers differ from the paper's that need not be the same."""

    @property
    def benchmarks(self) -> dict[str, Benchmark]:
        """The paper's programs by name."""
        rows = [row for table in self.tables for row in table.rows]
        return {row.benchmark.name: row.benchmark for row in rows}

    def select(
        self, programs: Sequence[str], sizes: Sequence[int], *, on_demand: bool = False
    ) -> list[PaperTable]:
        """Return the tables with only the rows that were asked for.

        Without `programs`, `sizes` picks among the paper's rows; with them, any size will do.
        Without `sizes`, rows that take long are left out unless `on_demand`.
        """
        for name in programs:
            if name not in self.benchmarks:
                known = ", ".join(self.benchmarks)
                raise TreadleError(f"{self.name} has no program {name!r}: choose one of {known}")
        tables = [self._narrowed(table, programs, sizes, on_demand) for table in self.tables]
        if not any(table.rows for table in tables):
            raise TreadleError(f"{self.name} has no such row: name the program with --program too")
        return [table for table in tables if table.rows]

    @staticmethod
    def _narrowed(
        table: PaperTable, programs: Sequence[str], sizes: Sequence[int], on_demand: bool
    ) -> PaperTable:
        rows = [row for row in table.rows if not programs or row.benchmark.name in programs]
        known = {(row.benchmark.name, row.n): row for row in rows}
        if sizes:
            wanted = [(b, n) for b in _benchmarks_of(rows) for n in sorted(set(sizes))]
            rows = [
                known.get((benchmark.name, n)) or _new_row(benchmark, n)
                for benchmark, n in wanted
                if programs or (benchmark.name, n) in known
            ]
        else:
            rows = [row for row in rows if on_demand or not row.on_demand]
        return replace(table, rows=tuple(rows))


def _benchmarks_of(rows: Sequence[Row]) -> list[Benchmark]:
    return list({row.benchmark.name: row.benchmark for row in rows}.values())


def _new_row(benchmark: Benchmark, n: int) -> Row:
    benchmark.check(n)
    return Row(benchmark, n)

"""A program with orders between steps: the cube as a program of its own.

The second step of an order is disabled until the first took place, and happens after it. That edge
is like program order: it is no race, and nobody reverses it. Everything else is left to the program
inside, and as soon as no order is open any more, its run takes over at its own speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from treadle.core.events import Codes
from treadle.core.happens_before import Edges, Trace
from treadle.core.program import AS_RECORDED, Ending, Program, Run
from treadle.explore.cubes.belongs import is_own
from treadle.explore.cubes.order import Cube


def edges_of(cube: Cube, program: Program) -> Edges:
    """Return for each process with orders, by number of its step, which steps come first."""
    number = program.vocabulary.process
    edges: Edges = {}
    for (p, m), (q, n), _ in cube:
        edges.setdefault(number(q), {}).setdefault(n, []).append((number(p), m))
    return edges


class OpenOrder(NamedTuple):
    """An order between two steps, by number, that may still disable somebody."""

    first: int
    first_number: int
    second: int
    second_number: int


def orders_in(edges: Edges) -> list[OpenOrder]:
    """Return the orders that edges come from, none of which has been obeyed yet."""
    return [
        OpenOrder(p, m, q, n)
        for q, orders in edges.items()
        for n, firsts in orders.items()
        for p, m in firsts
    ]


class NarrowedRun(Run):
    """A run in which nobody takes a step before its orders allow it."""

    def __init__(self, inner: Run, orders: list[OpenOrder]) -> None:
        self._inner = inner
        self._open = orders
        """The orders that may still disable somebody."""
        self._taken = {process: 0 for order in orders for process in (order.first, order.second)}
        """How many steps those have taken that orders are about."""
        self.crashes = inner.crashes

    def is_held(self, process: int) -> bool:
        """Tell whether an order disables the next step of a process."""
        taken = self._taken
        return any(
            order.second == process and order.second_number == taken[process]
            for order in self._open
        )

    @property
    def is_stuck(self) -> bool:
        """Whether somebody could go on but for an order."""
        return bool(self._open) and any(map(self.is_held, self._inner.enabled()))

    def _count(self, processes: Sequence[int]) -> None:
        """Take note of steps, and of the orders that they leave open."""
        if not self._open:
            return
        for process in self._taken:
            self._taken[process] += processes.count(process)
        self._open = self._open_after(self._taken)

    def _open_after(self, taken: Mapping[int, int]) -> list[OpenOrder]:
        """Return the orders that are open when so many steps were taken."""
        return [
            order
            for order in self._open
            if taken[order.first] <= order.first_number
            and taken[order.second] <= order.second_number
        ]

    def step(self, process: int) -> Codes:
        """Let a process take one step, and count it."""
        codes = self._inner.step(process)
        if self._open and process in self._taken:
            self._count((process,))
        return codes

    def enabled(self) -> list[int]:
        """Return the enabled processes that no order disables."""
        if not self._open:
            return self._inner.enabled()
        return [process for process in self._inner.enabled() if not self.is_held(process)]

    def is_enabled(self, process: int) -> bool:
        """Tell whether a process is enabled, and no order disables it."""
        return self._inner.is_enabled(process) and not self.is_held(process)

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return who waits; of somebody whom an order disables, no earlier step is possible."""
        return [waiting for waiting in self._inner.blocked() if not self.is_held(waiting[0])]

    def ending(self) -> Ending:
        """Describe the final state: that of the program, whatever the orders are."""
        return self._inner.ending()

    def close(self) -> None:
        """End the run."""
        self._inner.close()

    def drop(self) -> None:
        """End the run; nothing is learned from it."""
        self._inner.drop()

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take recorded steps: they obey the orders, which are in their own order."""
        differing = self._inner.replay(processes, codes, length)
        self._count(processes[: length if differing == AS_RECORDED else differing + 1])
        return differing

    def execute(self, processes: list[int], codes: list[Codes], limit: int) -> int:
        """Take recorded steps and go on: at once, if no order is open any more behind them."""
        taken = {one: number + processes.count(one) for one, number in self._taken.items()}
        if self._open_after(taken):
            return super().execute(processes, codes, limit)
        differing = self._inner.execute(processes, codes, limit)
        self._count(processes if differing == AS_RECORDED else processes[: differing + 1])
        return differing

    def finish(self, last: int, limit: int, processes: list[int], codes: list[Codes]) -> bool:
        """Go on by the default schedule; step by step only while an order disables somebody."""
        while self._open:
            free = self._free_steps()
            if free:
                done = len(processes)
                is_over = self._inner.finish(last, min(limit, done + free), processes, codes)
                self._count(processes[done:])
                if is_over or len(processes) >= limit:
                    return is_over
                last = processes[-1]
                continue
            if not self.is_enabled(last):
                enabled = self.enabled()
                if not enabled:
                    return True
                last = enabled[0]
            if len(processes) >= limit:
                return False
            codes.append(self.step(last))
            processes.append(last)
        return self._inner.finish(last, limit, processes, codes)

    def _free_steps(self) -> int:
        """Return how many steps anybody may take before an order can disable somebody."""
        taken = self._taken
        return min(order.second_number - taken[order.second] for order in self._open)

    def where(self, process: int) -> str:
        """Return where a process stands."""
        return self._inner.where(process)

    def is_endless(self) -> bool:
        """Tell whether the run is taken to be one that never ends."""
        return self._inner.is_endless()

    def family(self, processes: Sequence[int]) -> str:
        """Say what those have in common that took the latest steps."""
        return self._inner.family(processes)

    def fingerprint(self) -> object:
        """Return a comparable value of the whole state."""
        return self._inner.fingerprint()


class Narrowed(Program):
    """A program of which only one cube is explored."""

    is_part: ClassVar[bool] = True

    def __init__(self, inner: Program, cube: Cube, *, by_interleaving: bool = False) -> None:
        self.inner = inner
        self.cube = cube
        self.edges = edges_of(cube, inner)
        self._orders = orders_in(self.edges)
        self._by_interleaving = by_interleaving

    def __getattribute__(self, name: str) -> Any:
        """Ask the program inside for everything that a cube does not change."""
        if name in _OF_A_CUBE:
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "inner"), name)

    def start(self, *, detail: bool = False) -> Run:
        """Begin an execution that obeys the orders."""
        return NarrowedRun(self.inner.start(detail=detail), self._orders)

    def is_elsewhere(self, run: Run, trace: Trace) -> bool:
        """Tell whether an execution that is over belongs to another cube."""
        assert isinstance(run, NarrowedRun)
        return run.is_stuck or not is_own(
            self.cube, self.inner, trace, by_interleaving=self._by_interleaving
        )


_OF_A_CUBE = frozenset(
    {"inner", "cube", "edges", "start", "is_part", "is_elsewhere", "_orders", "_by_interleaving",
     "__class__", "__dict__"}
)  # fmt: skip

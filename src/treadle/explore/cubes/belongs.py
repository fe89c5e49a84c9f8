"""Which executions of a cube are its own.

Where two steps are not ordered by anything but a split, both parts of the split allow the
execution; and so they do where neither step takes place. The first part keeps it. So the second
part, which claims that `b` comes before `a`, counts an execution only if `b` took place, and `a`
did not or happens after `b` *without the edge of this split and of later ones, but with those of
earlier ones*: the cube that was split is a program in which these are part of the order.
"""

from __future__ import annotations

from treadle.core.happens_before import NONE, Edges, Trace
from treadle.core.program import Program
from treadle.explore.cubes.order import Cube, Step


def is_own(cube: Cube, program: Program, trace: Trace, *, by_interleaving: bool) -> bool:
    """Tell whether a finished execution of a cube is to be counted there.

    If every interleaving counts, and not every class, the orders alone decide where both took
    place.
    """
    number = program.vocabulary.process
    edges: Edges = {}
    for first, second, is_claim in cube:
        if is_claim:
            b, a = index_of(trace, program, first), index_of(trace, program, second)
            if b == NONE:
                return False
            if a != NONE and not by_interleaving and not _are_ordered(trace, edges, b, a):
                return False
        firsts = edges.setdefault(number(second.process), {}).setdefault(second.number, [])
        firsts.append((number(first.process), first.number))
    return True


def index_of(trace: Trace, program: Program, step: Step) -> int:
    """Return where a step is in a trace, or `NONE`."""
    process, index = program.vocabulary.process(step.process), NONE
    try:
        for _ in range(step.number + 1):
            index = trace.processes.index(process, index + 1)
    except ValueError:
        return NONE
    return index


def _are_ordered(trace: Trace, edges: Edges, first: int, second: int) -> bool:
    """Tell whether an event happens before another one, with some edges only."""
    if trace.footprints[second].conflicts_with(trace.footprints[first]):
        return True
    rebuilt = Trace(trace.vocabulary)
    rebuilt.edges = {process: dict(orders) for process, orders in edges.items()}
    rebuilt.foretell(trace.processes, trace.footprints)
    rebuilt.extend()
    return bool(rebuilt.before[second] >> first & 1)

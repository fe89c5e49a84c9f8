"""Does a failure need two messages of one sender to be taken up in the other order?

Many transports never do that. So a failure in which it happens is looked for once more with the
order of each sender kept: if that covers everything and does not show it, the failure needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.actors.standing import OVERTAKE
from treadle.core.counting import count
from treadle.core.failure import Failure
from treadle.core.program import Restart
from treadle.core.result import Result
from treadle.explore.budget import Budget
from treadle.explore.choosers import stay
from treadle.explore.search import Search
from treadle.explore.source_sets.optimal import Optimal

if TYPE_CHECKING:
    from treadle.actors.programs import Program

_EXECUTIONS = 500
"""Executions after which it is left open."""


def remark_on(program: Program, failure: Failure) -> str:
    """Say whether a failure needs messages of one sender to be swapped; nothing if it does not."""
    swaps = [
        f"{step.label} starts before {access.location}"
        for step in failure.trace[: failure.step + 1]
        for access in step.accesses
        if access.operation == OVERTAKE
    ]
    if not swaps:
        return ""
    result = _explored(program.with_options({"order": "sender"}))
    if any(other.kind == failure.kind for other in result.failures):
        return ""
    if not result.complete:
        return (
            f'Here {swaps[0]}: order="sender" forbids that, and did not fail like this in '
            f"{count(result.executions, 'execution')}."
        )
    return (
        f'It needs two messages of one sender to be swapped: {swaps[0]}. With order="sender" it '
        f"cannot happen: that is the order of Ray, Akka and Erlang."
    )


def _explored(program: Program) -> Result:
    """Explore a program in the control that is open."""
    while True:
        search = Search(program, Optimal, "optimal", budget=Budget(_EXECUTIONS), choose=stay)
        try:
            with program.borrowed():
                return search.explore()
        except Restart:
            continue

"""Constraints found by a solver: where do two blocks of code commute?

A guided tour. Both orders of two blocks are executed symbolically (`execution`), one path at a time
(`paths`), over values whose kinds are known (`values`, `terms`). Each path ends in states that are
equal or not (`commuting`); where they are equal, the blocks commute. What is said of that are prime
cubes over the conditions that the paths met (`cubes`), and `synthesis` puts it together. z3 decides
which conditions contradict each other (`solver`), and nothing else.

Whatever is not understood is refused, with line and reason: then nothing is said of that block.
"""

from treadle.core.errors import TreadleError


def require_solver(wanted: str) -> None:
    """Refuse what takes z3 if it is not installed."""
    try:
        import z3  # noqa: F401
    except ImportError:
        raise TreadleError(
            f"{wanted} needs the solver z3: install it with `pip install treadle[smt]`"
        ) from None

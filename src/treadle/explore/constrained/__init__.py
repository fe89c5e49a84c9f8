"""Constrained DPOR: steps that are independent where a constraint holds.

"Constrained DPOR" is "Constrained Dynamic Partial Order Reduction" (CAV 2018). The relation is not
the paper's, which depends on the order in which an execution happened to be run (docs/algorithms).
"""

from treadle.core.errors import TreadleError

CONSTRAINTS = ("declared", "synthesised", "none")
"""Which constraints are used."""
UNIFORMITY = ("static", "keeps")
"""How it is known that a constraint goes on to hold."""


def refuse_solver(constraints: str, uniformity: str) -> None:
    """Refuse what it takes a solver for."""
    for name, value in (("constraints", constraints), ("uniformity", uniformity)):
        if value in ("synthesised", "keeps"):
            raise TreadleError(
                f"{name}={value!r} needs a solver, the extra smt, which this version does not have "
                f"yet: declare constraints with program.independent"
            )

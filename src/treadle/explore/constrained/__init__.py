"""Constrained DPOR: steps that are independent where a constraint holds.

"Constrained DPOR" is "Constrained Dynamic Partial Order Reduction" (CAV 2018). The relation is not
the paper's, which depends on the order in which an execution happened to be run (docs/algorithms).
"""

from treadle.core.errors import TreadleError

CONSTRAINTS = ("declared", "synthesised", "none")
"""Which constraints are used."""
UNIFORMITY = ("static", "keeps")
"""How it is known that a constraint goes on to hold."""


_INSTEAD = {
    "synthesised": "use 'declared', and declare constraints with program.independent",
    "keeps": "use 'static', which asks that nobody else may write what a constraint reads",
}
"""What takes a solver, and what there is in its place."""


def refuse_solver(constraints: str, uniformity: str) -> None:
    """Refuse what is not built yet: what it takes a solver for."""
    for name, value in (("constraints", constraints), ("uniformity", uniformity)):
        if value in _INSTEAD:
            raise TreadleError(f"{name}={value!r} is not built yet: {_INSTEAD[value]}")

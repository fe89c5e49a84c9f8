"""Constrained DPOR: steps that are independent where a constraint holds.

"Constrained DPOR" is "Constrained Dynamic Partial Order Reduction" (CAV 2018). The relation is not
the paper's, which depends on the order in which an execution happened to be run (docs/algorithms).
"""

CONSTRAINTS = ("declared", "synthesised", "none")
"""Which constraints are used."""
UNIFORMITY = ("static", "keeps")
"""How it is known that a constraint goes on to hold."""

"""Every algorithm by name, from the plainest to the strongest, then the sampling ones.

A class is loaded when it is first asked for; what others want to know about it (whether it covers
the space, sees every order, ...) are its class attributes.
"""

from __future__ import annotations

from treadle.core.registry import Registry
from treadle.explore.strategy import Algorithm

ALGORITHMS = Registry[type[Algorithm]]("algorithm")
"""Every algorithm by name, from the plainest to the strongest, then the sampling ones."""

_EXPLORE = "treadle.explore."

for _name, _where, _summary in (
    ("exhaustive", "basic.exhaustive:Exhaustive", "every interleaving, with no reduction"),
    ("sleep", "basic.sleep:SleepSets", "sleep sets alone"),
    ("classic", "source_sets.classic:Classic", "persistent sets, as in classic DPOR"),
    ("source", "source_sets.source:Source", "source sets: one execution per class, some blocked"),
    ("optimal", "source_sets.optimal:Optimal", "wakeup trees: one per class, none blocked"),
    ("observers", "observers.observers:Observers", "orders of writes that somebody looks at"),
    ("context", "context.context:Context", "source sets; steps that commute where they meet"),
    (
        "optimal-context",
        "context.optimal_context:OptimalContext",
        "wakeup trees; steps that commute where they meet",
    ),
    (
        "optimal-context-observers",
        "observers.optimal_context_observers:OptimalContextObservers",
        "optimal-context and observers in one",
    ),
    (
        "constrained",
        "constrained.constrained:Constrained",
        "context; steps that commute where a constraint holds",
    ),
    (
        "optimal-constrained",
        "constrained.optimal_constrained:OptimalConstrained",
        "wakeup trees; steps that commute where a constraint holds",
    ),
    ("eager", "eager.eager:Eager", "all traces of program fragments planned in advance"),
    ("eager-short", "eager.eager:EagerShort", "eager with short fragments"),
    ("eager-adaptive", "eager.eager:EagerAdaptive", "eager with fragments as dependencies allow"),
    ("random", "sampling.random_walk:RandomWalk", "samples: every choice at random"),
    ("pct", "sampling.random_walk:Pct", "samples: random priorities that change now and then"),
):
    ALGORITHMS.add(_name, _EXPLORE + _where, _summary)


def covers(name: str) -> bool:
    """Tell whether an algorithm has seen everything when it ends; a program's own always has."""
    return name not in ALGORITHMS or ALGORITHMS[name].covers

"""All algorithms by name, from the plainest to the strongest, then the sampling ones."""

from __future__ import annotations

from treadle.core.registry import Registry
from treadle.explore.strategy import Algorithm

ALGORITHMS: Registry[type[Algorithm]] = Registry("algorithm")

_EXPLORE = "treadle.explore"
for _name, _where in {
    "exhaustive": "basic.exhaustive:Exhaustive",
    "sleep": "basic.sleep:SleepSets",
    "classic": "source_sets.classic:Classic",
    "source": "source_sets.source:Source",
    "optimal": "source_sets.optimal:Optimal",
    "observers": "observers.observers:Observers",
    "context": "context.context:Context",
    "optimal-context": "context.optimal_context:OptimalContext",
    "optimal-context-observers": "observers.optimal_context_observers:OptimalContextObservers",
    "eager": "eager.eager:Eager",
    "eager-short": "eager.eager:EagerShort",
    "eager-adaptive": "eager.eager:EagerAdaptive",
    "random": "sampling.random_walk:RandomWalk",
    "pct": "sampling.random_walk:Pct",
}.items():
    ALGORITHMS.add(_name, f"{_EXPLORE}.{_where}")

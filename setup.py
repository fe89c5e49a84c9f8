"""Builds Treadle; everything but the optional compilation is in pyproject.toml.

With TREADLE_COMPILE=1 the core and the scheduler of threads are compiled by mypyc. It needs a C
compiler, and mypy, types-greenlet and setuptools in the environment (`pip install
--no-build-isolation`). The source is the same, and without it everything works as well.

What is compiled has no frames and binds to no object, and interpreted classes cannot derive from
compiled ones. So all algorithms are in the list. Not in it are functions that are patched onto
classes, and base classes that many derive from (`Operation`, `Table`).
"""

import os

from setuptools import setup

COMPILED = {
    "treadle/core": ("events", "happens_before", "steps"),
    "treadle/explore": (
        "accounts", "data_races", "invariants", "probing", "progress", "reversals", "search",
        "strategy",
    ),
    "treadle/explore/basic": ("backtracking", "exhaustive", "sleep"),
    "treadle/explore/constrained": ("constrained", "dependence", "optimal_constrained"),
    "treadle/explore/context": (
        "context", "done", "dontdo", "exploration", "optimal_context", "planned_order", "reliance",
        "state_check",
    ),
    "treadle/explore/eager": (
        "constraint_systems", "eager", "growth", "normal_forms", "plan", "section",
    ),
    "treadle/explore/guided": ("guided",),
    "treadle/explore/observers": (
        "observation", "observed_races", "observers", "optimal_context_observers", "planned_order",
    ),
    "treadle/explore/sampling": ("random_walk",),
    "treadle/explore/source_sets": (
        "classic", "optimal", "planned", "source", "valid_tree", "wakeup_tree",
    ),
    "treadle/python/runtime": ("control", "scheduler", "task"),
    "treadle/python/sharing": ("children", "shared", "walks"),
    "treadle/tasks": ("fifo",),
}  # fmt: skip


def extensions() -> list:
    """Return the compiled modules, if they were asked for."""
    if not os.environ.get("TREADLE_COMPILE"):
        return []
    from mypyc.build import mypycify

    paths = [f"src/{package}/{name}.py" for package, names in COMPILED.items() for name in names]
    return mypycify(paths, debug_level="0")


setup(ext_modules=extensions())

"""Builds Treadle; everything but the optional compilation is in pyproject.toml.

With TREADLE_COMPILE=1 the core is compiled by mypyc, which makes explorations about twice as fast.
It needs a C compiler, and mypy, types-greenlet and setuptools in the environment (`pip install
--no-build-isolation`). The source is the same, and without it everything works as well.

A class cannot derive from a compiled one without being compiled too, so all algorithms are in the
list. One is missing: `optimal-context-observers` derives from two, which mypyc does not support,
and cannot be used in a compiled installation.
"""

import os

from setuptools import setup

CORE = [
    "src/treadle/events.py",
    "src/treadle/trace.py",
    *(
        f"src/treadle/explore/{name}.py"
        for name in (
            "algorithm", "backtracking", "blocking", "classic", "constraints", "context",
            "contexts", "done", "dontdo", "eager", "exhaustive", "imagined", "normal_forms",
            "observation", "observers", "optimal", "optimal_context", "plan", "races", "sampling",
            "section", "sleep", "source", "steps", "wakeup",
        )
    ),
]  # fmt: skip


def compiled_core() -> list:
    """Return the core's extension modules, if they were asked for."""
    if not os.environ.get("TREADLE_COMPILE"):
        return []
    from mypyc.build import mypycify

    return mypycify(CORE)


setup(ext_modules=compiled_core())

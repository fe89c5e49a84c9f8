"""Builds Treadle; everything but the optional compilation is in pyproject.toml.

With TREADLE_COMPILE=1 the core is compiled by mypyc, which makes explorations about twice as fast.
It needs a C compiler, and mypy and setuptools in the environment (`pip install
--no-build-isolation`). The source is the same, and without it everything works as well.
"""

import os

from setuptools import setup

CORE = [
    "src/treadle/events.py",
    "src/treadle/trace.py",
    *(
        f"src/treadle/explore/{name}.py"
        for name in (
            "algorithm", "backtracking", "blocking", "classic", "exhaustive", "optimal", "sleep",
            "source", "wakeup",
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

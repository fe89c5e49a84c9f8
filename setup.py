"""Builds Treadle; all but the optional compilation and the examples is in pyproject.toml.

With TREADLE_COMPILE=1 the core and the scheduler of threads are compiled by mypyc. It needs a C
compiler, and mypy, types-greenlet and setuptools in the environment (`pip install
--no-build-isolation`). The source is the same, and without it everything works as well.

What is compiled has no frames and binds to no object, and interpreted classes cannot derive from
compiled ones. So all algorithms are in the list. Not in it are functions that are patched onto
classes, and base classes that many derive from (`Operation`, `Table`).
"""

import os
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

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
    "treadle/tasks": ("fifo", "sampling", "scheduler"),
}  # fmt: skip


def extensions() -> list:
    """Return the compiled modules, if they were asked for."""
    if not os.environ.get("TREADLE_COMPILE"):
        return []
    from mypyc.build import mypycify

    paths = [f"src/{package}/{name}.py" for package, names in COMPILED.items() for name in names]
    return mypycify(paths, debug_level="0")


class BuildWithExamples(build_py):
    """Puts the examples into the package: the library of `treadle web` has them wherever it is."""

    def run(self) -> None:
        """Copy the package, and the examples into it; an editable install finds them beside it."""
        super().run()
        if self.editable_mode:
            return
        for source, target in self._examples().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target, preserve_mode=False)

    def get_outputs(self, include_bytecode: bool = True) -> list:
        """Return what is installed."""
        return [*super().get_outputs(include_bytecode), *self._examples().values()]

    def _examples(self) -> dict:
        library = Path(self.build_lib, "treadle", "web", "library")
        found = [path for path in Path("examples").rglob("*") if path.suffix in (".py", ".abs")]
        return {str(path): str(library / path.relative_to("examples")) for path in found}


setup(ext_modules=extensions(), cmdclass={"build_py": BuildWithExamples})

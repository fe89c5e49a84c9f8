"""Treadle: a stateless model checker for Python.

It runs a concurrent program once per interleaving that can make a difference, and either shows a
failing one or proves that there is none.

Nothing is loaded before it is used: `import treadle` costs next to nothing.
"""

import functools
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from treadle.core import formats as _formats
from treadle.core.version import __version__ as __version__

if TYPE_CHECKING:
    from treadle import actors, model
    from treadle.api import CheckFailed, check, deadlocks, explore, replay, shrink
    from treadle.core.deadlocks import DeadlockCycle, Deadlocks
    from treadle.core.errors import ScheduleMismatch, TreadleBug, TreadleError
    from treadle.core.failure import Failure
    from treadle.core.result import Result
    from treadle.core.schedule import Schedule
    from treadle.explore.registry import ALGORITHMS
    from treadle.findings.shrink.shrinking import Shrunk
    from treadle.python.runtime.choice import assume, atomic, choose
    from treadle.tasks.pausing import pause, slow

__all__ = [
    "ALGORITHMS",
    "CheckFailed",
    "DeadlockCycle",
    "Deadlocks",
    "Failure",
    "Result",
    "Schedule",
    "ScheduleMismatch",
    "Shrunk",
    "TreadleBug",
    "TreadleError",
    "actors",
    "assume",
    "atomic",
    "check",
    "choose",
    "deadlocks",
    "explore",
    "model",
    "pause",
    "replay",
    "shrink",
    "slow",
]

_HOMES = {
    "treadle.api": ("CheckFailed", "check", "deadlocks", "explore", "replay", "shrink"),
    "treadle.core.deadlocks": ("DeadlockCycle", "Deadlocks"),
    "treadle.core.errors": ("ScheduleMismatch", "TreadleBug", "TreadleError"),
    "treadle.core.failure": ("Failure",),
    "treadle.core.result": ("Result",),
    "treadle.core.schedule": ("Schedule",),
    "treadle.explore.registry": ("ALGORITHMS",),
    "treadle.findings.shrink.shrinking": ("Shrunk",),
    "treadle.python.runtime.choice": ("assume", "atomic", "choose"),
    "treadle.tasks.pausing": ("pause", "slow"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_formats.TEXT.add("deadlock cycle", "treadle.report.deadlocks:cycle_in_words")
_formats.TEXT.add("deadlocks", "treadle.report.deadlocks:deadlocks_in_words")
_formats.TEXT.add("failure", "treadle.report.text:failure_in_words")
_formats.TEXT.add("result", "treadle.report.text:result_in_words")
_formats.HTML.add("result", "treadle.report.html.page:result_in_html")
_formats.HTML.add("notebook", "treadle.report.html.page:result_in_a_frame")


def __getattr__(name: str) -> Any:
    """Load a public name, or a package of Treadle's, when it is first asked for."""
    if name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
    elif name in ("actors", "model"):
        value = importlib.import_module(f"treadle.{name}")
    else:
        raise AttributeError(f"module 'treadle' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all names, those that are not loaded yet included."""
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package: `treadle.explore` is the function, also when the package `explore` is loaded.

    Python sets a package's attribute to each of its packages when that is imported.
    """

    @property
    def explore(self) -> Any:
        """The function."""
        return _explore()

    @explore.setter
    def explore(self, package: ModuleType) -> None:
        """Ignore the package of that name."""


@functools.cache
def _explore() -> Any:
    return importlib.import_module("treadle.api").explore


sys.modules[__name__].__class__ = _Package

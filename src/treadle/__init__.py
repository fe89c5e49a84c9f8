"""Treadle: a stateless model checker for Python.

It runs a concurrent program once per interleaving that can make a difference, and either shows a
failing one or proves that there is none.
"""

from treadle import model
from treadle.api import ALGORITHMS, CheckFailed, check, explore, replay
from treadle.core.errors import ScheduleMismatch, TreadleBug, TreadleError
from treadle.core.result import Failure, Result, Schedule
from treadle.findings.shrink.shrinking import Shrunk, shrink
from treadle.python.runtime.choice import assume, atomic, choose

__version__ = "0.1.0"

__all__ = [
    "ALGORITHMS",
    "CheckFailed",
    "Failure",
    "Result",
    "Schedule",
    "ScheduleMismatch",
    "Shrunk",
    "TreadleBug",
    "TreadleError",
    "assume",
    "atomic",
    "check",
    "choose",
    "explore",
    "model",
    "replay",
    "shrink",
]

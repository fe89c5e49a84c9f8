"""Treadle: a stateless model checker for Python.

It runs a concurrent program once per interleaving that can make a difference, and either shows a
failing one or proves that there is none.
"""

from treadle import model
from treadle.api import ALGORITHMS, CheckFailed, check, explore, replay
from treadle.errors import ScheduleMismatch, TreadleBug, TreadleError
from treadle.result import Failure, Result, Schedule
from treadle.shrink import Shrunk, shrink
from treadle.threads.choice import assume, atomic, choose

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

"""The model kit: small concurrent programs as generators over shared state."""

from treadle.analyses.known import pure
from treadle.model.mailbox import TIMEOUT, Mailbox
from treadle.model.program import Program
from treadle.model.rules import Rules
from treadle.model.state import Counter, Handle, State
from treadle.model.sync import Condition, Lock, RLock, Semaphore

__all__ = [
    "TIMEOUT",
    "Condition",
    "Counter",
    "Handle",
    "Lock",
    "Mailbox",
    "Program",
    "RLock",
    "Rules",
    "Semaphore",
    "State",
    "pure",
]

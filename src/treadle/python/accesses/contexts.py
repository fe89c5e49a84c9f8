"""Contexts of `contextvars` that threads share: a variable that is set inside of one changes it.

Every thread has a context of its own. But `context.run(f)` lets `f` set variables in one that
others may look into, by `context[variable]`. So whoever sets or looks at a variable meanwhile
changes, or looks at, that context.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses.uninstrumented import state_of
from treadle.python.runtime import control
from treadle.python.runtime.task import Task
from treadle.python.sharing.published import published

_entered: dict[Task, tuple[Any, ...]] = {}
"""The contexts in which tasks run something, the innermost last."""


def is_entered_by(function: Any, owner: Any) -> bool:
    """Tell whether a method runs something in a context."""
    return type(owner) is contextvars.Context and function.__name__ == "run"


def entered(context: Any, call: Callable[[], Any]) -> Any:
    """Call something that runs in a context."""
    me = control.current()
    if me is None:
        return call()
    before = _entered.get(me, ())
    _entered[me] = (*before, context)
    try:
        return call()
    finally:
        if before:
            _entered[me] = before
        else:
            _entered.pop(me, None)


def changed_with(owner: Any) -> Codes:
    """Return the codes of the context that a variable is set in, if others have it."""
    me = control.current()
    if me not in _entered or type(owner) is not contextvars.ContextVar:
        return ()
    table = published.get(id(_entered[me][-1]))
    return () if table is None else (state_of(table),)

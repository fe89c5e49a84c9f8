"""Generators that threads share: entering one is an event, and so is leaving it.

A generator that is running cannot be entered: `ValueError: generator already executing`. So each
`next`, `send`, `throw` and `close` is at least two steps, and another thread may come in between.
By the time that leaving is announced, the real generator stands still already; until the step is
taken, a set of the execution's says that it is running.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

from treadle.core.events import Mode, code, location_of
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.uninstrumented import state_of
from treadle.python.runtime import control, slots
from treadle.python.runtime.looking import module_of_class
from treadle.python.sharing.children import children_of_generator
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import published

RESUMING = frozenset({"__next__", "send", "throw", "close"})
"""Methods that run a generator."""


def is_under_test(obj: Any) -> bool:
    """Tell whether something is a published generator, not at its end, of code under test."""
    return (
        type(obj) is types.GeneratorType
        and obj.gi_frame is not None
        and id(obj.gi_frame.f_globals) in instrumented
        and id(obj) in published
    )


def held_by(iterator: Any) -> Iterator[Any]:
    """Yield generators of code under test that an iterator in C, like `map`, takes values from."""
    for part in gc.get_referents(iterator):
        if is_under_test(part):
            yield part
        elif module_of_class(type(part)) in ("builtins", "itertools") and isinstance(
            part, Iterator | tuple
        ):
            yield from held_by(part)


def run(generator: Any, resume: Callable[..., Any], *args: Any) -> Any:
    """Run a generator of code under test, by one of its methods or by `next`."""
    changes = state_of(published[id(generator)])
    hooks.say((code(location_of(changes), Mode.READ), changes))
    running: set[int] = control.the_program().scheduler.scratch.setdefault("generators", set())
    if id(generator) in running:
        raise ValueError("generator already executing")
    if generator.gi_frame is None:  # it has ended meanwhile
        return resume(*args)
    running.add(id(generator))
    try:
        value = resume(*args)
        slots.hand_out(value, "value")  # which the generator may have kept
        return value
    finally:
        _publish_variables(generator)
        hooks.say((changes,))
        running.discard(id(generator))


def _publish_variables(generator: Any) -> None:
    """Publish what a generator, and those that it delegates to, assigned to their variables."""
    while type(generator) is types.GeneratorType and generator.gi_frame is not None:
        for value, name in children_of_generator(generator, ""):
            slots.hand_out(value, name)
        generator = generator.gi_yieldfrom

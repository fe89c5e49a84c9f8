"""Randomness that is the same in every execution.

Each task draws from a generator of its own, seeded with its name: so what it draws does not depend
on what others have drawn before, and drawing is no event. A program that seeds the generator of the
module `random` relies on it: then all tasks share one, and each draw is a step.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

from treadle.core.events import Mode, code
from treadle.python.accesses import calls, foreign_steps
from treadle.python.accesses.uninstrumented import PLAIN
from treadle.python.runtime import control
from treadle.python.runtime.spin import drawn
from treadle.python.runtime.task import Task
from treadle.python.sharing.published import published
from treadle.threads.primitives.patches import Patches

_seed = random.Random.seed
_urandom = os.urandom
_SEEDED = "the random generator"
_SEEDING = frozenset({"seed", "setstate", "getstate"})
_LOOKING = frozenset({"choice", "choices", "sample", "shuffle"})
"""Functions that read or change a list that they are given."""


def _generator(me: Task, purpose: str) -> random.Random:
    """Return one of a task's own generators."""
    found: random.Random | None = me.scratch.get(purpose)
    if found is None:
        found = random.Random.__new__(random.Random)
        _seed(found, f"{purpose} of {me.name}")
        me.scratch[purpose] = found
    return found


def urandom(size: int, /) -> bytes:
    """`os.urandom`, and with it `secrets`, `uuid.uuid4` and `random.SystemRandom`."""
    me = control.current()
    if me is None:
        return _urandom(size)
    if size < 0:
        raise ValueError("negative argument not allowed")
    drawn[0] = True
    return _generator(me, "os.urandom").getrandbits(size * 8).to_bytes(size, "little")


def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
    """`Random.seed`: without an argument, too, the same in every execution."""
    me = control.current()
    if me is not None and a is None:
        a = _generator(me, "random.Random()").getrandbits(64)
    if id(self) in published:
        foreign_steps.run_foreign(PLAIN, self)
    _seed(self, a, version)


def _function(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the module `random` that draws from the current task's generator."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        me = control.current()
        if me is None:
            return original(*args, **kwargs)
        drawn[0] = True
        own = getattr(_generator_for(me, name), name)
        return (calls.resolve(own) if name in _LOOKING else own)(*args, **kwargs)

    draw.__name__ = name
    return draw


def _generator_for(me: Task, name: str) -> random.Random:
    """Return what a function of the module `random` draws from, in a step if others do so too."""
    running = control.the_program()
    if name in _SEEDING:
        running.shared.note(_SEEDED, "by the program")
    if not running.shared.happens(_SEEDED, "by the program"):
        return _generator(me, "random")
    control.announce((code(running.shared.location(_SEEDED, _SEEDED), Mode.WRITE),))
    found: random.Random | None = running.scheduler.scratch.get(_SEEDED)
    if found is None:
        found = running.scheduler.scratch[_SEEDED] = random.Random(0)
    return found


def _functions() -> list[tuple[Any, Any]]:
    """Return the functions of the module `random` that share one generator."""
    shared_generator = random.random.__self__  # type: ignore[attr-defined]
    return [
        (value, _function(name, value))
        for name, value in vars(random).items()
        if getattr(value, "__self__", None) is shared_generator
    ]


PATCHES: Patches = Patches(
    attributes=[(random.Random, "seed", seed)],
    references=[(_urandom, urandom), *_functions()],
)

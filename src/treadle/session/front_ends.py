"""The front ends there are, and which one is for what."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.core.errors import TreadleError
from treadle.core.front_end import FrontEnd
from treadle.core.registry import Registry

FRONT_ENDS: Registry[FrontEnd] = Registry("front end")
"""All front ends by name."""

FRONT_ENDS.add("model", "treadle.model.front_end:MODELS", "protocols and algorithms as models")
FRONT_ENDS.add("actors", "treadle.actors.front_end:ACTORS", "actors that send each other messages")
FRONT_ENDS.add("networks", "treadle.networks.front_end:NETWORKS", "software-defined networks")
FRONT_ENDS.add("threads", "treadle.threads.front_end:THREADS", "unmodified code with threads")
FRONT_ENDS.add("tasks", "treadle.tasks.front_end:TASKS", "unmodified code with asyncio")


def _in_order() -> Iterator[FrontEnd]:
    """Yield the front ends, those last that take any function."""
    yield from sorted(FRONT_ENDS.values(), key=lambda front_end: front_end.takes_any_function)


def front_end_of(target: object) -> FrontEnd:
    """Return the front end for something to explore; refuse what none is for."""
    for front_end in _in_order():
        if front_end.recognises(target):
            return front_end
    accepted = ", or ".join(front_end.targets for front_end in reversed([*_in_order()]))
    raise TreadleError(f"cannot explore {type(target).__name__} objects: give {accepted}")


def made_by_a_function(returned: object) -> bool:
    """Tell whether what a function returned is a program, so that the function only makes it."""
    return any(
        front_end.recognises(returned)
        for front_end in _in_order()
        if not front_end.takes_any_function
    )


def meant_in(variables: dict[str, object], module: str) -> list[str]:
    """Return the names of a module's programs; if it has none, of functions that may be tests."""
    for is_last in (False, True):
        found = {
            id(value): name
            for name, value in variables.items()
            for front_end in _in_order()
            if front_end.takes_any_function is is_last and front_end.is_meant(name, value, module)
        }
        if found:
            return list(found.values())
    return []


def front_end_of_file(suffix: str) -> FrontEnd | None:
    """Return the front end that reads files with a suffix, if there is one."""
    return next((one for one in _in_order() if suffix in one.suffixes), None)

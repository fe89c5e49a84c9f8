"""Asynchronous generators: running one is a write of it, since several tasks may hold it.

Whoever runs one is seen by a profiler that is only there while an execution has some.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from treadle.python.accesses.coroutines import changes
from treadle.python.accesses.foreign_code import goes_on
from treadle.tasks.steps import Place

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop

_CALLS = ("call", "return")


class Generators:
    """The asynchronous generators of one execution."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._places: dict[int, tuple[Any, Place]] = {}
        """By `id` of the frame, which the generator keeps alive until it ends."""
        self._before: Any = None
        """Who looked at what is called, before a step."""

    def begun(self, generator: Any) -> None:
        """Take note of one that is run for the first time."""
        name = self._loop.owner.next_name("~g")
        place = self._loop.place("generator", name, "asynchronous generator")
        self._places[id(generator.ag_frame)] = generator, place
        self._loop.touch(place.write)
        sys.setprofile(self._ran)

    def dropped(self, generator: Any) -> None:
        """Take note of one that nobody refers to: it is kept until the end."""

    def __enter__(self) -> None:
        """See which of them are run."""
        self._before = sys.getprofile()
        if self._places:
            sys.setprofile(self._ran)

    def __exit__(self, *_: object) -> None:
        """Put back who looked before."""
        if self._places:  # a profiler written in C cannot be put back: it is no function
            sys.setprofile(self._before if callable(self._before) else None)

    def _ran(self, frame: FrameType, event: str, _: Any) -> None:
        if event in _CALLS:
            known = self._places.get(id(frame))
            if known is not None and known[0].ag_frame is frame:
                self._loop.touch(known[1].write)
                self._loop.accessed += changes(known[0])
                goes_on([frame])

    def are_open(self) -> bool:
        """Tell whether some have begun and not ended."""
        return any(g.ag_frame is not None and not g.ag_running for g, _ in self._places.values())

    async def close(self) -> None:
        """Close those that are left."""
        for generator, _ in list(self._places.values()):
            if not generator.ag_running:
                await generator.aclose()

"""Where the processes of a model stand: which have not ended, their generators and frames."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from treadle.core.events import Vocabulary
from treadle.core.program import Run
from treadle.core.words import place_in_words


class Processes(Run):
    """The processes of an execution, each a generator that is resumed step by step."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.current = -1
        """The process that is running."""
        self._alive: dict[int, Callable[[Any], Any]] = {}
        """How to resume each process that has not ended."""

    def has_ended(self, process: int) -> bool:
        """Tell whether a process that was created has ended, normally or not."""
        return process not in self._alive

    def name_of(self, process: int) -> str:
        """Return the name of a process."""
        return self.vocabulary.process_names[process]

    @property
    def current_name(self) -> str:
        """The name of the process that is running."""
        return self.name_of(self.current)

    def _generator(self, process: int) -> types.GeneratorType[Any, Any, Any] | None:
        """Return the generator of a process that has not ended."""
        send = self._alive.get(process)
        generator = getattr(send, "__self__", None)
        return generator if isinstance(generator, types.GeneratorType) else None

    def where(self, process: int) -> str:
        """Return `file:line` of where a process stands."""
        return place_in_words(self.place_of(process))

    def place_of(self, process: int) -> tuple[str, int] | None:
        """Return file and line of where a process stands, inside what it delegates to."""
        stack = self.stack_of(process)
        return (stack[-1].f_code.co_filename, stack[-1].f_lineno) if stack else None

    def stack_of(self, process: int) -> list[types.FrameType]:
        """Return the frames of a process: its own, and those of what it delegates to."""
        generator: object = self._generator(process)
        stack = []
        while isinstance(generator, types.GeneratorType) and generator.gi_frame is not None:
            stack.append(generator.gi_frame)
            generator = generator.gi_yieldfrom
        return stack

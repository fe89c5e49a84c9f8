"""Where the lowering writes instructions: labels that are placed later, temporaries, handlers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from treadle.analyses.ir import Assign, Branch, Expression, Handler, Instruction, Jump, Local, Span


class Instructions:
    """The instructions of one method while it is lowered. Jumps lead to labels until `finished`."""

    def __init__(self) -> None:
        self._written: list[Instruction] = []
        self._labels: list[int] = []
        self._handlers: list[tuple[int, int, int]] = []
        self._temporaries = 0

    def write(self, instruction: Instruction) -> None:
        """Add an instruction at the end."""
        self._written.append(instruction)

    def label(self) -> int:
        """Return a new label, which is placed later."""
        self._labels.append(-1)
        return len(self._labels) - 1

    def place(self, label: int) -> None:
        """Let a label be the position of the next instruction."""
        self._labels[label] = len(self._written)

    def temporary(self, hint: str = "") -> str:
        """Return a local name that no program uses."""
        self._temporaries += 1
        return f"%{hint}{self._temporaries}"

    def saved(self, value: Expression, span: Span) -> Local:
        """Evaluate an expression here and now."""
        target = self.temporary()
        self.write(Assign(target, value, span=span))
        return Local(target)

    @contextmanager
    def handled_by(self, label: int) -> Iterator[None]:
        """Let exceptions in what is written meanwhile lead to a label."""
        first = len(self._written)
        yield
        self._handlers.append((first, len(self._written), label))

    def finished(self) -> tuple[tuple[Instruction, ...], tuple[Handler, ...]]:
        """Return the instructions with positions in the place of labels, and the handlers."""
        at = self._labels
        handlers = [Handler(first, end, at[label]) for first, end, label in self._handlers]
        return tuple(map(self._resolved, self._written)), tuple(handlers)

    def _resolved(self, instruction: Instruction) -> Instruction:
        at = self._labels
        match instruction:
            case Branch(_, then, other):
                return replace(instruction, then=at[then], other=at[other])
            case Jump(to):
                return replace(instruction, to=at[to])
            case _:
                return instruction

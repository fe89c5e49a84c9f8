"""What an execution did, as data for reports: steps with their accesses, frames, waits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """One operation inside a step, in words for a report."""

    operation: str
    location: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.operation} {self.location}{' = ' if self.value else ''}{self.value}"


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a recorded execution, in words for a report."""

    process: str
    """The process or thread that took the step."""
    accesses: tuple[Access, ...]
    """What it read, wrote or did, in order."""
    where: str = ""
    """`file:line` of the step's first access, or of its end if it made none."""
    source: str = ""
    """The text of that source line."""
    error: str = ""
    """The exception that ended the process in this step."""
    label: str = ""
    """What the program calls the process, if it has a name of its own: that of a thread."""
    then: str = ""
    """What comes next for the process: empty if it can go on, or `waits` or `ends`."""


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """A function of the user that a process is in, in words for a report."""

    process: str
    function: str
    where: str
    variables: tuple[tuple[str, str], ...]
    """Names and values of its local variables."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A process that cannot go on: what it waits for, and which processes hold that."""

    process: str
    """The process or thread that waits."""
    resource: str
    """What it waits for, by name."""
    holders: tuple[str, ...] = ()
    """Who has that."""
    where: str = ""
    """`file:line` where it waits."""
    spins: bool = False
    """Whether it loops instead of blocking."""
    label: str = ""
    """What the program calls the process, if it has a name of its own."""

    @property
    def is_for_an_end(self) -> bool:
        """Whether it waits for the end of a process: nobody holds that, as one holds a lock."""
        return not self.spins and self.resource.startswith("the end of ")

    def __str__(self) -> str:
        is_held = self.holders and not self.is_for_an_end
        held = f", held by {', '.join(self.holders)}" if is_held else ""
        return f"{self.process} waits for {self.resource}{held}"

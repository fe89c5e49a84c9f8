"""A failure for people to read: what failed, how it came to that, and why.

From top to bottom: one headline; the interleaving; the two steps whose order makes the difference,
or for a deadlock who waits for whom; local variables, if asked for; and the traceback. `lines_of`
lays it out; `failure_in_words` of `text` and `render` are the same lines, without and with colour.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from treadle.core.counting import count
from treadle.core.failure import Cause, Failure
from treadle.core.frames import Place, is_of_the_user, place_of_exception
from treadle.core.records import StepRecord
from treadle.core.words import place_in_words
from treadle.report.cast import Cast
from treadle.report.columns import Emphasis, columns
from treadle.report.line import (
    WIDTH,
    Line,
    Marks,
    joined,
    marks_of_output,
    padded,
    printable,
    width_of,
    without_directories,
    wrapped,
)
from treadle.report.tracebacks import traceback_in_words
from treadle.report.waits import acquisitions, waiting_cycle, waits_in_lines, who_waits

if TYPE_CHECKING:
    from rich.console import RenderableType

ROWS = 30
"""Steps of an execution whose stretches are shown in full unless all are asked for."""

GRANULARITIES = {
    "access": "Granularity: access. Threads switch between any two accesses, as the language "
    "allows and free-threaded Python does.",
    "free-threaded": "Granularity: free-threaded. It takes a Python without a global interpreter "
    "lock: what looks through a list reads item by item there.",
    "gil": "Granularity: gil. It happens on a Python with a global interpreter lock too.",
}
"""What a finding with each granularity means, for people."""


def render(
    failure: Failure,
    *,
    width: int = WIDTH,
    locals: bool = False,  # noqa: A002  (as pytest calls it)
    rows: int | None = ROWS,
    marks: Marks | None = None,
) -> RenderableType:
    """Return a failure for `rich` to print; without colour it is the text of `lines_of`."""
    from treadle.report.colour import renderable

    return renderable(lines_of(failure, width=width, locals=locals, rows=rows, marks=marks))


def lines_of(
    failure: Failure,
    *,
    width: int = WIDTH,
    locals: bool = False,  # noqa: A002  (as pytest calls it)
    rows: int | None = ROWS,
    marks: Marks | None = None,
    traceback: bool = True,
) -> list[Line]:
    """Return the report of a failure, in lines of at most `width` columns.

    `locals` adds the local variables; the traceback can be left out; `rows` is how long an
    execution may be to be shown in full, None for any; `marks` are the characters to draw with, by
    default what the output can express.
    """
    steps = failure.trace[: failure.step + 1]
    cast = Cast(steps, failure.waits)
    cause = _cause(failure)
    drawn = columns(
        steps,
        _emphasis(failure, cause, steps),
        rows=rows,
        width=width,
        marks=marks or marks_of_output(),
    )
    parts = [
        wrapped(headline(failure, steps, cast), "bold red", width=width),
        drawn,
        waits_in_lines(failure.waits, steps, cast, width),
        _cause_in_lines(failure, cause, cast, width) if cause else [],
        *(wrapped(remark, "bold", width=width) for remark in failure.remarks),
        wrapped(GRANULARITIES.get(failure.granularity, ""), width=width),
        _locals_in_lines(failure, cast, width) if locals else [],
        _traceback_in_lines(failure) if traceback else [],
    ]
    return joined(parts)


def _emphasis(failure: Failure, cause: Cause | None, steps: Sequence[StepRecord]) -> Emphasis:
    racing = cause.indices if cause else failure.pair or ()
    return Emphasis(failure.step, racing, acquisitions(failure.waits, steps))


# The headline


def headline(failure: Failure, steps: Sequence[StepRecord], cast: Cast) -> str:
    """Return what failed, where and why."""
    raised = _place_of_exception(failure)
    place = place_in_words(raised) or (steps[-1].where if steps else "")
    where = f" at {place}" if place else ""
    who = cast.name(failure.process)
    if failure.kind == "assertion":
        why = failure.message.removeprefix("AssertionError").removeprefix(": ")
        return f"Assertion failed in {who}{where}: {_first_line(why) or _source(raised, steps)}"
    kind = failure.kind.capitalize()
    if failure.kind == "exception" or failure.exception is not None:
        return f"{kind} in {who}{where}: {_first_line(failure.message)}"
    if failure.waits:
        said = failure.message != "; ".join(map(str, failure.waits)) and failure.message
        waiting = said or who_waits(failure.waits, cast)
        steps_taken = count(failure.step, "step")
        return f"{kind} after {steps_taken}: {waiting}"
    if failure.kind == "race":
        return f"{kind}{where}: {failure.message}"
    return f"{kind}: {failure.message}"


def _place_of_exception(failure: Failure) -> Place | None:
    """Return where in the user's code the exception came from, if there is one."""
    if failure.exception is None:
        return None
    place = place_of_exception(failure.exception, lambda file: not is_of_the_user(file))
    return place or place_of_exception(failure.exception)


def _source(raised: Place | None, steps: Sequence[StepRecord]) -> str:
    """Return the line that raised the exception; of the failing step, where that is not known."""
    line = linecache.getline(*raised).strip() if raised else ""
    return line or (steps[-1].source if steps else "")


def _first_line(message: str) -> str:
    """Return the first line of a message; the traceback has the others."""
    return message.strip().partition("\n")[0]


# The cause


def _cause(failure: Failure) -> Cause | None:
    """Return the racing pair, unless something else explains the failure."""
    return None if waiting_cycle(failure.waits) else failure.cause


def _cause_in_lines(failure: Failure, cause: Cause, cast: Cast, width: int) -> list[Line]:
    """Return a sentence, and the two racing steps aligned below it."""
    steps = (cause.first, cause.second)
    numbers = _aligned([_number(index, failure) for index in cause.indices])
    names = _aligned([cast.name(step.process) for step in steps])
    places = [step.where for step in steps]
    deeds = [_deed(step, cause.location) for step in steps]
    taken = width_of(numbers[0] + names[0]) + 8 + max(map(width_of, deeds))
    if taken + max(map(width_of, places)) > width:
        places = [without_directories(place) for place in places]
    lines = wrapped(_sentence(failure, cause), "bold", width=width)
    for step, *cells, deed in zip(steps, numbers, names, _aligned(places), deeds, strict=True):
        left = "  " + "  ".join(cells)
        colour = cast.colour(step.process)
        if width_of(left + deed) + 2 <= width:
            lines.append(((f"{left}  {deed}", colour),))
        else:
            lines += wrapped(left.rstrip(), colour, width=width, indent=4)
            lines += wrapped(f"    {deed}", colour, width=width, indent=6)
    return lines


def _aligned(texts: list[str]) -> list[str]:
    longest = max(map(width_of, texts))
    return [padded(text, longest) for text in texts]


def _sentence(failure: Failure, cause: Cause) -> str:
    """Return what is known about the order of the two steps, and no more than that."""
    if failure.kind == "race":
        return "No synchronisation orders these two:"
    if cause.decides:
        return "The order of these two decides: the other way round, this execution passes."
    return "These two could have come in the other order, which may make a difference:"


def _number(index: int, failure: Failure) -> str:
    """Return the number of a step; one that comes after the failing step is not in the columns."""
    return f"step {index + 1}" if index <= failure.step else "later"


def _deed(step: StepRecord, location: str) -> str:
    """Return what a step did to a location, or all that it did."""
    about = [access for access in step.accesses if access.location == location]
    return printable("; ".join(map(str, about or step.accesses)) or step.source)


# Local variables


def _locals_in_lines(failure: Failure, cast: Cast, width: int) -> list[Line]:
    """Return the local variables of the user's functions, process by process."""
    frames = failure.frames
    lines = wrapped("Local variables at that point:" if frames else "", "bold", width=width)
    for process, group in groupby(frames, key=lambda frame: frame.process):
        lines.append(((f"  {cast.name(process)}", cast.colour(process)),))
        for frame in group:
            lines += wrapped(f"    {frame.function}() at {frame.where}", width=width, indent=6)
            for name, value in frame.variables:
                lines += wrapped(f"      {name} = {value}", width=width, indent=8)
    return lines


# The traceback


def _traceback_in_lines(failure: Failure) -> list[Line]:
    if failure.exception is None:
        return []
    text = traceback_in_words(failure.exception)
    return [((printable(line), ""),) for line in text.splitlines()]

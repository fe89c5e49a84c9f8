"""An interleaving as a diagram in text: a column for each actor, a row for each macro-step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.symbolic.state import State, Taken

_STATUS = {
    "return": "returns",
    "get": "blocks",
    "await": "releases",
    "until": "waits",
    "pause": "pauses",
    "error": "fails",
}


def diagram(state: State, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the rows of an interleaving."""
    actors = list(dict.fromkeys(taken.actor for taken in state.table))
    cells = [_cell(state, taken, labels) for taken in state.table]
    heads = [labels.get(actor, actor.rpartition("/")[2]) for actor in actors]
    widths = [
        max(
            [len(head), *(len(cell) for cell, taken in zip(cells, state.table, strict=True)
                          if taken.actor == actor)]
        )
        for head, actor in zip(heads, actors, strict=True)
    ]  # fmt: skip
    rows = [_row("", heads, widths)]
    for number, (cell, taken) in enumerate(zip(cells, state.table, strict=True), 1):
        columns = [cell if actor == taken.actor else "·" for actor in actors]
        rows.append(_row(str(number), columns, widths))
    return tuple(rows)


def _row(number: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    columns = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return f"{number:>3}  {'  '.join(columns)}".rstrip()


def _cell(state: State, taken: Taken, labels: Mapping[str, str]) -> str:
    words = f"{taken.method} {_STATUS[taken.status]}"
    if taken.status in ("get", "await"):
        target = state.tasks[taken.target]
        actor = labels.get(target.actor, target.actor.rpartition("/")[2])
        words += f" at L{taken.last_line} on {target.method} of {actor}"
    elif taken.status in ("until", "pause"):
        words += f" at L{taken.last_line}"
    return words

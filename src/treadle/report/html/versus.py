"""Two executions beside each other: the failing one, and the same with two steps swapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from treadle.report.html.lanes import Json, Lanes, deeds_of
from treadle.report.html.markup import Markup, classes, cut, headings, tag

MOST_ROWS = 400
"""Steps of each that are compared."""
_LETTERS = 200
"""Letters of an error: its whole message is elsewhere."""

Row = tuple[int | None, int | None]
"""The step of either execution in a row; None: there is none."""


def versus(failure: Json) -> Markup | None:
    """Return the failing execution beside the one in the other order; nothing if none is known."""
    cause = failure["cause"]
    if not cause or not cause["other"]:
        return None
    one, other = failure["trace"][:MOST_ROWS], cause["other"][:MOST_ROWS]
    both = Lanes([*failure["trace"], *cause["other"]])
    swapped = set(cause["indices"])
    moved = {_key_of(failure["trace"], index) for index in swapped if index < len(one)}
    rows = [
        tag(
            "tr",
            _cell(one, left, both, is_same=is_same(one, other, (left, right)), marked=moved),
            _cell(other, right, both, is_same=is_same(one, other, (left, right)), marked=moved),
        )
        for left, right in aligned(one, other)
    ]
    return tag(
        "table",
        tag("caption", "Rows beside each other are the same step; shaded ones differ."),
        headings("This execution fails", "The other order passes"),
        tag("tbody", rows),
        class_="versus",
    )


def aligned(one: Sequence[Json], other: Sequence[Json]) -> Iterator[Row]:
    """Yield which steps stand beside each other: those of a process that do the same.

    >>> p, q = ({"process": name, "where": "", "accesses": []} for name in "pq")
    >>> list(aligned([p, q], [q, p]))
    [(None, 0), (0, 1), (1, None)]
    """
    matcher = SequenceMatcher(
        None, [_doing(step) for step in one], [_doing(step) for step in other], autojunk=False
    )
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(range(a, b), range(c, d), strict=True)
        else:
            yield from ((index, None) for index in range(a, b))
            yield from ((None, index) for index in range(c, d))


def is_same(one: Sequence[Json], other: Sequence[Json], row: Row) -> bool:
    """Tell whether a row has the same step twice, with the same values."""
    left, right = row
    return (
        left is not None and right is not None and one[left]["accesses"] == other[right]["accesses"]
    )


def _doing(step: Json) -> tuple[str, str, tuple[str, ...]]:
    """Return what a step does, whatever the values are."""
    what = tuple(f"{access['operation']} {access['location']}" for access in step["accesses"])
    return step["process"], step["where"], what


def _key_of(steps: Sequence[Json], index: int) -> tuple[object, ...]:
    """Return which step of its process a step is: the same one in both executions."""
    process = steps[index]["process"]
    return process, sum(step["process"] == process for step in steps[:index])


def _cell(
    steps: Sequence[Json],
    index: int | None,
    lanes: Lanes,
    *,
    is_same: bool,
    marked: set[tuple[object, ...]],
) -> Markup:
    if index is None:
        return tag("td", class_="none")
    step = steps[index]
    kind = classes(
        lanes.colour(step["process"]),
        None if is_same else "differs",
        "swapped" if _key_of(steps, index) in marked else None,
        "error" if step["error"] else None,
    )
    return tag(
        "td",
        tag("span", str(index + 1), class_="n"),
        tag("span", step["process"], class_="who"),
        tag("span", deeds_of(step) or step["source"], class_="deeds"),
        tag("span", cut(step["error"], _LETTERS), class_="badge fails") if step["error"] else None,
        class_=kind,
    )

"""Where an exploration comes from: which pairs of lines were to be reversed how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from treadle.core.counting import count
from treadle.report.html.lanes import Json
from treadle.report.html.markup import Markup, breakable, cut, headings, tag
from treadle.report.html.source import Heat, listing

MOST_PAIRS = 12
"""Pairs of lines that are listed."""

Pair = tuple[str, str]

_ORDER_IS_NOTHING = "No two steps were to be reversed: nothing depends on the order of steps."
_NO_PAIR = (
    "No such pair is known: this algorithm does not look for any, or it was stopped before it "
    "came to one."
)


def pairs_of(reversals: Sequence[Json]) -> Counter[Pair]:
    """Return how often steps at two places were reversed, in whichever order and by whomever.

    >>> step = lambda where: {"process": "p", "where": where, "words": ""}
    >>> one = {"first": step("a:2"), "second": step("a:1"), "times": 3}
    >>> pairs_of([one, one])
    Counter({('a:1', 'a:2'): 6})
    """
    pairs: Counter[Pair] = Counter()
    for one in reversals:
        first, second = sorted((_place(one["first"]), _place(one["second"])))
        pairs[first, second] += one["times"]
    return pairs


def heat_of_lines(reversals: Sequence[Json]) -> Heat:
    """Return how often each line was part of a reversal, by `file:line`."""
    heat: Counter[str] = Counter()
    for (first, second), times in pairs_of(reversals).items():
        for place in {first, second}:
            heat[place] += times
    return heat


def heat_map(
    exploration: Json, sources: Json, *, is_only_one: bool = False, name: str = "heat"
) -> Markup:
    """Return the most frequent pairs, and the source, coloured by how hot its lines are.

    `name` begins the addresses of lines, of which a page has only one each.

    `is_only_one` tells that a single execution covers the space. Without it no pairs mean nothing:
    not all algorithms look for them, and a search can be stopped before it comes to one.
    """
    reversals = exploration["reversals"]
    if not reversals:
        return tag("p", _ORDER_IS_NOTHING if is_only_one else _NO_PAIR)
    pairs = pairs_of(reversals)
    total = pairs.total() + exploration["uncounted"]
    rows = [_row(pair, times, total) for pair, times in pairs.most_common(MOST_PAIRS)]
    table = tag(
        "table",
        tag("caption", f"{count(total, 'reversal')} of {count(len(pairs), 'pair')} of places"),
        headings("reversals", "share", "between", "and"),
        tag("tbody", rows),
        class_="heat-pairs",
    )
    heat = heat_of_lines(reversals)
    hot = {file: pieces for file, pieces in sources.items() if _is_hot(file, heat)}
    return tag("div", table, listing(hot, name, heat=heat) if hot else None, class_="heat")


def _is_hot(file: str, heat: Heat) -> bool:
    return any(place.rpartition(":")[0] == file for place in heat)


def _row(pair: Pair, times: int, total: int) -> Markup:
    first, second = pair
    share = times / total
    bar = tag("span", class_="bar", style=f"--share:{share:.3f}")
    return tag(
        "tr",
        tag("td", f"{times:,}", class_="number"),
        tag("td", bar, f"{share:.0%}", class_="share"),
        tag("td", _code(first)),
        tag("td", "the same line" if first == second else _code(second)),
    )


def _code(place: str) -> Markup:
    """Return a place without its directories, which are in its title."""
    return tag("code", breakable(cut(place.rpartition("/")[2], 60)), title=place)


def _place(step: Json) -> str:
    """Return where a step is; if that is not known, what it does."""
    return str(step["where"] or f"{step['process']} {step['words']}".strip())

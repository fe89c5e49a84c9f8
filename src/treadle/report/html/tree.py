"""The tree of an exploration: what was run, what was left out, and why; folded when it is large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from treadle.core.counting import count
from treadle.report.html.lanes import Json
from treadle.report.html.markup import Content, Markup, cut, tag

MOST_ROWS = 1200
"""Branches that are on the page."""
_OPEN = 500
"""Branches of a tree that is unfolded in the beginning."""
_DEPTH = 14
"""How far rows are indented at most."""

WHY = {
    "asleep": "sleep set: everything from there on was explored before",
    "forbidden": "don't-do set: another execution leads to the same state",
    "constraint": "a constraint says that it commutes with the step that was taken",
}
_ENDINGS = {
    "ended": ("complete", "✓"),
    "failed": ("fails", "✗"),
    "blocked": ("blocked: found to be redundant", "⊘"),
    "cut": ("cut", "✂"),
    "budget": ("cut by max_steps", "…"),
    "guidance": ("cut by guidance: it leads nowhere that is looked for", "✂"),
}


def tree(exploration: Json, *, most: int = MOST_ROWS) -> Markup:
    """Return the tree as rows that can be folded, `most` of them; counts are of whole subtrees."""
    branches: list[Json] = exploration["tree"]
    depths = depths_of(branches)
    left = left_out_of(branches, depths, most)
    shown = [at for at in range(len(branches)) if at not in left]
    has_children = {branches[at]["parent"] for at in shown}
    below = Counter(left.values())
    is_large = len(shown) > _OPEN or bool(left)
    rows = [
        _row(branches[at], at, depths[at], at in has_children, is_large, below[at]) for at in shown
    ]
    rest = len(left)
    return tag(
        "div",
        tag("ul", rows, class_="tree", role="tree", aria_label="Tree of executions"),
        tag("p", f"{count(rest, 'more branch', 'more branches')} in the JSON only.")
        if rest > 0
        else None,
        class_="tree-box",
    )


def left_out_of(branches: Sequence[Json], depths: Sequence[int], most: int) -> dict[int, int]:
    """Return the branches of a tree that is too large, each with the one that it hangs on.

    The deepest are left out: whoever looks at a large tree begins at its root.

    >>> branches = [{"parent": parent} for parent in (None, 0, 1, 2, 0)]
    >>> left_out_of(branches, depths_of(branches), 3)
    {2: 1, 3: 1}
    """
    in_order = sorted(range(len(branches)), key=lambda at: (depths[at], at))
    left: dict[int, int] = {}
    for at in in_order[most:]:
        parent = int(branches[at]["parent"])  # the root is the first that is kept
        left[at] = left.get(parent, parent)
    return left


def depths_of(branches: Sequence[Json]) -> list[int]:
    """Return how deep each branch is.

    >>> depths_of([{"parent": None}, {"parent": 0}, {"parent": 1}, {"parent": 0}])
    [0, 1, 2, 1]
    """
    depths: list[int] = []
    for branch in branches:
        parent = branch["parent"]
        depths.append(0 if parent is None else depths[parent] + 1)
    return depths


def _row(
    branch: Json, at: int, depth: int, has_children: bool, is_large: bool, left: int
) -> Markup:
    # A large tree shows its first branchings; the rest is folded, not left out.
    expanded: dict[str, Any] = {}
    if has_children:
        expanded["aria_expanded"] = "false" if is_large and depth >= 2 else "true"
    return tag(
        "li",
        tag("span", "▾" if has_children else "", class_="toggle", aria_hidden="true"),
        tag("span", _steps(branch["steps"]), class_="branch-steps"),
        _ending(branch["ending"]),
        [_left_out(one) for one in branch["left_out"]],
        tag("span", f"{branch['undrawn']:,} more not drawn", class_="badge")
        if branch["undrawn"]
        else None,
        tag("span", f"{count(left, 'branch', 'branches')} below not drawn", class_="badge")
        if left
        else None,
        _counts(branch["below"]) if has_children or left else None,
        role="treeitem",
        aria_level=depth + 1,
        tabindex="0" if at == 0 else "-1",
        hidden=is_large and depth > 2,
        style=f"--depth:{min(depth, _DEPTH)}",
        data_depth=depth,
        **expanded,
    )


def _steps(steps: Sequence[Json]) -> Content:
    """Return the first step of a branch in words, and how many more there are before the next."""
    if not steps:
        return tag("b", "start")
    first = steps[0]
    place = first["where"].rpartition("/")[2]
    parts: list[Content] = [tag("b", first["process"]), " ", cut(first["words"], 60)]
    if place:
        parts += [" ", tag("small", place)]
    if len(steps) > 1:
        ways = " → ".join(dict.fromkeys(step["process"] for step in steps[1:]))
        parts += [" ", tag("small", f"+ {len(steps) - 1} more ({cut(ways, 40)})")]
    return parts


def _ending(ending: str) -> Markup | None:
    if not ending:
        return None
    words, sign = _ENDINGS[ending]
    return tag("span", f"{sign} {words}", class_=f"badge end-{ending}")


def _left_out(one: Json) -> Markup:
    times = f" ×{one['times']}" if one["times"] > 1 else ""
    text = f"✂ {one['process']} left out: {one['why']}{times}"
    return tag("span", text, class_="badge left-out", title=WHY.get(one["why"], one["why"]))


def _counts(below: Json) -> Markup:
    words = [count(below["executions"], "execution")]
    if below["failing"]:
        words.append(f"{below['failing']:,} failing")
    if below["blocked"]:
        words.append(f"{below['blocked']:,} blocked")
    if below["cut"]:
        words.append(f"{below['cut']:,} cut")
    if below["left_out"]:
        words.append(f"{below['left_out']:,} left out")
    return tag("span", ", ".join(words), class_="counts")


def legend() -> Markup:
    """Return what the reasons mean for which branches are left out."""
    reasons = {**WHY, "not listed": "no race asks for it: nothing could differ"}
    rows = [tag("div", tag("dt", why), tag("dd", words)) for why, words in reasons.items()]
    return tag("dl", rows, class_="legend")

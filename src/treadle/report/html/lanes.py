"""The lanes of an execution: a thread, a task, an actor or a node each, with a colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
"""An object of the JSON that `treadle.report.as_json` makes."""

COLOURS = 8
"""How many colours there are."""


def lane_of(step: Json) -> str:
    """Return what the column of a step is headed by."""
    return str(step["lane"] or step["process"])


class Lanes:
    """Who has which column, in the order of the first steps; who only waits comes last.

    What arrives from outside has none.
    """

    def __init__(self, steps: Sequence[Json], waits: Sequence[Json] = ()) -> None:
        self._of = {step["process"]: lane_of(step) for step in steps if not step.get("arrival")}
        self._labels = {wait["process"]: wait["label"] for wait in waits}
        self._labels |= {step["process"]: step["label"] for step in steps}
        lanes = set(self._of.values())
        for wait in waits:
            own = wait["label"] if wait["label"] in lanes else self._queue_of(wait)
            self._of.setdefault(wait["process"], own)
        self.names = list(dict.fromkeys(self._of.values()))
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._of |= {name: name for name in self.names}

    def _queue_of(self, wait: Json) -> str:
        """Return where somebody waits who has not begun: in the column of who lets nobody in."""
        for holder in wait["holders"]:
            if self._of.get(holder, holder) != holder:
                return self._of[holder]
        return str(wait["process"])

    def called(self, process: str) -> str:
        """Return what to call a process: one of several in a column, as the program calls it."""
        is_one_of_several = self._of.get(process, process) != process
        return str((is_one_of_several and self._labels.get(process)) or process)

    def number(self, process: str) -> int:
        """Return the number of the column of a process; 0 if nobody knows it."""
        return self._numbers.get(self._of.get(process, ""), 0)

    def knows(self, process: str) -> bool:
        """Tell whether a process has a column."""
        return process in self._of

    def heading(self, lane: str) -> str:
        """Return what else a column of a single process is called: by the program."""
        label = self._labels.get(lane, "")
        return "" if label == lane else str(label)

    def colour(self, process: str) -> str:
        """Return the class that gives something the colour of a process."""
        return f"lane-{self.number(process) % COLOURS}"


def who_goes_on(steps: Sequence[Json]) -> list[str]:
    """Return for each step whose it is: if that waits, its next one is where it goes on.

    A task of asyncio is a process anew each time that the loop runs it; lane and label stay.

    >>> handle = {"process": "main#1", "lane": "main", "label": "main"}
    >>> who_goes_on([handle, {**handle, "process": "main#2"}])
    ['main/main', 'main/main']
    """
    taken = Counter(step["process"] for step in steps)

    def whose(step: Json) -> str:
        is_own = not step.get("is_inner") and not step.get("arrival")
        if is_own and step["lane"] and step["label"] and taken[step["process"]] == 1:
            return f"{step['lane']}/{step['label']}"
        return str(step["process"])

    return [whose(step) for step in steps]


def is_inner(failure: Json, index: int) -> bool:
    """Tell whether a step is of the library that runs the program, and need not be seen."""
    return bool(failure["trace"][index].get("is_inner")) and index != failure["step"]


def links_to_see(failure: Json) -> list[Json]:
    """Return the links between steps that are seen: one that leads through others goes on.

    >>> trace = [{}, {"is_inner": True}, {}]
    >>> links = [{"source": at, "target": at + 1, "kind": "wake", "about": ""} for at in (0, 1)]
    >>> links_to_see({"trace": trace, "links": links, "step": 2})
    [{'source': 0, 'target': 2, 'kind': 'wake', 'about': ''}]
    """
    origins: dict[int, dict[int, None]] = {}
    """Seen steps that lead to each one that is not."""
    found: list[Json] = []
    for link in sorted(failure["links"], key=lambda link: int(link["target"])):
        source, target = link["source"], link["target"]
        seen = origins.get(source, {}) if is_inner(failure, source) else {source: None}
        if is_inner(failure, target):
            origins.setdefault(target, {}).update(seen)
            continue
        for one in seen:
            made = {**link, "source": one}
            if made not in found:
                found.append(made)
    return found


def deeds_of(step: Json) -> str:
    """Return what a step did, in words."""
    return "; ".join(map(deed_in_words, step["accesses"]))


def deed_in_words(access: Json) -> str:
    """Return one access in words."""
    value = f" = {access['value']}" if access["value"] else ""
    return f"{access['operation']} {access['location']}{value}".strip()

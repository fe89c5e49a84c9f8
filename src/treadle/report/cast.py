"""The processes of an execution: how each is called, and its colour."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.records import StepRecord, Wait

_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "bright_cyan", "bright_magenta")


def lane_of(record: StepRecord) -> str:
    """Return what the column of a step is headed by."""
    return record.lane or record.process


class Cast:
    """Who takes part, in the order of the first steps."""

    def __init__(self, records: Sequence[StepRecord], waits: Sequence[Wait] = ()) -> None:
        own = [record for record in records if not (record.arrival or record.is_inner)]
        self.lanes = list(dict.fromkeys(map(lane_of, own or records)))
        """The columns: one per process, or for several that share one; arrivals have none."""
        self._labels = {wait.process: wait.label for wait in waits}
        self._labels = {record.process: record.label for record in records} | self._labels
        self._lanes = {record.process: lane_of(record) for record in records}
        in_columns = dict.fromkeys([*self.lanes, *self._labels])
        self._colours = {
            name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(in_columns)
        }

    def label(self, process: str) -> str:
        """Return the name that the program gave a process, if it did."""
        label = self._labels.get(process, "")
        return "" if label == process else label

    def name(self, process: str) -> str:
        """Return a process's name, and the one that the program gave it."""
        label = self.label(process)
        return f"{process} ({label})" if label else process

    def colour(self, process: str) -> str:
        """Return the colour of a process."""
        return self._colours.get(self._lanes.get(process, process), "")

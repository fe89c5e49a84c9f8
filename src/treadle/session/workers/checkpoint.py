"""An exploration on disk: what is left of it, and what it has found so far.

JSON, written anew each time, and put in the place of the old file in one go: whatever happens, one
of the two is there, whole. It says of which test, sources and options it is, and is refused for
others: parts of a space mean nothing elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.failure import Failure
from treadle.core.schedule import Schedule
from treadle.core.version import __version__
from treadle.explore.cubes.order import Order, Step
from treadle.session.workers.coordinator import State
from treadle.session.workers.handshake import python_in_words
from treadle.session.workers.parts import Part, Ran, key_of
from treadle.session.workers.taken import Taken

_NAME = "treadle.checkpoint/"
FORMAT = f"{_NAME}3"
_EVERY = 5.0
"""Seconds between two writes."""

_clock = time.monotonic
_fsync, _replace, _unlink, _open = os.fsync, os.replace, os.unlink, os.open
_write, _close = os.write, os.close
"""Taken before any program is under control."""


class Checkpoint:
    """Keeps the state of one exploration in a file."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self._path = path.resolve()
        """The file itself: where a link leads is written, and the link stays."""
        self._identity = identity
        """What the exploration is of: a file of another one is refused."""
        self._next = 0.0
        self.notes: list[str] = []
        """What users should know: that it could not be written."""
        is_other = self._path.exists() and not self._path.is_file()
        if is_other or not self._path.parent.is_dir():  # a device would be replaced by a file
            raise TreadleError(f"checkpoint={str(path)!r} cannot be written: give a file")
        if self._path.exists() and not _may_be_replaced(self._path):
            raise TreadleError(
                f"checkpoint={str(path)!r} is a file of something else, which would be lost: give "
                f"a new name, or a file that checkpoint wrote"
            )

    def save_if_due(self, state: State) -> None:
        """Write the file, if it is time."""
        if _clock() >= self._next:
            self.save(state)
            self._next = _clock() + _EVERY

    def save(self, state: State) -> None:
        """Write the file; if that cannot be done, the old one stays, and a note says so."""
        content = {**self._identity, **_state_as_dict(state)}
        content["digest"] = _digest(content)
        new = f"{self._path}.new"
        try:
            _written(new, json.dumps(content).encode())
            _replace(new, self._path)
            self.notes.clear()
        except OSError as error:
            with suppress(OSError):
                _unlink(new)
            self.notes[:] = [
                f"the checkpoint {self._path} could not be written ({error.strerror}): what is "
                f"there is as it was before; make room, and run again with resume"
            ]


def _may_be_replaced(path: Path) -> bool:
    """Tell whether a file is empty, or a checkpoint of any format, also one that was cut off."""
    start = json.dumps({"format": _NAME})[:-2].encode()
    try:
        with path.open("rb") as file:
            found = file.read(len(start))
    except OSError:
        return False
    return start.startswith(found)


def _digest(content: Mapping[str, Any]) -> str:
    """Return what changes with anything else in the file."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _written(path: str, content: bytes) -> None:
    descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        data = memoryview(content)
        while data:
            data = data[_write(descriptor, data) :]
        _fsync(descriptor)
    finally:
        _close(descriptor)


def identity_of(test: str, sources: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes an exploration this one."""
    return {
        "format": FORMAT,
        "treadle": __version__,
        "python": python_in_words(),
        "test": test,
        "sources": sources,
        "options": json.loads(json.dumps(dict(options))),
    }


def resumed(path: Path, identity: Mapping[str, Any]) -> State:
    """Read a file; refuse one of another exploration, naming what differs."""
    try:
        content = json.loads(path.read_bytes())
        found = content["format"]
    except OSError as error:
        raise TreadleError(
            f"resume={str(path)!r} cannot be read ({error.strerror}): give the file that "
            f"checkpoint wrote"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise TreadleError(
            f"{path} is no checkpoint: give the file that checkpoint wrote"
        ) from None
    if found != FORMAT:
        raise TreadleError(f"{path} is of the format {found!r}, not {FORMAT!r}: explore anew")
    if content.pop("digest", "") != _digest(content):
        raise TreadleError(_damaged(path))
    for name, wanted in identity.items():
        if content.get(name) != wanted:
            raise TreadleError(_difference(path, name, content.get(name), wanted))
    try:
        return _state_from(content)
    except (LookupError, TypeError, ValueError):
        raise TreadleError(_damaged(path)) from None


def _damaged(path: Path) -> str:
    return f"{path} is damaged: explore anew"


def _difference(path: Path, name: str, found: Any, wanted: Any) -> str:
    """Say why a checkpoint is of something else."""
    if name == "sources":
        return f"{path} is of other sources of the test: explore anew, or undo the changes"
    if name == "options" and isinstance(found, dict):
        for option in sorted({*found, *wanted}):
            if found.get(option) != wanted.get(option):
                return (
                    f"{path} was made with {option}={found.get(option)!r}, not "
                    f"{wanted.get(option)!r}: give the same options, or explore anew"
                )
    what = {"test": "the test", "treadle": "Treadle", "python": "Python"}.get(name, name)
    return f"{path} is of {what} {found}, and this is {wanted}: explore anew"


# State as JSON


def _state_as_dict(state: State) -> dict[str, Any]:
    return {
        "pending": [_part_as_list(part) for part in state.pending],
        "counts": dict(state.counts),
        "parts": state.parts,
        "share": state.share,
        "lost": state.lost,
        "deepest": state.deepest,
        "failures": [_failure_as_dict(one) for one in state.failures.values()],
        "ran": list(dict.fromkeys(state.ran.values())),
        "samples": [_taken_as_dict(taken) for taken in state.samples],
        "knowledge": state.knowledge,
        "incomplete": state.incomplete,
        "notes": list(state.notes),
        "escapes": list(state.escapes),
        "rests_on": list(state.rests_on),
        "repeated": sorted(state.repeated),
        "seconds": state.seconds,
    }


def _state_from(content: Mapping[str, Any]) -> State:
    failures = [_failure_from(one) for one in content["failures"]]
    return State(
        pending=deque(map(_part_from, content["pending"])),
        counts=Counter(content["counts"]),
        parts=content["parts"],
        share=content["share"],
        lost=content["lost"],
        deepest=content["deepest"],
        failures={key_of(failure): failure for failure in failures},
        ran={one: Ran(tuple(ran), failing) for ran, failing in content["ran"] for one in ran},
        samples=[_taken_from(one) for one in content["samples"]],
        knowledge=tuple(content["knowledge"]),
        incomplete=content["incomplete"],
        notes=dict.fromkeys(content["notes"]),
        escapes=dict.fromkeys(content["escapes"]),
        rests_on=dict.fromkeys(content["rests_on"]),
        repeated=set(content["repeated"]),
        seconds=content["seconds"],
    )


def _part_as_list(part: Part) -> list[Any]:
    what = part.what
    if isinstance(what, range):
        return ["samples", [what.start, what.stop], part.share]
    if what and not isinstance(what[0], Order):
        return ["zones", what, part.share]
    return ["cube", what, part.share]


def _part_from(content: list[Any]) -> Part:
    kind, what, share = content
    if kind == "samples":
        return Part(range(*what), share)
    if kind == "zones":
        return Part(tuple(tuple(map(tuple, zone)) for zone in what), share)
    return Part(tuple(Order(Step(*a), Step(*b), claim) for a, b, claim in what), share)


def _taken_as_dict(taken: Taken) -> dict[str, Any]:
    return {
        "numbers": [taken.numbers.start, taken.numbers.stop],
        "counts": dict(taken.counts),
        "failures": [_failure_as_dict(one) for one in taken.failures],
        "reason": taken.reason,
    }


def _taken_from(content: Mapping[str, Any]) -> Taken:
    failures = [_failure_from(one) for one in content["failures"]]
    counts = Counter(content["counts"])
    return Taken(range(*content["numbers"]), counts, failures, content["reason"])


def _failure_as_dict(failure: Failure) -> dict[str, Any]:
    return {
        "kind": failure.kind,
        "message": failure.message,
        "process": failure.process,
        "step": failure.step,
        "schedule": str(failure.schedule),
    }


def _failure_from(content: Mapping[str, Any]) -> Failure:
    return Failure(**{**content, "schedule": Schedule.parse(content["schedule"])})

"""Failing schedules of earlier runs, kept in a directory, so that the next run tries them first.

    .treadle/.gitignore                       `*`: nothing in here belongs into a repository
    .treadle/failures/TEST-HASH/HASH.json     one failing schedule of one test

A file is written under another name and then renamed, so it is there whole or not at all, whoever
is killed meanwhile. Each failure has its own file, so two runs at once do not undo each other's
work. What cannot be read is passed over: the database saves time, and nothing depends on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treadle.core.records import StepRecord

DIRECTORY = ".treadle"
"""Where the database is, unless told otherwise: in the working directory."""

_FORMAT = 1
_KEPT = 5
"""Failing schedules of one test that are kept."""
_STEPS_KEPT = 500
"""Steps of a failure that are kept in words."""
_ABANDONED = 3600.0
"""Seconds after which a file that was not renamed is left from a run that was killed."""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One step of a recorded failure, in words."""

    process: str
    action: str
    where: str

    @classmethod
    def of(cls, step: StepRecord) -> RecordedStep:
        """Say what a step did and where; not with which value."""
        accesses = dict.fromkeys(f"{a.operation} {a.location}" for a in step.accesses)
        return cls(step.process, "; ".join(accesses), step.where)

    def does_the_same(self, other: RecordedStep) -> bool:
        """Tell whether it is the same step, wherever its line is now."""
        return (self.process, self.action) == (other.process, other.action)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.process} {self.action or 'without access'}{place}"


class Database:
    """The failing schedules of tests, as tokens.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     database = Database(directory)
    ...     database.save("test_bank.py::test_transfer", "t1_abc")
    ...     database.load("test_bank.py::test_transfer")
    ...     database.discard("test_bank.py::test_transfer", "t1_abc")
    ...     database.load("test_bank.py::test_transfer")
    True
    ['t1_abc']
    True
    []
    """

    def __init__(self, directory: str | os.PathLike[str] = DIRECTORY) -> None:
        self.directory = Path(directory)

    def load(self, test: str) -> list[str]:
        """Return the tokens of a test, the one that was saved last first."""
        return [entry["token"] for _, entry in self._entries(test)]

    def steps(self, test: str, token: str) -> list[RecordedStep]:
        """Return what the steps of a saved failure did, as far as it was kept."""
        entry = _read(self._file(test, token), test)
        try:
            return [RecordedStep(*map(str, step)) for step in entry["steps"]] if entry else []
        except (KeyError, TypeError):
            return []

    def save(self, test: str, token: str, steps: Sequence[StepRecord] = ()) -> bool:
        """Keep a failing schedule; tell whether that was possible."""
        words = [RecordedStep.of(step) for step in steps[:_STEPS_KEPT]]
        entry = {
            "format": _FORMAT,
            "test": test,
            "token": token,
            "saved": time.time_ns(),
            "steps": [[step.process, step.action, step.where] for step in words],
        }
        file = self._file(test, token)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._ignore()
            _write(file, json.dumps(entry))
        except OSError:
            return False
        self._tidy(test)
        return True

    def discard(self, test: str, token: str) -> bool:
        """Forget a schedule that fails no more; tell whether that was possible."""
        try:
            self._file(test, token).unlink(missing_ok=True)
        except OSError:
            return False
        return True

    # Files

    def _place(self, test: str) -> Path:
        """Return the directory of a test; its name begins with the test's, for people."""
        name = re.sub(r"[^A-Za-z0-9.]+", "_", test)[-40:].strip("_.")
        return self.directory / "failures" / f"{name}-{_short_hash(test)}"

    def _file(self, test: str, token: str) -> Path:
        return self._place(test) / f"{_short_hash(token)}.json"

    def _ignore(self) -> None:
        """Keep the directory out of repositories."""
        ignore = self.directory / ".gitignore"
        if not ignore.exists():
            _write(ignore, "*\n")

    def _entries(self, test: str) -> list[tuple[Path, dict[str, Any]]]:
        """Return the files that belong to a test with what they say, the newest first."""
        found = []
        for file in _files_in(self._place(test)):
            entry = _read(file, test) if file.suffix == ".json" else None
            if entry is not None and file == self._file(test, entry["token"]):
                found.append((file, entry))
        return sorted(found, key=lambda pair: (-pair[1]["saved"], pair[1]["token"]))

    def _tidy(self, test: str) -> None:
        """Remove the oldest schedules of a test, and what killed runs left."""
        for file, _ in self._entries(test)[_KEPT:]:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        for file in _files_in(self._place(test)):
            with contextlib.suppress(OSError):
                if file.suffix == ".new" and time.time() - file.stat().st_mtime > _ABANDONED:
                    file.unlink(missing_ok=True)


def _files_in(directory: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(directory.iterdir())


def _read(file: Path, test: str) -> dict[str, Any] | None:
    """Return what a file says about a test; None if it is damaged, or somebody else's."""
    try:
        entry = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_ours = (
        isinstance(entry, dict)
        and entry.get("format") == _FORMAT
        and entry.get("test") == test
        and isinstance(entry.get("token"), str)
        and isinstance(entry.get("saved"), int)
    )
    return entry if is_ours else None


def _write(file: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    new = file.with_name(f"{file.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
    try:
        new.write_text(text, "utf-8")
        new.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def _short_hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()

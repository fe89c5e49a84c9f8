"""Run files of tests, each in a process of its own that begins with everything imported.

    python scripts/run_tests.py [-j PROCESSES] PATH... [-- OPTION OF PYTEST...]

What an exploration costs grows with everything that is loaded, as it looks for functions among all
objects. So all files of tests/threads in one session of pytest take three times the CPU time of a
session for each. A session is forked from a process that has imported pytest, Hypothesis and
Treadle: it begins after a tenth of a second instead of one.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

CONFTEST = Path(__file__).resolve().parent.parent / "tests" / "conftest.py"
NO_TESTS = 5  # what pytest ends with if all tests of a file were left out
LONGEST = 900.0  # seconds after which a file is taken to hang: it ends, and says where it was


@dataclass
class Session:
    """A process that tests a file."""

    path: Path
    output: IO[bytes]
    began: float

    def text(self) -> str:
        """Return what it printed."""
        self.output.seek(0)
        return self.output.read().decode(errors="replace").strip()


class Tally:
    """What the sessions that have ended say."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failed: list[Path] = []

    def add(self, session: Session, status: int, cpu: float) -> None:
        """Take in a session that has ended; print what failed in it."""
        text = session.text()
        last = text.rpartition("\n")[2]
        for number, what in re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed)", last):
            self.counts[what] += int(number)
        if status not in (0, NO_TESTS):
            self.failed.append(session.path)
            last = f"FAILED with status {status}\n{text}"
        wall = time.monotonic() - session.began
        print(f"{wall:6.1f} s {cpu:6.1f} CPU s  {session.path}: {last}", flush=True)


def files_in(paths: list[Path]) -> list[Path]:
    """Return the files with tests, the largest first; `src` with its examples is one piece."""
    found: list[Path] = []
    for path in paths:
        found += _tests_in(path) if path.is_dir() and path.name != "src" else [path]
    return sorted(set(found), key=lambda file: -file.stat().st_size)


def _tests_in(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*.py"):
        if file.name.startswith("test_") or ">>> " in file.read_text(encoding="utf-8"):
            yield file


def import_beforehand() -> None:
    """Let pytest import itself, its plugins and what all tests import, and run nothing."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main(["--collect-only", "-p", "no:cacheprovider", str(CONFTEST)])


def start(path: Path, options: list[str]) -> tuple[int, Session]:
    """Fork a session; return its process, in which this ends with the process."""
    output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the session has ended
    session = Session(path, output, time.monotonic())
    child = os.fork()
    if child:
        return child, session
    faulthandler.dump_traceback_later(_longest(), exit=True, file=session.output)
    os.dup2(session.output.fileno(), 1)
    os.dup2(session.output.fileno(), 2)
    # Before 3.13 a forked main thread still has the identity of its parent's.
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]
    raise SystemExit(pytest.main([str(path), "-p", "no:cacheprovider", *options]))


def _longest() -> float:
    return float(os.environ.get("TREADLE_LONGEST_FILE", LONGEST))


def run(files: list[Path], options: list[str], processes: int) -> Tally:
    """Test all files, some at once."""
    tally = Tally()
    running: dict[int, Session] = {}
    waiting = files[::-1]
    while waiting or running:
        while waiting and len(running) < processes:
            child, session = start(waiting.pop(), options)
            running[child] = session
        child, status, used = os.wait4(-1, 0)
        ended = running.pop(child)
        with ended.output:
            tally.add(ended, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime)
    return tally


def main() -> int:
    """Run what the command line names; return 1 if something failed."""
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("-j", "--processes", type=int, default=os.cpu_count())
    options = parser.parse_args(sys.argv[1:at])
    import_beforehand()
    tally = run(files_in(options.paths), sys.argv[at + 1 :], options.processes)
    print(", ".join(f"{number} {what}" for what, number in tally.counts.items()) or "no tests")
    for path in tally.failed:
        print(f"FAILED: {path}")
    return 1 if tally.failed or not tally.counts else 0


if __name__ == "__main__":
    sys.exit(main())

"""What an exploration costs before its first execution, and what it leaves behind.

    python benchmarks/fixed_cost.py [--long]

All figures are CPU time of one run, least of several; the last column is what is to be reached on a
quiet machine. `--long` explores 10,000 times to see what is left behind.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import treadle

TESTS = 100
MODULES = 650


def small() -> None:
    """Two threads, one variable each: four executions."""
    box = {"n": 0}

    def work() -> None:
        box["n"] = box["n"] + 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def least(count: int = 30) -> float:
    """Return the least CPU time of one exploration, in seconds."""
    found = []
    for _ in range(count):
        begin = time.process_time()
        assert treadle.explore(small).executions == 4
        found.append(time.process_time() - begin)
    return min(found)


def least_in_a_command(count: int = 10) -> tuple[float, float]:
    """Return the least CPU time of `treadle run` in a process that has done so before.

    First of its exploration alone, from taking control to giving it back; then of all of it.
    """
    from treadle.cli import main as command  # with what it loads, all else would look at more
    from treadle.session import session

    target = f"{Path(__file__)}::small"
    exploring, found = [], []

    class Timed(session.opened):
        def __enter__(self) -> session.Session:
            self.begin = time.process_time()
            return super().__enter__()

        def __exit__(self, *error: Any) -> bool | None:
            result = super().__exit__(*error)
            exploring.append(time.process_time() - self.begin)
            return result

    with mock.patch("treadle.cli.loading.opened", Timed):
        for _ in range(count):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                begin = time.process_time()
                with contextlib.suppress(SystemExit):
                    command(["run", target, "--quiet"])
                found.append(time.process_time() - begin)
            assert said.getvalue().startswith("VERIFIED")
    return min(exploring), min(found)


def import_many() -> int:
    """Import what a test run has loaded, filled up with modules of a library of our own."""
    for name in ("pytest", "hypothesis", "sqlalchemy"):
        try:
            __import__(name)
        except ImportError:
            continue
    folder = Path(tempfile.mkdtemp()) / "site-packages"
    folder.mkdir()
    body = "\n".join(f"def f{i}(a, b=None):\n    return a, b, {i}" for i in range(40))
    sys.path.insert(0, str(folder))
    for number in range(max(0, MODULES - len(sys.modules))):
        (folder / f"filling_{number}.py").write_text(body)
        __import__(f"filling_{number}")
    return len(sys.modules)


IN_SQLALCHEMY = """
import sys, threading, time, sqlalchemy
sys.path.insert(0, {folder!r})
from fixed_cost import selecting, small
import treadle
begin = time.process_time()
treadle.explore({test}, instrument=["sqlalchemy"], timeout=60)
print(time.process_time() - begin)
"""


def selecting() -> None:
    """Put a statement together and have it written as SQL: hundreds of functions are called."""
    import sqlalchemy  # type: ignore[import-not-found,unused-ignore]

    table = sqlalchemy.table("t", sqlalchemy.column("n"))
    assert str(sqlalchemy.select(table).where(table.c.n == 1)).startswith("SELECT")


def in_sqlalchemy(cache: str, test: str) -> float | None:
    """Return the CPU time of an exploration with a large package under test, in a new process."""
    script = IN_SQLALCHEMY.format(folder=str(Path(__file__).parent), test=test)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={
            "PATH": "/usr/bin:/bin",
            "TREADLE_CACHE": cache,
            "PYTHONPATH": os.pathsep.join(sys.path[1:]),
        },
        check=False,
        timeout=300,
    )
    return float(done.stdout) if done.returncode == 0 else None


def show(what: str, value: str, goal: str) -> None:
    print(f"{what:<52} {value:>14} {goal:>14}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="explore 10,000 times")
    options = parser.parse_args()
    show("", "measured", "to reach")
    treadle.explore(small)
    show(f"one exploration, {len(sys.modules)} modules", f"{least() * 1000:.1f} ms", "6 ms")
    begin = time.process_time()
    for _ in range(TESTS):
        treadle.explore(small)
    show(f"{TESTS} verified tests", f"{time.process_time() - begin:.2f} s", "1.5 s")
    exploring, whole = least_in_a_command()
    show("the exploration of `treadle run`", f"{exploring * 1000:.1f} ms", "5 ms")
    show("`treadle run`, all of it", f"{whole * 1000:.1f} ms", "")
    count = import_many()
    show(f"one exploration, {count} modules", f"{least() * 1000:.1f} ms", "10 ms")
    for test, goals in (("small", ("3 s", "0.5 s")), ("selecting", ("", ""))):
        with tempfile.TemporaryDirectory() as cache:
            for what, goal in zip(("the first time", "from the cache"), goals, strict=True):
                seconds = in_sqlalchemy(cache, test)
                told = "not there" if seconds is None else f"{seconds:.2f} s"
                show(f'`{test}` in "sqlalchemy", {what}', told, goal)
    if options.long:
        gc.collect()
        objects, memory = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(10_000):
            treadle.explore(small)
        gc.collect()
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        show("10,000 explorations, objects left", str(len(gc.get_objects()) - objects), "0")
        show("10,000 explorations, memory", f"{more / 1024:.1f} MB", "0 MB")


if __name__ == "__main__":
    main()

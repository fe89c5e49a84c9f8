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
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

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


def least_in_a_command(count: int = 10) -> float:
    """Return the least CPU time of `treadle run`, in a process that has done so before."""
    from treadle.cli import main as command  # with what it loads, all else would look at more

    target = f"{Path(__file__)}::small"
    found = []
    for _ in range(count):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            begin = time.process_time()
            with contextlib.suppress(SystemExit):
                command(["run", target, "--quiet"])
            found.append(time.process_time() - begin)
        assert said.getvalue().startswith("VERIFIED")
    return min(found)


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
from fixed_cost import small
import treadle
begin = time.process_time()
treadle.explore(small, instrument=["sqlalchemy"])
print(time.process_time() - begin)
"""


def in_sqlalchemy(cache: str) -> float | None:
    """Return the CPU time of an exploration with a large package under test, in a new process."""
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", IN_SQLALCHEMY.format(folder=folder)],
        capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "TREADLE_CACHE": cache},
        check=False,
    )  # fmt: skip
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
    show("`treadle run`, all of it", f"{least_in_a_command() * 1000:.1f} ms", "5 ms")
    count = import_many()
    show(f"one exploration, {count} modules", f"{least() * 1000:.1f} ms", "10 ms")
    with tempfile.TemporaryDirectory() as cache:
        for what, goal in (("the first time", "3 s"), ("from the cache", "0.5 s")):
            seconds = in_sqlalchemy(cache)
            told = "not installed" if seconds is None else f"{seconds:.2f} s"
            show(f'instrument=["sqlalchemy"], {what}', told, goal)
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

"""Run a command and keep how long it took; at the end, print what all of them took.

    python scripts/timed.py FILE NAME COMMAND...
    python scripts/timed.py FILE

CPU seconds are those of the command and of all processes that it waited for: unlike the time on
the wall they hardly depend on what else a machine does.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path


def run(kept: Path, name: str, command: list[str]) -> int:
    """Run a command; return its status."""
    began = time.monotonic()
    status = subprocess.run(command).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.monotonic() - began
    with kept.open("a") as file:
        file.write(f"{wall:.1f}\t{used.ru_utime + used.ru_stime:.1f}\t{name}\n")
    return status


def print_table(kept: Path) -> None:
    """Print all commands that ran, and their sum."""
    rows = [line.split("\t") for line in kept.read_text().splitlines()]
    sums = [f"{sum(float(row[column]) for row in rows):.1f}" for column in (0, 1)]
    print(f"{'wall s':>8} {'CPU s':>8}")
    for wall, cpu, name in [*rows, [*sums, "in all"]]:
        print(f"{wall:>8} {cpu:>8}  {name}")


def main(kept: str, name: str = "", *command: str) -> int:
    """Do what the command line asks for."""
    if command:
        return run(Path(kept), name, list(command))
    print_table(Path(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

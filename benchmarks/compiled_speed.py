"""What does compiling give? Run `make compiled`, which has the environment that this needs.

Explores plain threads with the installed package, which is to be a compiled one, and with the
sources of this checkout, which are not, in turn. Rates are executions per second of CPU time, the
best of several rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from printing import print_measurements
from treadle.python.runtime import scheduler

ROUNDS = 2
SOURCES = Path(__file__).parents[1] / "src"


@dataclass(frozen=True)
class Line:
    """The executions per second of one program, both ways."""

    measurement: str
    program: str
    pure: float
    compiled: float
    ratio: float


def rates(quick: bool, path: str) -> dict[str, float]:
    """Return the rate of each program, with the package that a search path leads to."""
    options = ["--rates", "--json", *(["--quick"] if quick else [])]
    printed = subprocess.run(
        [sys.executable, Path(__file__).with_name("threads_speed.py"), *options],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    lines = map(json.loads, printed.splitlines())
    return {line["program"]: line["executions_per_second"] for line in lines}


def compared(quick: bool) -> Iterator[Line]:
    """Measure each program both ways."""
    pure: dict[str, float] = {}
    compiled: dict[str, float] = {}
    for _ in range(ROUNDS):
        for best, path in ((pure, str(SOURCES)), (compiled, "")):
            for program, rate in rates(quick, path).items():
                best[program] = max(rate, best.get(program, 0))
    for program, rate in compiled.items():
        yield Line("executions per second", program, pure[program], rate, rate / pure[program])


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller programs")
    parser.add_argument("--json", action="store_true", help="one object per line")
    options = parser.parse_args()
    if scheduler.__file__.endswith(".py"):
        parser.error("the installed package is not compiled: run `make compiled`")
    print_measurements([compared(options.quick)], as_json=options.json)


if __name__ == "__main__":
    main()

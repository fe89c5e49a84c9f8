"""Compare thousands of small programs by real threads with their exploration.

`python scripts/differential.py --count 1000 --seed 7` draws programs over the methods and operators
of the built-in containers, runs each by real threads with a switch forced at every place, explores
it, and prints what real threads showed and the exploration did not reach. With `--algorithms all`
every algorithm is compared with `exhaustive`, too. The status is 1 if something differs.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import real_threads  # noqa: E402
from differential import REDUCTIONS, compare, reached  # noqa: E402
from differential_programs import KINDS, Program, drawn  # noqa: E402

_PATIENCE = 120.0
"""Seconds that a program may take."""


def main() -> int:
    """Run the comparison."""
    arguments = _arguments()
    programs: list[Program] = [
        program
        for program in drawn(arguments.count, arguments.seed)
        if arguments.kind in ("", program.kind)
    ]
    algorithms = ("exhaustive", *REDUCTIONS) if arguments.algorithms == "all" else ("optimal",)
    began = time.monotonic()
    wrong = cut = shown = 0
    for number, program in enumerate(programs):
        if arguments.seconds and time.monotonic() - began > arguments.seconds:
            programs = programs[:number]
            break
        faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        found = compare(
            program, algorithms=algorithms, limit=arguments.limit, twice=arguments.twice
        )
        if arguments.luck:
            found.wrong += _by_luck(program, arguments.luck, arguments.limit)
        wrong += bool(found.wrong)
        cut += not found.complete
        shown += found.shown
        for line in found.wrong:
            print(f"{program}\n    {line}", flush=True)
    print(
        f"{len(programs)} programs, {shown} outcomes of real threads: {wrong} programs differ, "
        f"{cut} not explored to the end, {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


def _by_luck(program: Program, runs: int, limit: int) -> list[str]:
    """Return what threads showed that switched when they liked, and nobody reached."""
    outcomes, result = reached(program, "optimal", "gil", limit)
    if not result.complete:
        return []
    return [f"gil: misses {one}, by luck" for one in real_threads.by_luck(program, runs) - outcomes]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="programs to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="", choices=("", *KINDS), help="only such objects")
    parser.add_argument("--algorithms", default="optimal", choices=("optimal", "all"))
    parser.add_argument("--limit", type=int, default=3000, help="executions per exploration")
    parser.add_argument("--twice", type=int, default=0, help="two switches, at every N-th place")
    parser.add_argument("--luck", type=int, default=0, help="runs without forced switches")
    parser.add_argument("--seconds", type=float, default=0, help="end after this time")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

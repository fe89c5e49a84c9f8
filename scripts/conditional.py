"""Random programs with open steps, conditional writes and equal values, against brute force.

    python scripts/conditional.py --programs 50000

For each program every algorithm that leaves orders out has to reach exactly the final states that
all interleavings reach. What differs is printed as the program's number, with which `--only` runs
it again, and the script ends with status 1. The tests run a few hundred of the same programs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from algorithms import coarser
from conditional_programs import SHAPES, draw, lines_of, missed
from treadle.explore.choosers import SCHEDULES


def wrong_of(number: int, algorithms: list[str], *, verbose: bool) -> list[str]:
    """Return the algorithms that are wrong about a program, by its number."""
    shape = list(SHAPES)[number % len(SHAPES)]
    schedule = list(SCHEDULES)[number // len(SHAPES) % len(SCHEDULES)]
    processes = draw(random.Random(number), SHAPES[shape])
    wrong = []
    for algorithm in algorithms:
        differing = missed(processes, algorithm, schedule)
        if differing:
            wrong.append(algorithm)
            print(f"{number} ({shape}, {schedule}) {algorithm}: {sorted(map(str, differing))}")
    if wrong and verbose:
        for process in processes:
            print("\n    ".join(["process:", *lines_of(process)]))
    return wrong


def main() -> int:
    """Run the programs that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--since", type=int, default=0)
    parser.add_argument("--only", type=int, action="append")
    parser.add_argument("--algorithm", action="append", choices=coarser())
    options = parser.parse_args()
    numbers = options.only or range(options.since, options.since + options.programs)
    wrong: Counter[str] = Counter()
    started = time.process_time()
    for done, number in enumerate(numbers):
        if done and done % 1000 == 0:
            print(f"{done} programs, {sum(wrong.values())} wrong", file=sys.stderr, flush=True)
        found = wrong_of(number, options.algorithm or coarser(), verbose=bool(options.only))
        wrong.update(found)
    seconds = time.process_time() - started
    print(f"{len(numbers)} programs, {sum(wrong.values())} wrong {dict(wrong)}, {seconds:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

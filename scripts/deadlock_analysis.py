"""How precise the static deadlock analysis is, on random programs of actors.

`python scripts/deadlock_analysis.py [--programs 1000]` analyses random programs, explores each, and
prints how many of those without a deadlock are proved free and how many raise a false alarm. It
fails if a deadlock is missed. *Plain* programs have sends, waits, branches and conditions; *rich*
ones also have futures in fields and lists, new and local actors, calls, loops and exceptions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "actors")]

from judged import Judgement, judge  # noqa: E402 - it is beside the tests


def main() -> int:
    """Print a line for each sort of programs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=1000, help="how many of each sort")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.programs)
    missed = 0
    for sort in ("plain", "rich"):
        found = judge(seeds, plain=sort == "plain")
        print(f"{sort:<6}{_in_words(found)}")
        missed += len(found.missed) + len(found.not_understood)
    return 1 if missed else 0


def _in_words(found: Judgement) -> str:
    counts = found.counts
    return (
        f"{found.programs} programs, {counts['deadlock']} with deadlocks, {len(found.missed)} missed; "
        f"of the others {counts['proved']} proved free ({found.share('proved'):.1%}), "
        f"{counts['false alarm']} false alarms ({found.share('false alarm'):.1%}), "
        f"{counts['condition']} cycles through conditions only; {counts['too large']} too large"
    )


if __name__ == "__main__":
    sys.exit(main())

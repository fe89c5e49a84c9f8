"""Compare thousands of small programs by real threads with their exploration.

`python scripts/differential.py --count 1000 --seed 7` draws programs over the methods and operators
of the built-in containers, runs each by real threads with a switch forced at every place, explores
it, and prints what real threads showed and the exploration did not reach. With `--algorithms all`
every algorithm is compared with `exhaustive`, too. Each program runs in a process of its own, for
at most `--patience` seconds: one that hangs is named, and the others go on. The status is 1 if
something differs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import real_threads  # noqa: E402
from differential import REDUCTIONS, Comparison, compare, reached  # noqa: E402
from differential_programs import KINDS, Program, drawn  # noqa: E402

_FORK = multiprocessing.get_context("fork")


def main() -> int:
    """Run the comparison."""
    arguments = _arguments()
    programs: list[Program] = [
        program
        for program in drawn(arguments.count, arguments.seed)
        if arguments.kind in ("", program.kind)
    ]
    began = time.monotonic()
    ran = wrong = named = cut = shown = late = 0
    for program in programs:
        if arguments.seconds and time.monotonic() - began > arguments.seconds:
            break
        ran += 1
        found = _apart(program, arguments)
        if found is None:
            late += 1
            print(f"{program}\n    took too long", flush=True)
            continue
        wrong += bool(found.wrong)
        named += bool(found.named)
        cut += not found.complete
        shown += found.shown
        for line in found.wrong:
            print(f"{program}\n    {line}", flush=True)
        if ran % 100 == 0:
            print(f"{ran} programs, {wrong} differ", file=sys.stderr, flush=True)
    print(
        f"{ran} programs, {shown} outcomes of real threads: {wrong} programs differ, {named} inside "
        f"of libraries that the verdict names, {cut} not explored to the end, {late} took too long, {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


def _apart(program: Program, arguments: argparse.Namespace) -> Comparison | None:
    """Return what is found out about a program in a process of its own; None if it hangs."""
    here, there = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_compare_and_tell, args=(program, arguments, there))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(arguments.patience) else None
    except EOFError:
        child.join()
        return Comparison(program, [f"ended with status {child.exitcode}"])
    finally:
        child.kill()
        child.join()
        here.close()


def _compare_and_tell(program: Program, arguments: argparse.Namespace, there: Connection) -> None:
    algorithms = ("exhaustive", *REDUCTIONS) if arguments.algorithms == "all" else ("optimal",)
    found = compare(program, algorithms=algorithms, limit=arguments.limit, twice=arguments.twice)
    if arguments.luck:
        found.wrong += _by_luck(program, arguments.luck, arguments.limit)
    there.send(found)


def _by_luck(program: Program, runs: int, limit: int) -> list[str]:
    """Return what threads showed that switched when they liked, and nobody reached."""
    outcomes, result = reached(program, "optimal", "gil", limit)
    if result.notes or not result.complete:
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
    parser.add_argument("--patience", type=float, default=60, help="seconds for each program")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

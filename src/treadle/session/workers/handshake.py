"""The same program in every process, or none: what a hand has to agree with before it begins.

Processes that import a test by name may see another one: other sources, another version of Python,
another order of a set of strings. Their parts would not add up, and nobody would notice. So each
runs the natural execution, and says what its steps are.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from treadle.core.events import Mode, mode_of
from treadle.core.program import Program, Restart
from treadle.core.version import __version__
from treadle.core.words import OPERATIONS, access_in_words
from treadle.explore.budget import MAX_STEPS
from treadle.session.workers.naming import module_of

_SHOWN = frozenset(OPERATIONS) - {Mode.PASS}


@dataclass(frozen=True, slots=True)
class Facts:
    """What two processes that run the same program have in common."""

    python: str
    treadle: str
    sources: str
    """A digest of the file that the test is in."""
    steps: tuple[str, ...]
    """What each step of the natural execution does, in words."""


def facts_of(program: Program, test: object) -> Facts:
    """Run the natural execution, and say what there is."""
    while True:
        run = program.start()
        processes: list[int] = []
        codes: list[tuple[int, ...]] = []
        run.finish(-1, MAX_STEPS, processes, codes)
        try:
            run.close()
        except Restart:
            continue
        break
    vocabulary = program.vocabulary
    steps = []
    for process, accesses in zip(processes, codes, strict=True):
        shown = [access_in_words(one, vocabulary) for one in accesses if mode_of(one) in _SHOWN]
        words = " and ".join(f"{one.operation} {one.location}" for one in shown)
        steps.append(f"{vocabulary.process_names[process]}: {words}")
    module = module_of(test)
    file = getattr(module, "__file__", None)
    content = Path(file).read_bytes() if file and Path(file).is_file() else b""
    version = ".".join(map(str, sys.version_info[:3]))
    return Facts(version, __version__, hashlib.sha256(content).hexdigest(), tuple(steps))


def difference(found: Facts, wanted: Facts) -> str:
    """Say in which way a process does not run the same program; nothing if it does."""
    if found.python != wanted.python:
        return f"it has Python {found.python}, not {wanted.python}"
    if found.treadle != wanted.treadle:
        return f"it has Treadle {found.treadle}, not {wanted.treadle}"
    if found.sources != wanted.sources:
        return "the file of the test differs there"
    for at, (one, other) in enumerate(zip_longest(found.steps, wanted.steps, fillvalue="nothing")):
        if one != other:
            return (
                f"step {at + 1} is {one!r} instead of {other!r}; set PYTHONHASHSEED=0 if the test "
                f"depends on the order of a set"
            )
    return ""

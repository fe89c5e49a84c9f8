"""The same program in every process, or none: what a hand has to agree with before it begins.

Processes that import a test by name may see another one: other sources, another version of Python,
another order of a set of strings. Their parts would not add up, and nobody would notice. So each
says what the test is made of, runs the natural execution, and says what its steps are.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from treadle.core.events import Mode, mode_of
from treadle.core.program import Program, Restart
from treadle.core.version import __version__
from treadle.core.words import OPERATIONS, access_in_words
from treadle.explore.budget import MAX_STEPS
from treadle.session.workers import sources

_SHOWN = frozenset(OPERATIONS) - {Mode.PASS}


@dataclass(frozen=True, slots=True)
class Facts:
    """What two processes that run the same program have in common."""

    python: str
    treadle: str
    own: str
    """A digest of Treadle's sources."""
    options: Mapping[str, str]
    """How the test is explored, in words."""
    files: Mapping[str, str]
    """Digests of the test's file and of the user's modules that it uses."""
    packages: Mapping[str, str]
    """Digests of what is instrumented."""
    features: tuple[str, ...]
    """What the natural execution taught about what is a step."""
    steps: tuple[str, ...]
    """What each step of the natural execution does, in words."""


def facts_of(program: Program, test: object, options: Mapping[str, object]) -> Facts:
    """Say what the test is made of, run the natural execution, and say what is in it."""
    known = program.knowledge()
    program.know(())  # as one who begins
    try:
        steps, features = _natural_steps(program), program.knowledge()
    finally:
        program.know(known)
    return Facts(
        python_in_words(),
        __version__,
        sources.of_treadle(),
        {name: repr(value) for name, value in options.items()},
        sources.files_of(test),
        sources.packages_of(program),
        features,
        steps,
    )


def python_in_words() -> str:
    """Return which Python this is."""
    kind = " free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return ".".join(map(str, sys.version_info[:3])) + kind


def _natural_steps(program: Program) -> tuple[str, ...]:
    """Return what is done in the natural execution, once nothing is learned from it any more."""
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
    return tuple(steps)


def difference(found: Facts, wanted: Facts) -> str:
    """Say in which way a process does not run the same program; nothing if it does."""
    return next(_differences(found, wanted), "")


def _differences(found: Facts, wanted: Facts) -> Iterator[str]:
    if found.python != wanted.python:
        yield f"it has Python {found.python}, not {wanted.python}"
    if found.treadle != wanted.treadle:
        yield f"it has Treadle {found.treadle}, not {wanted.treadle}"
    if found.own != wanted.own:
        yield f"its Treadle {found.treadle} has other sources: install the same one"
    for name in sorted({*found.options, *wanted.options}):
        here, there = wanted.options.get(name, "none"), found.options.get(name, "none")
        if here != there:
            yield f"it explores with {name}={there}, not {here}"
    for name in _in_both(found.files, wanted.files):
        yield f"{name} has other content there"
    for name in _in_both(found.packages, wanted.packages):
        yield f"the package {name!r} of `instrument` has other content there"
    yield from _differing_steps(found, wanted)


def _in_both(found: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    """Yield what differs; whatever is loaded in one process only, the test does without."""
    return (name for name in sorted(wanted) if found.get(name, wanted[name]) != wanted[name])


def _differing_steps(found: Facts, wanted: Facts) -> Iterator[str]:
    seeds = "set PYTHONHASHSEED=0 if the test depends on the order of a set"
    for at, (one, other) in enumerate(zip_longest(found.steps, wanted.steps, fillvalue="nothing")):
        if one != other:
            yield f"step {at + 1} is {one!r} instead of {other!r}; {seeds}"
    for name in sorted({*found.features} ^ {*wanted.features}):
        whose = "is" if name in found.features else "is not"
        yield f"{name!r} {whose} shared in its natural execution; {seeds}"

"""From two blocks to their constraints: all paths of both orders, and what makes them commute."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from treadle.core.listed import Constrained, Untranslated
from treadle.smt.code import Code, NotTranslatedError, Shared
from treadle.smt.commuting import SIDES, Pair, Relied
from treadle.smt.cubes import Cubes
from treadle.smt.execution import Execution
from treadle.smt.on_path import UnsureError
from treadle.smt.paths import Path, TooManyPathsError, explore
from treadle.smt.solver import Encoder
from treadle.smt.store import Store
from treadle.smt.terms import in_python

MOST_PATHS = 64
"""Paths that one block may have."""
_MOST_OF_BOTH = 512


@dataclass(frozen=True, slots=True)
class Synthesised:
    """What is known of two blocks: they commute wherever one of the constraints holds."""

    constraints: tuple[str, ...]
    """Python over `s`, `first`, `second`; `True`: in every state."""
    is_exact: bool
    """Whether they commute nowhere else."""
    relied_on: frozenset[str] = frozenset()
    """Shared names that have to hold values of the kinds that were assumed."""
    locals: Mapping[str, frozenset[str]] | None = None
    """Local names that have to, by side."""
    seconds: float = 0.0

    def listed(self, first: str, second: str) -> Constrained:
        """Return it as data, for blocks that have names."""
        return Constrained(
            first, second, self.constraints, self.is_exact, "synthesised", self.seconds
        )


def untranslated(code: Code, shared: Mapping[str, Shared]) -> Untranslated | None:
    """Say why a block is not understood; None if it is."""

    def run(path: Path) -> None:
        block = Execution(code, SIDES[0], path, Store(path, shared, set()), set())
        try:
            if block.is_enabled():
                block.run()
        except UnsureError:
            return

    try:
        explore(Encoder(), run, MOST_PATHS)
    except NotTranslatedError as error:
        return Untranslated(code.name, error.line, error.reason)
    except TooManyPathsError:
        line = code.origin[0] if code.origin else code.definition.lineno
        return Untranslated(code.name, line, f"it has more than {MOST_PATHS} paths")
    return None


def synthesise(
    first: Code, second: Code, shared: Mapping[str, Shared], *, crossing: bool = False
) -> Synthesised:
    """Find where two blocks commute: nowhere, as far as is known, if one is not understood."""
    start = time.process_time()
    if untranslated(first, shared) or untranslated(second, shared):
        return Synthesised((), False, seconds=time.process_time() - start)
    pair = Pair((first, second), shared, crossing=crossing)
    encoder = Encoder()
    try:
        leaves = explore(encoder, pair.commute, _MOST_OF_BOTH)
        cubes = Cubes(encoder, leaves)
        is_exact = cubes.look()
    except (NotTranslatedError, TooManyPathsError):
        return Synthesised((), False, seconds=time.process_time() - start)
    texts = tuple(dict.fromkeys(map(in_python, cubes.found)))
    return _with(pair.relied, Synthesised(texts, is_exact, seconds=time.process_time() - start))


def _with(relied: Relied, found: Synthesised) -> Synthesised:
    locals_ = {side: frozenset(names) for side, names in relied.locals.items()}
    return replace(found, relied_on=frozenset(relied.shared), locals=locals_)

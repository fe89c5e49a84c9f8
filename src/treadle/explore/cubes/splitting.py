"""Where to split a cube: on pairs of steps that race in either order in random walks.

The search so far has seen one corner of the space; walks see all of it, if not evenly. Of each
pair, every walk says which step came first, if both took place and conflict. A good pair does so in
all walks (its quality is 1: then no execution is begun in vain), and pairs are chosen one after
the other so that together they divide the walks as evenly as they can.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from treadle.core.happens_before import Trace
from treadle.core.program import Program
from treadle.explore.cubes.narrowed import Narrowed
from treadle.explore.cubes.order import Cube, Order, Step, split

WALKS = 24
"""Random walks for each split."""
QUALITY = 0.97
"""Share of the walks in which the steps of a pair have to conflict."""
GAIN = 0.25
"""Bits by which a pair has to make the parts more even."""

Pair = tuple[Step, Step]


def parts_of(program: Program, cube: Cube, pairs: int, max_steps: int) -> dict[Cube, float]:
    """Split a cube on up to so many pairs; if there is none, it is all there is.

    Each part comes with the share of the cube that it is likely to be: that of the walks in it,
    where no walk at all counts as half a one.
    """
    walks = list(walks_in(program, cube, max_steps))
    parts = {cube: walks}
    for pair in chosen_pairs(walks, pairs):
        parts = {
            part: [walk for walk in inside if walk.obeys(part[-1])]
            for whole, inside in parts.items()
            for part in split(whole, *pair)
        }
    weights = {part: len(inside) or 0.5 for part, inside in parts.items()}
    total = sum(weights.values())
    return {part: weight / total for part, weight in weights.items()}


def coarse_parts_of(program: Program, cube: Cube, pairs: int, max_steps: int) -> list[Cube]:
    """Split a cube on races of its natural execution alone: for one in which others cannot be run.

    It is as exact as any other splitting, but may be much less even.
    """
    run = Narrowed(program, cube).start()
    trace = Trace(program.vocabulary)
    run.finish(-1, max_steps, trace.processes, trace.codes)
    run.close()
    trace.complete()
    trace.extend()
    races = list(Walk(trace).races())
    parts = [cube]
    for a, b in races[:: max(1, len(races) // pairs)][:pairs]:
        parts = [part for whole in parts for part in split(whole, a, b)]
    return parts


class Walk:
    """What one random walk says about pairs of steps."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        names, taken = trace.vocabulary.process_names, Counter[int]()
        self.steps: list[Step] = []
        for process in trace.processes:
            self.steps.append(Step(names[process], taken[process]))
            taken[process] += 1
        self.index = {step: index for index, step in enumerate(self.steps)}

    def races(self) -> Iterator[Pair]:
        """Yield the steps of each race, in their order here."""
        trace = self.trace
        for judged in (trace.races, trace.altered, trace.undecided):
            for race in judged:
                yield self.steps[race.first], self.steps[race.second]

    def obeys(self, order: Order) -> bool:
        """Tell whether the first step of an order comes first."""
        first, second = self.index.get(order.first), self.index.get(order.second)
        return first is not None and (second is None or first < second)

    def side(self, pair: Pair) -> int:
        """Return 1 if the first step of a pair comes first, -1 if the second, 0 if neither."""
        a, b = (self.index.get(step, -1) for step in pair)
        if a < 0 or b < 0:
            return 0
        footprints = self.trace.footprints
        if not footprints[a].conflicts_with(footprints[b]):
            return 0
        return 1 if a < b else -1


def walks_in(program: Program, cube: Cube, max_steps: int) -> Iterator[Walk]:
    """Walk through a cube at random, the same way wherever that is done."""
    narrowed = Narrowed(program, cube)
    choices = random.Random(hashlib.sha256(repr(cube).encode()).digest())
    for _ in range(WALKS):
        run = narrowed.start()
        trace = Trace(program.vocabulary)
        trace.edges = narrowed.edges
        while (enabled := run.enabled()) and len(trace) < max_steps:
            process = choices.choice(enabled)
            trace.append(process, run.step(process))
        run.close()
        trace.extend()
        yield Walk(trace)


def chosen_pairs(walks: Sequence[Walk], wanted: int) -> list[Pair]:
    """Choose pairs, the best `quality³ × entropy` first, while they divide the walks further."""
    seen = dict.fromkeys(pair for walk in walks for pair in walk.races())
    sides = {
        (a, b): [walk.side((a, b)) for walk in walks] for a, b in seen if a < b and (b, a) in seen
    }
    qualities = {pair: sum(map(abs, signs)) / len(walks) for pair, signs in sides.items()}
    good = [pair for pair in sides if qualities[pair] >= QUALITY]
    chosen: list[Pair] = []
    parts: list[tuple[int, ...]] = [() for _ in walks]
    while good and len(chosen) < wanted:
        entropies = {
            pair: _entropy((*part, side) for part, side in zip(parts, sides[pair], strict=True))
            for pair in good
        }
        best = max(good, key=lambda pair: (qualities[pair] ** 3 * entropies[pair], pair))
        if entropies[best] - _entropy(parts) < GAIN:
            break
        chosen.append(best)
        good.remove(best)
        parts = [(*part, side) for part, side in zip(parts, sides[best], strict=True)]
    return chosen


def _entropy(parts: Iterable[tuple[int, ...]]) -> float:
    """Return how evenly something is divided, in bits."""
    counts = Counter(parts).values()
    total = sum(counts)
    return -sum(count / total * math.log2(count / total) for count in counts)

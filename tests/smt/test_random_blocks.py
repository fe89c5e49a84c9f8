"""What is found for random blocks, against execution of both orders over a box."""

from __future__ import annotations

import pytest

from random_blocks import BOX, Writer
from treadle.core.listed import Untranslated


def check(seeds: range) -> tuple[int, int]:
    """Compare; return how many results were exact, and how many blocks had too many paths."""
    exact = refused = 0
    for seed in seeds:
        pair = Writer(seed).pair()
        unknown = [
            one
            for one in pair.program().list_constraints("synthesised")
            if isinstance(one, Untranslated)
        ]
        if unknown:
            assert {one.reason for one in unknown} == {"it has more than 64 paths"}, seed
            refused += 1
            continue
        truths = (False, True) if pair.shared["z"] is True else (-1, 0)
        found, _ = pair.check({**BOX, "z": truths})
        exact += found.exact
    return exact, refused


def test_a_sample() -> None:
    exact, refused = check(range(25))
    assert exact > 10
    assert refused < 4


@pytest.mark.slow
@pytest.mark.minutes
def test_many() -> None:
    exact, refused = check(range(25, 600))
    assert exact > 300
    assert refused < 60

"""Algorithms that see fewer classes, against brute force on random programs.

Every failing assertion, exception and deadlock that any interleaving reaches is found by each of
them. `observers` completes exactly one execution of each class modulo observability; the others
never complete two of one class, and those that compare states reach all final states.
"""

from __future__ import annotations

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from brute import Dependence, Everything, Explored, Observed, brute_force, explored
from random_programs import Body
from test_properties import FAMILIES, FORMS, everything_of, in_both_forms, programs
from treadle.explore.choosers import SCHEDULES

COARSER = ("observers", "context", "optimal-context", "optimal-context-observers")

# Whoever wants these families as well takes `FAMILIES` from here, whatever is imported first.
FAMILIES["values"] = ("write", "write", "store", "check", "increment")
FAMILIES["blocks"] = ("atomic", "write", "read", "check", "locked")


def differences(algorithm: str, found: Explored, expected: Everything) -> list[str]:
    """Say in what an exploration differs from what it has to be like."""
    reported = {(failure.kind, failure.message) for failure in found.result.failures}
    compares_states = algorithm in ("context", "optimal-context")
    checks = {
        "failures": found.failures == expected.failures,
        "failures in the result": reported == expected.failures,
        "completeness": found.result.complete,
        "final states": not compares_states or found.final_states == expected.final_states,
        "executions per class": len(found.classes) == len(set(found.classes)),
        "classes": algorithm != "observers" or set(found.classes) == expected.classes,
        "blocked executions": algorithm != "observers" or found.result.blocked == 0,
    }
    return [what for what, holds in checks.items() if not holds]


@pytest.mark.parametrize("family", FAMILIES)
@in_both_forms
@pytest.mark.parametrize(
    ("examples", "limit"),
    [
        pytest.param(10, 60, id="few"),
        pytest.param(60, 120, id="many", marks=[pytest.mark.slow, pytest.mark.minutes]),
        pytest.param(500, 400, id="more", marks=[pytest.mark.slow, pytest.mark.minutes]),
    ],
)
def test_no_failure_is_missed(family: str, form: str, examples: int, limit: int) -> None:
    make = FORMS[form]

    @seed(examples)
    @settings(max_examples=examples)
    @given(bodies=programs(family), schedule=st.sampled_from(list(SCHEDULES)))
    def agree(bodies: list[Body], schedule: str) -> None:
        plain = everything_of(make(bodies), limit)
        observed = brute_force(make(bodies), limit, Observed)
        for algorithm in COARSER:
            sees_less = algorithm == "observers"
            found = explored(
                make(bodies), algorithm, schedule, order=Observed if sees_less else Dependence
            )
            expected = observed if sees_less else plain
            assert not differences(algorithm, found, expected), algorithm

    agree()

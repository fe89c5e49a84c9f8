"""What real threads show is reached, by every algorithm (`scripts/differential.py` tries more)."""

from __future__ import annotations

import os

import pytest

from algorithms import covering
from differential import compare
from differential_programs import KINDS, Program, drawn, statements

SAMPLE = list(drawn(2 * int(os.environ.get("TREADLE_EXAMPLES", "20")), seed=13))
WITH_ALL = list(drawn(6, seed=14))


@pytest.mark.parametrize("program", SAMPLE, ids=str)
def test_real_threads_show_nothing_else(program: Program) -> None:
    found = compare(program)
    assert found.wrong == []
    assert found.complete
    assert found.shown


@pytest.mark.parametrize("program", WITH_ALL, ids=str)
def test_all_algorithms_reach_the_same(program: Program) -> None:
    found = compare(program, algorithms=covering(), limit=1500)
    assert found.wrong == []


def test_each_statement_can_be_compiled() -> None:
    for kind in KINDS:
        for statement in statements(kind):
            Program(kind, statement, "len(x)").module()

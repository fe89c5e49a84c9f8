"""The analysis ends on any package, and says so if it was cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.analyses.lock_order import lock_order_of, order, points_to
from treadle.analyses.lock_order.effort import Effort, TooMuch

_SOURCE = """
import threading

A = threading.Lock()
B = threading.Lock()

def one():
    with A, B:
        pass

def two():
    with B, A:
        pass
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A program with one cycle."""
    path = tmp_path / "program.py"
    path.write_text(_SOURCE)
    return path


def test_what_is_cut_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (points_to, order):
        with monkeypatch.context() as changed:
            changed.setattr(module, "_MOST", 3)
            found = lock_order_of([file])
        assert any(one.startswith("there is too much code") for one in found.not_understood)


def test_nothing_is_said_if_nothing_is_cut(file: Path) -> None:
    found = lock_order_of([file])
    assert len(found.candidates) == 1
    assert found.not_understood == []


def test_effort_is_spent_once() -> None:
    effort = Effort(2)
    effort.spend(2)
    assert not effort.is_spent
    with pytest.raises(TooMuch):
        effort.spend(1)
    effort.spend(1)  # what comes after is gone through with what is known
    assert effort.is_spent


@pytest.mark.parametrize("values", [20, 40])
def test_values_that_meet_everywhere_come_to_an_end(tmp_path: Path, values: int) -> None:
    functions = "\n".join(
        f"def f{n}(*args, **kwargs):\n    return [f{m}(*args, **kwargs) for m in range({values})]"
        if n % 2
        else f"def f{n}(x):\n    return f{n + 1}(x, f{n}, *x, **x)"
        for n, m in zip(range(values), range(1, values + 1), strict=True)
    )
    path = tmp_path / "program.py"
    path.write_text(f"{functions}\ndef f{values}(*args, **kwargs):\n    return args\n")
    assert lock_order_of([path]).candidates == []

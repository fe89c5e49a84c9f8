"""How long shrinking takes: a busy machine does not cut it short, a program that blocks does."""

from __future__ import annotations

import pytest

from treadle.findings.shrink import effort


@pytest.mark.parametrize(
    ("trials", "spent"),
    [
        ([(1.0, 1.0), (2.0, 2.0)], 3.0),  # a processor of its own
        ([(1.0, 0.05), (20.0, 1.0)], 1.05),  # one that many share
        ([(1.0, 0.001), (1.0, 0.0)], 2.0),  # it waits
        ([(1.0, 0.001), (1.0, 0.5)], 1.5),
    ],
)
def test_time_is_the_processors_while_something_computes(
    trials: list[tuple[float, float]], spent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0, 0.0]
    monkeypatch.setattr(effort, "perf_counter", lambda: now[0])
    monkeypatch.setattr(effort, "process_time", lambda: now[1])
    clock = effort.Effort()
    assert clock.seconds() == 0
    for wall, cpu in trials:
        now[0] += wall
        now[1] += cpu
        found = clock.seconds()
    assert found == pytest.approx(spent)

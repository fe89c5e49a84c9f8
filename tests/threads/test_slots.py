"""What is bound late is bound only while a test is explored."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import treadle
from treadle.python.accesses import calls  # noqa: F401 - binds a slot when it is imported
from treadle.python.runtime import slots
from treadle.threads import program as _loaded  # noqa: F401 - binds what is bound for good


def passing() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def failing() -> None:
    passing()
    raise AssertionError


def inside() -> None:
    assert slots.program is not None
    assert slots.program.name
    assert slots.hand_out is not slots.nobody


@pytest.mark.parametrize("test", [passing, failing, inside])
def test_slots_are_free_after_an_exploration(test: Callable[[], None]) -> None:
    before = dict(vars(slots))
    for failure in treadle.explore(test).failures:
        str(failure)  # recorded
    assert vars(slots) == before

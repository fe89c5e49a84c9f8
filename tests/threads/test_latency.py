"""Time that people mean: long waits end when nothing else can go on, in the order of deadlines."""

from __future__ import annotations

import os
import queue
import threading
import time
from typing import Any

import pytest
from lock_plans import Planned, Shared, compare, random_plans

from treadle.python.runtime.patience import Patience


def everything() -> Shared:
    return {
        "t": time,
        "e": threading.Event(),
        "l": threading.Lock(),
        "s": threading.Semaphore(1),
        "q": queue.Queue(1),
        "b": threading.Barrier(2),
    }


FAMILIES = {
    "event": [
        "t.sleep 1", "t.sleep 2", "t.sleep 0.3", "e.wait 1", "e.wait 0.2", "e.wait 3", "e.set",
        "e.clear", "e.is_set", "t.monotonic",
    ],
    "lock": [
        "t.sleep 1", "t.sleep 0.3", "l.acquire", "l.release", "l.timed 1", "l.timed 0.2",
        "l.timed 2", "l.locked", "t.monotonic",
    ],
    "semaphore": [
        "t.sleep 1", "t.sleep 0.3", "s.acquire", "s.release", "s.timed 1", "s.timed 0.2",
        "t.monotonic", "e.set", "e.wait 1",
    ],
    "queue": [
        "t.sleep 1", "q.get 1", "q.get 0.2", "q.get 2", "q.put", "q.put 1", "q.put 0.2", "q.qsize",
        "t.monotonic",
    ],
    "barrier": ["t.sleep 1", "b.wait 1", "b.wait 0.2", "b.wait", "b.wait 2", "e.set", "e.wait 1"],
    "mixed": [
        "t.sleep 1", "t.sleep 0.3", "t.sleep 0.4", "e.wait 1", "e.set", "l.acquire", "l.release",
        "l.timed 1", "q.get 1", "q.put 1", "t.monotonic", "e.clear",
    ],
}  # fmt: skip
POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"given": 0.25},
    "last": {"timeouts": "last"},
    "never": {"timeouts": "never"},
    "explore": {"timeouts": "explore"},
}
COUNT = int(os.environ.get("TREADLE_PLANS", "3"))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_plans_against_brute_force(family: str, policy: str) -> None:
    program = Planned(everything, patience=Patience(**POLICIES[policy]))
    plans = random_plans(FAMILIES[family], COUNT, seed=os.environ.get("TREADLE_SEED", policy))
    with program.controlled():
        compared = [compare(program, plan, 150 if COUNT == 3 else 400) for plan in plans]
    assert any(compared)

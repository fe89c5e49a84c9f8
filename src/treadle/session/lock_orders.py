"""Deadlocks of threads: cycles of locks in a package's source, and what a test says about them.

The source alone gives candidates, and proves nothing. A test is explored with those executions
first that lead to the candidates of its code; it confirms some and, if everything was seen, refutes
the others for this test.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from treadle.analyses.lock_order import Candidate, LockOrder, lock_order_of
from treadle.analyses.lock_order.order import Edge
from treadle.core.deadlocks import UNDECIDED, DeadlockCycle, Deadlocks, Link
from treadle.core.result import Result
from treadle.core.words import place_in_words
from treadle.explore.progress import Listener
from treadle.session.deadlocks import STOPPED, Stop, never
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.threads.program import ThreadProgram
from treadle.threads.towards_deadlock import is_shown_by

HOLDS, OWES = "holds", "owes"
"""How a thread of a cycle of locks waits: with a lock in hand, or owing something to others."""
_NO_PROOF = "the source of threads gives candidates only: nothing is proved by it"


def lock_orders(files: Iterable[Path], *, target: str) -> Deadlocks:
    """Return the candidates that the source of some files shows; none of them is decided."""
    started = time.perf_counter()
    order = lock_order_of(files, Path.cwd())
    cycles = [_cycle(one) for one in order.candidates]
    found = Deadlocks(target, cycles=cycles, notes=[_NO_PROOF, *_gaps(order)])
    for cycle in found.cycles:
        cycle.reason = "explore a test to confirm or refute it"
    found.seconds = time.perf_counter() - started
    return found


def lock_orders_of_test(
    test: object,
    settings: Settings,
    *,
    target: str,
    listener: Listener | None = None,
    is_stopped: Stop = never,
) -> Deadlocks:
    """Explore a test with threads, towards the candidates of its code first."""
    started = time.perf_counter()
    wanted = {"towards_deadlock": True, "stop_on_failure": False}
    with opened(test, settings.changed(wanted)) as session:
        result = session.explore(listener=listener, is_enough=lambda *_: is_stopped())
        if is_stopped() and not result.complete:
            result.stopped_by = STOPPED
        session.record(*result.failures, explained=False)
        assert isinstance(session.program, ThreadProgram)
        assert session.program.towards is not None
        towards = session.program.towards
    found = Deadlocks(target, notes=_gaps(towards.lock_order))
    for candidate, verdict in towards.verdicts(result.failures, is_complete=result.complete):
        found.cycles.append(_judged(candidate, verdict, result))
    known = {id(failure) for cycle in found.cycles for failure in cycle.failures}
    found.notes += [
        f"not among the candidates: {one}"
        for one in result.failures
        if one.kind == "deadlock" and id(one) not in known
    ]
    found.free = result.complete and not any(one.waits for one in result.failures)
    found.notes += ["proved for this test only: all of its executions were seen"] * found.free
    found.seconds = time.perf_counter() - started
    return found


def _judged(candidate: Candidate, verdict: str, result: Result) -> DeadlockCycle:
    cycle = _cycle(candidate)
    cycle.verdict = verdict
    cycle.failures = [one for one in result.failures if is_shown_by(candidate, one)]
    cycle.reason = result.stopped_by if verdict == UNDECIDED else ""
    return cycle


def _gaps(order: LockOrder) -> list[str]:
    return [f"not understood: {one}" for one in order.not_understood]


def _cycle(candidate: Candidate) -> DeadlockCycle:
    return DeadlockCycle("deadlock", tuple(_link(edges[0]) for edges in candidate.links))


def _link(edge: Edge) -> Link:
    return Link(
        method=edge.function,
        file=place_in_words((edge.place.file, edge.place.line)).rpartition(":")[0],
        line=edge.place.line,
        wait=HOLDS if edge.source.is_lock else OWES,
        awaited=edge.names[1],
        held=edge.names[0],
        holder=edge.function,
    )

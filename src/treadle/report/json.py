"""Results and failures for other programs: dictionaries that `json.dumps` takes.

A result (`schema` is `treadle.result/1`):

    schema, program, algorithm   what was explored, and how; `target` too if the command line did it
    verdict                      "verified", "failed" or "incomplete"
    executions, blocked, cut     complete executions; those begun and found redundant; those that
                                 the test cut
    complete                     whether the whole space was covered
    events, replayed, probes     steps on new paths, steps taken again, extra runs for conditions
    seconds                      wall time
    stopped_by, estimate         why it ended early and the estimated size of the space, or null
    failing                      findings in all, repetitions included
    notes                        what else users should know, each a string
    failures                     the different ones, each as below

A failure (`schema` is `treadle.failure/1`):

    schema, kind, message        as in `treadle.Failure`
    process, step                whose step failed, and its index (from 0)
    schedule                     as one string, which `treadle replay` takes
    granularity, options         for threads: `access` or `gil`; what else a replay needs
    pair                         for a data race: the indices of the two steps, else null
    waits                        for a deadlock: process, resource, holders, where, spins
    trace                        one object per step: process, where, source, error, and accesses,
                                 each with operation, location, value

Keys may be added within a version; a change of meaning or a removal makes a new one.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from treadle.errors import ScheduleMismatch
from treadle.report.text import verdict
from treadle.result import Failure, Result

RESULT_SCHEMA = "treadle.result/1"
FAILURE_SCHEMA = "treadle.failure/1"


def result_as_dict(result: Result, *, target: str = "") -> dict[str, Any]:
    """Return a result as a dictionary of schema `treadle.result/1`."""
    return {
        "schema": RESULT_SCHEMA,
        **({"target": target} if target else {}),
        "program": result.program,
        "algorithm": result.algorithm,
        "verdict": verdict(result).lower(),
        "executions": result.executions,
        "blocked": result.blocked,
        "cut": result.cut,
        "complete": result.complete,
        "events": result.events,
        "replayed": result.replayed,
        "probes": result.probes,
        "seconds": result.seconds,
        "stopped_by": result.stopped_by or None,
        "estimate": result.estimate,
        "failing": result.failing,
        "notes": result.notes,
        "failures": [failure_as_dict(failure) for failure in result.failures],
    }


def failure_as_dict(failure: Failure) -> dict[str, Any]:
    """Return a failure as a dictionary of schema `treadle.failure/1`."""
    return {
        "schema": FAILURE_SCHEMA,
        "kind": failure.kind,
        "message": failure.message,
        "process": failure.process,
        "step": failure.step,
        "schedule": str(failure.schedule),
        "granularity": failure.granularity,
        "options": failure.options,
        "pair": failure.pair,
        "waits": [asdict(wait) for wait in failure.waits],
        "trace": _trace_of(failure),
    }


def _trace_of(failure: Failure) -> list[dict[str, Any]]:
    try:
        return [asdict(record) for record in failure.trace]
    except ScheduleMismatch:  # of a nondeterministic program: it went elsewhere this time
        return []

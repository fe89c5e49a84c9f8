"""Results, failures and replays for other programs: dictionaries that `json.dumps` takes.

`schema.json` beside this file says what they are, as a JSON Schema; `docs/json.md` says what the
keys mean. Keys may be added within a version; a change of meaning or a removal makes a new one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from treadle.core.failure import Failure
from treadle.core.records import StepRecord
from treadle.core.result import Result
from treadle.findings.replay import Replayed
from treadle.findings.shrink.shrinking import Shrunk
from treadle.report.text import verdict

RESULT_SCHEMA = "treadle.result/1"
FAILURE_SCHEMA = "treadle.failure/1"
REPLAY_SCHEMA = "treadle.replay/1"


def result_as_dict(
    result: Result, *, target: str = "", shrunk: Sequence[Shrunk] = ()
) -> dict[str, Any]:
    """Return a result as a dictionary of schema `treadle.result/1`.

    `shrunk` is what shrinking made of the failures, in their order, if they were shrunk.
    """
    savings = itertools.chain(map(_saving, shrunk), itertools.repeat(None))
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
        "states": result.states,
        "seconds": result.seconds,
        "stopped_by": result.stopped_by or None,
        "estimate": result.estimate,
        "failing": result.failing,
        "notes": result.notes,
        "escapes": result.escapes,
        "failures": [
            {**failure_as_dict(failure), "shrunk": saving}
            for failure, saving in zip(result.failures, savings, strict=False)
        ],
    }


def report_in_json(result: Result, target: str, replays: Sequence[str]) -> str:
    """Return a result as a file."""
    shown = result_as_dict(result, target=target)
    for failure, command in zip(shown["failures"], replays, strict=True):
        failure["replay"] = command
    return json.dumps(shown, indent=2) + "\n"


def _saving(shrunk: Shrunk) -> dict[str, Any]:
    """Return what shrinking achieved."""
    return {
        "before": dict(zip(("switches", "steps"), shrunk.before, strict=True)),
        "after": dict(zip(("switches", "steps"), shrunk.after, strict=True)),
        "replays": shrunk.replays,
        "is_smallest": shrunk.is_smallest,
    }


def replayed_as_dict(replayed: Replayed, *, target: str = "") -> dict[str, Any]:
    """Return a replay as a dictionary of schema `treadle.replay/1`."""
    return {
        "schema": REPLAY_SCHEMA,
        **({"target": target} if target else {}),
        "is_same": replayed.is_same,
        "difference": replayed.difference or None,
        "can_go_on": replayed.able,
        "failure": failure_as_dict(replayed.failure) if replayed.failure is not None else None,
        "trace": [_step_as_dict(step) for step in replayed.steps],
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
        "token": failure.token,
        "granularity": failure.granularity,
        "options": failure.options,
        "pair": failure.pair,
        "waits": [_without_held(asdict(wait)) for wait in failure.waits],
        "trace": [_step_as_dict(record) for record in failure.trace],
        "remarks": failure.remarks,
    }


def _step_as_dict(step: StepRecord) -> dict[str, Any]:
    return {**asdict(step), "accesses": [_without_held(asdict(one)) for one in step.accesses]}


def _without_held(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out what only links waits with accesses."""
    return {key: value for key, value in found.items() if key != "held"}
